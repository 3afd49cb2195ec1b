import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOMS, findForbiddenImports, mayImport, runTimePackages } from "./rooms.ts";
import { readFiles } from "./source-files.ts";

describe("the rooms of src/", () => {
  it("are kept by every import", () => {
    expect(findForbiddenImports(readFiles("src/**/*.ts"))).toEqual([]);
  });

  it("are nine, each with its folders once", () => {
    expect(ROOMS.map(({ name }) => name)).toHaveLength(9);
    for (const { inside } of ROOMS) expect(new Set(inside.flat()).size).toBe(inside.flat().length);
  });

  it.each([
    ["hns", "dataplane/switch", true],
    ["hns", "core/wire", true],
    ["cluster", "programs/plugins", true],
    ["control-plane/dns", "core/wire", true],
    ["programs/plugins", "contracts/hcn", true],
    ["programs/plugins", "hns", false],
    ["programs/plugins", "dataplane/switch", false],
    ["programs/plugins", "dataplane/vfp", false],
    ["programs/plugins", "dataplane/device", false],
    ["programs/plugins", "core/wire", false],
    ["programs/plugins", "control-plane/memory", false],
    ["programs/flannel", "programs/plugins", false],
    ["dataplane/vfp", "dataplane/device", false],
    ["dataplane/vfp", "dataplane/host", false],
    ["dataplane/host", "dataplane/vfp", true],
    ["dataplane/vfp", "hns", false],
    ["contracts/hcn", "contracts/cni", false],
    ["contracts/kubernetes", "control-plane/load", false],
    ["core/base", "core/net", false],
    ["core/catalogue", "contracts/hcn", false],
    ["cluster", "diagnose/catalogue", false],
    ["cluster", "diagnose/verify-text", false],
    ["cluster", "diagnose/vfp-text", false],
    ["cluster/api", "diagnose/catalogue", false],
    ["core/catalogue", "diagnose/catalogue", false],
    ["hns", "diagnose/catalogue", false],
    ["programs/plugins", "diagnose/catalogue", false],
    ["dataplane/vfp", "diagnose/vfp-text", false],
    ["dataplane/switch", "diagnose/vfp-text", false],
    ["diagnose/catalogue", "diagnose/lint", false],
    ["diagnose/lint", "diagnose/catalogue", true],
    ["diagnose/verify-text", "cluster", true],
    ["cluster", "control-plane/memory", true],
    ["programs/kube-proxy", "control-plane/memory", false],
  ])("%s importing %s is allowed: %s", (from, to, isAllowed) => {
    expect(mayImport(`src/${from}/a.ts`, `src/${to}/b.ts`)).toBe(isAllowed);
  });
});

describe("the packages that run", () => {
  const ROOT = join(import.meta.dirname, "..");
  const { installed, bundled } = runTimePackages();
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Readonly<
    Record<string, Readonly<Record<string, string>>>
  >;

  it("are installed with Mullion, or in its executables, as the table says", () => {
    const dependencies = { ...manifest["dependencies"], ...manifest["optionalDependencies"] };
    expect(Object.keys(dependencies).toSorted()).toEqual(installed);
    expect(Object.keys(manifest["devDependencies"] ?? {})).toEqual(expect.arrayContaining([...bundled]));
  });

  it.each(["docs/decisions/0004-dependencies.md", "SECURITY.md"])("are as many as %s says", (path) => {
    const words = readFileSync(join(ROOT, path), "utf8").replace(/\s+/g, " ");
    const numbers = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    expect(words).toMatch(new RegExp(`\\b${numbers[installed.length]} packages\\b`, "i"));
    expect(words).toMatch(new RegExp(`\\b${numbers[bundled.length]} more\\b`, "i"));
  });

  it("each have a row in the decision", () => {
    const text = readFileSync(join(ROOT, "docs/decisions/0004-dependencies.md"), "utf8");
    for (const name of [...installed, ...bundled]) expect(text).toContain(`| \`${name}\` `);
  });
});

describe("a planted import", () => {
  const plugin = "src/programs/plugins/win-bridge/plugin.ts";

  it.each([
    ["src/dataplane/vfp/rule.ts", '"#hns/store.ts"', "src/dataplane may not import src/hns"],
    [plugin, '"#hns/hns-service.ts"', "programs see contracts"],
    [plugin, '"#dataplane/switch/virtual-switch.ts"', "programs see contracts"],
    ["src/programs/kube-proxy/proxier.ts", '"#control-plane/memory/memory-kube.ts"', "src/programs may not"],
    [
      "src/contracts/kubernetes/informer.ts",
      '"#control-plane/load/names.ts"',
      "src/contracts may not import",
    ],
    [plugin, '"#core/wire/arp.ts"', "programs see contracts, core/catalogue, core/net, core/base"],
    ["src/dataplane/vfp/rule.ts", '"../device/device.ts"', "src/dataplane/vfp may not import"],
    ["src/core/net/ip.ts", '"../wire/packet.ts"', "src/core/net may not import src/core/wire"],
    ["src/hns/store.ts", '"node:fs"', "only *.node.ts files, cli/ and tests may"],
    ["src/hns/store.ts", '"./store.node.ts"', "only *.node.ts files, cli/ and tests may touch the machine"],
    ["src/hns/store.ts", '"#test/support/frames.ts"', "only tests may"],
    ["src/hns/store.ts", '"./store.test.ts"', "only tests may"],
    ["src/hns/store.ts", '"../../tools/rooms.ts"', "lies outside src/"],
    ["src/hns/store.ts", '"../core/base/assert.ts"', "another room is called #room/…"],
    ["src/hns/store.ts", '"#hns/dump/dump.ts"', "inside a room paths are relative"],
    ["src/hns/store.ts", '"lodash"', "lodash, which is no run-time dependency"],
    ["src/hns/store.ts", '"yaml"', "src/hns may not"],
    ["src/shelf/book.ts", '"#core/base/assert.ts"', "src/shelf has no place"],
  ])("%s from %s is found", (path, specifier, message) => {
    for (const statement of [
      `import { x } from ${specifier};`,
      `import type { X } from ${specifier};`,
      `export { x } from ${specifier};`,
      `import(${specifier})`,
    ]) {
      const problems = findForbiddenImports([{ path, text: `${statement}\n` }]);
      expect(problems.join("\n")).toContain(message);
      expect(problems[0]).toContain(path.split("/").slice(0, 2).join("/"));
    }
  });

  it("over several lines is found", () => {
    const text = 'import {\n  type A,\n  b,\n} from "#hns/store.ts";\n';
    expect(findForbiddenImports([{ path: "src/dataplane/vfp/rule.ts", text }])).toEqual([
      "src/dataplane/vfp/rule.ts imports src/hns/store.ts: src/dataplane may not import src/hns",
    ]);
  });

  it.each([
    ["src/cli/mullion/main.ts", "node:fs"],
    ["src/cli/mullion/main.ts", "commander"],
    ["src/hns/file-store.node.ts", "node:fs"],
    ["src/hns/file-store.node.ts", "./other.node.ts"],
    ["src/programs/plugins/win-bridge/plugin.test.ts", "#hns/in-process-client.ts"],
    ["src/programs/plugins/win-bridge/plugin.test.ts", "#test/support/frames.ts"],
    ["src/core/wire/dns.ts", "dns-packet"],
  ])("%s from %s is fine", (path, specifier) => {
    expect(findForbiddenImports([{ path, text: `import "${specifier}";\n` }])).toEqual([]);
  });
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FLOORS, findForbiddenImports, mayImport, runTimePackages } from "./layers.ts";
import { readFiles } from "./source-files.ts";

describe("the floors of src/", () => {
  it("are kept by every import", () => {
    expect(findForbiddenImports(readFiles("src/**/*.ts"))).toEqual([]);
  });

  it("hold each folder once", () => {
    const folders = FLOORS.flat();
    expect(new Set(folders).size).toBe(folders.length);
  });

  it.each([
    ["hns", "vswitch", true],
    ["hns", "wire", true],
    ["cluster", "plugins", true],
    ["plugins", "hcn", true],
    ["plugins", "hns", false],
    ["plugins", "vswitch", false],
    ["plugins", "vfp", false],
    ["plugins", "device", false],
    ["plugins", "wire", false],
    ["flannel", "plugins", false],
    ["vfp", "device", false],
    ["vfp", "hns", false],
    ["hcn", "cni", false],
    ["base", "net", false],
    ["knowledge", "hcn", false],
    ["knowledge", "catalogue", false],
    ["hns", "catalogue", false],
    ["plugins", "catalogue", false],
    ["cluster", "catalogue", false],
    ["cluster", "verify-text", false],
    ["api", "catalogue", false],
    ["vfp", "vfp-text", false],
    ["vswitch", "vfp-text", false],
    ["cluster", "vfp-text", false],
    ["kube", "kube/control-plane", false],
    ["kube-proxy", "kube/control-plane", false],
    ["cluster", "kube/control-plane", true],
    ["lint", "catalogue", true],
    ["verify-text", "cluster", true],
  ])("%s importing %s is allowed: %s", (from, to, isAllowed) => {
    expect(mayImport(from, to)).toBe(isAllowed);
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
  it.each([
    ["src/vfp/rule.ts", '"../hns/store.ts"', "src/vfp may not import src/hns"],
    ["src/plugins/win-bridge/plugin.ts", '"../../hns/hns-service.ts"', "src/plugins may not import src/hns"],
    [
      "src/plugins/win-bridge/plugin.ts",
      '"../../vswitch/virtual-switch.ts"',
      "src/plugins may not import src/vswitch",
    ],
    ["src/vfp/rule.ts", '"../device/device.ts"', "src/vfp may not import src/device"],
    [
      "src/kube-proxy/proxier.ts",
      '"../kube/memory/memory-kube.ts"',
      "src/kube-proxy may not import src/kube/control-plane",
    ],
    ["src/kube/informer.ts", '"./load/names.ts"', "src/kube may not import src/kube/control-plane"],
    ["src/net/ip.ts", '"../wire/packet.ts"', "src/net may not import src/wire"],
    ["src/hns/store.ts", '"node:fs"', "only *.node.ts files, cmd/ and tests may"],
    ["src/hns/store.ts", '"./store.node.ts"', "only *.node.ts files, cmd/ and tests may touch the machine"],
    ["src/hns/store.ts", '"../testing/frames.ts"', "only tests may"],
    ["src/hns/store.ts", '"./store.test.ts"', "only tests may"],
    ["src/hns/store.ts", '"../../tools/layers.ts"', "lies outside src/"],
    ["src/hns/store.ts", '"lodash"', "lodash, which is no run-time dependency"],
    ["src/hns/store.ts", '"yaml"', "src/hns may not"],
    ["src/shelf/book.ts", '"../base/assert.ts"', "src/shelf has no floor"],
  ])("%s from %s is found", (path, specifier, message) => {
    for (const statement of [
      `import { x } from ${specifier};`,
      `export { x } from ${specifier};`,
      `import(${specifier})`,
    ]) {
      const problems = findForbiddenImports([{ path, text: `${statement}\n` }]);
      expect(problems.join("\n")).toContain(message);
      expect(problems[0]).toContain(path.split("/").slice(0, 2).join("/"));
    }
  });

  it("over several lines is found", () => {
    const text = 'import {\n  type A,\n  b,\n} from "../hns/store.ts";\n';
    expect(findForbiddenImports([{ path: "src/vfp/rule.ts", text }])).toEqual([
      "src/vfp/rule.ts imports src/hns/store.ts: src/vfp may not import src/hns",
    ]);
  });

  it.each([
    ["src/cmd/mullion/main.ts", "node:fs"],
    ["src/cmd/mullion/main.ts", "commander"],
    ["src/hns/file-store.node.ts", "node:fs"],
    ["src/hns/file-store.node.ts", "./other.node.ts"],
    ["src/plugins/win-bridge/plugin.test.ts", "../../hns/in-process-client.ts"],
    ["src/plugins/win-bridge/plugin.test.ts", "../../testing/frames.ts"],
    ["src/wire/dns/dns.ts", "dns-packet"],
  ])("%s from %s is fine", (path, specifier) => {
    expect(findForbiddenImports([{ path, text: `import "${specifier}";\n` }])).toEqual([]);
  });
});

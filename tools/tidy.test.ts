import { describe, expect, it } from "vitest";
import { readFiles } from "./source-files.ts";
import { findUnexplainedFolders, findUnlistedInferences, findUntidiness } from "./tidy.ts";

const FILES = readFiles(
  "*.{ts,json,md}",
  ".*.json",
  ".npmrc",
  ".ci/*",
  "{bench,bin,data/facts,data/words,docs,examples,schemas,src,test,tools}/**/*.{ts,mjs,js,json,md,yaml}",
);

describe("the house rules", () => {
  it("are kept by every file", () => {
    expect(findUntidiness(FILES)).toEqual([]);
  });

  it("ask for a README.md in every folder with an idea", () => {
    expect(findUnexplainedFolders(FILES.map(({ path }) => path))).toEqual([]);
  });

  it("ask for a row in docs/reference/fidelity.md for every file that infers", () => {
    const fidelity = FILES.find(({ path }) => path === "docs/reference/fidelity.md")?.text ?? "";
    expect(findUnlistedInferences(FILES, fidelity)).toEqual([]);
  });
});

describe("a planted fault", () => {
  it.each([
    ["src/dataplane/vfp/rule.ts", "const now = Date.now();", "time comes from a Clock"],
    ["src/dataplane/vfp/rule.ts", "const now = new Date();", "time comes from a Clock"],
    ["src/dataplane/vfp/rule.ts", "Math.random()", "chance comes from a Prng"],
    ["src/dataplane/vfp/rule.ts", "new DataView(buffer)", "src/core/base/bytes.ts"],
    ["src/dataplane/vfp/rule.ts", 'console.log("x")', "goes to a Log"],
    ["src/cli/mullion/trace.ts", "process.stdout.write(text)", "src/cli/output.ts"],
    ["src/cli/mullion/trace.ts", `text.replaceAll("'", "''")`, "shell-quoting.ts"],
    ["src/cli/mullion/trace.ts", "spawn(program, [], { shell: true })", "shell-quoting.ts"],
    ["src/cli/mullion/trace.ts", 'execFile("powershell", words)', "azure-host.ts"],
    ["src/programs/plugins/azure-vnet/host.ts", '`Get-X "${id}"`', "shell-quoting.ts"],
    ["src/cli/mullion/cluster/up.ts", "writeFileSync(path, text)", "owner-only.node.ts"],
    ["src/programs/plugins/host-local/new.ts", "writeFileSync(draft, text)", "owner-only.node.ts"],
    ["src/hns/store/store-disk.node.ts", "linkSync(from, to)", "owner-only.node.ts"],
    ["src/contracts/cni/x.node.ts", "openSync(path, constants.O_RDWR)", "owner-only.node.ts"],
    ["src/cli/mullion/trace.ts", "await writeFile(path, bytes)", "owner-only.node.ts"],
    ["src/cli/mullion/cluster/up.ts", "await copyFile(a, b)", "owner-only.node.ts"],
    ["src/cli/mullion/cluster/up.ts", "createWriteStream(path)", "owner-only.node.ts"],
    ["src/cli/mullion/cluster/up.ts", 'openSync(path, "a", 0o600)', "owner-only.node.ts"],
    ["src/cli/mullion/trace.ts", "writeSync(2, text)", "src/cli/output.ts"],
    ["src/cli/mullion/trace.ts", "console.error(text)", "src/cli/output.ts"],
    ["src/dataplane/vfp/rule.ts", "class A {\n  #x = 1;\n}", "declared with `private`"],
    ["src/dataplane/vfp/rule.ts", "let counter = 0;", "no module keeps state"],
    ["src/dataplane/vfp/rule.ts", "export let counter = 0;", "no module keeps state"],
    ["src/dataplane/vfp/rule.ts", "m.set(k, [...(m.get(k) ?? []), x])", "is not copied for each item"],
    ["tools/rows.ts", "this.m.set(k, [\n  ...(this.m.get(f(k)) ?? []),\n  ...x,\n])", "Map.groupBy"],
    ["src/dataplane/vfp/mod.ts", 'export * from "./rule.ts";', "one by one"],
    ["src/dataplane/vfp/rule.ts", "// todo: finish", "finish it"],
    ["src/dataplane/vfp/rule.ts", "// This works for now.", "finish it"],
    ["src/dataplane/vfp/rule.ts", "// biome-ignore lint: because", "nothing is suppressed"],
    ["src/dataplane/vfp/rule.test.ts", "it.skip('x', () => {})", "no test is left out"],
    ["docs/start/first.md", "cd /home/me/mullion", "no path of somebody's machine"],
    ["docs/start/first.md", "text \nmore", "no blanks at the end"],
    ["docs/start/first.md", "one\n<<<<<<< HEAD\ntwo\n", "two versions were joined"],
    ["docs/start/first.md", "one\n> > > > > > > 1234567 (area: two)\n", "two versions were joined"],
    ["src/dataplane/vfp/utils.ts", "", "utils is no name"],
    ["src/helpers/rule.ts", "", "helpers is no name"],
    ["src/dataplane/vfp/natPool.ts", "", "not in kebab-case"],
    ["src/dataplane/vfp/index.ts", "", "index is no name"],
  ])("%s: %s", (path, text, message) => {
    expect(findUntidiness([{ path, text }]).join("\n")).toContain(message);
  });

  it.each([
    ["src/hns/store.node.ts", "Date.now()"],
    ["src/cli/mullion/main.ts", "Date.now()"],
    ["src/dataplane/vfp/rule.ts", "function f() {\n  let x = 1;\n}"],
    ["src/core/base/bytes.ts", "new DataView(b)"],
    ["src/dataplane/vfp/rule.ts", "[...(m.get(k) ?? [])].toSorted()"],
    ["src/cli/mullion/cluster/up.ts", 'openSync(path, "r")'],
    ["docs/start/first.md", "dataDir is /var/lib/cni/networks"],
    ["docs/start/first.md", "https://example.com/home/page"],
    ["docs/start/first.md", "> quoted\n> > twice\n=======\n"],
  ])("is not seen where there is none: %s: %s", (path, text) => {
    expect(findUntidiness([{ path, text }])).toEqual([]);
  });

  it("is a folder of four files without a README.md", () => {
    const paths = ["a", "b", "c", "d"].map((name) => `src/dataplane/vfp/${name}.ts`);
    expect(findUnexplainedFolders(paths)).toEqual(["src/dataplane/vfp"]);
    expect(findUnexplainedFolders([...paths, "src/dataplane/vfp/README.md"])).toEqual([]);
    expect(findUnexplainedFolders(paths.slice(1))).toEqual([]);
  });

  it("is an inference that no page names", () => {
    const file = { path: "src/dataplane/vfp/rule.ts", text: "// Inferred: nobody knows." };
    expect(findUnlistedInferences([file], "")).toEqual([
      "src/dataplane/vfp/rule.ts: 1 inferences, 0 rows in docs/reference/fidelity.md",
    ]);
    expect(findUnlistedInferences([file], "| `src/dataplane/vfp/rule.ts` | … | … |")).toEqual([]);
    expect(
      findUnlistedInferences([{ ...file, text: "" }], "| `src/dataplane/vfp/rule.ts` | … | … |"),
    ).toEqual(["src/dataplane/vfp/rule.ts: infers nothing any more"]);
  });
});

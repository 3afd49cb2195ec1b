// lint in shards: the merged report is that of one machine, causes across documents included.
import { readFileSync, readdirSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { LINT_SHARD_SCHEMA, type LintShard } from "#diagnose/lint/shard.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { lint } from "./lint.ts";
import { merge } from "./merge.ts";
import { runMullion } from "./program.ts";

interface Answer {
  readonly code: number;
  readonly text: string;
  readonly errors: string;
}

async function run(terminal: MemoryTerminal, ...argv: readonly string[]): Promise<Answer> {
  terminal.output = "";
  terminal.errors = "";
  const code = await runMullion({ argv, verbs: { lint, merge }, terminal, version: "0", isDebug: false });
  return { code, text: terminal.output, errors: terminal.errors };
}

/** A Service whose only pod cannot run, three times, and other things that are wrong in several documents. */
const CAUSES = `
apiVersion: v1
kind: Node
metadata: { name: win-1, labels: { kubernetes.io/os: windows } }
spec: { podCIDR: 10.244.1.0/24 }
status: { nodeInfo: { kernelVersion: 10.0.20348.2700, operatingSystem: windows } }
${["a", "b", "c"]
  .map(
    (name) => `---
apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec: { selector: { app: ${name} }, ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: ${name} } }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  containers: [{ name: c, image: "mcr.microsoft.com/windows/nanoserver:ltsc2019" }]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: ${name} }
spec: { podSelector: {} }
`,
  )
  .join("")}`;
const DUMPS = readdirSync("examples/dumps").filter((name) => name.startsWith("broken-"));
const FILES = {
  "causes/all.yaml": CAUSES,
  "causes/ignored.yaml": CAUSES.replaceAll("name: a", "name: ignored"),
  "causes/broken.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: x, name: y\n",
  ".mullion-lint.yaml":
    "ignore: [{ code: network-policy-not-enforced, paths: ['**/ignored.yaml'], reason: test }]\n",
  ...Object.fromEntries(
    DUMPS.map((name) => [`${name}/dump.yaml`, readFileSync(`examples/dumps/${name}/dump.yaml`, "utf8")]),
  ),
};
const validate = new Ajv2020({ strict: true }).compile(LINT_SHARD_SCHEMA);

describe.each(["causes", ...DUMPS])("%s in three shards", (folder) => {
  it("merged is the report of one machine, byte for byte, in every form", async () => {
    const terminal = new MemoryTerminal(FILES);
    const found: number[] = [];
    for (const index of [1, 2, 3]) {
      const { text } = await run(terminal, "lint", folder, "--shard", `${index}/3`);
      const part = JSON.parse(text) as LintShard;
      expect([validate(part), validate.errors]).toEqual([true, null]);
      found.push(part.clusters.flat().length);
      terminal.files.set(`reports/${index}.json`, text);
    }
    if (folder === "causes") expect(Math.min(...found)).toBeGreaterThan(1);
    for (const output of ["text", "json", "yaml", "sarif", "junit"]) {
      const whole = await run(terminal, "lint", folder, "-o", output);
      expect(await run(terminal, "merge", "reports", "-o", output)).toEqual(whole);
    }
  });
});

describe("shards of lint that cannot be merged as they are", () => {
  it("a shard without a report is a finding, an error", async () => {
    const terminal = new MemoryTerminal(FILES);
    terminal.files.set("1.json", (await run(terminal, "lint", "causes", "--shard", "1/2")).text);
    const { code, text } = await run(terminal, "merge", "1.json");
    expect(code).toBe(1);
    expect(text).toContain("shard 2 of 2");
    expect(text).toContain("lint-shard-missing");
  });

  it.each([
    [
      ["--severity", "error"],
      "with different flags: --severity info --fail-on warning, --severity error --fail-on",
    ],
    [["--windows"], "of different inputs"],
    [["--profile", "ws2019"], "of different inputs"],
  ])("shards with %j and without", async (flags, message) => {
    const terminal = new MemoryTerminal(FILES);
    terminal.files.set("1.json", (await run(terminal, "lint", "causes", "--shard", "1/2")).text);
    terminal.files.set("2.json", (await run(terminal, "lint", "causes", "--shard", "2/2", ...flags)).text);
    const { code, errors } = await run(terminal, "merge", "1.json", "2.json");
    expect(code).toBe(2);
    expect(errors).toContain(message);
  });

  it("shard 5 of 4, and a form that is not JSON", async () => {
    const terminal = new MemoryTerminal(FILES);
    expect((await run(terminal, "lint", "causes", "--shard", "5/4")).errors).toContain(
      "there is no shard 5 of 4",
    );
    const sarif = await run(terminal, "lint", "causes", "--shard", "1/4", "-o", "sarif");
    expect(sarif).toMatchObject({ code: 2, text: "" });
    expect(sarif.errors).toContain("which reads JSON and not sarif");
  });
});

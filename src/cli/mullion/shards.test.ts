// A verification in shards: the merged report is that of one machine; what does not belong together is refused.
import { setImmediate as nextTurn } from "node:timers/promises";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { SHARD_SCHEMA, type VerifyShard } from "#cluster/verify/shard.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { jobScripts, wordsOf, workflowScripts } from "#test/support/cli/shard-examples.ts";
import { merge } from "./merge.ts";
import { runMullion } from "./program.ts";
import { verify } from "./verify.ts";
import { digestOf } from "./verify-run.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11 }
  - { name: win-2, os: windows, address: 10.0.0.12 }
  - { name: linux-1, os: linux, address: 10.0.0.13 }
`;
const PODS = ["win-1", "win-2", "linux-1"]
  .flatMap((node) => ["a", "b", "c", "d"].map((name) => ({ node, name: `${node}-${name}` })))
  .map(
    ({ node, name }) => `---
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: web } }
spec: { nodeName: ${node}, containers: [{ name: c, image: server, ports: [{ containerPort: 8080 }] }] }
`,
  )
  .join("");
const SERVICE = `
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { type: NodePort, selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
`;
const SMALL = CLUSTER.replace(/\n.*win-2.*\n.*linux-1.*\n/, "\n").concat(
  "pods: [{ name: one, node: win-1 }]\n",
);
const INPUT = { "input/cluster.yaml": CLUSTER, "input/pods.yaml": PODS, "input/service.yaml": SERVICE };

interface Answer {
  readonly code: number;
  readonly text: string;
  readonly errors: string;
}

async function run(terminal: MemoryTerminal, ...argv: readonly string[]): Promise<Answer> {
  terminal.output = "";
  terminal.errors = "";
  const code = await runMullion({ argv, verbs: { verify, merge }, terminal, version: "0", isDebug: false });
  return { code, text: terminal.output, errors: terminal.errors };
}

afterEach(() => vi.unstubAllEnvs());

describe("shards of one input", () => {
  const terminal = new MemoryTerminal(INPUT);
  const FILES = ["-f", "input", "-R"];
  let whole: Answer;

  beforeAll(async () => {
    whole = await run(terminal, "verify", ...FILES, "-o", "json");
    for (const index of [1, 2, 3]) {
      const { text } = await run(terminal, "verify", ...FILES, "--shard", `${index}/3`);
      terminal.files.set(`reports/${index}.json`, text);
    }
  });

  it("merged they are the report of one machine, byte for byte", async () => {
    expect(whole).toMatchObject({ code: 0, errors: "" });
    expect(await run(terminal, "merge", "reports", "-o", "json")).toEqual(whole);
    expect(
      await run(terminal, "merge", "reports/3.json", "reports/1.json", "reports/2.json", "-o", "json"),
    ).toEqual(whole);
  });

  // Two batches: one shard has none, which is no fault of it.
  it("each has tried a part, after the schema", () => {
    const validate = new Ajv2020({ strict: true }).compile(SHARD_SCHEMA);
    for (const index of [1, 2, 3]) {
      const part = JSON.parse(String(terminal.files.get(`reports/${index}.json`))) as VerifyShard;
      expect([validate(part), validate.errors]).toEqual([true, null]);
      expect(part.outcomes).toHaveLength(part.shares[index - 1] ?? 0);
      expect(part.shares.filter((share) => share === 0)).toHaveLength(1);
    }
  });

  it("a shard without a report is named, and is a finding", async () => {
    const { code, text } = await run(terminal, "merge", "reports/1.json", "reports/2.json", "-o", "json");
    const report = JSON.parse(text) as VerifyReport;
    expect(code).toBe(1);
    expect(report.partial).toMatchObject({ missingShards: [3] });
    expect(report.findings).toMatchObject([{ about: "shard 3 of 3", code: "verification-incomplete" }]);
    const table = await run(terminal, "merge", "reports/1.json", "reports/2.json");
    expect(table.code).toBe(1);
    expect(table.text).toContain("input: shard 3 of 3\n");
  });

  it("Ctrl-C prints what is known, as a part, and ends with 130", async () => {
    class Stopped extends MemoryTerminal {
      override async untilInterrupted(): Promise<void> {
        for (let pauses = 0; pauses < 20; pauses++) await nextTurn();
      }
    }
    const { code, text, errors } = await run(new Stopped(INPUT), "verify", ...FILES, "-o", "json");
    expect(code).toBe(130);
    expect(errors).toBe(
      "Interrupted: what is printed is what was known until then; the rest was not tried.\n",
    );
    const report = JSON.parse(text) as VerifyReport;
    const all = (JSON.parse(whole.text) as VerifyReport).cells;
    expect(report.cells.length).toBeGreaterThan(0);
    expect(report.partial).toEqual({ cells: all.length - report.cells.length, stoppedShards: [1] });
    expect(all).toEqual(expect.arrayContaining([...report.cells]));
    expect(report.findings[0]?.observed).toMatch(/^stopped before the end: \d+ flows are not answered$/);
  });
});

describe.each([
  ["the Job", jobScripts()],
  ["the matrix", workflowScripts()],
])("%s of examples/verify-shards", (_, { shards, merge: last }) => {
  it("its own command lines give the report of one machine", async () => {
    const terminal = new MemoryTerminal({ "input/cluster.yaml": SMALL });
    for (const { env, script } of shards) {
      for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
      const { argv, output = "" } = wordsOf(script, env);
      const { code, text } = await run(terminal, ...argv);
      expect(code).toBe(0);
      terminal.files.set(output, text);
    }
    expect([...terminal.files.keys()].filter((file) => file.startsWith("reports/"))).toHaveLength(4);
    const merged = await run(terminal, ...wordsOf(last, {}).argv);
    expect(merged).toEqual(await run(terminal, "verify", "-f", "input", "-R"));
  });
});

describe("what is no shard", () => {
  it.each([
    ["5/4", "there is no shard 5 of 4"],
    ["0/4", "shards are counted from 1"],
    ["1/0", "there are no 0 shards"],
    ["4", "this is not the number of a shard"],
    ["1/4/2", "this is not the number of a shard"],
    ["-1/4", "this is not the number of a shard"],
    ["auto/4", "auto takes the number from JOB_COMPLETION_INDEX, which is not set"],
  ])("--shard %s: %s", async (shard, message) => {
    vi.stubEnv("JOB_COMPLETION_INDEX", undefined);
    const { code, text, errors } = await run(
      new MemoryTerminal(INPUT),
      "verify",
      "-f",
      "input",
      `--shard=${shard}`,
    );
    expect([code, text]).toEqual([2, ""]);
    expect(errors).toContain(message);
    expect(errors).toContain("bad-usage");
  });

  it.each([
    ["4", "there is no shard 5 of 4 (JOB_COMPLETION_INDEX is 4, counted from 0)"],
    ["x", 'JOB_COMPLETION_INDEX is "x", and not a number from 0'],
  ])("auto/4 in a pod with the index %s", async (index, message) => {
    vi.stubEnv("JOB_COMPLETION_INDEX", index);
    const { code, errors } = await run(
      new MemoryTerminal(INPUT),
      "verify",
      "-f",
      "input",
      "--shard",
      "auto/4",
    );
    expect(code).toBe(2);
    expect(errors).toContain(message);
  });

  it.each([
    [["--shard", "1/2"], "--shard builds the cluster anew, and this is a running one"],
    [["--workers", "2"], "--workers builds the cluster anew, and this is a running one"],
    [["-f", "input", "--workers", "0"], '--workers takes a number from 1 to 64, not "0"'],
    [["-f", "input", "--shard", "1/2", "-o", "junit"], "the report of a shard is for mullion merge"],
    [["-f", "input", "--shard", "1/2", "--before", "input"], "--shard is for one verification"],
    [["-f", "input", "--shard", "1/2", "--profile", "ws2019,ws2022"], "--shard is for one verification"],
  ])("%j: %s", async (words, message) => {
    const { code, errors } = await run(new MemoryTerminal(INPUT), "verify", ...words);
    expect(code).toBe(2);
    expect(errors).toContain(message);
  });
});

describe("reports that do not belong together", () => {
  const terminal = new MemoryTerminal({
    "a.yaml": SMALL,
    "b.yaml": SMALL.replace("shop", "other"),
    "empty.json": "",
  });
  beforeAll(async () => {
    const save = async (name: string, ...words: readonly string[]): Promise<void> => {
      const { text } = await run(terminal, "verify", ...words);
      terminal.files.set(name, text);
    };
    await save("1.json", "-f", "a.yaml", "--shard", "1/2");
    await save("2.json", "-f", "a.yaml", "--shard", "2/2");
    await save("other.json", "-f", "b.yaml", "--shard", "2/2");
    await save("of-three.json", "-f", "a.yaml", "--shard", "2/3");
    await save("build.json", "-f", "a.yaml", "--shard", "2/2", "--profile", "ws2019");
    await save("allowed.json", "-f", "a.yaml", "--shard", "2/2", "--allow", "not-judged");
    await save("whole.json", "-f", "a.yaml", "-o", "json");
    const first = JSON.parse(String(terminal.files.get("1.json"))) as VerifyShard;
    const change = (name: string, changed: object): unknown =>
      terminal.files.set(name, JSON.stringify({ ...first, ...changed }));
    change("version.json", { subject: { ...first.subject, version: "0.0.1" } });
    change("five.json", { shard: { index: 5, count: 2 } });
    change("classes.json", {
      shard: { index: 2, count: 2 },
      classes: [{ digest: "a-b", nodes: 40, tried: 3 }],
    });
    change("untried.json", { classes: [{ digest: "a-b", nodes: 40, tried: 0 }] });
    change("damaged.json", { outcomes: [{ position: -1 }] });
    terminal.files.set("cut.json", String(terminal.files.get("2.json")).slice(0, 400));
  });

  it.each([
    [["1.json", "other.json"], '"1.json" and "other.json" are of different inputs'],
    [["1.json", "build.json"], '"1.json" and "build.json" are of different inputs'],
    [["1.json", "allowed.json"], '"1.json" and "allowed.json" are with different flags'],
    [["1.json", "of-three.json"], '"1.json" and "of-three.json" are of 2 and of 3 shards'],
    [["1.json", "classes.json"], '"1.json" and "classes.json" are of different classes of equal nodes'],
    [["2.json", "version.json"], '"version.json" is of Mullion 0.0.1, and this is 0.1.0'],
    [["five.json", "1.json"], '"five.json" is of shard 5 of 2'],
    [["1.json", "five.json"], '"five.json" is of shard 5 of 2'],
    [["1.json", "damaged.json"], '"damaged.json" is no report of a shard: outcomes[0].position'],
    [["1.json", "cut.json"], '"cut.json" is no report of a shard: it is not JSON'],
    [["1.json", "empty.json"], '"empty.json" is no report of a shard: it is empty'],
    [["1.json", "whole.json"], '"whole.json" is no report of a shard: it is a Verification'],
    [["1.json", "a.yaml"], '"a.yaml" is no report of a shard: it is not JSON'],
  ])("%j: %s", async (files, message) => {
    const { code, text, errors } = await run(terminal, "merge", ...files);
    expect([code, text]).toEqual([2, ""]);
    expect(errors).toContain(message);
    expect(errors).toContain("mullion explain shards-differ");
  });

  it("a class of equal nodes of which no shard has tried a flow is a finding", async () => {
    const { code, text } = await run(terminal, "merge", "untried.json");
    expect(code).toBe(1);
    expect(text).toContain("no shard has tried a flow of the class a-b of 40 nodes");
  });

  it("a shard twice, under two names", async () => {
    terminal.files.set("copy.json", String(terminal.files.get("1.json")));
    const { code, errors } = await run(terminal, "merge", "1.json", "2.json", "copy.json");
    expect(code).toBe(2);
    expect(errors).toContain('"1.json" and "copy.json" are both shard 1 of 2');
  });

  it("a file that is not there, and a form that a verification does not have", async () => {
    expect((await run(terminal, "merge", "1.json", "none.json")).errors).toContain('cannot read "none.json"');
    const sarif = await run(terminal, "merge", "1.json", "2.json", "-o", "sarif");
    expect(sarif.code).toBe(2);
    expect(sarif.errors).toContain("a verification has no form sarif");
  });
});

describe("inputs that are longer than one text", () => {
  const long = (...chunks: readonly string[]) => ({
    name: "dump.yaml",
    text: "kind: List",
    chunks: chunks.map((chunk) => Buffer.from(chunk)),
  });

  it("are told apart by all of their bytes, however they are cut", () => {
    const digest = digestOf([long("kind: List\n", "items: []\n")], {});
    expect(digestOf([long("kind: List\nitems: []\n")], {})).toBe(digest);
    expect(digestOf([long("kind: List\n", "items: [1]\n")], {})).not.toBe(digest);
  });
});

// Files that change while they are watched, as a user sees it.
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { filesOf, healthyNode } from "#test/support/doctor/healthy-node.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import type { DoctorEvent } from "#diagnose/doctor/finding-history.ts";
import { doctor } from "./doctor.ts";
import { runMullion } from "./program.ts";

function without(files: Readonly<Record<string, string>>, name: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(files).filter(([each]) => each !== name));
}

function runs(terminal: MemoryTerminal, ...words: readonly string[]): Promise<number> {
  const argv = ["doctor", "node", "--watch", "--pause", "1ms", ...words];
  return runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
}

/** Few files, and no objects of a cluster: a look is short. */
function filesToWatch(): { readonly sound: Readonly<Record<string, string>>; readonly broken: string } {
  const documents = healthyNode();
  const names = ["network.txt", "endpoint.txt", "policy.txt"].map((name) => `node/${name}`);
  const sound = Object.fromEntries(
    Object.entries(filesOf(documents)).filter(([name]) => names.includes(name)),
  );
  documents.loadBalancers.splice(0, 1);
  return { sound, broken: filesOf(documents)["node/policy.txt"]! };
}

describe("--watch", () => {
  const { sound, broken } = filesToWatch();

  it("tells what became wrong and what was mended, as lines that fit their schema", async () => {
    const terminal = new MemoryTerminal(sound);
    const ended = runs(terminal, "-o", "json");
    const tells = async (event: string): Promise<void> =>
      expect.poll(() => terminal.output, { timeout: 10_000 }).toContain(`"event":"${event}"`);
    await tells("begin");
    terminal.files.set("node/policy.txt", broken);
    await tells("wrong");
    terminal.files.set("node/policy.txt", sound["node/policy.txt"]!);
    await tells("mended");
    terminal.interrupt();
    expect(await ended).toBe(0);
    const lines = terminal.output.trimEnd().split("\n");
    const events = lines.map((line) => JSON.parse(line) as DoctorEvent);
    expect(events.map(({ event, finding }) => `${event} ${finding?.code ?? ""}`.trim())).toEqual([
      "begin",
      "wrong load-balancer-missing",
      "mended load-balancer-missing",
      "end",
    ]);
    const schema = JSON.parse(readFileSync("schemas/doctor-event.v1alpha1.json", "utf8")) as object;
    const validate = new Ajv({ strict: true }).compile(schema);
    for (const event of events) {
      validate(event);
      expect(validate.errors).toBeNull();
    }
  });

  it("ends with what is wrong still, as text", async () => {
    const terminal = new MemoryTerminal({ ...sound, "node/policy.txt": broken });
    const ended = runs(terminal);
    await expect.poll(() => terminal.output, { timeout: 10_000 }).toContain("UTC  wrong\n");
    terminal.interrupt();
    expect(await ended).toBe(1);
    expect(terminal.output).toMatch(/^\d\d:\d\d:\d\d UTC {2}Watching node; \d+ checks made\./u);
    expect(terminal.output).toContain("node/policy.txt:2: 2 load balancers, none for port 53 by UDP");
    expect(terminal.output).toMatch(
      /UTC {2}1 finding left; \d+ checks made\.\n {2}node: likely: load-balancer-missing: no load balancer/u,
    );
  });

  it("what was not read at last is not called sound", async () => {
    const terminal = new MemoryTerminal(sound);
    const ended = runs(terminal);
    await expect.poll(() => terminal.output, { timeout: 10_000 }).toContain("Watching node");
    terminal.files.clear();
    await expect.poll(() => terminal.output, { timeout: 10_000 }).toContain("not read");
    terminal.interrupt();
    expect(await ended).toBe(2);
    expect(terminal.output).toMatch(
      /Nothing was wrong; \d+ checks made\.\n {2}The last look could not be read: /u,
    );
  });

  it("a node that is none is a mistake", async () => {
    const terminal = new MemoryTerminal(sound);
    expect(await runs(terminal, "--node", "win-9")).toBe(2);
    expect(terminal.errors).toMatch(/no Windows node is called win-9.*\n\s+The nodes here are: node\./u);
  });

  it.each([
    [["-o", "sarif"], "--watch shows what changes, as text or as lines of JSON, not as sarif"],
    [["-"], "standard input does not change"],
    [["--redact"], "--redact is for a report"],
  ])("does not go with %j", async (words, says) => {
    const terminal = new MemoryTerminal(sound);
    expect(await runs(terminal, ...words)).toBe(2);
    expect(terminal.errors).toContain(says);
  });

  it("--pause needs it", async () => {
    const terminal = new MemoryTerminal(without(sound, "node/policy.txt"));
    const argv = ["doctor", "node", "--pause", "2s"];
    expect(await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false })).toBe(2);
    expect(terminal.errors).toContain("--pause is for --watch");
  });
});

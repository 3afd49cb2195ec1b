// What is judged again: which options go together, and what is said of what is kept.
import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { verify } from "./verify.ts";

describe("options that do not go together", () => {
  it.each([
    [["--watch", "-f", "a.yaml", "-o", "json"], "--watch is for a person: it shows text"],
    [["--watch", "-f", "a.yaml", "--shard", "1/2"], "--watch shows one matrix again and again"],
    [["--watch", "-f", "-"], "standard input does not change"],
    [["--watch", "-f", "a.yaml", "--before", "b.yaml"], "--watch shows one matrix again and again"],
    [["--whole", "-f", "a.yaml"], "--whole is for a running cluster"],
    [["--whole", "--watch"], "--whole is for a running cluster"],
  ])("%j", async (words, said) => {
    const terminal = new MemoryTerminal({ "a.yaml": "" });
    const argv = ["verify", ...words];
    const code = await runMullion({ argv, verbs: { verify }, terminal, version: "0", isDebug: false });
    expect(code).toBe(2);
    expect(terminal.errors).toContain(said);
  });
});

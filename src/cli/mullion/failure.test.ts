import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { reportFindings } from "./failure.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { SessionProblem } from "#cluster/session/session.ts";

function problems(code: KnowledgeCode, count: number): readonly SessionProblem[] {
  return Array.from({ length: count }, (_, index) => ({
    code,
    message: `${code} ${index + 1}`,
    advice: "Do it.",
    where: { file: "a.yaml", line: index + 1, column: 1, field: "" },
  }));
}

describe("tellFindings", () => {
  it("shows five notes of a kind and counts the rest, then all problems and what became of the others", () => {
    const terminal = new MemoryTerminal();
    const notes = [...problems("selector-matches-nothing", 8), ...problems("pod-unschedulable", 1)];
    reportFindings({ notes, problems: problems("manifest-invalid-yaml", 2) }, "The rest runs.", terminal);
    const lines = terminal.errors.split("\n").filter((line) => !line.startsWith("    ") && line !== "");
    expect(lines).toEqual([
      "a.yaml:1:1: selector-matches-nothing 1",
      "a.yaml:2:1: selector-matches-nothing 2",
      "a.yaml:3:1: selector-matches-nothing 3",
      "a.yaml:4:1: selector-matches-nothing 4",
      "a.yaml:5:1: selector-matches-nothing 5",
      "a.yaml:1:1: pod-unschedulable 1",
      "… and 3 more like these [selector-matches-nothing]",
      "a.yaml:1:1: manifest-invalid-yaml 1",
      "a.yaml:2:1: manifest-invalid-yaml 2",
      "2 problems. The rest runs.",
    ]);
  });

  it("says nothing when there is nothing to say", () => {
    const terminal = new MemoryTerminal();
    reportFindings({ notes: [], problems: [] }, "The rest runs.", terminal);
    expect(terminal.errors).toBe("");
  });
});

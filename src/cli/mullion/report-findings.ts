/** What a user should know about input that was taken: what is left out of it, and what is worth knowing besides. */
import type { InputRemarks, SessionProblem } from "#cluster/session/session.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { formatProblem, reportProblems } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

/** What became of input with problems. */
export const LEFT_OUT = "What is refused is left out, and the rest runs.";

/** Notes of one kind that are shown: what comes a thousand times is no news the sixth time. */
const SHOWN_MAX = 5;

function reportNotes(notes: readonly SessionProblem[], terminal: Terminal): void {
  const counts = new Map<KnowledgeCode, number>();
  for (const note of notes) {
    const count = (counts.get(note.code) ?? 0) + 1;
    counts.set(note.code, count);
    if (count <= SHOWN_MAX) terminal.stderr(formatProblem(note));
  }
  for (const [code, count] of counts) {
    if (count > SHOWN_MAX) terminal.stderr(`… and ${count - SHOWN_MAX} more like these [${code}]\n`);
  }
}

/** Tells notes, then problems with their number; `outcome` says what became of the rest. */
export function reportFindings({ problems, notes }: InputRemarks, outcome: string, terminal: Terminal): void {
  reportNotes(notes, terminal);
  if (problems.length > 0) reportProblems(problems, outcome, terminal);
}

/** What is wrong with a file, where, and what to write instead. */
import type { KnowledgeCode } from "../../knowledge/codes.ts";

export interface FileProblem {
  readonly code: KnowledgeCode;
  /** The file's name as the user gave it. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in characters. */
  readonly column: number;
  /** The field, such as `nodes[1].address`; empty when the problem is not about a field. */
  readonly path: string;
  /** What is wrong: one sentence without a full stop. */
  readonly message: string;
  /** What to write instead: full sentences. */
  readonly advice: string;
}

/** Formats a problem on two lines: place and fault, then the advice with the code. */
export function formatProblem(problem: FileProblem): string {
  const place = `${problem.file}:${problem.line}:${problem.column}`;
  const field = problem.path === "" ? "" : `${problem.path}: `;
  return `${place}: ${field}${problem.message}\n    ${problem.advice} [${problem.code}]\n`;
}

/** Problems are shown in the order of the file. */
export function compareProblems(a: FileProblem, b: FileProblem): number {
  return a.line - b.line || a.column - b.column;
}

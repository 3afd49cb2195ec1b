/** What is wrong with a file, or worth knowing about it: where, and what to write instead. */
import type { ValueOf } from "../base/shape.ts";
import type { KnowledgeCode } from "./codes.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

export interface FileProblem {
  readonly code: KnowledgeCode;
  /** The file's name as the user gave it; for an object that stands in no file `kind/namespace/name`. */
  readonly file: string;
  /** From 1; 0 for what stands in no file. */
  readonly line: number;
  /** From 1, in characters; 0 for what stands in no file. */
  readonly column: number;
  /** The field, such as `nodes[1].address`; empty when the problem is not about a field. */
  readonly path: string;
  /** What is wrong: one sentence without a full stop. */
  readonly message: string;
  /** What to write instead: full sentences. */
  readonly advice: string;
  /** When the Kubernetes page states otherwise: the reason, by its id (`page-sentences.ts`). */
  readonly differs?: string;
}

/** Where a problem stands in a text. */
export const PROBLEM_PLACE = {
  text: "Where it stands.",
  fields: {
    file: {
      is: "text",
      text: (): string => WORDS.problemFile,
    },
    line: { is: "integer", text: "From 1; 0 for what stands in no file." },
    column: { is: "integer", text: "From 1, in characters; 0 for what stands in no file." },
    field: { is: "text", text: "Such as spec.ports[0].port; empty when it is not about a field." },
  },
} as const;
export type ProblemPlace = ValueOf<typeof PROBLEM_PLACE>;

/** Formats a problem on two lines: place and fault, then the advice with the code. */
export function formatProblem(problem: FileProblem): string {
  const place = problem.line > 0 ? `${problem.file}:${problem.line}:${problem.column}` : problem.file;
  const field = problem.path === "" ? "" : `${problem.path}: `;
  return `${place}: ${field}${problem.message}\n    ${problem.advice} [${problem.code}]\n`;
}

/** Problems are shown in the order of the file. */
export function compareProblems(a: FileProblem, b: FileProblem): number {
  return a.line - b.line || a.column - b.column;
}

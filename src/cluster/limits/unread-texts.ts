/**
 * Documents that nobody could read, such as YAML with a fault. What they hold is not known: a Service without back ends
 * may have them there, and so may a selector its pods.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FileProblem, ProblemPlace } from "#core/catalogue/file-problem.ts";
import type { FlowLimit, LimitedFlow } from "../session/flow-limit.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const UNREAD: ReadonlySet<KnowledgeCode> = new Set(["manifest-invalid-yaml", "manifest-too-large"]);

/** What is said because something is not there. */
const ABSENCES: ReadonlySet<KnowledgeCode> = new Set([
  "selector-matches-nothing",
  "namespace-created",
  "slice-target-unknown",
]);

class UnreadTextLimit implements FlowLimit {
  readonly code: KnowledgeCode;
  readonly message = WORDS.unreadDocument;
  readonly where: ProblemPlace;

  constructor({ code, file, line, column }: FileProblem) {
    this.code = code;
    this.where = { file, line, column, field: "" };
  }

  covers({ target, answerers }: LimitedFlow): boolean {
    return target.kind === "service" && answerers.length === 0;
  }
}

/** One limit for all unread documents, which names the first. */
export function unreadTextLimits(problems: readonly FileProblem[]): readonly FlowLimit[] {
  const first = problems.find(({ code }) => UNREAD.has(code));
  return first === undefined ? [] : [new UnreadTextLimit(first)];
}

/** The notes without those that would follow from what was not read. */
export function notesOfRead(
  notes: readonly FileProblem[],
  limits: readonly FlowLimit[],
): readonly FileProblem[] {
  const isRead = !limits.some((limit) => limit instanceof UnreadTextLimit);
  return isRead ? notes : notes.filter(({ code }) => !ABSENCES.has(code));
}

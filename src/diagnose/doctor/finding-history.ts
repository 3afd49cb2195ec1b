/** What became wrong with nodes that are looked at again and again, and what was mended. */
import { type JsonSchema, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { NODE_FINDING, type NodeFinding } from "./check.ts";
import type { DoctorReport } from "./doctor.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

export const DOCTOR_EVENTS = ["begin", "wrong", "mended", "not-read", "end"] as const;

export const DOCTOR_EVENT = {
  text: (): string => WORDS.event,
  document: "DoctorEvent",
  fields: {
    event: { is: (): typeof DOCTOR_EVENTS => DOCTOR_EVENTS, text: (): string => WORDS.eventKind },
    time: { is: "words", text: "In UTC, as ISO 8601 has it." },
  },
  optional: {
    nodes: { list: "words", text: "Whose evidence is read: of begin." },
    finding: (): typeof NODE_FINDING => NODE_FINDING,
    since: { is: "words", text: (): string => WORDS.eventSince },
    reason: { is: "words", text: "Why nothing was read, or the last look was not." },
    wrong: { list: (): typeof NODE_FINDING => NODE_FINDING, text: "What is wrong still: of end." },
    checksMade: { is: "count", text: "The last time: of end." },
  },
} as const;
export type DoctorEvent = ValueOf<typeof DOCTOR_EVENT>;

/** Of a line of `mullion doctor --watch -o json`. */
export function doctorEventSchema(): JsonSchema {
  return documentSchema("Mullion doctor event", DOCTOR_EVENT, "draft-07");
}

function keyOf({ node, code, message }: NodeFinding): string {
  return `${node} ${code} ${message}`;
}

/** A finding with the time at which it was seen first. */
export interface Standing {
  readonly finding: NodeFinding;
  readonly since: string;
}

/** A change of what is wrong. */
export interface Change extends Standing {
  readonly event: "wrong" | "mended";
}

/**
 * Compares one look with the one before. HNS and an API server are asked at two moments, so what one look shows alone may
 * be a pod that comes up: a finding counts when two looks in a row have it.
 */
export class FindingHistory {
  private seen = new Map<string, Standing>();
  private standing = new Map<string, Standing>();

  /** What is wrong now, the longest first. */
  get wrong(): readonly Standing[] {
    return [...this.standing.values()];
  }

  /** @param time of the look */
  take({ findings }: Pick<DoctorReport, "findings">, time: string): readonly Change[] {
    const now = new Map(
      findings.map((finding) => {
        const key = keyOf(finding);
        return [key, { finding, since: this.seen.get(key)?.since ?? time }] as const;
      }),
    );
    const mended = [...this.standing].filter(([key]) => !now.has(key));
    const wrong = [...now].filter(([key]) => this.seen.has(key) && !this.standing.has(key));
    for (const [key] of mended) this.standing.delete(key);
    for (const [key, each] of wrong) this.standing.set(key, each);
    this.seen = now;
    return [
      ...mended.map(([, each]) => ({ event: "mended", ...each }) as const),
      ...wrong.map(([, each]) => ({ event: "wrong", ...each }) as const),
    ];
  }
}

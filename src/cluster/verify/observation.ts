/** What came of a cell. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Ip } from "#core/net/ip.ts";

/** One attempt. */
export interface CellAttempt {
  readonly outcome: "answered" | "refused" | "timed-out" | "unreachable" | "name-not-found" | "name-wrong";
  /** The server that answered, as it calls itself; undefined for ICMP and for strangers. */
  readonly answeredBy: string | undefined;
  /** The address that it saw. */
  readonly seen: string | undefined;
  /** One clause. */
  readonly detail: string;
  /** What a resolver that found no address says. */
  readonly code?: KnowledgeCode;
  /** Whom the name led to; undefined when the address was given. */
  readonly resolved?: Ip;
  /** The port that was sent from, when the cell chose it. */
  readonly sourcePort: number | undefined;
}

/** All attempts of a cell, in their order. */
export interface Observation {
  readonly attempts: readonly CellAttempt[];
}

/** The trace of an attempt that failed. */
export interface Evidence {
  /** The code that explains how it ended; undefined when nothing explains it. */
  readonly code: KnowledgeCode | undefined;
  /** Every code met on the way. */
  readonly codes: readonly KnowledgeCode[];
  /** One sentence. */
  readonly summary: string;
  /** The machine on which the packet ended, or its answer. */
  readonly at: string | undefined;
}

/** What a judge finds about one cell. `undefined` for a cell that came out as expected. */
export interface Disagreement {
  readonly expected: string;
  readonly observed: string;
  /** The code that explains what was observed, or that was expected and did not show. */
  readonly code: KnowledgeCode | undefined;
  /** The machine on which the packet ended; undefined without a trace. */
  readonly at: string | undefined;
}

/** What came of a cell, as far as a report says it: small enough to be sent. */
export interface CellResult {
  /** In the cells of the plan. */
  readonly position: number;
  /** Attempts that count; absent for a cell that nobody tried. */
  readonly attempts?: number;
  /** Everything that was sent for it, to see again what came out otherwise included. */
  readonly sent?: number;
  /** Back ends that answered a sweep. */
  readonly backEnds?: number;
  readonly disagreement?: Disagreement;
}

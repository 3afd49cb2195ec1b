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
}

/** How the resolution of a name ended, with everything that was asked on the way. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Ip } from "#core/net/ip.ts";
import type { DnsRecord } from "#core/wire/dns/dns.ts";

/** Types of addresses that are asked for. */
export type AddressType = "A" | "AAAA";

/** `system`: as programs resolve, `Resolve-DnsName` and `ping` among them. `nslookup`: that tool's own resolver. */
export type ResolverManner = "system" | "nslookup";

export type QuestionOutcome =
  /** There are addresses. */
  | "answered"
  /** The name exists and has no record of that type. */
  | "no-data"
  /** There is no such name (NXDOMAIN). */
  | "name-error"
  /** The server could not find out (SERVFAIL), or did not want to (REFUSED and others). */
  | "server-failure"
  /** Nobody answered. */
  | "timed-out"
  /** The network, or the own stack, said that no server can be reached. */
  | "unreachable";

/** One question, with all the times it was sent. */
export interface AskedQuestion {
  /** The whole name with its final dot. */
  readonly name: string;
  readonly type: AddressType;
  /** The suffix that the resolver added; empty when it asked for the name as it was given. */
  readonly suffix: string;
  readonly outcome: QuestionOutcome;
  /** Who answered; undefined when nobody did, or the resolver remembered. */
  readonly server: Ip | undefined;
  /** Who was asked, once each, in the order of the first time. */
  readonly asked: readonly Ip[];
  /** How many packets were sent; 0 when the resolver remembered. */
  readonly sentCount: number;
  readonly isCached: boolean;
  /** The answer over UDP was cut, and this one came over TCP. */
  readonly isOverTcp: boolean;
  readonly addresses: readonly Ip[];
  /** Where aliases led; the name itself without them. With its final dot. */
  readonly canonicalName: string;
  /** What came with an answer without addresses: the zone's SOA record. Undefined when the resolver remembered. */
  readonly authorities?: readonly DnsRecord[];
  /** What the answer, or the network, said, in one clause: `NXDOMAIN`, `no answer within 10000 ms`. */
  readonly detail: string;
  readonly tookMs: number;
}

interface ResultBase {
  /** As the program gave it. */
  readonly name: string;
  readonly type: AddressType;
  /** In their order; empty when nothing had to be asked. */
  readonly questions: readonly AskedQuestion[];
  readonly tookMs: number;
}

export type NameResult =
  | (ResultBase & {
      readonly outcome: "resolved";
      /** At least one. */
      readonly addresses: readonly Ip[];
      readonly canonicalName: string;
    })
  | (ResultBase & {
      readonly outcome: "failed";
      readonly code: KnowledgeCode;
      /** One clause without a full stop. */
      readonly detail: string;
    });

/** Is told when a lookup has its result. */
export interface ResolverOwner<Lookup> {
  resolved(lookup: Lookup, result: NameResult): void;
}

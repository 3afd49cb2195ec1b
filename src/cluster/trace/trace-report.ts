/** What a trace says, as data: the JSON of `mullion trace -o json` (schemas/trace.v1alpha1.json). */
import type { Provenance, RuleReference, TranspositionWords } from "#core/base/recorder.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FieldChange } from "#core/wire/text/fields.ts";
import type { LimitReason } from "../session/flow-limit.ts";

export type ProbeProtocol = "tcp" | "udp" | "icmp";
/** `dns`: a name is looked up, and nothing more. */
export type TraceProtocol = ProbeProtocol | "dns";
export type AddressFamily = "ipv4" | "ipv6";

/** Somebody a packet can come from or go to. */
export interface TraceEndDescription {
  /** As the user may write it: `pod/default/web`, `node/win-1`, `external`, an address. */
  readonly reference: string;
  /** The node it runs on; absent for what is outside. */
  readonly node?: string;
  readonly address: string;
}

/** One thing that happened to the packet. */
export interface TraceStep {
  /** From 1, counted over the leg. */
  readonly number: number;
  /** Milliseconds since the packet was sent. */
  readonly atMs: number;
  readonly node: string;
  readonly place: string;
  readonly kind:
    | "send"
    | "forward"
    | "deliver"
    | "translate"
    | "layer"
    | "unified-flow"
    | "switch"
    | "wire"
    | "drop";
  readonly text: string;
  /** For steps on a switch port. */
  readonly port?: string;
  readonly direction?: "out" | "in";
  readonly layer?: string;
  readonly group?: string;
  readonly rule?: RuleReference;
  /** How a layer decided. */
  readonly outcome?: "rule" | "flow" | "miss";
  /** For unified flows that were made: what they do to the packets that follow, in the words of VFP's ETW events. */
  readonly transposition?: TranspositionWords;
  /** For translations of a Linux stack: `PREROUTING`, `INPUT`, `OUTPUT`, `POSTROUTING`. */
  readonly hook?: string;
  /** For rules of a Linux stack: the object that asked for them. */
  readonly provenance?: Provenance;
  /** For steps of a host stack. */
  readonly compartment?: number;
  /** Header fields that this step changed, in the order of the frame. */
  readonly changes: readonly FieldChange[];
  /** The frame after the step, as one line. */
  readonly frame: string;
  /** Explains the step; `mullion explain CODE`. */
  readonly code?: KnowledgeCode;
  /** The section that infers this behaviour; absent when it is documented, observed or read in code. */
  readonly inferred?: string;
}

/** One direction. */
export interface TraceLeg {
  readonly steps: readonly TraceStep[];
  /** How this direction ended. */
  readonly end: "delivered" | "dropped" | "lost";
}

/** One question of a resolver, with all the times it was sent. */
export interface TraceQuestionStep {
  /** The whole name with its final dot. */
  readonly name: string;
  readonly type: "A" | "AAAA";
  /** The suffix that the resolver added; absent for the name as it was given. */
  readonly suffix?: string;
  readonly outcome: "answered" | "no-data" | "name-error" | "server-failure" | "timed-out" | "unreachable";
  /** Who answered; absent when nobody did, or the resolver remembered. */
  readonly server?: string;
  /** Packets that were sent; 0 when the resolver remembered. */
  readonly sent: number;
  readonly addresses: readonly string[];
  /** What the answer, or the network, said: `NXDOMAIN`. */
  readonly detail: string;
}

/** How the sender's resolver came from a name to an address. */
export interface TraceResolution {
  readonly name: string;
  readonly resolver: "windows" | "linux";
  readonly servers: readonly string[];
  /** The search list, as the resolver was told. */
  readonly search: readonly string[];
  /** Of a Linux resolver: a name with so many dots is first asked for as it is. */
  readonly ndots?: number;
  readonly questions: readonly TraceQuestionStep[];
  /** Suffixes that this resolver does not try. */
  readonly unusedSuffixes: readonly string[];
  readonly outcome: "resolved" | "failed";
  readonly addresses: readonly string[];
  /** Where aliases led, with its final dot. */
  readonly canonicalName?: string;
  /** With `failed`. */
  readonly code?: KnowledgeCode;
  readonly detail?: string;
}

/**
 * `not-resolved`: the sender's resolver found no address. `answered`: somebody received the packet and the answer came back. `refused`: the destination said no.
 * `no-answer`: the packet arrived, its answer did not come back. `not-delivered`: the packet did not arrive.
 */
export type TraceVerdict = "not-resolved" | "answered" | "refused" | "no-answer" | "not-delivered";

export interface TraceReport {
  readonly apiVersion: "mullion/v1alpha1";
  readonly kind: "Trace";
  readonly from: TraceEndDescription;
  readonly to: TraceEndDescription;
  readonly protocol: TraceProtocol;
  readonly port?: number;
  /** Which behaviour answered: the real component's with its defects, or the repaired one. */
  readonly compat: "upstream" | "hardened";
  readonly verdict: TraceVerdict;
  /** One sentence. */
  readonly summary: string;
  /** The code that explains the verdict, where one does. */
  readonly code?: KnowledgeCode;
  /** Why the outcome is no answer about the real cluster: what could change it and is not carried out here. */
  readonly notJudged?: readonly LimitReason[];
  /** What the other end said, when it answered: who it was and whom it saw. */
  readonly answer?: string;
  /** Of a receiver that was named by a name: how it was resolved. */
  readonly resolution?: TraceResolution;
  /** Of a lookup, and of a name that led nowhere: the packet of the question that decided; without steps when none was sent. */
  readonly forward: TraceLeg;
  readonly reply?: TraceLeg;
}

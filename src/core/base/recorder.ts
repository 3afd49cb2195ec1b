/**
 * What a trace hears. The same code moves a packet with and without a recorder; a packet that carries a tag
 * makes each part it meets say what it did. Nothing here decides anything.
 */

import type { ValueOf } from "./shape.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** Which packet of a trace this is. 0: not followed. 1: the packet asked about. 2: the answer to it. */
export type PacketTag = 0 | 1 | 2;

/** A policy of an object: by its position in the object's list, or by what it is for where there are hundreds. */
export const POLICY_REFERENCE = {
  oneOf: [
    {
      text: "A policy by its position.",
      fields: {
        type: "text",
        index: { is: "integer", text: "Position in the object's list of policies, from 0." },
      },
    },
    {
      text: "A policy by its name.",
      fields: {
        type: "text",
        name: { is: "text", text: (): string => WORDS.policyReferenceName },
      },
    },
  ],
} as const;
export type PolicyReference = ValueOf<typeof POLICY_REFERENCE>;

/** The object that put a rule where it is. */
export const PROVENANCE = {
  text: "The object that put the rule there.",
  fields: {
    object: {
      is: "text",
      text: (): string => WORDS.provenanceObject,
    },
    id: "text",
    name: "text",
  },
  optional: { policy: (): typeof POLICY_REFERENCE => POLICY_REFERENCE },
} as const;
export type Provenance = ValueOf<typeof PROVENANCE>;

/** How texts name a policy. */
export function nameOfPolicy(policy: PolicyReference): string {
  return "index" in policy ? `${policy.type} [${policy.index}]` : `${policy.type} ${policy.name}`;
}

/** A rule as a trace names it. */
export const RULE_REFERENCE = {
  text: "A VFP rule.",
  fields: {
    id: "text",
    name: { is: "text", text: "The friendly name that vfpctrl prints." },
    priority: { is: "integer", text: "The lowest matching number wins." },
    action: [
      "allow",
      "block",
      "nat",
      "dynnat",
      "lbnat",
      "transpose",
      "routeencap",
      "mapencap",
      "decap",
      "mark",
      "qos",
      "redirect",
      "paroute",
    ],
    provenance: (): typeof PROVENANCE => PROVENANCE,
  },
} as const;
export type RuleReference = ValueOf<typeof RULE_REFERENCE>;

interface EventBase {
  /** The machine: a node's name, `router`, `outside`. */
  readonly node: string;
  /** The part of the machine, as a person would name it: `pod default/web`, `port 3 (…)`, `uplink`. */
  readonly place: string;
  /** Says what happened in one short clause. */
  readonly text: string;
  /** A code of the knowledge catalogue, where it explains this step. */
  readonly code?: string;
  /** Set when the behaviour is inferred, not documented or observed: the section that says so. */
  readonly inferred?: string;
}

/** A host stack made, routed, took or refused a packet. */
export interface StackEvent extends EventBase {
  readonly kind: "send" | "forward" | "deliver";
  readonly compartment: number;
}

/** A Linux stack, or WinNAT on Windows, changed an address or port. */
export interface TranslationEvent extends EventBase {
  readonly kind: "translate";
  readonly compartment: number;
  /** `PREROUTING`, `INPUT`, `OUTPUT`, `POSTROUTING`, `WinNAT`. */
  readonly hook: string;
  /** Absent when no rule asked for it: the port was taken. */
  readonly provenance?: Provenance;
}

/** One VFP layer of one port. */
export interface LayerEvent extends EventBase {
  readonly kind: "layer";
  readonly port: string;
  readonly direction: "out" | "in";
  readonly layer: string;
  readonly group?: string;
  readonly rule?: RuleReference;
  /** `rule`: a rule matched. `flow`: an existing flow of this layer decided. `miss`: nothing matched, the layer lets pass. */
  readonly outcome: "rule" | "flow" | "miss";
}

/**
 * What VFP's ETW events say of the sum of all header changes: `Ignore`, `Modify(…)`, `Push(…)`, `Pop` (dataplane.md
 * §1.10).
 */
export const TRANSPOSITION_WORDS = {
  text: "Header changes in VFP's words: Ignore, Modify(…), Push(…), Pop.",
  fields: {
    tni: "text",
    vlanId: "text",
    mssDelta: "text",
    macHeader: "text",
    ipHeader: "text",
    transportHeader: "text",
    encap: "text",
  },
} as const;
export type TranspositionWords = ValueOf<typeof TRANSPOSITION_WORDS>;

/** A unified flow: it decided for the whole port, or was made of what the layers did. */
export interface UnifiedFlowEvent extends EventBase {
  readonly kind: "unified-flow";
  readonly port: string;
  readonly direction: "out" | "in";
  /** Present where it was made: what it does to the packets that follow. */
  readonly transposition?: TranspositionWords;
}

/** A line of a packet's way through a pipeline of OVN. */
export const LOGICAL_STEP = {
  text: "A line of the packet's way through a pipeline of OVN.",
  fields: {
    kind: {
      is: ["flow", "tracked", "made", "output"],
      text: (): string => WORDS.logicalStepKind,
    },
    text: { is: "text", text: "As ovn-trace prints it." },
  },
  optional: {
    uuid: { is: "text", text: "Of the row of Logical_Flow." },
    stage: "text",
    table: "integer",
    priority: { is: "integer", text: "The highest number that matches wins." },
    match: "text",
    actions: { list: "text", text: "One each, as ovn-trace prints them." },
    object: { is: "text", text: (): string => WORDS.logicalStepObject },
  },
} as const;
export type LogicalStep = ValueOf<typeof LOGICAL_STEP>;

/** A pipeline of a logical switch or router of OVN took the packet; the frame is that which came to it. */
export interface PipelineEvent extends EventBase {
  readonly kind: "pipeline";
  readonly logical: readonly LogicalStep[];
}

/** A switch chose a port, or a cable carried the frame. */
export interface ForwardEvent extends EventBase {
  readonly kind: "switch" | "wire";
}

/** The packet ended here without reaching anybody. */
export interface DropEvent extends EventBase {
  readonly kind: "drop";
  readonly code: string;
  readonly port?: string;
  readonly direction?: "out" | "in";
  readonly layer?: string;
  readonly group?: string;
  readonly rule?: RuleReference;
  /** Of the rule of a Linux stack that ended it. */
  readonly provenance?: Provenance;
}

export type TraceEvent =
  | StackEvent
  | TranslationEvent
  | LayerEvent
  | UnifiedFlowEvent
  | PipelineEvent
  | ForwardEvent
  | DropEvent;

/** Hears what happens to a followed packet. */
export interface Recorder {
  /** `frame` holds the bytes after the step; it is only valid during the call. */
  record(tag: PacketTag, event: TraceEvent, frame: Uint8Array, nowMs: number): void;
}

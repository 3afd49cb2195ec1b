/** What a trace says: the JSON of `mullion trace -o json` (schemas/trace.v1alpha1.json). */
import { LOGICAL_STEP, PROVENANCE, RULE_REFERENCE, TRANSPOSITION_WORDS } from "#core/base/recorder.ts";
import { type JsonSchema, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { FIELD_CHANGE } from "#core/wire/text/fields.ts";
import { LIMIT_REASON } from "../session/flow-limit.ts";
import { PAGE_DIFFERENCE } from "../verify/report.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

export type ProbeProtocol = "tcp" | "udp" | "icmp";
/** `dns`: a name is looked up, and nothing more. */
export const TRACE_PROTOCOLS = ["tcp", "udp", "icmp", "dns"] as const;
export type TraceProtocol = (typeof TRACE_PROTOCOLS)[number];
export type AddressFamily = "ipv4" | "ipv6";

/** Somebody a packet can come from or go to. */
export const TRACE_END = {
  text: (): string => WORDS.traceEnd,
  fields: {
    reference: {
      is: "text",
      text: "As the command line takes it: pod/default/web, node/win-1, external, an address.",
    },
    address: "text",
  },
  optional: { node: { is: "text", text: "The node it runs on; absent outside the cluster." } },
} as const;
export type TraceEndDescription = ValueOf<typeof TRACE_END>;

export const TRACE_STEP = {
  text: "One thing that happened to the packet.",
  fields: {
    number: { is: "integer", text: "From 1, counted over the leg." },
    atMs: { is: "number", text: "Milliseconds since the packet was sent." },
    node: "text",
    place: { is: "text", text: "The part of the node." },
    kind: [
      "send",
      "forward",
      "deliver",
      "translate",
      "layer",
      "unified-flow",
      "pipeline",
      "switch",
      "wire",
      "drop",
    ],
    text: "text",
    changes: { list: (): typeof FIELD_CHANGE => FIELD_CHANGE, text: "In the order of the frame." },
    frame: { is: "text", text: "The frame after the step, as one line." },
  },
  optional: {
    bytes: { is: "text", text: "The frame after the step, in hexadecimal, when asked for." },
    port: { is: "text", text: "Id of the switch port." },
    direction: { is: ["out", "in"], text: "out: from the vNIC into the switch." },
    layer: "text",
    group: "text",
    rule: (): typeof RULE_REFERENCE => RULE_REFERENCE,
    networkPolicy: { is: "text", text: "The NetworkPolicy behind the rule, and which of its rules." },
    outcome: { is: ["rule", "flow", "miss"], text: "How the layer decided." },
    transposition: {
      is: (): typeof TRANSPOSITION_WORDS => TRANSPOSITION_WORDS,
      text: (): string => WORDS.traceStepTransposition,
    },
    logical: { list: (): typeof LOGICAL_STEP => LOGICAL_STEP, text: (): string => WORDS.traceStepLogical },
    hook: { is: "text", text: "Of a translation on Linux: PREROUTING, INPUT, OUTPUT, POSTROUTING." },
    provenance: {
      is: (): typeof PROVENANCE => PROVENANCE,
      text: (): string => WORDS.traceStepProvenance,
    },
    compartment: { is: "integer", text: "1 is the host's own." },
    code: {
      is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES,
      text: "Explains the step: mullion explain CODE.",
    },
    inferred: { is: "text", text: (): string => WORDS.traceStepInferred },
  },
} as const;
export type TraceStep = ValueOf<typeof TRACE_STEP>;

export const TRACE_LEG = {
  text: "One direction.",
  fields: {
    steps: { list: (): typeof TRACE_STEP => TRACE_STEP },
    end: { is: ["delivered", "dropped", "lost"], text: "How this direction ended." },
  },
} as const;
export type TraceLeg = ValueOf<typeof TRACE_LEG>;

/** One question of a resolver. */
export const TRACE_QUESTION_STEP = {
  text: (): string => WORDS.traceQuestionStep,
  fields: {
    name: { is: "text", text: "The whole name with its final dot." },
    type: ["A", "AAAA"],
    outcome: ["answered", "no-data", "name-error", "server-failure", "timed-out", "unreachable"],
    sent: { is: "integer", text: "Packets that were sent; 0: the resolver remembered." },
    addresses: { list: "text" },
    detail: { is: "text", text: "What the answer, or the network, said: NXDOMAIN." },
  },
  optional: {
    suffix: { is: "text", text: (): string => WORDS.traceQuestionStepSuffix },
    server: { is: "text", text: "Who answered; absent when nobody did, or the resolver remembered." },
  },
} as const;
export type TraceQuestionStep = ValueOf<typeof TRACE_QUESTION_STEP>;

/** How the sender's resolver came from a name to an address. */
export const TRACE_RESOLUTION = {
  text: (): string => WORDS.traceResolution,
  fields: {
    name: "text",
    resolver: ["windows", "linux"],
    servers: { list: "text" },
    search: { list: "text", text: "The search list, as the resolver was told." },
    questions: { list: (): typeof TRACE_QUESTION_STEP => TRACE_QUESTION_STEP },
    unusedSuffixes: { list: "text", text: "Suffixes that this resolver does not try." },
    outcome: ["resolved", "failed"],
    addresses: { list: "text" },
  },
  optional: {
    ndots: {
      is: "integer",
      text: (): string => WORDS.traceResolutionNdots,
    },
    canonicalName: { is: "text", text: "Where aliases led, with its final dot." },
    code: { is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES, text: "Why it failed." },
    detail: "text",
  },
} as const;
export type TraceResolution = ValueOf<typeof TRACE_RESOLUTION>;

export const TRACE_REPORT = {
  text: "What one packet and its answer met on their way.",
  document: "Trace",
  fields: {
    from: (): typeof TRACE_END => TRACE_END,
    to: (): typeof TRACE_END => TRACE_END,
    protocol: (): typeof TRACE_PROTOCOLS => TRACE_PROTOCOLS,
    compat: {
      is: ["upstream", "hardened"],
      text: (): string => WORDS.traceReportCompat,
    },
    verdict: {
      is: ["not-resolved", "answered", "refused", "no-answer", "not-delivered"],
      text: (): string => WORDS.traceReportVerdict,
    },
    summary: { is: "text", text: "One sentence." },
    forward: {
      is: (): typeof TRACE_LEG => TRACE_LEG,
      text: (): string => WORDS.traceReportForward,
    },
  },
  optional: {
    port: { is: "integer", text: "The receiver's port; absent for ICMP." },
    code: { is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES, text: "Explains the verdict." },
    notJudged: {
      list: (): typeof LIMIT_REASON => LIMIT_REASON,
      text: (): string => WORDS.traceReportNotJudged,
    },
    documentation: (): typeof PAGE_DIFFERENCE => PAGE_DIFFERENCE,
    answer: { is: "text", text: "What the receiver said: who it was and whom it saw." },
    resolution: (): typeof TRACE_RESOLUTION => TRACE_RESOLUTION,
    reply: (): typeof TRACE_LEG => TRACE_LEG,
  },
} as const;
export type TraceReport = ValueOf<typeof TRACE_REPORT>;
export type TraceVerdict = TraceReport["verdict"];

export const TRACE_SCHEMA: JsonSchema = documentSchema("Mullion trace", TRACE_REPORT);

/** What a bring-up tells: every step, what it said, what it changed, and how the node stands afterwards. */
import { type JsonSchema, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { NETWORK_MODES, RUNTIMES, SCRIPT_SETS } from "./options.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

export const BRING_UP_FINDING = {
  text: "What is wrong.",
  fields: {
    code: { is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES, text: "mullion explain CODE says more." },
    message: { is: "text", text: "One sentence without a full stop." },
  },
} as const;
export type BringUpFinding = ValueOf<typeof BRING_UP_FINDING>;

/** In the order in which they are shown. */
export const CHANGE_KINDS = [
  "file",
  "reservation",
  "network",
  "endpoint",
  "policy-list",
  "adapter",
  "route",
  "firewall-rule",
  "node",
  "node-field",
  "process",
] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** Something on the node, or its Node object, that is otherwise than before. */
export const NODE_CHANGE = {
  text: "Something that the step changed.",
  fields: {
    kind: (): typeof CHANGE_KINDS => CHANGE_KINDS,
    name: { is: "text", text: "The path, the name in HNS, the route, the annotation …" },
    change: ["created", "changed", "deleted"],
    detail: { is: "text", text: (): string => WORDS.nodeChangeDetail },
  },
} as const;
export type Change = ValueOf<typeof NODE_CHANGE>;

export const STEP_REPORT = {
  text: "One step of a script.",
  fields: {
    run: { is: "integer", text: "Which run of the script, from 1." },
    number: { is: "integer", text: "From 1, over all runs." },
    script: { is: "text", text: "The file that holds the step; `by hand` for manual steps." },
    name: "text",
    command: { is: "text", text: "What it runs, with its arguments." },
    outcome: {
      is: ["done", "went-on", "ended", "waits", "skipped"],
      text: (): string => WORDS.stepReportOutcome,
    },
    beganMs: { is: "number", text: "Virtual time, in milliseconds." },
    tookMs: { is: "number", text: "Virtual time, in milliseconds." },
    output: {
      list: "text",
      text: (): string => WORDS.stepReportOutput,
    },
    changes: {
      list: (): typeof NODE_CHANGE => NODE_CHANGE,
      text: (): string => WORDS.stepReportChanges,
    },
    findings: {
      list: (): typeof BRING_UP_FINDING => BRING_UP_FINDING,
      text: "In the order in which they were met.",
    },
  },
} as const;
export type StepReport = ValueOf<typeof STEP_REPORT>;
export type StepOutcome = StepReport["outcome"];

export const PROCESS_REPORT = {
  text: "A program that was started.",
  fields: {
    name: ["kubelet", "flanneld", "kube-proxy"],
    commandLine: "text",
    state: ["running", "ended"],
    log: { list: "text", text: "Its last lines." },
  },
} as const;
export type ProcessReport = ValueOf<typeof PROCESS_REPORT>;

export const FILE_REPORT = {
  text: "A file on the node's disk.",
  fields: { path: { is: "text", text: "As Windows writes it." }, text: "text" },
} as const;

export const BRING_UP_REPORT = {
  text: "A bring-up of one Windows node.",
  document: "BringUp",
  fields: {
    node: "text",
    scripts: (): typeof SCRIPT_SETS => SCRIPT_SETS,
    runtime: (): typeof RUNTIMES => RUNTIMES,
    networkMode: {
      is: (): typeof NETWORK_MODES => NETWORK_MODES,
      text: "The scripts' words for vxlan and host-gw.",
    },
    flanneld: { is: "text", text: "The release that ran." },
    outcome: {
      is: ["up", "up-with-findings", "not-up"],
      text: (): string => WORDS.bringUpReportOutcome,
    },
    tookMs: {
      is: "number",
      text: (): string => WORDS.bringUpReportTookMs,
    },
    steps: { list: (): typeof STEP_REPORT => STEP_REPORT, text: "In order, those of all runs." },
    processes: {
      list: (): typeof PROCESS_REPORT => PROCESS_REPORT,
      text: (): string => WORDS.bringUpReportProcesses,
    },
    files: {
      list: (): typeof FILE_REPORT => FILE_REPORT,
      text: "All files on the node's disk at the end, by path.",
    },
  },
} as const;
export type BringUpReport = ValueOf<typeof BRING_UP_REPORT>;

export const BRING_UP_SCHEMA: JsonSchema = documentSchema(
  "What mullion bring-up -o json prints",
  BRING_UP_REPORT,
);

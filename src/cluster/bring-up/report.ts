/** What a bring-up tells: every step, what it said, what it changed, and how the node stands afterwards. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { NetworkMode, Runtime, ScriptSet } from "./options.ts";

export interface BringUpFinding {
  readonly code: KnowledgeCode;
  /** One sentence without a full stop. */
  readonly message: string;
}

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
export interface Change {
  readonly kind: ChangeKind;
  readonly name: string;
  readonly change: "created" | "changed" | "deleted";
  /** What it is now; of what is gone, what it was. */
  readonly detail: string;
}

export const STEP_OUTCOMES = ["done", "went-on", "ended", "waits", "skipped"] as const;
/**
 * `went-on`: something was wrong, and the script did not mind. `ended`: the script ended here; whoever called it goes on.
 * `waits`: for ever. `skipped`: its script had ended before.
 */
export type StepOutcome = (typeof STEP_OUTCOMES)[number];

export interface StepReport {
  /** Which run of the script, from 1. */
  readonly run: number;
  /** From 1, over all runs. */
  readonly number: number;
  /** The file that holds it: `install.ps1`. */
  readonly script: string;
  readonly name: string;
  /** What it runs, with its arguments. */
  readonly command: string;
  readonly outcome: StepOutcome;
  /** Virtual time. */
  readonly beganMs: number;
  readonly tookMs: number;
  /** What it printed, and what a process of it printed. */
  readonly output: readonly string[];
  readonly changes: readonly Change[];
  readonly findings: readonly BringUpFinding[];
}

export interface ProcessReport {
  readonly name: string;
  readonly commandLine: string;
  readonly state: "running" | "ended";
  /** The last lines of its log. */
  readonly log: readonly string[];
}

export interface FileReport {
  /** As Windows writes it. */
  readonly path: string;
  readonly text: string;
}

export interface BringUpReport {
  readonly apiVersion: "mullion/v1alpha1";
  readonly kind: "BringUp";
  readonly node: string;
  readonly scripts: ScriptSet;
  readonly runtime: Runtime;
  readonly networkMode: NetworkMode;
  /** The release of flanneld that ran. */
  readonly flanneld: string;
  /** `up`: as it should be. `up-with-findings`: the script went through, and the node is not as it should be. */
  readonly outcome: "up" | "up-with-findings" | "not-up";
  /** Virtual time from the first step to the end of the last. */
  readonly tookMs: number;
  readonly steps: readonly StepReport[];
  /** What runs, or has run, on the node. */
  readonly processes: readonly ProcessReport[];
  /** What lies on the node's disk at the end. */
  readonly files: readonly FileReport[];
}

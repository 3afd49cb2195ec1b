/** What a walk is made of, for its page and for its picture. */
import type { TraceStep } from "#cluster/trace/trace-report.ts";
import type { Tone } from "./parts.tsx";

/** Steps of one place that follow each other. */
export interface Hop {
  readonly node: string;
  readonly place: string;
  readonly direction: string;
  readonly steps: readonly TraceStep[];
}

export function hopsOf(steps: readonly TraceStep[]): readonly Hop[] {
  const hops: { node: string; place: string; direction: string; steps: TraceStep[] }[] = [];
  for (const step of steps) {
    const { node, place, direction = "" } = step;
    const last = hops.at(-1);
    const isSame = last?.node === node && (last.place === place || step.kind === "switch");
    if (isSame && (last.direction === direction || direction === "")) last.steps.push(step);
    else hops.push({ node, place, direction, steps: [step] });
  }
  return hops;
}

export function lanesOf(steps: readonly TraceStep[]): readonly string[] {
  return [...new Set(steps.map(({ node }) => node))];
}

/** A layer that let the packet pass by. */
export function isQuiet({ kind, outcome, code, changes }: TraceStep): boolean {
  return kind === "layer" && outcome === "miss" && code === undefined && changes.length === 0;
}

export function toneOf({ kind, rule, code }: TraceStep): Tone {
  if (kind === "drop" || rule?.action === "block") return "bad";
  if (kind === "deliver") return "good";
  return code === undefined ? "plain" : "warn";
}

export function titleOf(step: TraceStep): string {
  return step.layer ?? (step.kind === "unified-flow" ? "unified flow" : step.kind);
}

/** Fields that tell where a packet goes; what else changes follows from them, and stands among the details. */
const TELLING = /(?:^|\.)(?:src|dst|srcport|dstport|ttl|hlim|vni|id)$/;
const CHANGES_MAX = 6;

/** The changes that say most of a step, and how many others there are. */
export function tellingChanges({ changes }: TraceStep): {
  readonly changes: TraceStep["changes"];
  readonly more: number;
} {
  const telling = changes.filter(({ field }) => TELLING.test(field) && field !== "ip.id");
  const shown = (telling.length === 0 ? changes : telling).slice(0, CHANGES_MAX);
  return { changes: shown, more: changes.length - shown.length };
}

/** What a page shows: documents of the command line and the control API, and what the catalogue says of their codes. */
import { visibleText } from "#core/base/visible-text.ts";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import type { VerifyComparison } from "#cluster/verify/compare.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import type { KnowledgeEntry } from "#diagnose/catalogue/entry.ts";
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";

export type Explanations = Readonly<Record<string, KnowledgeEntry>>;

/** What `-o html` writes into its file. */
export interface ReportData {
  readonly version: string;
  readonly document: VerifyReport | VerifyComparison | TraceReport | DoctorReport;
  readonly explanations: Explanations;
}

/**
 * A value with every text in it as it is to be shown: what steers the direction of a line becomes visible. Markup needs no
 * care, for texts become text nodes.
 */
export function shown<T>(value: T): T {
  if (typeof value === "string") return visibleText(value) as T;
  if (Array.isArray(value)) return value.map((each: unknown) => shown(each)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [shown(name), shown(each)])) as T;
}

/** `pod/default/web` as people call it where the kind is clear. */
export function shortName(reference: string): string {
  const [kind = "", ...rest] = reference.split("/");
  if (rest.length === 0) return reference;
  const [namespace, ...name] = rest;
  return kind !== "node" && namespace === "default" ? name.join("/") : rest.join("/");
}

/** What a reference names: pod, node, service; outside for the rest. */
export function kindOf(reference: string): string {
  const at = reference.indexOf("/");
  return at < 0 ? "outside" : reference.slice(0, at);
}

export function plural(count: number, word: string, several = `${word}s`): string {
  return `${count} ${count === 1 ? word : several}`;
}

/** A trace folded to what decided: one line for each rule, translation or drop that did something to the packet. */
import { wrap } from "#core/base/text-layout.ts";
import { PLAIN_STYLE, type TraceStyle, nameChange, nameProvenance, nameTraceEnd } from "./format-trace.ts";
import type { TraceLeg, TraceReport, TraceStep } from "./trace-report.ts";

const NODE_WIDTH_MIN = 8;

/**
 * MAC addresses and TTL change at every router, checksums and lengths follow from the rest, and of a header that comes or
 * goes its addresses and its network tell enough.
 */
function isDecision({ field, before, after }: TraceStep["changes"][number]): boolean {
  if (before === undefined || after === undefined)
    return /\.(?:src|dst|vni)$/.test(field) && !field.includes("eth.");
  return !/\beth\.|\.ttl$|\.hop_?limit$|checksum$|len(?:gth)?$|\.id$/i.test(field);
}

function isDefault({ rule }: TraceStep): boolean {
  return rule?.provenance.object === "default";
}

/** A clause about what happened on a machine. */
interface Decision {
  readonly node: string;
  readonly text: string;
  readonly isDrop: boolean;
}

/** What a step decided, in one clause; undefined when the packet only passed by. */
function decisionOf(step: TraceStep): string | undefined {
  const { kind, layer, hook, rule, changes, text, code, provenance } = step;
  if (kind === "drop") {
    const policy = step.networkPolicy === undefined ? "" : `, ${step.networkPolicy}`;
    return `DROPPED ${layer === undefined ? "" : `in ${layer}: `}${text}${policy}`;
  }
  if (kind === "deliver") return text;
  if (kind === "unified-flow" || isDefault(step)) return undefined;
  const telling = changes.filter(isDecision).map(nameChange);
  if (telling.length === 0 && code === undefined) return undefined;
  const from = rule?.provenance ?? provenance;
  const name = layer ?? hook;
  const what = telling.length > 0 ? telling.join(", ") : text;
  // The text of an exception leads to the rule, the others end before it.
  const joint = what.endsWith(" of") ? " " : ", by ";
  const whose = from === undefined ? "" : `${joint}${nameProvenance(from)}`;
  return `${name === undefined ? "" : `${name}: `}${what}${whose}`;
}

/** Layers that change an answer back have decided before: they share one clause for each machine. */
function decisionsOf(leg: TraceLeg, withEnd: boolean): readonly Decision[] {
  const decisions: Decision[] = [];
  let back: TraceStep[] = [];
  const flush = (): void => {
    const last = back.at(-1);
    if (last !== undefined) {
      const layers = back.map(({ layer = "" }) => layer).join(", ");
      decisions.push({
        node: last.node,
        text: `${layers}: answer of a flow, as ${last.frame}`,
        isDrop: false,
      });
    }
    back = [];
  };
  for (const step of leg.steps) {
    const text = decisionOf(step);
    if (text === undefined || (step.kind === "deliver" && !withEnd)) continue;
    const isBack = step.outcome === "flow" && step.code === undefined;
    if (!isBack || step.node !== back.at(-1)?.node) flush();
    if (isBack) back.push(step);
    else decisions.push({ node: step.node, text, isDrop: step.kind === "drop" });
  }
  flush();
  return decisions;
}

function legLines(title: string, leg: TraceLeg, nodeWidth: number, style: TraceStyle): readonly string[] {
  // Where an answer ends is what the summary says.
  const head = wrap(`${title}: ${leg.steps[0]?.frame ?? ""}`, style.columns).map((line) =>
    style.heading(line),
  );
  const lines = decisionsOf(leg, title === "Forward").flatMap(({ node, text, isDrop }) =>
    wrap(text, style.columns - nodeWidth - 4).map((line, index) => {
      const margin = (index === 0 ? node : "").padEnd(nodeWidth);
      return `  ${margin}  ${isDrop ? style.bad(line) : line}`;
    }),
  );
  return [...head, ...lines];
}

/** At most as wide as the style says. What is left out stands in `formatTrace`. */
export function foldTrace(report: TraceReport, style: TraceStyle = PLAIN_STYLE): string {
  const steps = [...report.forward.steps, ...(report.reply?.steps ?? [])];
  const nodeWidth = Math.max(NODE_WIDTH_MIN, ...steps.map(({ node }) => node.length));
  const sum = report.verdict === "answered" ? style.good : style.bad;
  return [
    ...wrap(`${nameTraceEnd(report.from)} → ${nameTraceEnd(report.to)}`, style.columns),
    ...legLines("Forward", report.forward, nodeWidth, style),
    ...(report.reply === undefined ? [] : legLines("Reply", report.reply, nodeWidth, style)),
    ...wrap(report.summary, style.columns).map(sum),
    ...(report.code === undefined ? [] : [`Why, and what to do: mullion explain ${report.code}`]),
    "",
  ].join("\n");
}

/** A resolution as text for people: who asked whom for which names, and what came of it. */
import { wrap } from "#core/base/text-layout.ts";
import { formatReason } from "../session/flow-limit.ts";
import { PLAIN_STYLE, type TraceStyle, nameTraceEnd, questionLines, resolverLines } from "./format-trace.ts";
import type { LookupProgram, NameLookupReport, ResolutionReport } from "./resolve-report.ts";

const INDENT = " ".repeat(5);

/** Milliseconds of virtual time, as exact as they tell something. */
function duration(ms: number): string {
  return ms >= 1_000 ? `${Number((ms / 1_000).toFixed(1))} s` : `${Number(ms.toFixed(1))} ms`;
}

function resolverName({ resolver }: NameLookupReport, as: LookupProgram): string {
  if (as === "nslookup") return "nslookup's own resolver";
  return resolver === "windows" ? "Windows' DNS client" : "the resolver of Linux";
}

function endLines(lookup: NameLookupReport, style: TraceStyle): string[] {
  const { outcome, addresses, canonicalName, name, code, tookMs, questions } = lookup;
  if (outcome === "failed")
    return [
      style.bad(`${INDENT}does not resolve, known after ${duration(tookMs)}`),
      ...(code === undefined ? [] : [`${INDENT}why, and what to do: mullion explain ${code}`]),
    ];
  const isRenamed = canonicalName !== undefined && canonicalName.replace(/\.$/, "") !== name;
  const whose = isRenamed ? ` (${canonicalName})` : "";
  const isRemembered = questions.length > 0 && questions.every(({ sent }) => sent === 0);
  const when = isRemembered ? "remembered" : `after ${duration(tookMs)}`;
  return [style.good(`${INDENT}${addresses.join(", ")}${whose}, ${when}`)];
}

function lookupLines(lookup: NameLookupReport, as: LookupProgram, style: TraceStyle): string[] {
  const isFirst = lookup.afterMs === 0;
  const heading = isFirst
    ? `${nameTraceEnd(lookup.from)}, by ${resolverName(lookup, as)}`
    : `  again, ${duration(lookup.afterMs)} after the first`;
  const reasons = (lookup.notJudged ?? []).flatMap((reason) => [
    ...wrap(`Not judged: ${formatReason(reason)}.`, style.columns - INDENT.length).map((line) =>
      style.bad(INDENT + line),
    ),
    `${INDENT}what that means: mullion explain ${reason.code}`,
  ]);
  return [
    ...wrap(heading, style.columns).map((line) => (isFirst ? style.heading(line) : style.faint(line))),
    ...(isFirst ? resolverLines(lookup, style) : []),
    ...questionLines(lookup, style),
    ...endLines(lookup, style),
    ...reasons,
  ];
}

/** Formats a report; lines keep to the columns of the style. */
export function formatResolution(report: ResolutionReport, style: TraceStyle = PLAIN_STYLE): string {
  const blocks = report.lookups.map((lookup) => {
    const lines = lookupLines(lookup, report.as, style);
    return lookup.afterMs === 0 ? ["", ...lines] : lines;
  });
  return `${blocks.flat().slice(1).join("\n")}\n`;
}

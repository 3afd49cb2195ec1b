/** A resolution as text for people: who asked whom for which names, and what came of it. */
import { formatSpan } from "#core/base/duration.ts";
import { formatReason } from "../session/flow-limit.ts";
import {
  INDENT,
  PLAIN_STYLE,
  type TraceStyle,
  block,
  nameTraceEnd,
  questionLines,
  resolverLines,
} from "./format-trace.ts";
import type { LookupProgram, NameLookupReport, ResolutionReport } from "./resolve-report.ts";

/** Of later lookups of a sender. */
const AGAIN = "  ";

function resolverName({ resolver }: NameLookupReport, as: LookupProgram): string {
  if (as === "nslookup") return "nslookup's own resolver";
  return resolver === "windows" ? "Windows' DNS client" : "the resolver of Linux";
}

function endLines(lookup: NameLookupReport, style: TraceStyle): string[] {
  const { outcome, addresses, canonicalName, name, code, tookMs, questions } = lookup;
  if (outcome === "failed")
    return [
      style.bad(`${INDENT}does not resolve, known after ${formatSpan(tookMs)}`),
      ...(code === undefined ? [] : [`${INDENT}why, and what to do: mullion explain ${code}`]),
    ];
  const isRenamed = canonicalName !== undefined && canonicalName.replace(/\.$/, "") !== name;
  const whose = isRenamed ? ` (${canonicalName})` : "";
  const isRemembered = questions.length > 0 && questions.every(({ sent }) => sent === 0);
  const when = isRemembered ? "remembered" : `after ${formatSpan(tookMs)}`;
  return [style.good(`${INDENT}${addresses.join(", ")}${whose}, ${when}`)];
}

function isFirst({ number }: NameLookupReport): boolean {
  return number === 1;
}

function lookupLines(lookup: NameLookupReport, as: LookupProgram, style: TraceStyle): string[] {
  const heading = isFirst(lookup)
    ? block(`${nameTraceEnd(lookup.from)}, by ${resolverName(lookup, as)}`, "", style).map((line) =>
        style.heading(line),
      )
    : block(`again, ${formatSpan(lookup.afterMs)} after the first`, AGAIN, style).map((line) =>
        style.faint(line),
      );
  const reasons = (lookup.notJudged ?? []).flatMap((reason) => [
    ...block(`Not judged: ${formatReason(reason)}.`, INDENT, style).map((line) => style.bad(line)),
    `${INDENT}what that means: mullion explain ${reason.code}`,
  ]);
  return [
    ...heading,
    ...(isFirst(lookup) ? resolverLines(lookup, style) : []),
    ...questionLines(lookup, style),
    ...endLines(lookup, style),
    ...reasons,
  ];
}

/** Formats a report; lines keep to the columns of the style. */
export function formatResolution(report: ResolutionReport, style: TraceStyle = PLAIN_STYLE): string {
  const blocks = report.lookups.map((lookup) => {
    const lines = lookupLines(lookup, report.as, style);
    return isFirst(lookup) ? ["", ...lines] : lines;
  });
  return `${blocks.flat().slice(1).join("\n")}\n`;
}

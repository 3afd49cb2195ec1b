/** Errors of the table as text for a terminal. */
import { formatSource, formatText } from "../format-entry.ts";
import { wrap } from "#core/base/text-layout.ts";
import { FACILITY_WIN32, decodeHresult, formatNumber } from "./windows/hresult.ts";
import { CALLS, CALL_IDS } from "./calls.ts";
import type { FoundError } from "./find-error.ts";
import { shownText } from "./holes.ts";
import { decidingCommands, unknownCause } from "./judge.ts";
import { type Certainty, type KnownError, ORIGIN_TITLES, type Standing } from "./known-error.ts";
import { logAndErrors, reports } from "#data/words.js";

const WORDS = logAndErrors();
const REPORT_WORDS = reports();

const INDENT = "  ";
const COLUMNS_MIN = 40;

/** How a text is emphasised where the output shows it. */
export type Emphasis = (text: string) => string;

const PLAIN: Emphasis = (text) => text;

/** Said of causes that no public source tells. */
function inferredNote(): string {
  return REPORT_WORDS.explanationIsInferred;
}

/** The name that people look for: the symbolic one, else the id. */
export function nameOf(error: Pick<KnownError, "id" | "names">): string {
  return error.names[0] ?? error.id;
}

/** Its numbers in the spellings that logs have: `0x803b0013 (2151350291, -2143617005)`. */
export function formatNumbers(error: Pick<KnownError, "hresults" | "cniCode" | "codes" | "texts">): string {
  const isOfCalls = error.hresults.length + error.texts.length === 0;
  const numbers = (isOfCalls ? (error.codes ?? []) : error.hresults).map((hresult) => {
    const isWin32 = hresult >>> 16 === 0x8007;
    const short = isWin32 ? [`0x${(hresult & 0xffff).toString(16)}`, String(hresult & 0xffff)] : [];
    return `${formatNumber(hresult)} (${[hresult, hresult | 0, ...short].join(", ")})`;
  });
  const cni = error.cniCode === undefined ? [] : [`CNI code ${error.cniCode}`];
  return [...numbers, ...cni].join(", ");
}

const CERTAINTY_TEXTS: Readonly<Record<Certainty, string>> = {
  certain: "certain",
  likely: "likely: the usual cause; others print the same",
  unknown: "unknown",
};

const WRAPPER_TEXT = "unknown: it passes on what failed below it";

/** How sure the explanation is, in words. */
export function formatCertainty(certainty: Certainty, standing: Standing): string {
  return certainty === "unknown" && standing === "wrapper" ? WRAPPER_TEXT : CERTAINTY_TEXTS[certainty];
}

/** True when the table does not explain it where it was read. */
function isUnexplained({ certainty, standing }: FoundError): boolean {
  return certainty === "unknown" && standing !== "wrapper";
}

function formatUnexplained(error: FoundError, columns: number, heading: Emphasis): string[] {
  return [
    heading("Why"),
    ...formatText(unknownCause(error), columns),
    "",
    heading("What would decide"),
    ...decidingCommands(error).map((command) => `${INDENT}${INDENT}${command}`),
    "",
    heading("More"),
    `${INDENT}mullion explain ${nameOf(error)}`,
  ];
}

/** Cause, next commands, remedy, sources: what a query and a finding in a log both show. */
export function formatExplanation(
  error: FoundError,
  columns: number,
  heading: Emphasis = PLAIN,
): readonly string[] {
  if (isUnexplained(error)) return formatUnexplained(error, columns, heading);
  const note =
    error.isInferred === true
      ? ["", ...wrap(inferredNote(), columns - INDENT.length).map((line) => INDENT + line)]
      : [];
  const related =
    error.related === undefined ? [] : ["", heading("More"), `${INDENT}mullion explain ${error.related}`];
  return [
    heading("Why"),
    ...formatText(error.cause, columns),
    ...note,
    "",
    heading("Next command"),
    ...error.next.map((command) => `${INDENT}${INDENT}${command}`),
    "",
    heading("What to do"),
    ...formatText(error.remedy, columns),
    ...related,
    "",
    heading("Sources"),
    ...error.sources.flatMap(formatSource),
  ];
}

/** For which calls an explanation holds, when not for all: `makes an endpoint of HNS, or changes one`. */
export function formatCalls({ calls }: Pick<KnownError, "calls">): readonly string[] {
  if (calls === undefined || calls === "any") return [];
  const isAllOfHns = calls.length > CALL_IDS.length / 2;
  const what = isAllOfHns ? "goes to HNS" : calls.map((call) => CALLS[call].does).join("; or ");
  return [`Holds for a call that ${what}.`];
}

/** An error for a terminal of `width` columns. */
export function formatError(error: FoundError, width: number, heading: Emphasis = PLAIN): string {
  const columns = Math.max(width, COLUMNS_MIN);
  const numbers = formatNumbers(error);
  const head = [
    heading(nameOf(error)),
    ...(numbers === "" ? [] : wrap(numbers, columns)),
    `Printed by: ${ORIGIN_TITLES[error.origin]}`,
    `Cause: ${formatCertainty(error.certainty, error.standing)}`,
    ...(error.call === undefined ? formatCalls(error).flatMap((line) => wrap(line, columns)) : []),
    ...error.texts.flatMap((text) =>
      wrap(`"${shownText(text)}"`, columns - INDENT.length).map((line) => INDENT + line),
    ),
    "",
  ];
  return `${[...head, ...formatExplanation(error, columns, heading)].join("\n")}\n`;
}

/** What an HRESULT that the table does not have is made of, and where to ask. */
export function formatUnknownNumber(hresult: number, width: number, heading: Emphasis = PLAIN): string {
  const { severity, facility, facilityName, code } = decodeHresult(hresult);
  const isWin32 = facility === FACILITY_WIN32 && severity === "failure";
  const next = isWin32
    ? [`net helpmsg ${code}`, `certutil -error ${formatNumber(hresult)}`]
    : [`certutil -error ${formatNumber(hresult)}`];
  const lines = [
    heading(formatNumber(hresult)),
    ...wrap(WORDS.errorNumberUnknown, Math.max(width, COLUMNS_MIN)),
    `${INDENT}severity  ${severity}`,
    `${INDENT}facility  ${facility}${facilityName === undefined ? "" : `, ${facilityName}`}`,
    `${INDENT}code      ${code} (0x${code.toString(16)})${isWin32 ? ": a Win32 error" : ""}`,
    `${INDENT}decimal   ${hresult} (${hresult | 0})`,
    "",
    heading("Next command"),
    ...next.map((command) => `${INDENT}${INDENT}${command}`),
  ];
  return `${lines.join("\n")}\n`;
}

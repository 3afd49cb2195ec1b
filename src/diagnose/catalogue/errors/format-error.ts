/** Errors of the table as text for a terminal. */
import { formatSource, formatText } from "../format-entry.ts";
import { wrap } from "#core/base/text-layout.ts";
import { FACILITY_WIN32, decodeHresult, formatNumber } from "./windows/hresult.ts";
import { type KnownError, ORIGIN_TITLES } from "./known-error.ts";

const INDENT = "  ";
const COLUMNS_MIN = 40;

/** How a text is emphasised where the output shows it. */
export type Emphasis = (text: string) => string;

const PLAIN: Emphasis = (text) => text;

/** Said of causes that no public source tells. */
export const INFERRED_NOTE = "The cause follows from the name of the code; no public source explains it.";

/** The name that people look for: the symbolic one, else the id. */
export function nameOf(error: KnownError): string {
  return error.names[0] ?? error.id;
}

/** Its numbers in the spellings that logs have: `0x803b0013 (2151350291, -2143617005)`. */
export function formatNumbers(error: KnownError): string {
  const numbers = error.hresults.map((hresult) => {
    const isWin32 = hresult >>> 16 === 0x8007;
    const short = isWin32 ? [`0x${(hresult & 0xffff).toString(16)}`, String(hresult & 0xffff)] : [];
    return `${formatNumber(hresult)} (${[hresult, hresult | 0, ...short].join(", ")})`;
  });
  const cni = error.cniCode === undefined ? [] : [`CNI code ${error.cniCode}`];
  return [...numbers, ...cni].join(", ");
}

/** Cause, next commands, remedy, sources: what a query and a finding in a log both show. */
export function formatExplanation(error: KnownError, columns: number, heading: Emphasis = PLAIN): string[] {
  const note =
    error.isInferred === true
      ? ["", ...wrap(INFERRED_NOTE, columns - INDENT.length).map((line) => INDENT + line)]
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

/** An error for a terminal of `width` columns. */
export function formatError(error: KnownError, width: number, heading: Emphasis = PLAIN): string {
  const columns = Math.max(width, COLUMNS_MIN);
  const numbers = formatNumbers(error);
  const head = [
    heading(nameOf(error)),
    ...(numbers === "" ? [] : wrap(numbers, columns)),
    `Printed by: ${ORIGIN_TITLES[error.origin]}`,
    ...error.texts.flatMap((text) => wrap(`"${text}"`, columns - INDENT.length).map((line) => INDENT + line)),
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
    ...wrap("The table of errors does not have this number. It is made of:", Math.max(width, COLUMNS_MIN)),
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

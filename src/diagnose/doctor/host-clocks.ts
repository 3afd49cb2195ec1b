/**
 * What shows a node's clock beside another: `w32tm`, and programs that found a certificate to be of another time. Windows prints
 * in its own language, so the tables of w32tm are told by their shape.
 */
import type { Line, Place } from "./place.ts";

/** A clock that was compared with the node's. */
export interface ClockReading {
  /**
   * `offset`: w32tm asked a server; `unset`: Windows takes the time of no other machine; `early`: a certificate begins only
   * later; `late`: it is over.
   */
  readonly kind: "offset" | "unset" | "early" | "late";
  /** How far apart the two are, where that is shown. */
  readonly seconds: number;
  readonly place: Place;
}

/** `15:04:05, d:+00.0312500s o:-305.0123456s  [  *  |   ]`; with `/dataonly` `15:04:05, -305.0123456s`. */
const STRIPCHART =
  /^\d\d:\d\d:\d\d,? (?:d:[+-]\d{1,9}[.,]\d{1,9}s )?(?:o:)?([+-]\d{1,12})[.,]\d{1,9}s(?:\s|$)/u;
/** `Leap Indicator: 3(not synchronized)`, in the language of the node. */
const NOT_KEPT = /^[^:]{3,40}: 3\([^)]{3,60}\)\s*$/u;
const NO_STRATUM = /^Stratum: 0 \(/u;
const CERTIFICATE = "current time ";
const TIME_OF_CERTIFICATE =
  /certificate has expired or is not yet valid: current time (\S{20,25}) is (before|after) (\S{20,25})/u;

/** What crypto/x509 says since Go 1.15: both times. */
function certificateIn(text: string): Pick<ClockReading, "kind" | "seconds"> | undefined {
  if (!text.includes(CERTIFICATE)) return undefined;
  const [, now = "", order, limit = ""] = TIME_OF_CERTIFICATE.exec(text) ?? [];
  const seconds = Math.abs(Date.parse(limit.replace(/[^\dZ]$/u, "")) - Date.parse(now)) / 1_000;
  if (order === undefined || Number.isNaN(seconds)) return undefined;
  return { kind: order === "before" ? "early" : "late", seconds };
}

/** All that a file says of clocks; of a kind that repeats the first. */
export function readClocks(lines: readonly Line[]): readonly ClockReading[] {
  const found: ClockReading[] = [];
  for (const [index, { text, file, line }] of lines.entries()) {
    const place = { file, line };
    const [, offset] = STRIPCHART.exec(text) ?? [];
    const certificate = certificateIn(text);
    if (offset !== undefined) found.push({ kind: "offset", seconds: Math.abs(Number(offset)), place });
    else if (NOT_KEPT.test(text) && NO_STRATUM.test(lines[index + 1]?.text ?? ""))
      found.push({ kind: "unset", seconds: 0, place });
    else if (certificate !== undefined && found.every(({ kind }) => kind !== certificate.kind))
      found.push({ ...certificate, place });
  }
  return found;
}

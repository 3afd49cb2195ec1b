/** What a log shows, in order and with its explanations. */
import {
  type ErrorDocument,
  type NumberDocument,
  errorDocument,
  numberDocument,
} from "../errors/error-documents.ts";
import type { KnownError } from "../errors/known-error.ts";
import { byLikelihood } from "../errors/order.ts";
import { KNOWN_ERRORS } from "../errors/table.ts";
import type { LogEncoding } from "./log-encoding.ts";
import type { LogScan, Sighting } from "./log-scanner.ts";
import type { ReadLog } from "./read-log.ts";

/** An error, and where the log has it. */
export interface LogFinding {
  readonly error: KnownError;
  /** Records in which it occurs. */
  readonly count: number;
  readonly firstLine: number;
  readonly lastLine: number;
  /** The line of the first one, cut. */
  readonly line: string;
}

export interface UnknownNumber extends Omit<LogFinding, "error"> {
  readonly hresult: number;
}

function placesOf({ count, firstLine, lastLine, excerpt }: Sighting): Omit<LogFinding, "error"> {
  return { count, firstLine, lastLine, line: excerpt };
}

/** The findings of a log, the likeliest fault first (`byLikelihood`). */
export function findingsOf(scan: LogScan): readonly LogFinding[] {
  const findings = [...scan.errors].flatMap(([index, sighting]) => {
    const error = KNOWN_ERRORS[index];
    return error === undefined ? [] : [{ error, ...placesOf(sighting) }];
  });
  // Of one line, what was found last stands first: programs put the reason behind what it is a reason for.
  return findings.toReversed().toSorted(byLikelihood);
}

/** Codes of HNS and HCS that the table does not have, the frequent ones first. */
export function unknownNumbersOf(scan: LogScan): readonly UnknownNumber[] {
  const numbers = [...scan.unknown].map(([hresult, sighting]) => ({ hresult, ...placesOf(sighting) }));
  return numbers.toSorted((a, b) => b.count - a.count || a.firstLine - b.firstLine);
}

type Places = Omit<LogFinding, "error">;

export interface LogFindings {
  readonly apiVersion: "mullion/v1alpha1";
  readonly kind: "LogFindings";
  readonly file: string;
  readonly encoding: LogEncoding;
  readonly lines: number;
  /** The likeliest fault first. */
  readonly findings: readonly (Places & { readonly error: ErrorDocument })[];
  readonly unknown: readonly (Places & { readonly number: NumberDocument })[];
}

/** The document that `mullion explain --log FILE -o json` prints. */
export function logFindings(file: string, log: ReadLog): LogFindings {
  return {
    apiVersion: "mullion/v1alpha1",
    kind: "LogFindings",
    file,
    encoding: log.encoding,
    lines: log.lines,
    findings: findingsOf(log).map(({ error, ...places }) => ({ ...places, error: errorDocument(error) })),
    unknown: unknownNumbersOf(log).map(({ hresult, ...places }) => ({
      ...places,
      number: numberDocument(hresult, false),
    })),
  };
}

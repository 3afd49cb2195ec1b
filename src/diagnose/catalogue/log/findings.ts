/** What a log shows, in order and with its explanations. */
import { DOCUMENT_VERSION, type JsonSchema, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { ERROR_DOCUMENT, NUMBER_DOCUMENT, errorDocument, numberDocument } from "../errors/error-documents.ts";
import type { FoundError } from "../errors/find-error.ts";
import { type Standing, byLikelihood } from "../errors/known-error.ts";
import { LOG_ENCODINGS } from "./log-encoding.ts";
import type { LogScan, Sighting } from "./log-scanner.ts";
import { DESCRIBED, type ReadLog } from "./read-log.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** Where a log has something. */
export const LOG_PLACES = {
  text: "Where the log has it.",
  fields: {
    count: { is: "position", text: "Records in which it occurs." },
    firstLine: "position",
    lastLine: "position",
    line: { is: "text", text: "The line of the first one, cut." },
  },
} as const;
type Places = ValueOf<typeof LOG_PLACES>;

/** An error, and where the log has it. */
export interface LogFinding extends Places {
  readonly error: FoundError;
  /** What it is worth where it was read; a text beside a telling code passes on only. */
  readonly standing: Standing;
}

export interface UnknownNumber extends Places {
  readonly hresult: number;
}

function placesOf({ count, firstLine, lastLine, excerpt }: Sighting): Places {
  return { count, firstLine, lastLine, line: excerpt };
}

/** The findings of a log, the likeliest fault first (`byLikelihood`). */
export function findingsOf(scan: LogScan): readonly LogFinding[] {
  // Of one line, what was found last stands first: programs put the reason behind what it is a reason for.
  const read = scan.errors.toReversed().toSorted(byLikelihood);
  return read.map((sighting) => {
    const { error, certainty, standing, call } = sighting;
    const found = { ...error, certainty, ...(call === undefined ? {} : { call }) };
    return { error: found, standing, ...placesOf(sighting) };
  });
}

/** A file of a folder, read. */
export interface FileLog {
  readonly file: string;
  readonly log: ReadLog;
}

/** Files of a folder: the one with the likeliest fault first, then those with unknown numbers, then silent ones. */
export function byLikeliestFault(logs: readonly FileLog[]): readonly FileLog[] {
  const read = logs.map((each) => {
    const [worst] = findingsOf(each.log);
    // Lines of different files do not compare.
    const counted = worst && { ...worst, certainty: worst.error.certainty, firstLine: 0 };
    return { each, counted, unknown: each.log.unknown.size };
  });
  const sorted = read.toSorted((a, b) => {
    if (a.counted !== undefined && b.counted !== undefined) return byLikelihood(a.counted, b.counted);
    if (a.counted !== undefined || b.counted !== undefined) return a.counted === undefined ? 1 : -1;
    return Number(b.unknown > 0) - Number(a.unknown > 0);
  });
  return sorted.map(({ each }) => each);
}

/** Codes of HNS and HCS that the table does not have, the frequent ones first. */
export function unknownNumbersOf(scan: LogScan): readonly UnknownNumber[] {
  const numbers = [...scan.unknown].map(([hresult, sighting]) => ({ hresult, ...placesOf(sighting) }));
  return numbers.toSorted((a, b) => b.count - a.count || a.firstLine - b.firstLine);
}

export const LOG_FINDINGS = {
  text: (): string => WORDS.logFindings,
  document: "LogFindings",
  fields: {
    file: "words",
    encoding: (): typeof LOG_ENCODINGS => LOG_ENCODINGS,
    lines: "count",
    findings: {
      list: {
        text: "An error, and where the log has it.",
        base: (): typeof LOG_PLACES => LOG_PLACES,
        fields: { error: (): typeof ERROR_DOCUMENT => ERROR_DOCUMENT },
      },
    },
    unknown: {
      list: {
        text: (): string => WORDS.logFindingsUnknown,
        base: (): typeof LOG_PLACES => LOG_PLACES,
        fields: { number: (): typeof NUMBER_DOCUMENT => NUMBER_DOCUMENT },
      },
    },
  },
  optional: { described: { list: (): typeof DESCRIBED => DESCRIBED } },
} as const;
export type LogFindings = ValueOf<typeof LOG_FINDINGS>;

/** Of `mullion explain --log FILE -o json`. */
export function logFindingsSchema(): JsonSchema {
  return documentSchema("Mullion log findings", LOG_FINDINGS, "draft-07");
}

/** The document that `mullion explain --log FILE -o json` prints. */
export function logFindings(file: string, log: ReadLog): LogFindings {
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "LogFindings",
    file,
    encoding: log.encoding,
    lines: log.lines,
    findings: findingsOf(log).map(({ error, count, firstLine, lastLine, line }) => ({
      count,
      firstLine,
      lastLine,
      line,
      error: errorDocument(error),
    })),
    unknown: unknownNumbersOf(log).map(({ hresult, ...places }) => ({
      ...places,
      number: numberDocument(hresult, false),
    })),
    ...(log.described.length > 0 && { described: log.described }),
  };
}

export const LOG_FOLDER_FINDINGS = {
  text: (): string => WORDS.logFolderFindings,
  document: "LogFolderFindings",
  fields: {
    folder: "words",
    logs: {
      list: (): typeof LOG_FINDINGS => LOG_FINDINGS,
      text: (): string => WORDS.logFolderFindingsLogs,
    },
    skipped: {
      list: { text: "A file that is no log.", fields: { file: "words", reason: "words" } },
    },
  },
} as const;
export type LogFolderFindings = ValueOf<typeof LOG_FOLDER_FINDINGS>;

/** Of `mullion explain --log FOLDER -o json`. */
export function logFolderFindingsSchema(): JsonSchema {
  return documentSchema("Mullion log folder findings", LOG_FOLDER_FINDINGS, "draft-07");
}

/** The document that `mullion explain --log FOLDER -o json` prints. */
export function logFolderFindings(
  folder: string,
  logs: readonly FileLog[],
  skipped: LogFolderFindings["skipped"],
): LogFolderFindings {
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "LogFolderFindings",
    folder,
    logs: byLikeliestFault(logs).map(({ file, log }) => logFindings(file, log)),
    skipped,
  };
}

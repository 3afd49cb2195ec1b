/** What `mullion explain -o json` prints about errors: documents with published schemas. */
import type { KnowledgeEntry, Source } from "../entry.ts";
import { type DecodedHresult, decodeHresult, formatNumber } from "./windows/hresult.ts";
import type { KnownError } from "./known-error.ts";

const API_VERSION = "mullion/v1alpha1";

/** An error; its numbers as text, since they are known in hexadecimal. */
export interface ErrorDocument extends Omit<KnownError, "hresults" | "sources"> {
  readonly hresults: readonly string[];
  readonly sources: readonly Source[];
}

export function errorDocument(error: KnownError): ErrorDocument {
  return { ...error, hresults: error.hresults.map(formatNumber) };
}

/** A number taken apart. */
export interface NumberDocument extends Omit<DecodedHresult, "value" | "facilityName"> {
  readonly hresult: string;
  readonly unsigned: number;
  readonly signed: number;
  readonly facilityName?: string;
  /** Whether the table has it. */
  readonly isKnown: boolean;
}

export function numberDocument(hresult: number, isKnown: boolean): NumberDocument {
  const { severity, facility, facilityName, code } = decodeHresult(hresult);
  return {
    hresult: formatNumber(hresult),
    unsigned: hresult >>> 0,
    signed: hresult | 0,
    severity,
    facility,
    ...(facilityName === undefined ? {} : { facilityName }),
    code,
    isKnown,
  };
}

export interface ErrorsDocument {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: "ErrorExplanation";
  readonly query: string;
  /** When the query is a number. */
  readonly number?: NumberDocument;
  /** What names the fault comes first. */
  readonly errors: readonly ErrorDocument[];
}

export function errorsDocument(
  query: string,
  errors: readonly KnownError[],
  hresult: number | undefined,
): ErrorsDocument {
  return {
    apiVersion: API_VERSION,
    kind: "ErrorExplanation",
    query,
    ...(hresult === undefined ? {} : { number: numberDocument(hresult, errors.length > 0) }),
    errors: errors.map(errorDocument),
  };
}

export interface ExplanationList {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: "ExplanationList";
  readonly codes: readonly KnowledgeEntry[];
  readonly errors: readonly ErrorDocument[];
}

export function explanationList(
  codes: readonly KnowledgeEntry[],
  errors: readonly KnownError[],
): ExplanationList {
  return { apiVersion: API_VERSION, kind: "ExplanationList", codes, errors: errors.map(errorDocument) };
}

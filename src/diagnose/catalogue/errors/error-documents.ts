/** What `mullion explain -o json` prints about errors: documents with published schemas. */
import {
  DOCUMENT_VERSION,
  type JsonSchema,
  type Leaf,
  type ValueOf,
  documentSchema,
} from "#core/base/shape.ts";
import { KNOWLEDGE_ENTRY, type KnowledgeEntry } from "../entry.ts";
import { CALL_IDS } from "./calls.ts";
import { decodeHresult, formatNumber } from "./windows/hresult.ts";
import type { FoundError } from "./find-error.ts";
import { shownText } from "./holes.ts";
import { certaintyAlone, decidingCommands, unknownCause } from "./judge.ts";
import { CERTAINTIES, type KnownError, NAMED_ERROR } from "./known-error.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** An HRESULT as documents write it. */
export const HRESULT: Leaf<string> = { schema: { type: "string", pattern: "^0x[0-9a-f]{8}$" } };

/** An error; its numbers as text, since they are known in hexadecimal. */
export const ERROR_DOCUMENT = {
  text: (): string => WORDS.errorDocument,
  base: (): typeof NAMED_ERROR => NAMED_ERROR,
  fields: {
    hresults: { list: (): typeof HRESULT => HRESULT },
    certainty: {
      is: (): typeof CERTAINTIES => CERTAINTIES,
      text: (): string => WORDS.errorDocumentCertainty,
    },
  },
  optional: {
    call: {
      is: (): typeof CALL_IDS => CALL_IDS,
      text: "The call that the line names for the code.",
    },
    codes: {
      list: (): typeof HRESULT => HRESULT,
      min: 1,
      text: (): string => WORDS.errorDocumentCodes,
    },
  },
} as const;
export type ErrorDocument = ValueOf<typeof ERROR_DOCUMENT>;

/**
 * An error as it was found. Where the table does not explain it, `cause` says so, `next` decides about it, and no
 * remedy is given.
 */
export function errorDocument(error: FoundError): ErrorDocument {
  const { codes, ...rest } = error;
  const isUnexplained = error.certainty === "unknown" && error.standing !== "wrapper";
  return {
    ...rest,
    hresults: error.hresults.map(formatNumber),
    texts: error.texts.map(shownText),
    ...(codes === undefined ? {} : { codes: codes.map(formatNumber) }),
    ...(isUnexplained
      ? { cause: unknownCause(error), next: decidingCommands(error), remedy: NO_REMEDY }
      : {}),
  };
}

const NO_REMEDY = "None before the cause is known.";

/** A number taken apart. */
export const NUMBER_DOCUMENT = {
  text: "A number taken apart.",
  fields: {
    hresult: (): typeof HRESULT => HRESULT,
    unsigned: "integer",
    signed: "integer",
    severity: ["success", "failure"],
    facility: "integer",
    code: "integer",
    isKnown: { is: "boolean", text: "Whether the table has it." },
  },
  optional: {
    facilityName: {
      is: "words",
      text: (): string => WORDS.numberDocumentFacilityName,
    },
  },
} as const;
export type NumberDocument = ValueOf<typeof NUMBER_DOCUMENT>;

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

export const ERRORS_DOCUMENT = {
  text: (): string => WORDS.errorsDocument,
  document: "ErrorExplanation",
  fields: {
    query: "text",
    errors: { list: (): typeof ERROR_DOCUMENT => ERROR_DOCUMENT, text: "What names the fault comes first." },
  },
  optional: { number: { is: (): typeof NUMBER_DOCUMENT => NUMBER_DOCUMENT, text: "When the query is one." } },
} as const;
export type ErrorsDocument = ValueOf<typeof ERRORS_DOCUMENT>;

/** Of `mullion explain NUMBER|NAME|TEXT -o json`. */
export function errorsSchema(): JsonSchema {
  return documentSchema("Mullion error explanation", ERRORS_DOCUMENT, "draft-07");
}

export function errorsDocument(
  query: string,
  errors: readonly FoundError[],
  hresult: number | undefined,
): ErrorsDocument {
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "ErrorExplanation",
    query,
    ...(hresult === undefined ? {} : { number: numberDocument(hresult, errors.length > 0) }),
    errors: errors.map(errorDocument),
  };
}

export const EXPLANATION_LIST = {
  text: (): string => WORDS.explanationList,
  document: "ExplanationList",
  fields: {
    codes: { list: (): typeof KNOWLEDGE_ENTRY => KNOWLEDGE_ENTRY },
    errors: { list: (): typeof ERROR_DOCUMENT => ERROR_DOCUMENT },
  },
} as const;
export type ExplanationList = ValueOf<typeof EXPLANATION_LIST>;

/** Of `mullion explain --list -o json`. */
export function explanationListSchema(): JsonSchema {
  return documentSchema("Mullion explanation list", EXPLANATION_LIST, "draft-07");
}

export function explanationList(
  codes: readonly KnowledgeEntry[],
  errors: readonly KnownError[],
): ExplanationList {
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "ExplanationList",
    codes,
    errors: errors.map((error) => errorDocument({ ...error, certainty: certaintyAlone(error) })),
  };
}

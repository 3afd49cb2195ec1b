/** JSON schemas of what `mullion explain -o json` prints about errors and logs. */
import { KNOWLEDGE_CODES } from "../../knowledge/codes.ts";
import { entrySchema } from "../schema.ts";
import { ERROR_ORIGINS, STANDINGS } from "./known-error.ts";

type Schema = Readonly<Record<string, unknown>>;

const DRAFT = "http://json-schema.org/draft-07/schema#";
const TEXT: Schema = { type: "string", minLength: 1 };
const TEXTS: Schema = { type: "array", items: TEXT };
const HRESULT: Schema = { type: "string", pattern: "^0x[0-9a-f]{8}$" };
const COUNT: Schema = { type: "integer", minimum: 1 };

function closed(
  description: string,
  required: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  return {
    type: "object",
    description,
    additionalProperties: false,
    required: Object.keys(required),
    properties: { ...required, ...optional },
  };
}

const SOURCES: Schema = {
  type: "array",
  minItems: 1,
  items: closed(
    "A public page or thread, or a section of the reference.",
    { text: TEXT },
    { url: { type: "string", pattern: "^https://" } },
  ),
};

const ERROR = closed(
  "An error that Windows or a program of a Windows node prints.",
  {
    id: { type: "string", pattern: "^[a-z0-9-]+$", description: "Stable." },
    origin: { enum: [...ERROR_ORIGINS], description: "Who prints it." },
    hresults: { type: "array", items: HRESULT },
    names: { ...TEXTS, description: "Symbolic names." },
    texts: { ...TEXTS, description: "What is printed; … stands for words that differ." },
    standing: {
      enum: [...STANDINGS],
      description:
        "root: names the fault. refusal: names the rule that a call broke. wrapper: passes a failure on.",
    },
    cause: { ...TEXT, description: "Paragraphs are separated by an empty line." },
    next: { ...TEXTS, minItems: 1, description: "Commands to run next." },
    remedy: TEXT,
    sources: SOURCES,
  },
  {
    cniCode: { type: "integer", description: "The code of the CNI specification, or of its library." },
    related: { enum: [...KNOWLEDGE_CODES], description: "The entry of the catalogue that tells more." },
    isInferred: { const: true, description: "The cause follows from the name of the code." },
  },
);

const NUMBER = closed(
  "A number taken apart.",
  {
    hresult: HRESULT,
    unsigned: { type: "integer" },
    signed: { type: "integer" },
    severity: { enum: ["success", "failure"] },
    facility: { type: "integer" },
    code: { type: "integer" },
    isKnown: { type: "boolean", description: "Whether the table has it." },
  },
  { facilityName: TEXT },
);

function document(
  title: string,
  kind: string,
  description: string,
  fields: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  const head = { apiVersion: { const: "mullion/v1alpha1" }, kind: { const: kind } };
  return { $schema: DRAFT, title, ...closed(description, { ...head, ...fields }, optional) };
}

/** Of `mullion explain NUMBER|NAME|TEXT -o json`. */
export function errorsSchema(): Schema {
  return document(
    "Mullion error explanation",
    "ErrorExplanation",
    "What `mullion explain` prints with `-o json` for an error; for a code of the catalogue it prints the entry itself.",
    { query: { type: "string" }, errors: { type: "array", items: ERROR } },
    { number: NUMBER },
  );
}

/** Of `mullion explain --list -o json`. */
export function explanationListSchema(): Schema {
  const { $schema: _, title: __, ...entry } = entrySchema();
  return document(
    "Mullion explanation list",
    "ExplanationList",
    "What `mullion explain --list -o json` prints: all that can be explained, or what the filters leave.",
    { codes: { type: "array", items: entry }, errors: { type: "array", items: ERROR } },
  );
}

/** Of `mullion explain --log FILE -o json`. */
export function logFindingsSchema(): Schema {
  const places = {
    count: { ...COUNT, description: "Records in which it occurs." },
    firstLine: COUNT,
    lastLine: COUNT,
    line: { type: "string", description: "The line of the first one, cut." },
  };
  return document(
    "Mullion log findings",
    "LogFindings",
    "What `mullion explain --log FILE -o json` prints. The likeliest fault comes first: by standing, then by count, then by line.",
    {
      file: TEXT,
      encoding: { enum: ["utf-8", "utf-16le", "utf-16be"] },
      lines: { type: "integer", minimum: 0 },
      findings: {
        type: "array",
        items: closed("An error, and where the log has it.", { ...places, error: ERROR }),
      },
      unknown: {
        type: "array",
        items: closed("A code of HNS or HCS that the table does not have.", { ...places, number: NUMBER }),
      },
    },
  );
}

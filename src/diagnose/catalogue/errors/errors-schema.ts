/** JSON schemas of what `mullion explain -o json` prints about errors and logs. */
import { type JsonSchema, closedObject } from "#core/base/json-schema.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { entrySchema } from "../schema.ts";
import { ERROR_ORIGINS, STANDINGS } from "./known-error.ts";

const DRAFT = "http://json-schema.org/draft-07/schema#";
const TEXT: JsonSchema = { type: "string", minLength: 1 };
const TEXTS: JsonSchema = { type: "array", items: TEXT };
const HRESULT: JsonSchema = { type: "string", pattern: "^0x[0-9a-f]{8}$" };
const COUNT: JsonSchema = { type: "integer", minimum: 1 };

const SOURCES: JsonSchema = {
  type: "array",
  minItems: 1,
  items: closedObject(
    "A public page or thread, or a section of the reference.",
    { text: TEXT },
    { url: { type: "string", pattern: "^https://" } },
  ),
};

const ERROR = closedObject(
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
    related: { enum: [...KNOWLEDGE_CODES], description: "The entry of the catalogue with more about it." },
    isInferred: { const: true, description: "The cause follows from the name of the code." },
  },
);

const NUMBER = closedObject(
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
  fields: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  const head = { apiVersion: { const: "mullion/v1alpha1" }, kind: { const: kind } };
  return { $schema: DRAFT, title, ...closedObject(description, { ...head, ...fields }, optional) };
}

/** Of `mullion explain NUMBER|NAME|TEXT -o json`. */
export function errorsSchema(): JsonSchema {
  return document(
    "Mullion error explanation",
    "ErrorExplanation",
    "What `mullion explain` prints with `-o json` for an error; for a code of the catalogue it prints the entry itself.",
    { query: { type: "string" }, errors: { type: "array", items: ERROR } },
    { number: NUMBER },
  );
}

/** Of `mullion explain --list -o json`. */
export function explanationListSchema(): JsonSchema {
  const { $schema: _, title: __, ...entry } = entrySchema();
  return document(
    "Mullion explanation list",
    "ExplanationList",
    "What `mullion explain --list -o json` prints: all that can be explained, or what the filters leave.",
    { codes: { type: "array", items: entry }, errors: { type: "array", items: ERROR } },
  );
}

/** Of `mullion explain --log FILE -o json`. */
export function logFindingsSchema(): JsonSchema {
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
        items: closedObject("An error, and where the log has it.", { ...places, error: ERROR }),
      },
      unknown: {
        type: "array",
        items: closedObject("A code of HNS or HCS that the table does not have.", {
          ...places,
          number: NUMBER,
        }),
      },
    },
  );
}

/** The shape of one entry of the catalogue: `mullion explain CODE -o json` (schemas/knowledge-entry.v1alpha1.json). */
import { type JsonSchema, type Leaf, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { EDITIONS } from "#core/catalogue/edition.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** A public address. */
export const PUBLIC_URL: Leaf<string> = { schema: { type: "string", pattern: "^https://" } };

/** Where a fact comes from. */
export const SOURCE = {
  text: "A public page or thread, or a section of the reference.",
  fields: { text: "words" },
  optional: { url: (): typeof PUBLIC_URL => PUBLIC_URL },
} as const;
export type Source = ValueOf<typeof SOURCE>;

/**
 * How much a lint finding weighs, the lightest first: `info` is worth knowing, `warning` works otherwise than written,
 * `error` does not work.
 */
export const LINT_SEVERITIES = ["info", "warning", "error"] as const;
export type LintSeverity = (typeof LINT_SEVERITIES)[number];

/** A sentence of the Kubernetes page about the subject of an entry, and one way in which builds differ from it. */
export const PAGE_SENTENCE = {
  text: "What the Kubernetes page says, and one way builds differ.",
  fields: {
    edition: { is: (): typeof EDITIONS => EDITIONS, text: "The newest edition of the page that says it." },
    sentence: { is: "text", text: "The sentence, by its id." },
    says: { is: "words", text: "What the page says." },
  },
  // Absent where builds do as the page says.
  optional: {
    difference: { is: "text", text: "The reason, by its id." },
    differsBecause: { is: "words", text: "The update, the release or the source that makes the difference." },
    evidence: ["observed", "inferred"],
    source: { is: "text", text: "Where the difference is written." },
  },
} as const;
export type PageSentence = ValueOf<typeof PAGE_SENTENCE>;

/** One "no" of the network of a Windows node, explained. */
export const KNOWLEDGE_ENTRY = {
  text: (): string => WORDS.knowledgeEntry,
  fields: {
    code: { is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES, text: "The stable code." },
    title: { is: "words", text: "One line without a full stop." },
    cause: { is: "words", text: (): string => WORDS.knowledgeEntryCause },
    onNode: { is: "words", text: (): string => WORDS.knowledgeEntryOnNode },
    remedy: { is: "words", text: "What to do about it." },
    sources: { list: (): typeof SOURCE => SOURCE, min: 1 },
    profiles: { list: "words", min: 1, text: "Windows profiles it holds for; `all` for every one." },
  },
  optional: {
    severity: {
      is: (): typeof LINT_SEVERITIES => LINT_SEVERITIES,
      text: (): string => WORDS.knowledgeEntrySeverity,
    },
    // Added by who prints it.
    documentation: {
      list: (): typeof PAGE_SENTENCE => PAGE_SENTENCE,
      text: "One for each reason, in the order of the page.",
    },
  },
} as const;
export type KnowledgeEntry = ValueOf<typeof KNOWLEDGE_ENTRY>;

/** JSON schema, draft 7, of one entry. */
export function entrySchema(): JsonSchema {
  return documentSchema("Mullion catalogue entry", KNOWLEDGE_ENTRY, "draft-07");
}

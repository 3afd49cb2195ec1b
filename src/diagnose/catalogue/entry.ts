/** The shape of one entry of the catalogue: `mullion explain CODE -o json` (schemas/knowledge-entry.v1alpha1.json). */
import { type JsonSchema, type Leaf, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";

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

/** One "no" of the network of a Windows node, explained. */
export const KNOWLEDGE_ENTRY = {
  text: "What `mullion explain CODE -o json` prints. In texts, paragraphs are separated by an empty line, and lines that begin with four blanks are commands or their output.",
  fields: {
    code: { is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES, text: "The stable code." },
    title: { is: "words", text: "One line without a full stop." },
    cause: { is: "words", text: "Why it happens, for a person who has never read about VFP." },
    onNode: { is: "words", text: "How to see it on a Windows node: commands and what they print." },
    remedy: { is: "words", text: "What to do about it." },
    sources: { list: (): typeof SOURCE => SOURCE, min: 1 },
    profiles: { list: "words", min: 1, text: "Windows profiles it holds for; `all` for every one." },
  },
  optional: {
    severity: {
      is: (): typeof LINT_SEVERITIES => LINT_SEVERITIES,
      text: "How much a finding of `mullion lint` weighs; absent when lint does not look for it.",
    },
  },
} as const;
export type KnowledgeEntry = ValueOf<typeof KNOWLEDGE_ENTRY>;

/** JSON schema, draft 7, of one entry. */
export function entrySchema(): JsonSchema {
  return documentSchema("Mullion catalogue entry", KNOWLEDGE_ENTRY, "draft-07");
}

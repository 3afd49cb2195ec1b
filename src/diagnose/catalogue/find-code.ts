/** From what a person typed to a code of the catalogue. */
import { nearestNames } from "#core/base/nearest-name.ts";
import { KNOWLEDGE_CODES, type KnowledgeCode } from "#core/catalogue/codes.ts";

/** `code` when the text is one; else the codes that may be meant, best first, perhaps none. */
export type CodeSearch =
  | { readonly code: KnowledgeCode }
  | { readonly code: undefined; readonly suggestions: readonly KnowledgeCode[] };

const SUGGESTIONS_MAX = 5;

/** How many words of `words` a code has; a word counts when it begins like a word of the code, or the other way round. */
function wordsShared(words: readonly string[], code: string): number {
  const parts = code.split("-");
  return words.filter((word) => parts.some((part) => part.startsWith(word) || word.startsWith(part))).length;
}

/** Codes that share words with `wanted`, those with the most first. */
function codesSharingWords(wanted: string): readonly KnowledgeCode[] {
  const words = wanted.split("-").filter((word) => word.length > 1);
  return KNOWLEDGE_CODES.map((code) => ({ code, count: wordsShared(words, code) }))
    .filter((item) => item.count > 0)
    .sort((a, b) => b.count - a.count)
    .slice(0, SUGGESTIONS_MAX)
    .map((item) => item.code);
}

/**
 * Finds the code that `text` names. Letter case, blanks and underscores in place of hyphens do not matter.
 * Suggestions are codes that look alike; when there are none, codes that share the most words with the text.
 */
export function findCode(text: string): CodeSearch {
  const wanted = text
    .trim()
    .toLowerCase()
    .replace(/[\s_]+/g, "-");
  const exact = KNOWLEDGE_CODES.find((code) => code === wanted);
  if (exact !== undefined) return { code: exact };
  const alike = nearestNames(wanted, KNOWLEDGE_CODES, SUGGESTIONS_MAX) as KnowledgeCode[];
  return { code: undefined, suggestions: alike.length > 0 ? alike : codesSharingWords(wanted) };
}

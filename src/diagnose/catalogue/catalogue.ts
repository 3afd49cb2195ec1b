/** The catalogue: one entry per code, from the files of `data/catalogue/`, and how it is found. */
import { type Subject, listSubjects, readText } from "#data/texts.js";
import { defined } from "#core/base/assert.ts";
import { KNOWLEDGE_CODES, type KnowledgeCode } from "#core/catalogue/codes.ts";
import { type KnowledgeEntry, LINT_SEVERITIES } from "./entry.ts";
import { FrontMatter } from "./front-matter.ts";
import { nearestNames } from "#core/base/nearest-name.ts";

/** Entries of one subject, in the order in which a page shows them. */
export interface CatalogueSection {
  readonly title: string;
  readonly entries: readonly KnowledgeEntry[];
}

const SHELF = "catalogue";
const SUBJECTS: readonly Subject[] = listSubjects(SHELF);
const FOLDERS: ReadonlyMap<string, string> = new Map(
  SUBJECTS.flatMap(({ folder, names }) => names.map((name) => [name, folder] as const)),
);
const EVERY_PROFILE: readonly string[] = Object.freeze(["all"]);

function folderOf(code: KnowledgeCode): string {
  return defined(FOLDERS.get(code), `${code} has no text in data/${SHELF}`);
}

/** Where the text of a code lies, from the root of the package. */
export function pathOfEntry(code: KnowledgeCode): string {
  return `data/${SHELF}/${folderOf(code)}/${code}.md`;
}

function readEntry(code: KnowledgeCode): KnowledgeEntry {
  const folder = folderOf(code);
  const file = new FrontMatter(`${SHELF}/${folder}/${code}`, readText(SHELF, folder, code));
  const severity = file.optionalWord("severity", LINT_SEVERITIES);
  const profiles = file.texts("profiles");
  const entry = {
    code,
    title: file.text("title"),
    cause: file.section(""),
    onNode: file.section("On a node"),
    remedy: file.section("Remedy"),
    sources: file.sources(),
    profiles: profiles.length === 0 ? EVERY_PROFILE : profiles,
    ...(severity !== undefined && { severity }),
  };
  file.end();
  return Object.freeze(entry);
}

const ENTRIES: ReadonlyMap<KnowledgeCode, KnowledgeEntry> = new Map(
  KNOWLEDGE_CODES.map((code) => [code, readEntry(code)]),
);

/** The entry of a code. */
export function getEntry(code: KnowledgeCode): KnowledgeEntry {
  return defined(ENTRIES.get(code), `${code} is a code`);
}

/** Every entry. */
export function listEntries(): readonly KnowledgeEntry[] {
  return [...ENTRIES.values()];
}

/** The catalogue by subject. */
export function listSections(): readonly CatalogueSection[] {
  return SUBJECTS.map(({ title, names }) => ({
    title,
    entries: names.map((name) => getEntry(name as KnowledgeCode)),
  }));
}

// From what a person typed to a code of the catalogue.

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

/**
 * All codes of the catalogue and all defects of HNS by name: a list each in `data/codes.js`, which `npm run schemas` writes. A name
 * is stable: texts may change, names may not.
 */
import { KNOWLEDGE_CODES, type QUIRK_NAMES } from "#data/codes.js";

export { KNOWLEDGE_CODES, QUIRK_NAMES } from "#data/codes.js";

/** A code of the catalogue. `mullion explain CODE` prints its entry. */
export type KnowledgeCode = (typeof KNOWLEDGE_CODES)[number];

const CODES: ReadonlySet<string> = new Set(KNOWLEDGE_CODES);

export function isKnowledgeCode(text: string): text is KnowledgeCode {
  return CODES.has(text);
}

/** The name of a defect, as it stands in cluster files and scripts. */
export type QuirkName = (typeof QUIRK_NAMES)[number];

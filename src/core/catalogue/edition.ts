/** Editions of the Kubernetes page "Networking on Windows", by the year that people know them by. */
import { core } from "#data/words.js";

const WORDS = core();

/** That of Kubernetes 1.2x, and that of mid-2024. Oldest first. */
export const EDITIONS = ["2021", "2024"] as const;
export type Edition = (typeof EDITIONS)[number];

/** Years of which Windows nodes, or words about them, are known, before the first of `EDITIONS`. */
const EARLIER = /^20(?:1[6-9]|20)$/;

/** Why a text is no edition that a cluster can be run by, and what to write. */
export interface EditionProblem {
  readonly problem: string;
  readonly advice: string;
}

/** Reads the year of an edition. */
export function parseEdition(text: string): Edition | EditionProblem {
  const found = EDITIONS.find((edition) => edition === text.trim());
  if (found !== undefined) return found;
  const known = `Write one of ${EDITIONS.join(", ")}.`;
  const problem = EARLIER.test(text.trim())
    ? WORDS.editionTooEarly({ year: text.trim() })
    : `there is no edition ${JSON.stringify(text)} of the Kubernetes page`;
  return { problem, advice: known };
}

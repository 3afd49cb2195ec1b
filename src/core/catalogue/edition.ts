/** Editions of the documentation that a cluster can be run by, by the year that people know them by. */
import { core } from "#data/words.js";

const WORDS = core();

/** Of the Kubernetes page "Networking on Windows": that of Kubernetes 1.2x, and that of mid-2024. Oldest first. */
export const EDITIONS = ["2021", "2024"] as const;
export type PageEdition = (typeof EDITIONS)[number];

/** Those, and before them Microsoft's article on nodes of before CNI, which are those of plugin acs-2017. */
export const DOCUMENTED_YEARS = ["2017", "2021", "2024"] as const;
export type Edition = (typeof DOCUMENTED_YEARS)[number];

/** Years of which words about Windows nodes are known that nobody can run a cluster by. */
const EARLIER = /^20(?:16|18|19|20)$/;

/** Why a text is no edition that a cluster can be run by, and what to write. */
export interface EditionProblem {
  readonly problem: string;
  readonly advice: string;
}

/** Reads the year of an edition. */
export function parseEdition(text: string): Edition | EditionProblem {
  const found = DOCUMENTED_YEARS.find((edition) => edition === text.trim());
  if (found !== undefined) return found;
  const known = `Write one of ${DOCUMENTED_YEARS.join(", ")}.`;
  const problem = EARLIER.test(text.trim())
    ? WORDS.editionTooEarly({ year: text.trim() })
    : `there is no edition ${JSON.stringify(text)} of the Kubernetes page`;
  return { problem, advice: known };
}

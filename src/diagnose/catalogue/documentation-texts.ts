/**
 * What the Kubernetes page "Networking on Windows" says of flows, in our words, and why builds differ from it. The table
 * is data/facts/kubernetes-page.yaml; core/catalogue/page-sentences.ts has its ids and conditions alone.
 */
import { kubernetesPage } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { defined } from "#core/base/assert.ts";
import type { PageSentence } from "./entry.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { PageDifferenceReport } from "#cluster/verify/report.ts";
import { DOCUMENTED_SENTENCES } from "#core/catalogue/page-sentences.ts";

const ROWS = CheckedFields.ofTable(kubernetesPage()).rows();

/** By sentence. */
const SAYS: ReadonlyMap<string, string> = new Map(ROWS.map(([id, row]) => [id, row.text("says")]));

/** By difference. */
const BECAUSE: ReadonlyMap<string, string> = new Map(
  ROWS.flatMap(([, row]) => (row.has("differs") ? row.within("differs").rows() : [])).map(([id, row]) => [
    id,
    row.text("because"),
  ]),
);

function textOf(texts: ReadonlyMap<string, string>, id: string): string {
  const text = texts.get(id);
  if (text === undefined) throw new RangeError(`${id} has no text`);
  return text;
}

/** What the page says: a clause without a capital at its beginning and without a full stop. */
export function pageSays(sentence: string): string {
  return textOf(SAYS, sentence);
}

/** Why a build differs from the page: a clause like that of `pageSays`. */
export function differsBecause(difference: string): string {
  return textOf(BECAUSE, difference);
}

/** What the page says, and why it is otherwise, by the id of the reason. @throws RangeError for an id that is none. */
export function pageDifference(id: string): Required<PageDifferenceReport> {
  const sentence = DOCUMENTED_SENTENCES.find(({ differs }) => differs.some((each) => each.id === id));
  const known = sentence?.differs.find((each) => each.id === id);
  const edition = sentence?.editions.at(-1);
  if (sentence === undefined || known === undefined || edition === undefined)
    throw new RangeError(`no sentence of the page differs by ${id}`);
  return {
    edition,
    sentence: sentence.id,
    difference: id,
    says: pageSays(sentence.id),
    differsBecause: differsBecause(id),
    evidence: known.evidence,
    source: known.source,
  };
}

/** The sentences of the page about the subject of an entry, one for each reason of which builds are known to differ. */
export function sentencesOnEntry(code: KnowledgeCode): readonly PageSentence[] {
  return DOCUMENTED_SENTENCES.filter((sentence) => sentence.code === code).flatMap(
    ({ id, editions, differs }) => {
      const said = {
        edition: defined(editions.at(-1), "a sentence stands in an edition"),
        sentence: id,
        says: pageSays(id),
      };
      return differs.length === 0 ? [said] : differs.map((known) => pageDifference(known.id));
    },
  );
}

/** What the page says about the subject of an entry, sentence by sentence, and where builds are known to differ. */
export function pageOnEntry(code: KnowledgeCode): readonly string[] {
  return DOCUMENTED_SENTENCES.filter((sentence) => sentence.code === code).map(
    ({ id, editions, differs }) => {
      const known = differs.map((each) => `${differsBecause(each.id)} (${each.evidence})`);
      const otherwise = known.length === 0 ? "" : ` Otherwise where: ${[...new Set(known)].join("; ")}.`;
      return `Editions ${editions.join(" and ")}: ${pageSays(id)}.${otherwise}`;
    },
  );
}

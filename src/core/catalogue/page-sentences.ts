/**
 * What the Kubernetes page "Networking on Windows" says of flows, edition by edition, and where builds, updates or upstream's
 * source are known to differ from it: `data/facts/kubernetes-page.yaml`. Behaviour follows the build; who is told of an
 * outcome that the page states otherwise is told so. Ids and conditions only: `diagnose/catalogue/documentation-texts.ts`
 * has the sentences.
 */
import { type Table, kubernetesPage } from "#data/facts.js";
import { CheckedFields } from "./checked-fields.ts";
import type { KnowledgeCode } from "./codes.ts";
import { EDITIONS, type PageEdition } from "./edition.ts";
import { readConditions } from "./expectation-table.ts";
import { type Conditions, PROOFS, type Proof } from "./expectations.ts";
import { QUIRK_NAMES, type QuirkName } from "./quirks.ts";

const OUTCOMES = ["works", "denied"] as const;
const EVIDENCE = ["observed", "inferred"] as const;
const SCOPES = ["every-build", "builds-concerned"] as const;

/** A way in which a build is known to differ from the page. */
export interface KnownDifference {
  /** Stable: reports name it. */
  readonly id: string;
  /** With which flows of the sentence. */
  readonly when: Conditions;
  /** `observed`: an update's notes, a run or upstream's source show it. `inferred`: it follows from such. */
  readonly evidence: "observed" | "inferred";
  readonly source: string;
  /** It is told of flows that are not tried, too. */
  readonly isOfUntried?: true;
}

/** What makes a node do as a sentence says, whatever its build. */
export interface SentenceQuirk {
  readonly name: QuirkName;
  /** On every build, or on those that the quirk concerns. */
  readonly on: "every-build" | "builds-concerned";
  /** Only while kube-proxy is not told to use DSR. */
  readonly isWithoutDsr?: true;
}

/** One sentence of the page about flows. */
export interface DocumentedSentence {
  readonly id: string;
  /** The editions that have it. */
  readonly editions: readonly PageEdition[];
  /** Section of windows-networking-documentation.md. */
  readonly section: string;
  /** The entry about it: `mullion explain CODE`. */
  readonly code: KnowledgeCode;
  /** The flows of which it speaks: any of these. */
  readonly speaksOf: readonly Conditions[];
  readonly outcome: "works" | "denied";
  /** With `denied`: how one sees it where a node does as the page says. Default: a drop with the code. */
  readonly proof?: Proof;
  /** With `denied`: codes of the drop itself, where the cause lies elsewhere. */
  readonly dropCodes?: readonly KnowledgeCode[];
  /** Codes of what did not come up, where the sentence is about that and no flow; `speaksOf` then has facts of the node. */
  readonly troubles?: readonly KnowledgeCode[];
  /** Denials that a node which does as the sentence says never comes to. */
  readonly goesBefore?: readonly KnowledgeCode[];
  /** Absent: a node cannot be told to do as the sentence says, or builds do. */
  readonly quirk?: SentenceQuirk;
  readonly differs: readonly KnownDifference[];
}

function readDifference(id: string, fields: CheckedFields): KnownDifference {
  const isOfUntried = fields.isSet("isOfUntried");
  const difference: KnownDifference = {
    id,
    when: fields.has("when") ? readConditions(fields.within("when")) : {},
    evidence: fields.word("evidence", EVIDENCE),
    source: fields.text("source"),
    ...(isOfUntried && { isOfUntried }),
  };
  fields.text("because");
  fields.end();
  return Object.freeze(difference);
}

function readQuirk(fields: CheckedFields): SentenceQuirk {
  const quirk = { name: fields.word("name", QUIRK_NAMES), on: fields.word("on", SCOPES) };
  const isWithoutDsr = fields.isSet("isWithoutDsr");
  fields.end();
  return Object.freeze({ ...quirk, ...(isWithoutDsr && { isWithoutDsr }) });
}

function readSentence(id: string, fields: CheckedFields): DocumentedSentence {
  const proof = fields.optionalWord("proof", PROOFS);
  const [dropCodes, goesBefore] = [fields.codes("dropCodes"), fields.codes("goesBefore")];
  const troubles = fields.codes("troubles");
  const differs = fields.has("differs") ? fields.within("differs").rows() : [];
  const sentence: DocumentedSentence = {
    id,
    editions: fields.words("editions", EDITIONS),
    section: fields.text("section"),
    code: fields.code("code"),
    speaksOf: fields.items("speaksOf").map(readConditions),
    outcome: fields.word("outcome", OUTCOMES),
    ...(proof !== undefined && { proof }),
    ...(dropCodes.length > 0 && { dropCodes }),
    ...(goesBefore.length > 0 && { goesBefore }),
    ...(troubles.length > 0 && { troubles }),
    ...(fields.has("quirk") && { quirk: readQuirk(fields.within("quirk")) }),
    differs: differs.map(([name, each]) => readDifference(name, each)),
  };
  fields.text("says");
  fields.end();
  return Object.freeze(sentence);
}

/** @throws Error that names file and line of what is wrong. */
export function readSentences(table: Table): readonly DocumentedSentence[] {
  const rows = CheckedFields.ofTable(table).rows();
  return Object.freeze(rows.map(([id, fields]) => readSentence(id, fields)));
}

/** In the order of the page. The first that speaks of a flow counts. */
export const DOCUMENTED_SENTENCES: readonly DocumentedSentence[] = readSentences(kubernetesPage());

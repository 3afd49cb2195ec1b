/**
 * What the Kubernetes page "Networking on Windows" says of a flow beside what is expected of it, and what is expected of a
 * cluster that runs as an edition of the page has it.
 */
import type { Edition } from "./edition.ts";
import type { KnowledgeCode } from "./codes.ts";
import { type ConditionCheck, checkOf, findExpectation } from "./expectation-table.ts";
import type { Expectation, ExpectationRow, FlowFacts } from "./expectations.ts";
import { DOCUMENTED_SENTENCES, type DocumentedSentence, type KnownDifference } from "./page-sentences.ts";
import { type WindowsBuild, hasUpdate, updateRevision } from "./profiles.ts";
import { type QuirkSetting, type QuirkName, type QuirkSettings, concernsBuild } from "./quirks.ts";

interface SentenceChecks {
  readonly sentence: DocumentedSentence;
  readonly speaksOf: readonly ConditionCheck[];
  readonly differs: readonly { readonly difference: KnownDifference; readonly isMeant: ConditionCheck }[];
}

const CHECKS: readonly SentenceChecks[] = DOCUMENTED_SENTENCES.map((sentence) => ({
  sentence,
  speaksOf: sentence.speaksOf.map(checkOf),
  differs: sentence.differs.map((difference) => ({ difference, isMeant: checkOf(difference.when) })),
}));

function findChecks(facts: FlowFacts): SentenceChecks | undefined {
  // Of a set-up that had gone when the page was written it says nothing.
  if (facts.setUp !== "present") return undefined;
  return CHECKS.find(
    ({ sentence, speaksOf }) => sentence.troubles === undefined && speaksOf.some((isMeant) => isMeant(facts)),
  );
}

/** The first sentence about a flow. */
export function findSentence(facts: FlowFacts): DocumentedSentence | undefined {
  return findChecks(facts)?.sentence;
}

/** How an expected outcome differs from the page. */
export interface PageDifference {
  readonly sentence: DocumentedSentence;
  readonly difference: KnownDifference;
}

/** The sentence about a flow of which these builds are known to differ. */
function knownDifference(facts: FlowFacts): PageDifference | undefined {
  const found = findChecks(facts);
  const known = found?.differs.find(({ isMeant }) => isMeant(facts));
  return found && known && { sentence: found.sentence, difference: known.difference };
}

/**
 * Compares what is expected of a flow with what the page says of it; undefined when they agree, when the page says nothing,
 * and when a flow that the page promises fails for another cause.
 */
export function differenceFromPage(
  facts: FlowFacts,
  outcome: "works" | "denied" | "not-applicable",
): PageDifference | undefined {
  const known = knownDifference(facts);
  if (outcome === "not-applicable" && known?.difference.isOfUntried !== true) return undefined;
  return known?.sentence.outcome === outcome ? undefined : known;
}

/** The sentence about what did not come up on a node, for a reason of which builds are known to differ from it. */
export function differenceOfTroubles(
  facts: FlowFacts,
  codes: readonly KnowledgeCode[],
): PageDifference | undefined {
  if (facts.asDocumented !== "no") return undefined;
  for (const { sentence, speaksOf, differs } of CHECKS) {
    const isMeant = sentence.troubles?.some((code) => codes.includes(code)) === true;
    if (!isMeant || !speaksOf.some((holds) => holds(facts))) continue;
    const known = differs.find((each) => each.isMeant(facts));
    if (known !== undefined) return { sentence, difference: known.difference };
  }
  return undefined;
}

// A cluster that runs as an edition of the page has it.

/** What is expected of a flow, and how that differs from the page. */
export interface ExpectedOfFlow {
  readonly row: Pick<ExpectationRow, "id" | "source" | "expected">;
  /** Undefined where it does not differ, and in a cluster that runs as the page has it. */
  readonly page: PageDifference | undefined;
}

function documented({
  outcome,
  code,
  proof = "drop",
  dropCodes,
}: DocumentedSentence): Exclude<Expectation, { readonly outcome: "not-applicable" }> {
  if (outcome === "works") return { outcome, sees: "any" };
  return { outcome, code, proof, ...(dropCodes === undefined ? {} : { dropCodes }) };
}

/** True where a node that does as the sentence says comes to that, whatever the table expects of its build. */
function goesBefore({ outcome, goesBefore: codes = [] }: DocumentedSentence, expected: Expectation): boolean {
  if (expected.outcome === "not-applicable") return false;
  return expected.outcome !== outcome || (expected.outcome === "denied" && codes.includes(expected.code));
}

function isSentenceOf({ editions }: DocumentedSentence, edition: Edition): boolean {
  return editions.some((each) => each === edition);
}

/** What is expected of a flow: of the build, or as an edition says where the cluster runs as that has it. */
export function expectationOf(facts: FlowFacts): ExpectedOfFlow {
  const row = findExpectation(facts);
  const { asDocumented } = facts;
  if (asDocumented === "no") return { row, page: differenceFromPage(facts, row.expected.outcome) };
  const sentence = knownDifference(facts)?.sentence;
  const isRun = sentence?.quirk !== undefined && isSentenceOf(sentence, asDocumented);
  if (!isRun || !goesBefore(sentence, row.expected)) return { row, page: undefined };
  const source = `windows-networking-documentation.md ${sentence.section}`;
  return { row: { id: sentence.id, source, expected: documented(sentence) }, page: undefined };
}

/** What decides about the limits of a node. */
export interface DocumentedNode {
  readonly build: WindowsBuild;
  /** kube-proxy is told to use DSR. */
  readonly isDsr: boolean;
}

function settingOf(
  sentence: DocumentedSentence,
  edition: Edition,
  { build, isDsr }: DocumentedNode,
): readonly [QuirkName, QuirkSetting] | undefined {
  const { quirk } = sentence;
  if (quirk === undefined) return undefined;
  const isOn =
    isSentenceOf(sentence, edition) &&
    (quirk.on === "every-build" || concernsBuild(quirk.name, build)) &&
    !(quirk.isWithoutDsr === true && isDsr);
  return [quirk.name, isOn ? "on" : "off"];
}

/** The limits of a node that runs as an edition has them: those that it states are on, those of others are off. */
export function quirksOfEdition(edition: Edition, node: DocumentedNode): QuirkSettings {
  const settings = DOCUMENTED_SENTENCES.flatMap((sentence) => {
    const setting = settingOf(sentence, edition, node);
    return setting === undefined ? [] : [setting];
  });
  return Object.freeze(Object.fromEntries(settings));
}

/** The update that brought DSR to Windows Server 2019; the page promises DSR there and names none. */
const DSR_UPDATE = "KB4571748";

/** The build on which a node has what every edition promises for it: with DSR, Server 2019 has the update that brought it. */
export function buildOfEdition({ build, isDsr }: DocumentedNode): WindowsBuild {
  const isOf = build.profile.updates.some(({ kb }) => kb === DSR_UPDATE);
  if (!isDsr || !isOf || hasUpdate(build, DSR_UPDATE)) return build;
  return { ...build, revision: updateRevision(DSR_UPDATE) };
}

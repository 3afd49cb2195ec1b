/**
 * Machines of one class, compared whole: equal while nobody touches them, and named when a value of one is changed from
 * outside. Whole in `test:long`, a slice in the fast tests.
 */
import type { Cluster } from "#cluster/cluster.ts";
import type { ProgramMemories } from "#cluster/classes/machine.ts";
import { classesOf, compareAll, comparisonsOf } from "#cluster/classes/node-classes.ts";
import type { InputText } from "#cluster/session/session.ts";
import { Prng } from "#core/base/prng.ts";
import { deviate } from "./deviations.ts";
import { askTwin, changedAnswers, raiseTwin, twinQuestions } from "./naive-twin.ts";

export interface ClassCount {
  /** Nodes in each class. */
  readonly classes: readonly number[];
  readonly compared: number;
  /** `n2 is not as n1: path: one, other`. */
  readonly differences: readonly string[];
}

function compareClasses(cluster: Cluster, memories: ProgramMemories): ClassCount {
  const classes = classesOf(cluster);
  const compared = compareAll(cluster, memories, comparisonsOf(classes, "all of so few"));
  return {
    classes: classes.map(({ others }) => others.length + 1),
    compared: compared.length,
    differences: compared.flatMap(({ node, like, difference }) =>
      difference === undefined
        ? []
        : [`${node} is not as ${like}: ${difference.path}: ${difference.one}, ${difference.other}`],
    ),
  };
}

/** Every machine raised by its own programs, those of a class compared with what the programs remember. */
export async function compareRaised(texts: readonly InputText[]): Promise<ClassCount> {
  const session = await raiseTwin(texts);
  return compareClasses(session.cluster, session.memories());
}

export interface DeviationCount {
  /** Deviations that a comparison named with their node. */
  readonly named: number;
  /** Those of the rest that changed an answer of the first node of a class, or of its pods: those are tried. */
  readonly tried: number;
  /** Those that changed any other answer. */
  readonly missed: readonly string[];
  /** Differences in clusters that nobody touched. */
  readonly falseAlarms: readonly string[];
}

/** Who sends where somebody stands for others: the first node of each class with its pods. */
function sendersTried(cluster: Cluster): ReadonlySet<string> {
  const firsts = new Set(classesOf(cluster).map(({ first }) => first));
  return new Set([
    ...[...firsts].map(({ spec }) => `node/${spec.name}`),
    ...cluster.pods
      .filter(({ node }) => firsts.has(node))
      .map(({ spec }) => `pod/${spec.namespace}/${spec.name}`),
  ]);
}

/** Of a text `n2 is not as n1: …` the two nodes. */
function isNamedIn(text: string, node: string): boolean {
  return text.split(":", 1)[0]?.split(" ").includes(node) === true;
}

/** The same cluster with other chance. */
function withSeed(texts: readonly InputText[], seed: number): readonly InputText[] {
  return texts.map(({ name, text }) => ({
    name,
    text: text.replace("\nunderlay:", `\nseed: ${seed}\nunderlay:`),
  }));
}

/**
 * For each seed a cluster is raised and compared, which is to find nothing; then a deviation is drawn on a node that is not
 * alone in its class. When no comparison names it, every question is asked with and without it.
 */
export async function countDeviations(
  texts: readonly InputText[],
  seeds: readonly number[],
): Promise<DeviationCount> {
  const missed: string[] = [];
  const falseAlarms: string[] = [];
  let [named, tried] = [0, 0];
  for (const seed of seeds) {
    const seeded = withSeed(texts, seed);
    const session = await raiseTwin(seeded);
    const { cluster } = session;
    falseAlarms.push(...compareClasses(cluster, session.memories()).differences);
    const prng = new Prng(seed);
    const names = classesOf(cluster)
      .filter(({ others }) => others.length > 0)
      .flatMap(({ first, others }) => [first, ...others.map(({ node }) => node)])
      .map(({ spec }) => spec.name);
    const senders = sendersTried(cluster);
    const { node, kind, path, change } = deviate(cluster, prng, names[prng.below(names.length)]);
    if (compareClasses(cluster, session.memories()).differences.some((text) => isNamedIn(text, node))) {
      named++;
      continue;
    }
    const { cluster: before } = await raiseTwin(seeded);
    const questions = twinQuestions(before);
    const changed = changedAnswers(askTwin(before, questions), askTwin(cluster, questions));
    if (changed.some((text) => senders.has(text.split(" ", 1)[0] ?? ""))) tried++;
    else if (changed.length > 0) missed.push(`${seed}: ${node} ${kind} ${path} ${change}: ${changed[0]}`);
  }
  return { named, tried, missed, falseAlarms };
}

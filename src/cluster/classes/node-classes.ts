/** Nodes that the input tells apart by nothing but what they call their own, and which of their machines are compared. */
import { defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import { hasDocker } from "../file/driver-traits.ts";
import { type Difference, compareMachines } from "./compare-machines.ts";
import { type ProgramMemories, Machines } from "./machine.ts";
import { NodeMarks } from "./node-marks.ts";
import type { Renaming } from "./renaming.ts";
import { type ClassInput, readClassInput, renamingOf } from "./renaming-of.ts";

/** A node of a class, and how it becomes the first one. */
export interface ClassMember {
  readonly node: ClusterNode;
  readonly renaming: Renaming;
}

export interface NodeClass {
  readonly first: ClusterNode;
  readonly others: readonly ClassMember[];
}

/** What all nodes of a class have in common at first sight. */
function traitsOf({ kinds }: ClassInput, marks: NodeMarks, node: ClusterNode): string {
  const { os, build, compat } = node.spec;
  return [os, build?.profile.name ?? "", compat, marks.of(node), kinds.kindsOn(node)].join(" ");
}

/** Each node in one class; one that is like no other is a class by itself. In the order of the nodes. */
export function classesOf(cluster: Cluster): readonly NodeClass[] {
  const input = readClassInput(cluster);
  const marks = new NodeMarks(cluster, input.kinds);
  const byTraits = new Map<string, { first: ClusterNode; others: ClassMember[] }[]>();
  const classes: NodeClass[] = [];
  for (const node of cluster.nodes) {
    const traits = traitsOf(input, marks, node);
    const alike = byTraits.get(traits) ?? [];
    byTraits.set(traits, alike);
    let isPlaced = false;
    for (const { first, others } of alike) {
      const renaming = renamingOf(input, node, first);
      if (renaming === undefined) continue;
      others.push({ node, renaming });
      isPlaced = true;
      break;
    }
    if (isPlaced) continue;
    const own = { first: node, others: [] };
    alike.push(own);
    classes.push(own);
  }
  return classes;
}

/** Of large clusters no more machines are compared, but for one of each class. */
export const COMPARED_MAX = 32;

/** A machine that is held against another of its class. */
export interface Comparison {
  readonly member: ClassMember;
  readonly like: ClusterNode;
}

/** One of each class, and more until there are enough: which, the seed decides. In the order of the classes. */
export function comparisonsOf(
  classes: readonly NodeClass[],
  seed: string,
  enough: number = COMPARED_MAX,
): readonly Comparison[] {
  const prng = new Prng(seed);
  const byClass = classes.map(({ first, others }) => others.map((member) => ({ member, like: first })));
  const drawn = new Set<Comparison>();
  for (const ofClass of byClass) {
    const one = ofClass.length === 0 ? undefined : ofClass[prng.below(ofClass.length)];
    if (one !== undefined) drawn.add(one);
  }
  const all = byClass.flat();
  const left = all.filter((each) => !drawn.has(each));
  while (drawn.size < enough && left.length > 0)
    for (const each of left.splice(prng.below(left.length), 1)) drawn.add(each);
  return all.filter((each) => drawn.has(each));
}

/** A machine that was held against another of its class. */
export interface ComparedMachine {
  readonly node: string;
  readonly like: string;
  /** Undefined: they are equal. */
  readonly difference: Difference | undefined;
}

/** Compares what is up: a machine that waits for a question has not done its work. */
export function compareAll(
  cluster: Cluster,
  memories: ProgramMemories,
  comparisons: readonly Comparison[],
): readonly ComparedMachine[] {
  const machines = new Machines(cluster, memories);
  const isUp = ({ spec }: ClusterNode): boolean => memories.isUp(spec.name);
  const up = comparisons.filter(({ member, like }) => isUp(member.node) && isUp(like));
  const input = readClassInput(cluster);
  return up.map(({ member: { node }, like }) => {
    // Read again: pods that were not up when the classes were made have MACs now.
    const renaming = defined(renamingOf(input, node, like), "members of a class stay alike");
    node.hns?.settle();
    like.hns?.settle();
    const difference = compareMachines(machines.of(node), machines.of(like), renaming);
    return { node: node.spec.name, like: like.spec.name, difference };
  });
}

/** What all shards together compare: a function of the input, so that each of them plans the same. */
export interface ComparisonPlan {
  readonly classes: readonly NodeClass[];
  readonly chosen: readonly Comparison[];
  /** What chose them: a digest of the input. */
  readonly seed: string;
  /**
   * Flows of nodes of a class may rest on those of others: there are more alike nodes than are compared. Up to there every
   * machine is compared anyway, and to try all flows costs less than that.
   */
  readonly mayRest: boolean;
}

/**
 * False where a renaming cannot read all that nodes keep: neighbour discovery of IPv6 and DHCP leave flows on switch ports, whose
 * keys are words, azure-vnet keeps what it has done in one text with times and a list in its own order, Docker's engine keeps ids of
 * its own, and what is hardened keeps checksums of texts and lists of back ends in theirs.
 */
function canBeCompared({ file }: Cluster): boolean {
  const { ipv6, underlay, network, nodes } = file;
  const isAzure = underlay.azure !== undefined || network.plugin === "azure-vnet";
  if (ipv6 !== undefined || underlay.dhcp !== undefined || isAzure || hasDocker(network.plugin)) return false;
  return nodes.every(({ os, compat }) => os === "linux" || compat === "upstream");
}

/** `seed`: of the input, so that all shards choose the same. `enough`: no more are compared, but for one of each class. */
export function planComparisons(
  cluster: Cluster,
  seed: string,
  enough: number = COMPARED_MAX,
): ComparisonPlan {
  const classes = canBeCompared(cluster) ? classesOf(cluster) : [];
  const alike = classes.reduce((sum, { others }) => sum + others.length, 0);
  return { classes, chosen: comparisonsOf(classes, seed, enough), seed, mayRest: alike > enough };
}

/** Nodes whose machines are compared, by name: they have to be up. */
export function nodesCompared(comparisons: readonly Comparison[]): readonly string[] {
  return [...new Set(comparisons.flatMap(({ member, like }) => [like.spec.name, member.node.spec.name]))];
}

interface ComparedInShard {
  readonly classes: number;
  readonly chosen: number;
  readonly seed: string;
  readonly compared: readonly {
    readonly node: string;
    readonly like: string;
    readonly difference?: Difference;
  }[];
}

/** Compares what falls to a shard: `own`, of those of the plan. */
export function compareInShard(
  cluster: Cluster,
  memories: ProgramMemories,
  plan: ComparisonPlan,
  own: readonly Comparison[],
): ComparedInShard {
  const compared = compareAll(cluster, memories, own).map(({ node, like, difference }) => ({
    node,
    like,
    ...(difference === undefined ? {} : { difference }),
  }));
  return { classes: plan.classes.length, chosen: plan.chosen.length, seed: plan.seed, compared };
}

/**
 * Which pairs stand for which. Pods of one class on nodes of one class are alike to every part of the network, so one
 * pair of each kind proves all pairs of that kind (README.md says what this leaves open).
 */
import { defined } from "#core/base/assert.ts";
import type { VerifyNode, VerifyPod } from "./model.ts";

/** A pair that stands for all pairs of its kind. */
export interface RepresentativePair<Source, Target> {
  readonly source: Source;
  readonly target: Target;
  /** Pairs of this kind, this one included. */
  readonly count: number;
}

interface OnNode {
  readonly node: VerifyNode;
}

/** Members of one class with their numbers per node. */
class PodClass<T extends OnNode> {
  readonly members: readonly T[];
  readonly byNode: ReadonlyMap<number, readonly T[]>;

  constructor(members: readonly T[]) {
    this.members = members;
    this.byNode = Map.groupBy(members, ({ node }) => node.index);
  }
}

function countSameNode<S extends OnNode, T extends OnNode>(from: PodClass<S>, to: PodClass<T>): number {
  let count = 0;
  for (const [node, members] of from.byNode) count += members.length * (to.byNode.get(node)?.length ?? 0);
  return count;
}

/** The first pair of different members that share a node. */
function findSameNode<S extends OnNode, T extends OnNode>(
  from: PodClass<S>,
  to: PodClass<T>,
): readonly [S, T] | undefined {
  for (const [node, sources] of from.byNode) {
    const [first, second] = sources;
    for (const target of to.byNode.get(node) ?? []) {
      const source = Object.is(target, first) ? second : first;
      if (source !== undefined) return [source, target];
    }
  }
  return undefined;
}

/** The first pair on different nodes. */
function findOtherNode<S extends OnNode, T extends OnNode>(
  from: PodClass<S>,
  to: PodClass<T>,
): readonly [S, T] | undefined {
  const nodes = [...from.byNode.keys()].slice(0, 2);
  for (const node of nodes) {
    for (const [other, [target]] of to.byNode) {
      if (other !== node)
        return [
          defined(from.byNode.get(node)?.[0], "a node in the map has a member"),
          defined(target, "so has this one"),
        ];
    }
  }
  return undefined;
}

/** One pair for each two classes and each relation that occurs between them. */
export function representativePairs<S extends OnNode, T extends OnNode>(
  sources: ReadonlyMap<string, readonly S[]>,
  targets: ReadonlyMap<string, readonly T[]>,
): readonly RepresentativePair<S, T>[] {
  const pairs: RepresentativePair<S, T>[] = [];
  const receivers = [...targets].map(([key, members]) => [key, new PodClass(members)] as const);
  for (const [fromKey, members] of sources) {
    const from = new PodClass(members);
    for (const [toKey, to] of receivers) {
      // The same class on both sides counts nobody as their own partner.
      const isSame = fromKey === toKey && Object.is(members[0], to.members[0]);
      const near = countSameNode(from, to) - (isSame ? from.members.length : 0);
      const far = from.members.length * to.members.length - countSameNode(from, to);
      const nearPair = near > 0 ? findSameNode(from, to) : undefined;
      const farPair = far > 0 ? findOtherNode(from, to) : undefined;
      if (nearPair !== undefined) pairs.push({ source: nearPair[0], target: nearPair[1], count: near });
      if (farPair !== undefined) pairs.push({ source: farPair[0], target: farPair[1], count: far });
    }
  }
  return pairs;
}

/** Each item once as source and once as target: the ring through all of them, in their order. */
export function ringPairs(pods: readonly VerifyPod[]): readonly (readonly [VerifyPod, VerifyPod])[] {
  if (pods.length < 2) return [];
  return pods.map((pod, index) => [pod, defined(pods[(index + 1) % pods.length], "the index wraps around")]);
}

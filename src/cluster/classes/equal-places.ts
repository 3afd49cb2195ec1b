/**
 * What stands in the place of what on nodes of one class: the numbers that a flow between two of them has in common with
 * every flow that the renamings make of it.
 */
import type { Cluster } from "../cluster.ts";
import type { NodeClass } from "./node-classes.ts";
import { PodKinds } from "./renaming-of.ts";

/** Numbers by what nodes of a class have in common; undefined where a node is like no other. */
export class EqualPlaces {
  private readonly classes = new Map<string, number>();
  private readonly places = new Map<number, number>();

  /** @param apart names of nodes to which something happened that the input does not say. */
  constructor(cluster: Cluster, nodeClasses: readonly NodeClass[], apart: ReadonlySet<string>) {
    const kinds = new PodKinds(cluster);
    const positions = new Map(cluster.pods.map((pod, index) => [pod, index]));
    for (const [number, { first, others }] of nodeClasses.entries()) {
      const members = [first, ...others.map(({ node }) => node)].filter(({ spec }) => !apart.has(spec.name));
      if (members.length < 2) continue;
      for (const node of members) {
        this.classes.set(node.spec.name, number);
        for (const [place, pod] of kinds.sorted(node).entries())
          this.places.set(positions.get(pod) ?? -1, place);
      }
    }
  }

  /** The number of a node's class. */
  classOf(node: string): number | undefined {
    return this.classes.get(node);
  }

  /** The place of a pod among those of its node; `pod`: its position in the cluster. */
  placeOf(pod: number): number | undefined {
    return this.places.get(pod);
  }

  /** The names of the nodes of each class, by its number. */
  members(): ReadonlyMap<number, readonly string[]> {
    return Map.groupBy(this.classes.keys(), (name) => this.classes.get(name) ?? -1);
  }
}

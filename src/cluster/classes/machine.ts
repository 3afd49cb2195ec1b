/** A raised machine as the walk meets it: where it begins, and where it ends. */
import type { Cluster, ClusterNode } from "../cluster.ts";

export interface Machine {
  readonly node: string;
  /** What belongs to it, by what it is called in paths. */
  readonly parts: Readonly<Record<string, unknown>>;
  /** What belongs to others, or to all; by what it is called, with the names of nodes in it. */
  readonly outside: ReadonlyMap<object, string>;
  /** The MACs of all interfaces of the cluster. */
  readonly macs: ReadonlySet<number>;
}

/** The MACs of all interfaces of the cluster. */
export function interfaceMacs({ nodes }: Cluster): ReadonlySet<number> {
  const compartments = nodes.flatMap(({ host }) => host.listCompartments());
  return new Set(compartments.flatMap((each) => each.listInterfaces().map(({ mac }) => mac)));
}

/** What all machines of a cluster have in common. */
function commonOf(cluster: Cluster): readonly (readonly [object | undefined, string])[] {
  const { env, clock, underlay, file, objects, outside, apiServers, demand } = cluster;
  return [
    [cluster, "cluster"],
    [cluster.nodes, "nodes"],
    [cluster.pods, "pods"],
    [env, "environment"],
    [env.prng, "chance"],
    [clock, "clock"],
    [env.flowRoom, "room for flows"],
    [file, "input"],
    [objects, "objects"],
    [demand, "demand"],
    [underlay, "underlay"],
    [underlay.segment, "segment"],
    [underlay.router, "router"],
    [underlay.physicalHost, "fabric"],
    ...[...outside, ...apiServers].flatMap((each) => [
      [each, `outside ${each.name}`] as const,
      [each.host, `host ${each.name}`] as const,
    ]),
  ];
}

/** What programs of nodes remember, beside what lies in the cluster. */
export interface ProgramMemories {
  /** Of one node, by program. */
  readonly of: (node: string) => Readonly<Record<string, unknown>>;
  /** False for a node whose programs wait until somebody asks. */
  readonly isUp: (node: string) => boolean;
  /** What programs of several nodes share, and what that is. */
  readonly shared: readonly (readonly [object, string])[];
}

/** All machines of a cluster, as they are now. */
export class Machines {
  private readonly cluster: Cluster;
  private readonly memories: ProgramMemories;
  private readonly macs: ReadonlySet<number>;

  constructor(cluster: Cluster, memories: ProgramMemories) {
    this.cluster = cluster;
    this.memories = memories;
    this.macs = interfaceMacs(cluster);
  }

  of(node: ClusterNode): Machine {
    const { cluster, macs } = this;
    const outside = new Map<object, string>();
    for (const [object, name] of [...commonOf(cluster), ...this.memories.shared])
      if (object !== undefined) outside.set(object, name);
    for (const other of cluster.nodes) {
      if (other === node) continue;
      const { name } = other.spec;
      outside.set(other, `node ${name}`).set(other.host, `host ${name}`).set(other.uplink, `cable ${name}`);
      if (other.hns !== undefined) outside.set(other.hns, `HNS ${name}`);
    }
    const pods = cluster.pods.filter((pod) => pod.node === node);
    // What a pod is asked to be is input, and the renaming is read from it.
    for (const { spec } of pods) outside.set(spec, `input ${spec.namespace}/${spec.name}`);
    const byName = new Map(pods.map((pod) => [`${pod.spec.namespace}/${pod.spec.name}`, pod]));
    const programs = this.memories.of(node.spec.name);
    return { node: node.spec.name, parts: { node, pods: byName, ...programs }, outside, macs };
  }
}

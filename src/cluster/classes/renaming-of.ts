/** The renaming between two nodes: what each calls its own is read from the input, and its pods go onto the other's pods. */
import { addToList } from "#core/base/keyed-lists.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { controllerOf, stoppedContainers } from "#contracts/kubernetes/pod.ts";
import { type Ip, type Prefix, hostPrefix } from "#core/net/ip.ts";
import { hybridNodeOf } from "#programs/ovn/hybrid/annotations.ts";
import { joinAddress } from "#programs/ovn/hybrid/linux-node.ts";
import type { Mac } from "#core/net/mac.ts";
import { solicitedNodeMulticast } from "#core/wire/icmpv6/nd.ts";
import { isLinkLocal } from "#dataplane/host/ip/address-scope.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Cluster, ClusterNode, ClusterPod } from "../cluster.ts";
import { servicesByPod } from "../cluster-objects.ts";
import { NodeFacts } from "./node-facts.ts";
import { Renaming } from "./renaming.ts";

type Pairs<T> = readonly (readonly [one: T, other: T])[];

/** Labels that number the pods of a StatefulSet: which Services they stand behind is asked for itself. */
const NUMBERING: ReadonlySet<string> = new Set([
  "apps.kubernetes.io/pod-index",
  "statefulset.kubernetes.io/pod-name",
]);

function keyOf({ namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace ?? ""}/${name}`;
}

/** By these names HCS knows a pod's containers on a Windows node, where they run. */
function containersOf(pod: Pod): string {
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  const stopped = stoppedContainers(pod);
  const names = [...initContainers, ...containers].map(({ name }) => (stopped.has(name) ? `-${name}` : name));
  return names.join(",");
}

/** The pods of a cluster, sorted by all but their names, nodes and addresses. */
export class PodKinds {
  private readonly kinds = new Map<string, string>();
  private readonly byNode = new Map<ClusterNode, ClusterPod[]>();
  /** Pods that the input puts on a node, whether they run or not. */
  private readonly placed = new Map<string, number>();
  /** Names that others have, too. */
  private readonly services: ReadonlySet<string>;
  /** Of each pod, as `containersOf` lists them: two pods of one kind have the same. */
  private readonly containers: ReadonlyMap<string, string>;

  constructor({ objects, pods }: Cluster) {
    const owners = new Map<string, string>();
    for (const pod of objects.Pod) {
      const owner = controllerOf(pod);
      if (owner !== undefined) owners.set(keyOf(pod.metadata), `${owner.kind}/${owner.name}`);
      const node = pod.spec?.nodeName ?? "";
      this.placed.set(node, (this.placed.get(node) ?? 0) + 1);
    }
    const containers = new Map(objects.Pod.map((pod) => [keyOf(pod.metadata), containersOf(pod)]));
    const services = servicesByPod(objects);
    for (const pod of pods) {
      const { namespace, labels, ports, policies, network, podNetwork } = pod.spec;
      const { furtherNetworks = [], routes = [] } = pod.spec;
      const own = furtherNetworks.length + routes.length === 0 ? "" : keyOf(pod.spec);
      const key = keyOf(pod.spec);
      const kept = Object.entries(labels).filter(([label]) => !NUMBERING.has(label));
      kept.sort(([a], [b]) => (a < b ? -1 : 1));
      const behind = (services.get(key) ?? []).map(({ metadata }) => keyOf(metadata)).toSorted();
      const parts = [kept, ports, policies, network, podNetwork, own, behind, containers.get(key) ?? ""];
      this.kinds.set(key, JSON.stringify([namespace, owners.get(key) ?? "", ...parts]));
      addToList(this.byNode, pod.node, pod);
    }
    this.services = new Set(objects.Service.map(({ metadata }) => metadata.name));
    this.containers = containers;
  }

  on(node: ClusterNode): readonly ClusterPod[] {
    return this.byNode.get(node) ?? [];
  }

  /** The kinds of a node's pods, as one text. */
  kindsOn(node: ClusterNode): string {
    return this.on(node)
      .map((pod) => this.kindOf(pod))
      .toSorted()
      .join("\n");
  }

  /** Each pod of the one node with one of the other, by their kinds and order; undefined: they do not match. */
  pair(one: ClusterNode, other: ClusterNode): Pairs<ClusterPod> | undefined {
    if (this.placed.get(one.spec.name) !== this.placed.get(other.spec.name)) return undefined;
    const [here, there] = [this.sorted(one), this.sorted(other)];
    if (here.length !== there.length) return undefined;
    const pairs = here.flatMap((pod, index) => {
      const partner = there[index];
      return partner === undefined || this.kindOf(pod) !== this.kindOf(partner)
        ? []
        : [[pod, partner] as const];
    });
    return pairs.length === here.length ? pairs : undefined;
  }

  /**
   * What is written of two pods: their names alone only where they are nobody else's. HCS names a container after its pod;
   * written whole, one that is called as the pod, or begins so, keeps its own name.
   */
  pairNames({ spec: one }: ClusterPod, { spec: other }: ClusterPod): Pairs<string> {
    const [here, there] = [`${one.namespace}_${one.name}`, `${other.namespace}_${other.name}`];
    const names = (this.containers.get(keyOf(one)) ?? "").split(",").map((name) => name.replace(/^-/, ""));
    const isOwn = !this.services.has(one.name) && !this.services.has(other.name);
    return [
      [keyOf(one), keyOf(other)],
      [here, there],
      ...names.map((name) => [`${here}_${name}`, `${there}_${name}`] as const),
      ...(isOwn ? [[one.name, other.name] as const] : []),
    ];
  }

  private kindOf({ spec }: ClusterPod): string {
    return this.kinds.get(keyOf(spec)) ?? "";
  }

  /** In the order in which a renaming pairs them. */
  sorted(node: ClusterNode): readonly ClusterPod[] {
    return this.on(node).toSorted((a, b) => {
      const [one, other] = [this.kindOf(a), this.kindOf(b)];
      // Of one kind in the order in which they were started: the stack numbers them in it.
      return one === other ? 0 : one < other ? -1 : 1;
    });
  }
}

/** What pods and nodes have in the place of each other; undefined where only one has something there. */
function pairsOf<T>(one: readonly T[], other: readonly T[]): Pairs<T> | undefined {
  if (one.length !== other.length) return undefined;
  return one.flatMap((each, index) => {
    const partner = other[index];
    return partner === undefined ? [] : [[each, partner] as const];
  });
}

/** The address of a node of OVN on the join switch, which its Node's number gives. */
function joinAddressOf({ file, objects }: Cluster, { spec, hns }: ClusterNode): Prefix | undefined {
  if (file.network.routes !== "hybrid-overlay" || hns !== undefined) return undefined;
  const node = objects.Node.find(({ metadata }) => metadata.name === spec.name);
  const id = node === undefined ? undefined : hybridNodeOf(node).nodeId;
  return id === undefined ? undefined : hostPrefix(joinAddress(id));
}

/** What a node has of each network: the same order for all. */
export function rangesOf(cluster: Cluster, node: ClusterNode): readonly (Prefix | undefined)[] {
  const { file } = cluster;
  const { spec } = node;
  const second = file.ipv6?.nodes[spec.name]?.podRange;
  const further = Object.values(file.ipv6?.further ?? {}).map((ranges) => ranges[spec.name]);
  const networks = [file.network, ...file.networks].map(({ ranges }) => ranges[spec.name]);
  return [spec.podCIDR, second, ...further, ...networks, joinAddressOf(cluster, node)];
}

function pairRanges(cluster: Cluster, one: ClusterNode, other: ClusterNode): Pairs<Prefix> | undefined {
  const pairs = pairsOf(rangesOf(cluster, one), rangesOf(cluster, other));
  const found: (readonly [Prefix, Prefix])[] = [];
  for (const [here, there] of pairs ?? []) {
    if (here?.length !== there?.length) return undefined;
    if (here !== undefined && there !== undefined && here.address !== there.address)
      found.push([here, there]);
  }
  return found;
}

function addressesOf({ file }: Cluster, { spec }: ClusterNode): readonly Ip[] {
  const second = file.ipv6?.nodes[spec.name]?.address;
  return second === undefined ? [spec.address] : [spec.address, second];
}

/** The MACs that follow from a node's place and chance: those of its interfaces and of its pods'. */
function macsOf(compartments: Pairs<Compartment>): Pairs<Mac> {
  return compartments.flatMap(([one, other]) => {
    const there = other.listInterfaces();
    // Where one has more interfaces, the machines are not equal: that is for the comparison to say.
    return one.listInterfaces().flatMap(({ mac }, index): Pairs<Mac> => {
      const partner = there[index];
      return partner === undefined ? [] : [[mac, partner.mac]];
    });
  });
}

/** Addresses of a link, which follow from MACs or chance as well, and the groups that neighbours of IPv6 ask. */
function linkAddressesOf(compartments: Pairs<Compartment>, known: Pairs<Ip>): Pairs<Ip> {
  const onLinks = compartments.flatMap(([one, other]) => {
    const there = other.listInterfaces();
    return one.listInterfaces().flatMap(({ addresses }, index): Pairs<Ip> => {
      const [here, partners] = [addresses, there[index]?.addresses ?? []].map((list) =>
        list.map(({ ip }) => ip).filter((ip) => isLinkLocal(ip)),
      );
      return (here ?? []).flatMap((ip, at): Pairs<Ip> => {
        const partner = partners?.[at];
        return partner === undefined ? [] : [[ip, partner]];
      });
    });
  });
  const groups = [...onLinks, ...known].flatMap(
    ([one, other]): Pairs<Ip> =>
      typeof one === "bigint" && typeof other === "bigint"
        ? [[solicitedNodeMulticast(one), solicitedNodeMulticast(other)]]
        : [],
  );
  return [...onLinks, ...groups];
}

/** The compartments of a node that are no pod's. */
function ownCompartments({ host }: ClusterNode, pods: readonly ClusterPod[]): readonly Compartment[] {
  const ofPods = pods.flatMap((pod) =>
    pod.spec.network === "host" || pod.isAtRest === true ? [] : pod.compartment,
  );
  return host.listCompartments().filter((each) => !ofPods.includes(each));
}

/** True where a fault or defect strikes by chance: what one node draws says nothing of another. */
function drawsDefects({ spec }: ClusterNode): boolean {
  return Object.values(spec.quirks).some((setting) => typeof setting === "object");
}

/** What a renaming is read from; once for all nodes of a cluster. */
export interface ClassInput {
  readonly cluster: Cluster;
  readonly kinds: PodKinds;
  readonly facts: NodeFacts;
}

export function readClassInput(cluster: Cluster): ClassInput {
  return { cluster, kinds: new PodKinds(cluster), facts: new NodeFacts(cluster) };
}

/**
 * Without the MACs of pods that have not started: no input has those, and machines that are compared are up.
 * @returns undefined: no renaming makes one node of the other.
 */
export function renamingOf(
  { cluster, kinds, facts }: ClassInput,
  one: ClusterNode,
  other: ClusterNode,
): Renaming | undefined {
  if (one === other || one.spec.os !== other.spec.os) return undefined;
  if (drawsDefects(one) || drawsDefects(other)) return undefined;
  const pods = kinds.pair(one, other);
  const ranges = pairRanges(cluster, one, other);
  const nodes = pairsOf(addressesOf(cluster, one), addressesOf(cluster, other));
  if (pods === undefined || ranges === undefined || nodes === undefined) return undefined;
  const inPods = pods.filter(([pod]) => pod.spec.network !== "host");
  const up = inPods.filter((pair) => pair.every(({ isAtRest }) => isAtRest !== true));
  const compartments = up.map(([here, there]) => [here.compartment, there.compartment] as const);
  const [left, right] = [ownCompartments(one, kinds.on(one)), ownCompartments(other, kinds.on(other))];
  const own = left.flatMap((each, index) =>
    right[index] === undefined ? [] : [[each, right[index]] as const],
  );
  const macs = macsOf([...own, ...compartments]);
  const addresses = inPods.flatMap(([here, there]): (readonly [Ip, Ip])[] => [
    [here.address, there.address],
    ...(here.address6 === undefined || there.address6 === undefined
      ? []
      : [[here.address6, there.address6] as const]),
  ]);
  const names = pods.flatMap(([here, there]) => kinds.pairNames(here, there));
  const renaming = new Renaming({
    names: [
      [one.spec.name, other.spec.name],
      ...(one.spec.hostname === one.spec.name ? [] : [[one.spec.hostname, other.spec.hostname] as const]),
      ...names,
    ],
    addresses: [
      ...linkAddressesOf([...own, ...compartments], [...nodes, ...addresses]),
      ...nodes,
      ...addresses,
    ],
    ranges,
    macs,
  });
  return facts.areAlike(one, other, renaming) ? renaming : undefined;
}

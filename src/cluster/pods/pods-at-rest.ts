/**
 * Pods of Windows nodes whose sandboxes nobody has asked for. A dump says which address each pod has; of other pods their
 * node's plugins decide it on its books. The node with the most pods of its kind starts them at the start; where that goes
 * as it was foreseen, and without a word, the others of its kind do the same, and can wait. Who reads the stack of a pod that
 * waits asks for its node.
 */
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { type Ipv4, type Ipv6, type Prefix, lastIp, prefixContains } from "#core/net/ip.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import type { IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import { MachineAbsent } from "../absent-machines.ts";
import type { Cluster, ClusterNode, ClusterPod, Demand } from "../cluster.ts";
import type { ClusterFile, FilePodSpec, NodeSpec, PodNetworkPlugin } from "../file/cluster-file.ts";
import type { PodForesight } from "../machines/kubelet.ts";
import type { PodOutcome, PodRemark } from "./pod-outcome.ts";

/** Gateway, and what programs keep for the node: no pod asks for one of these, counted from the beginning of a range. */
const KEPT_HOSTS = 3;

/** A pod of a cluster whose machines may come up late: the same object before and after. */
export class NodePod implements ClusterPod {
  readonly spec: FilePodSpec;
  readonly node: ClusterNode;
  readonly address: Ipv4;
  readonly address6: Ipv6 | undefined;
  private readonly demand: Demand;
  private stack: Compartment | undefined;
  private namespace: string | undefined;
  private identification: IdentificationServer | undefined;

  constructor({ spec, node, address, address6 }: NetworkedPod, demand: Demand) {
    this.spec = spec;
    this.node = node;
    this.address = address;
    this.address6 = address6;
    this.demand = demand;
    this.stack = undefined;
    this.namespace = undefined;
    this.identification = undefined;
  }

  /** The sandbox is there. */
  comeUp({ compartment, namespaceId, server }: ClusterPod): void {
    this.stack = compartment;
    this.namespace = namespaceId;
    this.identification = server;
  }

  get isAtRest(): boolean {
    return this.stack === undefined;
  }

  get compartment(): Compartment {
    return this.stack ?? this.ask();
  }

  get namespaceId(): string | undefined {
    return this.isAtRest ? this.ask() : this.namespace;
  }

  get server(): IdentificationServer {
    return this.identification ?? this.ask();
  }

  private ask(): never {
    const { name } = this.node.spec;
    this.demand.nodes.add(name);
    throw new MachineAbsent(name);
  }
}

/** What is known of a pod without its sandbox. */
export type NetworkedPod = Pick<ClusterPod, "spec" | "node" | "address" | "address6">;

/** A pod that is due, and what its kubelet is to start. */
export interface DuePod {
  readonly pod: Pod;
  readonly sandbox: FilePodSpec;
}

/** How pods are attached where what comes of them can be known before they are. */
const FORESEEN_PLUGINS: ReadonlySet<PodNetworkPlugin> = new Set([
  "win-bridge",
  "win-overlay",
  "flannel",
  "hns",
]);

/**
 * True where what leaves a pod that starts stays on its node, since its announcements end at the switch, and where its
 * addresses can be foreseen. Machines are quiet then before their pods start.
 */
export function mayRest({ network, ipv6 }: ClusterFile): boolean {
  const { plugin, driver, shape, ipam } = network;
  const isLocal = (driver === "L2Bridge" || driver === "Overlay") && shape === "own-subnet";
  const isForeseen = FORESEEN_PLUGINS.has(plugin) && ipam === "static";
  return isLocal && isForeseen && ipv6 === undefined;
}

/** True for a pod about which nothing is special. */
function isPlain({ sandbox }: DuePod, { network }: ClusterFile): boolean {
  if (sandbox.network === "host") return true;
  const { mac, policies, podNetwork, furtherNetworks, routes } = sandbox;
  return (
    podNetwork === network.name &&
    mac === undefined &&
    policies.length === 0 &&
    (furtherNetworks ?? []).length + (routes ?? []).length === 0
  );
}

/** The node's ports that pods take, in order: `8080/TCP`. */
function nodePorts(sandboxes: readonly FilePodSpec[]): readonly string[] {
  const taken = sandboxes.flatMap(({ network, ports }) =>
    ports.flatMap(({ port, hostPort, protocol }) => {
      const ofNode = network === "host" ? port : hostPort;
      return ofNode === undefined ? [] : [`${ofNode}/${protocol}`];
    }),
  );
  return taken.toSorted();
}

/** True where no pod asks for a port of the node that another one has: who comes first is then of no account. */
function arePortsFree(sandboxes: readonly FilePodSpec[]): boolean {
  const [ofHost, mapped] = [true, false].map((isOfHost) =>
    nodePorts(sandboxes.filter(({ network }) => (network === "host") === isOfHost)),
  );
  const taken = new Set(ofHost);
  return (mapped ?? []).every((port, index, all) => all.indexOf(port) === index && !taken.has(port));
}

/** True where each address is another, and one that a pod of the node can have. */
function areAddressesFree(addresses: readonly Ipv4[], range: Prefix): boolean {
  const [first, last] = [Number(range.address) + KEPT_HOSTS, Number(lastIp(range))];
  return (
    new Set(addresses).size === addresses.length &&
    addresses.every((address) => prefixContains(range, address) && address >= first && address < last)
  );
}

/** What will come of a pod of a node that waits. */
export type Foreseen = { readonly address: Ipv4 } | { readonly refusal: PodRemark };

/** Of each pod by its identity. */
export type Prospects = ReadonlyMap<string, Foreseen>;

/** What a node's own programs say of the pods that start next. */
export interface Deciders {
  /** Where its pods have their addresses; undefined: from no range. */
  readonly range: Prefix | undefined;
  /** A pod has the address that it asks for: the configuration of its plugins is not the user's own. */
  readonly givesWhatIsAsked: boolean;
  /** Undefined: nobody can say it. Its work begins with a copy of what they remember. */
  readonly foresight: () => PodForesight | undefined;
  readonly dnsOf: (pod: Pod) => DnsSettings;
  /** What is thrown by a plugin that refuses a pod. @throws what is no refusal. */
  readonly refusalOf: (error: unknown) => PodRemark;
}

/**
 * What will come of the pods of one node, in the order in which they start: the addresses that they ask for, or what the
 * node's plugins decide. Undefined where its machine has to say it.
 */
export async function foreseePods(
  starts: readonly (DuePod & { readonly identity: string })[],
  { range, givesWhatIsAsked, foresight: begin, dnsOf, refusalOf }: Deciders,
): Promise<Prospects | undefined> {
  const ofPods = starts.filter(({ sandbox }) => sandbox.network !== "host");
  const prospects = new Map<string, Foreseen>();
  const isAsked = givesWhatIsAsked && ofPods.every(({ sandbox }) => sandbox.address !== undefined);
  const foresight = isAsked ? undefined : begin();
  for (const { identity, pod, sandbox } of ofPods) {
    try {
      const address = isAsked ? sandbox.address : await foresight?.next(sandbox, dnsOf(pod));
      // What the subnet of its network does not hold, HNS refuses.
      if (address === undefined || range === undefined || !prefixContains(range, address)) return undefined;
      prospects.set(identity, { address });
    } catch (error) {
      const refusal = refusalOf(error);
      // What else a plugin misses may come while time passes: a network of flanneld, its file.
      if (refusal.code !== "ipam-range-exhausted") return undefined;
      prospects.set(identity, { refusal });
    }
  }
  return prospects;
}

/** True for what came of a pod as it was foreseen; a process of its node's own network is not foreseen. */
export function isAsForeseen(
  { running, remarks }: Pick<PodOutcome, "running" | "remarks">,
  foreseen: Foreseen | undefined,
): boolean {
  if (foreseen === undefined || "address" in foreseen)
    return running !== undefined && (foreseen === undefined || running.address === foreseen.address);
  const { code, text } = foreseen.refusal;
  return running === undefined && remarks.every((each) => each.code === code && each.text === text);
}

/** Equal texts, equal outcomes; undefined: nobody's outcome says anything of this node. */
function kindOf(
  { name, os, build, compat, quirks, addressDelayMs, files, portForward }: NodeSpec,
  due: readonly DuePod[],
  file: ClusterFile,
): string | undefined {
  const range = file.network.ranges[name];
  // Chance strikes each node otherwise.
  const isByChance = Object.values(quirks).some((setting) => typeof setting === "object");
  if (os !== "windows" || range === undefined || isByChance) return undefined;
  if (!due.every((each) => isPlain(each, file))) return undefined;
  const sandboxes = due.map(({ sandbox }) => sandbox);
  const asked = sandboxes.flatMap(({ address }) => address ?? []);
  if (!areAddressesFree(asked, range)) return undefined;
  if (!arePortsFree(sandboxes)) return undefined;
  const ofHost = nodePorts(sandboxes.filter(({ network }) => network === "host"));
  const mapped = nodePorts(sandboxes.filter(({ network }) => network !== "host"));
  const networks = file.networks.filter(({ ranges }) => ranges[name] !== undefined);
  return JSON.stringify([
    [build, compat, quirks, addressDelayMs, files, portForward],
    [range.length, networks.map((network) => network.name), ofHost, mapped],
  ]);
}

/** The nodes of each kind by name, the one with the most pods first; nodes that are like no other are in none. */
export function kindsOfNodes(
  { nodes, file }: Cluster,
  due: readonly DuePod[],
): readonly (readonly string[])[] {
  if (!mayRest(file)) return [];
  const byNode = Map.groupBy(due, ({ sandbox }) => sandbox.node);
  const kinds = new Map<string, string[]>();
  for (const { spec } of nodes) {
    const kind = kindOf(spec, byNode.get(spec.name) ?? [], file);
    if (kind === undefined || !byNode.has(spec.name)) continue;
    const known = kinds.get(kind);
    if (known === undefined) kinds.set(kind, [spec.name]);
    else known.push(spec.name);
  }
  const podsOn = (name: string): number => byNode.get(name)?.length ?? 0;
  return [...kinds.values()].map((names) => names.toSorted((one, other) => podsOn(other) - podsOn(one)));
}

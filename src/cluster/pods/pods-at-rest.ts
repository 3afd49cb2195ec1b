/**
 * Pods of Windows nodes whose sandboxes nobody has asked for. A dump says which address each pod has. The node with the most
 * pods of its kind gives its pods theirs at the start; where that goes without a word, the others of its kind do the same,
 * and can wait. Who reads the stack of a pod that waits asks for its node.
 */
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { type Ipv4, type Ipv6, type Prefix, formatIp, lastIp, prefixContains } from "#core/net/ip.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import { MachineAbsent } from "../absent-machines.ts";
import type { Cluster, ClusterNode, ClusterPod, Demand } from "../cluster.ts";
import type { ClusterFile, FilePodSpec, NodeSpec } from "../file/cluster-file.ts";

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

/**
 * True where what leaves a pod that starts stays on its node: its announcements end at the switch, and its plugin takes the
 * address that it is asked to. Machines are quiet then before their pods start.
 */
export function mayRest({ network, ipv6 }: ClusterFile): boolean {
  const { plugin, driver, cni, shape } = network;
  const isKnown = plugin === "win-bridge" && driver === "L2Bridge" && shape === "own-subnet";
  return isKnown && cni.conflist === undefined && ipv6 === undefined;
}

/** True for a pod that a dump shows running, and about which nothing is special. */
function isPlain({ pod, sandbox }: DuePod, { network }: ClusterFile): boolean {
  const { status, spec } = pod;
  const { address, mac, policies, podNetwork, ports, furtherNetworks, routes } = sandbox;
  if (status?.phase !== "Running" || (status.containerStatuses ?? []).length === 0) return false;
  if (sandbox.network === "host") return true;
  return (
    address !== undefined &&
    status.podIP === formatIp(address) &&
    podNetwork === network.name &&
    mac === undefined &&
    policies.length === 0 &&
    (furtherNetworks ?? []).length + (routes ?? []).length === 0 &&
    spec?.dnsConfig === undefined &&
    ports.every(({ hostPort }) => hostPort === undefined)
  );
}

/** True where each pod of a node asks for an address that only it asks for and that a pod can have. */
function areAddressesFree(sandboxes: readonly FilePodSpec[], range: Prefix): boolean {
  const addresses = sandboxes.flatMap(({ address }) => address ?? []);
  const [first, last] = [Number(range.address) + KEPT_HOSTS, Number(lastIp(range))];
  return (
    new Set(addresses).size === addresses.length &&
    addresses.every((address) => prefixContains(range, address) && address >= first && address < last)
  );
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
  if (!areAddressesFree(sandboxes, range)) return undefined;
  const ofHost = sandboxes.filter(({ network }) => network === "host").flatMap(({ ports }) => ports);
  const hostPorts = ofHost.map(({ port, protocol }) => `${port}/${protocol}`).toSorted();
  const networks = file.networks.filter(({ ranges }) => ranges[name] !== undefined);
  return JSON.stringify([
    [build, compat, quirks, addressDelayMs, files, portForward],
    [range.length, networks.map((network) => network.name), hostPorts],
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

/** A pod or node as its own commands see it. */
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import { type Cluster, type ClusterNode, podAt } from "../cluster.ts";
import type { Sender } from "../trace/trace.ts";

/** From this build on the vNICs of containers have a name of their own. */
const CONTAINER_ADAPTER_BUILD = 20_348;
/** Inferred: indexes only tell interfaces apart; on Windows they count over the whole machine. */
const INDEXES_PER_COMPARTMENT = 32;

export interface Adapter {
  readonly index: number;
  readonly description: string;
  readonly link: Interface;
}

export interface Loopback {
  readonly name: string;
  readonly index: number;
  readonly description: string;
}

export interface Machine {
  readonly cluster: Cluster;
  readonly compartment: Compartment;
  readonly hostName: string;
  readonly loopback: Loopback;
  /** In the order in which they came. */
  readonly adapters: readonly Adapter[];
}

/** What an adapter says of names: what its key of the registry has, else what the whole machine has. */
export function namesOf({ compartment }: Machine, { names }: Interface): DnsSettings {
  const own = compartment.namesOfMachine;
  if (names === undefined) return own;
  const { configured = own, learned } = names;
  if (configured.servers.length > 0) return configured;
  return { ...configured, servers: own.servers.length > 0 ? own.servers : learned };
}

function describe(link: Interface, isHost: boolean, build: number): string {
  if (!link.name.startsWith("vEthernet")) return "Microsoft Hyper-V Network Adapter";
  return !isHost && build >= CONTAINER_ADAPTER_BUILD
    ? "Hyper-V Virtual Ethernet Container Adapter"
    : "Hyper-V Virtual Ethernet Adapter";
}

/** Windows numbers adapters that are described alike, from the second on, over all compartments. */
function describeAll(node: ClusterNode | undefined, own: Compartment): ReadonlyMap<Interface, string> {
  const build = node?.spec.build?.profile.build ?? 0;
  const compartments = node?.host.listCompartments() ?? [own];
  const counts = new Map<string, number>();
  const texts = new Map<Interface, string>();
  for (const compartment of compartments)
    for (const link of compartment.listInterfaces()) {
      const text = describe(link, compartment.id === 1, build);
      const count = (counts.get(text) ?? 0) + 1;
      counts.set(text, count);
      texts.set(link, count === 1 ? text : `${text} #${count}`);
    }
  return texts;
}

/** A pod's containers have its name; those that share the node's network have the node's. */
function hostNameOf(cluster: Cluster, { compartment, description }: Sender, node?: ClusterNode): string {
  const pod = podAt(cluster, compartment);
  return (
    (pod?.spec.network === "pod" ? pod.spec.name : undefined) ?? node?.spec.hostname ?? description.reference
  );
}

export function machineOf(cluster: Cluster, sender: Sender): Machine {
  const { compartment, description } = sender;
  const node = cluster.nodes.find(({ spec }) => spec.name === description.node);
  const texts = describeAll(node, compartment);
  const first = (compartment.id - 1) * INDEXES_PER_COMPARTMENT + 1;
  return {
    cluster,
    compartment,
    hostName: hostNameOf(cluster, sender, node),
    loopback: {
      name: `Loopback Pseudo-Interface ${compartment.id}`,
      index: first,
      description: `Software Loopback Interface ${compartment.id}`,
    },
    adapters: compartment.listInterfaces().map((link, position) => ({
      index: first + 1 + position,
      description: texts.get(link) ?? link.name,
      link,
    })),
  };
}

/** The switch ports of Windows nodes, for the eyes of people: `vfpctrl`, `pktmon`, `mullion vfp`. Only looks. */
import { nearestNames } from "#core/base/nearest-name.ts";
import { formatIp } from "#core/net/ip.ts";
import type { ValueOf } from "#core/base/shape.ts";
import type { Device } from "#dataplane/device/device.ts";
import { MemoryDevice } from "#dataplane/device/memory-pair.ts";
import { listPort } from "#dataplane/vfp/listing/list-port.ts";
import { LISTED_PORT, LISTED_SWITCH_PORT } from "#dataplane/vfp/listing/listing.ts";
import { listSwitchPort } from "#dataplane/switch/list-switch-port.ts";
import { SWITCH_PORT_KINDS, type SwitchPort } from "#dataplane/switch/switch-port.ts";
import type { VirtualSwitch } from "#dataplane/switch/virtual-switch.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import { RequestError } from "../request-error.ts";

/** A port with what `vfpctrl` does not say of it. */
export const NODE_PORT = {
  text: "A switch port of a node.",
  base: (): typeof LISTED_SWITCH_PORT => LISTED_SWITCH_PORT,
  fields: {
    node: "text",
    kind: (): typeof SWITCH_PORT_KINDS => SWITCH_PORT_KINDS,
    place: { is: "text", text: "Whose it is, as traces name it." },
    addresses: { list: "text", text: "Of the machine behind it." },
  },
} as const;
export type NodePort = ValueOf<typeof NODE_PORT>;

export const PORT_VIEW = {
  text: "All that is known of one port.",
  fields: {
    port: (): typeof NODE_PORT => NODE_PORT,
    nodeAddress: { is: "text", text: "It is part of rule names." },
    listing: (): typeof LISTED_PORT => LISTED_PORT,
  },
} as const;
export type PortView = ValueOf<typeof PORT_VIEW>;

interface FoundPort {
  readonly node: ClusterNode;
  readonly virtualSwitch: VirtualSwitch;
  readonly port: SwitchPort;
  readonly portId: number;
}

function portsOf(node: ClusterNode): readonly FoundPort[] {
  let portId = 0;
  return (node.hns?.listSwitches() ?? []).flatMap((virtualSwitch) =>
    virtualSwitch.listPorts().map((port) => ({ node, virtualSwitch, port, portId: ++portId })),
  );
}

/** @throws RequestError for a node that does not exist, or has no VFP. */
export function selectWindowsNodes(cluster: Cluster, name: string | undefined): readonly ClusterNode[] {
  const windows = cluster.nodes.filter((node) => node.hns !== undefined);
  if (name === undefined) return windows;
  const found = windows.filter((node) => node.spec.name === name);
  if (found.length > 0) return found;
  const names = windows.map((node) => node.spec.name);
  const isLinux = cluster.nodes.some((node) => node.spec.name === name);
  throw new RequestError(
    "unknown-object",
    isLinux
      ? `node ${JSON.stringify(name)} runs Linux, and has no VFP`
      : `the cluster has no node ${JSON.stringify(name)}`,
    names.length === 0 ? "The cluster has no Windows node." : `Windows nodes are: ${names.join(", ")}.`,
  );
}

function describePort({ node, virtualSwitch, port, portId }: FoundPort): NodePort {
  return {
    node: node.spec.name,
    kind: port.kind,
    place: port.description,
    addresses: port.ips.map(formatIp),
    ...listSwitchPort(port, portId, virtualSwitch),
  };
}

/** Every port of the Windows nodes, or of one of them. @throws RequestError for a node that does not exist. */
export function listNodePorts(cluster: Cluster, node?: string): readonly NodePort[] {
  return selectWindowsNodes(cluster, node).flatMap((each) => portsOf(each).map(describePort));
}

/** What a port can be called: its GUID, its friendly name, its place, an address, the pod behind it. */
function namesOf(cluster: Cluster, { node, port }: FoundPort): readonly string[] {
  const pods = cluster.pods.filter(
    (pod) => pod.node === node && port.ips.some((ip) => ip === pod.address) && port.kind === "container",
  );
  const isExternal = port.kind === "external";
  return [
    port.id,
    port.name,
    port.description,
    ...(isExternal ? ["ExternalPort"] : port.ips.map(formatIp)),
    ...pods.flatMap(({ spec }) => [`pod/${spec.namespace}/${spec.name}`, `pod/${spec.name}`]),
    ...(port.kind === "host" ? ["host"] : []),
    ...(port.kind === "router" ? ["router"] : []),
  ].map((name) => name.toLowerCase());
}

/** @throws RequestError when no port, or more than one, is called so. */
function findPort(cluster: Cluster, name: string, node?: string): FoundPort {
  const all = selectWindowsNodes(cluster, node).flatMap(portsOf);
  const wanted = name.toLowerCase();
  const found = all.filter((each) => namesOf(cluster, each).includes(wanted));
  const [only] = found;
  if (only === undefined || found.length > 1) throw notOne(name, all, found, cluster);
  return only;
}

/** The port of a Windows node at the other end of the cable of `device`; undefined: of none. */
export function portBefore(node: ClusterNode, device: Device): SwitchPort | undefined {
  if (node.hns === undefined) return undefined;
  const leadsTo = ({ port }: FoundPort): boolean =>
    port.device instanceof MemoryDevice && port.device.farEnd === device;
  return portsOf(node).find(leadsTo)?.port;
}

/** The switch's end of the cable of the port that is called so. @throws RequestError as `viewNodePort`. */
export function deviceOfPort(cluster: Cluster, name: string): Device {
  return findPort(cluster, name).port.device;
}

/**
 * One port with its layers, groups, rules, flows and counters.
 * @throws RequestError when no port, or more than one, is called so.
 */
export function viewNodePort(cluster: Cluster, name: string, node?: string): PortView {
  const only = findPort(cluster, name, node);
  return {
    port: describePort(only),
    nodeAddress: formatIp(only.node.spec.address),
    listing: listPort(only.port.vfp, cluster.clock.nowMs),
  };
}

function notOne(
  name: string,
  all: readonly FoundPort[],
  found: readonly FoundPort[],
  cluster: Cluster,
): RequestError {
  if (found.length > 1) {
    const places = found.map(({ node, port }) => `${port.description} on ${node.spec.name}`);
    return new RequestError(
      "unknown-object",
      `${JSON.stringify(name)} are ${found.length} ports: ${places.join(", ")}`,
      "Name the node, or the port by its GUID.",
    );
  }
  const names = [...new Set(all.flatMap((each) => namesOf(cluster, each)))];
  const near = nearestNames(name.toLowerCase(), names, 3);
  return new RequestError(
    "unknown-object",
    `no switch port is called ${JSON.stringify(name)}`,
    near.length === 0
      ? "List them: mullion vfp ports"
      : `Did you mean ${near.map((each) => JSON.stringify(each)).join(" or ")}? List them: mullion vfp ports`,
  );
}

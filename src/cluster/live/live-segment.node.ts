/**
 * Makes the segment between the nodes real: a TAP hangs on it, so that what the kernel sends out of the TAP arrives at the
 * nodes, and what they send arrives in the kernel. By itself the TAP is the only network of a namespace of ours, which is
 * a machine beside the nodes; else it is a port of a bridge that the user names.
 */
import { crc32 } from "node:zlib";
import { defined } from "#core/base/assert.ts";
import type { Receiver } from "#dataplane/device/device.ts";
import { InterfaceSettings } from "#dataplane/device/linux/interface-settings.node.ts";
import { NetworkNamespace, removeLeftName } from "#dataplane/device/linux/network-namespace.node.ts";
import { SystemCallError, type SystemCalls } from "#dataplane/device/linux/system-calls.node.ts";
import { TapDevice } from "#dataplane/device/linux/tap.node.ts";
import type { MemoryDevice } from "#dataplane/device/memory-pair.ts";
import type { Packet } from "#core/wire/packet.ts";
import { type Ipv4, addToIp, formatIp, lastIp, prefixContains } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { ApiError } from "../api/error-details.ts";
import type { Cluster } from "../cluster.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();
const REFUSED = 400;

/** What the interface of the namespace is called. */
const INTERFACE = "eth0";
const NAME_BYTES_MAX = 15;
/** The port of the segment, and the machine behind it, in traces. */
const PORT = "live";
const PREFIX_OF_NAMES = "mullion-";

/** Where the segment is on this machine. */
export interface LivePlace {
  /** The TAP. */
  readonly device: string;
  /** As `ip netns` calls it; absent: it has no name, or the TAP is a port of a bridge. */
  readonly namespace?: string;
  /** The process whose namespace it is, where it has no name. */
  readonly pid?: number;
  /** Of the machine beside the nodes; absent: the TAP is a port of a bridge. */
  readonly address?: string;
  readonly bridge?: string;
}

/** Carries frames from one side to the other. */
class Relay implements Receiver {
  private readonly to: { transmit(packet: Packet): boolean };

  constructor(to: { transmit(packet: Packet): boolean }) {
    this.to = to;
  }

  receive(packet: Packet): void {
    this.to.transmit(packet);
  }
}

/** The name of the namespace of a cluster. */
export function namespaceOf(cluster: string): string {
  return `${PREFIX_OF_NAMES}${cluster}`;
}

/** The name of a cluster's TAP beside other interfaces: as long as the kernel allows. */
function deviceOf(cluster: string): string {
  const whole = `${PREFIX_OF_NAMES}${cluster}`;
  if (whole.length <= NAME_BYTES_MAX) return whole;
  const short = crc32(cluster).toString(16).padStart(8, "0");
  return `${PREFIX_OF_NAMES}${short}`.slice(0, NAME_BYTES_MAX);
}

/** The last address of the nodes' network that nobody has and no server gives out. */
function freeAddress({ file, nodes, outside, apiServers, underlay }: Cluster): Ipv4 {
  const { subnet, dhcp, dhcpServers } = file.underlay;
  const hosts = [...nodes, ...outside, ...apiServers].map(({ host }) => host);
  const compartments = [underlay.router.compartment, ...hosts.flatMap((host) => host.listCompartments())];
  const taken = new Set(
    compartments.flatMap((each) =>
      each.listInterfaces().flatMap(({ addresses }) => addresses.map(({ ip }) => ip)),
    ),
  );
  for (const { address } of dhcpServers) taken.add(address);
  const given = [
    ...[dhcp, ...dhcpServers].flatMap((each) => each?.range ?? []),
    ...file.nodes.map(({ podCIDR }) => podCIDR),
  ];
  for (
    let ip = addToIp(lastIp(subnet), -1);
    ip !== undefined && ip !== subnet.address;
    ip = addToIp(ip, -1)
  ) {
    const candidate = ip;
    if (!taken.has(ip) && !given.some((range) => prefixContains(range, candidate))) return ip as Ipv4;
  }
  throw new ApiError(REFUSED, "live-not-possible", WORDS.liveNoAddress, WORDS.adviceLiveNoAddress);
}

export interface LiveSegmentOptions {
  readonly cluster: Cluster;
  readonly calls: SystemCalls;
  /** What the running cluster is called. */
  readonly name: string;
  /** A bridge of this machine; undefined: a namespace of ours. */
  readonly bridge: string | undefined;
  /** The Linux node whose place the namespace takes; undefined: it is a further machine. */
  readonly node: string | undefined;
}

/** The machine beside the nodes, and the end of its cable. */
interface LiveMachine {
  readonly address: Ipv4;
  readonly mac: Mac;
  readonly device: MemoryDevice;
}

function furtherMachine(cluster: Cluster): LiveMachine {
  const address = freeAddress(cluster);
  return { address, ...cluster.underlay.connectMachine({ name: PORT, ip: address }) };
}

/** Pulls the cable of a simulated node out, and gives the real one its place on the segment. */
function inPlaceOf({ nodes, underlay }: Cluster, name: string): LiveMachine {
  const node = nodes.find(({ spec }) => spec.name === name);
  if (node?.spec.os !== "linux") {
    const linux = nodes.filter(({ spec }) => spec.os === "linux").map(({ spec }) => spec.name);
    const advice = linux.length === 0 ? WORDS.adviceLiveAddLinuxNode : `Linux nodes: ${linux.join(", ")}.`;
    throw new ApiError(
      REFUSED,
      "bad-usage",
      `${JSON.stringify(name)} is not a Linux node of the cluster`,
      advice,
    );
  }
  const { address } = node.spec;
  const { mac } = defined(node.host.root.interfaceOf(address), "a node has its address");
  node.uplink.isUp = false;
  underlay.disconnect(name);
  return { address, mac, device: underlay.connect(name) };
}

export class LiveSegment {
  readonly tap: TapDevice;
  readonly place: LivePlace;
  private readonly namespace: NetworkNamespace | undefined;

  private constructor(tap: TapDevice, place: LivePlace, namespace?: NetworkNamespace) {
    this.tap = tap;
    this.place = place;
    this.namespace = namespace;
  }

  /** @throws ApiError with what this machine does not allow. */
  static open(options: LiveSegmentOptions): LiveSegment {
    return options.bridge === undefined
      ? LiveSegment.inNamespace(options)
      : LiveSegment.onBridge(options, options.bridge);
  }

  close(): void {
    this.tap.close();
    this.namespace?.close();
  }

  private static inNamespace({ cluster, calls, name, node }: LiveSegmentOptions): LiveSegment {
    const namespaceName = namespaceOf(name);
    requireFree(calls, name);
    const { address, mac, device } = node === undefined ? furtherMachine(cluster) : inPlaceOf(cluster, node);
    const { namespace, built } = NetworkNamespace.make(calls, () => {
      const tap = TapDevice.open(calls, { name: INTERFACE, mtuBytes: device.mtuBytes });
      configure(calls, { cluster, address, mac });
      return tap;
    });
    join(cluster, device, built);
    const isNamed = tryName(namespace, namespaceName);
    const whose = isNamed ? { namespace: namespaceName } : { pid: process.pid };
    return new LiveSegment(built, { device: INTERFACE, address: formatIp(address), ...whose }, namespace);
  }

  private static onBridge({ cluster, calls, name }: LiveSegmentOptions, bridge: string): LiveSegment {
    const { underlay } = cluster;
    if (underlay.physicalHost !== undefined)
      throw new ApiError(
        REFUSED,
        "live-not-possible",
        WORDS.liveBridgeOfFabric,
        WORDS.adviceLiveBridgeOfFabric,
      );
    const device = underlay.connect(PORT);
    const tapName = deviceOf(name);
    const tap = TapDevice.open(calls, { name: tapName, mtuBytes: device.mtuBytes });
    const settings = new InterfaceSettings(calls);
    try {
      settings.addToBridge(bridge, tapName);
      settings.setUp(tapName);
    } catch (error) {
      tap.close();
      throw refusedBridge(bridge, error);
    } finally {
      settings.close();
    }
    join(cluster, device, tap);
    return new LiveSegment(tap, { device: tapName, bridge });
  }
}

/** Joins the end of a cable and a TAP. In copies of the cluster nothing is behind the cable. */
function join(cluster: Cluster, device: MemoryDevice, tap: TapDevice): void {
  const outlet = new Relay(tap);
  cluster.outlets.add(outlet);
  device.attach(outlet);
  tap.attach(new Relay(device));
}

function configure(
  calls: SystemCalls,
  { cluster, address, mac }: { readonly cluster: Cluster; readonly address: Ipv4; readonly mac: Mac },
): void {
  const { subnet, router } = cluster.file.underlay;
  const settings = new InterfaceSettings(calls);
  try {
    settings.setMac(INTERFACE, mac);
    settings.setAddress(INTERFACE, address, subnet.length);
    settings.setUp("lo");
    settings.setUp(INTERFACE);
    settings.addDefaultRoute(router);
  } finally {
    settings.close();
  }
}

/** Without the rights to mount there is no name, and it works without. */
function tryName(namespace: NetworkNamespace, name: string): boolean {
  try {
    namespace.setName(name);
    return true;
  } catch (error) {
    const code = error instanceof SystemCallError ? error.code : (error as NodeJS.ErrnoException).code;
    if (code === "EPERM" || code === "EACCES" || code === "EROFS") return false;
    namespace.close();
    throw error;
  }
}

/** What a cluster of this name left that was killed is taken away. @throws ApiError when one of the name is there. */
function requireFree(calls: SystemCalls, name: string): void {
  if (removeLeftNamespace(calls, name)) return;
  const message = WORDS.liveNameTaken({ name: namespaceOf(name) });
  throw new ApiError(REFUSED, "live-name-taken", message, WORDS.adviceLiveNameTaken);
}

/** @returns false: the namespace is somebody's. */
export function removeLeftNamespace(calls: SystemCalls, name: string): boolean {
  return removeLeftName(calls, namespaceOf(name), INTERFACE);
}

function refusedBridge(bridge: string, error: unknown): unknown {
  if (
    !(error instanceof SystemCallError) ||
    !["ENODEV", "EOPNOTSUPP", "ENOTSUP", "EINVAL", "ENAMETOOLONG"].includes(error.code)
  )
    return error;
  const message = `this machine has no bridge ${JSON.stringify(bridge)}`;
  return new ApiError(REFUSED, "live-not-possible", message, WORDS.adviceLiveBridge({ bridge }));
}

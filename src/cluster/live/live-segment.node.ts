/**
 * Makes the segment between the nodes real: a TAP hangs on it, so that what the kernel sends out of the TAP arrives at the
 * nodes, and what they send arrives in the kernel. By itself the TAP is the only network of a namespace of ours, which is
 * a machine beside the nodes; else it is a port of a bridge that the user names.
 */
import { crc32 } from "node:zlib";
import { defined } from "#core/base/assert.ts";
import { InterfaceSettings } from "#dataplane/device/linux/interface-settings.node.ts";
import { SystemCallError, type SystemCalls } from "#dataplane/device/linux/system-calls.node.ts";
import { TapDevice } from "#dataplane/device/linux/tap.node.ts";
import type { Device, Receiver } from "#dataplane/device/device.ts";
import { type InterfaceAddress, type Ip, type Ipv4, addToIp, lastIp, prefixContains } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { ApiError } from "../api/error-details.ts";
import type { Cluster } from "../cluster.ts";
import type { ClusterFile } from "../file/cluster-file.ts";
import { samePlaceIn } from "../file/complete-ipv6.ts";
import { LiveMachine, joinTap, namespaceOf } from "./live-machine.node.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();
const REFUSED = 400;
const NAME_BYTES_MAX = 15;
/** The port of the segment, and the machine behind it, in traces. */
const PORT = "live";

/** A TAP on a bridge of the user's. */
export class LiveBridgePort {
  readonly tap: TapDevice;

  private constructor(tap: TapDevice) {
    this.tap = tap;
  }

  /** @throws ApiError when there is no such bridge; SystemCallError with what this machine does not allow. */
  static open(cluster: Cluster, calls: SystemCalls, name: string, bridge: string): LiveBridgePort {
    if (cluster.underlay.physicalHost !== undefined)
      throw new ApiError(
        REFUSED,
        "live-not-possible",
        WORDS.liveBridgeOfFabric,
        WORDS.adviceLiveBridgeOfFabric,
      );
    const device = cluster.underlay.connect(PORT);
    const tap = TapDevice.open(calls, {
      name: deviceOf(name),
      mtuBytes: device.mtuBytes,
      hasOffloads: true,
      hasTunnels: true,
    });
    const settings = new InterfaceSettings(calls);
    try {
      settings.addToBridge(bridge, tap.name);
      settings.setUp(tap.name);
    } catch (error) {
      tap.close();
      throw refusedBridge(bridge, error);
    } finally {
      settings.close();
    }
    joinTap(cluster, device, tap);
    return new LiveBridgePort(tap);
  }

  close(): void {
    this.tap.close();
  }
}

/** The name of a cluster's TAP beside other interfaces: as long as the kernel allows. */
function deviceOf(cluster: string): string {
  const whole = namespaceOf(cluster);
  if (whole.length <= NAME_BYTES_MAX) return whole;
  const short = crc32(cluster).toString(16).padStart(8, "0");
  return namespaceOf(short).slice(0, NAME_BYTES_MAX);
}

function refusedBridge(bridge: string, error: unknown): unknown {
  const reasons = ["ENODEV", "EOPNOTSUPP", "ENOTSUP", "EINVAL", "ENAMETOOLONG"];
  if (!(error instanceof SystemCallError) || !reasons.includes(error.code)) return error;
  const message = `this machine has no bridge ${JSON.stringify(bridge)}`;
  return new ApiError(REFUSED, "live-not-possible", message, WORDS.adviceLiveBridge({ bridge }));
}

/** Addresses in the nodes' networks, with the lengths of these. */
function addressesOn(
  { underlay, ipv6 }: ClusterFile,
  ip: Ip,
  second: Ip | undefined,
): readonly InterfaceAddress[] {
  const first = { ip, length: underlay.subnet.length };
  return ipv6 === undefined || second === undefined
    ? [first]
    : [first, { ip: second, length: ipv6.subnet.length }];
}

/** The last address of the nodes' network that nobody has and no server gives out; in IPv6 the same place. */
function freeAddresses({ file, nodes, outside, apiServers, underlay }: Cluster): readonly InterfaceAddress[] {
  const { ipv6 } = file;
  const { subnet, dhcp, dhcpServers } = file.underlay;
  const hosts = [...nodes, ...outside, ...apiServers].map(({ host }) => host);
  const compartments = [underlay.router.compartment, ...hosts.flatMap((host) => host.listCompartments())];
  const interfaces = compartments.flatMap((each) => each.listInterfaces());
  const taken = new Set(interfaces.flatMap(({ addresses }) => addresses.map(({ ip }) => ip)));
  for (const { address } of dhcpServers) taken.add(address);
  const given = [
    ...[dhcp, ...dhcpServers].flatMap((each) => each?.range ?? []),
    ...file.nodes.map(({ podCIDR }) => podCIDR),
  ];
  const isFree = (ip: Ip): boolean => !taken.has(ip) && !given.some((range) => prefixContains(range, ip));
  for (
    let ip = addToIp(lastIp(subnet), -1);
    ip !== undefined && ip !== subnet.address;
    ip = addToIp(ip, -1)
  ) {
    const second = ipv6 && samePlaceIn(ipv6.subnet, subnet, ip as Ipv4);
    if (isFree(ip) && (second === undefined || isFree(second))) return addressesOn(file, ip, second);
  }
  throw new ApiError(REFUSED, "live-not-possible", WORDS.liveNoAddress, WORDS.adviceLiveNoAddress);
}

/** Where a machine stands on the segment. */
interface Place {
  readonly addresses: readonly InterfaceAddress[];
  readonly gateways: readonly Ip[];
  readonly mac: Mac;
  readonly device: Device;
  readonly simulated?: Receiver;
}

/** The router leads out of each family. */
function gatewaysOf({ underlay, ipv6 }: ClusterFile): readonly Ip[] {
  return [underlay.router, ...(ipv6 === undefined ? [] : [ipv6.router])];
}

function besideNodes(cluster: Cluster): Place {
  const addresses = freeAddresses(cluster);
  const own = addresses.map(({ ip }) => ip);
  const gateways = gatewaysOf(cluster.file);
  return { addresses, gateways, ...cluster.underlay.connectMachine(PORT, own) };
}

/** The place of a Linux node, whose simulated self hears nothing any more. */
function placeOfNode({ file, nodes }: Cluster, name: string): Place {
  const node = nodes.find(({ spec }) => spec.name === name);
  if (node?.spec.os !== "linux") {
    const linux = nodes.filter(({ spec }) => spec.os === "linux").map(({ spec }) => spec.name);
    const advice = linux.length === 0 ? WORDS.adviceLiveAddLinuxNode : `Linux nodes: ${linux.join(", ")}.`;
    const message = `${JSON.stringify(name)} is not a Linux node of the cluster`;
    throw new ApiError(REFUSED, "bad-usage", message, advice);
  }
  const { address } = node.spec;
  const simulated = defined(node.host.root.interfaceOf(address), "a node has its address");
  return {
    addresses: addressesOn(file, address, file.ipv6?.nodes[name]?.address),
    gateways: gatewaysOf(file),
    mac: simulated.mac,
    device: simulated.device,
    simulated,
  };
}

/** The machine on the segment: a further one, or in the place of a Linux node. */
export function openLiveHost(
  cluster: Cluster,
  calls: SystemCalls,
  name: string,
  node: string | undefined,
): LiveMachine {
  const place = node === undefined ? besideNodes(cluster) : placeOfNode(cluster, node);
  const { mtuBytes } = place.device;
  return LiveMachine.open(cluster, calls, {
    ...place,
    name: namespaceOf(name),
    mtuBytes,
    hasTunnels: true,
  });
}

/** The VXLAN device of a Linux node: what the configuration may say of it (control-planes.md §1.3), and how it is made, or kept (§3.2). */
import { type Ip, type Prefix, formatIp } from "#core/net/ip.ts";
import { FlannelError, type FlannelLog } from "../reports.ts";
import type { LinuxHost, LinuxRoute, VxlanDevice, VxlanSettings } from "../node/flannel-host.ts";
import { readConfig } from "../config-fields.ts";
import { LINUX_VXLAN } from "../net-conf.ts";
import { BACKEND_PLACE, type NetworkConfig } from "../network-config.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { Mac } from "#core/net/mac.ts";

export interface LinuxVxlanOptions {
  readonly vni: number;
  /** 0: what the kernel takes, 8472. */
  readonly port: number;
  /** Of the adapter; undefined: what it has. */
  readonly mtuBytes: number | undefined;
  readonly isLearning: boolean;
  readonly hasGroupPolicy: boolean;
  /** Neighbours of the same link are reached without a tunnel. */
  readonly routesDirectly: boolean;
}

const DEFAULT_VNI = 1;

export function readLinuxVxlanOptions(config: NetworkConfig): LinuxVxlanOptions {
  const given = readConfig(LINUX_VXLAN, config.backend, BACKEND_PLACE);
  return Object.freeze({
    vni: given.VNI ?? DEFAULT_VNI,
    port: given.Port ?? 0,
    mtuBytes: given.MTU,
    isLearning: given.Learning ?? false,
    hasGroupPolicy: given.GBP ?? false,
    routesDirectly: given.DirectRouting ?? false,
  });
}

/** What the kernel takes when no port is said. */
const KERNEL_PORT = 8_472;

/** Why a device cannot be kept; undefined: it can. What either side does not say is not compared. */
function incompatibility(wanted: VxlanSettings, device: VxlanDevice): string | undefined {
  if (!device.isVxlan) return "link type: vxlan vs another one";
  if (device.vni !== wanted.vni) return `vni: ${wanted.vni} vs ${device.vni}`;
  if (device.underlay !== undefined && device.underlay !== wanted.underlay)
    return `vtep (external) interface: ${wanted.underlay} vs ${device.underlay}`;
  if (device.local !== undefined && device.local !== wanted.local)
    return `vtep (external) IP: ${formatIp(wanted.local)} vs ${formatIp(device.local)}`;
  const port = wanted.port === 0 ? undefined : wanted.port;
  if (port !== undefined && device.port !== undefined && device.port !== port)
    return `port: ${port} vs ${device.port}`;
  if (device.hasGroupPolicy !== wanted.hasGroupPolicy)
    return `gbp: ${wanted.hasGroupPolicy} vs ${device.hasGroupPolicy}`;
  return undefined;
}

/** The port that a device with these settings uses. */
export function portOf({ port }: Pick<VxlanSettings, "port">): number {
  return port === 0 ? KERNEL_PORT : port;
}

/** @returns the device as it is then. @throws FlannelError when it cannot be made. */
export async function ensureVxlanDevice(
  host: LinuxHost,
  wanted: VxlanSettings,
  log: FlannelLog,
): Promise<VxlanDevice> {
  const existing = await host.findVxlan(wanted.name);
  const reason = existing === undefined ? undefined : incompatibility(wanted, existing);
  if (existing !== undefined && reason === undefined) return existing;
  if (reason !== undefined) {
    log.write(
      "W",
      `${JSON.stringify(wanted.name)} already exists with incompatible configuration: ${reason}; recreating device`,
    );
    await host.deleteLink(wanted.name);
  }
  await host.createVxlan(wanted);
  const device = await host.findVxlan(wanted.name);
  if (device !== undefined) return device;
  throw new FlannelError("flannel-network-not-made", `can't locate created vxlan device ${wanted.name}`);
}

// What a Linux node needs to reach the pods of one other node: a neighbour, a forwarding entry and a route, in this order,
// or a plain route where the other node is on the link (control-planes.md §3.3).

/** One family of one lease. */
export interface TunnelPeer {
  readonly device: string;
  readonly subnet: Prefix;
  readonly publicIp: Ip;
  readonly mac: Mac;
  /** The interface of a link that both share; undefined: through the tunnel. */
  readonly direct: string | undefined;
}

export function routeOf({ device, subnet, publicIp, direct }: TunnelPeer): LinuxRoute {
  return direct === undefined
    ? { prefix: subnet, nextHop: subnet.address, device, isOnLink: true }
    : { prefix: subnet, nextHop: publicIp, device: direct, isOnLink: false };
}

async function attempt(make: () => Promise<void>, what: string): Promise<string | undefined> {
  try {
    await make();
    return undefined;
  } catch (error) {
    return `${what} failed: ${messageOf(error)}`;
  }
}

/** Makes all three. What was made is taken back when a later one fails. @returns why it failed. */
export async function addEntries(host: LinuxHost, peer: TunnelPeer): Promise<readonly string[]> {
  const { device, subnet, publicIp, mac, direct } = peer;
  if (direct !== undefined) {
    const failure = await attempt(() => host.replaceRoute(routeOf(peer)), "adding the direct route");
    return failure === undefined ? [] : [failure];
  }
  const neighbor = await attempt(() => host.setNeighbor(device, subnet.address, mac), "AddARP");
  if (neighbor !== undefined) return [neighbor];
  const undone: (string | undefined)[] = [];
  const forwarding = await attempt(() => host.setForwarding(device, mac, publicIp), "AddFDB");
  if (forwarding !== undefined) {
    undone.push(await attempt(() => host.removeNeighbor(device, subnet.address), "DelARP"));
    return [forwarding, ...undone.filter((text) => text !== undefined)];
  }
  // The kernel would ask for the gateway's MAC if the neighbour were not there yet, so the route comes last.
  const route = await attempt(() => host.replaceRoute(routeOf(peer)), "adding the route");
  if (route === undefined) return [];
  undone.push(await attempt(() => host.removeNeighbor(device, subnet.address), "DelARP"));
  undone.push(await attempt(() => host.removeForwarding(device, mac, publicIp), "DelFDB"));
  return [route, ...undone.filter((text) => text !== undefined)];
}

/** Takes all three away, as far as they are there. @returns what failed. */
export async function removeEntries(host: LinuxHost, peer: TunnelPeer): Promise<readonly string[]> {
  const { device, subnet, publicIp, mac, direct } = peer;
  const route = await attempt(() => host.removeRoute(routeOf(peer)), "removing the route");
  if (direct !== undefined) return route === undefined ? [] : [route];
  const forwarding = await attempt(() => host.removeForwarding(device, mac, publicIp), "DelFDB");
  const neighbor = await attempt(() => host.removeNeighbor(device, subnet.address), "DelARP");
  return [route, forwarding, neighbor].filter((text) => text !== undefined);
}

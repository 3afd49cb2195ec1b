/**
 * What a Linux node needs to reach the pods of one other node: a neighbour, a forwarding entry and a route, in this order,
 * or a plain route where the other node is on the link (control-planes.md §3.3).
 */
import { messageOf } from "#core/base/thrown.ts";
import type { Ip, Prefix } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { LinuxHost, LinuxRoute } from "../node/flannel-host.ts";

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

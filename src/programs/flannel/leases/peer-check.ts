/**
 * Whether another node's lease may be programmed. Upstream programs whatever it can read; `hardened` mode makes
 * no route that would lead packets astray, whatever wrote the lease.
 */
import {
  type Ip,
  type Prefix,
  formatIp,
  formatPrefix,
  hostPrefix,
  isMulticastIp,
  prefixCovers,
  prefixesOverlap,
} from "#core/net/ip.ts";
import type { FlannelFinding } from "../flannel-error.ts";
import { type Lease, formatSubnets } from "./lease.ts";
import type { NetworkConfig } from "../network-config.ts";

export interface PeerSurroundings {
  readonly config: NetworkConfig;
  readonly own: Lease;
  /** Leases that are programmed already. */
  readonly others: Iterable<Lease>;
}

function isSomeOther(a: Lease, b: Lease): boolean {
  return a.owner !== b.owner || formatSubnets(a) !== formatSubnets(b);
}

function refusedSubnet(
  subnet: Prefix,
  network: Prefix | undefined,
  own: Prefix | undefined,
): string | undefined {
  if (network === undefined || !prefixCovers(network, subnet))
    return `it is outside the network ${network === undefined ? "" : formatPrefix(network)}`;
  if (own !== undefined && prefixesOverlap(own, subnet))
    return `it overlaps this node's own subnet ${formatPrefix(own)}`;
  return undefined;
}

function isUsableAddress(ip: Ip | undefined): ip is Ip {
  if (ip === undefined || isMulticastIp(ip)) return false;
  if (typeof ip !== "number") return ip > 1n;
  const first = Math.floor(ip / 0x100_0000);
  return first !== 0 && first !== 127 && first < 240;
}

function refusedAddress(ip: Ip | undefined, own: Ip | undefined, subnet: Prefix): string | undefined {
  if (!isUsableAddress(ip))
    return `its public address ${ip === undefined ? "" : formatIp(ip)} is not that of a node`;
  if (ip === own) return `its public address ${formatIp(ip)} is this node's own`;
  if (prefixCovers(subnet, hostPrefix(ip))) return `its public address ${formatIp(ip)} is in its own subnet`;
  return undefined;
}

function overlap(lease: Lease, other: Lease): boolean {
  const meet = (a: Prefix | undefined, b: Prefix | undefined): boolean =>
    a !== undefined && b !== undefined && prefixesOverlap(a, b);
  return meet(lease.subnet, other.subnet) || meet(lease.ipv6Subnet, other.ipv6Subnet);
}

/** Why the lease is not programmed; undefined: it may be. */
export function refusePeer(
  lease: Lease,
  { config, own, others }: PeerSurroundings,
): FlannelFinding | undefined {
  const { attributes } = lease;
  const who = `the lease ${formatSubnets(lease)}${lease.owner === undefined ? "" : ` of ${lease.owner}`}`;
  const reason =
    (lease.subnet === undefined
      ? undefined
      : (refusedSubnet(lease.subnet, config.network, own.subnet) ??
        refusedAddress(attributes.publicIp, own.attributes.publicIp, lease.subnet))) ??
    (lease.ipv6Subnet === undefined
      ? undefined
      : (refusedSubnet(lease.ipv6Subnet, config.ipv6Network, own.ipv6Subnet) ??
        refusedAddress(attributes.publicIpv6, own.attributes.publicIpv6, lease.ipv6Subnet)));
  if (reason !== undefined)
    return { code: "flannel-peer-lease-unusable", message: `${who} is left out: ${reason}` };
  for (const other of others) {
    if (!isSomeOther(lease, other) || !overlap(lease, other)) continue;
    const whose = other.owner === undefined ? "another one" : `that of ${other.owner}`;
    return {
      code: "flannel-lease-conflict",
      message: `${who} is left out: it overlaps ${whose}, ${formatSubnets(other)}`,
    };
  }
  return undefined;
}

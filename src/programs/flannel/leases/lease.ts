/** Leases: a subnet of pods for one node, and how others reach it (control-planes.md §1.4 to §1.6). */
import {
  type Ipv4,
  type Ipv6,
  type Prefix,
  equalPrefixes,
  formatIp,
  formatPrefix,
  maskIp,
  parseIpv4,
  parseIpv6,
} from "#core/net/ip.ts";

export interface LeaseAttributes {
  readonly publicIp: Ipv4 | undefined;
  readonly publicIpv6: Ipv6 | undefined;
  /** As the node has published it. */
  readonly backendType: string;
  /** JSON as the node has published it; undefined: none. What it holds is the back end's business. */
  readonly backendData: string | undefined;
  readonly backendV6Data: string | undefined;
}

/** What is not given is not there. */
export function makeAttributes(
  given: {
    readonly [K in keyof LeaseAttributes]?: LeaseAttributes[K];
  },
): LeaseAttributes {
  return Object.freeze({
    publicIp: undefined,
    publicIpv6: undefined,
    backendType: "",
    backendData: undefined,
    backendV6Data: undefined,
    ...given,
  });
}

export interface Lease {
  readonly subnet: Prefix | undefined;
  readonly ipv6Subnet: Prefix | undefined;
  readonly attributes: LeaseAttributes;
  /** The Node's name, where leases are Nodes. */
  readonly owner: string | undefined;
  /** For how long the store keeps it from now on; undefined: as long as its owner is there. */
  readonly timeToLiveMs: number | undefined;
}

export interface LeaseEvent {
  readonly type: "added" | "removed";
  readonly lease: Lease;
}

function samePrefix(a: Prefix | undefined, b: Prefix | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalPrefixes(a, b);
}

/** Leases are the same when their subnets are. */
export function hasSameSubnets(a: Lease, b: Lease): boolean {
  return samePrefix(a.subnet, b.subnet) && samePrefix(a.ipv6Subnet, b.ipv6Subnet);
}

export function equalAttributes(a: LeaseAttributes, b: LeaseAttributes): boolean {
  return (
    a.publicIp === b.publicIp &&
    a.publicIpv6 === b.publicIpv6 &&
    a.backendType === b.backendType &&
    a.backendData === b.backendData &&
    a.backendV6Data === b.backendV6Data
  );
}

/** `10.244.1.0/24`, or both families'. */
export function formatSubnets(lease: Pick<Lease, "subnet" | "ipv6Subnet">): string {
  return [lease.subnet, lease.ipv6Subnet]
    .filter((prefix) => prefix !== undefined)
    .map(formatPrefix)
    .join(" and ");
}

/** The name of the key under which a lease lies in etcd: `10.5.52.0-24`, with a second family behind `&`. */
export function formatSubnetKey(lease: Pick<Lease, "subnet" | "ipv6Subnet">): string {
  return [lease.subnet, lease.ipv6Subnet]
    .filter((prefix) => prefix !== undefined)
    .map((prefix) => `${formatIp(prefix.address)}-${prefix.length}`)
    .join("&");
}

const SUBNET_KEY = /(?<!\d)(\d+\.\d+\.\d+\.\d+)-(\d+)(?:&([a-f\d:]+)-(\d+))?$/;

function prefixAt(ip: Ipv4 | Ipv6 | undefined, length: number, lengthMax: number): Prefix | undefined {
  if (ip === undefined || length > lengthMax || maskIp(ip, length) !== ip) return undefined;
  return { address: ip, length };
}

/** The subnets that a key names; undefined for another key. */
export function parseSubnetKey(key: string): Pick<Lease, "subnet" | "ipv6Subnet"> | undefined {
  const [, address = "", length = "", ipv6Address, ipv6Length = ""] = SUBNET_KEY.exec(key) ?? [];
  const subnet = prefixAt(parseIpv4(address), Number(length), 32);
  if (subnet === undefined) return undefined;
  if (ipv6Address === undefined) return { subnet, ipv6Subnet: undefined };
  const ipv6Subnet = prefixAt(parseIpv6(ipv6Address), Number(ipv6Length), 128);
  return ipv6Subnet === undefined ? undefined : { subnet, ipv6Subnet };
}

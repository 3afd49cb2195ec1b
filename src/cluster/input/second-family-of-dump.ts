/**
 * The second family of a cluster that was dumped: whether it has one, and what can be said of it. Addresses of nodes, ranges of
 * pods and addresses of Services are facts; what no object says gets a default, and so does everything where the facts
 * contradict each other.
 */
import { hasFeature } from "#contracts/hcn/features.ts";
import type { JsonObject } from "#core/base/json.ts";
import { hnsVersionOf, parseProfile } from "#core/catalogue/profiles.ts";
import { podAddresses } from "#contracts/kubernetes/pod.ts";
import type { Node, Pod, Service } from "#contracts/kubernetes/objects.ts";
import {
  type Ipv6,
  type Prefix,
  formatIp,
  formatPrefix,
  parseIpv6,
  parsePrefix,
  prefixContains,
  prefixCovers,
  prefixOf,
  prefixesOverlap,
} from "#core/net/ip.ts";
import type { ClusterRanges, DumpedNode } from "./cluster-ranges.ts";
import { isApart } from "./address-ranges.ts";

/** What the cluster file says of the second family. */
export interface DumpedSecondFamily {
  readonly ipv6: JsonObject;
  /** `nodes[].ipv6`, by the node's name. */
  readonly ofNode: ReadonlyMap<string, JsonObject>;
}

const LINK_LENGTH = 64;
const IPV4_IN_IPV6 = 96;
/** Kubernetes takes no larger range of Services in IPv6. */
const SERVICE_LENGTH_MIN = 108;
const SERVICE_LENGTH = 112;
const SUBNETS = ["fd00:10::/64", "fd00:20::/64", "fd00:30::/64", "fd00:40::/64"];
const POD_RANGES = ["fd00:10:244::/48", "fd00:20:244::/48", "fd00:30:244::/48", "fd00:40:244::/48"];
const SERVICE_RANGES = ["fd00:10:96::/112", "fd00:20:96::/112", "fd00:30:96::/112", "fd00:40:96::/112"];

function firstApart(candidates: readonly string[], others: readonly Prefix[]): Prefix {
  const ranges = candidates.flatMap((text) => parsePrefix(text) ?? []);
  const found = ranges.find((range) => isApart(range, others)) ?? ranges[0];
  if (found === undefined) throw new RangeError("there are candidates");
  return found;
}

/** The smallest range that covers all of `ranges`; undefined for none. */
function coverOf([first, ...rest]: readonly Prefix[]): Prefix | undefined {
  if (first === undefined) return undefined;
  let cover = first;
  while (!rest.every((range) => prefixCovers(cover, range)))
    cover = prefixOf(cover.address, cover.length - 1);
  return cover;
}

function addressesOf({ status }: Node): readonly Ipv6[] {
  return (status?.addresses ?? []).flatMap(({ type, address }) =>
    type === "InternalIP" ? (parseIpv6(address) ?? []) : [],
  );
}

function rangeOf({ spec }: Node): Prefix | undefined {
  return (spec?.podCIDRs ?? [])
    .flatMap((text) => parsePrefix(text) ?? [])
    .find(({ address }) => typeof address === "bigint");
}

function serviceAddresses(services: readonly Service[]): readonly Ipv6[] {
  return services.flatMap(({ spec }) =>
    [spec?.clusterIP, ...(spec?.clusterIPs ?? [])].flatMap((text) => parseIpv6(text ?? "") ?? []),
  );
}

/** True when a Service cannot be without IPv6. */
export function needsSecondFamily({ spec }: Service): boolean {
  const isAsked = spec?.ipFamilyPolicy === "RequireDualStack" || spec?.ipFamilies?.includes("IPv6") === true;
  return isAsked || serviceAddresses([{ spec } as Service]).length > 0;
}

function isDualStack(
  machines: readonly DumpedNode[],
  pods: readonly Pod[],
  services: readonly Service[],
): boolean {
  return (
    machines.some(({ node }) => rangeOf(node) !== undefined) ||
    pods.some((pod) => podAddresses(pod).some((text) => parseIpv6(text) !== undefined)) ||
    services.some(needsSecondFamily)
  );
}

/** A Windows node whose HNS has no second family (hcn.md §7.1). */
export function nodeWithoutSecondFamily(machines: readonly DumpedNode[]): string | undefined {
  return machines.find(({ node, os }) => {
    const build = os === "windows" ? parseProfile(node.status?.nodeInfo?.kernelVersion ?? "") : undefined;
    return build !== undefined && !hasFeature(hnsVersionOf(build), "IPv6DualStack");
  })?.node.metadata.name;
}

/** The subnet of the machines and the address of each, where every one has one, and the router's place is free. */
function nodeAddresses(
  machines: readonly DumpedNode[],
  { underlay, router }: ClusterRanges,
): { readonly subnet: Prefix; readonly addresses: readonly Ipv6[] } | undefined {
  const addresses = machines.flatMap(({ node }) => addressesOf(node)[0] ?? []);
  const [first] = addresses;
  if (first === undefined || addresses.length !== machines.length) return undefined;
  const subnet = prefixOf(first, LINK_LENGTH);
  const routerIp = (subnet.address as Ipv6) + BigInt(router - Number(underlay.address));
  const isRight =
    addresses.every((ip) => prefixContains(subnet, ip) && ip !== subnet.address) &&
    new Set([...addresses, routerIp]).size === addresses.length + 1;
  return isRight ? { subnet, addresses } : undefined;
}

/** The range of each node's pods, where all of them have one with room for what the first family has. */
function podRanges(
  machines: readonly DumpedNode[],
  { ofNode, blockLength }: ClusterRanges,
  others: readonly Prefix[],
): { readonly cover: Prefix; readonly ranges: readonly Prefix[] } | undefined {
  const ranges = machines.flatMap(({ node }) => rangeOf(node) ?? []);
  if (ranges.length !== machines.length) return undefined;
  const hasRoom = machines.every(({ node }, index) => {
    const first = ofNode.get(node.metadata.name)?.length ?? blockLength;
    return (ranges[index]?.length ?? 128) <= IPV4_IN_IPV6 + first;
  });
  const cover = coverOf(ranges);
  const areApart = ranges.every((range, index) =>
    ranges.slice(0, index).every((other) => !prefixesOverlap(range, other)),
  );
  return cover !== undefined && hasRoom && areApart && isApart(cover, others) ? { cover, ranges } : undefined;
}

/** The range of Services: those near the first one. */
function serviceRange(services: readonly Service[], others: readonly Prefix[]): Prefix {
  const addresses = serviceAddresses(services);
  const [first] = addresses;
  if (first === undefined) return firstApart(SERVICE_RANGES, others);
  const largest = prefixOf(first, SERVICE_LENGTH_MIN);
  const near = addresses
    .filter((ip) => prefixContains(largest, ip))
    .map((ip) => prefixOf(ip, SERVICE_LENGTH));
  const cover = coverOf(near) ?? largest;
  return isApart(cover, others) ? cover : firstApart(SERVICE_RANGES, others);
}

/** Undefined: nothing in the dump has an IPv6 address. Nodes that cannot have one are looked for elsewhere. */
export function secondFamilyOf(
  machines: readonly DumpedNode[],
  pods: readonly Pod[],
  services: readonly Service[],
  ranges: ClusterRanges,
): DumpedSecondFamily | undefined {
  if (!isDualStack(machines, pods, services)) return undefined;
  const nodes = nodeAddresses(machines, ranges);
  const facts = serviceAddresses(services).map((ip) => prefixOf(ip, SERVICE_LENGTH));
  const known = nodes === undefined ? [] : [nodes.subnet];
  const given = podRanges(machines, ranges, known);
  const taken = [...known, ...(given === undefined ? [] : [given.cover])];
  const service = serviceRange(services, taken);
  const subnet = nodes?.subnet ?? firstApart(SUBNETS, [...taken, service, ...facts]);
  const cluster = given?.cover ?? firstApart(POD_RANGES, [subnet, service]);
  const ofNode = machines.map(({ node }, index) => {
    const address = nodes?.addresses[index];
    const podCIDR = given?.ranges[index];
    return [
      node.metadata.name,
      {
        ...(address === undefined ? {} : { address: formatIp(address) }),
        ...(podCIDR === undefined ? {} : { podCIDR: formatPrefix(podCIDR) }),
      },
    ] as const;
  });
  return {
    ipv6: {
      enabled: true,
      subnet: formatPrefix(subnet),
      clusterCIDR: formatPrefix(cluster),
      serviceCIDR: formatPrefix(service),
    },
    ofNode: new Map(ofNode.filter(([, fields]) => Object.keys(fields).length > 0)),
  };
}

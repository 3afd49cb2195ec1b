/**
 * What a network document has to be (hcn.md §4.1, §4.2). Inferred (hcn.md §11.16): which of the codes for networks,
 * subnets and prefixes Windows gives is known for host bits only; all that is wrong in a create request is
 * HCN_E_INVALID_NETWORK here, except IP subnets, which have a code of their own.
 */
import type { Route } from "#contracts/hcn/documents/base-document.ts";
import type { HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HostComputeNetwork, IpSubnet, Subnet } from "#contracts/hcn/documents/network.ts";
import { parseSubnetPolicy } from "#contracts/hcn/documents/network-policy.ts";
import {
  type Ip,
  type Prefix,
  familyOf,
  formatIp,
  formatPrefix,
  isMulticastIp,
  maskIp,
  parseInterfaceAddress,
  parseIp,
  parsePrefix,
  prefixContains,
  prefixCovers,
  prefixFamily,
  prefixesOverlap,
} from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";
import { isGroupMac, parseMac } from "#core/net/mac.ts";
import { isLinkLocal } from "#dataplane/host/ip/address-scope.ts";
import type { IpSubnetRecord, MacRange, RouteRecord, SubnetRecord } from "../records.ts";
import type { ServiceContext } from "../service-context.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

function invalid(code: HcnErrorCode, detail: string): HcnError {
  return new HcnError(code, { detail });
}

/** Reads a prefix whose host bits are zero; the message says what the writer probably meant. */
function requirePrefix(text: string | undefined, where: string, code: HcnErrorCode): Prefix {
  const prefix = parsePrefix(text ?? "");
  if (prefix !== undefined) return prefix;
  const address = parseInterfaceAddress(text ?? "");
  if (address === undefined)
    throw invalid(code, `${where} is ${JSON.stringify(text ?? "")}; it must be a CIDR`);
  const meant = formatPrefix({ address: maskIp(address.ip, address.length), length: address.length });
  throw invalid(code, `${where} ${text ?? ""} has bits set behind its length; write ${meant}`);
}

/** What Windows takes for "no gateway" (hcn.md §4.2). */
function isUnspecified(ip: Ip): boolean {
  return typeof ip === "number" ? ip === 0 : ip === 0n;
}

/**
 * Reads routes. One without a next hop says nothing and is left out; Inferred (cni.md §11.4): the reference plugin
 * sends such a route when it has no address from IPAM.
 */
export function readRouteRecords(
  routes: readonly Route[],
  where: string,
  code: HcnErrorCode,
): readonly RouteRecord[] {
  const records: RouteRecord[] = [];
  for (const [index, route] of routes.entries()) {
    const at = `${where}[${index}]`;
    if ((route.NextHop ?? "") === "") continue;
    const nextHop = parseIp(route.NextHop ?? "");
    if (nextHop === undefined)
      throw invalid(code, `${at}.NextHop is ${JSON.stringify(route.NextHop)}; it must be an IP address`);
    const destination = requirePrefix(route.DestinationPrefix, `${at}.DestinationPrefix`, code);
    if (typeof nextHop !== typeof destination.address)
      throw invalid(code, `${at} leads to ${formatPrefix(destination)} by a next hop of another family`);
    const record: RouteRecord = {
      destination,
      nextHop: isUnspecified(nextHop) ? undefined : nextHop,
      metric: route.Metric,
    };
    records.push(Object.freeze(record));
  }
  return Object.freeze(records);
}

/** Checks one block of a subnet. @throws HcnError HCN_E_INVALID_IP_SUBNET. */
export function readIpSubnetRecord(
  context: ServiceContext,
  block: IpSubnet,
  subnet: Prefix,
  where: string,
): IpSubnetRecord {
  const code = "HCN_E_INVALID_IP_SUBNET";
  const prefix = requirePrefix(block.IpAddressPrefix, `${where}.IpAddressPrefix`, code);
  if (!prefixCovers(subnet, prefix))
    throw invalid(code, `${where} ${formatPrefix(prefix)} is not part of the subnet ${formatPrefix(subnet)}`);
  return Object.freeze({
    id: context.chooseId(block.ID),
    name: block.Name ?? "",
    prefix,
    flags: block.Flags ?? 0,
  });
}

function readIpSubnets(
  context: ServiceContext,
  subnet: Subnet,
  prefix: Prefix,
  blockFlags: number,
): readonly IpSubnetRecord[] {
  const blocks = subnet.IpSubnets ?? [];
  // One block that covers the subnet is made when none is given (hcn.md §2.5).
  if (blocks.length === 0) {
    return Object.freeze([Object.freeze({ id: context.prng.guid(), name: "", prefix, flags: blockFlags })]);
  }
  return Object.freeze(
    blocks.map((block, index) => readIpSubnetRecord(context, block, prefix, `IpSubnets[${index}]`)),
  );
}

/** Azure's nodes with two families have the gateway fe80::1234:5678:9abc, which is in no subnet (cni.md §5.4, row 140). */
function checkGateway(gateway: Ip, prefix: Prefix, where: string, code: HcnErrorCode): void {
  const isOnLink =
    prefixContains(prefix, gateway) || (familyOf(prefix.address) === 6 && isLinkLocal(gateway));
  if (isOnLink && !isMulticastIp(gateway)) return;
  throw invalid(
    code,
    WORDS.gatewayOutsideSubnet({ where, gateway: formatIp(gateway), prefix: formatPrefix(prefix) }),
  );
}

/** Checks one subnet of a network; `blockFlags` are those of the block that the service makes. */
export function readSubnetRecord(
  context: ServiceContext,
  subnet: Subnet,
  where: string,
  code: HcnErrorCode,
  blockFlags = 0,
): SubnetRecord {
  const prefix = requirePrefix(subnet.IpAddressPrefix, `${where}.IpAddressPrefix`, code);
  const routes = readRouteRecords(subnet.Routes ?? [], `${where}.Routes`, code);
  const gateway = routes.find((route) => route.destination.length === 0)?.nextHop;
  if (gateway !== undefined) checkGateway(gateway, prefix, where, code);
  const policies = (subnet.Policies ?? []).map((policy, index) =>
    parseSubnetPolicy(policy, `${where}.Policies[${index}]`),
  );
  return Object.freeze({
    id: context.chooseId(subnet.ID),
    name: subnet.Name ?? "",
    prefix,
    routes,
    gateway,
    policies: Object.freeze(policies),
    ipSubnets: readIpSubnets(context, subnet, prefix, blockFlags),
    flags: subnet.Flags ?? 0,
  });
}

function startsBefore(a: Prefix, b: Prefix): number {
  if (prefixFamily(a) !== prefixFamily(b)) return prefixFamily(a) - prefixFamily(b);
  return a.address === b.address ? a.length - b.length : a.address < b.address ? -1 : 1;
}

interface WithPrefix {
  readonly prefix: Prefix;
}

/** In their order of addresses, what shares some stands beside each other. */
function shareAddresses(entries: readonly WithPrefix[]): boolean {
  const sorted = entries.map(({ prefix }) => prefix).toSorted(startsBefore);
  return sorted.some((prefix, index) => {
    const before = sorted[index - 1];
    return before !== undefined && prefixesOverlap(before, prefix);
  });
}

/** Those that no other one holds, in their order of addresses. */
export function outermost<T extends WithPrefix>(entries: readonly T[]): readonly T[] {
  const kept: T[] = [];
  for (const entry of entries.toSorted((a, b) => startsBefore(a.prefix, b.prefix))) {
    const last = kept.at(-1);
    if (last === undefined || !prefixesOverlap(last.prefix, entry.prefix)) kept.push(entry);
  }
  return kept;
}

interface SharedAddresses<T extends WithPrefix> {
  readonly entry: T;
  readonly index: number;
  /** The first of those before it that has some of its addresses. */
  readonly other: T;
}

/** The first that shares addresses with one before it. A request of 10 MB names 200 000: nothing here looks at each pair. */
export function findSharedAddresses<T extends WithPrefix>(
  entries: readonly T[],
): SharedAddresses<T> | undefined {
  if (!shareAddresses(entries)) return undefined;
  // All before `good` do not, with `bad` one does.
  let [good, bad] = [0, entries.length];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (shareAddresses(entries.slice(0, middle))) bad = middle;
    else good = middle;
  }
  const entry = defined(entries[bad - 1], "the entry that shares addresses");
  const other = defined(
    entries.find((earlier) => prefixesOverlap(earlier.prefix, entry.prefix)),
    "the entry before it",
  );
  return { entry, index: bad - 1, other };
}

/** @throws HcnError when two subnets share addresses. */
export function checkDisjoint(subnets: readonly SubnetRecord[], code: HcnErrorCode): void {
  const found = findSharedAddresses(subnets);
  if (found === undefined) return;
  const [first, second] = [found.other, found.entry].map(({ prefix }) => formatPrefix(prefix));
  throw invalid(code, `The subnets ${first} and ${second} overlap`);
}

/** Checks the ranges of a MAC pool; undefined when the request has none. */
export function readMacRanges(network: HostComputeNetwork): readonly MacRange[] | undefined {
  const ranges = network.MacPool?.Ranges ?? [];
  if (ranges.length === 0) return undefined;
  return Object.freeze(
    ranges.map((range, index) => {
      const first = parseMac(range.StartMacAddress ?? "");
      const last = parseMac(range.EndMacAddress ?? "");
      if (first === undefined || last === undefined || first > last || isGroupMac(first)) {
        throw invalid("HCN_E_INVALID_NETWORK", WORDS.macPoolRangeInvalid({ index }));
      }
      return Object.freeze({ first, last });
    }),
  );
}

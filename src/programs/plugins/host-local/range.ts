/** Ranges of addresses and sets of them (cni.md §4.1). */
import { LIMITS } from "#core/base/limits.ts";
import {
  type InterfaceAddress,
  type Ip,
  addToIp,
  bitsOf,
  familyOf,
  formatIp,
  lastIp,
  maskIp,
  prefixContains,
} from "#core/net/ip.ts";

/** A range as it is written; everything but the subnet may be left out. */
export interface RangeSpecification {
  /** Host bits kept: they are an error of their own. */
  readonly subnet: InterfaceAddress | undefined;
  readonly start: Ip | undefined;
  readonly end: Ip | undefined;
  readonly gateway: Ip | undefined;
}

/** A checked range: addresses from `start` to `end`, both included, of `subnet`. */
export interface AddressRange {
  readonly subnet: InterfaceAddress;
  readonly start: Ip;
  readonly end: Ip;
  /** Never handed out. It may lie outside the subnet. */
  readonly gateway: Ip;
}

/** Ranges that together serve one address; not empty, all of one family. */
export type RangeSet = readonly [AddressRange, ...AddressRange[]];

/** A range or set that cannot be used. */
export class AddressRangeError extends Error {
  override readonly name = "AddressRangeError";
}

function formatSubnet(subnet: InterfaceAddress): string {
  return `${formatIp(subnet.ip)}/${subnet.length}`;
}

/** Two addresses of different families are in no order. */
function isBelow(a: Ip, b: Ip): boolean {
  return typeof a === typeof b && a < b;
}

/** True when the range may hand out `ip`, the gateway included. */
export function rangeContains(range: AddressRange, ip: Ip): boolean {
  return subnetContains(range.subnet, ip) && !isBelow(ip, range.start) && !isBelow(range.end, ip);
}

function subnetContains(subnet: InterfaceAddress, ip: Ip): boolean {
  return prefixContains({ address: subnet.ip, length: subnet.length }, ip);
}

function defaultEnd(subnet: InterfaceAddress): Ip {
  const last = lastIp({ address: subnet.ip, length: subnet.length });
  // IPv4 leaves the broadcast address out, IPv6 has none.
  return familyOf(last) === 4 ? (addToIp(last, -1) ?? last) : last;
}

/** Checks one range and fills in what was left out. @throws AddressRangeError */
export function checkRange(range: RangeSpecification): AddressRange {
  const { subnet } = range;
  if (subnet === undefined) throw new AddressRangeError("IP <nil> not v4 nor v6");
  if (subnet.length > bitsOf(familyOf(subnet.ip)) - 2) {
    throw new AddressRangeError(`Network ${formatSubnet(subnet)} too small to allocate from`);
  }
  const network = maskIp(subnet.ip, subnet.length);
  if (network !== subnet.ip) {
    throw new AddressRangeError(
      `Network has host bits set. For a subnet mask of length ${subnet.length} the network address is ${formatIp(network)}`,
    );
  }
  const first = addToIp(network, 1) ?? network;
  const { start = first, end = defaultEnd(subnet), gateway = first } = range;
  const isStartInside = subnetContains(subnet, start) && !isBelow(range.end ?? start, start);
  if (!isStartInside) {
    throw new AddressRangeError(`RangeStart ${formatIp(start)} not in network ${formatSubnet(subnet)}`);
  }
  if (!subnetContains(subnet, end) || isBelow(end, start)) {
    throw new AddressRangeError(`RangeEnd ${formatIp(end)} not in network ${formatSubnet(subnet)}`);
  }
  return Object.freeze({ subnet, start, end, gateway });
}

/** `first-last`, as the messages name a range. */
export function formatRange(range: AddressRange): string {
  return `${formatIp(range.start)}-${formatIp(range.end)}`;
}

export function formatRangeSet(set: RangeSet): string {
  return set.map(formatRange).join(",");
}

function rangesOverlap(a: AddressRange, b: AddressRange): boolean {
  return (
    rangeContains(a, b.start) ||
    rangeContains(a, b.end) ||
    rangeContains(b, a.start) ||
    rangeContains(b, a.end)
  );
}

export function rangeSetsOverlap(a: RangeSet, b: RangeSet): boolean {
  return a.some((left) => b.some((right) => rangesOverlap(left, right)));
}

/** Checks a set and its ranges. @throws AddressRangeError */
export function checkRangeSet(ranges: readonly RangeSpecification[]): RangeSet {
  const [first, ...others] = ranges;
  if (first === undefined) throw new AddressRangeError("empty range set");
  const set: [AddressRange, ...AddressRange[]] = [checkRange(first)];
  for (const range of others) {
    const checked = checkRange(range);
    if (familyOf(checked.start) !== familyOf(set[0].start))
      throw new AddressRangeError("mixed address families");
    set.push(checked);
  }
  for (const [index, range] of set.entries()) {
    const other = set.slice(index + 1).find((candidate) => rangesOverlap(range, candidate));
    if (other !== undefined) {
      throw new AddressRangeError(`subnets ${formatRange(range)} and ${formatRange(other)} overlap`);
    }
  }
  return Object.freeze(set);
}

/** The range of the set that holds `ip`. */
export function findRange(set: RangeSet, ip: Ip): AddressRange | undefined {
  return set.find((range) => rangeContains(range, ip));
}

/** Addresses that the set can hand out, the gateways left out. */
export function countAddresses(set: RangeSet): bigint {
  let count = 0n;
  for (const range of set) {
    count += BigInt(range.end) - BigInt(range.start) + 1n;
    if (rangeContains(range, range.gateway)) count -= 1n;
  }
  return count;
}

/** A candidate for allocation. */
export interface Candidate {
  readonly ip: Ip;
  readonly range: AddressRange;
}

/**
 * The addresses of a set in the order in which they are tried: from the one after `last` (when the set holds
 * it, else from the first) through all ranges and round to where it began, gateways left out. Ends after
 * `LIMITS.addressesPerRangeMax` addresses.
 */
export function* listCandidates(set: RangeSet, last: Ip | undefined): Generator<Candidate, void, undefined> {
  const holder = last === undefined ? undefined : findRange(set, last);
  let index = holder === undefined ? 0 : set.indexOf(holder);
  let ip = holder === undefined || last === undefined ? set[0].start : last;
  let start = holder === undefined ? ip : undefined;
  let isFirst = holder === undefined;
  for (let count = 0; count < LIMITS.addressesPerRangeMax; count++) {
    if (!isFirst) {
      const range = set[index] ?? set[0];
      if (ip === range.end) {
        index = (index + 1) % set.length;
        ip = (set[index] ?? set[0]).start;
      } else {
        ip = addToIp(ip, 1) ?? range.start;
      }
      if (ip === start) return;
      start ??= ip;
    }
    isFirst = false;
    const range = set[index] ?? set[0];
    if (ip !== range.gateway) yield { ip, range };
  }
}

/** A condition, compiled once into words that compare with a flow key's words. */
import { wordAt } from "#core/base/bytes.ts";
import type { Mac } from "#core/net/mac.ts";
import type { PortRange } from "#core/net/port-range.ts";
import type { Prefix } from "#core/net/ip.ts";
import { AddressSet, type Condition } from "./condition.ts";
import type { FlowKey } from "../flow-key.ts";

/** The part of a condition that a packet failed. */
export type MissReason = "protocols" | "destinationExcept" | "other";

/** More prefixes than this are a set, which is searched; fewer are compared one by one. */
const COMPARED_MAX = 16;

/** Makes sets of long lists of prefixes, or knows them already. */
export interface SetSource {
  setOf(prefixes: readonly Prefix[]): AddressSet;
}

/**
 * Long lists of prefixes as sets, the latest for each list: rules of many ports that name one address set share its list, and
 * the switch that the ports are on owns the sets.
 */
export class PrefixSets {
  private readonly known: WeakMap<readonly Prefix[], AddressSet> = new WeakMap();

  constructor() {
    // What is frozen is shared by forks.
    Object.freeze(this);
  }

  get(prefixes: readonly Prefix[]): AddressSet {
    const known = this.known.get(prefixes);
    if (known !== undefined) return known;
    const set = new AddressSet("", prefixes);
    // What is frozen stays what it is.
    if (Object.isFrozen(prefixes)) this.known.set(prefixes, set);
    return set;
  }
}

/**
 * Prefixes as they are compared with a key: IPv4 ones as they stand, which costs no memory; of IPv6 pairs of (mask, value), four
 * each per prefix; long lists as a set.
 */
type Compiled = readonly Prefix[] | Int32Array | AddressSet;

function compilePrefixes(
  prefixes: readonly Prefix[] | undefined,
  family: 4 | 6,
  source: SetSource | undefined,
): Compiled | undefined {
  if (prefixes === undefined) return undefined;
  if (prefixes.length > COMPARED_MAX) return source?.setOf(prefixes) ?? new AddressSet("", prefixes);
  if (family === 4) return prefixes;
  const words: number[] = [];
  for (const { address, length } of prefixes) {
    if (typeof address === "number") continue;
    const mask = length === 0 ? 0n : ((1n << BigInt(length)) - 1n) << BigInt(128 - length);
    for (let shift = 96n; shift >= 0n; shift -= 32n) {
      words.push(Number((mask >> shift) & 0xffff_ffffn) | 0, Number((address >> shift) & 0xffff_ffffn) | 0);
    }
  }
  return Int32Array.from(words);
}

function isInIpv4Prefixes(prefixes: readonly Prefix[], word: number): boolean {
  for (const { address, length } of prefixes) {
    if (typeof address !== "number") continue;
    const mask = length === 0 ? 0 : -1 << (32 - length);
    if ((word & mask) === (address | 0)) return true;
  }
  return false;
}

function isInPrefixes(compiled: Compiled, key: FlowKey, at: number): boolean {
  if (compiled instanceof AddressSet) return compiled.hasWords(key.words, at, key.family);
  if (!(compiled instanceof Int32Array)) return isInIpv4Prefixes(compiled, wordAt(key.words, at));
  for (let i = 0; i < compiled.length; i += 8) {
    let isInside = true;
    for (let word = 0; word < 4 && isInside; word++) {
      const mask = wordAt(compiled, i + word * 2);
      isInside = (wordAt(key.words, at + word) & mask) === wordAt(compiled, i + word * 2 + 1);
    }
    if (isInside) return true;
  }
  return false;
}

/** True when the address at `at` is in a prefix or a set; without either, always. */
function isAmong(
  prefixes: Compiled | undefined,
  sets: readonly AddressSet[] | undefined,
  key: FlowKey,
  at: number,
): boolean {
  if (prefixes !== undefined && isInPrefixes(prefixes, key, at)) return true;
  if (sets === undefined) return prefixes === undefined;
  for (const set of sets) if (set.hasWords(key.words, at, key.family)) return true;
  return false;
}

function isInRanges(ranges: readonly PortRange[], port: number): boolean {
  return ranges.some((range) => port >= range.first && port <= range.last);
}

/** Upper 16 and lower 32 bits of a MAC, as signed words. */
function macWords(mac: Mac): readonly [number, number] {
  return [Math.floor(mac / 0x1_0000_0000), (mac % 0x1_0000_0000) | 0];
}

export class ConditionMatcher {
  private readonly condition: Condition;
  private readonly source: Compiled | undefined;
  private readonly destination: Compiled | undefined;
  private readonly destinationExcept: Compiled | undefined;

  /** `sets`: where those of long lists come from; without, it makes its own. */
  constructor(condition: Condition, family: 4 | 6, sets?: SetSource) {
    this.condition = condition;
    this.source = compilePrefixes(condition.source, family, sets);
    this.destination = compilePrefixes(condition.destination, family, sets);
    this.destinationExcept = compilePrefixes(condition.destinationExcept, family, sets);
  }

  matches(key: FlowKey): boolean {
    return this.isProtocol(key) && !this.isExcepted(key) && this.matchesRest(key);
  }

  /** Why `key` does not match, when exactly one of the two explainable parts fails; "other" otherwise. */
  missReason(key: FlowKey): MissReason {
    const failsProtocol = !this.isProtocol(key);
    // A protocol without ports fails by its protocol, not by its ports.
    if (!this.matchesHeaders(key) || (!this.matchesPorts(key) && (key.hasPorts || !failsProtocol)))
      return "other";
    const isExcepted = this.isExcepted(key);
    if (failsProtocol && !isExcepted) return "protocols";
    return isExcepted && !failsProtocol ? "destinationExcept" : "other";
  }

  private isProtocol(key: FlowKey): boolean {
    return this.condition.protocols === undefined || this.condition.protocols.includes(key.protocol);
  }

  private isExcepted(key: FlowKey): boolean {
    const at = destinationWord(key);
    return this.destinationExcept !== undefined && isInPrefixes(this.destinationExcept, key, at);
  }

  private matchesRest(key: FlowKey): boolean {
    return this.matchesHeaders(key) && this.matchesPorts(key);
  }

  private matchesHeaders(key: FlowKey): boolean {
    const { isSourceTranslated, tcpSyn } = this.condition;
    if (isSourceTranslated === true && !key.isSourceTranslated) return false;
    if (tcpSyn !== undefined && (tcpSyn === "only") !== key.isSyn) return false;
    const { sourceSets, destinationSets } = this.condition;
    if (!isAmong(this.source, sourceSets, key, 2)) return false;
    if (!isAmong(this.destination, destinationSets, key, destinationWord(key))) return false;
    return this.matchesTunnel(key) && this.matchesLink(key);
  }

  private matchesTunnel(key: FlowKey): boolean {
    const { tni, tunnelId } = this.condition;
    if (tni !== undefined && key.tni !== tni) return false;
    return tunnelId === undefined || key.tunnelId === tunnelId;
  }

  private matchesPorts(key: FlowKey): boolean {
    const { sourcePorts, destinationPorts } = this.condition;
    if (sourcePorts === undefined && destinationPorts === undefined) return true;
    if (!key.hasPorts) return false;
    if (sourcePorts !== undefined && !isInRanges(sourcePorts, key.sourcePort)) return false;
    return destinationPorts === undefined || isInRanges(destinationPorts, key.destinationPort);
  }

  private matchesLink(key: FlowKey): boolean {
    const { destinationMac, sourceMac, vlan } = this.condition;
    const at = key.tupleLength;
    if (vlan !== undefined && (wordAt(key.words, at) & 0x0fff) !== vlan) return false;
    if (destinationMac !== undefined) {
      const [high, low] = macWords(destinationMac);
      const first = wordAt(key.words, at + 1);
      const second = wordAt(key.words, at + 2);
      if (first >>> 16 !== high || ((first << 16) | (second >>> 16)) !== low) return false;
    }
    if (sourceMac !== undefined) {
      const [high, low] = macWords(sourceMac);
      if ((wordAt(key.words, at + 2) & 0xffff) !== high || wordAt(key.words, at + 3) !== low) return false;
    }
    return true;
  }
}

function destinationWord(key: FlowKey): number {
  return key.family === 4 ? 3 : 6;
}

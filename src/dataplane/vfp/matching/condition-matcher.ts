/** A condition, compiled once into words that compare with a flow key's words. */
import { wordAt } from "#core/base/bytes.ts";
import type { Mac } from "#core/net/mac.ts";
import type { PortRange } from "#core/net/port-range.ts";
import { type Prefix, prefixFamily } from "#core/net/ip.ts";
import { AddressSet } from "./address-set.ts";
import type { Condition } from "./condition.ts";
import type { FlowKey } from "../flow-key.ts";
import { type Place, placesOf } from "./tuple-space.ts";

/** The part of a condition that a packet failed. */
export type MissReason = "protocols" | "destinationExcept" | "other";

/** More prefixes than this are a set, which is searched; fewer are compared one by one. */
const COMPARED_MAX = 16;

/** The latest set for each list of prefixes: rules that name one address set share its list. */
const KNOWN_SETS = new WeakMap<readonly Prefix[], AddressSet>();

function setOf(prefixes: readonly Prefix[]): AddressSet {
  const known = KNOWN_SETS.get(prefixes);
  if (known !== undefined) return known;
  const set = new AddressSet("", prefixes);
  // What is frozen stays what it is.
  if (Object.isFrozen(prefixes)) KNOWN_SETS.set(prefixes, set);
  return set;
}

/** Pairs of (mask, value) per prefix, each as many words as the family's address has. */
function compilePrefixes(
  prefixes: readonly Prefix[] | undefined,
  family: 4 | 6,
): Int32Array | AddressSet | undefined {
  if (prefixes === undefined) return undefined;
  if (prefixes.length > COMPARED_MAX) return setOf(prefixes);
  const words: number[] = [];
  for (const prefix of prefixes) {
    if (prefixFamily(prefix) !== family) continue;
    const { address, length } = prefix;
    if (typeof address === "number") {
      words.push(length === 0 ? 0 : -1 << (32 - length), address | 0);
      continue;
    }
    const mask = length === 0 ? 0n : ((1n << BigInt(length)) - 1n) << BigInt(128 - length);
    for (let shift = 96n; shift >= 0n; shift -= 32n) {
      words.push(Number((mask >> shift) & 0xffff_ffffn) | 0, Number((address >> shift) & 0xffff_ffffn) | 0);
    }
  }
  return Int32Array.from(words);
}

function isInPrefixes(compiled: Int32Array | AddressSet, key: FlowKey, at: number): boolean {
  if (compiled instanceof AddressSet) return compiled.hasWords(key.words, at, key.family);
  const addressWords = key.family === 4 ? 1 : 4;
  for (let i = 0; i < compiled.length; i += addressWords * 2) {
    let isInside = true;
    for (let word = 0; word < addressWords && isInside; word++) {
      const mask = wordAt(compiled, i + word * 2);
      isInside = (wordAt(key.words, at + word) & mask) === wordAt(compiled, i + word * 2 + 1);
    }
    if (isInside) return true;
  }
  return false;
}

/** True when the address at `at` is in a prefix or a set; without either, always. */
function isAmong(
  prefixes: Int32Array | AddressSet | undefined,
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
  readonly family: 4 | 6;
  private readonly condition: Condition;
  private readonly source: Int32Array | AddressSet | undefined;
  private readonly destination: Int32Array | AddressSet | undefined;
  private readonly destinationExcept: Int32Array | AddressSet | undefined;
  private knownPlaces: readonly Place[] | undefined;

  constructor(condition: Condition, family: 4 | 6) {
    this.condition = condition;
    this.family = family;
    this.source = compilePrefixes(condition.source, family);
    this.destination = compilePrefixes(condition.destination, family);
    this.destinationExcept = compilePrefixes(condition.destinationExcept, family);
  }

  /** What rules with this condition lie under in an index. */
  get places(): readonly Place[] {
    return (this.knownPlaces ??= placesOf(this.condition, this.family));
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

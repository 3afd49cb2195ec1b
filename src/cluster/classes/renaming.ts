/** What two nodes call their own, one to one: texts and numbers of the one become those of the other, and the other way round. */
import {
  type Ip,
  type Prefix,
  addToIp,
  equalPrefixes,
  familyOf,
  formatIp,
  formatPrefix,
  parseInterfaceAddress,
  parseIp,
  parsePrefix,
  prefixContains,
  prefixCovers,
} from "#core/net/ip.ts";
import { type Mac, formatMac, parseMac } from "#core/net/mac.ts";

type Pairs<T> = readonly (readonly [one: T, other: T])[];

/** What is exchanged; all else stays as it is. */
export interface Exchanges {
  /** Names of nodes, pods and what is called after them. */
  readonly names: Pairs<string>;
  readonly addresses: Pairs<Ip>;
  /** Ranges of one length. Addresses in them that stand in no pair go to the same place in the other range. */
  readonly ranges: Pairs<Prefix>;
  readonly macs: Pairs<Mac>;
}

const MAC = String.raw`[\da-fA-F]{2}(?:[-:][\da-fA-F]{2}){5}`;
const IPV4 = String.raw`\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?`;
const IPV6 = String.raw`[\da-fA-F]{0,4}(?::[\da-fA-F]{0,4}){2,7}(?:/\d{1,3})?`;
/** A configuration of IPAM: ends of a range are nobody's addresses. */
const RANGE_END = String.raw`range(?:Start|End)":"\d{1,3}(?:\.\d{1,3}){3}`;
/** An address as a number: from 1.0.0.0 on. */
const NUMBER = String.raw`\d{8,39}`;
const IPV4_DIGITS_MAX = 10;
/** In a MAC that is made of an address, two bytes stand above it. */
const ABOVE_ADDRESS = 0x1_0000_0000;

function distance(from: Ip, to: Ip): number {
  return typeof from === "bigint" ? Number(BigInt(to) - from) : Number(to) - from;
}

function swapped<T>(pairs: Pairs<T>): Map<T, T> {
  const map = new Map<T, T>();
  for (const [one, other] of pairs) map.set(one, other).set(other, one);
  return map;
}

/** Addresses of two ranges that are in a pair leave others in their places, which make room for each other. */
function fillRange(addresses: Map<Ip, Ip>, one: Prefix, other: Prefix): void {
  const placesIn = (range: Prefix): readonly number[] =>
    [...addresses.keys()]
      .filter((ip) => familyOf(ip) === familyOf(range.address) && prefixContains(range, ip))
      .map((ip) => distance(range.address, ip))
      .toSorted((a, b) => a - b);
  const [here, there] = [new Set(placesIn(one)), new Set(placesIn(other))];
  const freeHere = [...there].filter((place) => !here.has(place));
  const freeThere = [...here].filter((place) => !there.has(place));
  for (const [index, place] of freeHere.entries()) {
    const from = addToIp(one.address, place);
    const to = addToIp(other.address, freeThere[index] ?? place);
    if (from !== undefined && to !== undefined) addresses.set(from, to).set(to, from);
  }
}

function patternOf(names: Iterable<string>): RegExp {
  const words = [...names]
    .toSorted((a, b) => b.length - a.length || (a < b ? -1 : 1))
    .map((name) => name.replace(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`));
  const any = [RANGE_END, MAC, IPV4, IPV6, ...words, NUMBER].join("|");
  return new RegExp(`(?<![A-Za-z0-9])(?:${any})(?![A-Za-z0-9])`, "g");
}

export class Renaming {
  private readonly names: ReadonlyMap<string, string>;
  private readonly addresses: ReadonlyMap<Ip, Ip>;
  private readonly macs: ReadonlyMap<Mac, Mac>;
  private readonly ranges: Pairs<Prefix>;
  private readonly pattern: RegExp;
  private readonly known = new Map<string, string>();

  constructor({ names, addresses, ranges, macs }: Exchanges) {
    this.names = swapped(names);
    const pairs = swapped(addresses);
    for (const [one, other] of ranges) fillRange(pairs, one, other);
    this.addresses = pairs;
    this.macs = swapped(macs);
    this.ranges = ranges;
    this.pattern = patternOf(this.names.keys());
  }

  /** What the other node has in the place of a text. MACs come in small letters. */
  ofText(text: string): string {
    const known = this.known.get(text);
    if (known !== undefined) return known;
    const renamed = text.replace(this.pattern, (word) => this.ofWord(word));
    this.known.set(text, renamed);
    return renamed;
  }

  /** Of a number that is an address or a MAC; any other stays. */
  ofNumber<T extends number | bigint>(value: T): T {
    return (this.ofAddress(value as Ip) ?? this.ofMac(value) ?? value) as T;
  }

  /** A range of an own one, or an own one; what is larger stays. */
  ofPrefix(prefix: Prefix): Prefix {
    const { address, length } = prefix;
    for (const [one, other] of this.ranges) {
      if (equalPrefixes(one, prefix)) return other;
      if (equalPrefixes(other, prefix)) return one;
    }
    const isOwn = this.ranges.some((pair) => pair.some((range) => prefixCovers(range, prefix)));
    const isHost = length === (typeof address === "number" ? 32 : 128);
    return isOwn || isHost ? { address: this.ofAddress(address) ?? address, length } : prefix;
  }

  private ofWord(word: string): string {
    const name = this.names.get(word);
    if (name !== undefined) return name;
    const [key, end] = word.split('":"');
    if (key !== undefined && end !== undefined) {
      const ip = parseIp(end);
      return ip === undefined ? word : `${key}":"${formatIp(this.ofPlace(ip))}`;
    }
    const assigned = parseInterfaceAddress(word);
    if (assigned !== undefined) {
      const { ip, length } = assigned;
      const prefix = parsePrefix(word);
      return formatPrefix(
        prefix === undefined ? { address: this.ofAddress(ip) ?? ip, length } : this.ofPrefix(prefix),
      );
    }
    const ip = parseIp(word);
    if (ip !== undefined) {
      const other = this.ofAddress(ip);
      return other === undefined ? word : formatIp(other);
    }
    const mac = parseMac(word);
    if (mac !== undefined) return withMac(word, this.ofMac(mac) ?? mac);
    if (!/^\d+$/.test(word)) return word;
    return String(this.ofNumber(word.length > IPV4_DIGITS_MAX ? BigInt(word) : Number(word)));
  }

  /** Of an end of a range, which is nobody's address: the same place in the other range. */
  ofPlace<T extends number | bigint>(value: T): T {
    return (this.placeOf(value as Ip) ?? value) as T;
  }

  private ofAddress(ip: Ip): Ip | undefined {
    return this.addresses.get(ip) ?? this.placeOf(ip);
  }

  private placeOf(ip: Ip): Ip | undefined {
    for (const [one, other] of this.ranges) {
      if (prefixContains(one, ip)) return addToIp(other.address, distance(one.address, ip));
      if (prefixContains(other, ip)) return addToIp(one.address, distance(other.address, ip));
    }
    return undefined;
  }

  /** Also of a MAC that is made of an address, as kube-proxy and HNS make them: two bytes, and those of the address. */
  private ofMac(value: number | bigint): Mac | undefined {
    if (typeof value !== "number" || value < ABOVE_ADDRESS) return undefined;
    const known = this.macs.get(value as Mac);
    if (known !== undefined) return known;
    const address = value % ABOVE_ADDRESS;
    const other = this.ofAddress(address as Ip);
    return typeof other === "number" ? ((value - address + other) as Mac) : undefined;
  }
}

/** MACs are written with `-` or `:`. */
function withMac(word: string, mac: number): string {
  const written = formatMac(mac as Mac).toLowerCase();
  return word.includes(":") ? written.replaceAll("-", ":") : written;
}

/** Two nodes that exchange nothing: what says the same in other letters becomes the same. */
export const NOTHING_EXCHANGED: Renaming = new Renaming({ names: [], addresses: [], ranges: [], macs: [] });

/** What a rule asks of a packet, and the sets of addresses that it names. */
import type { Mac } from "#core/net/mac.ts";
import type { PortRange } from "#core/net/port-range.ts";
import { type Prefix, lastIp } from "#core/net/ip.ts";
import { wordAt } from "#core/base/bytes.ts";
import { ipWords } from "../actions/transposition.ts";

// Named sets of addresses, which VFP calls tags (dataplane.md §1.1): immutable values that rules of many ports share.
// A set is sorted ranges that do not touch, so asking costs a binary search however many addresses it has.

/** Turned, unsigned 32-bit words compare as signed ones. */
const SIGN = 0x8000_0000 | 0;

/** Compares `length` unsigned words. */
function compareWords(a: Int32Array, aAt: number, b: Int32Array, bAt: number, length: number): number {
  for (let i = 0; i < length; i++) {
    const left = wordAt(a, aAt + i) ^ SIGN;
    const right = wordAt(b, bAt + i) ^ SIGN;
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

/** First and last addresses of one family, `words` each, in ascending order. */
class AddressRanges {
  readonly words: 1 | 4;
  private readonly bounds: Int32Array;

  constructor(prefixes: readonly Prefix[], words: 1 | 4) {
    this.words = words;
    const ranges = prefixes
      .map((prefix): [bigint, bigint] => [BigInt(prefix.address), BigInt(lastIp(prefix))])
      .toSorted((a, b) => (a[0] < b[0] ? -1 : Number(a[0] > b[0])));
    const merged: [bigint, bigint][] = [];
    for (const [first, last] of ranges) {
      const open = merged.at(-1);
      if (open === undefined || first > open[1] + 1n) merged.push([first, last]);
      else if (last > open[1]) open[1] = last;
    }
    const flat = merged.flat().flatMap((value) => {
      if (words === 1) return [Number(value) | 0];
      return [96n, 64n, 32n, 0n].map((shift) => Number((value >> shift) & 0xffff_ffffn) | 0);
    });
    this.bounds = Int32Array.from(flat);
    Object.freeze(this);
  }

  get count(): number {
    return this.bounds.length / (2 * this.words);
  }

  /** True when the address in `words` from `at` on lies in a range. */
  has(words: Int32Array, at: number): boolean {
    const { bounds, words: length } = this;
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareWords(bounds, middle * 2 * length, words, at, length) <= 0) low = middle + 1;
      else high = middle;
    }
    return low > 0 && compareWords(words, at, bounds, (low * 2 - 1) * length, length) <= 0;
  }
}

/** A named set of prefixes of both families. */
export class AddressSet {
  readonly name: string;
  private readonly ipv4: AddressRanges;
  private readonly ipv6: AddressRanges;

  constructor(name: string, prefixes: readonly Prefix[]) {
    this.name = name;
    this.ipv4 = new AddressRanges(
      prefixes.filter(({ address }) => typeof address === "number"),
      1,
    );
    this.ipv6 = new AddressRanges(
      prefixes.filter(({ address }) => typeof address === "bigint"),
      4,
    );
    Object.freeze(this);
  }

  /** Ranges of both families, after neighbours were joined. */
  get rangeCount(): number {
    return this.ipv4.count + this.ipv6.count;
  }

  /** True when the address that stands in `words` from `at` on is in the set. */
  hasWords(words: Int32Array, at: number, family: 4 | 6): boolean {
    return (family === 4 ? this.ipv4 : this.ipv6).has(words, at);
  }

  /** True when the prefix's first address is in the set. */
  hasAddress(address: Prefix["address"]): boolean {
    return this.hasWords(Int32Array.from(ipWords(address)), 0, typeof address === "number" ? 4 : 6);
  }
}

/** Every part that is present must hold; an absent part holds for all. */
export interface Condition {
  /** IP protocol numbers. */
  readonly protocols?: readonly number[];
  /** The source address lies in one of these. */
  readonly source?: readonly Prefix[];
  /** The destination address lies in one of these. */
  readonly destination?: readonly Prefix[];
  /** The destination address lies in none of these: the exceptions of a source NAT. */
  readonly destinationExcept?: readonly Prefix[];
  /** The source address is in one of these sets. Beside `source`, one of both must hold it. */
  readonly sourceSets?: readonly AddressSet[];
  /** The destination address is in one of these sets. Beside `destination`, one of both must hold it. */
  readonly destinationSets?: readonly AddressSet[];
  /** Holds only for TCP and UDP packets whose first fragment this is. */
  readonly sourcePorts?: readonly PortRange[];
  /** Holds only for TCP and UDP packets whose first fragment this is. */
  readonly destinationPorts?: readonly PortRange[];
  readonly sourceMac?: Mac;
  readonly destinationMac?: Mac;
  readonly vlan?: number;
  /** The packet's virtual subnet: what a `decap` rule pushed. 0 asks for none. */
  readonly tni?: number;
  /** The number of the tunnel that the packet comes in: a VNI or virtual subnet id. */
  readonly tunnelId?: number;
  /**
   * The source address was rewritten on this packet's way through the port: such a packet may need another next hop.
   * Only for terminating rules that keep no flows, since it is no part of a flow's key.
   */
  readonly isSourceTranslated?: true;
  /**
   * `only`: TCP segments that ask for a connection, with SYN and without ACK (rule flag 16). `never`: everything else
   * (rule flag 4). A segment with a flow is the flow's business, so the first packet alone meets the rule.
   */
  readonly tcpSyn?: "only" | "never";
}

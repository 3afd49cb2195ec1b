/** What a source of names says about one question, before it becomes a message. */
import { type DnsQuestion, DnsRcode, type DnsRecord } from "#core/wire/dns/dns.ts";
import type { Prng } from "#core/base/prng.ts";

/** The answer to one question. */
export interface NameAnswer {
  /** One of `DnsRcode`. With `noError` and no answers the name exists and has no record of that type. */
  readonly rcode: number;
  /** The server speaks for the zone. */
  readonly isAuthoritative: boolean;
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
  /** Where a CNAME leads to a name of somebody else: that one is to be resolved, and its records added. */
  readonly continuesAt: string | undefined;
}

/** Something that knows names. */
export interface NameSource {
  /** The answer; undefined when the name belongs to somebody else. */
  answer(question: DnsQuestion): NameAnswer | undefined;
}

const NOTHING: NameAnswer = Object.freeze({
  rcode: DnsRcode.noError,
  isAuthoritative: true,
  answers: Object.freeze([]),
  authorities: Object.freeze([]),
  additionals: Object.freeze([]),
  continuesAt: undefined,
});

/** An authoritative answer with these parts; the others are empty. */
export function makeAnswer(parts: Partial<NameAnswer>): NameAnswer {
  return { ...NOTHING, ...parts };
}

/** A name as it is compared: lower case, without the final dot (RFC 4343). */
export function comparableName(name: string): string {
  const text = name.endsWith(".") && name !== "." ? name.slice(0, -1) : name;
  return text.toLowerCase();
}

/** True when `name` is `zone` or lies below it; both comparable. */
export function isInZone(name: string, zone: string): boolean {
  return zone === "." || name === zone || name.endsWith(`.${zone}`);
}

// CoreDNS' plugin `loadbalance`, which kubeadm's Corefile names: addresses come in a new order each time.

function isAddress(record: DnsRecord): boolean {
  return record.type === "A" || record.type === "AAAA";
}

/** The records in their order, save addresses, which change places among themselves. */
export function shuffleAddresses(records: readonly DnsRecord[], prng: Prng): readonly DnsRecord[] {
  const addresses = records.filter(isAddress);
  if (addresses.length < 2) return records;
  for (let last = addresses.length - 1; last > 0; last--) {
    const other = prng.below(last + 1);
    const [a, b] = [addresses[last], addresses[other]];
    if (a === undefined || b === undefined) continue;
    addresses[last] = b;
    addresses[other] = a;
  }
  const rest = addresses.values();
  return records.map((record) => (isAddress(record) ? (rest.next().value ?? record) : record));
}

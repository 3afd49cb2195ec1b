/** What a source of names says about one question, before it becomes a message. */
import { DnsRcode, type DnsQuestion, type DnsRecord } from "#core/wire/dns/dns.ts";

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

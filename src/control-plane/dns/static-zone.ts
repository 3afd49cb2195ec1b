/** Names that somebody wrote down: what a resolver outside the cluster answers from. */
import type { Ip } from "#core/net/ip.ts";
import { type DnsQuestion, DnsRcode, type DnsRecord } from "#core/wire/dns/dns.ts";
import { type NameAnswer, type NameSource, comparableName, makeAnswer } from "./answer.ts";

/** A record that has an owner: all but EDNS. */
type OwnedRecord = Exclude<DnsRecord, { readonly type: "OPT" }>;

const TTL_SECONDS = 300;
const CNAMES_MAX = 8;

/**
 * The root's own SOA, which a resolver quotes when a top-level name does not exist. Its minimum is a day; resolvers
 * remember less.
 */
const ROOT_SOA: DnsRecord = Object.freeze({
  name: ".",
  ttlSeconds: 86_400,
  type: "SOA",
  server: "a.root-servers.net",
  mailbox: "nstld.verisign-grs.com",
  serial: 1,
  refreshSeconds: 1_800,
  retrySeconds: 900,
  expireSeconds: 604_800,
  minimumSeconds: 86_400,
});

function aliasAmong(
  records: readonly OwnedRecord[],
): (OwnedRecord & { readonly target: string }) | undefined {
  for (const record of records) if (record.type === "CNAME") return record;
  return undefined;
}

/** Answers as a recursive resolver does: for every name, and not as its authority. */
export class StaticZone implements NameSource {
  private readonly records = new Map<string, OwnedRecord[]>();

  /** Adds a record to those of its name. */
  add(record: OwnedRecord): void {
    const key = comparableName(record.name);
    const known = this.records.get(key);
    if (known === undefined) this.records.set(key, [Object.freeze(record)]);
    else known.push(Object.freeze(record));
  }

  /** Adds an A or AAAA record of five minutes. */
  addAddress(name: string, ip: Ip): void {
    const base = { name, ttlSeconds: TTL_SECONDS };
    this.add(typeof ip === "number" ? { ...base, type: "A", ip } : { ...base, type: "AAAA", ip });
  }

  answer({ name, type }: DnsQuestion): NameAnswer {
    const answers: DnsRecord[] = [];
    let key = comparableName(name);
    for (let hops = 0; hops <= CNAMES_MAX; hops++) {
      const records = this.records.get(key);
      if (records === undefined) {
        const rcode = this.hasNamesBelow(key) ? DnsRcode.noError : DnsRcode.nameError;
        return makeAnswer({ rcode, isAuthoritative: false, answers, authorities: [ROOT_SOA] });
      }
      const alias = type === "CNAME" ? undefined : aliasAmong(records);
      if (alias === undefined) {
        answers.push(...records.filter((record) => record.type === type));
        const authorities = answers.length === 0 ? [ROOT_SOA] : [];
        return makeAnswer({ isAuthoritative: false, answers, authorities });
      }
      answers.push(alias);
      key = comparableName(alias.target);
    }
    return makeAnswer({ rcode: DnsRcode.serverFailure, isAuthoritative: false });
  }

  /** A name without records exists when others lie below it (RFC 8020). */
  private hasNamesBelow(key: string): boolean {
    const suffix = key === "." ? "" : `.${key}`;
    return [...this.records.keys()].some((name) => name.endsWith(suffix));
  }
}

/** The addresses in a DNS answer. */
import type { Ip } from "#core/net/ip.ts";
import type { DnsMessage } from "#core/wire/dns/dns.ts";
import type { AddressType } from "./name-result.ts";

export interface AnswerAddresses {
  /** In the order of the message, each once. */
  readonly addresses: readonly Ip[];
  /** The last name of the chain of aliases; without its final dot. */
  readonly canonicalName: string;
  /** The shortest time to live on the way; 0 when there is no record. */
  readonly ttlSeconds: number;
}

/** A longer chain of aliases is not followed. */
const ALIASES_MAX = 16;

/** Follows the aliases of `name` through the answer section and takes the addresses at their end. */
export function readAddresses(message: DnsMessage, name: string, type: AddressType): AnswerAddresses {
  let owner = name;
  let ttlSeconds = Number.POSITIVE_INFINITY;
  for (let hops = 0; hops < ALIASES_MAX; hops++) {
    const addresses = new Set<Ip>();
    let alias: string | undefined;
    for (const record of message.answers) {
      if (record.type === "OPT" || record.name.toLowerCase() !== owner.toLowerCase()) continue;
      if (record.type === type && (record.type === "A" || record.type === "AAAA")) addresses.add(record.ip);
      else if (record.type === "CNAME") alias = record.target;
      else continue;
      ttlSeconds = Math.min(ttlSeconds, record.ttlSeconds);
    }
    if (addresses.size > 0) return { addresses: [...addresses], canonicalName: owner, ttlSeconds };
    if (alias === undefined) break;
    owner = alias;
  }
  return { addresses: [], canonicalName: owner, ttlSeconds: 0 };
}

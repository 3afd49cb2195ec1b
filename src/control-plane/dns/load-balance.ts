/** CoreDNS' plugin `loadbalance`, which kubeadm's Corefile names: addresses come in a new order each time. */
import type { Prng } from "#core/base/prng.ts";
import type { DnsRecord } from "#core/wire/dns/dns.ts";

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

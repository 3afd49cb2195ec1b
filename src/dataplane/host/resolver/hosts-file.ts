/**
 * The hosts file of a machine or pod: `etc\hosts` of Windows, `/etc/hosts` of Linux. It is read before anybody is asked
 * (dataplane.md §5.3, DT-167).
 */
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { AddressType } from "./name-result.ts";

/** Addresses by name in small letters, in the order of the file. */
export type HostsFile = ReadonlyMap<string, readonly Ip[]>;

export const NO_HOSTS: HostsFile = Object.freeze(new Map<string, readonly Ip[]>());

/** Reads a file: an address and its names per line, `#` begins a comment. A line without an address says nothing. */
export function parseHostsFile(text: string): HostsFile {
  const hosts = new Map<string, Ip[]>();
  for (const line of text.split(/\r?\n/)) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    const ip = parseIp(address);
    if (ip === undefined) continue;
    for (const name of names) {
      const key = keyOf(name);
      const known = hosts.get(key);
      if (known === undefined) hosts.set(key, [ip]);
      else if (!known.includes(ip)) known.push(ip);
    }
  }
  return Object.freeze(hosts);
}

/** The addresses of one family that the file has for `name`. */
export function lookUpHosts(hosts: HostsFile, name: string, type: AddressType): readonly Ip[] {
  return (hosts.get(keyOf(name)) ?? []).filter((ip) => (typeof ip === "number") === (type === "A"));
}

function keyOf(name: string): string {
  return name.replace(/\.$/, "").toLowerCase();
}

/** What Windows' tools write to the registry of a compartment: name servers and suffixes of an interface. */
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import type { Machine } from "../machine.ts";

const NOTHING: DnsSettings = Object.freeze({ domain: "", search: [], servers: [] });

/** Changes what is configured for an interface; what it was told by others stays. */
export function configureNames(link: Interface, changes: Partial<DnsSettings>): void {
  const { configured = NOTHING, learned = [] } = link.names ?? {};
  link.names = { configured: { ...configured, ...changes }, learned };
}

/** The servers that are configured for an interface; without its own those of the machine. */
export function configuredServers(machine: Machine, link: Interface): readonly Ip[] {
  const own = link.names?.configured?.servers ?? [];
  return own.length > 0 ? own : machine.compartment.namesOfMachine.servers;
}

/** Replaces the servers of one family, or with `family` absent those of both. */
export function configureServers(
  machine: Machine,
  link: Interface,
  servers: readonly Ip[],
  family?: 4 | 6,
): void {
  const isKept = (ip: Ip): boolean => family !== undefined && (typeof ip === "number") !== (family === 4);
  const others = configuredServers(machine, link).filter(isKept);
  configureNames(link, { servers: [...servers, ...others] });
}

/** Addresses in a list with commas, as PowerShell takes them; undefined when one is none. */
export function parseServers(list: string): readonly Ip[] | undefined {
  const texts = list
    .replaceAll(/[()"']/g, "")
    .split(",")
    .map((each) => each.trim());
  const found = texts.map(parseIp);
  return found.includes(undefined) ? undefined : found.filter((ip) => ip !== undefined);
}

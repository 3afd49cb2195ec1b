/**
 * What Windows has in place of resolv.conf: name servers and suffixes in the registry, a key for each interface and one for the
 * machine (docs: dataplane.md §5.3). HNS writes the key of an endpoint's interface when it attaches it (microsoft/SDN#222).
 */
import type { Ip } from "#core/net/ip.ts";
import type { DnsSettings } from "../stack.ts";

/** An interface's key of `Tcpip\\Parameters\\Interfaces`. */
export interface InterfaceNames {
  /** `NameServer`, `Domain`, `SearchList`: what was configured. */
  readonly configured: DnsSettings | undefined;
  /** `DhcpNameServer`: what a DHCP server or a router told of. */
  readonly learned: readonly Ip[];
}

/** What counts of an interface. */
export interface NamedInterface {
  readonly metric: number;
  readonly names: InterfaceNames | undefined;
}

function unique<T>(lists: readonly (readonly T[])[]): readonly T[] {
  return [...new Set(lists.flat())];
}

/**
 * What the resolver of a Windows machine is told: the servers of its interfaces, the one with the lowest metric first; the
 * suffixes of the machine, where there are any, else those of the interfaces. Of an interface `NameServer`, where it has a
 * value, takes precedence over `DhcpNameServer` (Microsoft's reference of both).
 *
 * Inferred (dataplane.md §5.3): the servers of all interfaces are one list; the machine's own stand in for interfaces where none
 * is configured.
 */
export function resolverSettings(machine: DnsSettings, interfaces: readonly NamedInterface[]): DnsSettings {
  const named = interfaces.filter(({ names }) => names !== undefined);
  const [only] = named;
  if (only?.names === undefined) return machine;
  const { asksSingleLabels = false } = machine;
  const isPlain =
    machine.servers.length + machine.search.length === 0 && machine.domain === "" && !asksSingleLabels;
  const { configured, learned } = only.names;
  if (named.length === 1 && isPlain && learned.length === 0 && configured !== undefined) return configured;
  const inOrder = named.toSorted((a, b) => a.metric - b.metric).flatMap(({ names }) => names ?? []);
  const settings = inOrder.flatMap((names) => names.configured ?? []);
  const ownServers = ({ configured: own }: InterfaceNames): readonly Ip[] => own?.servers ?? [];
  const serversOf = (names: InterfaceNames): readonly Ip[] =>
    ownServers(names).length > 0 ? ownServers(names) : names.learned;
  const isMachine = machine.servers.length > 0 && inOrder.every((names) => ownServers(names).length === 0);
  return {
    domain: settings.find(({ domain }) => domain !== "")?.domain ?? machine.domain,
    search: machine.search.length > 0 ? machine.search : unique(settings.map(({ search }) => search)),
    servers: isMachine
      ? machine.servers
      : unique(inOrder.map(machine.servers.length > 0 ? ownServers : serversOf)),
    ...(asksSingleLabels && { asksSingleLabels }),
  };
}

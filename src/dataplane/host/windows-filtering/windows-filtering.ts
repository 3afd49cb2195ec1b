/**
 * The Windows Filtering Platform of one compartment (dataplane.md §2.14, §4): the rules of
 * RuleType Host, and the redirection of connections to a proxy inside the compartment. VFP and its listings know nothing
 * of it. What goes out meets it before the switch, what comes in behind the switch (Inferred: dataplane.md §11, Q-19).
 *
 * The filters are a layer of the match-action engine: stateful, asked anew when its rules change, with flows that follow
 * ICMP errors. Inferred: that a flow without packets is forgotten after the same time as on a switch port.
 */
import type { Stack, StackInterface } from "../stack.ts";
import { type Ip, type Prefix, familyOf, formatIp, parseIp, prefixContains } from "#core/net/ip.ts";
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import type { PortRange } from "#core/net/port-range.ts";
import { DEFAULT_PARSER_SETTINGS } from "../../vfp/port-settings.ts";
import type { VfpDirection, LayerDefinition } from "../../vfp/rule.ts";
import { VfpPort } from "../../vfp/vfp-port.ts";
import { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { FilterProgram, ProxyRedirection, RedirectionExceptions } from "./filter-program.ts";

const LAYER = "WFP_HOST_FILTERS";
const LAYERS: readonly LayerDefinition[] = Object.freeze([
  Object.freeze({ name: LAYER, priority: 1, isStateful: true, isDefaultAllow: true }),
]);
const LOOPBACK = parseIp("127.0.0.1");
const INFERRED = "dataplane.md §11 (Q-22)";

/** A connection that is about to begin, as the compartment sees it. */
interface Attempt {
  readonly direction: VfpDirection;
  readonly localIp: Ip;
  readonly localPort: number;
  readonly remoteIp: Ip;
  readonly remotePort: number;
}

/** Where a process wanted to go. */
export interface OriginalDestination {
  readonly ip: Ip;
  readonly port: number;
}

/** A connection that a proxy gets in place of its own destination. */
interface Redirected {
  readonly destination: OriginalDestination;
  readonly redirection: ProxyRedirection;
}

function isInPrefixes(prefixes: readonly Prefix[], ip: Ip): boolean {
  return prefixes.some((prefix) => familyOf(prefix.address) === familyOf(ip) && prefixContains(prefix, ip));
}

function isInRanges(ranges: readonly PortRange[], port: number): boolean {
  return ranges.some(({ first, last }) => port >= first && port <= last);
}

function isExcepted({ addresses, ports }: RedirectionExceptions, remoteIp: Ip, port: number): boolean {
  return isInPrefixes(addresses, remoteIp) || isInRanges(ports, port);
}

/** True when `redirection` is about the connection, exceptions considered. */
function concerns(redirection: ProxyRedirection, attempt: Attempt): boolean {
  const { localAddresses, remoteAddresses, localPorts, remotePorts } = redirection;
  const { direction, localIp, localPort, remoteIp, remotePort } = attempt;
  if (localAddresses !== undefined && !isInPrefixes(localAddresses, localIp)) return false;
  if (remoteAddresses !== undefined && !isInPrefixes(remoteAddresses, remoteIp)) return false;
  // The port of a process that connects is not chosen yet.
  if (direction === "in" && localPorts !== undefined && !isInRanges(localPorts, localPort)) return false;
  if (remotePorts !== undefined && !isInRanges(remotePorts, remotePort)) return false;
  return direction === "out"
    ? !isExcepted(redirection.outboundExceptions, remoteIp, remotePort)
    : !isExcepted(redirection.inboundExceptions, remoteIp, localPort);
}

export class WindowsFiltering {
  private readonly compartment: Stack;
  /** Filters with their flows, by the name of the interface. */
  private readonly filters = new Map<string, VfpPort>();
  /** By the port that the process connects from. */
  private readonly redirected = new Map<number, Redirected>();

  /** Made by `Compartment.enableFiltering` only. */
  constructor(compartment: Stack) {
    this.compartment = compartment;
  }

  /** Puts an interface's filters in the place of those before; connections are judged anew. */
  setFilters({ name }: StackInterface, { groups }: FilterProgram): void {
    const known = this.filters.get(name);
    if (groups.length === 0) {
      this.filters.delete(name);
      return;
    }
    const port = known ?? this.makeFilters(name);
    this.filters.set(name, port);
    port.setGroups(LAYER, groups);
  }

  /** Forgets an interface that is gone. */
  forget({ name }: StackInterface): void {
    this.filters.delete(name);
  }

  /** A packet leaves over `netInterface`. @returns false when a filter ended it. */
  send(packet: Packet, netInterface: StackInterface): boolean {
    if (!this.filters.has(netInterface.name)) return true;
    const headers = new Headers();
    return headers.parse(packet) !== undefined || this.evaluate("out", packet, headers, netInterface);
  }

  /** A packet has come to an address of `netInterface`. @returns false when a filter ended it. */
  receive(packet: Packet, headers: Headers, netInterface: StackInterface): boolean {
    return this.evaluate("in", packet, headers, netInterface);
  }

  /**
   * Where a connection of a process goes in place of its destination; undefined: there. Inferred: to the proxy's port on
   * 127.0.0.1, as redirectors for WFP do it.
   */
  redirectConnect(
    netInterface: StackInterface,
    attempt: Omit<Attempt, "direction" | "localPort">,
    user: string | undefined,
  ): { readonly destination: OriginalDestination; readonly redirection: ProxyRedirection } | undefined {
    const { redirections } = netInterface.filters ?? { redirections: [] };
    const found = redirections.find(
      (each) =>
        each.outboundPort !== undefined && concerns(each, { ...attempt, direction: "out", localPort: 0 }),
    );
    if (found?.outboundPort === undefined || LOOPBACK === undefined) return undefined;
    if (user !== undefined && user === found.exemptUser) return undefined;
    return { destination: { ip: LOOPBACK, port: found.outboundPort }, redirection: found };
  }

  /** Remembers for the proxy where a connection was going, until the connection is over. */
  noteRedirected(localPort: number, destination: OriginalDestination, redirection: ProxyRedirection): void {
    this.redirected.set(localPort, { destination, redirection });
  }

  forgetRedirected(localPort: number): void {
    this.redirected.delete(localPort);
  }

  /** Where the process at `port` wanted to go, as a proxy asks for it; undefined: to the proxy itself. */
  originalDestinationOf(port: number): OriginalDestination | undefined {
    return this.redirected.get(port)?.destination;
  }

  /** Tells a trace why a followed SYN from `localPort` goes to the proxy. */
  recordRedirected(packet: Packet, localPort: number): void {
    const known = this.redirected.get(localPort);
    if (packet.tag === 0 || known === undefined) return;
    const { destination, redirection } = known;
    const text = `the connection to ${formatSocketAddress(destination.ip, destination.port)} goes to the proxy on 127.0.0.1:${redirection.outboundPort ?? 0}`;
    this.compartment.recordTranslation(packet, "WFP", text, redirection.provenance, INFERRED);
  }

  /**
   * The proxy's port, when a connection from outside is the proxy's. The connection keeps its own port: answers come from
   * where the client asked.
   */
  redirectAccept(
    netInterface: StackInterface,
    packet: Packet,
    attempt: Omit<Attempt, "direction">,
  ): number | undefined {
    const { redirections } = netInterface.filters ?? { redirections: [] };
    const found = redirections.find(
      (each) => each.inboundPort !== undefined && concerns(each, { ...attempt, direction: "in" }),
    );
    const port = found?.inboundPort;
    if (found === undefined || port === undefined || port === attempt.localPort) return undefined;
    if (packet.tag !== 0) {
      const text = `the connection to ${formatIp(attempt.localIp)}:${attempt.localPort} goes to the proxy on port ${port}`;
      this.compartment.recordTranslation(packet, "WFP", text, found.provenance, INFERRED);
    }
    return port;
  }

  private evaluate(
    direction: VfpDirection,
    packet: Packet,
    headers: Headers,
    { name }: StackInterface,
  ): boolean {
    const port = this.filters.get(name);
    if (port === undefined) return true;
    const { env, nowMs, drops } = this.compartment;
    const recorder = packet.tag === 0 ? undefined : env.recorder;
    if (port.process(direction, packet, headers, nowMs, recorder) !== "drop") return true;
    drops.add("host-acl-blocked");
    return false;
  }

  private makeFilters(name: string): VfpPort {
    const { node, id } = this.compartment;
    const port = new VfpPort({
      id: `wfp-${id}-${name}`,
      name: `Windows firewall of ${this.compartment.name}`,
      node,
      layers: LAYERS,
    });
    port.parserSettings = { ...DEFAULT_PARSER_SETTINGS, parsesTunnels: false };
    return port;
  }
}

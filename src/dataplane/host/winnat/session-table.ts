/**
 * What one WinNAT is told, and all its bindings and sessions; the README explains both. What is out of date is forgotten when it is met, once a
 * minute, and when ports run out; no timer runs for it.
 */
import { LIMITS } from "#core/base/limits.ts";
import type { Ipv4, Prefix } from "#core/net/ip.ts";
import type { LocalPorts } from "../local-ports.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { readU8 } from "#core/base/bytes.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import { Headers } from "#core/wire/headers.ts";
import { ICMP_HEADER_BYTES, IcmpType, isIcmpError } from "#core/wire/icmp.ts";
import { type Side, hasPorts, readTuple } from "../netfilter/tuple.ts";
import type { Provenance } from "#core/base/recorder.ts";

// What WinNAT is told to do. Immutable; the ground for a translation goes into traces.

/** A port of the host that leads to a port behind it (`Get-NetNatStaticMapping`). */
export interface StaticMapping {
  readonly protocol: number;
  /** Undefined: any address of the host. */
  readonly externalIp: Ipv4 | undefined;
  readonly externalPort: number;
  readonly internalIp: Ipv4;
  readonly internalPort: number;
  readonly provenance: Provenance;
}

/** One network behind the host (`Get-NetNat`). */
export interface NatProgram {
  /** Name of the host's interface that leads there. */
  readonly interfaceName: string;
  /** `InternalIPInterfaceAddressPrefix`; IPv6 is not translated (dataplane.md §2.11). */
  readonly prefixes: readonly Prefix[];
  readonly mappings: readonly StaticMapping[];
  readonly provenance: Provenance;
  /** Addresses that may open no connections; they answer those that a mapping lets in. Default: none. */
  readonly closed?: readonly Ipv4[];
}

/**
 * What `Get-NetNat` prints of a host that nobody has tuned, in milliseconds (dataplane.md §2.7; the names
 * and defaults are those of `Set-NetNat`).
 */
const NAT_TIMEOUTS_MS = {
  icmpQuery: 30_000,
  udpIdleSession: 120_000,
  tcpTransientConnection: 120_000,
  tcpEstablishedConnection: 1_800_000,
} as const;

/** `out`: from behind the host. */
type NatDirection = "out" | "in";

/** One address and port behind the host, and its stand-in on the host. */
export class NatBinding {
  readonly protocol: number;
  readonly internalIp: Ipv4;
  readonly internalPort: number;
  readonly externalIp: Ipv4;
  readonly externalPort: number;
  /** Undefined: made for what a pod sent. */
  readonly mapping: StaticMapping | undefined;
  /** By the remote end. */
  readonly sessions: Map<string, NatSession> = new Map();

  constructor(fields: {
    readonly protocol: number;
    readonly internalIp: Ipv4;
    readonly internalPort: number;
    readonly externalIp: Ipv4;
    readonly externalPort: number;
    readonly mapping: StaticMapping | undefined;
  }) {
    this.protocol = fields.protocol;
    this.internalIp = fields.internalIp;
    this.internalPort = fields.internalPort;
    this.externalIp = fields.externalIp;
    this.externalPort = fields.externalPort;
    this.mapping = fields.mapping;
  }

  /** AddressDependentFiltering (dataplane.md §2.7). */
  letsIn(remote: Ipv4, nowMs: number): boolean {
    if (this.mapping !== undefined) return true;
    for (const session of this.sessions.values())
      if (session.remote === remote && session.expiresAtMs > nowMs) return true;
    return false;
  }
}

type SessionState = "transient" | "established" | "closing";

/** A line of `Get-NetNatSession`. */
export class NatSession {
  readonly binding: NatBinding;
  readonly remote: Ipv4;
  readonly remotePort: number;
  state: SessionState = "transient";
  expiresAtMs = 0;
  private readonly opener: NatDirection;
  private isAnswered = false;

  constructor(binding: NatBinding, remote: Ipv4, remotePort: number, opener: NatDirection) {
    this.binding = binding;
    this.remote = remote;
    this.remotePort = remotePort;
    this.opener = opener;
  }

  /**
   * A packet passed; `tcpFlags` is 0 for other protocols. A TCP connection is established with the first acknowledgement
   * of its opener after an answer.
   * Inferred: what comes in does not keep a UDP or ICMP session alive (`UdpInboundRefresh` is False on a host that
   * was not tuned), unless a mapping lets it in.
   */
  touch(direction: NatDirection, tcpFlags: number, nowMs: number): void {
    const { protocol, mapping } = this.binding;
    if (protocol === IpProtocol.tcp) this.trackTcp(direction, tcpFlags);
    else if (direction === "in" && mapping === undefined) return;
    this.expiresAtMs = nowMs + this.timeoutMs;
  }

  private get timeoutMs(): number {
    switch (this.binding.protocol) {
      case IpProtocol.tcp:
        return this.state === "established"
          ? NAT_TIMEOUTS_MS.tcpEstablishedConnection
          : NAT_TIMEOUTS_MS.tcpTransientConnection;
      case IpProtocol.udp:
        return NAT_TIMEOUTS_MS.udpIdleSession;
      default:
        return NAT_TIMEOUTS_MS.icmpQuery;
    }
  }

  private trackTcp(direction: NatDirection, flags: number): void {
    if (direction !== this.opener) this.isAnswered = true;
    if ((flags & (TcpFlag.fin | TcpFlag.rst)) !== 0) {
      this.state = "closing";
    } else if ((flags & TcpFlag.syn) !== 0) {
      if (direction === this.opener) {
        this.state = "transient";
        this.isAnswered = false;
      }
    } else if (this.state === "transient" && this.isAnswered && direction === this.opener) {
      this.state = "established";
    }
  }
}

const SWEEP_INTERVAL_MS = 60_000;

/** Where the ports of a protocol come from; undefined: it has none. */
export interface NatPorts {
  portsOf(protocol: number): LocalPorts | undefined;
}

function internalKey(binding: NatBinding): string {
  return `${localKey(binding.protocol, binding.internalIp, binding.internalPort)}>${binding.externalIp}`;
}

export class SessionTable {
  private readonly ports: NatPorts;
  /** Those made for pods, by both ends of the pod and the host's address. */
  private readonly byInternal = new Map<string, NatBinding>();
  /** All, by address and port of the host. */
  private readonly byExternal = new Map<string, NatBinding>();
  /** By the end behind the host and the remote end. */
  private readonly sessions = new Map<string, NatSession>();
  private nextSweepAtMs = SWEEP_INTERVAL_MS;

  constructor(ports: NatPorts) {
    this.ports = ports;
  }

  /** In the order in which they began. */
  list(nowMs: number): readonly NatSession[] {
    return [...this.sessions.values()].filter((session) => session.expiresAtMs > nowMs);
  }

  /** The session of what leaves, or of what an error from behind the host quotes. */
  findOut(ends: NatEnds, nowMs: number): NatSession | undefined {
    return this.alive(this.sessions.get(sessionKey(ends)), nowMs);
  }

  /** The binding that stands for the host's address and port. */
  findBinding(ends: NatEnds, nowMs: number): NatBinding | undefined {
    const binding = this.byExternal.get(localKey(ends.protocol, ends.ip, ends.port));
    if (binding === undefined || binding.mapping !== undefined) return binding;
    for (const session of binding.sessions.values()) this.alive(session, nowMs);
    return binding.sessions.size === 0 ? undefined : binding;
  }

  /** The session of what comes in by `binding`. */
  findIn(binding: NatBinding, ends: NatEnds, nowMs: number): NatSession | undefined {
    return this.alive(binding.sessions.get(remoteKey(ends)), nowMs);
  }

  /** The binding of an end behind the host, made when there is none; undefined when there is no port left. */
  bindingFor({ protocol, ip, port }: NatEnds, externalIp: Ipv4, nowMs: number): NatBinding | undefined {
    const known = this.byInternal.get(`${localKey(protocol, ip, port)}>${externalIp}`);
    if (known !== undefined) return known;
    const externalPort = this.takePort(protocol, nowMs);
    if (externalPort === undefined) return undefined;
    const ends = { protocol, internalIp: ip, internalPort: port, externalIp, externalPort };
    const binding = new NatBinding({ ...ends, mapping: undefined });
    this.byInternal.set(internalKey(binding), binding);
    this.byExternal.set(localKey(protocol, externalIp, externalPort), binding);
    return binding;
  }

  /** The binding that a mapping is on one address of the host. */
  bindingOf(mapping: StaticMapping, externalIp: Ipv4): NatBinding {
    const { protocol, externalPort, internalIp, internalPort } = mapping;
    const key = localKey(protocol, externalIp, externalPort);
    const known = this.byExternal.get(key);
    if (known?.mapping === mapping) return known;
    const ends = { protocol, internalIp, internalPort, externalIp, externalPort };
    const binding = new NatBinding({ ...ends, mapping });
    this.byExternal.set(key, binding);
    return binding;
  }

  /** Begins a session; undefined when there are too many. */
  open(binding: NatBinding, ends: NatEnds, opener: NatDirection, nowMs: number): NatSession | undefined {
    if (nowMs >= this.nextSweepAtMs || this.sessions.size >= LIMITS.natSessionsMax) this.sweep(nowMs);
    if (this.sessions.size >= LIMITS.natSessionsMax) return undefined;
    const session = new NatSession(binding, ends.remote, ends.remotePort, opener);
    const key = keyOf(session);
    const before = this.sessions.get(key);
    if (before !== undefined) this.remove(before);
    this.sessions.set(key, session);
    binding.sessions.set(remoteKey(session), session);
    return session;
  }

  /** Ends all that a mapping has let in. */
  removeMapping(mapping: StaticMapping): void {
    for (const [key, binding] of this.byExternal) {
      if (binding.mapping !== mapping) continue;
      for (const session of binding.sessions.values()) this.sessions.delete(keyOf(session));
      this.byExternal.delete(key);
    }
  }

  /** Ends everything of ends behind the host for which `isGone` is true. */
  removeInternal(isGone: (ip: Ipv4) => boolean): void {
    for (const session of this.sessions.values())
      if (isGone(session.binding.internalIp)) this.remove(session);
  }

  private alive(session: NatSession | undefined, nowMs: number): NatSession | undefined {
    if (session === undefined || session.expiresAtMs > nowMs) return session;
    this.remove(session);
    return undefined;
  }

  private sweep(nowMs: number): void {
    this.nextSweepAtMs = nowMs + SWEEP_INTERVAL_MS;
    for (const session of this.sessions.values()) this.alive(session, nowMs);
  }

  private remove(session: NatSession): void {
    const { binding } = session;
    const key = keyOf(session);
    if (this.sessions.get(key) === session) this.sessions.delete(key);
    const remote = remoteKey(session);
    if (binding.sessions.get(remote) === session) binding.sessions.delete(remote);
    if (binding.mapping === undefined && binding.sessions.size === 0) this.dissolve(binding);
  }

  private dissolve(binding: NatBinding): void {
    const { protocol, externalIp, externalPort } = binding;
    if (!this.byInternal.delete(internalKey(binding))) return;
    const key = localKey(protocol, externalIp, externalPort);
    if (this.byExternal.get(key) === binding) this.byExternal.delete(key);
    const ports = this.ports.portsOf(protocol);
    ports?.letGo(externalPort);
    ports?.release(externalPort);
  }

  /** Inferred: ports are taken one by one, not in reserved ranges, and are not those that the pod used. */
  private takePort(protocol: number, nowMs: number): number | undefined {
    const ports = this.ports.portsOf(protocol);
    let port = ports?.reserveEphemeral();
    if (port === undefined) {
      this.sweep(nowMs);
      port = ports?.reserveEphemeral();
    }
    if (port !== undefined) ports?.hold(port);
    return port;
  }
}

function sessionKey(ends: NatEnds): string {
  return `${localKey(ends.protocol, ends.ip, ends.port)}>${remoteKey(ends)}`;
}

function keyOf({ binding, remote, remotePort }: NatSession): string {
  const { protocol, internalIp: ip, internalPort: port } = binding;
  return sessionKey({ protocol, ip, port, remote, remotePort });
}

// The two ends of a packet as WinNAT sees them: the one behind the host or of the host, and the remote one.

/** An echo has its identifier as the local port and 0 as the remote one. */
export interface NatEnds {
  readonly protocol: number;
  readonly ip: Ipv4;
  readonly port: number;
  readonly remote: Ipv4;
  readonly remotePort: number;
}

/** The key of one local end, or of anything with these three. */
export function localKey(protocol: number, ip: Ipv4, port: number): string {
  return `${protocol}/${ip}/${port}`;
}

export function remoteKey({ remote, remotePort }: Pick<NatEnds, "remote" | "remotePort">): string {
  return `${remote}/${remotePort}`;
}

/** Undefined for what WinNAT does not translate. `local` says which side of the packet is not the remote one. */
export function readEnds(bytes: Uint8Array, headers: Headers, local: Side): NatEnds | undefined {
  const tuple = readTuple(bytes, headers);
  if (tuple === undefined) return undefined;
  const { protocol, source, destination } = tuple;
  if (typeof source !== "number" || typeof destination !== "number") return undefined;
  const [ip, remote] = local === "source" ? [source, destination] : [destination, source];
  if (protocol === IpProtocol.icmp) {
    const wanted = local === "source" ? IcmpType.echoRequest : IcmpType.echoReply;
    return tuple.destinationPort === wanted
      ? { protocol, ip, port: tuple.sourcePort, remote, remotePort: 0 }
      : undefined;
  }
  if (!hasPorts(protocol)) return undefined;
  const [port, remotePort] =
    local === "source"
      ? [tuple.sourcePort, tuple.destinationPort]
      : [tuple.destinationPort, tuple.sourcePort];
  return { protocol, ip, port, remote, remotePort };
}

/**
 * The ends of the packet that an ICMP error quotes; `local` is the side of the error itself, and the quoted packet
 * travelled the other way. Undefined: no error, or nothing that can be translated.
 */
export function readQuotedEnds(bytes: Uint8Array, headers: Headers, local: Side): NatEnds | undefined {
  if (!isError(bytes, headers)) return undefined;
  const quoted = new Headers();
  const start = headers.transport + ICMP_HEADER_BYTES;
  if (quoted.parseEmbedded(bytes, start, headers.end) !== undefined) return undefined;
  return readEnds(bytes, quoted, local === "source" ? "destination" : "source");
}

export function isError(bytes: Uint8Array, headers: Headers): boolean {
  const { family, protocol, fragmentOffset, transport } = headers;
  if (family !== 4 || protocol !== IpProtocol.icmp || fragmentOffset !== 0 || transport < 0) return false;
  return isIcmpError(readU8(bytes, transport));
}

/** A tuple whose `side` is this address and port; the other side is not looked at. */
export function tupleWith(side: Side, protocol: number, ip: Ipv4, port: number): FiveTuple {
  const zero = 0 as Ipv4;
  // An echo's identifier stands in `sourcePort`, whichever side is rewritten.
  const isEcho = protocol === IpProtocol.icmp;
  return side === "source"
    ? { protocol, source: ip, sourcePort: port, destination: zero, destinationPort: 0 }
    : { protocol, source: zero, sourcePort: isEcho ? port : 0, destination: ip, destinationPort: port };
}

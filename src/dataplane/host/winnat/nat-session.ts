/** Bindings and their sessions (the README tells what they are). */
import type { Ipv4 } from "#core/net/ip.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { NAT_TIMEOUTS_MS, type StaticMapping } from "./nat-program.ts";

/** `out`: from behind the host. */
export type NatDirection = "out" | "in";

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

  /** AddressDependentFiltering (dataplane.md §2.7, DT-079, DT-080). */
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
   * nobody has tuned), unless a mapping lets it in.
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

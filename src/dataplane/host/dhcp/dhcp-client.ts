/**
 * The DHCP client of an interface (RFC 2131 §4.4): DISCOVER, OFFER, REQUEST, ACK, and the address is there. It asks four
 * times, 4, 8 and 16 s apart (§4.1), then the interface gives itself an address of 169.254/16 and asks again every five
 * minutes (Microsoft: "How to use automatic TCP/IP addressing without a DHCP server"; RFC 3927). A lease is renewed
 * (§4.4.5): from half of its time on its server is asked, from seven eighths on everybody; when it ends, the address goes.
 */
import type { Task, Timer } from "#core/base/clock.ts";
import { type Ipv4, ANY_IPV4, lengthOfMask, parseIp } from "#core/net/ip.ts";
import {
  type DhcpMessage,
  DHCP_CLIENT_PORT,
  DHCP_SERVER_PORT,
  buildDhcp,
  parseDhcp,
} from "#core/wire/dhcp.ts";
import type { Compartment } from "../compartment.ts";
import type { Interface } from "../interface.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../udp.ts";
import { BROADCAST_MAC } from "#core/net/mac.ts";
import { defined } from "#core/base/assert.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";

// A DHCP message on its way: by broadcast, since one side has no address (RFC 2131 §4.1).

const EVERYBODY: Ipv4 = defined(parseIp("255.255.255.255"), "an address") as Ipv4;

export function broadcastDhcp(
  compartment: Compartment,
  netInterface: Interface,
  source: Ipv4,
  message: DhcpMessage,
): void {
  const isAsking = message.type === "discover" || message.type === "request";
  const [sourcePort, destinationPort] = isAsking
    ? [DHCP_CLIENT_PORT, DHCP_SERVER_PORT]
    : [DHCP_SERVER_PORT, DHCP_CLIENT_PORT];
  const packet = buildUdpFrame({
    link: { sourceMac: netInterface.mac, destinationMac: BROADCAST_MAC },
    ip: {
      source,
      destination: EVERYBODY,
      ttl: compartment.profile.ttl,
      identification: message.transaction & 0xffff,
      isDontFragment: false,
    },
    udp: { sourcePort, destinationPort },
    payload: buildDhcp(message),
  });
  netInterface.transmitFrame(packet);
}

const NOBODY = 0 as Ipv4;
const FIRST_WAIT_MS = 4_000;
const TRIES_MAX = 4;
/** How long an interface waits for its first lease. */
export const DHCP_WAIT_MS: number = FIRST_WAIT_MS * (2 ** TRIES_MAX - 1);
const NEXT_ROUND_MS = 300_000;
/** What Windows gives a gateway. */
const DEFAULT_ROUTE_METRIC = 256;
/** A lease for good (RFC 2131 §3.3). */
const INFINITE_SECONDS = 0xffff_ffff;
const RENEWAL = 0.5;
const REBINDING = 0.875;
/** Between two attempts to renew (RFC 2131 §4.4.5). */
const RETRY_MS_MIN = 60_000;
/** 169.254.1.0 to 169.254.254.255 (RFC 3927 §2.1). */
const OWN_FIRST = 0xa9fe_0100;
const OWN_COUNT = 0xfe00;
const OWN_LENGTH = 16;
/** Of who has no mask. */
const HOST_LENGTH = 32;

/** What a server granted. */
export interface DhcpLease {
  readonly ip: Ipv4;
  readonly length: number;
  readonly router: Ipv4 | undefined;
  readonly dnsServers: readonly Ipv4[];
  readonly serverId: Ipv4;
  /** On the clock of the world. */
  readonly grantedAtMs: number;
  readonly expiresAtMs: number;
}

export class DhcpClient implements UdpOwner, Task {
  lease: DhcpLease | undefined;
  private readonly compartment: Compartment;
  private readonly netInterface: Interface;
  private readonly transaction: number;
  private socket: UdpSocket | undefined;
  private offer: DhcpMessage | undefined;
  /** An address that it gave itself. */
  private own: Ipv4 | undefined;
  private tries = 0;
  private timer: Timer | undefined;

  constructor(compartment: Compartment, netInterface: Interface) {
    this.compartment = compartment;
    this.netInterface = netInterface;
    this.transaction = compartment.prng.derive(`dhcp/${netInterface.name}`).nextU32();
  }

  /** Begins to ask; once. A client of another interface of the compartment may have the port: then this one is silent. */
  start(): void {
    if (this.listen()) this.ask();
  }

  /** Nobody answered, or it is time to renew. */
  run(): void {
    this.timer = undefined;
    if (this.lease !== undefined) this.keep(this.lease);
    else if (this.tries < TRIES_MAX) {
      if (this.listen()) this.ask();
    } else this.giveUp();
  }

  /** Asks no more; what it has stays. */
  stop(): void {
    this.wake(undefined);
    this.socket?.close();
    this.socket = undefined;
  }

  udpReceived(_socket: UdpSocket, { bytes }: UdpDatagram): void {
    const message = parseDhcp(bytes);
    const isOurs = message?.transaction === this.transaction && message.clientMac === this.netInterface.mac;
    if (message === undefined || !isOurs) return;
    if (message.type === "nak") {
      this.drop();
      this.begin();
    } else if (this.lease === undefined && message.type === "offer" && this.offer === undefined) {
      this.offer = message;
      this.tries = 0;
      this.ask();
    } else if (message.type === "ack" && (this.lease?.ip ?? this.offer?.yourIp) === message.yourIp) {
      this.take(message);
    }
  }

  udpFailed(): void {
    // Whoever cannot be reached is asked again.
  }

  /** @returns false when somebody else has the port. */
  private listen(): boolean {
    if (this.socket !== undefined) return true;
    const socket = this.compartment.udp.bind({ port: DHCP_CLIENT_PORT, owner: this });
    if (typeof socket === "string") return false;
    this.socket = socket;
    return true;
  }

  private wake(afterMs: number | undefined): void {
    const { clock } = this.compartment.env;
    if (this.timer !== undefined) clock.cancel(this.timer);
    this.timer = afterMs === undefined ? undefined : clock.schedule(afterMs, this);
  }

  /** From the beginning. */
  private begin(): void {
    this.offer = undefined;
    this.tries = 0;
    if (this.listen()) this.ask();
  }

  private ask(): void {
    const { offer } = this;
    broadcastDhcp(
      this.compartment,
      this.netInterface,
      NOBODY,
      offer === undefined
        ? { ...this.message(), type: "discover" }
        : {
            ...this.message(),
            type: "request",
            requestedIp: offer.yourIp,
            ...(offer.serverId !== undefined && { serverId: offer.serverId }),
          },
    );
    this.wake(FIRST_WAIT_MS * 2 ** this.tries);
    this.tries++;
  }

  private message(): Omit<DhcpMessage, "type"> {
    const { transaction } = this;
    return { transaction, clientMac: this.netInterface.mac, yourIp: NOBODY };
  }

  /** Asks for what it has once more, or lets go of it. */
  private keep(lease: DhcpLease): void {
    const { nowMs } = this.compartment;
    const { ip, serverId, grantedAtMs, expiresAtMs } = lease;
    if (nowMs >= expiresAtMs) {
      this.drop();
      this.begin();
      return;
    }
    const rebindsAtMs = grantedAtMs + (expiresAtMs - grantedAtMs) * REBINDING;
    const isRebinding = nowMs >= rebindsAtMs;
    const message: DhcpMessage = { ...this.message(), type: "request", clientIp: ip };
    if (this.listen()) {
      if (isRebinding) broadcastDhcp(this.compartment, this.netInterface, ip, message);
      else this.socket?.send({ destination: serverId, port: DHCP_SERVER_PORT, bytes: buildDhcp(message) });
    }
    const leftMs = (isRebinding ? expiresAtMs : rebindsAtMs) - nowMs;
    this.wake(Math.min(leftMs, Math.max(leftMs / 2, RETRY_MS_MIN)));
  }

  private take({
    yourIp,
    subnetMask,
    router,
    dnsServers = [],
    leaseSeconds = 0,
    serverId,
  }: DhcpMessage): void {
    const length = (subnetMask === undefined ? undefined : lengthOfMask(subnetMask)) ?? HOST_LENGTH;
    const { nowMs } = this.compartment;
    const lease: DhcpLease = Object.freeze({
      ip: yourIp,
      length,
      router,
      dnsServers: Object.freeze([...dnsServers]),
      serverId: serverId ?? NOBODY,
      grantedAtMs: nowMs,
      expiresAtMs:
        leaseSeconds === INFINITE_SECONDS ? Number.POSITIVE_INFINITY : nowMs + leaseSeconds * 1_000,
    });
    this.stop();
    this.offer = undefined;
    if (this.lease === undefined) this.configure(lease);
    this.lease = lease;
    if (leaseSeconds !== INFINITE_SECONDS && leaseSeconds > 0) this.wake(leaseSeconds * 1_000 * RENEWAL);
  }

  private configure({ ip, length, router, dnsServers }: DhcpLease): void {
    if (this.own !== undefined) this.compartment.removeAddress(this.netInterface, this.own);
    this.own = undefined;
    this.compartment.addAddress(this.netInterface, { ip, length });
    if (router !== undefined)
      this.compartment.addRoute({
        prefix: ANY_IPV4,
        nextHop: router,
        interface: this.netInterface,
        metric: DEFAULT_ROUTE_METRIC,
      });
    this.compartment.learnServers(this.netInterface, dnsServers);
  }

  /** The lease is over, or its server has taken it back. */
  private drop(): void {
    const { lease } = this;
    this.lease = undefined;
    if (lease === undefined) return;
    this.compartment.removeAddress(this.netInterface, lease.ip);
    if (lease.router !== undefined)
      this.compartment.removeRoute({
        prefix: ANY_IPV4,
        nextHop: lease.router,
        interface: this.netInterface,
      });
  }

  private giveUp(): void {
    this.offer = undefined;
    this.tries = 0;
    if (this.own === undefined) {
      const place = this.compartment.prng.derive(`dhcp-own/${this.netInterface.name}`).below(OWN_COUNT);
      this.own = (OWN_FIRST + place) as Ipv4;
      this.compartment.addAddress(this.netInterface, { ip: this.own, length: OWN_LENGTH });
    }
    this.stop();
    this.wake(NEXT_ROUND_MS);
  }
}

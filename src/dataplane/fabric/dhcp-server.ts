/** A DHCP server on a machine of the segment (RFC 2131 §4.3): a range of addresses, one for each MAC that asks. */
import { defined } from "#core/base/assert.ts";
import { LIMITS } from "#core/base/limits.ts";
import { broadcastDhcp } from "../host/dhcp/dhcp-client.ts";
import type { Compartment } from "../host/compartment.ts";
import type { Interface } from "../host/interface.ts";
import type { SocketFailure } from "../host/delivery-failure.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../host/udp.ts";
import { type Ipv4, type Prefix, lastIp, maskOf, prefixContains } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import {
  DHCP_CLIENT_PORT,
  DHCP_SERVER_PORT,
  type DhcpMessage,
  buildDhcp,
  parseDhcp,
} from "#core/wire/dhcp.ts";

export interface DhcpServerOptions {
  readonly compartment: Compartment;
  /** It has the server's own address. */
  readonly netInterface: Interface;
  readonly subnet: Prefix;
  readonly first: Ipv4;
  readonly last: Ipv4;
  readonly router: Ipv4;
  readonly dnsServers: readonly Ipv4[];
  /** Default one day. */
  readonly leaseSeconds?: number;
  /** Parts of the range that are not given out. */
  readonly exclusions?: readonly Prefix[];
  /** Addresses kept for one MAC each; also ones of exclusions. */
  readonly reservations?: readonly { readonly mac: Mac; readonly address: Ipv4 }[];
}

const LEASE_SECONDS = 86_400;
/** How long an offer is kept for the one who asked. */
const OFFER_MS = 60_000;

interface Lease {
  readonly ip: Ipv4;
  /** From then on somebody else may have the address. */
  readonly untilMs: number;
  /** Offered, and not yet taken. */
  readonly isOffer: boolean;
}

/** A lease as a list of them shows it. */
export interface HeldLease {
  readonly mac: Mac;
  readonly ip: Ipv4;
  readonly untilMs: number;
  readonly isReserved: boolean;
}

export class DhcpServer implements UdpOwner {
  private readonly options: DhcpServerOptions;
  /** Also those that ended: a client gets the address again that it had, if it is free. */
  private readonly leases = new Map<Mac, Lease>();
  private readonly reserved: ReadonlyMap<Mac, Ipv4>;
  /** Those for whom nothing was left when they asked last. */
  private readonly refused = new Set<Mac>();
  private socket: UdpSocket | undefined;

  constructor(options: DhcpServerOptions) {
    this.options = options;
    this.reserved = new Map(options.reservations?.map(({ mac, address }) => [mac, address]));
  }

  get ip(): Ipv4 {
    return this.ownIp;
  }

  get range(): Pick<DhcpServerOptions, "first" | "last"> {
    return this.options;
  }

  /** True when the range was used up for whoever has this MAC. */
  hasRefused(mac: Mac): boolean {
    return this.refused.has(mac);
  }

  /** Begins to serve. @returns why it cannot. */
  start(): SocketFailure | undefined {
    const socket = this.options.compartment.udp.bind({ port: DHCP_SERVER_PORT, owner: this });
    if (typeof socket === "string") return socket;
    this.socket = socket;
    return undefined;
  }

  close(): void {
    this.socket?.close();
    this.socket = undefined;
  }

  /** What is taken. */
  listLeases(): readonly HeldLease[] {
    const { nowMs } = this.options.compartment;
    return [...this.leases].flatMap(([mac, { ip, untilMs, isOffer }]) =>
      untilMs > nowMs && !isOffer ? [{ mac, ip, untilMs, isReserved: this.reserved.get(mac) === ip }] : [],
    );
  }

  /** Reservations that nobody has taken. */
  listFreeReservations(): readonly { readonly mac: Mac; readonly ip: Ipv4 }[] {
    const taken = new Set(this.listLeases().map(({ ip }) => ip));
    return [...this.reserved].flatMap(([mac, ip]) => (taken.has(ip) ? [] : [{ mac, ip }]));
  }

  udpReceived(_socket: UdpSocket, { bytes }: UdpDatagram): void {
    const message = parseDhcp(bytes);
    if (message?.type === "discover") {
      const ip = this.addressFor(message.clientMac);
      if (ip !== undefined) this.answer(message, "offer", ip);
    } else if (message?.type === "request" && isFor(message, this.ownIp)) this.grant(message);
    else if (message?.type === "request" && this.leases.get(message.clientMac)?.isOffer === true)
      this.leases.delete(message.clientMac);
  }

  /**
   * Inferred: a server that does not know a client says nothing to its renewal, which may be another server's business; RFC
   * 2131 §4.3.2 has this for a client that begins with an address.
   */
  private grant(message: DhcpMessage): void {
    const { clientMac, clientIp, requestedIp, serverId } = message;
    const ip = this.leases.get(clientMac)?.ip;
    if (ip === undefined && serverId === undefined) return;
    if (ip === undefined || ip !== (clientIp ?? requestedIp)) {
      this.answer(message, "nak", 0 as Ipv4);
      return;
    }
    const { leaseSeconds = LEASE_SECONDS } = this.options;
    this.hold(clientMac, ip, leaseSeconds * 1_000, false);
    this.answer(message, "ack", ip);
  }

  udpFailed(): void {
    // A broadcast has no receiver who could refuse it.
  }

  private get ownIp(): Ipv4 {
    const { netInterface, subnet } = this.options;
    const own = netInterface.addresses.find(({ ip }) => prefixContains(subnet, ip))?.ip;
    return defined(typeof own === "number" ? own : undefined, "a server has an address of its own");
  }

  /** Undefined: the range is used up. */
  private addressFor(mac: Mac): Ipv4 | undefined {
    const { nowMs } = this.options.compartment;
    const known = this.leases.get(mac);
    const own = this.reserved.get(mac) ?? known?.ip;
    this.refused.delete(mac);
    if (own !== undefined) {
      if (own !== known?.ip || known.untilMs < nowMs + OFFER_MS) this.hold(mac, own, OFFER_MS);
      return own;
    }
    const owners = new Map([...this.leases].map(([owner, { ip }]) => [ip, owner]));
    const kept = new Set(this.reserved.values());
    for (let ip: number = this.options.first; ip <= this.options.last; ip++) {
      if (kept.has(ip as Ipv4)) continue;
      const exclusion = this.options.exclusions?.find((each) => prefixContains(each, ip as Ipv4));
      if (exclusion !== undefined) {
        ip = Number(lastIp(exclusion));
        continue;
      }
      const owner = owners.get(ip as Ipv4);
      if (owner !== undefined && (this.leases.get(owner)?.untilMs ?? 0) > nowMs) continue;
      if (owner === undefined && owners.size >= LIMITS.neighborsPerInterfaceMax) continue;
      if (owner !== undefined) this.leases.delete(owner);
      this.hold(mac, ip as Ipv4, OFFER_MS);
      return ip as Ipv4;
    }
    if (this.refused.size < LIMITS.neighborsPerInterfaceMax) this.refused.add(mac);
    return undefined;
  }

  private hold(mac: Mac, ip: Ipv4, forMs: number, isOffer = true): void {
    this.leases.set(mac, { ip, untilMs: this.options.compartment.nowMs + forMs, isOffer });
  }

  private answer(
    { transaction, clientMac, clientIp }: DhcpMessage,
    type: "offer" | "ack" | "nak",
    yourIp: Ipv4,
  ): void {
    const {
      compartment,
      netInterface,
      subnet,
      router,
      dnsServers,
      leaseSeconds = LEASE_SECONDS,
    } = this.options;
    const base = { type, transaction, clientMac, yourIp, serverId: this.ownIp };
    const subnetMask = maskOf(subnet.length);
    const message = type === "nak" ? base : { ...base, leaseSeconds, subnetMask, router, dnsServers };
    // Who has an address is answered there (RFC 2131 §4.1); a refusal is for everybody to hear.
    if (clientIp === undefined || type === "nak")
      broadcastDhcp(compartment, netInterface, this.ownIp, message);
    else this.socket?.send({ destination: clientIp, port: DHCP_CLIENT_PORT, bytes: buildDhcp(message) });
  }
}

/** A request that names another server is a refusal of this one's offer. */
function isFor({ serverId }: DhcpMessage, ownIp: Ipv4): boolean {
  return serverId === undefined || serverId === ownIp;
}

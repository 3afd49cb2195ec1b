/** A DHCP server on a machine of the segment (RFC 2131 §4.3): a range of addresses, one for each MAC that asks. */
import { defined } from "#core/base/assert.ts";
import { LIMITS } from "#core/base/limits.ts";
import { broadcastDhcp } from "../host/dhcp/dhcp-frame.ts";
import type { Compartment } from "../host/compartment.ts";
import type { Interface } from "../host/interface.ts";
import type { SocketFailure } from "../host/delivery-failure.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../host/udp.ts";
import { type Ipv4, type Prefix, maskOf, prefixContains } from "#core/net/ip.ts";
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
}

const LEASE_SECONDS = 86_400;
/** How long an offer is kept for the one who asked. */
const OFFER_MS = 60_000;

interface Lease {
  readonly ip: Ipv4;
  /** From then on somebody else may have the address. */
  readonly untilMs: number;
}

export class DhcpServer implements UdpOwner {
  private readonly options: DhcpServerOptions;
  /** Also those that ended: a client gets the address again that it had, if it is free. */
  private readonly leases = new Map<Mac, Lease>();
  private socket: UdpSocket | undefined;

  constructor(options: DhcpServerOptions) {
    this.options = options;
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

  listLeases(): readonly { readonly mac: Mac; readonly ip: Ipv4 }[] {
    const { nowMs } = this.options.compartment;
    return [...this.leases].flatMap(([mac, { ip, untilMs }]) => (untilMs > nowMs ? [{ mac, ip }] : []));
  }

  udpReceived(_socket: UdpSocket, { bytes }: UdpDatagram): void {
    const message = parseDhcp(bytes);
    if (message?.type === "discover") {
      const ip = this.addressFor(message.clientMac);
      if (ip !== undefined) this.answer(message, "offer", ip);
    } else if (message?.type === "request" && isFor(message, this.ownIp)) {
      const { clientMac, clientIp, requestedIp } = message;
      const ip = this.leases.get(clientMac)?.ip;
      if (ip === undefined || ip !== (clientIp ?? requestedIp)) this.answer(message, "nak", 0 as Ipv4);
      else {
        const { leaseSeconds = LEASE_SECONDS } = this.options;
        this.hold(clientMac, ip, leaseSeconds * 1_000);
        this.answer(message, "ack", ip);
      }
    }
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
    if (known !== undefined) {
      if (known.untilMs < nowMs + OFFER_MS) this.hold(mac, known.ip, OFFER_MS);
      return known.ip;
    }
    const owners = new Map([...this.leases].map(([owner, { ip }]) => [ip, owner]));
    for (let ip: number = this.options.first; ip <= this.options.last; ip++) {
      const owner = owners.get(ip as Ipv4);
      if (owner !== undefined && (this.leases.get(owner)?.untilMs ?? 0) > nowMs) continue;
      if (owner === undefined && owners.size >= LIMITS.neighborsPerInterfaceMax) continue;
      if (owner !== undefined) this.leases.delete(owner);
      this.hold(mac, ip as Ipv4, OFFER_MS);
      return ip as Ipv4;
    }
    return undefined;
  }

  private hold(mac: Mac, ip: Ipv4, forMs: number): void {
    this.leases.set(mac, { ip, untilMs: this.options.compartment.nowMs + forMs });
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

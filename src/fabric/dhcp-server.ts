/** A DHCP server on a machine of the segment (RFC 2131 §4.3): a range of addresses, one for each MAC that asks. */
import { defined } from "../base/assert.ts";
import { LIMITS } from "../base/limits.ts";
import { broadcastDhcp } from "../host/dhcp/dhcp-frame.ts";
import type { Compartment } from "../host/compartment.ts";
import type { Interface } from "../host/interface.ts";
import type { SocketFailure } from "../host/socket-failure.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../host/udp.ts";
import type { Ipv4 } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import { type Prefix, prefixContains } from "../net/prefix.ts";
import { DHCP_SERVER_PORT, type DhcpMessage, parseDhcp } from "../wire/dhcp.ts";

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

export class DhcpServer implements UdpOwner {
  private readonly options: DhcpServerOptions;
  private readonly leases = new Map<Mac, Ipv4>();
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
    return [...this.leases].map(([mac, ip]) => ({ mac, ip }));
  }

  udpReceived(_socket: UdpSocket, { bytes }: UdpDatagram): void {
    const message = parseDhcp(bytes);
    if (message?.type === "discover") {
      const ip = this.addressFor(message.clientMac);
      if (ip !== undefined) this.answer(message, "offer", ip);
    } else if (message?.type === "request" && isFor(message, this.ownIp)) {
      const ip = this.leases.get(message.clientMac);
      if (ip !== undefined && ip === message.requestedIp) this.answer(message, "ack", ip);
      else this.answer(message, "nak", 0 as Ipv4);
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
    const known = this.leases.get(mac);
    if (known !== undefined) return known;
    const taken = new Set(this.leases.values());
    if (taken.size >= LIMITS.neighborsPerInterfaceMax) return undefined;
    for (let ip: number = this.options.first; ip <= this.options.last; ip++) {
      if (taken.has(ip as Ipv4)) continue;
      this.leases.set(mac, ip as Ipv4);
      return ip as Ipv4;
    }
    return undefined;
  }

  private answer({ transaction, clientMac }: DhcpMessage, type: "offer" | "ack" | "nak", yourIp: Ipv4): void {
    const {
      compartment,
      netInterface,
      subnet,
      router,
      dnsServers,
      leaseSeconds = LEASE_SECONDS,
    } = this.options;
    const base = { type, transaction, clientMac, yourIp, serverId: this.ownIp };
    const subnetMask = ((0xffff_ffff << (32 - subnet.length)) >>> 0) as Ipv4;
    const message = type === "nak" ? base : { ...base, leaseSeconds, subnetMask, router, dnsServers };
    broadcastDhcp(compartment, netInterface, this.ownIp, message);
  }
}

/** A request that names another server is a refusal of this one's offer. */
function isFor({ serverId }: DhcpMessage, ownIp: Ipv4): boolean {
  return serverId === undefined || serverId === ownIp;
}

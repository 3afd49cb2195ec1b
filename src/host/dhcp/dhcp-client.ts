/**
 * The DHCP client of an interface (RFC 2131 §4.4): DISCOVER, OFFER, REQUEST, ACK, and the address is there. It asks four
 * times, 4, 8 and 16 s apart (§4.1), and gives up. A lease is not renewed.
 */
import type { Task, Timer } from "../../base/clock.ts";
import type { Ipv4 } from "../../net/ip.ts";
import { ANY_IPV4 } from "../../net/prefix.ts";
import { DHCP_CLIENT_PORT, type DhcpMessage, parseDhcp } from "../../wire/dhcp.ts";
import type { Compartment } from "../compartment.ts";
import type { Interface } from "../interface.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../udp.ts";
import { broadcastDhcp } from "./dhcp-frame.ts";

const NOBODY = 0 as Ipv4;
const FIRST_WAIT_MS = 4_000;
const TRIES_MAX = 4;
/** What Windows gives a gateway. */
const DEFAULT_ROUTE_METRIC = 256;

/** What a server granted. */
export interface DhcpLease {
  readonly ip: Ipv4;
  readonly length: number;
  readonly router: Ipv4 | undefined;
  readonly dnsServers: readonly Ipv4[];
  readonly serverId: Ipv4;
  /** On the clock of the world. */
  readonly expiresAtMs: number;
}

export class DhcpClient implements UdpOwner, Task {
  lease: DhcpLease | undefined;
  private readonly compartment: Compartment;
  private readonly netInterface: Interface;
  private readonly transaction: number;
  private socket: UdpSocket | undefined;
  private offer: DhcpMessage | undefined;
  private tries = 0;
  private timer: Timer | undefined;

  constructor(compartment: Compartment, netInterface: Interface) {
    this.compartment = compartment;
    this.netInterface = netInterface;
    this.transaction = compartment.prng.derive(`dhcp/${netInterface.name}`).nextU32();
  }

  /** Begins to ask; once. A client of another interface of the compartment may have the port: then this one is silent. */
  start(): void {
    const socket = this.compartment.udp.bind({ port: DHCP_CLIENT_PORT, owner: this });
    if (typeof socket === "string") return;
    this.socket = socket;
    this.ask();
  }

  /** Nobody answered. */
  run(): void {
    this.timer = undefined;
    if (this.tries >= TRIES_MAX) this.stop();
    else this.ask();
  }

  /** Asks no more; what it has stays. */
  stop(): void {
    if (this.timer !== undefined) this.compartment.env.clock.cancel(this.timer);
    this.timer = undefined;
    this.socket?.close();
    this.socket = undefined;
  }

  udpReceived(_socket: UdpSocket, { bytes }: UdpDatagram): void {
    const message = parseDhcp(bytes);
    const isOurs = message?.transaction === this.transaction && message.clientMac === this.netInterface.mac;
    if (message === undefined || !isOurs || this.lease !== undefined) return;
    if (message.type === "offer" && this.offer === undefined) {
      this.offer = message;
      this.tries = 0;
      this.ask();
    } else if (message.type === "nak") {
      this.offer = undefined;
      this.ask();
    } else if (message.type === "ack" && this.offer !== undefined) {
      this.take(message);
    }
  }

  udpFailed(): void {
    // A broadcast has no receiver who could refuse it.
  }

  private ask(): void {
    if (this.timer !== undefined) this.compartment.env.clock.cancel(this.timer);
    const { offer, transaction } = this;
    const base = { transaction, clientMac: this.netInterface.mac, yourIp: NOBODY };
    const message: DhcpMessage =
      offer === undefined
        ? { ...base, type: "discover" }
        : {
            ...base,
            type: "request",
            requestedIp: offer.yourIp,
            ...(offer.serverId !== undefined && { serverId: offer.serverId }),
          };
    broadcastDhcp(this.compartment, this.netInterface, NOBODY, message);
    this.timer = this.compartment.env.clock.schedule(FIRST_WAIT_MS * 2 ** this.tries, this);
    this.tries++;
  }

  private take({
    yourIp,
    subnetMask,
    router,
    dnsServers = [],
    leaseSeconds = 0,
    serverId,
  }: DhcpMessage): void {
    const length = lengthOf(subnetMask);
    const expiresAtMs = this.compartment.nowMs + leaseSeconds * 1_000;
    this.lease = Object.freeze({
      ip: yourIp,
      length,
      router,
      dnsServers: Object.freeze([...dnsServers]),
      serverId: serverId ?? NOBODY,
      expiresAtMs,
    });
    this.stop();
    this.compartment.addAddress(this.netInterface, { ip: yourIp, length });
    if (router !== undefined)
      this.compartment.addRoute({
        prefix: ANY_IPV4,
        nextHop: router,
        interface: this.netInterface,
        metric: DEFAULT_ROUTE_METRIC,
      });
    if (dnsServers.length > 0 && this.compartment.dns.servers.length === 0)
      this.compartment.dns = { ...this.compartment.dns, servers: dnsServers };
  }
}

/** The number of leading ones; 32 without a mask. */
function lengthOf(mask: Ipv4 | undefined): number {
  return mask === undefined ? 32 : Math.clz32(~mask);
}

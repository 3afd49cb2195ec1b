/** UDP of one compartment (RFC 768, RFC 1122 §4.1). */
import { addToList } from "#core/base/keyed-lists.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { PacketTag } from "#core/base/recorder.ts";
import { type Ip, familyOf, formatIp } from "#core/net/ip.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { UdpView } from "#core/wire/udp.ts";
import type { SentPacket, DeliveryFailure, SocketFailure } from "./delivery-failure.ts";
import type { LocalPacket, Stack } from "./stack.ts";
import { NO_LINK } from "./ip/ip-output.ts";
import { LocalPorts } from "./local-ports.ts";

/** What 65535 bytes of IPv4 leave without both headers. */
const PAYLOAD_BYTES_MAX = 65_507;
/** An IP header without options and a UDP header. */
const HEADERS_BYTES: Readonly<Record<4 | 6, number>> = Object.freeze({ 4: 28, 6: 48 });

/** A datagram that arrived. */
export interface UdpDatagram {
  readonly source: Ip;
  readonly sourcePort: number;
  /** The address it was sent to; an answer should come from it. */
  readonly destination: Ip;
  readonly destinationPort: number;
  readonly bytes: Uint8Array;
}

/** Gets what a socket receives. */
export interface UdpOwner {
  udpReceived(socket: UdpSocket, datagram: UdpDatagram): void;
  /** A datagram to `destination` and `port` did not arrive. */
  udpFailed(socket: UdpSocket, failure: DeliveryFailure, destination: Ip, port: number): void;
}

/** Takes datagrams to a port before sockets do, whole: a tunnel of the kernel (Linux' `encap_rcv`). */
export interface UdpTunnel {
  /** `headers` are those of the packet, up to UDP. */
  tunnelReceived(packet: Packet, headers: Headers): void;
}

export interface UdpBindOptions {
  readonly owner: UdpOwner;
  /** Takes only what is sent to this address. Default: any address of the compartment. */
  readonly ip?: Ip;
  /** Default: a port of the system's ephemeral range. */
  readonly port?: number;
}

export interface UdpSendOptions {
  readonly destination: Ip;
  readonly port: number;
  readonly bytes: Uint8Array;
  /** Default: the address the socket is bound to, else chosen by the route. */
  readonly source?: Ip;
  /** Default: 2 while a packet with tag 1 is handled, else 0. */
  readonly tag?: PacketTag;
}

export class UdpSocket {
  /** Undefined when it takes what is sent to any address. */
  readonly ip: Ip | undefined;
  readonly port: number;
  readonly owner: UdpOwner;
  private readonly udp: Udp;

  /** Made by `Udp.bind` only. */
  constructor(udp: Udp, options: UdpBindOptions, port: number) {
    this.udp = udp;
    this.ip = options.ip;
    this.port = port;
    this.owner = options.owner;
  }

  /** Sends one datagram. @returns why it could not be sent; undefined when it is on its way. */
  send(options: UdpSendOptions): SocketFailure | undefined {
    return this.udp.send(this, options);
  }

  close(): void {
    this.udp.close(this);
  }
}

export class Udp {
  readonly ports: LocalPorts;
  /** By port. */
  readonly tunnels: Map<number, UdpTunnel> = new Map();
  private readonly compartment: Stack;
  private readonly sockets = new Map<number, UdpSocket[]>();
  private count = 0;

  constructor(compartment: Stack) {
    this.compartment = compartment;
    this.ports = new LocalPorts(compartment.profile.ephemeralPorts, compartment.prng.derive("udp-ports"));
  }

  bind(options: UdpBindOptions): UdpSocket | SocketFailure {
    if (this.compartment.refusesSockets) return "access-denied";
    if (this.count >= LIMITS.socketsPerCompartmentMax) return "too-many-sockets";
    if (options.ip !== undefined && !this.compartment.isLocal(options.ip)) return "address-not-local";
    if (options.port !== undefined) {
      if (this.ports.isHeld(options.port)) return "port-in-use";
      if (this.sockets.get(options.port)?.some((other) => other.ip === options.ip) === true)
        return "port-in-use";
      this.ports.reserve(options.port);
    }
    const port = options.port ?? this.ports.reserveEphemeral();
    if (port === undefined) return "no-free-port";
    const socket = new UdpSocket(this, options, port);
    addToList(this.sockets, port, socket);
    this.count++;
    return socket;
  }

  /** All sockets, by the order in which their ports were first bound. */
  listSockets(): readonly UdpSocket[] {
    return [...this.sockets.values()].flat();
  }

  send(socket: UdpSocket, options: UdpSendOptions): SocketFailure | undefined {
    const { destination, bytes } = options;
    if (bytes.length > PAYLOAD_BYTES_MAX) return "message-too-long";
    const path = this.compartment.output.findPath(destination, options.source ?? socket.ip);
    if (path === undefined) return "no-route";
    const isFitting = bytes.length + HEADERS_BYTES[familyOf(path.destination)] <= path.mtuBytes;
    const isDontFragment = this.compartment.profile.isDatagramUnfragmented && isFitting;
    const ip = this.compartment.output.header(path, { isDontFragment });
    const udp = { sourcePort: socket.port, destinationPort: options.port };
    const packet = buildUdpFrame({ link: NO_LINK, ip, udp, payload: bytes });
    packet.tag = this.compartment.requestTag(options.tag ?? this.compartment.answerTag);
    return this.compartment.output.send(packet, path) ? undefined : "message-too-long";
  }

  close(socket: UdpSocket): void {
    const others = this.sockets.get(socket.port);
    const index = others?.indexOf(socket) ?? -1;
    if (others === undefined || index < 0) return;
    others.splice(index, 1);
    if (others.length === 0) this.sockets.delete(socket.port);
    this.ports.release(socket.port);
    this.count--;
  }

  receive(local: LocalPacket): void {
    const { packet, headers, source, destination } = local;
    const view = UdpView.parse(packet.bytes, headers.transport, headers.end);
    if (typeof view === "string") {
      this.compartment.dropMalformed(packet, view);
      return;
    }
    const { sourcePort, destinationPort } = view;
    const tunnel = this.tunnels.get(destinationPort);
    if (tunnel !== undefined) {
      tunnel.tunnelReceived(packet, headers);
      return;
    }
    const socket = this.find(destination, destinationPort);
    if (socket === undefined) {
      const text = `no socket listens on UDP ${formatIp(destination)} port ${destinationPort}`;
      this.compartment.drop(packet, "port-not-listening", text);
      if (!local.isBroadcast) this.compartment.icmp.sendError(packet, "port-unreachable");
      return;
    }
    if (packet.tag !== 0)
      this.compartment.record(packet, "deliver", `taken by the socket on UDP port ${destinationPort}`);
    const bytes = packet.bytes.slice(view.payloadStart, view.payloadEnd);
    socket.owner.udpReceived(socket, { source, sourcePort, destination, destinationPort, bytes });
  }

  /** Tells the socket that sent a packet that it did not arrive. */
  fail(sent: SentPacket, failure: DeliveryFailure): void {
    const socket = this.find(sent.source, sent.sourcePort);
    socket?.owner.udpFailed(socket, failure, sent.destination, sent.destinationPort);
  }

  /** The socket for an own address and port: one that is bound to the address before one that is not. */
  private find(ip: Ip, port: number): UdpSocket | undefined {
    const sockets = this.sockets.get(port);
    return sockets?.find((socket) => socket.ip === ip) ?? sockets?.find((socket) => socket.ip === undefined);
  }
}

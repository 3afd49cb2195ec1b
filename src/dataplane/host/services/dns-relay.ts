/**
 * The DNS proxy of a host on the gateway of a network behind it (`EnableDnsProxy`; dataplane.md §2.7, §5.3): it passes
 * questions on to the host's own servers, and their answers back. It looks at no name.
 */
import { readU16, writeU16 } from "#core/base/bytes.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Compartment } from "../compartment.ts";
import type { SocketFailure } from "../delivery-failure.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../udp.ts";

const DNS_PORT = 53;
const HEADER_BYTES = 12;
/** RFC 1035 §4.1.1: QR set, RCODE 2. */
const RESPONSE_FLAG = 0x8000;
const SERVER_FAILURE = 2;

/** A question that waits for its answer. */
interface Waiting {
  readonly client: Ip;
  readonly port: number;
  readonly id: number;
  readonly gateway: UdpSocket;
  readonly gatewayIp: Ip;
  readonly server: Ip;
}

/** The side of the host's servers. */
class Upstream implements UdpOwner {
  private readonly relay: DnsRelay;

  constructor(relay: DnsRelay) {
    this.relay = relay;
  }

  udpReceived(_socket: UdpSocket, datagram: UdpDatagram): void {
    this.relay.answered(datagram);
  }

  udpFailed(): void {
    // The client asks again, as it would of a server that does not answer.
  }
}

export class DnsRelay implements UdpOwner {
  private readonly compartment: Compartment;
  private readonly sockets: UdpSocket[] = [];
  private upstream: UdpSocket | undefined;
  /** By the id that the host's server sees, the oldest first. */
  private readonly waiting = new Map<number, Waiting>();

  constructor(compartment: Compartment) {
    this.compartment = compartment;
  }

  /** Serves on exactly these own addresses. @returns why it cannot serve on one of them. */
  listen(addresses: readonly Ip[]): SocketFailure | undefined {
    for (const socket of this.sockets.slice())
      if (socket.ip === undefined || !addresses.includes(socket.ip)) {
        socket.close();
        this.sockets.splice(this.sockets.indexOf(socket), 1);
      }
    for (const ip of addresses) {
      if (this.sockets.some((socket) => socket.ip === ip)) continue;
      const socket = this.compartment.udp.bind({ ip, port: DNS_PORT, owner: this });
      if (typeof socket === "string") return socket;
      this.sockets.push(socket);
    }
    return undefined;
  }

  close(): void {
    this.listen([]);
    this.upstream?.close();
    this.upstream = undefined;
    this.waiting.clear();
  }

  /** A question of a client. */
  udpReceived(gateway: UdpSocket, { source, sourcePort, destination, bytes }: UdpDatagram): void {
    if (bytes.length < HEADER_BYTES || (readU16(bytes, 2) & RESPONSE_FLAG) !== 0) return;
    const [server] = this.compartment.dns.servers;
    const upstream = this.openUpstream();
    if (server === undefined || upstream === undefined) {
      const refusal = bytes.slice();
      writeU16(refusal, 2, (readU16(bytes, 2) | RESPONSE_FLAG | SERVER_FAILURE) & 0xffff);
      gateway.send({ destination: source, port: sourcePort, bytes: refusal, source: destination });
      return;
    }
    const id = this.freeId();
    const waiting = {
      client: source,
      port: sourcePort,
      id: readU16(bytes, 0),
      gateway,
      gatewayIp: destination,
    };
    this.waiting.set(id, { ...waiting, server });
    const question = bytes.slice();
    writeU16(question, 0, id);
    upstream.send({ destination: server, port: DNS_PORT, bytes: question });
  }

  udpFailed(): void {
    // A client that went away is no news.
  }

  /** Called by the other side: what one of the host's servers said. Nobody else is believed. */
  answered({ source, sourcePort, bytes }: UdpDatagram): void {
    if (bytes.length < HEADER_BYTES || sourcePort !== DNS_PORT) return;
    const id = readU16(bytes, 0);
    const waiting = this.waiting.get(id);
    if (waiting === undefined || waiting.server !== source) return;
    this.waiting.delete(id);
    const answer = bytes.slice();
    writeU16(answer, 0, waiting.id);
    const { client, port, gateway, gatewayIp } = waiting;
    gateway.send({ destination: client, port, bytes: answer, source: gatewayIp });
  }

  private openUpstream(): UdpSocket | undefined {
    if (this.upstream !== undefined) return this.upstream;
    const socket = this.compartment.udp.bind({ owner: new Upstream(this) });
    if (typeof socket === "string") return undefined;
    this.upstream = socket;
    return socket;
  }

  /** Not to be guessed, and nobody's who waits; the oldest question makes room. */
  private freeId(): number {
    if (this.waiting.size >= LIMITS.relayedQuestionsMax) {
      const [oldest] = this.waiting.keys();
      if (oldest !== undefined) this.waiting.delete(oldest);
    }
    let id = this.compartment.prng.below(0x1_0000);
    while (this.waiting.has(id)) id = (id + 1) & 0xffff;
    return id;
  }
}

/**
 * The built-in server of pods and outside hosts: it answers each line over TCP and each datagram over UDP with its
 * name and the client that it saw; that line is the page of an HTTP request. What was reached, and which address a NAT left, is thereby proven end to end.
 * An HTTP request with a body gets that body back, so that it can be proven that large ones arrive whole.
 */
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { Compartment } from "../compartment.ts";
import type { SocketFailure } from "../delivery-failure.ts";
import type { TcpConnection, TcpAcceptor, TcpOwner } from "../tcp/tcp-connection.ts";
import type { TcpListener } from "../tcp/tcp.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../udp.ts";
import { decodeAscii, encodeAscii } from "./ascii.ts";
import {
  HEAD_CHARACTERS_MAX,
  HEAD_END,
  type HttpReply,
  REQUEST_LINE,
  formatHead,
  formatReply,
} from "./http-server.ts";
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import { isPort } from "#core/net/port-range.ts";

/** One answer: `web-1 saw 10.244.1.10:49152`. */
export interface Identification {
  /** Name of the server, without spaces at its ends. */
  readonly name: string;
  /** The client as the server saw it, after every NAT on the way. */
  readonly clientIp: Ip;
  readonly clientPort: number;
}

/** Formats one answer as a line, its end included. */
export function formatIdentification(identification: Identification): string {
  const { name, clientIp, clientPort } = identification;
  return `${name} saw ${formatSocketAddress(clientIp, clientPort)}\n`;
}

/** Parses an answer; undefined when it is not one of these. */
export function parseIdentification(text: string): Identification | undefined {
  const match = /^(.+) saw (?:\[([0-9a-f:.]+)\]|([0-9.]+)):(\d{1,5})\s*$/.exec(text);
  const clientIp = parseIp(match?.[2] ?? match?.[3] ?? "");
  const clientPort = Number(match?.[4]);
  if (match?.[1] === undefined || clientIp === undefined || !isPort(clientPort)) return undefined;
  return { name: match[1], clientIp, clientPort };
}

/** A longer line is answered where it is. */
const LINE_CHARACTERS_MAX = 1_024;
/** Of a server; the oldest go first. */
const LOG_LINES_MAX = 100;

/** Who was answered where, and when by the clock of the world. */
export interface AnsweredClient {
  /** Counts up from 1. */
  readonly number: number;
  readonly atMs: number;
  readonly clientIp: Ip;
  readonly clientPort: number;
  readonly protocol: "TCP" | "UDP";
  readonly port: number;
}

const NONE: readonly AnsweredClient[] = Object.freeze([]);

/** The answer for a client that speaks HTTP: the line is the page. */
function pageOf(line: Uint8Array): HttpReply {
  return { status: 200, headers: { "Content-Type": "text/plain; charset=utf-8" }, body: decodeAscii(line) };
}

/** RFC 9110 §15.2.1: the client may send the body. */
const GO_ON = `HTTP/1.1 100 Continue${HEAD_END}`;
const NO_BODY = Object.freeze({ lengthBytes: 0, isAskedFor: false });

function echoHeaders(lengthBytes: number): Readonly<Record<string, string>> {
  return {
    "Content-Type": "application/octet-stream",
    "Content-Length": String(lengthBytes),
    Connection: "close",
  };
}

/** What the head of a request says of its body: how long it is, and whether the client waits until it is asked for it (RFC 9110 §8.6, §10.1.1). */
function readBodyHead(text: string): { readonly lengthBytes: number; readonly isAskedFor: boolean } {
  const head = text.slice(0, text.indexOf(HEAD_END) + HEAD_END.length).toLowerCase();
  const length = /\r\ncontent-length: *(\d{1,12})\r\n/.exec(head)?.[1];
  if (length === undefined) return NO_BODY;
  return { lengthBytes: Number(length), isAskedFor: head.includes("\r\nexpect: 100-continue\r\n") };
}

/** One TCP client: its line is awaited, or all of its HTTP request; it is answered, and the connection closed. */
class Session implements TcpOwner {
  private readonly server: IdentificationServer;
  private text = "";
  private isAnswered = false;
  /** Bytes of the request's body that go back to the client. */
  private echoedBytes = 0;

  constructor(server: IdentificationServer) {
    this.server = server;
  }

  tcpConnected(): void {
    // The client speaks first.
  }

  tcpData(connection: TcpConnection, bytes: Uint8Array): void {
    if (this.isAnswered) {
      this.echo(connection, bytes);
      return;
    }
    const known = this.text.length;
    this.text += decodeAscii(bytes);
    const isWhole = this.isHttp
      ? this.text.includes(HEAD_END) || this.text.length > HEAD_CHARACTERS_MAX
      : this.text.includes("\n") || this.text.length > LINE_CHARACTERS_MAX;
    if (!isWhole) return;
    const bodyAt = this.text.indexOf(HEAD_END) + HEAD_END.length;
    this.answer(connection);
    this.echo(connection, bytes.subarray(Math.max(0, bodyAt - known)));
  }

  /** The first line is that of an HTTP request. */
  private get isHttp(): boolean {
    const end = this.text.indexOf("\n");
    return end >= 0 && REQUEST_LINE.test(this.text.slice(0, end).trimEnd());
  }

  tcpPeerFinished(connection: TcpConnection): void {
    if (this.text !== "") this.answer(connection);
    connection.close();
  }

  tcpClosed(): void {
    // Nothing is kept per client.
  }

  private answer(connection: TcpConnection): void {
    if (this.isAnswered) return;
    this.isAnswered = true;
    const { remoteIp, remotePort, localPort } = connection;
    const line = this.server.answerTo({
      clientIp: remoteIp,
      clientPort: remotePort,
      protocol: "TCP",
      port: localPort,
    });
    const body = this.isHttp ? readBodyHead(this.text) : NO_BODY;
    this.echoedBytes = body.lengthBytes;
    if (body.isAskedFor) connection.send(encodeAscii(GO_ON));
    if (this.echoedBytes > 0) connection.send(encodeAscii(formatHead(200, echoHeaders(this.echoedBytes))));
    else {
      connection.send(this.isHttp ? encodeAscii(formatReply(pageOf(line))) : line);
      connection.close();
    }
  }

  private echo(connection: TcpConnection, bytes: Uint8Array): void {
    if (this.echoedBytes === 0) return;
    const part = bytes.subarray(0, this.echoedBytes);
    this.echoedBytes -= part.length;
    // A client that writes and does not read fills what the stack holds.
    if (part.length > 0 && !connection.send(part)) connection.abort();
    else if (this.echoedBytes === 0) connection.close();
  }
}

export class IdentificationServer implements TcpAcceptor, UdpOwner {
  readonly name: string;
  /** How many lines and datagrams were answered. */
  answeredCount = 0;
  /** The newest of them, the oldest first; frozen, so that copies share it. */
  log: readonly AnsweredClient[] = NONE;
  private readonly compartment: Compartment;
  private readonly listeners: TcpListener[] = [];
  private readonly sockets: UdpSocket[] = [];

  /** Serves in `compartment` under `name`, which its answers carry. */
  constructor(compartment: Compartment, name: string) {
    this.compartment = compartment;
    this.name = name;
  }

  /** Serves a TCP port. `ip` limits it to one address. @returns why it cannot. */
  listenTcp(port: number, ip?: Ip): SocketFailure | undefined {
    const listener = this.compartment.tcp.listen({
      port,
      acceptor: this,
      ...(ip === undefined ? {} : { ip }),
    });
    if (typeof listener === "string") return listener;
    this.listeners.push(listener);
    return undefined;
  }

  /** Serves a UDP port. `ip` limits it to one address. @returns why it cannot. */
  listenUdp(port: number, ip?: Ip): SocketFailure | undefined {
    const socket = this.compartment.udp.bind({ port, owner: this, ...(ip === undefined ? {} : { ip }) });
    if (typeof socket === "string") return socket;
    this.sockets.push(socket);
    return undefined;
  }

  /** Where it answers now, TCP first, in the order in which the ports were opened. */
  listPorts(): readonly { readonly port: number; readonly protocol: "TCP" | "UDP" }[] {
    return [
      ...this.listeners.map(({ port }) => ({ port, protocol: "TCP" as const })),
      ...this.sockets.map(({ port }) => ({ port, protocol: "UDP" as const })),
    ];
  }

  /** Leaves a port to another server, over UDP and TCP. */
  leavePort(port: number): void {
    for (const served of [this.sockets, this.listeners]) {
      const index = served.findIndex((each) => each.port === port);
      if (index >= 0) served.splice(index, 1)[0]?.close();
    }
  }

  /** Serves no more. Connections that exist are still answered. */
  close(): void {
    for (const listener of this.listeners.splice(0)) listener.close();
    for (const socket of this.sockets.splice(0)) socket.close();
  }

  tcpAccepted(): TcpOwner {
    return new Session(this);
  }

  udpReceived(socket: UdpSocket, datagram: UdpDatagram): void {
    const { source, sourcePort, destination } = datagram;
    const bytes = this.answerTo({
      clientIp: source,
      clientPort: sourcePort,
      protocol: "UDP",
      port: socket.port,
    });
    // The client waits for an answer from the address that it asked.
    const isOwn = this.compartment.isLocal(destination);
    socket.send({ destination: source, port: sourcePort, bytes, ...(isOwn ? { source: destination } : {}) });
  }

  udpFailed(): void {
    // A client that went away is no news.
  }

  /** The answer for one client. */
  answerTo(client: Omit<AnsweredClient, "number" | "atMs">): Uint8Array {
    this.answeredCount++;
    const entry = Object.freeze({ ...client, number: this.answeredCount, atMs: this.compartment.nowMs });
    this.log = Object.freeze([...this.log.slice(1 - LOG_LINES_MAX), entry]);
    const { clientIp, clientPort } = client;
    return encodeAscii(formatIdentification({ name: this.name, clientIp, clientPort }));
  }
}

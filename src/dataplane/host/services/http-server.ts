/**
 * An HTTP server of a simulated machine: one request a connection, answered by an object of its owner. As much of HTTP/1.1
 * as a health check asks for (RFC 9112); what is no request is answered as Go's servers do, with 400.
 */
import type { Compartment } from "../compartment.ts";
import type { SocketFailure } from "../delivery-failure.ts";
import type { TcpConnection, TcpAcceptor, TcpOwner } from "../tcp/tcp-connection.ts";
import type { TcpListener } from "../tcp/tcp.ts";
import { decodeAscii, encodeAscii } from "./ascii.ts";

export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Who knows the answers. */
export interface HttpResponder {
  /** `path` without its query. */
  respond(path: string): HttpReply;
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  404: "Not Found",
  503: "Service Unavailable",
};
/** Its path, without the query. */
export const REQUEST_LINE: RegExp = /^[A-Z]+ (\/[^ ?]*)(?:\?[^ ]*)? HTTP\/1\.[01]$/;
export const HEAD_CHARACTERS_MAX = 8_192;
const LINE_END = "\r\n";
export const HEAD_END: string = LINE_END + LINE_END;
const BAD_REQUEST: HttpReply = Object.freeze({
  status: 400,
  headers: Object.freeze({ "Content-Type": "text/plain; charset=utf-8" }),
  body: "400 Bad Request",
});

/** What stands in front of a body. */
export function formatHead(status: number, fields: Readonly<Record<string, string>>): string {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_TEXTS[status] ?? ""}`.trimEnd(),
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
  ];
  return `${lines.join(LINE_END)}${HEAD_END}`;
}

/** The whole answer as it goes over the wire. */
export function formatReply({ status, headers, body }: HttpReply): string {
  return (
    formatHead(status, { ...headers, "Content-Length": String(body.length), Connection: "close" }) + body
  );
}

/** One client. */
class Exchange implements TcpOwner {
  private readonly responder: HttpResponder;
  private head = "";
  private isAnswered = false;

  constructor(responder: HttpResponder) {
    this.responder = responder;
  }

  tcpConnected(): void {
    // The client speaks first.
  }

  tcpData(connection: TcpConnection, bytes: Uint8Array): void {
    if (this.isAnswered) return;
    this.head += decodeAscii(bytes);
    const end = this.head.indexOf("\n");
    const first = this.head.slice(0, Math.max(0, end)).trimEnd();
    const path = REQUEST_LINE.exec(first)?.[1];
    // The first line tells already that it is no request.
    const isRefused = (end >= 0 && path === undefined) || this.head.length > HEAD_CHARACTERS_MAX;
    if (!isRefused && !this.head.includes(HEAD_END)) return;
    this.isAnswered = true;
    const reply = isRefused || path === undefined ? BAD_REQUEST : this.responder.respond(path);
    connection.send(encodeAscii(formatReply(reply)));
    connection.close();
  }

  tcpPeerFinished(connection: TcpConnection): void {
    connection.close();
  }

  tcpClosed(): void {
    // Nothing is kept per client.
  }
}

export class HttpServer implements TcpAcceptor {
  readonly responder: HttpResponder;
  private readonly compartment: Compartment;
  private listener: TcpListener | undefined;

  constructor(compartment: Compartment, responder: HttpResponder) {
    this.compartment = compartment;
    this.responder = responder;
  }

  /** Listens on all addresses; once. @returns why it cannot. */
  listen(port: number): SocketFailure | undefined {
    const listener = this.compartment.tcp.listen({ port, acceptor: this });
    if (typeof listener === "string") return listener;
    this.listener = listener;
    return undefined;
  }

  /** Serves no more. Connections that exist are still answered. */
  close(): void {
    this.listener?.close();
    this.listener = undefined;
  }

  tcpAccepted(): TcpOwner {
    return new Exchange(this.responder);
  }
}

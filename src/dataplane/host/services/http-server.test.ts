import { describe, expect, it } from "vitest";
import { type RoutedPair, makeRoutedPair } from "#test/support/dataplane/routed-pair.ts";
import type { TcpConnection, TcpOwner } from "../tcp/tcp-connection.ts";
import { decodeAscii, encodeAscii } from "./ascii.ts";
import { type HttpReply, type HttpResponder, HttpServer } from "./http-server.ts";

const REQUEST = "GET /healthz?full=1 HTTP/1.1\r\nHost: node\r\n\r\n";

class Echo implements HttpResponder {
  respond(path: string): HttpReply {
    return { status: 503, headers: { "Content-Type": "text/plain" }, body: `you asked for ${path}` };
  }
}

/** Says its parts one after the other, and hears. */
class Client implements TcpOwner {
  heard = "";
  connection: TcpConnection | undefined;

  tcpConnected(connection: TcpConnection): void {
    this.connection = connection;
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    this.heard += decodeAscii(bytes);
  }

  tcpPeerFinished(connection: TcpConnection): void {
    connection.close();
  }

  tcpClosed(): void {}
}

function ask(pair: RoutedPair, parts: readonly string[]): string {
  const client = new Client();
  const server = pair.server.netInterface.addresses[0]!.ip;
  pair.client.compartment.tcp.connect({ destination: server, port: 80, owner: client });
  const run = (): void => pair.env.clock.runUntil(pair.env.clock.nowMs + 100);
  run();
  for (const part of parts) {
    client.connection?.send(encodeAscii(part));
    run();
  }
  return client.heard;
}

describe("the HTTP server of a machine", () => {
  function pair(): RoutedPair {
    const made = makeRoutedPair();
    const server = new HttpServer(made.server.compartment, new Echo());
    expect(server.listen(80)).toBeUndefined();
    expect(new HttpServer(made.server.compartment, new Echo()).listen(80)).toBe("port-in-use");
    return made;
  }

  it("answers with the length of what it says, and closes", () => {
    expect(ask(pair(), [REQUEST])).toBe(
      [
        "HTTP/1.1 503 Service Unavailable",
        "Content-Type: text/plain",
        "Content-Length: 22",
        "Connection: close",
        "",
        "you asked for /healthz",
      ].join("\r\n"),
    );
  });

  it("waits for the whole head", () => {
    const made = pair();
    expect(ask(made, [REQUEST.slice(0, 20), REQUEST.slice(20, 40)])).toBe("");
    expect(ask(made, [REQUEST.slice(0, 20), REQUEST.slice(20, 40), REQUEST.slice(40)])).toContain("/healthz");
  });

  it.each([
    ["a line of another protocol", "hello\n"],
    ["a request of another version", "GET / HTTP/2.0\r\n\r\n"],
    ["a head without end", `GET / HTTP/1.1\r\nX: ${"x".repeat(9_000)}`],
  ])("refuses %s", (_what, text) => {
    expect(ask(pair(), [text])).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  });

  it("a port that is closed is free again", () => {
    const made = makeRoutedPair();
    const server = new HttpServer(made.server.compartment, new Echo());
    server.listen(80);
    server.close();
    expect(new HttpServer(made.server.compartment, new Echo()).listen(80)).toBeUndefined();
  });
});

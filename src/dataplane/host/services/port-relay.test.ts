// A program that leads clients on (kubernetes v1.6, pkg/proxy/winuserspace/proxysocket.go), between two machines and a router.
import { describe, expect, it } from "vitest";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { makeRoutedPair } from "#test/support/dataplane/routed-pair.ts";
import type { TcpCloseReason, TcpConnection, TcpOwner } from "../tcp/tcp-connection.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../udp.ts";
import { decodeAscii, encodeAscii } from "./ascii.ts";
import { type BackEndChooser, TcpRelay, UdpRelay } from "./port-relay.ts";

/** The ports of the server's own machine that are chosen, one after the other; the last for ever. */
class Ports implements BackEndChooser {
  readonly asked: boolean[] = [];
  private readonly ports: readonly number[];
  private readonly ip: Ip;

  constructor(ip: Ip, ports: readonly number[]) {
    this.ip = ip;
    this.ports = ports;
  }

  next(_client: unknown, isAgain: boolean) {
    this.asked.push(isAgain);
    const port = this.ports[Math.min(this.asked.length, this.ports.length) - 1];
    return port === undefined ? undefined : { ip: this.ip, port };
  }
}

/** Hears, and answers with what `says` makes of it. */
class End implements TcpOwner {
  heard = "";
  closed: TcpCloseReason | undefined;
  connection: TcpConnection | undefined;
  private readonly says: string;

  constructor(says = "") {
    this.says = says;
  }

  tcpConnected(connection: TcpConnection): void {
    this.connection = connection;
  }

  tcpData(connection: TcpConnection, bytes: Uint8Array): void {
    this.heard += decodeAscii(bytes);
    if (this.says !== "") connection.send(encodeAscii(this.says));
  }

  tcpPeerFinished(connection: TcpConnection): void {
    connection.close();
  }

  tcpClosed(_connection: TcpConnection, reason: TcpCloseReason): void {
    this.closed = reason;
  }
}

function world() {
  const pair = makeRoutedPair();
  const { compartment, netInterface } = pair.server;
  const server = netInterface.addresses[0]!.ip;
  const run = (ms = 10_000): void => pair.env.clock.runUntil(pair.env.clock.nowMs + ms);
  return { pair, compartment, server, run };
}

describe("connections", () => {
  function relayed(ports: readonly number[]) {
    const given = world();
    const { compartment, server, pair } = given;
    const chooser = new Ports(server, ports);
    const relay = new TcpRelay({ compartment, ip: server, port: 80, chooser });
    expect(relay.listen()).toBeUndefined();
    const client = new End();
    pair.client.compartment.tcp.connect({ destination: server, port: 80, owner: client });
    return { ...given, chooser, relay, client };
  }

  function serve({ compartment }: ReturnType<typeof world>, port: number, end: End): void {
    compartment.tcp.listen({ port, acceptor: { tcpAccepted: () => end } });
  }

  it("carries both ways, whole, and ends as either side does", () => {
    const given = relayed([8_080]);
    const end = new End("pong ");
    serve(given, 8_080, end);
    given.run();
    const long = "x".repeat(50_000);
    given.client.connection?.send(encodeAscii(long));
    given.run();
    expect(end.heard).toBe(long);
    expect(given.client.heard).toMatch(/^(?:pong )+$/);
    expect(formatIp(end.connection!.remoteIp)).toBe(formatIp(given.server));
    given.client.connection?.close();
    given.run(120_000);
    expect([end.closed, given.client.closed]).toEqual(["finished", "finished"]);
  });

  it("what the client says before there is a back end is kept for it", () => {
    const given = relayed([1, 8_080]);
    const end = new End();
    serve(given, 8_080, end);
    given.client.tcpConnected = (connection) => void connection.send(encodeAscii("early"));
    given.run();
    expect(end.heard).toBe("early");
    expect(given.chooser.asked).toEqual([false, true]);
  });

  it("tries four times, then closes the client's connection, which it had taken", () => {
    const given = relayed([1]);
    given.run(20_000);
    expect(given.chooser.asked).toEqual([false, true, true, true]);
    expect(given.client.closed).toBe("finished");
  });

  it("nobody to ask: the client's connection is closed", () => {
    const given = relayed([]);
    given.run(20_000);
    expect(given.client.closed).toBe("finished");
  });

  it("a client that breaks off breaks the other side off, and a back end the client", () => {
    for (const breaking of ["client", "back end"] as const) {
      const given = relayed([8_080]);
      const end = new End();
      serve(given, 8_080, end);
      given.run();
      (breaking === "client" ? given.client : end).connection?.abort();
      given.run();
      expect((breaking === "client" ? end : given.client).closed).toBe("reset");
    }
  });

  it("closed, takes no more clients, and those that are there go on", () => {
    const given = relayed([8_080]);
    const end = new End("still ");
    serve(given, 8_080, end);
    given.run();
    given.relay.close();
    given.client.connection?.send(encodeAscii("there?"));
    given.run();
    expect(given.client.heard).toBe("still ");
    const late = new End();
    given.pair.client.compartment.tcp.connect({ destination: given.server, port: 80, owner: late });
    given.run();
    expect(late.closed).toBe("refused");
  });

  it("cannot listen where another does", () => {
    const { compartment, server } = world();
    const chooser = new Ports(server, []);
    expect(new TcpRelay({ compartment, ip: undefined, port: 80, chooser }).listen()).toBeUndefined();
    expect(new TcpRelay({ compartment, ip: undefined, port: 80, chooser }).listen()).toBe("port-in-use");
  });
});

describe("datagrams", () => {
  /** Answers each datagram with the port that it came from, and notes them. */
  class Echo implements UdpOwner {
    readonly ports: number[] = [];

    udpReceived(socket: UdpSocket, { source, sourcePort }: UdpDatagram): void {
      this.ports.push(sourcePort);
      socket.send({ destination: source, port: sourcePort, bytes: encodeAscii(String(sourcePort)) });
    }

    udpFailed(): void {}
  }

  function relayed(ports: readonly number[]) {
    const given = world();
    const { compartment, server, pair, run } = given;
    const relay = new UdpRelay({ compartment, ip: server, port: 53, chooser: new Ports(server, ports) }, []);
    expect(relay.listen()).toBeUndefined();
    const heard: string[] = [];
    const owner: UdpOwner = {
      udpReceived: (_socket, { source, sourcePort, bytes }) =>
        void heard.push(`${formatIp(source)}:${sourcePort} ${decodeAscii(bytes)}`),
      udpFailed: () => undefined,
    };
    const socket = pair.client.compartment.udp.bind({ owner });
    if (typeof socket === "string") throw new Error(socket);
    const ask = (afterMs: number): void => {
      socket.send({ destination: server, port: 53, bytes: Uint8Array.of(1) });
      run(afterMs);
    };
    const echo = new Echo();
    compartment.udp.bind({ owner: echo, port: 5_353 });
    return { ...given, relay, heard, ask, echo };
  }

  it("are answered from the address that was asked; a client that was silent for 250 ms is a new one", () => {
    const { heard, ask, echo, server } = relayed([5_353]);
    ask(100);
    ask(400);
    ask(100);
    expect(echo.ports).toHaveLength(3);
    expect(echo.ports[0]).toBe(echo.ports[1]);
    expect(echo.ports[2]).not.toBe(echo.ports[0]);
    expect(heard).toEqual(echo.ports.map((port) => `${formatIp(server)}:53 ${port}`));
  });

  it("without a back end, or with one that is gone, are answered by nobody", () => {
    for (const ports of [[], [9]]) {
      const { heard, ask } = relayed(ports);
      ask(100);
      expect(heard).toEqual([]);
    }
  });

  it("that are no questions pass a name service as they are", () => {
    const { compartment, server, pair, run, echo } = relayed([5_353]);
    const relay = new UdpRelay({ compartment, ip: server, port: 54, chooser: new Ports(server, [5_353]) }, [
      "",
      "a",
    ]);
    expect(relay.listen()).toBeUndefined();
    const socket = pair.client.compartment.udp.bind({ owner: echo });
    if (typeof socket === "string") throw new Error(socket);
    socket.send({ destination: server, port: 54, bytes: Uint8Array.of(1, 2, 3) });
    run(100);
    expect(echo.ports.length).toBeGreaterThan(0);
    relay.close();
  });
});

/** Probes against the built-in servers: each outcome a user may meet. */
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { formatIp } from "#core/net/ip.ts";
import {
  type RoutedPair,
  type RoutedPairOptions,
  eventsOf,
  makeRoutedPair,
} from "#test/support/dataplane/routed-pair.ts";
import { ip, prefix } from "#test/support/dataplane/stack-world.ts";
import type { Mac } from "#core/net/mac.ts";
import { buildIcmpFrame } from "#core/wire/build-frame.ts";
import type { EchoOwner } from "./echo-request.ts";
import { Ping } from "./ping.ts";
import { EchoProbe, TcpProbe, UdpProbe, type Probe } from "./probe.ts";
import {
  formatIdentification,
  parseIdentification,
  IdentificationServer,
} from "../services/identification-server.ts";

type Kind = "tcp" | "udp" | "echo";

function makeProbe(
  pair: RoutedPair,
  kind: Kind,
  destination: string,
  port = 8080,
  isFollowed = false,
): Probe {
  const options = { compartment: pair.client.compartment, destination: ip(destination), isFollowed };
  if (kind === "echo") return new EchoProbe(options);
  return kind === "tcp" ? new TcpProbe({ ...options, port }) : new UdpProbe({ ...options, port });
}

function serve(pair: RoutedPair): IdentificationServer {
  const server = new IdentificationServer(pair.server.compartment, "web-1");
  server.listenTcp(8080);
  server.listenUdp(8080);
  return server;
}

function probe(
  kind: Kind,
  destination: string,
  port = 8080,
  options: RoutedPairOptions = {},
  change?: (pair: RoutedPair) => void,
) {
  const pair = makeRoutedPair(options);
  serve(pair);
  change?.(pair);
  const made = makeProbe(pair, kind, destination, port);
  made.start();
  pair.env.clock.runUntil(20_000);
  return { pair, result: made.result! };
}

describe("probes", () => {
  it.each(["tcp", "udp"] as const)("over %s learn who answered and whom it saw", (kind) => {
    const { result } = probe(kind, "10.0.2.20");
    expect(result.outcome).toBe("answered");
    const answer = parseIdentification(result.outcome === "answered" ? result.answer : "")!;
    expect([answer.name, formatIp(answer.clientIp)]).toEqual(["web-1", "10.0.1.10"]);
    expect(answer.clientPort).toBeGreaterThanOrEqual(49_152);
  });

  it("over ICMP learn that the host is there, and its distance", () => {
    expect(probe("echo", "10.0.2.20").result).toEqual({
      outcome: "answered",
      answer: "echo reply from 10.0.2.20, TTL 63",
      rttMs: 8,
    });
  });

  const unplug = (pair: RoutedPair): void => {
    pair.routerToClient.lossy.loseNext = 1_000;
    pair.client.netInterface.neighbors.setPermanent(ip("10.0.1.1"), pair.routerToClient.netInterface.mac);
  };
  const noRoute = (pair: RoutedPair): void => {
    const route = {
      prefix: prefix("0.0.0.0/0"),
      nextHop: ip("10.0.1.1"),
      interface: pair.client.netInterface,
    };
    pair.client.compartment.removeRoute(route);
  };
  const rows: [string, Kind, string, number, ((pair: RoutedPair) => void) | undefined, string, string][] = [
    [
      "a closed TCP port",
      "tcp",
      "10.0.2.20",
      81,
      undefined,
      "refused",
      "connection refused: nothing listens on the port",
    ],
    [
      "a closed UDP port",
      "udp",
      "10.0.2.20",
      81,
      undefined,
      "refused",
      "destination port unreachable, says 10.0.2.20",
    ],
    [
      "a missing host",
      "tcp",
      "10.0.2.99",
      80,
      undefined,
      "unreachable",
      "destination host unreachable, says 10.0.1.1",
    ],
    [
      "a missing host",
      "udp",
      "10.0.2.99",
      80,
      undefined,
      "unreachable",
      "destination host unreachable, says 10.0.1.1",
    ],
    [
      "a missing host",
      "echo",
      "10.0.2.99",
      0,
      undefined,
      "unreachable",
      "destination host unreachable, says 10.0.1.1",
    ],
    [
      "a missing neighbour",
      "echo",
      "10.0.1.99",
      0,
      undefined,
      "unreachable",
      "destination host unreachable, says this host",
    ],
    [
      "a network without route",
      "tcp",
      "198.51.100.7",
      80,
      undefined,
      "unreachable",
      "destination network unreachable, says 10.0.1.1",
    ],
    ["no route of our own", "tcp", "198.51.100.7", 80, noRoute, "unreachable", "no route to the destination"],
    ["no route of our own", "udp", "198.51.100.7", 80, noRoute, "unreachable", "no route to the destination"],
    [
      "no route of our own",
      "echo",
      "198.51.100.7",
      80,
      noRoute,
      "unreachable",
      "no route to the destination",
    ],
    ["a silent network", "tcp", "10.0.2.20", 8080, unplug, "timed-out", "no answer within 10000 ms"],
    ["a silent network", "udp", "10.0.2.20", 8080, unplug, "timed-out", "no answer within 5000 ms"],
    ["a silent network", "echo", "10.0.2.20", 0, unplug, "timed-out", "no answer within 4000 ms"],
  ];
  it.each(rows)("%s, asked over %s at %s:%i", (_name, kind, destination, port, change, outcome, detail) => {
    expect(probe(kind, destination, port, {}, change).result).toEqual({ outcome, detail });
  });

  it("over UDP ask again when a datagram or its answer is lost", () => {
    const { result } = probe("udp", "10.0.2.20", 8080, {}, (pair) => {
      pair.client.netInterface.neighbors.setPermanent(ip("10.0.1.1"), pair.routerToClient.netInterface.mac);
      pair.client.lossy.loseNext = 2;
    });
    expect(result).toMatchObject({ outcome: "answered", rttMs: 2_008 });
  });

  it("leave no socket behind", () => {
    for (const kind of ["tcp", "udp", "echo"] as const) {
      const { pair } = probe(kind, "10.0.2.20");
      expect(pair.client.compartment.udp.listSockets()).toEqual([]);
      pair.env.clock.runUntil(300_000);
      expect(pair.client.compartment.tcp.listConnections()).toEqual([]);
      expect(pair.server.compartment.tcp.listConnections()).toEqual([]);
      expect(pair.env.clock.nextAtMs()).toBeUndefined();
    }
  });

  it.each(["tcp", "udp", "echo"] as const)(
    "that are followed over %s tag the first packet 1 and its answer 2",
    (kind) => {
      const pair = makeRoutedPair();
      serve(pair);
      makeProbe(pair, kind, "10.0.2.20", 8080, true).start();
      pair.env.clock.runUntil(5_000);
      expect(eventsOf(pair).lines()).toEqual([
        "1 send client/host",
        "1 forward router/host",
        "1 deliver server/host",
        "2 send server/host",
        "2 forward router/host",
        "2 deliver client/host",
      ]);
    },
  );

  it.each(["tcp", "udp"] as const)("that are followed over %s and refused tag the refusal 2", (kind) => {
    const pair = makeRoutedPair({ clientOs: "linux" });
    makeProbe(pair, kind, "10.0.2.20", 81, true).start();
    pair.env.clock.runUntil(5_000);
    expect(eventsOf(pair).lines()).toEqual([
      "1 send client/host",
      "1 forward router/host",
      "1 drop server/host port-not-listening",
      "2 send server/host",
      "2 forward router/host",
      "2 deliver client/host",
    ]);
  });

  it("tell their owner once", () => {
    const pair = makeRoutedPair();
    const ended: Probe[] = [];
    const owner = { probeEnded: (made: Probe): unknown => ended.push(made) } as never;
    const made = new EchoProbe({ compartment: pair.client.compartment, destination: ip("10.0.2.20"), owner });
    made.start();
    pair.env.clock.runUntil(20_000);
    expect(ended).toEqual([made]);
  });

  it("give the same result in a forked world", () => {
    const pair = makeRoutedPair();
    serve(pair);
    const made = makeProbe(pair, "tcp", "10.0.2.20");
    made.start();
    pair.env.clock.runUntil(pair.env.clock.nowMs + 5);
    const copy = fork({ pair, made });
    copy.pair.env.clock.runUntil(20_000);
    expect(made.result).toBeUndefined();
    pair.env.clock.runUntil(20_000);
    expect(copy.made.result).toEqual(made.result);
    expect(made.result).toMatchObject({ outcome: "answered" });
  });
});

describe("the sequence number of an echo (RFC 792)", () => {
  /** Two requests of one client; Windows gives both the identifier 1. */
  function ping(pair: RoutedPair, destination: string, ended: string[]): void {
    const owner: EchoOwner = {
      echoAnswered: (request) => ended.push(`${formatIp(request.destination)} answered`),
      echoFailed: (request) => ended.push(`${formatIp(request.destination)} failed`),
    };
    const request = pair.client.compartment.icmp.echo({ destination: ip(destination), owner, identifier: 1 });
    if (typeof request === "string") throw new Error(request);
  }

  it("tells requests of one identifier apart: each gets its own answer", () => {
    const pair = makeRoutedPair();
    const ended: string[] = [];
    ping(pair, "10.0.2.20", ended);
    ping(pair, "10.0.1.1", ended);
    ping(pair, "10.0.2.20", ended);
    pair.env.clock.runUntil(2_000);
    expect(ended.toSorted()).toEqual(["10.0.1.1 answered", "10.0.2.20 answered", "10.0.2.20 answered"]);
  });

  it.each([
    ["another sequence number", { identifier: 1, sequence: 2 }],
    ["another identifier", { identifier: 2, sequence: 1 }],
  ])("a reply with %s answers nothing, and is counted", (_, icmp) => {
    const pair = makeRoutedPair();
    const ended: string[] = [];
    const { compartment } = pair.client;
    const owner: EchoOwner = {
      echoAnswered: () => ended.push("answered"),
      echoFailed: () => ended.push("failed"),
    };
    compartment.icmp.echo({ destination: ip("10.0.2.99"), owner, identifier: 1, sequence: 1 });
    const reply = (fields: { identifier: number; sequence: number }): void => {
      const packet = buildIcmpFrame({
        link: { sourceMac: 2 as Mac, destinationMac: compartment.listInterfaces()[0]!.mac },
        ip: {
          source: ip("10.0.2.99"),
          destination: ip("10.0.1.10"),
          ttl: 64,
          identification: 1,
          isDontFragment: false,
        },
        icmp: { type: "echo-reply", ...fields, payload: new Uint8Array(32) },
      });
      compartment.receive(compartment.listInterfaces()[0]!, packet);
    };
    reply(icmp);
    expect(ended).toEqual([]);
    expect(compartment.drops.get("port-not-listening")).toBe(1);
    reply({ identifier: 1, sequence: 1 });
    reply({ identifier: 1, sequence: 1 });
    expect(ended).toEqual(["answered"]);
    expect(compartment.drops.get("port-not-listening")).toBe(2);
  });
});

describe("the identification server", () => {
  it.each([
    ["web-1", "10.244.1.10", 49_152, "web-1 saw 10.244.1.10:49152\n"],
    ["a name with spaces", "203.0.113.10", 1, "a name with spaces saw 203.0.113.10:1\n"],
    ["v6", "2001:db8::1", 80, "v6 saw [2001:db8::1]:80\n"],
  ])("%s about %s:%i writes and reads back its answer", (name, clientIp, clientPort, text) => {
    const identification = { name, clientIp: ip(clientIp), clientPort };
    expect(formatIdentification(identification)).toBe(text);
    expect(parseIdentification(text)).toEqual(identification);
  });

  it.each(["", "web-1", "web-1 saw 10.0.0.1", "web-1 saw 10.0.0.256:80", "web-1 saw 10.0.0.1:99999"])(
    "does not take %j for an answer",
    (text) => {
      expect(parseIdentification(text)).toBeUndefined();
    },
  );

  it("counts, and stops when closed", () => {
    const pair = makeRoutedPair({ clientOs: "linux" });
    const server = serve(pair);
    const ask = (): Probe => {
      const made = makeProbe(pair, "tcp", "10.0.2.20");
      made.start();
      pair.env.clock.runUntil(pair.env.clock.nowMs + 1_000);
      return made;
    };
    expect(ask().result!.outcome).toBe("answered");
    expect(server.answeredCount).toBe(1);
    expect(server.listenTcp(8080)).toBe("port-in-use");
    server.close();
    expect(ask().result!.outcome).toBe("refused");
  });
});

describe("ping", () => {
  it("sends four requests, one a second, and keeps what came of each", () => {
    const pair = makeRoutedPair();
    const ping = new Ping({ compartment: pair.client.compartment, destination: ip("10.0.2.20") });
    ping.start();
    pair.env.clock.runUntil(pair.env.clock.nowMs + 1_500);
    expect([ping.isDone, ping.results.length]).toEqual([false, 2]);
    // The next answer is lost.
    pair.server.lossy.loseNext = 1;
    pair.env.clock.runUntil(20_000);
    expect(ping.isDone).toBe(true);
    expect(
      ping.results.map((outcome) => (outcome!.kind === "reply" ? outcome!.reply.rttMs : outcome!.kind)),
    ).toEqual([8, 4, "timed-out", 4]);
  });

  it("says what the network reports, or why nothing was sent", () => {
    const pair = makeRoutedPair();
    const expired = new Ping({
      compartment: pair.client.compartment,
      destination: ip("10.0.2.20"),
      ttl: 1,
      count: 1,
    });
    expired.start();
    pair.env.clock.runUntil(20_000);
    expect(expired.results).toEqual([
      { kind: "failure", failure: { reason: "ttl-expired", reporter: ip("10.0.1.1"), mtuBytes: 0 } },
    ]);
    const long = {
      compartment: pair.client.compartment,
      destination: ip("10.0.2.20"),
      payloadBytes: 1_473,
      isDontFragment: true,
      count: 1,
    };
    const refused = new Ping(long);
    refused.start();
    expect(refused.results).toEqual([{ kind: "not-sent", failure: "message-too-long" }]);
  });
});

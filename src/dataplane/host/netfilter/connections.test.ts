import { describe, expect, it } from "vitest";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import type { Ipv4 } from "#core/net/ip.ts";
import { ip } from "#test/support/dataplane/stack-world.ts";
import { IcmpType } from "#core/wire/icmp.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { AffinityTable, claimSource } from "./translator.ts";
import { Connection, ConnectionTable, timeoutOf } from "./connection-table.ts";
import { invertTuple } from "./tuple.ts";

const NODE = ip("10.0.0.21") as Ipv4;
const POD = ip("10.244.1.10") as Ipv4;
const SERVER = ip("203.0.113.10") as Ipv4;

function tuple(sourcePort: number, overrides: Partial<FiveTuple> = {}): FiveTuple {
  return {
    protocol: IpProtocol.tcp,
    source: POD,
    sourcePort,
    destination: SERVER,
    destinationPort: 443,
    ...overrides,
  };
}

function add(table: ConnectionTable, original: FiveTuple, overrides: Partial<Connection> = {}): Connection {
  const connection = Object.assign(new Connection(original, 0), { expiresAtMs: 1_000_000 }, overrides);
  expect(table.add(connection, 0)).toBe(true);
  return connection;
}

describe("tuples", () => {
  it.each([
    ["TCP", tuple(40_000)],
    ["UDP", tuple(40_000, { protocol: IpProtocol.udp })],
    ["echo request", tuple(7, { protocol: IpProtocol.icmp, destinationPort: IcmpType.echoRequest })],
    ["echo reply", tuple(7, { protocol: IpProtocol.icmp, destinationPort: IcmpType.echoReply })],
  ])("%s: the inverse of the inverse is itself", (_what, original) => {
    expect(invertTuple(invertTuple(original))).toEqual(original);
    expect(invertTuple(original).source).toBe(original.destination);
  });
});

describe("timeouts (nf_conntrack-sysctl)", () => {
  it.each([
    ["UDP without an answer", IpProtocol.udp, false, 5_000, 30],
    ["UDP, answered within 2 s", IpProtocol.udp, true, 1_000, 30],
    ["UDP stream", IpProtocol.udp, true, 2_000, 120],
    ["ICMP", IpProtocol.icmp, true, 5_000, 30],
    ["another protocol", IpProtocol.gre, true, 5_000, 600],
  ])("%s", (_what, protocol, isReplied, nowMs, seconds) => {
    const connection = Object.assign(new Connection(tuple(1, { protocol }), 0), { isReplied });
    expect(timeoutOf(connection, nowMs)).toBe(seconds * 1_000);
  });
});

describe("the table", () => {
  it("finds a connection by both directions until it is out of date", () => {
    const table = new ConnectionTable();
    const connection = add(table, tuple(40_000));
    expect(table.find(tuple(40_000), 999_999)).toEqual({ connection, direction: "original" });
    expect(table.find(connection.reply, 999_999)).toEqual({ connection, direction: "reply" });
    expect(table.find(tuple(40_000), 1_000_000)).toBeUndefined();
    expect(table.size).toBe(0);
  });

  it("full of used connections it takes none; one that was never answered goes for a new one", () => {
    const max = 1_000;
    const table = new ConnectionTable(max);
    for (let n = 0; n < max; n++) add(table, tuple(n), { isAssured: n !== 5 });
    const late = (port: number): Connection => new Connection(tuple(port, { destinationPort: 80 }), 0);
    expect(table.add(late(1), 0)).toBe(true);
    expect(table.find(tuple(5), 0)).toBeUndefined();
    expect(table.add(late(2), 0)).toBe(false);
    expect(table.size).toBe(max);
  });

  it("what is out of date goes once a minute", () => {
    const table = new ConnectionTable();
    add(table, tuple(1), { expiresAtMs: 10 });
    add(table, tuple(2));
    expect(table.size).toBe(2);
    expect(table.add(Object.assign(new Connection(tuple(3), 60_000), { expiresAtMs: 1e9 }), 60_000)).toBe(
      true,
    );
    expect(table.size).toBe(2);
  });
});

describe("source ports", () => {
  const claim = (table: ConnectionTable, port: number): number | undefined =>
    claimSource(table, invertTuple(tuple(port)), NODE, 0)?.destinationPort;

  it("the own one while nobody has it, towards this destination", () => {
    const table = new ConnectionTable();
    expect(claim(table, 40_000)).toBe(40_000);
    add(table, tuple(40_000, { source: NODE, destinationPort: 80 }));
    expect(claim(table, 40_000)).toBe(40_000);
  });

  // Privileged ports give way to privileged ones; 512 to 1023 have the range from 600.
  it.each([
    [40_000, [], 40_001],
    [40_000, [40_001, 40_002], 40_003],
    [65_535, [], 1_024],
    [1_023, [], 600],
    [520, [], 945],
    [511, [], 1],
  ])("%d is taken, and %j: %d", (port, others, expected) => {
    const table = new ConnectionTable();
    for (const each of [port, ...others]) add(table, tuple(each, { source: NODE }));
    const claimed = claim(table, port);
    expect(claimed).toBe(expected);
  });

  it("all taken: none; one let go: that one", () => {
    const table = new ConnectionTable();
    const held = Array.from({ length: 64_512 }, (_, index) =>
      add(table, tuple(1_024 + index, { source: NODE })),
    );
    expect(claim(table, 40_000)).toBeUndefined();
    table.remove(held[5]!);
    expect(claim(table, 40_000)).toBe(1_029);
  });

  it("an echo gets another identifier", () => {
    const table = new ConnectionTable();
    const echo = tuple(7, { protocol: IpProtocol.icmp, destinationPort: IcmpType.echoRequest });
    add(table, { ...echo, source: NODE });
    expect(claimSource(table, invertTuple(echo), NODE, 0)?.sourcePort).toBe(8);
  });
});

describe("affinity (xt_recent)", () => {
  const backEnds = ["x", "y"].map((key, index) => ({ ip: (POD + index) as Ipv4, port: 1, key }));
  const [first, second] = backEnds;

  it("finds the back end of a client for so many seconds", () => {
    const table = new AffinityTable();
    table.remember(second!, SERVER, 0);
    expect(table.find(backEnds, SERVER, 10, 10_000)).toBe(second);
    expect(table.find(backEnds, SERVER, 10, 10_001)).toBeUndefined();
    expect(table.find([first!], SERVER, 10, 0)).toBeUndefined();
  });

  it("remembers 100 clients per back end; the one longest away goes", () => {
    const table = new AffinityTable();
    for (let n = 0; n < 100; n++) table.remember(first!, (SERVER + n) as Ipv4, n);
    table.remember(first!, SERVER, 100);
    table.remember(first!, (SERVER + 100) as Ipv4, 101);
    expect(table.find(backEnds, SERVER, 10, 101)).toBe(first);
    expect(table.find(backEnds, (SERVER + 1) as Ipv4, 10, 101)).toBeUndefined();
  });
});

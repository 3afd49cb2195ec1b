/**
 * Segments that no program sends: probes, guesses, and what comes out of order. Answers of Linux are those of Linux 6.18,
 * which was asked over a veth pair; those of Windows are of nmap-os-db (tests T2 to T7) and of RFC 5961.
 */
import { describe, expect, it } from "vitest";
import { type RoutedPair, SERVER_MAC, makeRoutedPair } from "#test/support/dataplane/routed-pair.ts";
import { ip, mac } from "#test/support/dataplane/stack-world.ts";
import { tcpOf } from "#test/support/wire/tcp-lines.ts";
import { buildTcpFrame } from "#core/wire/build-frame.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { type TcpOption, parseTcpOptions } from "#core/wire/tcp-options.ts";
import type { OperatingSystem } from "../stack-profile.ts";
import type { TcpConnection, TcpOwner } from "./tcp-connection.ts";

const { syn: S, ack: A, fin: F, rst: R, psh: P, urg: U } = TcpFlag;
const OPEN = 8080;
const CLOSED = 9999;
/** The peer's first number after its SYN. */
const START = 1_000_001;

class Sink implements TcpOwner {
  received = 0;
  connection: TcpConnection | undefined;
  readonly ends: string[] = [];

  tcpConnected(connection: TcpConnection): void {
    this.connection = connection;
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    this.received += bytes.length;
  }

  tcpPeerFinished(): void {
    this.ends.push("peer finished");
  }

  tcpClosed(_connection: TcpConnection, reason: string): void {
    this.ends.push(reason);
  }
}

interface Segment {
  readonly sequence: number;
  readonly acknowledgment?: number;
  readonly flags: number;
  readonly length?: number;
  readonly port?: number;
  readonly options?: readonly TcpOption[];
}

const SACK_PERMITTED: readonly TcpOption[] = [{ kind: "nop" }, { kind: "nop" }, { kind: "sack-permitted" }];

/** A stack that a forger speaks to. */
class Target {
  readonly pair: RoutedPair;
  readonly sink = new Sink();
  /** The first number of the stack after its SYN. */
  own = 0;

  constructor(serverOs: OperatingSystem) {
    this.pair = makeRoutedPair({ serverOs });
    const { tcp } = this.pair.server.compartment;
    tcp.listen({ port: OPEN, acceptor: { tcpAccepted: () => this.sink } });
    // The first answer finds the router; the client, which is there, must not hear the others.
    this.ask({ sequence: 0, acknowledgment: 0, flags: A, port: CLOSED });
    this.pair.server.lossy.loseNext = 1_000_000;
  }

  /** A connection whose handshake is done. */
  connect(options: readonly TcpOption[] = SACK_PERMITTED): this {
    this.ask({ sequence: START - 1, flags: S, options });
    const synAck = this.last();
    this.own = synAck + 1;
    this.ask({ sequence: START, acknowledgment: 0, flags: A });
    return this;
  }

  /** Sends segments; numbers are those on the wire, acknowledgements count from the stack's first number. @returns the answers. */
  ask(...segments: readonly Segment[]): readonly string[] {
    const { server, env } = this.pair;
    server.capture.frames.length = 0;
    for (const { sequence, acknowledgment = 0, flags, length = 0, port = OPEN, options = [] } of segments)
      server.netInterface.receive(
        buildTcpFrame({
          link: { sourceMac: mac("52-54-00-00-00-02"), destinationMac: mac(SERVER_MAC) },
          ip: {
            source: ip("10.0.1.10"),
            destination: ip("10.0.2.20"),
            ttl: 63,
            identification: 1,
            isDontFragment: true,
          },
          tcp: {
            sourcePort: 30_000,
            destinationPort: port,
            sequence: sequence >>> 0,
            acknowledgment: (acknowledgment + this.own) >>> 0,
            flags,
            window: 65_000,
            options: [...options],
          },
          payload: new Uint8Array(length),
        }),
      );
    env.clock.runUntil(env.clock.nowMs + 20);
    return server.capture.frames.flatMap(({ frame }) => this.describe(frame));
  }

  private last(): number {
    const frame = this.pair.server.capture.frames.at(-1)?.frame;
    return (frame && tcpOf(frame)?.tcp.sequence) ?? 0;
  }

  /** `ACK 3 | 10-20 30-40`: flags, what is acknowledged of the peer's stream, blocks. */
  private describe(frame: Uint8Array): string[] {
    const tcp = tcpOf(frame)?.tcp;
    if (tcp === undefined) return [];
    const names = [
      [S, "SYN"],
      [R, "RST"],
      [F, "FIN"],
      [A, "ACK"],
    ] as const;
    const flags = names.filter(([bit]) => (tcp.flags & bit) !== 0).map(([, name]) => name);
    const options = parseTcpOptions(tcp.options);
    const blocks = (typeof options === "string" ? [] : options).flatMap((option) =>
      option.kind === "sack"
        ? option.blocks.map(({ left, right }) => `${left - START}-${right - START}`)
        : [],
    );
    const number =
      (tcp.flags & A) === 0 ? `of ${(tcp.sequence - this.own) | 0}` : (tcp.acknowledgment - START) | 0;
    return [`${flags.join(" ")} ${number}${blocks.length === 0 ? "" : ` | ${blocks.join(" ")}`}`];
  }
}

describe.each([
  { name: "null", flags: 0, closed: "RST ACK 0", linux: [], windows: ["RST ACK 0"] },
  { name: "FIN", flags: F, closed: "RST ACK 1", linux: [], windows: ["RST ACK 1"] },
  { name: "FIN, PSH and URG", flags: F | P | U, closed: "RST ACK 1", linux: [], windows: ["RST ACK 1"] },
  { name: "SYN and FIN", flags: S | F, closed: "RST ACK 2", linux: [], windows: ["RST ACK 2"] },
  { name: "PSH", flags: P, closed: "RST ACK 0", linux: [], windows: ["RST ACK 0"] },
  { name: "ACK", flags: A, closed: "RST of 5", linux: ["RST of 5"], windows: ["RST of 5"] },
  { name: "FIN and ACK", flags: F | A, closed: "RST of 5", linux: ["RST of 5"], windows: ["RST of 5"] },
  { name: "SYN and ACK", flags: S | A, closed: "RST of 5", linux: ["RST of 5"], windows: ["RST of 5"] },
])("a probe with $name", ({ flags, closed, linux, windows }) => {
  it.each(["linux", "windows"] as const)("is answered as %s does", (os) => {
    const target = new Target(os);
    const probe = { sequence: START, acknowledgment: 5, flags };
    expect(target.ask({ ...probe, port: CLOSED })).toEqual([closed]);
    expect(target.ask(probe)).toEqual(os === "linux" ? linux : windows);
    expect(target.sink.connection).toBeUndefined();
  });
});

it.each(["linux", "windows"] as const)("a reset is never answered by %s", (os) => {
  const target = new Target(os);
  for (const port of [OPEN, CLOSED])
    for (const flags of [R, S | R, R | A]) expect(target.ask({ sequence: START, flags, port })).toEqual([]);
});

describe.each(["linux", "windows"] as const)("guesses at an open connection of %s (RFC 5961)", (os) => {
  it.each([
    { what: "a reset in the window", segment: { sequence: START + 100, flags: R }, answer: ["ACK 0"] },
    { what: "a reset before the window", segment: { sequence: START - 1, flags: R }, answer: [] },
    { what: "a SYN", segment: { sequence: START, flags: S }, answer: ["ACK 0"] },
    { what: "an old SYN", segment: { sequence: START - 1, flags: S }, answer: ["ACK 0"] },
    { what: "SYN and FIN", segment: { sequence: START, flags: S | F }, answer: ["ACK 0"] },
    { what: "data without ACK", segment: { sequence: START, flags: 0, length: 3 }, answer: [] },
    { what: "FIN without ACK", segment: { sequence: START, flags: F }, answer: [] },
    {
      what: "an acknowledgement of what was not sent",
      segment: { sequence: START, acknowledgment: 1_000, flags: A, length: 3 },
      answer: ["ACK 0"],
    },
    {
      what: "an acknowledgement from before the connection",
      segment: { sequence: START, acknowledgment: -10, flags: A, length: 3 },
      answer: ["ACK 0"],
    },
    {
      what: "data behind the window",
      segment: { sequence: START + 100_000, flags: A, length: 3 },
      answer: ["ACK 0"],
    },
    { what: "an old empty segment", segment: { sequence: START - 10, flags: A }, answer: ["ACK 0"] },
  ])("$what changes nothing", ({ segment, answer }) => {
    const target = new Target(os).connect();
    expect(target.ask(segment)).toEqual(answer);
    expect([target.sink.received, target.sink.ends]).toEqual([0, []]);
    expect(target.sink.connection!.state).toBe("established");
  });

  it("challenges are sent once in half a second", () => {
    const target = new Target(os).connect();
    const guess = { sequence: START + 100, flags: R };
    expect(target.ask(guess, guess, guess)).toEqual(["ACK 0"]);
  });
});

/** Of Linux as the live tests ask its kernel; of Windows as RFC 9293 §3.10.7.4 and RFC 5961 have it. */
describe.each([
  { os: "linux", syn: ["RST ACK 1"], resets: ["peer finished", "reset"], late: ["ACK 1"], guess: [] },
  { os: "windows", syn: [], resets: ["peer finished"], late: [], guess: ["ACK 1"] },
] as const)("late segments at $os", ({ os, syn, resets, late, guess }) => {
  it("a SYN at a connection that is half open ends it", () => {
    const target = new Target(os);
    target.ask({ sequence: START - 1, flags: S });
    expect(target.ask({ sequence: START, flags: S })).toEqual(syn);
    expect(target.pair.server.compartment.tcp.listConnections()).toEqual([]);
  });

  it("a reset with the number of the FIN before it", () => {
    const target = new Target(os).connect();
    target.ask({ sequence: START, flags: F | A }, { sequence: START, flags: R });
    expect(target.sink.ends).toEqual(resets);
  });

  it.each([
    {
      what: "a FIN in the window",
      segment: { sequence: START + 1, acknowledgment: 1, flags: F | A },
      answer: late,
    },
    { what: "a reset in the window", segment: { sequence: START + 100, flags: R }, answer: guess },
  ])("$what in TIME-WAIT", ({ segment, answer }) => {
    const target = new Target(os).connect();
    target.sink.connection!.close();
    target.ask({ sequence: START, acknowledgment: 1, flags: F | A });
    expect(target.sink.connection!.state).toBe("time-wait");
    expect(target.ask(segment)).toEqual(answer);
    expect(target.sink.connection!.state).toBe("time-wait");
  });
});

describe.each(["linux", "windows"] as const)("what comes out of order, %s (RFC 2018, RFC 2883)", (os) => {
  const piece = (at: number, length: number, flags = 0): Segment => ({
    sequence: START + at,
    flags: A | flags,
    length,
  });

  it("is reported: the block of the last segment first, repeated bytes before all", () => {
    const target = new Target(os).connect();
    expect(target.ask(piece(10, 10))).toEqual(["ACK 0 | 10-20"]);
    expect(target.ask(piece(30, 10))).toEqual(["ACK 0 | 30-40 10-20"]);
    expect(target.ask(piece(30, 10))).toEqual(["ACK 0 | 30-40 30-40 10-20"]);
    expect(target.ask(piece(0, 10))).toEqual(["ACK 20 | 30-40"]);
    expect(target.ask(piece(20, 10))).toEqual(["ACK 40"]);
    expect(target.ask(piece(5, 10))).toEqual(["ACK 40 | 5-15"]);
    expect(target.sink.received).toBe(40);
  });

  it("has room for four blocks", () => {
    const target = new Target(os).connect();
    const last = target.ask(...[0, 1, 2, 3, 4].map((index) => piece(10 + index * 20, 10))).at(-1);
    expect(last).toBe("ACK 0 | 90-100 70-80 50-60 30-40");
  });

  it("is not reported to a peer that did not ask for it", () => {
    const target = new Target(os).connect([]);
    expect(target.ask(piece(10, 10))).toEqual(["ACK 0"]);
  });

  it("a FIN that comes early ends the stream when its turn comes, not before", () => {
    const target = new Target(os).connect();
    expect(target.ask(piece(10, 0, F))).toEqual(["ACK 0 | 10-11"]);
    expect(target.sink.ends).toEqual([]);
    expect(target.ask(piece(20, 5))).toEqual(["ACK 0 | 20-25 10-11"]);
    expect(target.ask(piece(0, 10))).toEqual(["ACK 11"]);
    expect([target.sink.received, target.sink.ends]).toEqual([10, ["peer finished"]]);
  });

  it("data with FIN that come early, too", () => {
    const target = new Target(os).connect();
    expect(target.ask(piece(10, 5, F))).toEqual(["ACK 0 | 10-16"]);
    expect(target.ask(piece(0, 10))).toEqual(["ACK 16"]);
    expect([target.sink.received, target.sink.ends]).toEqual([15, ["peer finished"]]);
  });
});

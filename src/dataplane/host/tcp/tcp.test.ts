/** TCP between whole stacks: what goes over the cable, and what the owners of connections hear. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { formatHex } from "#core/base/encodings.ts";
import { Prng } from "#core/base/prng.ts";
import { memoryPair } from "../../device/memory-pair.ts";
import {
  type RoutedPair,
  type RoutedPairOptions,
  eventsOf,
  listPorts,
  makeRoutedPair,
} from "#test/support/dataplane/routed-pair.ts";
import {
  CaptureDevice,
  cidr,
  findWrongFrames,
  ip,
  mac,
  makeEnvironment,
  prefix,
} from "#test/support/dataplane/stack-world.ts";
import { tcpLines, tcpOf, tcpTimes } from "#test/support/wire/tcp-lines.ts";
import { buildTcpFrame } from "#core/wire/build-frame.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { Host } from "../host.ts";
import type { OperatingSystem } from "../stack-profile.ts";
import type { TcpConnection, TcpAcceptor, TcpCloseReason, TcpOwner } from "./tcp-connection.ts";

const SERVER = ip("10.0.2.20");
const PORT = 8080;

/** Hears everything; may send when connected, and close when told. */
class Ear implements TcpOwner {
  readonly heard: string[] = [];
  readonly chunks: Uint8Array[] = [];
  private readonly greeting: Uint8Array | undefined;
  private readonly closes: "connected" | "peer-finished" | "never";
  connection: TcpConnection | undefined;

  constructor(closes: "connected" | "peer-finished" | "never" = "peer-finished", greeting?: Uint8Array) {
    this.closes = closes;
    this.greeting = greeting;
  }

  tcpConnected(connection: TcpConnection): void {
    this.connection = connection;
    this.heard.push("connected");
    if (this.greeting !== undefined) connection.send(this.greeting);
    if (this.closes === "connected") connection.close();
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    this.chunks.push(bytes);
  }

  tcpPeerFinished(connection: TcpConnection): void {
    this.heard.push("peer finished");
    if (this.closes === "peer-finished") connection.close();
  }

  tcpClosed(_connection: TcpConnection, reason: TcpCloseReason): void {
    this.heard.push(reason);
  }

  get received(): Uint8Array {
    const all = new Uint8Array(this.chunks.reduce((sum, chunk) => sum + chunk.length, 0));
    let at = 0;
    for (const chunk of this.chunks) {
      all.set(chunk, at);
      at += chunk.length;
    }
    return all;
  }
}

class Door implements TcpAcceptor {
  readonly ears: Ear[] = [];
  private readonly closes: "connected" | "peer-finished" | "never";
  private readonly greeting: Uint8Array | undefined;

  constructor(closes: "connected" | "peer-finished" | "never" = "peer-finished", greeting?: Uint8Array) {
    this.closes = closes;
    this.greeting = greeting;
  }

  tcpAccepted(): TcpOwner {
    const ear = new Ear(this.closes, this.greeting);
    this.ears.push(ear);
    return ear;
  }
}

function bytesOf(length: number, seed = "bytes"): Uint8Array {
  const prng = new Prng(seed);
  return Uint8Array.from({ length }, () => prng.below(256));
}

/** Starts a connection from the client to the server's port. */
function dial(pair: RoutedPair, ear: Ear, tag: 0 | 1 = 0): TcpConnection {
  const connection = pair.client.compartment.tcp.connect({
    destination: SERVER,
    port: PORT,
    owner: ear,
    tag,
  });
  if (typeof connection === "string") throw new Error(connection);
  return connection;
}

function listen(pair: RoutedPair, door: Door): Door {
  pair.server.compartment.tcp.listen({ port: PORT, acceptor: door });
  return door;
}

function conversation(pair: RoutedPair): string[] {
  return tcpLines({ client: pair.client.capture.frames, server: pair.server.capture.frames });
}

/** Runs until nothing is left to do, at most `ms`. */
function run(pair: RoutedPair, ms = 400_000): void {
  pair.env.clock.runUntilIdle(pair.env.clock.nowMs + ms);
}

describe("a conversation", () => {
  it("opens, speaks and closes in the states of RFC 9293 §3.5 and §3.6", () => {
    const pair = makeRoutedPair();
    const door = listen(pair, new Door("peer-finished", bytesOf(20)));
    const ear = new Ear("connected", bytesOf(10));
    const connection = dial(pair, ear);
    expect(connection.state).toBe("syn-sent");
    run(pair, 1_000);
    expect(conversation(pair)).toEqual([
      "client SYN ECE CWR",
      "server SYN ACK ECE",
      "client ACK",
      "client PSH ACK 10",
      "client FIN ACK",
      "server PSH ACK 20",
      "server ACK",
      "server FIN ACK",
      "client ACK",
    ]);
    expect(ear.heard).toEqual(["connected", "peer finished", "finished"]);
    expect(door.ears[0]!.heard).toEqual(["connected", "peer finished", "finished"]);
    expect([ear.received.length, door.ears[0]!.received.length]).toEqual([20, 10]);
    expect([connection.state, door.ears[0]!.connection!.state]).toEqual(["time-wait", "closed"]);
    run(pair);
    expect([pair.client, pair.server].map((port) => port.compartment.tcp.listConnections())).toEqual([
      [],
      [],
    ]);
    expect(listPorts(pair).flatMap((port) => findWrongFrames(port.capture.frames))).toEqual([]);
  });

  it("goes on one way after the other side finished", () => {
    const pair = makeRoutedPair();
    const door = listen(pair, new Door("never"));
    const ear = new Ear("connected");
    dial(pair, ear);
    run(pair, 1_000);
    const server = door.ears[0]!.connection!;
    expect([server.state, ear.heard]).toEqual(["close-wait", ["connected"]]);
    server.send(bytesOf(5_000));
    run(pair, 1_000);
    expect(ear.received).toEqual(bytesOf(5_000));
    server.close();
    run(pair, 1_000);
    expect(ear.heard).toEqual(["connected", "peer finished", "finished"]);
  });

  it("both sides may finish at once", () => {
    const pair = makeRoutedPair();
    const door = listen(pair, new Door("connected"));
    const ear = new Ear("never");
    const connection = dial(pair, ear);
    pair.env.clock.runUntil(pair.env.clock.nowMs + 8);
    connection.close();
    run(pair, 100);
    const states = [connection.state, door.ears[0]!.connection!.state];
    expect(states.every((state) => state === "time-wait" || state === "closed")).toBe(true);
    expect(ear.heard.at(-1)).toBe("finished");
    expect(door.ears[0]!.heard.at(-1)).toBe("finished");
  });

  it.each([
    ["windows", 120_000],
    ["linux", 60_000],
  ] satisfies [OperatingSystem, number][])(
    "%s stays in TIME-WAIT for %i ms and keeps the port so long",
    (clientOs: OperatingSystem, timeWaitMs: number) => {
      const pair = makeRoutedPair({ clientOs });
      listen(pair, new Door());
      const connection = dial(pair, new Ear("connected"));
      run(pair, 500);
      const endMs = pair.env.clock.nowMs;
      expect(connection.state).toBe("time-wait");
      pair.env.clock.runUntil(endMs + timeWaitMs - 500);
      expect(connection.state).toBe("time-wait");
      pair.env.clock.runUntil(endMs + timeWaitMs + 1);
      expect(connection.state).toBe("closed");
    },
  );

  it("inside one compartment goes over loopback", () => {
    const pair = makeRoutedPair();
    const door = new Door();
    pair.client.compartment.tcp.listen({ port: PORT, acceptor: door });
    const ear = new Ear("connected", bytesOf(100_000));
    pair.client.compartment.tcp.connect({ destination: ip("10.0.1.10"), port: PORT, owner: ear });
    run(pair, 1_000);
    expect(door.ears[0]!.received).toEqual(bytesOf(100_000));
    expect(pair.client.capture.frames).toEqual([]);
  });

  it("over loopback, what a trace follows does not make what is sent later an answer to it", () => {
    const pair = makeRoutedPair();
    const { compartment } = pair.client;
    const socket = compartment.udp.bind({
      owner: { udpReceived: () => undefined, udpFailed: () => undefined },
    });
    if (typeof socket === "string") throw new Error(socket);
    socket.send({ destination: ip("10.0.1.10"), port: socket.port, bytes: bytesOf(5), tag: 1 });
    run(pair, 1_000);
    const followed = eventsOf(pair).lines().length;
    expect(followed).toBeGreaterThan(0);
    listen(pair, new Door());
    dial(pair, new Ear("connected"));
    run(pair, 1_000);
    expect(eventsOf(pair).lines()).toHaveLength(followed);
  });

  it("tells a trace: the SYN has tag 1, the SYN/ACK tag 2, the rest none", () => {
    const pair = makeRoutedPair();
    listen(pair, new Door());
    dial(pair, new Ear("connected"), 1);
    run(pair, 1_000);
    expect(eventsOf(pair).lines()).toEqual([
      "1 send client/host",
      "1 forward router/host",
      "1 deliver server/host",
      "2 send server/host",
      "2 forward router/host",
      "2 deliver client/host",
    ]);
  });
});

describe("the handshake's bytes", () => {
  function synPair(clientOs: OperatingSystem, serverOs: OperatingSystem, mtuBytes = 1500): [string, string] {
    const env = makeEnvironment();
    const [a, b] = memoryPair(env.clock, { delayMs: 1, mtuBytes });
    const captures = [a, b].map((device) => new CaptureDevice(env.clock, device));
    const roots = [clientOs, serverOs].map((os, index) => {
      const { root } = new Host(env, { name: `h${index}`, os });
      const device = captures[index]!;
      const eth0 = root.addInterface({ name: "eth0", mac: mac(`02-00-00-00-00-0${index}`), device });
      root.addAddress(eth0, cidr(`10.0.0.1${index}/24`));
      return root;
    });
    roots[1]!.tcp.listen({ port: PORT, acceptor: new Door() });
    roots[0]!.tcp.connect({ destination: ip("10.0.0.11"), port: PORT, owner: new Ear() });
    env.clock.runUntil(20);
    return captures.map((capture) => {
      const { ip: header, tcp } = capture.frames
        .map(({ frame }) => tcpOf(frame))
        .find((found) => found?.tcp.has(TcpFlag.syn))!;
      const options = formatHex(tcp.options).replaceAll(/(080a)(.{16})/g, "$1<timestamps>");
      return `TTL ${header.ttl}${header.isDontFragment ? " DF" : ""} flags ${tcp.flags.toString(16)} window ${tcp.window} ${options}`;
    }) as [string, string];
  }

  // Expected options and windows: dataplane.md §2.1 and §6.10 (V1 and V6: SYN at MSS 1410; V4: SYN/ACK).
  it("of Windows at MTU 1450 is that of vectors V1, V4 and V6 (DT-042, DT-162)", () => {
    expect(synPair("windows", "windows", 1450)).toEqual([
      "TTL 128 DF flags c2 window 64860 020405820103030801010402",
      "TTL 128 DF flags 52 window 65535 020405820103030801010402",
    ]);
  });

  it("DT-164 of Windows offers no timestamps and asks for ECN: ECE and CWR", () => {
    const [syn] = synPair("windows", "windows");
    expect(syn).not.toContain("080a");
    expect(syn).toContain(` flags ${(TcpFlag.syn | TcpFlag.ece | TcpFlag.cwr).toString(16)} `);
  });

  it("of Windows to Linux at MTU 1500", () => {
    expect(synPair("windows", "linux")).toEqual([
      "TTL 128 DF flags c2 window 64240 020405b40103030801010402",
      "TTL 64 DF flags 52 window 64240 020405b40101040201030307",
    ]);
  });

  it("of Linux to Windows at MTU 1500: timestamps are offered and not taken", () => {
    expect(synPair("linux", "windows")).toEqual([
      "TTL 64 DF flags 2 window 64240 020405b40402080a<timestamps>01030307",
      "TTL 128 DF flags 12 window 65535 020405b40103030801010402",
    ]);
  });

  it("of Linux to Linux at MTU 1500", () => {
    expect(synPair("linux", "linux")).toEqual([
      "TTL 64 DF flags 2 window 64240 020405b40402080a<timestamps>01030307",
      "TTL 64 DF flags 12 window 65160 020405b40402080a<timestamps>01030307",
    ]);
  });
});

describe("connections that do not come about", () => {
  it("are refused by RST: Linux believes the first", () => {
    const pair = makeRoutedPair({ clientOs: "linux" });
    const ear = new Ear();
    dial(pair, ear);
    run(pair);
    expect(conversation(pair)).toEqual(["client SYN", "server RST ACK"]);
    expect(ear.heard).toEqual(["refused"]);
    expect(pair.server.compartment.drops.list()).toEqual([{ code: "port-not-listening", count: 1 }]);
  });

  it("are refused by RST: Windows asks twice more, 500 ms after each", () => {
    const pair = makeRoutedPair();
    const ear = new Ear();
    dial(pair, ear);
    run(pair);
    expect(conversation(pair).filter((line) => line.startsWith("client"))).toHaveLength(3);
    const times = tcpTimes(pair.client.capture.frames, TcpFlag.syn);
    // The first SYN also waited for ARP: 4 ms here, and the same in the answer's way.
    expect(times.map((time) => Math.round(time / 100) * 100)).toEqual([0, 500, 1000]);
    expect(ear.heard).toEqual(["refused"]);
  });

  it("a port that opens between two SYNs is reached", () => {
    const pair = makeRoutedPair();
    const ear = new Ear("connected");
    dial(pair, ear);
    run(pair, 100);
    listen(pair, new Door());
    run(pair, 1_000);
    expect(ear.heard).toEqual(["connected", "peer finished", "finished"]);
  });

  it.each([
    ["windows", [0, 1_000, 3_000, 7_000, 15_000], 31_000],
    ["linux", [0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000], 127_000],
  ] satisfies [OperatingSystem, number[], number][])(
    "%s sends its SYN at %j ms, then gives up",
    (clientOs: OperatingSystem, expected: number[], endMs: number) => {
      const pair = makeRoutedPair({ clientOs });
      pair.client.netInterface.neighbors.setPermanent(ip("10.0.1.1"), pair.routerToClient.netInterface.mac);
      pair.client.lossy.loseNext = 100;
      const ear = new Ear();
      dial(pair, ear);
      const startMs = pair.env.clock.nowMs;
      pair.env.clock.runUntil(startMs + endMs - 1);
      expect(tcpTimes(pair.client.capture.frames, TcpFlag.syn)).toEqual(expected);
      expect(ear.heard).toEqual([]);
      pair.env.clock.runUntil(startMs + endMs);
      expect(ear.heard).toEqual(["timed-out"]);
    },
  );

  const unreachable: [OperatingSystem, number, string][] = [
    ["linux", 3_010, "a first report ends the attempt"],
    ["windows", 31_010, "reports are remembered, the SYN is repeated to the end"],
  ];
  it.each(unreachable)(
    "are unreachable for %s after %i ms: %s",
    (clientOs: OperatingSystem, endMs: number) => {
      const pair = makeRoutedPair({ clientOs });
      const ear = new Ear();
      const connection = pair.client.compartment.tcp.connect({
        destination: ip("10.0.2.99"),
        port: PORT,
        owner: ear,
      });
      const startMs = pair.env.clock.nowMs;
      pair.env.clock.runUntil(startMs + endMs - 100);
      expect(ear.heard).toEqual([]);
      pair.env.clock.runUntil(startMs + endMs);
      expect(ear.heard).toEqual(["unreachable"]);
      expect((connection as TcpConnection).lastFailure).toMatchObject({
        reason: "host-unreachable",
        reporter: ip("10.0.1.1"),
      });
    },
  );

  it("have no route at all", () => {
    const pair = makeRoutedPair();
    const route = {
      prefix: prefix("0.0.0.0/0"),
      nextHop: ip("10.0.1.1"),
      interface: pair.client.netInterface,
    };
    pair.client.compartment.removeRoute(route);
    const { tcp } = pair.client.compartment;
    expect(tcp.connect({ destination: SERVER, port: PORT, owner: new Ear() })).toBe("no-route");
    expect(tcp.connect({ destination: SERVER, port: PORT, owner: new Ear(), source: ip("10.9.9.9") })).toBe(
      "address-not-local",
    );
  });
});

describe("loss, repetition and disorder", () => {
  function transfer(
    options: RoutedPairOptions,
    ratios: { lossRatio?: number; duplicateRatio?: number; delayRatio?: number },
    length: number,
  ) {
    const pair = makeRoutedPair(options);
    for (const port of [pair.client, pair.server]) Object.assign(port.lossy, { options: ratios });
    const door = listen(pair, new Door("connected", bytesOf(length, "down")));
    const ear = new Ear("connected", bytesOf(length, "up"));
    dial(pair, ear);
    return { pair, door, ear };
  }

  it.each([
    ["loses a tenth", { lossRatio: 0.1 }, "windows", "windows"],
    ["loses a tenth", { lossRatio: 0.1 }, "linux", "linux"],
    ["repeats a tenth", { duplicateRatio: 0.1 }, "windows", "linux"],
    ["lets a fifth be overtaken", { delayRatio: 0.2 }, "linux", "windows"],
    ["does all of it", { lossRatio: 0.05, duplicateRatio: 0.05, delayRatio: 0.1 }, "windows", "linux"],
  ] satisfies [string, object, OperatingSystem, OperatingSystem][])(
    "a network that %s (%j, %s to %s) changes no byte of either stream",
    (_name: string, ratios: object, clientOs: OperatingSystem, serverOs: OperatingSystem) => {
      for (const seed of ["1", "2", "3"]) {
        const { pair, door, ear } = transfer({ seed, clientOs, serverOs }, ratios, 150_000);
        run(pair, 1_000_000);
        expect([ear.heard, door.ears[0]!.heard]).toEqual([
          ["connected", "peer finished", "finished"],
          ["connected", "peer finished", "finished"],
        ]);
        expect(formatHex(ear.received)).toBe(formatHex(bytesOf(150_000, "down")));
        expect(formatHex(door.ears[0]!.received)).toBe(formatHex(bytesOf(150_000, "up")));
        expect(listPorts(pair).flatMap((port) => findWrongFrames(port.capture.frames))).toEqual([]);
      }
    },
  );

  it("one lost segment among many is sent again at once, by three repeated acknowledgements", () => {
    const pair = makeRoutedPair({ clientOs: "linux" });
    const door = listen(pair, new Door());
    const ear = new Ear("never");
    const connection = dial(pair, ear);
    run(pair, 100);
    pair.client.lossy.passNext = 2;
    pair.client.lossy.loseNext = 1;
    const startMs = pair.env.clock.nowMs;
    // 9 full segments: a tenth, smaller one would wait for the others (Nagle).
    connection.send(bytesOf(9 * 1_448));
    pair.env.clock.runUntil(startMs + 30);
    expect(door.ears[0]!.received.length).toBe(9 * 1_448);
  });

  it.each(["windows", "linux"] as const)(
    "%s sends again what the peer has not reported, and nothing else (RFC 6675)",
    (clientOs) => {
      const pair = makeRoutedPair({ clientOs });
      const door = listen(pair, new Door());
      const ear = new Ear("never");
      const connection = dial(pair, ear);
      run(pair, 100);
      const { frames } = pair.client.capture;
      frames.length = 0;
      const startMs = pair.env.clock.nowMs;
      // Of ten full segments the 2nd, the 4th and the 5th are lost.
      const { lossy } = pair.client;
      const transmit = lossy.transmit.bind(lossy);
      let count = 0;
      lossy.transmit = (packet) => {
        if (tcpOf(packet.frame)?.tcp.payloadLength !== 0) count++;
        lossy.loseNext = [2, 4, 5].includes(count) ? 1 : 0;
        return transmit(packet);
      };
      connection.send(bytesOf(10 * (clientOs === "linux" ? 1_448 : 1_460)));
      // Two round trips and a little: there and back takes 4 ms.
      pair.env.clock.runUntil(startMs + 15);
      expect(door.ears[0]!.received).toEqual(bytesOf(10 * (clientOs === "linux" ? 1_448 : 1_460)));
      const sent = frames
        .flatMap(({ frame }) => tcpOf(frame)?.tcp ?? [])
        .filter((tcp) => tcp.payloadLength > 0);
      const first = sent[0]!.sequence;
      const size = sent[0]!.payloadLength;
      expect(sent.slice(10).map((tcp) => ((tcp.sequence - first) >>> 0) / size)).toEqual([1, 3, 4]);
    },
  );

  it.each([
    ["linux", ["1448", "552"]],
    ["windows", ["1460"]],
  ] satisfies [OperatingSystem, string[]][])(
    "%s holds a small segment back behind full ones or not (Nagle)",
    (clientOs, lengths) => {
      const pair = makeRoutedPair({ clientOs });
      listen(pair, new Door());
      const connection = dial(pair, new Ear("never"));
      run(pair, 100);
      pair.client.capture.frames.length = 0;
      connection.send(bytesOf(clientOs === "linux" ? 2_000 : 2_012));
      connection.send(bytesOf(10));
      const sent = conversation(pair).filter((line) => line.startsWith("client"));
      expect(sent.slice(-lengths.length).map((line) => line.split(" ").at(-1))).toEqual(lengths);
    },
  );

  it.each([
    ["linux", 948],
    ["windows", 960],
  ] satisfies [OperatingSystem, number][])(
    "%s begins with ten segments of the size that both ends agreed on (RFC 6928)",
    (clientOs, segmentBytes) => {
      const pair = makeRoutedPair({ clientOs, serverMtuBytes: 1_000 });
      listen(pair, new Door());
      const connection = dial(pair, new Ear("never"));
      run(pair, 100);
      pair.client.capture.frames.length = 0;
      connection.send(bytesOf(50_000));
      const lengths = pair.client.capture.frames.map(({ frame }) => tcpOf(frame)?.tcp.payloadLength);
      expect(lengths).toEqual(Array.from({ length: 10 }, () => segmentBytes));
    },
  );

  it("a peer that vanished is given up after 5 retries on Windows", () => {
    const pair = makeRoutedPair();
    listen(pair, new Door());
    const ear = new Ear("never");
    const connection = dial(pair, ear);
    run(pair, 100);
    pair.client.capture.frames.length = 0;
    pair.client.lossy.loseNext = 1_000;
    connection.send(bytesOf(10));
    run(pair);
    expect(tcpTimes(pair.client.capture.frames, TcpFlag.psh)).toEqual([0, 300, 900, 2100, 4500, 9300]);
    expect(ear.heard).toEqual(["connected", "timed-out"]);
  });

  it("a smaller MTU on the way is found by ICMP, and segments shrink to it", () => {
    const pair = makeRoutedPair({ serverMtuBytes: 1400 });
    // The server's own MSS would hide the narrow cable; a router in the middle of a longer way does not say it.
    pair.server.netInterface.mtuBytes = 1500;
    const door = listen(pair, new Door());
    dial(pair, new Ear("connected", bytesOf(50_000)));
    run(pair);
    expect(formatHex(door.ears[0]!.received)).toBe(formatHex(bytesOf(50_000)));
    const lengths = pair.routerToServer.capture.frames.map(({ frame }) => tcpOf(frame)?.ip.totalLength ?? 0);
    expect(Math.max(...lengths)).toBe(1400);
    expect(pair.routerToClient.compartment.drops.get("mtu-exceeded")).toBeGreaterThan(0);
  });
});

describe("ends in the middle", () => {
  it("abort changes nothing about what has ended, in TIME-WAIT and after it (RFC 9293 §3.10.5)", () => {
    const pair = makeRoutedPair();
    const door = listen(pair, new Door("peer-finished"));
    const ear = new Ear("connected");
    const connection = dial(pair, ear);
    run(pair, 1_000);
    const peer = door.ears[0]!.connection!;
    const before = conversation(pair);
    connection.abort();
    peer.abort();
    run(pair, 100);
    expect([connection.state, peer.state]).toEqual(["time-wait", "closed"]);
    expect(conversation(pair)).toEqual(before);
    expect(ear.heard).toEqual(["connected", "peer finished", "finished"]);
  });

  it("an acknowledgement that was put off does not follow the reset", () => {
    const pair = makeRoutedPair();
    const door = listen(pair, new Door());
    const connection = dial(pair, new Ear("never"));
    run(pair, 100);
    connection.send(bytesOf(5));
    pair.env.clock.runUntil(pair.env.clock.nowMs + 5);
    expect(door.ears[0]!.received.length).toBe(5);
    door.ears[0]!.connection!.abort();
    run(pair, 1_000);
    expect(conversation(pair).at(-1)).toBe("server RST ACK");
  });

  it("abort sends a reset, and the peer hears it", () => {
    const pair = makeRoutedPair();
    const door = listen(pair, new Door());
    const ear = new Ear("never");
    const connection = dial(pair, ear);
    run(pair, 100);
    connection.abort();
    run(pair, 100);
    expect(conversation(pair).at(-1)).toBe("client RST ACK");
    expect([ear.heard, door.ears[0]!.heard]).toEqual([
      ["connected", "aborted"],
      ["connected", "reset"],
    ]);
  });

  it("a segment for a connection that is gone is answered with a reset", () => {
    const pair = makeRoutedPair();
    const door = listen(pair, new Door());
    const ear = new Ear("never");
    const connection = dial(pair, ear);
    run(pair, 100);
    door.ears[0]!.connection!.discard();
    connection.send(bytesOf(5));
    run(pair, 100);
    expect(conversation(pair).at(-1)).toBe("server RST");
    expect(ear.heard).toEqual(["connected", "reset"]);
  });

  const forged = (pair: RoutedPair, connection: TcpConnection, flags: number, sequence: number): void => {
    const link = {
      sourceMac: pair.routerToClient.netInterface.mac,
      destinationMac: pair.client.netInterface.mac,
    };
    const header = {
      source: SERVER,
      destination: ip("10.0.1.10"),
      ttl: 63,
      identification: 1,
      isDontFragment: true,
    };
    const tcp = {
      sourcePort: PORT,
      destinationPort: connection.localPort,
      sequence,
      acknowledgment: 0,
      flags,
      window: 0,
    };
    pair.client.netInterface.receive(buildTcpFrame({ link, ip: header, tcp }));
  };

  it("a SYN that meets ours is answered with SYN and ACK (RFC 9293 §3.5, figure 7)", () => {
    const pair = makeRoutedPair();
    listen(pair, new Door());
    // The first connection finds the MACs.
    dial(pair, new Ear("never"));
    run(pair, 100);
    const connection = dial(pair, new Ear("never"));
    pair.client.capture.frames.length = 0;
    forged(pair, connection, TcpFlag.syn, 1_000);
    expect(connection.state).toBe("syn-received");
    expect(conversation(pair)).toContain("client SYN ACK");
  });

  it.each([
    ["a reset beside the expected number", TcpFlag.rst, 10, "established", 1],
    ["a reset outside the window", TcpFlag.rst, 1_000_000, "established", 0],
    ["a SYN in the window", TcpFlag.syn, 5, "established", 1],
    ["a reset with the expected number", TcpFlag.rst, 0, "closed", 0],
  ])("%s leaves the connection %s (RFC 5961)", (_name, flags, offset, state, answers) => {
    const pair = makeRoutedPair();
    listen(pair, new Door());
    const connection = dial(pair, new Ear("never"));
    run(pair, 100);
    pair.client.capture.frames.length = 0;
    forged(pair, connection, flags, connection.receivedEnd + offset);
    expect([connection.state, pair.client.capture.frames.length]).toEqual([state, answers]);
  });
});

describe("listeners and ports", () => {
  it.each([
    ["windows", 49_152, 65_535],
    ["linux", 32_768, 60_999],
  ] satisfies [OperatingSystem, number, number][])(
    "%s takes ephemeral ports from %i to %i",
    (os: OperatingSystem, first: number, last: number) => {
      const pair = makeRoutedPair({ clientOs: os });
      const ports = Array.from({ length: 50 }, () => dial(pair, new Ear()).localPort);
      expect(new Set(ports).size).toBe(50);
      expect(ports.every((port) => port >= first && port <= last)).toBe(true);
    },
  );

  it("leaves excluded ranges alone", () => {
    const { client } = makeRoutedPair();
    const { ports } = client.compartment.tcp;
    ports.exclude({ first: 49_152, last: 65_534 });
    expect(ports.reserveEphemeral()).toBe(65_535);
    expect(ports.reserveEphemeral()).toBeUndefined();
    ports.include({ first: 49_152, last: 65_534 });
    expect(ports.reserveEphemeral()).not.toBeUndefined();
  });

  it("a port of the dynamic range is free again when its listener and all connections of it are over", () => {
    const pair = makeRoutedPair({ serverOs: "windows" });
    const { tcp } = pair.server.compartment;
    const busy = 50_000;
    const listener = tcp.listen({ port: busy, acceptor: new Door() });
    if (typeof listener === "string") throw new Error(listener);
    tcp.ports.exclude({ first: 49_152, last: busy - 1 });
    tcp.ports.exclude({ first: busy + 1, last: 65_535 });
    const speak = (): readonly TcpConnection[] =>
      [new Ear("never"), new Ear("never")].map((owner) => {
        const made = pair.client.compartment.tcp.connect({ destination: SERVER, port: busy, owner });
        if (typeof made === "string") throw new Error(made);
        return made;
      });
    const nextPort = (): number | undefined => {
      const port = tcp.ports.reserveEphemeral();
      if (port !== undefined) tcp.ports.release(port);
      return port;
    };
    const [first, second] = speak();
    run(pair, 100);
    // Closed by the client, and long forgotten by the server: the listener stands.
    first?.close();
    second?.close();
    run(pair, 300_000);
    expect([tcp.listConnections().length, nextPort()]).toEqual([0, undefined]);
    const [third, fourth] = speak();
    run(pair, 100);
    listener.close();
    third?.close();
    run(pair, 300_000);
    expect([tcp.listConnections().length, nextPort()]).toEqual([1, undefined]);
    fourth?.close();
    run(pair, 300_000);
    expect([tcp.listConnections().length, nextPort()]).toEqual([0, busy]);
  });

  it("a port is taken once per address", () => {
    const { tcp } = makeRoutedPair().client.compartment;
    const listener = tcp.listen({ port: 80, acceptor: new Door() });
    expect(tcp.listen({ port: 80, acceptor: new Door() })).toBe("port-in-use");
    expect(tcp.listen({ port: 80, ip: ip("10.0.1.10"), acceptor: new Door() })).not.toBe("port-in-use");
    expect(tcp.listen({ port: 80, ip: ip("10.9.9.9"), acceptor: new Door() })).toBe("address-not-local");
    if (typeof listener !== "string") listener.close();
    expect(typeof tcp.listen({ port: 80, acceptor: new Door() })).toBe("object");
  });

  it("holds at most 1024 unfinished handshakes", () => {
    const pair = makeRoutedPair();
    listen(pair, new Door());
    const link = {
      sourceMac: pair.routerToServer.netInterface.mac,
      destinationMac: pair.server.netInterface.mac,
    };
    const header = {
      source: ip("10.0.1.10"),
      destination: SERVER,
      ttl: 63,
      identification: 1,
      isDontFragment: true,
    };
    for (let sourcePort = 1; sourcePort <= 1_100; sourcePort++) {
      const tcp = {
        sourcePort,
        destinationPort: PORT,
        sequence: 1,
        acknowledgment: 0,
        flags: TcpFlag.syn,
        window: 1_000,
      };
      pair.server.netInterface.receive(buildTcpFrame({ link, ip: header, tcp }));
    }
    expect(pair.server.compartment.drops.get("listen-queue-full")).toBe(76);
    expect(pair.env.clock.runUntilIdle(1_000_000)).toBe(true);
    expect(pair.server.compartment.tcp.listConnections()).toEqual([]);
  });
});

describe("worlds", () => {
  it("that are forked in the middle of a transfer end alike, and the original is not touched", () => {
    const pair = makeRoutedPair();
    const door = listen(pair, new Door());
    dial(pair, new Ear("connected", bytesOf(100_000)));
    run(pair, 15);
    for (const port of [pair.client, pair.server]) Object.assign(port.lossy, { options: { lossRatio: 0.1 } });
    run(pair, 5);
    const world = { pair, door };
    const copy = fork(world);
    const before = door.ears[0]!.received.length;
    run(copy.pair);
    expect(door.ears[0]!.received.length).toBe(before);
    expect(copy.door.ears[0]!.received).toEqual(bytesOf(100_000));
    run(pair);
    const lines = (of: RoutedPair): string[][] => listPorts(of).map((port) => port.capture.lines());
    expect(lines(copy.pair)).toEqual(lines(pair));
  });

  it("survive any segment", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            flags: fc.integer({ min: 0, max: 255 }),
            offset: fc.integer({ min: -70_000, max: 140_000 }),
            acknowledgment: fc.integer({ min: -3_000, max: 3_000 }),
            window: fc.integer({ min: 0, max: 65_535 }),
            length: fc.integer({ min: 0, max: 1_460 }),
          }),
          { minLength: 1, maxLength: 30 },
        ),
        (segments) => {
          const pair = makeRoutedPair();
          listen(pair, new Door());
          const connection = dial(pair, new Ear("never", bytesOf(2_000)));
          run(pair, 6);
          const link = {
            sourceMac: pair.routerToClient.netInterface.mac,
            destinationMac: pair.client.netInterface.mac,
          };
          const header = {
            source: SERVER,
            destination: ip("10.0.1.10"),
            ttl: 63,
            identification: 1,
            isDontFragment: true,
          };
          for (const { flags, offset, acknowledgment, window, length } of segments) {
            const tcp = {
              sourcePort: PORT,
              destinationPort: connection.localPort,
              sequence: (connection.receivedEnd + offset) >>> 0,
              acknowledgment: (0x1000 + acknowledgment) >>> 0,
              flags,
              window,
            };
            pair.client.netInterface.receive(
              buildTcpFrame({ link, ip: header, tcp, payload: new Uint8Array(length) }),
            );
          }
          run(pair, 100_000);
          expect(listPorts(pair).flatMap((port) => findWrongFrames(port.capture.frames))).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("an idle connection", () => {
  const TWO_HOURS_MS = 7_200_000;

  function idlePair(isKept: boolean): { pair: RoutedPair; ear: Ear; sinceMs: (count: number) => number[] } {
    const pair = makeRoutedPair({ clientOs: "windows" });
    pair.server.compartment.tcp.listen({ port: PORT, acceptor: new Door("never") });
    const ear = new Ear("never");
    const connection = dial(pair, ear);
    const { clock } = pair.env;
    clock.runUntil(clock.nowMs + 10_000);
    connection.setKeepAlive(isKept);
    const { frames } = pair.client.capture;
    const before = frames.length;
    const startMs = clock.nowMs;
    const sinceMs = (count: number): number[] => {
      const segments = frames.slice(before).filter(({ frame }) => tcpOf(frame) !== undefined);
      return segments.slice(0, count).map(({ atMs }) => Math.floor((atMs - startMs) / 1_000));
    };
    return { pair, ear, sinceMs };
  }

  it("DT-165 sends nothing unless its program asks for keep-alives", () => {
    const { pair, sinceMs } = idlePair(false);
    pair.env.clock.runUntil(pair.env.clock.nowMs + 2 * TWO_HOURS_MS);
    expect(sinceMs(9)).toEqual([]);
  });

  it("DT-165 with keep-alives sends nothing before 7 200 s, and then is answered every two hours", () => {
    const { pair, ear, sinceMs } = idlePair(true);
    const { clock } = pair.env;
    clock.runUntil(clock.nowMs + TWO_HOURS_MS - 1);
    expect(sinceMs(9)).toEqual([]);
    clock.runUntil(clock.nowMs + TWO_HOURS_MS + 1_000);
    expect(sinceMs(9)).toEqual([7_200, 14_400]);
    expect(ear.heard).toEqual(["connected"]);
  });

  it("ends when ten keep-alives, a second apart, stay without an answer", () => {
    const { pair, ear, sinceMs } = idlePair(true);
    pair.server.compartment.close();
    const { clock } = pair.env;
    clock.runUntil(clock.nowMs + TWO_HOURS_MS + 60_000);
    expect(ear.heard).toEqual(["connected", "timed-out"]);
    expect(sinceMs(1)).toEqual([7_200]);
  });
});

/** IPv6 of whole stacks that talk over cables: addresses, neighbour discovery, routing, ICMPv6, fragments, UDP, TCP. */
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { formatIp } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import {
  EchoLog,
  type CaptureDevice,
  cidr,
  findWrongFrames,
  ip,
  mac,
  prefix,
} from "#test/support/dataplane/stack-world.ts";
import {
  type RoutedPair,
  type RoutedPairOptions,
  addIpv6,
  eventsOf,
  listPorts,
  makeRoutedPair,
} from "#test/support/dataplane/routed-pair.ts";
import { buildIcmpv6Frame, buildIpFrame, buildNdFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { EthernetView } from "#core/wire/ethernet.ts";
import { Headers } from "#core/wire/headers.ts";
import { Icmpv6View } from "#core/wire/icmpv6/icmpv6.ts";
import { Ipv6PacketView } from "#core/wire/ip-view.ts";
import { NdView } from "#core/wire/icmpv6/nd.ts";
import type { DeliveryFailure } from "./delivery-failure.ts";
import type { EchoOptions } from "./probes/echo-request.ts";
import type { TcpCloseReason, TcpOwner, TcpConnection } from "./tcp/tcp-connection.ts";
import type { UdpDatagram, UdpSocket } from "./udp.ts";

class UdpLog {
  readonly datagrams: UdpDatagram[] = [];
  readonly failures: DeliveryFailure[] = [];

  udpReceived(_socket: UdpSocket, datagram: UdpDatagram): void {
    this.datagrams.push(datagram);
  }

  udpFailed(_socket: UdpSocket, failure: DeliveryFailure): void {
    this.failures.push(failure);
  }
}

/** Sends back what it gets. */
class Echoing implements TcpOwner {
  readonly received: number[] = [];
  ended: TcpCloseReason | undefined;
  connection: TcpConnection | undefined;

  tcpConnected(connection: TcpConnection): void {
    this.connection = connection;
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    this.received.push(bytes.length);
  }

  tcpPeerFinished(connection: TcpConnection): void {
    connection.close();
  }

  tcpClosed(_connection: TcpConnection, reason: TcpCloseReason): void {
    this.ended = reason;
  }

  tcpAccepted(): TcpOwner {
    return this;
  }
}

const SERVER = "fd00:2::20";

function settle(pair: RoutedPair, ms = 3_000): void {
  pair.env.clock.runUntil(pair.env.clock.nowMs + ms);
}

function dualPair(options: RoutedPairOptions = {}): RoutedPair {
  const pair = makeRoutedPair(options);
  addIpv6(pair);
  settle(pair);
  for (const port of listPorts(pair)) port.capture.frames.length = 0;
  return pair;
}

function ping(pair: RoutedPair, destination: string, options: Partial<EchoOptions> = {}): EchoLog {
  const owner = new EchoLog();
  pair.client.compartment.icmp.echo({ destination: ip(destination), owner, ...options });
  settle(pair, 10_000);
  return owner;
}

/** Frames of IPv6 without neighbour discovery: MACs, addresses, hop limit, length, fragment offset. */
function describeIpv6(capture: CaptureDevice): string[] {
  return capture.frames.flatMap(({ frame }) => {
    const headers = new Headers();
    if (headers.parseBytes(frame, 0, frame.length) !== undefined || headers.family !== 6) return [];
    const view = new Ipv6PacketView(frame, headers);
    const message = Icmpv6View.parse(frame, headers.transport, headers.end);
    if (headers.protocol === 58 && typeof message !== "string" && message.isDiscovery) return [];
    const ethernet = EthernetView.parse(frame) as EthernetView;
    const macs = `${formatMac(ethernet.sourceMac).slice(-5)}→${formatMac(ethernet.destinationMac).slice(-5)}`;
    const more = view.hasMoreFragments ? " MF" : "";
    return [
      `${macs} ${formatIp(view.source)}→${formatIp(view.destination)} HL ${view.ttl} ${view.totalLength}@${view.fragmentOffset}${more}`,
    ];
  });
}

/** Neighbour discovery as lines: to whom, from whom, what. */
function discoveryLines(capture: CaptureDevice): string[] {
  return capture.frames.flatMap(({ atMs, frame }) => {
    const headers = new Headers();
    if (headers.parseBytes(frame, 0, frame.length) !== undefined || headers.protocol !== 58) return [];
    const nd = NdView.parse(frame, headers.transport, headers.end);
    if (typeof nd === "string") return [];
    const view = new Ipv6PacketView(frame, headers);
    const flags = `${nd.isRouter ? "R" : ""}${nd.isSolicited ? "S" : ""}${nd.isOverride ? "O" : ""}`;
    const what = nd.type === 135 ? "NS" : `NA ${flags}`;
    const to = formatMac((EthernetView.parse(frame) as EthernetView).destinationMac);
    return [
      `${atMs} ${to} ${formatIp(view.source)}→${formatIp(view.destination)} ${what} ${formatIp(nd.target)} ${view.ttl}`,
    ];
  });
}

it("a router's link-local address is asked for with the source of the packet that waits (RFC 4861 §7.2.2)", () => {
  const pair = dualPair();
  const { compartment, netInterface, capture } = pair.client;
  const nextHop = ip("fe80::1234:5678:9abc");
  compartment.addRoute({ prefix: prefix("2001:db8::/32"), nextHop, interface: netInterface, metric: 0 });
  ping(pair, "2001:db8::1");
  const asked = discoveryLines(capture).filter((line) => line.includes(" NS fe80::1234:5678:9abc "));
  expect(asked).toHaveLength(3);
  for (const line of asked) expect(line).toContain("fd00:1::10→ff02::1:ff78:9abc ");
});

describe("addresses", () => {
  it("the first IPv6 address of an interface brings a link-local one: of the MAC on Linux, of chance on Windows", () => {
    const pair = dualPair();
    const addresses = (port: RoutedPair["client"]) =>
      port.netInterface.addresses.map(({ ip: each }) => formatIp(each));
    expect(addresses(pair.server)).toEqual(["10.0.2.20", "fe80::215:5dff:fe00:20", "fd00:2::20"]);
    expect(addresses(pair.client)[1]).toMatch(/^fe80::/);
    expect(addresses(pair.client)[1]).not.toContain("ff:fe");
    expect(addresses(dualPair().client)).toEqual(addresses(pair.client));
  });

  it("is asked for on the link before it is in use: a solicitation from :: to its group (RFC 4862 §5.4, dataplane.md §6.6)", () => {
    const pair = makeRoutedPair();
    pair.server.compartment.addAddress(pair.server.netInterface, cidr("fd00:2::20/64"));
    const { netInterface, capture } = pair.server;
    expect(discoveryLines(capture).slice(1)).toEqual([
      "0 33-33-FF-00-00-20 ::→ff02::1:ff00:20 NS fd00:2::20 255".replace(/^0/, String(pair.env.clock.nowMs)),
    ]);
    // Linux waits for an answer, Windows does not.
    expect(netInterface.hasAddress(ip("fd00:2::20"))).toBe(false);
    pair.client.compartment.addAddress(pair.client.netInterface, cidr("fd00:1::10/64"));
    expect(pair.client.netInterface.hasAddress(ip("fd00:1::10"))).toBe(true);
    settle(pair, 1_000);
    expect(netInterface.hasAddress(ip("fd00:2::20"))).toBe(true);
    expect(findWrongFrames(capture.frames)).toEqual([]);
  });

  it("is not used when somebody has it (ipv6-address-duplicate)", () => {
    const pair = dualPair();
    pair.server.compartment.addAddress(pair.server.netInterface, cidr("fd00:2::1/64"));
    settle(pair);
    expect(pair.server.netInterface.ipv6.stateOf(ip("fd00:2::1"))).toBe("duplicate");
    expect(pair.server.compartment.isLocal(ip("fd00:2::1"))).toBe(false);
    expect(pair.server.compartment.drops.get("ipv6-address-duplicate")).toBe(1);
    // The one who had it goes on.
    expect(ping(pair, SERVER).replies).toHaveLength(1);
  });

  it("of two who take it at once both give it up (RFC 4862 §5.4.3), unless they use it meanwhile", () => {
    const pair = makeRoutedPair();
    for (const port of [pair.server, pair.routerToServer])
      port.compartment.addAddress(port.netInterface, cidr("fd00:2::77/64"));
    settle(pair);
    for (const port of [pair.server, pair.routerToServer])
      expect(port.netInterface.ipv6.stateOf(ip("fd00:2::77"))).toBe("duplicate");
  });

  it("a source is link-local for what is link-local and for nothing else (RFC 6724 rule 2)", () => {
    const { compartment, netInterface } = dualPair().client;
    const sourceFor = (text: string) => compartment.output.findPath(ip(text))?.source;
    expect(sourceFor("fd00:2::20")).toBe(ip("fd00:1::10"));
    expect(sourceFor("fe80::99")).toBe(netInterface.linkLocal());
  });
});

describe("neighbour discovery", () => {
  it("asks the group of the neighbour, and is answered to its own address (dataplane.md §6.6)", () => {
    const pair = dualPair();
    const at = pair.env.clock.nowMs;
    ping(pair, SERVER);
    expect(discoveryLines(pair.client.capture)).toEqual([
      `${at} 33-33-FF-00-00-01 fd00:1::10→ff02::1:ff00:1 NS fd00:1::1 255`,
    ]);
    expect(discoveryLines(pair.routerToClient.capture)).toEqual([
      `${at + 1} 00-15-5D-00-00-10 fd00:1::1→fd00:1::10 NA RSO fd00:1::1 255`,
    ]);
  });

  it("gives up after three questions: the sender hears that the host is unreachable", () => {
    const pair = dualPair();
    const log = ping(pair, "fd00:1::99");
    expect(log.failures).toEqual([{ reason: "host-unreachable", reporter: undefined, mtuBytes: 0 }]);
    expect(discoveryLines(pair.client.capture)).toHaveLength(3);
    expect(ping(pair, "fd00:2::99").failures).toEqual([
      { reason: "host-unreachable", reporter: ip("fd00:1::1"), mtuBytes: 0 },
    ]);
  });

  it.each([
    ["a hop limit below 255", 254, "fd00:2::20", false],
    ["no source but a MAC", 255, "::", true],
  ])("a solicitation with %s is no solicitation (RFC 4861 §7.1.1)", (_what, ttl, source, isReported) => {
    const pair = dualPair();
    const options = isReported ? [{ kind: "source-link-layer", mac: mac("00-15-5D-00-00-99") } as const] : [];
    const packet = buildNdFrame({
      link: { sourceMac: mac("00-15-5D-00-00-99"), destinationMac: pair.client.netInterface.mac },
      ip: {
        source: ip(source),
        destination: ip("fd00:1::10"),
        ttl,
        identification: 0,
        isDontFragment: false,
      },
      nd: { type: "neighbor-solicitation", target: ip("fd00:1::10") as never, options },
    });
    pair.client.netInterface.receive(packet);
    expect(pair.client.compartment.drops.get("malformed-frame")).toBe(1);
    expect(discoveryLines(pair.client.capture)).toEqual([]);
  });
});

it("a flood of solicitations fills the table for 5 s and takes nobody away who is in use", () => {
  const pair = dualPair();
  const { neighbors } = pair.client.netInterface;
  const link = { sourceMac: mac("02-00-00-00-00-66"), destinationMac: pair.client.netInterface.mac };
  const header = { destination: ip("fd00:1::10"), ttl: 255, identification: 0, isDontFragment: false };
  const options = [{ kind: "source-link-layer", mac: link.sourceMac } as const];
  const solicit = (number: number) => {
    const source = ip(`fd00:1::f:${number.toString(16)}`);
    const nd = { type: "neighbor-solicitation", target: ip("fd00:1::10") as never, options } as const;
    pair.client.netInterface.receive(buildNdFrame({ link, ip: { ...header, source }, nd }));
  };
  ping(pair, SERVER);
  const before = neighbors.list().length;
  for (let number = 0; number < 4_500; number++) solicit(number);
  expect([before > 0, neighbors.list().length]).toEqual([true, 4_096]);
  expect(neighbors.macOf(ip("fd00:1::1"))).toBe(pair.routerToClient.netInterface.mac);
  pair.env.clock.runUntil(pair.env.clock.nowMs + 5_000);
  solicit(9_000);
  expect(neighbors.list()).toHaveLength(4_096 / 2 + 1);
  expect(neighbors.macOf(ip("fd00:1::1"))).toBe(pair.routerToClient.netInterface.mac);
});

describe("routing", () => {
  it("an echo crosses a router with one hop less, and the same code tells a trace", () => {
    const pair = dualPair();
    const log = ping(pair, SERVER, { tag: 1 });
    expect(log.replies).toEqual([{ source: ip(SERVER), ttl: 63, rttMs: 8, payloadBytes: 32 }]);
    expect(describeIpv6(pair.client.capture)).toEqual(["00-10→00-01 fd00:1::10→fd00:2::20 HL 128 80@0"]);
    expect(describeIpv6(pair.routerToServer.capture)).toEqual([
      "00-02→00-20 fd00:1::10→fd00:2::20 HL 127 80@0",
    ]);
    expect(describeIpv6(pair.server.capture)).toEqual(["00-20→00-02 fd00:2::20→fd00:1::10 HL 64 80@0"]);
    expect(eventsOf(pair).lines()).toEqual([
      "1 send client/host",
      "1 forward router/host",
      "1 deliver server/host",
      "2 send server/host",
      "2 forward router/host",
      "2 deliver client/host",
    ]);
    expect(listPorts(pair).flatMap((port) => findWrongFrames(port.capture.frames))).toEqual([]);
  });

  it("ends at a hop limit of 1, which the sender hears (RFC 4443 §3.3)", () => {
    const pair = dualPair();
    expect(ping(pair, SERVER, { ttl: 1 }).failures).toEqual([
      { reason: "ttl-expired", reporter: ip("fd00:1::1"), mtuBytes: 0 },
    ]);
  });

  it("ends where no route leads on, which the sender hears (RFC 4443 §3.1)", () => {
    expect(ping(dualPair(), "2001:db8::1").failures).toEqual([
      { reason: "net-unreachable", reporter: ip("fd00:1::1"), mtuBytes: 0 },
    ]);
  });

  it("never takes a link-local address off its link", () => {
    const pair = dualPair();
    const { client } = pair;
    const packet = buildIpFrame({
      link: { sourceMac: client.netInterface.mac, destinationMac: pair.routerToClient.netInterface.mac },
      ip: {
        source: client.netInterface.linkLocal(),
        destination: ip(SERVER),
        ttl: 64,
        identification: 0,
        isDontFragment: false,
      },
      protocol: 59,
      payload: new Uint8Array(0),
    });
    client.capture.transmit(packet);
    settle(pair);
    expect(describeIpv6(pair.routerToServer.capture)).toEqual([]);
    expect(pair.routerToClient.compartment.drops.get("destination-not-local")).toBe(1);
  });

  it("an interface without IPv6 takes none (ipv6-not-carried)", () => {
    const pair = makeRoutedPair();
    const packet = buildIcmpv6Frame({
      link: { sourceMac: mac("00-15-5D-00-00-99"), destinationMac: pair.client.netInterface.mac },
      ip: {
        source: ip("fd00::1"),
        destination: ip("fd00::2"),
        ttl: 9,
        identification: 0,
        isDontFragment: false,
      },
      icmpv6: { type: "echo-request", identifier: 1, sequence: 1, payload: new Uint8Array(8) },
    });
    pair.client.netInterface.receive(packet);
    expect(pair.client.compartment.drops.list()).toEqual([{ code: "ipv6-not-carried", count: 1 }]);
    expect(pair.client.capture.frames).toEqual([]);
  });
});

describe("packets that are too long", () => {
  it("are cut by their sender and put together by their receiver (RFC 8200 §4.5)", () => {
    const pair = dualPair();
    expect(ping(pair, SERVER, { payloadBytes: 4_000 }).replies).toHaveLength(1);
    expect(describeIpv6(pair.client.capture)).toEqual([
      "00-10→00-01 fd00:1::10→fd00:2::20 HL 128 1496@0 MF",
      "00-10→00-01 fd00:1::10→fd00:2::20 HL 128 1496@1448 MF",
      "00-10→00-01 fd00:1::10→fd00:2::20 HL 128 1160@2896",
    ]);
    expect(listPorts(pair).flatMap((port) => findWrongFrames(port.capture.frames))).toEqual([]);
  });

  it("for a narrow link come back as packet too big; the next ones are cut to fit (RFC 8201)", () => {
    const pair = dualPair({ serverMtuBytes: 1_400 });
    const { netInterface } = pair.server;
    expect(netInterface.mtuBytes).toBe(1_400);
    expect(ping(pair, SERVER, { payloadBytes: 1_400 }).failures).toEqual([
      { reason: "fragmentation-needed", reporter: ip("fd00:1::1"), mtuBytes: 1_400 },
    ]);
    expect(ping(pair, SERVER, { payloadBytes: 1_400 }).replies).toHaveLength(1);
    expect(describeIpv6(pair.client.capture).slice(1)).toEqual([
      "00-10→00-01 fd00:1::10→fd00:2::20 HL 128 1400@0 MF",
      "00-10→00-01 fd00:1::10→fd00:2::20 HL 128 104@1352",
    ]);
  });

  it("a report of less than 1280 bytes is believed down to 1280", () => {
    const pair = dualPair();
    pair.client.compartment.output.learnPathMtu(ip(SERVER), 68);
    expect(pair.client.compartment.output.findPath(ip(SERVER))?.mtuBytes).toBe(1_280);
  });

  it("fragments that overlap end the datagram (RFC 5722)", () => {
    const pair = dualPair();
    for (const offset of [0, 8]) {
      const packet = buildIpFrame({
        link: { sourceMac: mac("52-54-00-00-00-01"), destinationMac: pair.client.netInterface.mac },
        ip: {
          source: ip(SERVER),
          destination: ip("fd00:1::10"),
          ttl: 9,
          identification: 7,
          isDontFragment: false,
        },
        protocol: 17,
        payload: Uint8Array.of(0, 1, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        fragment: { offset, hasMore: true },
      });
      pair.client.netInterface.receive(packet);
    }
    expect(pair.client.compartment.drops.get("reassembly-failed")).toBe(1);
  });
});

describe("UDP", () => {
  it("arrives whole and is answered; a port without a socket is reported", () => {
    const pair = dualPair();
    const [here, there] = [new UdpLog(), new UdpLog()];
    pair.server.compartment.udp.bind({ owner: there, port: 53 });
    const socket = pair.client.compartment.udp.bind({ owner: here });
    if (typeof socket === "string") throw new Error(socket);
    const bytes = new Uint8Array(3_000).fill(7);
    for (const port of [53, 54]) socket.send({ destination: ip(SERVER), port, bytes });
    settle(pair);
    expect(there.datagrams.map(({ source, bytes: got }) => [formatIp(source), got.length])).toEqual([
      ["fd00:1::10", 3_000],
    ]);
    expect(here.failures).toEqual([{ reason: "port-unreachable", reporter: ip(SERVER), mtuBytes: 0 }]);
  });

  it("DT-189: without a checksum it is dropped", () => {
    const pair = dualPair();
    const packet = buildUdpFrame({
      link: { sourceMac: mac("52-54-00-00-00-01"), destinationMac: pair.client.netInterface.mac },
      ip: {
        source: ip(SERVER),
        destination: ip("fd00:1::10"),
        ttl: 9,
        identification: 0,
        isDontFragment: false,
      },
      udp: { sourcePort: 1, destinationPort: 2 },
      payload: new Uint8Array(4),
      checksum: "none",
    });
    pair.client.netInterface.receive(packet);
    expect(pair.client.compartment.drops.list()).toEqual([{ code: "checksum-invalid", count: 1 }]);
  });
});

describe("TCP", () => {
  it("connects, carries a stream in segments of 1440 bytes, and ends", () => {
    const pair = dualPair();
    const [here, there] = [new Echoing(), new Echoing()];
    pair.server.compartment.tcp.listen({ port: 80, acceptor: there });
    const connection = pair.client.compartment.tcp.connect({
      destination: ip(SERVER),
      port: 80,
      owner: here,
    });
    if (typeof connection === "string") throw new Error(connection);
    settle(pair);
    connection.send(new Uint8Array(20_000));
    settle(pair);
    connection.close();
    settle(pair, 10_000);
    expect(there.received.reduce((sum, each) => sum + each, 0)).toBe(20_000);
    expect(Math.max(...there.received)).toBe(1_440);
    expect([here.ended, there.ended]).toEqual(["finished", "finished"]);
    expect(listPorts(pair).flatMap((port) => findWrongFrames(port.capture.frames))).toEqual([]);
  });

  it("finds a narrow link by packet too big", () => {
    const pair = dualPair({ serverMtuBytes: 1_400 });
    const there = new Echoing();
    pair.client.compartment.tcp.listen({ port: 80, acceptor: there });
    const connection = pair.server.compartment.tcp.connect({
      destination: ip("fd00:1::10"),
      port: 80,
      owner: new Echoing(),
    });
    if (typeof connection === "string") throw new Error(connection);
    settle(pair);
    connection.send(new Uint8Array(5_000));
    there.connection?.send(new Uint8Array(5_000));
    settle(pair, 10_000);
    expect(there.received.reduce((sum, each) => sum + each, 0)).toBe(5_000);
  });

  it("is refused where nobody listens", () => {
    const pair = dualPair({ clientOs: "linux" });
    const here = new Echoing();
    pair.client.compartment.tcp.connect({ destination: ip(SERVER), port: 81, owner: here });
    settle(pair);
    expect(here.ended).toBe("refused");
  });
});

it("a copy in the middle of a conversation goes on with the same bytes", () => {
  const pair = makeRoutedPair();
  addIpv6(pair);
  const copy = fork(pair);
  for (const each of [pair, copy]) ping(each, SERVER, { payloadBytes: 2_000 });
  expect(copy.client.capture.lines()).toEqual(pair.client.capture.lines());
});

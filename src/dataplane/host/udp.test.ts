/** UDP between whole stacks. */
import { describe, expect, it } from "vitest";
import {
  type RoutedPair,
  SERVER_MAC,
  listPorts,
  makeRoutedPair,
} from "#test/support/dataplane/routed-pair.ts";
import { findWrongFrames, ip, mac } from "#test/support/dataplane/stack-world.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import { EthernetView } from "#core/wire/ethernet.ts";
import { Ipv4View } from "#core/wire/ipv4.ts";
import type { DeliveryFailure } from "./delivery-failure.ts";
import type { OperatingSystem } from "./stack-profile.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "./udp.ts";

class Box implements UdpOwner {
  readonly got: UdpDatagram[] = [];
  readonly failures: DeliveryFailure[] = [];
  private readonly isEchoing: boolean;

  constructor(isEchoing = false) {
    this.isEchoing = isEchoing;
  }

  udpReceived(socket: UdpSocket, datagram: UdpDatagram): void {
    this.got.push(datagram);
    const { source, sourcePort, bytes } = datagram;
    if (this.isEchoing) socket.send({ destination: source, port: sourcePort, bytes });
  }

  udpFailed(_socket: UdpSocket, failure: DeliveryFailure): void {
    this.failures.push(failure);
  }
}

const SERVER = ip("10.0.2.20");

function bind(pair: RoutedPair, side: "client" | "server", owner: UdpOwner, port?: number): UdpSocket {
  const options = port === undefined ? { owner } : { owner, port };
  const socket = pair[side].compartment.udp.bind(options);
  if (typeof socket === "string") throw new Error(socket);
  return socket;
}

function run(pair: RoutedPair, ms = 10_000): void {
  pair.env.clock.runUntil(pair.env.clock.nowMs + ms);
}

describe("UDP", () => {
  it.each([0, 1, 1_472, 1_473, 65_507])("carries %i bytes there and back", (length) => {
    const pair = makeRoutedPair();
    const client = new Box();
    bind(pair, "server", new Box(true), 53);
    const bytes = Uint8Array.from({ length }, (_value, index) => index & 0xff);
    bind(pair, "client", client).send({ destination: SERVER, port: 53, bytes });
    run(pair);
    expect(client.got.map(({ source, sourcePort, bytes: got }) => [source, sourcePort, got.length])).toEqual([
      [SERVER, 53, length],
    ]);
    expect(client.got[0]!.bytes).toEqual(bytes);
    expect(listPorts(pair).flatMap((port) => findWrongFrames(port.capture.frames))).toEqual([]);
  });

  // UDP_SEGMENT of Linux: one long datagram, which a device is to cut (virtio: VIRTIO_NET_HDR_GSO_UDP_L4).
  it("a super frame arrives as the datagrams that its sender meant", () => {
    const pair = makeRoutedPair();
    const server = new Box();
    bind(pair, "server", server, 53);
    const payload = Uint8Array.from({ length: 25 }, (_value, index) => index);
    const packet = buildUdpFrame({
      link: { sourceMac: mac("52-54-00-00-00-02"), destinationMac: mac(SERVER_MAC) },
      ip: { source: ip("10.0.1.10"), destination: SERVER, ttl: 63, identification: 9, isDontFragment: true },
      udp: { sourcePort: 4_000, destinationPort: 53 },
      payload,
    });
    packet.segmentBytes = 10;
    pair.server.netInterface.receive(packet);
    expect(server.got.map(({ sourcePort, bytes }) => [sourcePort, ...bytes])).toEqual(
      [0, 10, 20].map((from) => [4_000, ...payload.subarray(from, from + 10)]),
    );
  });

  it("takes no more than 65507 bytes", () => {
    const pair = makeRoutedPair();
    const socket = bind(pair, "client", new Box());
    expect(socket.send({ destination: SERVER, port: 53, bytes: new Uint8Array(65_508) })).toBe(
      "message-too-long",
    );
  });

  const headerRows: [OperatingSystem, number, boolean][] = [
    ["windows", 128, false],
    ["linux", 64, true],
  ];
  it.each(headerRows)("of %s has TTL %i and DF %s", (clientOs, ttl, isDontFragment) => {
    const pair = makeRoutedPair({ clientOs });
    bind(pair, "client", new Box()).send({ destination: SERVER, port: 53, bytes: new Uint8Array(1) });
    run(pair);
    const frame = pair.client.capture.frames.find(
      (entry) => (EthernetView.parse(entry.frame) as EthernetView).etherType === 0x0800,
    )!.frame;
    const view = Ipv4View.parse(frame, 14) as Ipv4View;
    expect([view.ttl, view.isDontFragment]).toEqual([ttl, isDontFragment]);
  });

  it("to a closed port fails with port unreachable, at the socket that sent it", () => {
    const pair = makeRoutedPair();
    const [sender, other] = [new Box(), new Box()];
    bind(pair, "client", other);
    bind(pair, "client", sender).send({ destination: SERVER, port: 9, bytes: new Uint8Array(1) });
    run(pair);
    expect(sender.failures).toEqual([{ reason: "port-unreachable", reporter: SERVER, mtuBytes: 0 }]);
    expect(other.failures).toEqual([]);
    expect(pair.server.compartment.drops.list()).toEqual([{ code: "port-not-listening", count: 1 }]);
  });

  it("to a host that is not there fails with host unreachable", () => {
    const pair = makeRoutedPair();
    const box = new Box();
    bind(pair, "client", box).send({ destination: ip("10.0.2.99"), port: 9, bytes: new Uint8Array(1) });
    run(pair);
    expect(box.failures).toEqual([{ reason: "host-unreachable", reporter: ip("10.0.1.1"), mtuBytes: 0 }]);
  });

  it("to the subnet's broadcast address reaches a neighbour's socket and makes no errors", () => {
    const pair = makeRoutedPair();
    const box = new Box();
    bind(pair, "client", box, 67);
    const socket = pair.routerToClient.compartment.udp.bind({ owner: new Box() }) as UdpSocket;
    for (const port of [67, 68])
      socket.send({ destination: ip("10.0.1.255"), port, bytes: new Uint8Array(3) });
    run(pair);
    expect(box.got).toHaveLength(1);
    expect(pair.client.capture.frames).toEqual([]);
    expect(pair.client.compartment.drops.list()).toEqual([{ code: "port-not-listening", count: 1 }]);
  });

  it("prefers the socket that is bound to the address", () => {
    const pair = makeRoutedPair();
    const [any, own] = [new Box(), new Box()];
    bind(pair, "server", any, 53);
    pair.server.compartment.udp.bind({ owner: own, port: 53, ip: SERVER });
    bind(pair, "client", new Box()).send({ destination: SERVER, port: 53, bytes: new Uint8Array(1) });
    run(pair);
    expect([any.got.length, own.got.length]).toEqual([0, 1]);
  });

  it("gives no socket the bound port of another, and the port again when the last one on it is closed", () => {
    const { udp } = makeRoutedPair({ clientOs: "windows" }).client.compartment;
    udp.ports.exclude({ first: 49_152, last: 49_999 });
    udp.ports.exclude({ first: 50_001, last: 65_535 });
    const [any, own] = [undefined, ip("10.0.1.10")].map(
      (at) => udp.bind({ owner: new Box(), port: 50_000, ...(at !== undefined && { ip: at }) }) as UdpSocket,
    );
    const next = (): number | string => {
      const socket = udp.bind({ owner: new Box() });
      if (typeof socket === "string") return socket;
      socket.close();
      return socket.port;
    };
    expect(next()).toBe("no-free-port");
    any?.close();
    expect(next()).toBe("no-free-port");
    own?.close();
    expect(next()).toBe(50_000);
  });

  it("gives a port once, and again after it was closed", () => {
    const { udp } = makeRoutedPair().client.compartment;
    const socket = udp.bind({ owner: new Box(), port: 53 }) as UdpSocket;
    expect(udp.bind({ owner: new Box(), port: 53 })).toBe("port-in-use");
    expect(udp.bind({ owner: new Box(), ip: ip("10.7.7.7") })).toBe("address-not-local");
    socket.close();
    expect(typeof udp.bind({ owner: new Box(), port: 53 })).toBe("object");
  });
});

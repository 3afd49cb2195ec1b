// The hooks in whole stacks: two Linux nodes with pods and a Service.
import { beforeEach, describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { LIMITS } from "#core/base/limits.ts";
import { readU8 } from "#core/base/bytes.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import { type Ipv4, formatIp } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import {
  CLUSTER_IP,
  type LinuxWorld,
  call,
  connectionLines,
  listen,
  makeService,
  makeSlice,
  netfilterOf,
  openLinuxWorld,
  podOf,
  say,
  stackOf,
} from "#test/support/dataplane/linux-world.ts";
import { ip, makeEnvironment } from "#test/support/dataplane/stack-world.ts";
import { EthernetView } from "#core/wire/ethernet.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import type { DeliveryFailure } from "../delivery-failure.ts";
import type { EchoOwner } from "../probes/echo-request.ts";
import { Host } from "../host.ts";
import { TcpProbe } from "../probes/probe.ts";
import { IdentificationServer } from "../services/identification-server.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../udp.ts";
import type { LinuxBridge } from "../../fabric/linux-bridge.ts";
import { Connection } from "./connection-table.ts";

let world: LinuxWorld;
beforeEach(async () => {
  world = await openLinuxWorld();
});

/** Keeps what an echo client hears. */
class EchoEar implements EchoOwner {
  heard = "";

  echoAnswered(): void {
    this.heard = "answered";
  }

  echoFailed(_request: unknown, { reason, reporter }: DeliveryFailure): void {
    this.heard = `${reason} from ${reporter === undefined ? "itself" : formatIp(reporter)}`;
  }
}

/** Sends datagrams back, or keeps what comes. */
class UdpEar implements UdpOwner {
  readonly heard: string[] = [];
  private readonly isEcho: boolean;

  constructor(isEcho: boolean) {
    this.isEcho = isEcho;
  }

  udpReceived(socket: UdpSocket, { source, sourcePort, destination, bytes }: UdpDatagram): void {
    this.heard.push(`${bytes.length} from ${formatIp(source)}:${sourcePort}`);
    if (this.isEcho) socket.send({ destination: source, port: sourcePort, source: destination, bytes });
  }

  udpFailed(_socket: UdpSocket, { reason }: DeliveryFailure, destination: Ipv4, port: number): void {
    this.heard.push(`${reason} for ${formatIp(destination)}:${port}`);
  }
}

function settle(): void {
  const { clock } = world.cluster;
  clock.runUntil(clock.nowMs + 1_000);
}

function bindUdp(stack: string, owner: UdpEar, port?: number): UdpSocket {
  const socket = stackOf(world, stack).udp.bind({ owner, ...(port === undefined ? {} : { port }) });
  expect(typeof socket).toBe("object");
  return socket as UdpSocket;
}

describe("ICMP errors find the client behind a translation", () => {
  it.each([
    // The first packet of a connection that is not in the table yet.
    [1, "ttl-expired from 10.244.1.1"],
    [2, "ttl-expired from 10.0.0.1"],
    [64, "answered"],
  ])("echo with TTL %d from a pod to outside: %s", (ttl, expected) => {
    const owner = new EchoEar();
    stackOf(world, "a").icmp.echo({ destination: ip("203.0.113.10"), owner, ttl });
    settle();
    expect(owner.heard).toBe(expected);
  });

  it.each([
    ["a pod, back end on its node", "a", "b"],
    ["a pod, back end on another node", "a", "c"],
    ["the pod itself", "a", "a"],
    ["the node", "lin-1", "c"],
    ["outside", "external", "c"],
  ])("port unreachable of a back end, to %s: about the Service's address", (_what, from, backEnd) => {
    world.services.set(makeService(), [makeSlice(backEnd)]);
    podOf(world, backEnd).server.close();
    const ear = new UdpEar(false);
    bindUdp(from, ear).send({ destination: ip(CLUSTER_IP), port: 53, bytes: new Uint8Array(10) });
    settle();
    expect(ear.heard).toEqual([`port-unreachable for ${CLUSTER_IP}:53`]);
  });
});

describe("fragments are put together before they are translated", () => {
  it.each([
    ["on another node", "a", "c"],
    ["on the same bridge", "a", "b"],
    ["itself", "a", "a"],
    ["from outside", "external", "c"],
  ])("%s: 4000 bytes to a Service and back", (_what, from, backEnd) => {
    world.services.set(makeService(), [makeSlice(backEnd)]);
    podOf(world, backEnd).server.close();
    bindUdp(backEnd, new UdpEar(true), 53);
    const ear = new UdpEar(false);
    bindUdp(from, ear).send({ destination: ip(CLUSTER_IP), port: 53, bytes: new Uint8Array(4_000) });
    settle();
    expect(ear.heard).toEqual([`4000 from ${CLUSTER_IP}:53`]);
  });
});

describe("a back end on the client's own bridge", () => {
  it("is reached inside the bridge: TTL and sender's MAC stay, and the answer is translated back", () => {
    world.services.set(makeService(), [makeSlice("b")]);
    const events = listen(world);
    expect(call(world, "a", CLUSTER_IP, 80, { isFollowed: true }).outcome).toBe("answered");
    const arrived = events.events.find(({ tag, event }) => tag === 1 && event.kind === "deliver")!;
    const ethernet = EthernetView.parse(arrived.frame, 0, arrived.frame.length) as EthernetView;
    expect(formatMac(ethernet.sourceMac)).toBe("0A-58-0A-F4-01-0A");
    expect(readU8(arrived.frame, 14 + 8)).toBe(64);
    const texts = events.events.flatMap(({ tag, event }) =>
      event.kind === "translate" ? [`${tag} ${event.hook} ${event.text}`] : [],
    );
    expect(texts.slice(0, 2)).toEqual([
      "1 PREROUTING DNAT by Service default/web port 80: 10.96.0.10:80 → 10.244.1.11:8080",
      "2 POSTROUTING answer, back to source 10.96.0.10:80 (DNAT: Service default/web port 80)",
    ]);
    const first = events.events.find(({ event }) => event.kind === "translate")!.event;
    expect(first).toMatchObject({ provenance: { object: "Service", id: "web-uid", name: "default/web" } });
  });

  it("a pod of the same bridge that is called by its own address is reached inside the bridge, too", () => {
    const events = listen(world);
    expect(call(world, "a", "10.244.1.11", 8080, { isFollowed: true }).outcome).toBe("answered");
    const arrived = events.events.find(({ tag, event }) => tag === 1 && event.kind === "deliver")!;
    expect(readU8(arrived.frame, 14 + 8)).toBe(64);
  });

  it("without hairpin mode a pod does not reach itself", () => {
    world.services.set(makeService(), [makeSlice("a")]);
    const pod = podOf(world, "a");
    const { address, compartment } = pod;
    expect(say(call(world, "a", CLUSTER_IP, 80))).toBe("a saw 10.244.1.1");
    const bridge = netfilterBridge(world);
    bridge.disconnect("veth default/a");
    const [eth0] = compartment.listInterfaces();
    compartment.removeInterface(eth0!);
    const device = bridge.connect("veth default/a");
    const again = compartment.addInterface({ name: "eth0", mac: eth0!.mac, device });
    compartment.addAddress(again, { ip: address, length: 24 });
    compartment.addRoute({
      prefix: { address: 0 as Ipv4, length: 0 },
      nextHop: ip("10.244.1.1"),
      interface: again,
      metric: 0,
    });
    expect(call(world, "a", CLUSTER_IP, 80).outcome).toBe("timed-out");
    expect(bridge.switch.drops.get("mac-not-local")).toBeGreaterThan(0);
    expect(say(call(world, "b", CLUSTER_IP, 80))).toBe("a saw 10.244.1.11");
  });
});

/** The bridge of lin-1, as its interface knows it. */
function netfilterBridge({ cluster }: LinuxWorld): LinuxBridge {
  const root = cluster.nodes[0]!.host.root;
  return root.listInterfaces().find(({ bridge }) => bridge !== undefined)!.bridge as LinuxBridge;
}

describe("a back end in the node's own network", () => {
  it.each([
    ["a pod of the node", "a", "web saw 10.244.1.10"],
    ["a pod of another node", "c", "web saw 10.0.0.22"],
    ["the node itself", "lin-1", "web saw 10.0.0.21"],
    // Marked for masquerading, but it never leaves: POSTROUTING does not see it.
    ["outside", "external", "web saw 203.0.113.10"],
  ])("%s", (_what, from, answer) => {
    new IdentificationServer(stackOf(world, "lin-1"), "web").listenTcp(8_080);
    world.services.set(makeService(), [makeSlice("lin-1")]);
    expect(say(call(world, from, CLUSTER_IP, 80))).toBe(answer);
  });
});

describe("two pods with one source port", () => {
  it("are told apart behind the node's address", () => {
    const answers = ["a", "b"].map((pod) => call(world, pod, "203.0.113.10", 443, { sourcePort: 40_000 }));
    expect(answers.map((each) => (each.outcome === "answered" ? each.answer.trim() : each))).toEqual([
      "external saw 10.0.0.21:40000",
      "external saw 10.0.0.21:40001",
    ]);
  });

  it("and so is the node itself, which asks for no translation", () => {
    expect(call(world, "a", "203.0.113.10", 443, { sourcePort: 40_000 }).outcome).toBe("answered");
    const own = call(world, "lin-1", "203.0.113.10", 443, { sourcePort: 40_000 });
    expect(own).toMatchObject({ outcome: "answered", answer: "external saw 10.0.0.21:40001\n" });
  });
});

describe("what the table and the ports allow", () => {
  const original = (sourcePort: number, destinationPort: number): FiveTuple => ({
    protocol: IpProtocol.tcp,
    source: ip("10.0.0.21"),
    sourcePort,
    destination: ip("203.0.113.10"),
    destinationPort,
  });
  const fill = (count: number, tupleOf: (index: number) => FiveTuple): void => {
    const table = netfilterOf(world, "lin-1").connections;
    const { nowMs } = world.cluster.clock;
    for (let index = 0; index < count; index++) {
      const connection = new Connection(tupleOf(index), nowMs);
      table.add(Object.assign(connection, { isAssured: true, expiresAtMs: 1e9 }), nowMs);
    }
  };
  const ask = (): readonly string[] => {
    const events = listen(world);
    expect(call(world, "a", "203.0.113.10", 443, { isFollowed: true }).outcome).toBe("timed-out");
    return events.lines().filter((line) => line.includes(" drop "));
  };

  it("all ports taken: dropped", () => {
    fill(64_512, (index) => original(1_024 + index, 443));
    expect(ask()).toContain("1 drop lin-1/host masquerade-ports-exhausted");
  });

  it("table full: dropped", () => {
    fill(LIMITS.trackedConnectionsMax, (index) => original(index % 65_536, 1_000 + (index >>> 16)));
    expect(ask()).toContain("1 drop lin-1/host connection-table-full");
  });
});

describe("connections over time", () => {
  it("TCP: in TIME-WAIT for 120 s, then forgotten", () => {
    world.services.set(makeService(), [makeSlice("b")]);
    call(world, "a", CLUSTER_IP, 80);
    settle();
    const { clock } = world.cluster;
    expect(connectionLines(world, "lin-1")).toEqual([
      "10.244.1.10→10.96.0.10:80 as 10.244.1.10→10.244.1.11:8080",
    ]);
    clock.runUntil(clock.nowMs + 118_000);
    expect(connectionLines(world, "lin-1")).toHaveLength(1);
    clock.runUntil(clock.nowMs + 2_000);
    expect(connectionLines(world, "lin-1")).toEqual([]);
  });

  it("UDP: 30 s after the last datagram", () => {
    call(world, "a", "203.0.113.10", 53, { protocol: "udp" });
    const { clock } = world.cluster;
    clock.runUntil(clock.nowMs + 29_900);
    expect(connectionLines(world, "lin-1")).toHaveLength(1);
    clock.runUntil(clock.nowMs + 100);
    expect(connectionLines(world, "lin-1")).toEqual([]);
  });

  it("no timer waits for them: an idle cluster is quiet", () => {
    call(world, "a", "203.0.113.10", 53, { protocol: "udp" });
    const { clock } = world.cluster;
    expect(clock.runUntilIdle(clock.nowMs + 20_000)).toBe(true);
    expect(connectionLines(world, "lin-1")).toHaveLength(1);
  });

  it("a fork in the middle of a connection goes on by itself", () => {
    world.services.set(makeService(), [makeSlice("b")]);
    const probe = new TcpProbe({ compartment: stackOf(world, "a"), destination: ip(CLUSTER_IP), port: 80 });
    probe.start();
    while (netfilterOf(world, "lin-1").connections.size === 0 && world.cluster.clock.step());
    const copy = fork({ world, probe });
    for (const each of [copy, { world, probe }]) {
      while (each.probe.result === undefined && each.world.cluster.clock.step());
      expect(say(each.probe.result!)).toBe("b saw 10.244.1.10");
    }
  });
});

describe("packets of no connection", () => {
  it("a SYN/ACK without its SYN is not forwarded, by kube-proxy's rule", () => {
    const before = stackOf(world, "lin-1").drops.get("connection-invalid");
    const ends = { localIp: ip("10.244.1.10"), localPort: 1, remoteIp: ip("203.0.113.10"), remotePort: 2 };
    const fields = {
      sequence: 1,
      acknowledgment: 1,
      flags: TcpFlag.syn | TcpFlag.ack,
      window: 1,
      options: [],
    };
    stackOf(world, "a").tcp.emit(ends, fields, new Uint8Array(0), 0);
    settle();
    expect(stackOf(world, "lin-1").drops.get("connection-invalid")).toBe(before + 1);
  });

  it("Windows has no netfilter", () => {
    const { root } = new Host(makeEnvironment(), { name: "win-1", os: "windows" });
    expect(() => root.enableNetfilter()).toThrow("a part of Linux");
  });
});

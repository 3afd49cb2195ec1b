// Where a frame goes: the order of dataplane.md §2.17, and ARP among ports that share the host's MAC (§2.10, §2.13).
import { beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { group, rule } from "#test/support/dataplane/engine-kit.ts";
import type { Environment } from "#core/base/environment.ts";
import { Prng } from "#core/base/prng.ts";
import { readU48 } from "#core/base/bytes.ts";
import type { Device } from "../device/device.ts";
import { type Ipv4, hostPrefix, parseIpv4 } from "#core/net/ip.ts";
import { BROADCAST_MAC, type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import { createGroup } from "../vfp/group.ts";
import { NatPool } from "../vfp/actions/nat-pool.ts";
import type { NextHop, NextHopResolver, NextHopWaiter } from "../vfp/actions/next-hop.ts";
import type { LayerDefinition } from "../vfp/rule.ts";
import { buildArpFrame, buildIpFrame, buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { describeFrame } from "#core/wire/text/format.ts";
import { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import type { SwitchPort } from "./switch-port.ts";
import { VirtualSwitch } from "./virtual-switch.ts";

const MAC = {
  host: parseMac("00-15-5D-00-00-11")!,
  bridge: parseMac("00-15-5D-07-C0-02")!,
  a: parseMac("00-15-5D-07-C0-0A")!,
  b: parseMac("00-15-5D-07-C0-0B")!,
  router: parseMac("52-54-00-00-00-01")!,
};
const IP = {
  node: parseIpv4("10.0.0.11")!,
  router: parseIpv4("10.0.0.1")!,
  bridge: parseIpv4("10.244.1.2")!,
  a: parseIpv4("10.244.1.10")!,
  b: parseIpv4("10.244.1.11")!,
  x: parseIpv4("203.0.113.10")!,
};

class CaptureDevice implements Device {
  readonly mtuBytes = 1500;
  readonly sent: Packet[] = [];
  attach(): void {}
  transmit(packet: Packet): boolean {
    this.sent.push(packet);
    return true;
  }
}

class SlowResolver implements NextHopResolver {
  answer: NextHop | "pending" | "unreachable" = "pending";
  private waiters: NextHopWaiter[] = [];
  resolve(_ip: unknown, waiter: NextHopWaiter): NextHop | "pending" | "unreachable" {
    if (this.answer === "pending") this.waiters.push(waiter);
    return this.answer;
  }
  settle(answer: NextHop | "unreachable"): void {
    this.answer = answer;
    for (const waiter of this.waiters.splice(0)) waiter.nextHopSettled();
  }
}

const POD_LAYERS: readonly LayerDefinition[] = [
  { name: "SLB_NAT_LAYER", priority: 50, isStateful: true, isDefaultAllow: true },
  { name: "VNET_PA_ROUTE_LAYER", priority: 2000, isStateful: false, isDefaultAllow: true },
];

let virtualSwitch: VirtualSwitch;
let wires: Record<"uplink" | "host" | "bridge" | "a" | "b", CaptureDevice>;
let ports: Record<"uplink" | "host" | "bridge" | "a" | "b", SwitchPort>;
let resolver: SlowResolver;

beforeEach(() => {
  const env: Environment = { clock: new VirtualClock(), prng: new Prng(1), recorder: undefined };
  virtualSwitch = new VirtualSwitch(env, { node: "win-1", id: "s", name: "Ethernet" });
  resolver = new SlowResolver();
  const device = (): CaptureDevice => new CaptureDevice();
  wires = { uplink: device(), host: device(), bridge: device(), a: device(), b: device() };
  const pod = {
    kind: "container",
    layers: POD_LAYERS,
    usesHostMac: true,
    nextHopResolver: resolver,
  } as const;
  const bare = { layers: [] } as const;
  ports = {
    uplink: virtualSwitch.addPort({
      ...bare,
      id: "u",
      name: "uplink",
      kind: "external",
      mac: MAC.host,
      device: wires.uplink,
    }),
    host: virtualSwitch.addPort({
      ...bare,
      id: "h",
      name: "host",
      kind: "host",
      mac: MAC.host,
      device: wires.host,
    }),
    bridge: virtualSwitch.addPort({
      ...bare,
      id: "g",
      name: "bridge",
      kind: "host",
      mac: MAC.bridge,
      device: wires.bridge,
    }),
    a: virtualSwitch.addPort({ ...pod, id: "a", name: "a", mac: MAC.a, device: wires.a }),
    b: virtualSwitch.addPort({ ...pod, id: "b", name: "b", mac: MAC.b, device: wires.b }),
  };
  for (const name of ["bridge", "a", "b"] as const) virtualSwitch.setAddresses(ports[name], [IP[name]]);
  virtualSwitch.setAddresses(ports.host, [IP.node]);
});

function tcp(
  macs: [Mac, Mac],
  ips: [Ipv4, Ipv4],
  numbers: [number, number] = [5000, 80],
  flags: number = TcpFlag.syn,
): Packet {
  return buildTcpFrame({
    link: { sourceMac: macs[0], destinationMac: macs[1] },
    ip: { source: ips[0], destination: ips[1], ttl: 128, identification: 1, isDontFragment: true },
    tcp: {
      sourcePort: numbers[0],
      destinationPort: numbers[1],
      sequence: 1,
      acknowledgment: 0,
      flags,
      window: 1000,
    },
  });
}
function arp(macs: [Mac, Mac], isRequest: boolean, sender: [Mac, Ipv4], target: Ipv4): Packet {
  return buildArpFrame({
    link: { sourceMac: macs[0], destinationMac: macs[1] },
    arp: isRequest
      ? { operation: "request", senderMac: sender[0], senderIp: sender[1], targetIp: target }
      : {
          operation: "reply",
          senderMac: sender[0],
          senderIp: sender[1],
          targetMac: macs[1],
          targetIp: target,
        },
  });
}
/** Which wires got a frame. */
function reached(): string[] {
  return Object.entries(wires)
    .filter(([, wire]) => wire.sent.length > 0)
    .map(([name]) => name);
}

it("a port that is removed gives the room of its connections back", () => {
  const flowRoom = { max: 8, held: 0 };
  const env: Environment = { clock: new VirtualClock(), prng: new Prng(1), recorder: undefined, flowRoom };
  const own = new VirtualSwitch(env, { node: "win-1", id: "s", name: "Ethernet" });
  const layers = [{ name: "ACL_ENDPOINT_LAYER", priority: 15, isStateful: true, isDefaultAllow: true }];
  const device = new CaptureDevice();
  const port = own.addPort({ kind: "container", layers, id: "a", name: "a", mac: MAC.a, device });
  const allow = rule("allow", { type: "allow" }, { isStateful: true });
  port.vfp.setGroups("ACL_ENDPOINT_LAYER", [group([allow])]);
  own.handleFrame(port, tcp([MAC.a, MAC.b], [IP.a, IP.b]));
  expect(flowRoom.held).toBe(1);
  own.removePort("a");
  expect(flowRoom.held).toBe(0);
});

describe("dataplane.md §2.17, where a frame goes", () => {
  it.each([
    { step: "3", from: "a", macs: [MAC.a, MAC.b], ips: [IP.a, IP.b], to: ["b"], why: "MAC of a pod" },
    {
      step: "3",
      from: "a",
      macs: [MAC.a, MAC.bridge],
      ips: [IP.a, IP.x],
      to: ["bridge"],
      why: "MAC of the bridge endpoint",
    },
    {
      step: "4",
      from: "uplink",
      macs: [MAC.router, MAC.host],
      ips: [IP.x, IP.node],
      to: ["host"],
      why: "the host's MAC",
    },
    {
      step: "4",
      from: "uplink",
      macs: [MAC.router, MAC.host],
      ips: [IP.x, IP.a],
      to: ["host"],
      why: "own subnet: the host routes",
    },
    {
      step: "4",
      from: "a",
      macs: [MAC.a, MAC.host],
      ips: [IP.a, IP.node],
      to: ["host"],
      why: "a pod to its node",
    },
    {
      step: "6",
      from: "a",
      macs: [MAC.a, MAC.router],
      ips: [IP.a, IP.x],
      to: ["uplink"],
      why: "unknown unicast",
    },
    {
      step: "6",
      from: "uplink",
      macs: [MAC.router, parseMac("02-00-00-00-00-99")!],
      ips: [IP.x, IP.a],
      to: [],
      why: "nobody here",
    },
  ] as const)("step $step: $why", ({ from, macs, ips, to }) => {
    virtualSwitch.handleFrame(ports[from], tcp([...macs], [...ips]));
    expect(reached()).toEqual(to);
  });

  it("step 4: pods of the node's subnet get frames by address", () => {
    ports.a.deliversByAddress = true;
    virtualSwitch.handleFrame(ports.uplink, tcp([MAC.router, MAC.host], [IP.x, IP.a]));
    expect(reached()).toEqual(["a"]);
  });

  it("DT-172 step 4: without a binding, a frame to the node's own port goes to the host's vNIC", () => {
    virtualSwitch.handleFrame(ports.uplink, tcp([MAC.router, MAC.host], [IP.x, IP.node], [5000, 22]));
    expect(reached()).toEqual(["host"]);
  });

  it("step 4: a published port comes first", () => {
    const binding = { ip: IP.node, protocol: 6, port: 8080 };
    virtualSwitch.addStaticBinding(ports.b, binding);
    virtualSwitch.handleFrame(ports.uplink, tcp([MAC.router, MAC.host], [IP.x, IP.node], [5000, 8080]));
    expect(reached()).toEqual(["b"]);
    virtualSwitch.removeStaticBinding(ports.b, binding);
    virtualSwitch.handleFrame(ports.uplink, tcp([MAC.router, MAC.host], [IP.x, IP.node], [5000, 8080]));
    expect(reached()).toEqual(["host", "b"]);
  });

  it("DT-022 step 4: later fragments go where the first one went, until another datagram has the number", () => {
    virtualSwitch.addStaticBinding(ports.b, { ip: IP.node, protocol: 17, port: 8080 });
    const fragment = (offset: number, destinationPort = 8080): Packet => {
      const payload = new Uint8Array(32);
      payload.set([0x13, 0x88, destinationPort >>> 8, destinationPort & 0xff, 0, 64]);
      return buildIpFrame({
        link: { sourceMac: MAC.router, destinationMac: MAC.host },
        ip: { source: IP.x, destination: IP.node, ttl: 9, identification: 7, isDontFragment: false },
        protocol: 17,
        payload,
        fragment: { offset, hasMore: offset === 0 },
      });
    };
    virtualSwitch.handleFrame(ports.uplink, fragment(32));
    // It is the host's, whose port knows no first one.
    expect(ports.host.vfp.drops.get("fragment-without-first")).toBe(1);
    virtualSwitch.handleFrame(ports.uplink, fragment(0));
    virtualSwitch.handleFrame(ports.uplink, fragment(32));
    expect(wires.b.sent).toHaveLength(2);
    virtualSwitch.handleFrame(ports.uplink, fragment(0, 22));
    virtualSwitch.handleFrame(ports.uplink, fragment(32));
    expect(wires.b.sent).toHaveLength(2);
    expect(wires.host.sent).toHaveLength(2);
  });

  it.each([
    { from: "host", to: ["uplink"] },
    { from: "uplink", to: ["host"] },
    { from: "a", to: [] },
  ] as const)("step 5: a broadcast from $from reaches $to", ({ from, to }) => {
    const frame = buildUdpFrame({
      link: { sourceMac: ports[from].mac, destinationMac: BROADCAST_MAC },
      ip: {
        source: IP.a,
        destination: parseIpv4("10.244.1.255")!,
        ttl: 1,
        identification: 1,
        isDontFragment: false,
      },
      udp: { sourcePort: 68, destinationPort: 67 },
      payload: new Uint8Array(4),
    });
    virtualSwitch.handleFrame(ports[from], frame);
    expect(reached()).toEqual(to);
  });

  it("refuses a malformed frame and counts it", () => {
    virtualSwitch.handleFrame(ports.a, Packet.fromFrame(new Uint8Array(9)));
    expect(virtualSwitch.drops.get("malformed-frame")).toBe(1);
  });
});

describe("NAT blocks and next hops", () => {
  beforeEach(() => {
    const blocks = virtualSwitch.portBlocksFor(ports.a);
    ports.a.vfp.addNatPool(new NatPool({ name: "tcp", ip: IP.node, protocol: 6, blocks }));
    const base = {
      name: "snat",
      priority: 100,
      isTerminating: true,
      provenance: { object: "t", id: "t", name: "t" },
    };
    const out = { direction: "out", family: 4, priority: 1, match: "priority" } as const;
    ports.a.vfp.setGroups("SLB_NAT_LAYER", [
      createGroup({
        ...out,
        name: "NAT",
        rules: [
          {
            ...base,
            id: "1",
            isStateful: true,
            condition: { protocols: [6], source: [hostPrefix(IP.a)] },
            action: { type: "dynnat", pool: "tcp" },
          },
        ],
      }),
    ]);
    ports.a.vfp.setGroups("VNET_PA_ROUTE_LAYER", [
      createGroup({
        ...out,
        name: "ROUTE",
        rules: [
          {
            ...base,
            id: "2",
            isStateful: false,
            condition: { source: [hostPrefix(IP.node)] },
            action: { type: "paroute" },
          },
        ],
      }),
    ]);
  });

  it("holds the packet until the next hop is known, then sends it once, with one NAT port", () => {
    virtualSwitch.handleFrame(ports.a, tcp([MAC.a, MAC.bridge], [IP.a, IP.x]));
    expect(reached()).toEqual([]);
    resolver.settle({ sourceMac: MAC.host, destinationMac: MAC.router });
    expect(wires.uplink.sent.map((packet) => describeFrame(packet.frame))).toEqual([
      "TCP 10.0.0.11:49152 → 203.0.113.10:80 SYN",
    ]);
    expect(ports.a.vfp.getNatPool("tcp")!.usedCount).toBe(1);
  });

  it("drops it with a code when nobody answers", () => {
    virtualSwitch.handleFrame(ports.a, tcp([MAC.a, MAC.bridge], [IP.a, IP.x]));
    resolver.settle("unreachable");
    expect(reached()).toEqual([]);
    expect(ports.a.vfp.drops.get("next-hop-unresolved")).toBe(1);
  });

  it("DT-171 step 4: the answer goes to the port that owns the block, with the pod's MAC", () => {
    resolver.answer = { sourceMac: MAC.host, destinationMac: MAC.router };
    virtualSwitch.handleFrame(ports.a, tcp([MAC.a, MAC.bridge], [IP.a, IP.x]));
    const flags = TcpFlag.syn | TcpFlag.ack;
    virtualSwitch.handleFrame(
      ports.uplink,
      tcp([MAC.router, MAC.host], [IP.x, IP.node], [80, 49_152], flags),
    );
    const [answer] = wires.a.sent;
    expect(describeFrame(answer!.frame)).toBe("TCP 203.0.113.10:80 → 10.244.1.10:5000 SYN ACK");
    expect(formatMac(readU48(answer!.bytes, answer!.start) as Mac)).toBe("00-15-5D-07-C0-0A");
  });

  it("gives the blocks back with the port", () => {
    resolver.answer = { sourceMac: MAC.host, destinationMac: MAC.router };
    virtualSwitch.handleFrame(ports.a, tcp([MAC.a, MAC.bridge], [IP.a, IP.x]));
    expect(virtualSwitch.portBlocks.usedCount).toBe(1);
    virtualSwitch.removePort("a");
    expect(virtualSwitch.portBlocks.usedCount).toBe(0);
  });
});

describe("ARP", () => {
  it("brings a request to the port that has the address, and to nobody else", () => {
    virtualSwitch.handleFrame(ports.a, arp([MAC.a, BROADCAST_MAC], true, [MAC.a, IP.a], IP.bridge));
    expect(reached()).toEqual(["bridge"]);
  });

  it("shows the host's MAC to the wire, in the frame and in the body", () => {
    virtualSwitch.handleFrame(ports.a, arp([MAC.a, BROADCAST_MAC], true, [MAC.a, IP.a], IP.router));
    const [request] = wires.uplink.sent;
    expect(formatMac(readU48(request!.bytes, request!.start + 6) as Mac)).toBe("00-15-5D-00-00-11");
    expect(formatMac(readU48(request!.bytes, request!.start + 14 + 8) as Mac)).toBe("00-15-5D-00-00-11");
  });

  it("brings the answer for a pod of the node's subnet back to the pod", () => {
    ports.a.deliversByAddress = true;
    virtualSwitch.handleFrame(
      ports.uplink,
      arp([MAC.router, MAC.host], false, [MAC.router, IP.router], IP.a),
    );
    const [answer] = wires.a.sent;
    expect(reached()).toEqual(["a"]);
    expect(formatMac(readU48(answer!.bytes, answer!.start) as Mac)).toBe("00-15-5D-07-C0-0A");
    expect(formatMac(readU48(answer!.bytes, answer!.start + 14 + 18) as Mac)).toBe("00-15-5D-07-C0-0A");
  });

  it("keeps a pod's announcement of itself on its port", () => {
    virtualSwitch.handleFrame(ports.a, arp([MAC.a, BROADCAST_MAC], true, [MAC.a, IP.a], IP.a));
    expect(reached()).toEqual([]);
  });

  it("does not let the wire ask for pods of an own subnet", () => {
    virtualSwitch.handleFrame(
      ports.uplink,
      arp([MAC.router, BROADCAST_MAC], true, [MAC.router, IP.router], IP.a),
    );
    expect(reached()).toEqual(["host"]);
  });
});

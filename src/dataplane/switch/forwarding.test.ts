// Where a frame goes, without a switch: a frame and what is known of the ports give a decision, in the order of
// dataplane.md §2.17 (names: §0.4). Each case also holds that deciding leaves the frame as it is.
import { describe, expect, it } from "vitest";
import { BROADCAST_MAC, type Mac } from "#core/net/mac.ts";
import { buildIpFrame, buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { pushVlan } from "#core/wire/vlan.ts";
import { MACS, W1, W2, headersOf, ip4, mac } from "#test/support/dataplane/engine-kit.ts";
import { KnownPorts, frameOf, told } from "#test/support/dataplane/switch-kit.ts";
import { toPort } from "./decision.ts";
import {
  PLAIN_FORWARDING,
  VFP_FORWARDING,
  forwardInner,
  forwardTurned,
  steerUnwrapped,
} from "./forwarding.ts";
import { findVlanDrop } from "./mac-forwarding.ts";

const { Am, W1dr, W2dr, W1m, W2m, Rm } = MACS;
const Bm = mac("0E-2A-0A-F4-01-0B");
const BR1m = mac("00-15-5D-07-C0-02");
/** The gateway's MAC that HNS answers with (§2.5). */
const FABRIC = mac("12-34-56-78-9A-BC");
/** No port has it, unless said. */
const Um = mac("02-00-00-00-00-99");
const A = ip4("10.244.1.10");
const B = ip4("10.244.1.11");
const C = ip4("10.244.2.10");
const X = ip4("203.0.113.10");

type Macs = readonly [source: Mac, destination: Mac];
type Ips = readonly [source: typeof A, destination: typeof A];

function tcp([sourceMac, destinationMac]: Macs, [source, destination]: Ips, ports = [5000, 8080]): Packet {
  return buildTcpFrame({
    link: { sourceMac, destinationMac },
    ip: { source, destination, ttl: 128, identification: 1, isDontFragment: true },
    tcp: {
      sourcePort: ports[0] ?? 0,
      destinationPort: ports[1] ?? 0,
      sequence: 1,
      acknowledgment: 0,
      flags: TcpFlag.syn,
      window: 1_000,
    },
  });
}

/** A datagram to a group of `destination`. */
function toGroup(sourceMac: Mac, destinationMac: Mac, destination: typeof A): Packet {
  return buildUdpFrame({
    link: { sourceMac, destinationMac },
    ip: { source: A, destination, ttl: 1, identification: 1, isDontFragment: false },
    udp: { sourcePort: 68, destinationPort: 67 },
    payload: new Uint8Array(4),
  });
}

/** `inner` in a tunnel from W2 to W1 (walk O-2, row 4). */
function tunnelled(inner: Packet, vni = 4096, macs: Macs = [W2m, W1m], destinationPort = 4789): Packet {
  encapsulateVxlan(inner, {
    link: { sourceMac: macs[0], destinationMac: macs[1] },
    ip: { source: W2, destination: W1, ttl: 128, identification: 1, isDontFragment: true },
    sourcePort: 39_041,
    destinationPort,
    vni,
  });
  return inner;
}

const UPLINK = { kind: "external", mac: W1m } as const;
const HOST = { kind: "host", mac: W1m, ips: [W1] } as const;

/** W1 with an L2Bridge network of an own subnet. */
function bridged(): KnownPorts<"uplink" | "host" | "bridge" | "a" | "b"> {
  const pod = { kind: "container", usesHostMac: true } as const;
  return new KnownPorts({
    uplink: UPLINK,
    host: HOST,
    bridge: { kind: "host", mac: BR1m, ips: [ip4("10.244.1.2")] },
    a: { ...pod, mac: Am, ips: [A] },
    b: { ...pod, mac: Bm, ips: [B] },
  });
}

/** W1 with an overlay network of VNI 4096, and a pod of another one. */
function overlaid(): KnownPorts<"uplink" | "host" | "dr" | "a" | "b" | "other"> {
  const virtualSubnets = [4096];
  return new KnownPorts({
    uplink: UPLINK,
    host: HOST,
    dr: { kind: "router", mac: W1dr, virtualSubnets },
    a: { kind: "container", mac: Am, ips: [A], virtualSubnets },
    b: { kind: "container", mac: Bm, ips: [B], virtualSubnets },
    other: { kind: "container", mac: Um, ips: [A], virtualSubnets: [4100] },
  });
}

/** Two pods on a switch without VFP. */
function plain(vlans: readonly [a: number, b: number] = [0, 0]): KnownPorts<"uplink" | "host" | "a" | "b"> {
  return new KnownPorts({
    uplink: UPLINK,
    host: HOST,
    a: { kind: "container", mac: Am, ips: [A], vlan: vlans[0] },
    b: { kind: "container", mac: Bm, ips: [B], vlan: vlans[1] },
  });
}

describe("dataplane.md §2.17 step 2: a VXLAN frame goes by the MAC inside", () => {
  it.each([
    ["O-2: a MAC of the distributed router", W1dr, 4096, "to dr"],
    ["a pod's MAC", Am, 4096, "to a"],
    ["DT-039: a MAC of no port: the outer header decides", W2dr, 4096, "next rule"],
    ["DT-036: a VNI that the node does not have", W1dr, 4097, "drop virtual-subnet-unknown"],
    ["another network's pod: a MAC counts inside its VNI", Um, 4096, "next rule"],
    ["the same pod in its own VNI", Um, 4100, "to other"],
  ])("step 2: %s", (_what, inside, vni, decision) => {
    const frame = tunnelled(tcp([Am, inside], [C, A]), vni);
    expect(told(overlaid().ask(forwardInner, "uplink", frame))).toBe(decision);
  });

  it("DT-039 step 2: what misses goes on with the outer header, to the host", () => {
    expect(told(overlaid().decide("uplink", tunnelled(tcp([Am, W2dr], [C, A]))))).toBe("to host");
  });

  it("DT-036 step 2: a tunnel to another machine is none of the node's, whatever its VNI", () => {
    const passing = tunnelled(tcp([Am, W1dr], [C, A]), 4097, [W2m, Um]);
    expect(told(overlaid().ask(forwardInner, "uplink", passing))).toBe("next rule");
  });

  it("step 2: networks of one switch have UDP ports of their own, and a VNI counts with its port", () => {
    const ports = new KnownPorts({
      uplink: UPLINK,
      host: HOST,
      a: { kind: "container", mac: Am, virtualSubnets: [4096] },
      b: { kind: "container", mac: Bm, virtualSubnets: [4100], vxlanPort: 9898 },
    });
    const ask = (inside: Mac, vni: number, port: number): string =>
      told(ports.ask(forwardInner, "uplink", tunnelled(tcp([Rm, inside], [C, A]), vni, undefined, port)));
    expect([ask(Am, 4096, 4789), ask(Bm, 4100, 9898)]).toEqual(["to a", "to b"]);
    expect(ask(Am, 4096, 9898)).toBe("drop virtual-subnet-unknown");
    expect(ask(Am, 4096, 4000)).toBe("next rule");
  });

  it.each([
    ["no tunnel", tcp([Rm, W1m], [X, W1]), "uplink"],
    ["what a router took out of a tunnel", tunnelled(tcp([Am, W1dr], [C, A])), "dr"],
  ] as const)("step 2: not asked for %s", (_what, frame, from) => {
    expect(told(overlaid().ask(forwardInner, from, frame))).toBe("next rule");
  });

  it("step 2: a tunnel that an endpoint made itself does not leave the node; in its network's tunnel it is payload", () => {
    const ports = overlaid();
    const forged = tunnelled(tcp([Am, W2dr], [A, C]), 4096, [W1m, W2m]);
    expect(told(ports.decide("a", forged, undefined, forged.length))).toBe("drop tunnel-refused");
    expect(told(ports.decide("a", forged, undefined, forged.length - 50))).toBe("to uplink");
    const toNeighbour = tunnelled(tcp([Am, W2dr], [A, C]), 4096, [Am, Bm]);
    expect(told(ports.decide("a", toNeighbour, undefined, toNeighbour.length))).toBe("to b");
    // A pod of another driver has no network of tunnels: what it sends is its own business.
    expect(told(bridged().decide("a", forged, undefined, forged.length))).toBe("to uplink");
  });
});

describe("dataplane.md §2.17 step 3: the MAC of a port", () => {
  it.each([
    ["B-1: a pod's", [Am, Bm], [A, B], "to b"],
    ["B-2a: the bridge endpoint's", [Am, BR1m], [A, C], "to bridge"],
  ] as const)("step 3, L2Bridge: %s", (_what, macs, ips, decision) => {
    expect(told(bridged().decide("a", tcp(macs, ips)))).toBe(decision);
  });

  it.each([
    ["O-1 DT-030: a pod of the virtual subnet", "a", [Am, Bm], "to b"],
    ["O-2: the distributed router", "a", [Am, W1dr], "to dr"],
    ["a pod of another virtual subnet is out of reach", "a", [Am, Um], "drop mac-not-local"],
    ["O-6: its own MAC and address", "a", [Am, Am], "drop mac-not-local"],
    ["O-2 row 8: what the router turned round", "dr", [W1dr, Am], "to a"],
    ["O-9: the host finds a pod", "host", [W1m, Am], "to a"],
  ] as const)("step 3, Overlay: %s", (_what, from, macs, decision) => {
    expect(told(overlaid().decide(from, tcp(macs, [A, B])))).toBe(decision);
  });

  it("step 3: from a virtual subnet the host's legs are in reach, pods of other networks are not", () => {
    const ports = new KnownPorts({
      uplink: UPLINK,
      host: HOST,
      bridge: { kind: "host", mac: BR1m },
      leg: { kind: "container", mac: Um, leadsToHost: true },
      a: { kind: "container", mac: Am, virtualSubnets: [4096] },
      b: { kind: "container", mac: Bm },
    });
    const reached = [BR1m, Um, Bm].map((to) => told(ports.decide("a", tcp([Am, to], [A, B]))));
    expect(reached).toEqual(["to bridge", "to leg", "drop mac-not-local"]);
  });

  it.each([
    ["another sender's MAC: back to the pod (B-5)", tcp([W1m, Am], [W1, A]), "to a"],
    ["its own MAC and address: the hairpin under DSR", tcp([Am, Am], [A, A]), "drop hairpin-under-dsr"],
    ["its own MAC, another address", tcp([Am, Am], [A, B]), "drop mac-not-local"],
  ])("step 3, a frame to its own port: %s", (_what, frame, decision) => {
    expect(told(bridged().decide("a", frame))).toBe(decision);
    expect(told(bridged().ask(forwardTurned, "a", frame))).toBe(decision);
  });

  it.each([
    ["untagged, from a port of VLAN 7 to another", [7, 7], "a", undefined, "to b"],
    ["the same MAC in VLAN 8 is not found", [7, 8], "a", undefined, "to uplink"],
    ["DT-072: from the wire with tag 7", [7, 7], "uplink", 7, "to b"],
    ["from the wire without a tag", [7, 7], "uplink", undefined, "drop mac-not-local"],
    ["from the wire with a tag that no port has", [7, 7], "uplink", 9, "drop vlan-not-allowed"],
    ["a port in access mode sends no tags", [7, 7], "a", 7, "drop vlan-not-allowed"],
  ] as const)("step 3, (VLAN, MAC): %s", (_what, vlans, from, tag, decision) => {
    const frame = tcp([from === "a" ? Am : Rm, Bm], [A, B]);
    if (tag !== undefined) pushVlan(frame, { id: tag });
    expect(told(plain(vlans).decide(from, frame, PLAIN_FORWARDING))).toBe(decision);
  });

  it.each([
    ["a tag that a port has", "uplink", 7, 7],
    ["a tag that no port has stays on the frame", "uplink", 9, 0],
    ["no tag", "uplink", undefined, 0],
    ["a pod in no VLAN sends a tag", "a", 7, 0],
    ["a pod in VLAN 7 sends none", "b", undefined, 7],
    ["a pod in VLAN 7 sends one", "b", 7, "drop vlan-not-allowed"],
  ] as const)("step 3, which VLAN, with VFP: %s", (_what, from, tag, expected) => {
    const ports = plain([0, 7]);
    const frame = tcp([Rm, Bm], [A, B]);
    if (tag !== undefined) pushVlan(frame, { id: tag });
    const vlan = VFP_FORWARDING.admit(ports.tables, ports.port(from), headersOf(frame));
    expect(typeof vlan === "number" ? vlan : told(vlan)).toBe(expected);
  });

  it("step 3, without VFP: a frame to its own port ends", () => {
    expect(told(plain().decide("a", tcp([Bm, Am], [B, A]), PLAIN_FORWARDING))).toBe("drop mac-not-local");
  });

  it("step 3, (VLAN, MAC), with VFP: a frame for a port of another VLAN ends in front of it", () => {
    const ports = plain([7, 8]);
    const frame = tcp([Am, Bm], [A, B]);
    expect(told(ports.decide("a", frame))).toBe("to b");
    expect(told(findVlanDrop(ports.port("b"), frame))).toBe("drop vlan-not-allowed");
    expect(findVlanDrop(ports.port("uplink"), frame)).toBeUndefined();
  });
});

describe("dataplane.md §2.17 step 4: the host's MAC", () => {
  const published = { ip: W1, protocol: 6, port: 8080 };
  const fromWire = (to: typeof A, port = 8080): Packet => tcp([Rm, W1m], [X, to], [443, port]);

  it("DT-171 step 4: first the NAT binding of a pod's port block", () => {
    const ports = bridged();
    const block = ports.bindings.blocks.acquire("a", W1, 6);
    expect(block?.first).toBe(49_152);
    expect(told(ports.decide("uplink", fromWire(W1, 49_152)))).toBe("to a");
    expect(told(ports.decide("uplink", fromWire(W1, 49_152 + 64)))).toBe("to host");
  });

  it("DT-172 step 4: without a binding the host's vNIC", () => {
    expect(told(bridged().decide("uplink", fromWire(W1, 22)))).toBe("to host");
  });

  it("step 4: a binding comes before an endpoint's address, which comes before the host", () => {
    const ports = bridged();
    ports.port("a").deliversByAddress = true;
    ports.bindings.add(ports.port("b"), { ...published, ip: A });
    expect(told(ports.decide("uplink", fromWire(A)))).toBe("to b");
    ports.bindings.remove(ports.port("b"), { ...published, ip: A });
    expect(told(ports.decide("uplink", fromWire(A)))).toBe("to a");
    ports.port("a").deliversByAddress = false;
    expect(told(ports.decide("uplink", fromWire(A)))).toBe("to host");
  });

  it("step 4: of two ports with one binding the last has it, and the first when that one goes", () => {
    const ports = bridged();
    ports.bindings.add(ports.port("b"), published);
    ports.bindings.add(ports.port("a"), published);
    expect(told(ports.decide("uplink", fromWire(W1)))).toBe("to b");
    ports.bindings.remove(ports.port("b"), published);
    expect(told(ports.decide("uplink", fromWire(W1)))).toBe("to a");
  });

  it("step 4: an answer that a pod sends over the bridge endpoint finds the binding, too", () => {
    const ports = bridged();
    ports.bindings.add(ports.port("b"), published);
    expect(told(ports.decide("a", tcp([Am, BR1m], [A, W1], [5000, 8080])))).toBe("to b");
  });

  it("step 4: the host does not get its own frames, and a binding of its own does not turn them round", () => {
    const ports = bridged();
    ports.bindings.add(ports.port("host"), published);
    expect(told(ports.decide("host", tcp([W1m, W1m], [W1, W1])))).toBe("drop mac-not-local");
  });

  it("step 4: a pod that asks for the node's port which is its own gets it back (B-5)", () => {
    const ports = bridged();
    ports.bindings.add(ports.port("a"), published);
    expect(told(ports.decide("a", tcp([Am, W1m], [A, W1])))).toBe("to a");
  });

  it("step 4: a pod's frame to its own address does not come back by address", () => {
    const ports = bridged();
    ports.port("a").deliversByAddress = true;
    expect(told(ports.decide("a", tcp([Am, W1m], [B, A])))).toBe("to host");
  });

  it("step 4: what came to the host in a tunnel goes to the owner of its binding, else to the host", () => {
    const ports = overlaid();
    ports.bindings.add(ports.port("b"), published);
    expect(told(ports.ask(steerUnwrapped, "host", tcp([W1m, W1m], [A, W1])))).toBe("to b");
    expect(told(ports.ask(steerUnwrapped, "host", tcp([W1m, W1m], [A, W1], [5000, 22])))).toBe("next rule");
    ports.bindings.add(ports.port("host"), { ...published, port: 22 });
    expect(told(ports.ask(steerUnwrapped, "host", tcp([W1m, W1m], [A, W1], [5000, 22])))).toBe("next rule");
  });

  it("DT-022 step 4: a later fragment goes where the first one went; deciding alone teaches nothing", () => {
    const fragment = (offset: number): Packet => {
      const payload = new Uint8Array(32);
      payload.set([0x13, 0x88, 0x1f, 0x90, 0, 64]);
      return buildIpFrame({
        link: { sourceMac: Rm, destinationMac: W1m },
        ip: { source: X, destination: W1, ttl: 9, identification: 7, isDontFragment: false },
        protocol: 17,
        payload,
        fragment: { offset, hasMore: offset === 0 },
      });
    };
    const ports = bridged();
    ports.bindings.add(ports.port("b"), { ...published, protocol: 17 });
    expect(told(ports.decide("uplink", fragment(0)))).toBe("to b");
    expect(told(ports.decide("uplink", fragment(32)))).toBe("to host");
    ports.bindings.learn(fragment(0), headersOf(fragment(0)));
    expect(told(ports.decide("uplink", fragment(32)))).toBe("to b");
  });
});

describe("dataplane.md §2.17 step 5: group addresses", () => {
  const MDNS = mac("01-00-5E-00-00-FB");
  it.each([
    ["L2Bridge: a pod's broadcast is off", bridged(), "a", BROADCAST_MAC, "drop broadcast-not-delivered"],
    ["L2Bridge: the host's goes to the wire", bridged(), "host", BROADCAST_MAC, "to uplink"],
    ["L2Bridge: the wire's goes to the host", bridged(), "uplink", BROADCAST_MAC, "to host"],
    ["DT-056 Overlay: subnet broadcast", overlaid(), "a", BROADCAST_MAC, "drop broadcast-not-delivered"],
    ["DT-053 Overlay: multicast", overlaid(), "a", MDNS, "drop broadcast-not-delivered"],
    ["Overlay: what a router turned round", overlaid(), "dr", MDNS, "drop broadcast-not-delivered"],
  ] as const)("step 5, %s", (_what, ports, from, destination, decision) => {
    const sender = { a: Am, host: W1m, uplink: Rm, dr: W1dr }[from];
    const frame = toGroup(sender, destination, ip4("10.244.1.255"));
    expect(told((ports as KnownPorts<"a" | "host" | "uplink" | "dr">).decide(from, frame))).toBe(decision);
  });

  it.each([
    ["DT-073 T-4 T-6: a pod's reaches all others and the wire", [0, 0], "a", "to uplink, host, b"],
    ["T-6: the wire's reaches all", [0, 0], "uplink", "to host, a, b"],
    ["inside a VLAN: its ports and the wire", [7, 7], "a", "to uplink, b"],
    ["T-7: the wire's without a tag reaches no port of a VLAN", [7, 7], "uplink", "to host"],
  ] as const)("step 5, Transparent, %s", (_what, vlans, from, decision) => {
    const frame = toGroup(from === "a" ? Am : Rm, BROADCAST_MAC, ip4("255.255.255.255"));
    expect(told(plain(vlans).decide(from, frame, PLAIN_FORWARDING))).toBe(decision);
  });
});

describe("dataplane.md §2.17 step 6: unknown unicast", () => {
  it.each([
    ["from a pod: the uplink", "a", [Am, Rm], "to uplink"],
    ["from the wire: dropped", "uplink", [Rm, Um], "drop mac-not-local"],
  ] as const)("step 6, L2Bridge %s", (_what, from, macs, decision) => {
    expect(told(bridged().decide(from, tcp(macs, [A, X])))).toBe(decision);
    expect(told(plain().decide(from, tcp(macs, [A, X]), PLAIN_FORWARDING))).toBe(decision);
  });

  it.each([
    ["with a next hop of the node: the uplink (O-7)", [W1m, Rm], "to uplink"],
    ["without one it stays in its virtual subnet", [Am, Rm], "drop mac-not-local"],
  ] as const)("step 6, Overlay %s", (_what, macs, decision) => {
    expect(told(overlaid().decide("a", tcp(macs, [A, X])))).toBe(decision);
  });

  it("DT-173 step 6: an internal switch drops it", () => {
    const ports = new KnownPorts({
      host: { kind: "host", mac: W1m },
      a: { kind: "container", mac: Am },
    });
    expect(told(ports.decide("a", tcp([Am, Um], [A, X]), PLAIN_FORWARDING))).toBe("drop mac-not-local");
    expect(told(ports.decide("a", tcp([Am, Um], [A, X])))).toBe("drop mac-not-local");
  });
});

describe("dataplane.md §2.17 step 7: L2Tunnel", () => {
  function tunnelNode(): KnownPorts<"uplink" | "host" | "a" | "b"> {
    const pod = {
      kind: "container",
      usesHostMac: true,
      sendsToFabric: true,
      deliversByAddress: true,
    } as const;
    return new KnownPorts({
      uplink: UPLINK,
      host: HOST,
      a: { ...pod, mac: Am, ips: [A] },
      b: { ...pod, mac: Bm, ips: [B] },
    });
  }

  it.each([
    ["DT-174: a frame Am→Bm leaves to the uplink, not to B", "a", [Am, Bm], [A, B], "to uplink"],
    ["DT-067: the first half of the way to B", "a", [W1m, FABRIC], [A, B], "to uplink"],
    ["DT-067: the second half, by address", "uplink", [FABRIC, W1m], [A, B], "to b"],
    ["what the port's rules gave the node's MAC is the node's", "a", [Am, W1m], [A, W1], "to host"],
    ["the host's own frames are no pod's", "host", [W1m, Bm], [W1, B], "to b"],
  ] as const)("step 7, %s", (_what, from, macs, ips, decision) => {
    expect(told(tunnelNode().decide(from, tcp(macs, ips)))).toBe(decision);
  });
});

describe("a decision", () => {
  it("about a frame that no trace follows costs no object; a followed frame hears the reason", () => {
    const port = bridged().port("a");
    const frame = tcp([Bm, Am], [B, A]);
    expect(toPort(port, frame, "why")).toBe(toPort(port, frame, "another"));
    frame.tag = 1;
    expect(toPort(port, frame, "why")).toMatchObject({ reason: "why" });
  });

  it("sends a frame of its own only where it says so", () => {
    expect(() => frameOf(bridged().decide("a", tcp([Am, Bm], [A, B])))).toThrow("no frame of its own: to b");
  });
});

// Encapsulation and decapsulation by the engine: the vectors of dataplane.md §6.10, and the rows of §10 "Overlay" that
// need no node.
import { beforeEach, describe, expect, it } from "vitest";
import { readU16, readU8 } from "#core/base/bytes.ts";
import { formatHex } from "#core/base/encodings.ts";
import { hostPrefix } from "#core/net/ip.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import {
  MACS,
  W1,
  W2,
  ends,
  group,
  headersOf,
  ip,
  ip4,
  ip6,
  layer,
  link,
  mac,
  makePort,
  prefix,
  rule,
  send,
  tcp,
  udp,
} from "#test/support/dataplane/engine-kit.ts";
import {
  decapsulateNvgre,
  decapsulateVxlan,
  encapsulateVxlan,
  isNvgre,
} from "#core/wire/tunnels/encapsulation.ts";
import { listFields } from "#core/wire/text/fields.ts";
import { describeFrame } from "#core/wire/text/format.ts";
import { Packet } from "#core/wire/packet.ts";
import { segmentTcp } from "#core/wire/segmentation.ts";
import { TcpFlag, TcpView } from "#core/wire/tcp.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { MappingSpace } from "./actions/encapsulation.ts";
import type { Action, Rule } from "./rule.ts";
import type { VfpPort } from "./vfp-port.ts";

const { V1, V3, V4, V5 } = DATAPLANE_VECTORS;
const A = "10.244.1.10";
const C = "10.244.2.10";
const ENCAP = "VNET_ENCAP_LAYER";

const toW2: Action = {
  type: "routeencap",
  encapsulation: "vxlan",
  tni: 4096,
  destinations: [{ providerAddress: W2, innerMac: MACS.W2dr }],
  decrementTtl: true,
};

function remoteSubnet(action: Action = toW2, destination = "10.244.2.0/24"): Rule {
  return rule("remote", action, { condition: { destination: [prefix(destination)] } });
}

/** A pod's port on an overlay node: LB_DSR, ENCAP (default deny), PA_ROUTE. */
function podPort(encap: readonly Rule[] = [remoteSubnet()]): VfpPort {
  const port = makePort(
    [
      layer("LB_DSR", 7),
      layer(ENCAP, 40, { isStateful: false, isDefaultAllow: false, clearsTni: true }),
      layer("VNET_PA_ROUTE_LAYER", 2_000, { isStateful: false }),
    ],
    {
      nextHopResolver: {
        resolve: () => ({ sourceMac: MACS.W1m, destinationMac: MACS.W2m }),
      },
    },
  );
  port.address = {
    providerIpv4: W1,
    customerAddresses: [ip(A)],
    mac: MACS.Am,
    fakeMac: MACS.W1m,
    flags: 336,
  };
  port.setGroups(ENCAP, [
    group(encap, { match: "lpm-destination" }),
    group([rule("in", { type: "allow" })], { direction: "in", name: "IN" }),
  ]);
  const route = rule("PA_ROUTE", { type: "paroute" }, { condition: { protocols: [252, 47] } });
  port.setGroups("VNET_PA_ROUTE_LAYER", [group([route])]);
  const vip = {
    protocols: [6],
    destination: [hostPrefix(ip("10.96.0.50"))],
    destinationPorts: [{ first: 80, last: 80 }],
  };
  const service: Action = {
    type: "lbnat",
    backEnds: [{ ip: ip(C), port: 8080 }],
    distribution: "5-tuple",
    rewrites: "address-and-port",
  };
  port.setGroups("LB_DSR", [group([rule("LB_DSR", service, { condition: vip, isStateful: true })])]);
  return port;
}

/** The distributed router's port: what comes in for a pod of this node is turned round to it. */
function routerPort(): VfpPort {
  const port = makePort([
    layer("REMOTESUBNETROUTE_HAIRPIN_LAYER", 35, { isStateful: false, isHairpin: true }),
    layer(ENCAP, 40, { isStateful: false, isDefaultAllow: false, clearsTni: true }),
  ]);
  const decap = rule(
    "decap",
    { type: "decap", pushesTni: true },
    {
      priority: 45_534,
      condition: { protocols: [252], tunnelId: 4096, destination: [prefix("0.0.0.0/0")] },
    },
  );
  // Q-4 of dataplane.md §11: what stays on the node has a rule that does not encapsulate.
  const own = rule("own", { type: "allow" }, { condition: { destination: [prefix("10.244.1.0/24")] } });
  port.setGroups(ENCAP, [
    group([decap], { direction: "in", match: "lpm-destination" }),
    group([own], { match: "lpm-destination", name: "OUT" }),
  ]);
  const toPod = rule(
    "pod",
    { type: "transpose", sourceMac: MACS.W1dr, destinationMac: MACS.Am },
    { condition: { destination: [hostPrefix(ip(A))] } },
  );
  port.setGroups("REMOTESUBNETROUTE_HAIRPIN_LAYER", [
    group([toPod], { direction: "in", match: "lpm-destination" }),
  ]);
  return port;
}

/** `frame` as it comes from W2. */
function fromW2(frame: Uint8Array, vni = 4096): Packet {
  const packet = Packet.fromFrame(frame);
  encapsulateVxlan(packet, {
    link: { sourceMac: MACS.W2m, destinationMac: MACS.W1m },
    ip: { source: W2, destination: W1, ttl: 128, identification: 1, isDontFragment: true },
    sourcePort: 50_000,
    vni,
  });
  return packet;
}

const syn = (sourcePort: number): Packet => tcp([A, sourcePort], [C, 8080], TcpFlag.syn);
const data = (sourcePort: number): Packet => tcp([A, sourcePort], [C, 8080], TcpFlag.ack);
const fieldOf = (packet: Packet, name: string): string | undefined =>
  listFields(packet.frame).find(({ field }) => field === name)?.value;

describe("the vectors of dataplane.md §6.10 through the engine", () => {
  it("DATAPLANE-V1 to DATAPLANE-V3: LB_DSR, encapsulation, next hop; only the source port is our own hash", () => {
    const port = podPort();
    port.nextIdentification = 0x7001;
    const packet = Packet.fromFrame(V1);
    expect(send(port, "out", packet)).toBe("pass");
    const wanted = V3.slice();
    // The outer source port is a hash that is not public.
    wanted.set(packet.frame.subarray(34, 36), 34);
    expect(formatHex(packet.frame)).toBe(formatHex(wanted));
    expect(readU16(packet.frame, 34)).toBeGreaterThanOrEqual(1_024);
  });

  it("DATAPLANE-V3 gives its inner frame back, with the VNI as virtual subnet", () => {
    const port = makePort([layer("DECAP", 40)]);
    port.setGroups("DECAP", [
      group([rule("decap", { type: "decap", pushesTni: true })], { direction: "in" }),
    ]);
    for (const round of [1, 2]) {
      const packet = Packet.fromFrame(V3);
      expect(send(port, "in", packet, round)).toBe("pass");
      expect(formatHex(packet.frame)).toBe(formatHex(V3.subarray(50)));
      expect(packet.tni).toBe(4096);
    }
    expect(port.counters.in.unifiedFlowMatch).toBe(0);
  });

  it("DATAPLANE-V4 to DATAPLANE-V5, DT-035: decap and turn at the router's port, LB_DSR back at the pod's", () => {
    const pod = podPort();
    send(pod, "out", Packet.fromFrame(V1));
    const packet = fromW2(V4);
    expect(send(routerPort(), "in", packet)).toBe("hairpin");
    expect(link(packet)).toBe("00-15-5D-AA-00-01 > 0E-2A-0A-F4-01-0A");
    expect(send(pod, "in", packet)).toBe("pass");
    expect(formatHex(packet.frame)).toBe(formatHex(V5));
  });
});

describe("encapsulation on a pod's port", () => {
  let port: VfpPort;
  beforeEach(() => {
    port = podPort();
  });

  it("DT-031 a remote subnet: outer W1 → W2:4789, VNI 4096, inner destination W2dr, TTL 127", () => {
    for (const packet of [syn(5000), data(5000), data(5000)]) {
      expect(send(port, "out", packet)).toBe("pass");
      expect(fieldOf(packet, "ip.src")).toBe("10.0.0.11");
      expect(fieldOf(packet, "ip.dst")).toBe("10.0.0.12");
      expect(fieldOf(packet, "udp.dstport")).toBe("4789");
      expect(fieldOf(packet, "vxlan.vni")).toBe("4096");
      expect(fieldOf(packet, "inner.eth.src")).toBe("0E-2A-0A-F4-01-0A");
      expect(fieldOf(packet, "inner.eth.dst")).toBe("00-15-5D-AA-00-02");
      expect(fieldOf(packet, "inner.ip.ttl")).toBe("127");
      expect(verifyChecksums(packet.bytes, headersOf(packet))).toBeUndefined();
    }
    expect(port.counters.out.unifiedFlowMatch).toBe(2);
  });

  it("tells a trace where it goes, and the trace's frames show the headers", () => {
    const heard: string[] = [];
    const packet = syn(5000);
    packet.tag = 1;
    const recorder = {
      record: (_tag: number, event: { readonly text: string }, frame: Uint8Array): void => {
        heard.push(`${event.text}: ${describeFrame(frame)}`);
      },
    };
    port.process("out", packet, headersOf(packet), 0, recorder);
    const inner = "[TCP 10.244.1.10:5000 → 10.244.2.10:8080 SYN]";
    expect(heard).toEqual([
      "no rule matches: TCP 10.244.1.10:5000 → 10.244.2.10:8080 SYN",
      `matched; into VXLAN 4096 to 10.0.0.12: VXLAN 4096 10.0.0.11 → 10.0.0.12 ${inner}`,
      `matched: VXLAN 4096 10.0.0.11 → 10.0.0.12 ${inner}`,
      // The sum of all layers, in the words of VFP's ETW events (dataplane.md §1.10).
      "cached for later packets: Encap Push(VXLAN 4096, SrcIp 10.0.0.11, DestIp 10.0.0.12, " +
        "SrcMac 00-15-5D-00-00-11, DestMac 00-15-5D-00-00-12); " +
        "Mac Modify(SrcMac Ignore, DestMac 00-15-5D-AA-00-02); " +
        "Ip Modify(SrcIp Ignore, DestIp Ignore, DecTtl 1, Dscp Ignore)" +
        `: VXLAN 4096 10.0.0.11 → 10.0.0.12 ${inner}`,
    ]);
  });

  it("DT-032 the outer header has TTL 128 and DF", () => {
    const packet = data(5000);
    send(port, "out", packet);
    expect([fieldOf(packet, "ip.ttl"), fieldOf(packet, "ip.flags.df")]).toEqual(["128", "1"]);
  });

  it("DT-033 one flow has one outer source port, two flows have two", () => {
    const portOf = (packet: Packet): string | undefined => {
      send(port, "out", packet);
      return fieldOf(packet, "udp.srcport");
    };
    const first = portOf(syn(5000));
    expect([portOf(data(5000)), portOf(data(5000))]).toEqual([first, first]);
    expect(portOf(syn(5001))).not.toBe(first);
  });

  it("DT-034 a Linux peer: the inner destination is the MAC of its VXLAN device", () => {
    const L1v = mac("66-11-22-33-44-55");
    const action: Action = { ...toW2, destinations: [{ providerAddress: ip("10.0.0.21"), innerMac: L1v }] };
    port = podPort([remoteSubnet(action)]);
    const packet = data(5000);
    send(port, "out", packet);
    expect(fieldOf(packet, "inner.eth.dst")).toBe("66-11-22-33-44-55");
    expect(fieldOf(packet, "inner.ip.ttl")).toBe("127");
  });

  it("DT-040 no route for the subnet: the layer lets nothing pass without a rule", () => {
    expect(send(port, "out", tcp([A, 5000], ["10.244.9.9", 80], TcpFlag.syn))).toBe("drop");
    expect(port.drops.get("acl-no-rule-matched")).toBe(1);
  });

  it("DT-041 the route is removed: the next packet of a flow is dropped", () => {
    send(port, "out", syn(5000));
    expect(send(port, "out", data(5000))).toBe("pass");
    port.setGroups(ENCAP, []);
    expect(send(port, "out", data(5000))).toBe("drop");
  });

  it("DT-047 another VXLAN port: outer destination 9898, and what comes back is found there", () => {
    port.parserSettings = { ...port.parserSettings, vxlanPort: 9898 };
    const packet = data(5000);
    send(port, "out", packet);
    expect(fieldOf(packet, "udp.dstport")).toBe("9898");
  });

  it("DT-190 the outer UDP checksum is 0", () => {
    const packet = data(5000);
    send(port, "out", packet);
    expect(fieldOf(packet, "udp.checksum")).toBe("0x0000");
  });

  it("the last hop dies here, not in the tunnel", () => {
    const packet = data(5000);
    packet.bytes[packet.start + 22] = 1;
    expect(send(port, "out", packet)).toBe("drop");
    expect(port.drops.get("ttl-expired")).toBe(1);
  });

  it("a port without provider address drops, and says why", () => {
    port.address = { customerAddresses: [], flags: 0 };
    expect(send(port, "out", data(5000))).toBe("drop");
    expect(port.drops.get("provider-address-missing")).toBe(1);
  });

  it("several destinations: each flow keeps to one, all are used", () => {
    const destinations = ["10.0.0.12", "10.0.0.13", "10.0.0.14"].map((address) => ({
      providerAddress: ip(address),
      innerMac: MACS.W2dr,
    }));
    port = podPort([remoteSubnet({ ...toW2, destinations })]);
    const seen = new Set<string | undefined>();
    for (let client = 5000; client < 5060; client++) {
      const [first, second] = [data(client), data(client)];
      send(port, "out", first);
      send(port, "out", second);
      expect(fieldOf(second, "ip.dst")).toBe(fieldOf(first, "ip.dst"));
      seen.add(fieldOf(first, "ip.dst"));
    }
    expect(seen.size).toBe(3);
  });

  it("NVGRE and IPv6 outside: 42 and 70 bytes more, the same frame inside", () => {
    port.address = { ...port.address, providerIpv6: ip6("fd00::11") };
    const nvgre = podPort([remoteSubnet({ ...toW2, encapsulation: "nvgre" })]);
    const packet = data(5000);
    const { length } = packet;
    send(nvgre, "out", packet);
    expect(packet.length).toBe(length + 42);
    expect(isNvgre(packet.bytes, headersOf(packet))).toBe(true);
    expect(decapsulateNvgre(packet, headersOf(packet))).toBe(4096);
    expect(ends(packet)).toBe("10.244.1.10:5000 > 10.244.2.10:8080");
    const six = podPort([
      remoteSubnet({ ...toW2, destinations: [{ providerAddress: ip("fd00::12"), innerMac: MACS.W2dr }] }),
    ]);
    six.address = port.address;
    const over6 = data(5000);
    send(six, "out", over6);
    expect(over6.length).toBe(length + 70);
    expect(decapsulateVxlan(over6, headersOf(over6))).toBe(4096);
    expect(ends(over6)).toBe("10.244.1.10:5000 > 10.244.2.10:8080");
  });

  it("fragments of a datagram go into the tunnel behind the first one", () => {
    const whole = udp([A, 5000], [C, 53], new Uint8Array(32));
    const fragments = [0, 16].map((offset) => {
      const bytes = whole.frame.slice(0, 34 + (offset === 0 ? 16 : 24));
      bytes.set(whole.frame.subarray(34 + offset, 34 + offset + bytes.length - 34), 34);
      const at = new DataView(bytes.buffer);
      at.setUint16(16, bytes.length - 14);
      at.setUint16(20, (offset === 0 ? 0x2000 : 0) | (offset / 8));
      return Packet.fromFrame(bytes);
    });
    expect(fragments.map((packet) => send(port, "out", packet))).toEqual(["pass", "pass"]);
    const [first, second] = fragments;
    expect(fieldOf(second!, "vxlan.vni")).toBe("4096");
    expect(fieldOf(second!, "udp.srcport")).toBe(fieldOf(first!, "udp.srcport"));
    expect(fieldOf(second!, "inner.ip.ttl")).toBe("127");
  });

  it("DT-184 a super frame is cut first, then each segment is encapsulated: at most 1500 bytes, FIN on the last", () => {
    const payload = new Uint8Array(3_000);
    const whole = tcp([A, 5000], [C, 8080], TcpFlag.ack | TcpFlag.psh | TcpFlag.fin, { payload });
    send(port, "out", syn(5000));
    const segments = segmentTcp(whole, headersOf(whole), 1_410);
    expect(segments.map((packet) => send(port, "out", packet))).toEqual(["pass", "pass", "pass"]);
    expect(segments.map((packet) => fieldOf(packet, "ip.len"))).toEqual(["1500", "1500", "270"]);
    expect(segments.map((packet) => fieldOf(packet, "inner.ip.id"))).toEqual(["0x0001", "0x0002", "0x0003"]);
    expect(segments.map((packet) => fieldOf(packet, "inner.tcp.flags"))).toEqual([
      "ACK",
      "ACK",
      "FIN PSH ACK",
    ]);
  });

  it("what no length field could say is not encapsulated", () => {
    const huge = udp([A, 5000], [C, 53], new Uint8Array(65_480));
    expect(send(port, "out", huge)).toBe("drop");
    expect(port.drops.get("mtu-exceeded")).toBe(1);
  });
});

describe("encapsulation by mapping", () => {
  const action: Action = {
    type: "mapencap",
    encapsulation: "vxlan",
    space: "network",
    tni: 4096,
    rewritesMac: true,
  };

  it("the mapping says node, MAC and, if it has one, the number; the TTL stays", () => {
    const port = podPort([remoteSubnet(action)]);
    port.setSpace(
      MappingSpace.of("network", [
        { customerAddress: ip(C), providerAddress: W2, mac: MACS.Cm },
        { customerAddress: ip("10.244.2.11"), providerAddress: W2, mac: MACS.Cm, tni: 5000 },
      ]),
    );
    const packet = data(5000);
    send(port, "out", packet);
    expect(fieldOf(packet, "vxlan.vni")).toBe("4096");
    expect(fieldOf(packet, "inner.eth.dst")).toBe("0E-2A-0A-F4-02-0A");
    expect(fieldOf(packet, "inner.ip.ttl")).toBe("128");
    const other = tcp([A, 5000], ["10.244.2.11", 80], TcpFlag.ack);
    send(port, "out", other);
    expect(fieldOf(other, "vxlan.vni")).toBe("5000");
  });

  it("an address that is not mapped is dropped, and mapped later passes", () => {
    const port = podPort([remoteSubnet(action)]);
    expect(send(port, "out", data(5000))).toBe("drop");
    expect(port.drops.get("mapping-unknown")).toBe(1);
    port.setSpace(
      MappingSpace.of("network", [{ customerAddress: ip(C), providerAddress: W2, mac: MACS.Cm }]),
    );
    expect(send(port, "out", data(5000))).toBe("pass");
  });
});

describe("what comes in a tunnel", () => {
  it("DT-036 another VNI is not taken off: dropped", () => {
    const port = routerPort();
    expect(send(port, "in", fromW2(V4, 4097))).toBe("drop");
    expect(port.drops.get("acl-no-rule-matched")).toBe(1);
  });

  it("DT-037 a VNI that is not marked as valid: dropped", () => {
    const port = routerPort();
    const packet = fromW2(V4);
    packet.bytes[packet.start + 42] = 0;
    expect(send(port, "in", packet)).toBe("drop");
    expect(port.drops.get("tunnel-refused")).toBe(1);
  });

  it("DT-038 a UDP checksum of 0 is accepted", () => {
    const packet = fromW2(V4);
    expect(fieldOf(packet, "udp.checksum")).toBe("0x0000");
    expect(send(routerPort(), "in", packet)).toBe("hairpin");
  });

  it("a frame in the tunnel that is broken: dropped", () => {
    const port = routerPort();
    const packet = fromW2(V4);
    packet.bytes[packet.start + 50 + 14] = 0x4f;
    expect(send(port, "in", packet)).toBe("drop");
    expect(port.drops.get("tunnel-refused")).toBe(1);
  });

  it("the same pod address in two networks: the virtual subnet tells them apart", () => {
    const port = makePort([layer("ACL", 15, { isDefaultAllow: false })]);
    port.setGroups("ACL", [
      group([rule("own", { type: "allow" }, { condition: { tni: 4096 } })], { direction: "in" }),
    ]);
    const verdicts = [4096, 4097, 0].map((tni) => {
      const packet = Packet.fromFrame(V4);
      packet.tni = tni;
      return send(port, "in", packet);
    });
    expect(verdicts).toEqual(["pass", "drop", "drop"]);
  });

  it("VXLAN in VXLAN: a pod's own tunnel is a packet like others", () => {
    const port = podPort();
    const packet = data(5000);
    encapsulateVxlan(packet, {
      link: { sourceMac: MACS.Am, destinationMac: MACS.W1dr },
      ip: { source: ip(A), destination: ip(C), ttl: 64, identification: 1, isDontFragment: false },
      sourcePort: 1234,
      vni: 77,
    });
    for (const round of [0, 1]) {
      const again = Packet.fromFrame(packet.frame);
      expect(send(port, "out", again, round)).toBe("pass");
      expect(fieldOf(again, "vxlan.vni")).toBe("4096");
      expect(fieldOf(again, "inner.vxlan.vni")).toBe("77");
      expect(fieldOf(again, "inner.ip.ttl")).toBe("63");
    }
  });

  it("a packet that waits for its next hop is as it came, outside and inside", () => {
    const port = podPort();
    const hops = ["pending", { sourceMac: MACS.W1m, destinationMac: MACS.Rm }] as const;
    let asked = 0;
    port.nextHopResolver = { resolve: () => hops[asked++]! };
    const packet = syn(5000);
    const before = formatHex(packet.frame);
    const headers = headersOf(packet);
    expect(port.process("out", packet, headers, 0)).toBe("pending");
    expect(formatHex(packet.frame)).toBe(before);
    expect(headers).toEqual(headersOf(packet));
    expect(port.counters.out.pendingPackets).toBe(1);
    expect(send(port, "out", packet)).toBe("pass");
    expect(link(packet)).toBe("00-15-5D-00-00-11 > 52-54-00-00-00-01");
  });

  it("F-03 a layer that is gone for a moment: flows made in the gap go on without it", () => {
    const port = routerPort();
    port.setLayerPresent(ENCAP, false, false);
    const inner = Packet.fromFrame(V4);
    const isStillOutside = (): boolean => {
      const packet = fromW2(inner.frame);
      packet.bytes[packet.start + 50 + 47] = TcpFlag.ack;
      send(port, "in", packet);
      return readU8(packet.bytes, packet.start + 23) === 17;
    };
    expect(isStillOutside()).toBe(true);
    port.setLayerPresent(ENCAP, true, false);
    expect(isStillOutside()).toBe(true);
    port.setLayerPresent(ENCAP, true);
    expect(isStillOutside()).toBe(false);
  });
});

describe("MSS delta", () => {
  it("DT-188, DT-106: a SYN says 50 less, its answer what the rule says for answers, data nothing", () => {
    const port = makePort([layer("SLB_NAT_LAYER", 200)]);
    const action: Action = { type: "nat", side: "source", ip: ip4("10.244.1.2"), port: 50_112 };
    const snat = rule("SNAT", action, { isStateful: true, mssDelta: 50, reverseMssDelta: 10 });
    port.setGroups("SLB_NAT_LAYER", [group([snat])]);
    const mssOf = (packet: Packet): number => {
      const headers = headersOf(packet);
      expect(verifyChecksums(packet.bytes, headers)).toBeUndefined();
      return readU16((TcpView.parse(packet.bytes, headers.transport, headers.end) as TcpView).options, 2);
    };
    const options = [{ kind: "mss", mssBytes: 1_410 }] as const;
    const question = tcp([A, 5000], ["10.96.0.50", 443], TcpFlag.syn, { options });
    send(port, "out", question);
    expect(mssOf(question)).toBe(1_360);
    const again = tcp([A, 5000], ["10.96.0.50", 443], TcpFlag.syn, { options });
    send(port, "out", again);
    expect(mssOf(again)).toBe(1_360);
    const answer = tcp(["10.96.0.50", 443], ["10.244.1.2", 50_112], TcpFlag.syn | TcpFlag.ack, { options });
    send(port, "in", answer);
    expect(mssOf(answer)).toBe(1_400);
    const later = tcp([A, 5000], ["10.96.0.50", 443], TcpFlag.ack, { options });
    send(port, "out", later);
    expect(mssOf(later)).toBe(1_410);
  });
});

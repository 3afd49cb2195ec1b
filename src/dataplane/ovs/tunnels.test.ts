// Two chassis that share a southbound database: what one sends in a tunnel, and where the other goes on with it
// (ovn-architecture(7), "Tunnel Encapsulations"; control-planes.md §4.3, §4.4).
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { readU16, readU48 } from "#core/base/bytes.ts";
import { type Ipv4, formatIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { Headers } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";
import {
  decapsulateGeneve,
  encapsulateGeneve,
  encapsulateStt,
  readSttSegment,
} from "#core/wire/tunnels/encapsulation.ts";
import {
  fromOvnGeneve,
  fromOvnSttContextId,
  toOvnGeneveOption,
  toOvnSttContextId,
  toOvnVxlanVni,
} from "#core/wire/tunnels/ovn-metadata.ts";
import { computeTransportChecksum } from "#core/wire/transport-checksum.ts";
import type { NextHopResolver } from "../vfp/actions/next-hop.ts";
import { STT_HEADER_BYTES, SttReassembler, SttView } from "#core/wire/tunnels/stt.ts";
import { type Asked, LogicalWorld, recorded, tellEnding } from "#test/support/dataplane/logical-world.ts";
import { ChassisTunnels, type TunnelPort } from "./chassis-tunnels.ts";
import { LogicalNetwork } from "./logical-network.ts";
import { type Ending, receiveFromTunnel } from "./logical-pipeline.ts";
import { OuterHeaders } from "./outer-headers.ts";
import type { Southbound } from "./southbound.ts";

const DUMP = recorded("southbound-services");
const ENDS = { hv1: "192.0.2.1", hv2: "192.0.2.2" } as const;

/** The recorded network over two chassis: p12 is at hv2, the other pods at hv1. */
function shared(types: Readonly<Record<keyof typeof ENDS, readonly string[]>>): Southbound {
  const chassis = (["hv1", "hv2"] as const).map((name) => ({
    id: name,
    name,
    encapsulations: types[name].map((type) => ({ type, ip: ENDS[name] })),
  }));
  const at = (name: string): string => (name === "p12" ? "hv2" : /^p\d/.test(name) ? "hv1" : "");
  return { ...DUMP, chassis, ports: DUMP.ports.map((port) => ({ ...port, chassis: at(port.name) })) };
}

const GENEVE = shared({ hv1: ["geneve"], hv2: ["geneve"] });
const TO_P12: Asked = {
  inport: "p04",
  from: "50:54:00:00:00:04",
  to: "00:00:00:00:ff:00",
  source: "10.0.0.4",
  destination: "10.0.1.2",
};

function keyOf(name: string): number {
  return defined(
    DUMP.ports.find((port) => port.name === name),
    "the port",
  ).key;
}

function keyOfDatapath(name: string): number {
  return defined(
    DUMP.datapaths.find((each) => each.name === name),
    "the datapath",
  ).key;
}

function tunnelled(asked: Asked, southbound = GENEVE): Extract<Ending, { kind: "tunnel" }> {
  const [ending] = new LogicalWorld(southbound, "hv1").pass(asked).endings;
  if (ending?.kind !== "tunnel") throw new Error("it goes through no tunnel");
  return ending;
}

const LINK = { sourceMac: 1 as Mac, destinationMac: 2 as Mac };
const IP = {
  source: 0xc0000201 as Ipv4,
  destination: 0xc0000202 as Ipv4,
  ttl: 64,
  identification: 0,
  isDontFragment: true,
};

/** Takes what came out of a tunnel on at hv2. */
function atHv2(keys: Parameters<typeof receiveFromTunnel>[2], packet: Packet): readonly string[] {
  const { network, chassis } = new LogicalWorld(GENEVE, "hv2");
  return receiveFromTunnel(network, chassis, keys, packet).endings.map((ending) => tellEnding(ending));
}

describe("a packet to a pod of another chassis", () => {
  it("CP-O27: goes out with the key of the pod's switch and the pod's port, routed already", () => {
    const { chassis, keys } = tunnelled(TO_P12);
    expect(chassis).toBe("hv2");
    expect(keys).toEqual({
      datapath: keyOfDatapath("sw1"),
      ingressPort: keyOf("sw1-lr0"),
      egressPort: keyOf("p12"),
    });
  });

  it("CP-O33: in GENEVE, whose option holds the two ports, it arrives as it was sent", () => {
    const { keys, packet } = tunnelled(TO_P12);
    const option = toOvnGeneveOption(keys);
    expect([option.optionClass, option.type]).toEqual([0x102, 0x80]);
    expect([...option.data]).toEqual([0, keyOf("sw1-lr0"), 0, keyOf("p12")]);
    encapsulateGeneve(packet, {
      link: LINK,
      ip: IP,
      sourcePort: 40_000,
      vni: keys.datapath,
      options: [option],
    });
    const headers = new Headers();
    headers.parse(packet);
    const geneve = decapsulateGeneve(packet, headers);
    if (typeof geneve === "string") throw new Error(geneve);
    const received = defined(fromOvnGeneve(geneve.vni, geneve.options), "the keys");
    expect(atHv2(received, packet)).toEqual(["p12: 10.0.0.4:5000 > 10.0.1.2:80 tcp 0x2 ttl 63"]);
  });

  it("CP-O32: in STT the same, with the keys in its context", () => {
    const { keys, packet } = tunnelled(TO_P12);
    const contextId = toOvnSttContextId(keys);
    expect(contextId).toBe(
      (BigInt(keys.ingressPort) << 40n) | (BigInt(keys.egressPort) << 24n) | BigInt(keys.datapath),
    );
    const stt = { flags: 0, layer4Offset: 0, mssBytes: 0, vlanTag: 0, contextId };
    const segments = encapsulateStt(packet, stt, {
      link: LINK,
      ip: IP,
      sourcePort: 1,
      packetId: 7,
      segmentBytesMax: 60,
    });
    const frames = new SttReassembler();
    let whole: Uint8Array | undefined;
    for (const each of segments ?? []) {
      const headers = new Headers();
      headers.parse(each);
      const segment = defined(readSttSegment(each, headers), "a segment");
      const taken = frames.add(segment.source, segment, segment.payload, 0);
      if (taken instanceof Uint8Array) whole = taken;
    }
    const bytes = defined(whole, "the frame");
    const view = SttView.parse(bytes, 0, bytes.length);
    if (typeof view === "string") throw new Error(view);
    const inner = Packet.fromFrame(bytes.subarray(STT_HEADER_BYTES));
    expect(atHv2(fromOvnSttContextId(view.contextId), inner)).toEqual([
      "p12: 10.0.0.4:5000 > 10.0.1.2:80 tcp 0x2 ttl 63",
    ]);
  });

  it("a broadcast goes to its local ports, and once to each chassis with the key of the group", () => {
    const asked: Asked = {
      ...TO_P12,
      inport: "sw1-lr0",
      from: "00:00:00:00:ff:01",
      to: "ff:ff:ff:ff:ff:ff",
    };
    const [ending, ...others] = new LogicalWorld(GENEVE, "hv1").pass(asked).endings;
    expect(others).toEqual([]);
    if (ending?.kind !== "tunnel") throw new Error("it goes through no tunnel");
    expect(ending.keys).toMatchObject({ datapath: keyOfDatapath("sw1"), egressPort: 0x8000 });
    expect(atHv2(ending.keys, ending.packet)).toEqual(["p12: 10.0.0.4:5000 > 10.0.1.2:80 tcp 0x2 ttl 64"]);
  });

  it("keys that name nothing end the packet", () => {
    const { packet } = tunnelled(TO_P12);
    expect(atHv2({ datapath: 2, ingressPort: 0, egressPort: 999 }, packet)).toEqual([
      "drop: a tunnel names an unknown port 999 of datapath 2",
    ]);
  });
});

describe("the outer headers", () => {
  const OWN: TunnelPort = { chassis: "hv1", switchPort: "uplink", mac: 1 as Mac, peers: new Map() };
  const known = { ...OWN, peers: new Map([["192.0.2.2", 2 as Mac]]) };

  function sent(port: TunnelPort, wantsChecksum?: boolean): Packet | undefined {
    const chassis = GENEVE.chassis.map((each) => ({
      ...each,
      encapsulations: each.encapsulations.map((end) =>
        each.name === "hv2" && wantsChecksum !== undefined ? { ...end, wantsChecksum } : end,
      ),
    }));
    const network = new LogicalNetwork({ ...GENEVE, chassis });
    return new ChassisTunnels().send(tunnelled(TO_P12), network, port)?.packets[0];
  }

  // ovn-sb(5), Encap, `options:csum`: a hint to who sends to this chassis.
  it.each([
    ["true", true],
    ["false", false],
    ["not set", undefined],
  ])("with options:csum of the receiver %s", (_title, wantsChecksum) => {
    const packet = defined(sent(known, wantsChecksum), "a frame");
    const headers = new Headers();
    headers.parse(packet);
    const { bytes } = packet;
    const expected = computeTransportChecksum(bytes, headers.network, 4, 17, headers.transport, packet.end);
    expect(readU16(bytes, headers.transport + 6)).toBe(wantsChecksum === true ? expected : 0);
    expect(expected).not.toBe(0);
  });

  it.each([true, false])("of a known way: each packet has its own checksum (wanted: %s)", (wantsChecksum) => {
    const { packet: inner } = tunnelled(TO_P12);
    const first = defined(sent(known, wantsChecksum), "a frame");
    const outer = defined(OuterHeaders.inFrontOf(inner.length, first), "outer headers");
    const other = Packet.fromFrame(Uint8Array.from({ length: inner.length + 7 }, (_, index) => index));
    outer.prependTo(other);
    const headers = new Headers();
    headers.parse(other);
    const { bytes, end } = other;
    const expected = computeTransportChecksum(bytes, headers.network, 4, 17, headers.transport, end);
    expect(readU16(bytes, headers.transport + 6)).toBe(wantsChecksum ? expected : 0);
  });

  it("lead to the MAC that the host finds for an end that is none of the cluster's", () => {
    const asked: unknown[] = [];
    const hops = ["pending", "unreachable", { sourceMac: 1 as Mac, destinationMac: 7 as Mac }] as const;
    const resolver: NextHopResolver = {
      resolve: (destination) => {
        asked.push(formatIp(destination));
        return hops[asked.length - 1] ?? "unreachable";
      },
    };
    const macOf = (packet: Packet | undefined): number | undefined =>
      packet === undefined ? undefined : readU48(packet.bytes, packet.start);
    const port = { ...OWN, resolver };
    expect([macOf(sent(port)), macOf(sent(port)), macOf(sent(port))]).toEqual([undefined, undefined, 7]);
    expect(asked).toEqual(["192.0.2.2", "192.0.2.2", "192.0.2.2"]);
    expect(macOf(sent(OWN))).toBeUndefined();
  });
});

describe("the encapsulation between two chassis", () => {
  it.each<[string, readonly string[], readonly string[], string | undefined]>([
    ["GENEVE before STT", ["stt", "geneve"], ["geneve", "stt"], "geneve"],
    ["STT before VXLAN", ["vxlan", "stt"], ["stt", "vxlan"], "stt"],
    [
      "CP-O29: VXLAN alone and GENEVE have none in common, and there is no tunnel",
      ["vxlan"],
      ["geneve"],
      undefined,
    ],
  ])("%s", (_title, hv1, hv2, type) => {
    const { network } = new LogicalWorld(shared({ hv1, hv2 }), "hv1");
    expect(network.tunnelBetween("hv1", "hv2")?.type).toBe(type);
  });

  it("CP-O31: VXLAN has the port in the VNI, above the datapath", () => {
    expect(toOvnVxlanVni({ datapath: 6, egressPort: 3 })).toBe(0x003006);
  });
});

// ARP on a switch, without a switch (dataplane.md §2.5, §2.10, §2.13; names: §0.4).
import { describe, expect, it } from "vitest";
import { type Ipv4, formatIp } from "#core/net/ip.ts";
import { BROADCAST_MAC, type Mac } from "#core/net/mac.ts";
import { buildArpFrame } from "#core/wire/build-frame.ts";
import type { Packet } from "#core/wire/packet.ts";
import { listFields } from "#core/wire/text/fields.ts";
import { MACS, W1, ip4, mac } from "#test/support/dataplane/engine-kit.ts";
import { KnownPorts, frameOf, told } from "#test/support/dataplane/switch-kit.ts";

const { Am, W1dr, W1m, Rm, Cm } = MACS;
const Bm = mac("0E-2A-0A-F4-01-0B");
const BR1m = mac("00-15-5D-07-C0-02");
const A = ip4("10.244.1.10");
const B = ip4("10.244.1.11");
const BR1 = ip4("10.244.1.2");
const GATEWAY = ip4("10.244.1.1");
const C = ip4("10.244.2.10");
const R = ip4("10.0.0.1");
const NONE = ip4("0.0.0.0");

function who(senderMac: Mac, senderIp: Ipv4, targetIp: Ipv4, destinationMac: Mac = BROADCAST_MAC): Packet {
  return buildArpFrame({
    link: { sourceMac: senderMac, destinationMac },
    arp: { operation: "request", senderMac, senderIp, targetIp },
  });
}

function answer(senderMac: Mac, senderIp: Ipv4, targetMac: Mac, targetIp: Ipv4): Packet {
  return buildArpFrame({
    link: { sourceMac: senderMac, destinationMac: targetMac },
    arp: { operation: "reply", senderMac, senderIp, targetMac, targetIp },
  });
}

/** Link addresses of the frame, and of the body: `source > destination, sender, target`. */
function macsOf(frame: Packet): string {
  const fields = new Map(listFields(frame.frame).map(({ field, value }) => [field, value]));
  const at = (name: string): string => fields.get(name) ?? "";
  return `${at("eth.src")} > ${at("eth.dst")}, ${at("arp.src.hw_mac")}, ${at("arp.dst.hw_mac")}`;
}

describe("ARP on an L2Bridge network", () => {
  /** `sharesSubnet`: cfg-1, pods have addresses of the node's subnet. */
  function bridged(sharesSubnet: boolean): KnownPorts<"uplink" | "host" | "bridge" | "a" | "b"> {
    const pod = { kind: "container", usesHostMac: true, deliversByAddress: sharesSubnet } as const;
    return new KnownPorts({
      uplink: { kind: "external", mac: W1m },
      host: { kind: "host", mac: W1m, ips: [W1] },
      bridge: { kind: "host", mac: BR1m, ips: [BR1] },
      a: { ...pod, mac: Am, ips: [A] },
      b: { ...pod, mac: Bm, ips: [B] },
    });
  }

  it.each([
    [
      "§2.10 DT-062: the gateway .2 is the bridge endpoint, whose stack answers",
      who(Am, A, BR1),
      "to bridge",
    ],
    ["B-1: a pod of the node", who(Am, A, B), "to b"],
    ["DT-063: no port answers for .1", who(Am, A, GATEWAY), "to uplink"],
    ["an answer goes by MAC", answer(Am, A, BR1m, BR1), "to bridge"],
    ["a question to one MAC goes by the address, too", who(Am, A, B, BR1m), "to b"],
    ["§2.10: an announcement of an own address is absorbed", who(Am, A, A), "consumed"],
    ["§2.10: so is the question whether it is free", who(Am, NONE, A), "consumed"],
  ])("from a pod: %s", (_what, frame, decision) => {
    expect(told(bridged(false).decide("a", frame))).toBe(decision);
  });

  it("§2.13: towards the wire the pod has the host's MAC, in frame and body; the pod's own frame stays as it is", () => {
    const frame = who(Am, A, R);
    const decision = bridged(true).decide("a", frame);
    expect(told(decision)).toBe("to uplink");
    expect(macsOf(frameOf(decision))).toMatch(/^00-15-5D-00-00-11 > FF-FF-FF-FF-FF-FF, 00-15-5D-00-00-11, /);
    expect(macsOf(frame)).toMatch(/^0E-2A-0A-F4-01-0A > FF-FF-FF-FF-FF-FF, 0E-2A-0A-F4-01-0A, /);
  });

  it("§2.13: what is answered to the host's MAC for a pod's address has the pod's again", () => {
    const decision = bridged(true).decide("uplink", answer(Rm, R, W1m, A));
    expect(told(decision)).toBe("to a");
    expect(macsOf(frameOf(decision))).toBe(
      "52-54-00-00-00-01 > 0E-2A-0A-F4-01-0A, 52-54-00-00-00-01, 0E-2A-0A-F4-01-0A",
    );
  });

  it("§2.13: a question to the host's MAC comes to the pod with the pod's, and its body as it was", () => {
    const decision = bridged(true).decide("uplink", who(Rm, R, A, W1m));
    expect(told(decision)).toBe("to a");
    expect(macsOf(frameOf(decision))).toBe(
      "52-54-00-00-00-01 > 0E-2A-0A-F4-01-0A, 52-54-00-00-00-01, 00-00-00-00-00-00",
    );
  });

  it.each([
    ["what is sent to the pod's own MAC", true, answer(Rm, R, Am, A), "to a"],
    ["cfg-1: a peer asks for a pod, which answers", true, who(Rm, R, A), "to a"],
    ["cfg-2: the wire knows no pods", false, who(Rm, R, A), "to host"],
    ["a question for the node", true, who(Rm, R, W1), "to host"],
    ["an answer for another machine", true, answer(Rm, R, Cm, C), "consumed"],
  ])("from the wire, %s", (_what, sharesSubnet, frame, decision) => {
    expect(told(bridged(sharesSubnet).decide("uplink", frame))).toBe(decision);
  });

  it("the host announces a new address to the wire", () => {
    const W99 = ip4("10.0.0.99");
    expect(told(bridged(true).decide("host", who(W1m, W99, W99)))).toBe("to uplink");
  });

  it("without an uplink a question that no port answers ends silently", () => {
    const ports = new KnownPorts({ a: { kind: "container", mac: Am, ips: [A] } });
    expect(told(ports.decide("a", who(Am, A, B)))).toBe("consumed");
  });

  it("from the host: to the wire with its own MAC", () => {
    const decision = bridged(true).decide("host", who(W1m, W1, R));
    expect(told(decision)).toBe("to uplink");
    expect(decision).toMatchObject({ frame: undefined });
  });
});

describe("ARP on an overlay network: the switch answers from what HNS knows (§2.10)", () => {
  const virtualSubnets = [4096];
  const ports = new KnownPorts({
    uplink: { kind: "external", mac: W1m },
    host: { kind: "host", mac: W1m, ips: [W1] },
    dr: {
      kind: "router",
      mac: W1dr,
      virtualSubnets,
      neighbors: new Map([
        [GATEWAY, W1dr],
        [B, Bm],
      ]),
    },
    a: { kind: "container", mac: Am, ips: [A], virtualSubnets },
    b: { kind: "container", mac: Bm, ips: [B], virtualSubnets },
  });

  it.each([
    ["DT-054: the gateway: the distributed router's MAC", GATEWAY, "00-15-5D-AA-00-01"],
    ["O-1: a pod of the subnet: its own", B, "0E-2A-0A-F4-01-0B"],
  ])("%s", (_what, target, theirs) => {
    const decision = ports.decide("a", who(Am, A, target));
    expect(told(decision)).toBe("reply");
    // Through the pod's pipeline, as any frame that comes to it.
    expect(decision).toMatchObject({ isFromPort: false });
    expect(macsOf(frameOf(decision))).toBe(`${theirs} > 0E-2A-0A-F4-01-0A, ${theirs}, 0E-2A-0A-F4-01-0A`);
    const fields = listFields(frameOf(decision).frame);
    expect(fields).toContainEqual({ field: "arp.opcode", value: "2" });
    expect(fields).toContainEqual({ field: "arp.src.proto_ipv4", value: formatIp(target) });
    expect(fields).toContainEqual({ field: "arp.dst.proto_ipv4", value: "10.244.1.10" });
  });

  it.each([
    ["DT-055: a pod of another subnet: none", who(Am, A, C), "drop broadcast-not-delivered"],
    ["§2.10: an announcement", who(Am, A, A), "consumed"],
    ["§2.10: an announcement of another's address", who(Am, B, B), "consumed"],
    ["§2.10: whether an own address is free", who(Am, NONE, A), "consumed"],
    ["an answer that no one asked for", answer(Am, A, Bm, B), "consumed"],
  ])("%s", (_what, frame, decision) => {
    expect(told(ports.decide("a", frame))).toBe(decision);
  });
});

describe("ARP of an L2Tunnel pod: HNS answers for the fabric (§2.5)", () => {
  const pod = { kind: "container", usesHostMac: true, sendsToFabric: true } as const;
  const ports = new KnownPorts({
    uplink: { kind: "external", mac: W1m },
    host: { kind: "host", mac: W1m, ips: [W1] },
    a: { ...pod, mac: Am, ips: [A] },
    b: { ...pod, mac: Bm, ips: [B] },
  });

  it.each([
    ["the gateway", GATEWAY],
    ["a pod of the same node", B],
  ])("DT-069: for %s, with 12-34-56-78-9a-bc", (_what, target) => {
    const decision = ports.decide("a", who(Am, A, target));
    expect(told(decision)).toBe("reply");
    expect(macsOf(frameOf(decision))).toBe(
      "12-34-56-78-9A-BC > 0E-2A-0A-F4-01-0A, 12-34-56-78-9A-BC, 0E-2A-0A-F4-01-0A",
    );
  });

  it("an announcement stays on its port, and an answer to the host goes to the host", () => {
    expect(told(ports.decide("a", who(Am, A, A)))).toBe("consumed");
    expect(told(ports.decide("a", answer(Am, A, W1m, W1)))).toBe("to host");
  });
});

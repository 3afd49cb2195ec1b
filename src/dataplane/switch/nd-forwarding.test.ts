// Neighbour discovery on a switch, without a switch (dataplane.md §2.10, §2.13, §2.16).
import { describe, expect, it } from "vitest";
import type { Ipv6 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { buildNdFrame } from "#core/wire/build-frame.ts";
import { solicitedNodeMulticast } from "#core/wire/icmpv6/nd.ts";
import type { Packet } from "#core/wire/packet.ts";
import { listFields } from "#core/wire/text/fields.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { MACS, headersOf, ip6, mac } from "#test/support/dataplane/engine-kit.ts";
import { KnownPorts, type PortFacts, frameOf, told } from "#test/support/dataplane/switch-kit.ts";
import { answerNeighborDiscovery } from "./nd-forwarding.ts";

const { Am, W1dr, W1m, Rm } = MACS;
const Bm = mac("0E-2A-0A-F4-01-0B");
const A6 = ip6("fd00:10:244:1::10");
const B6 = ip6("fd00:10:244:1::11");
const W6 = ip6("fd00:10::11");
const R6 = ip6("fe80::1");
const NONE = ip6("::");
const GROUP = mac("33-33-FF-00-00-11");

function solicitation(sourceMac: Mac, source: Ipv6, target: Ipv6): Packet {
  return buildNdFrame({
    link: { sourceMac, destinationMac: GROUP },
    ip: {
      source,
      destination: solicitedNodeMulticast(target),
      ttl: 255,
      identification: 0,
      isDontFragment: true,
    },
    nd: {
      type: "neighbor-solicitation",
      target,
      options: source === NONE ? [] : [{ kind: "source-link-layer", mac: sourceMac }],
    },
  });
}

function advertisement(macs: readonly [Mac, Mac], target: Ipv6, destination: Ipv6): Packet {
  return buildNdFrame({
    link: { sourceMac: macs[0], destinationMac: macs[1] },
    ip: { source: target, destination, ttl: 255, identification: 0, isDontFragment: true },
    nd: {
      type: "neighbor-advertisement",
      target,
      isRouter: false,
      isSolicited: true,
      isOverride: true,
      options: [{ kind: "target-link-layer", mac: macs[0] }],
    },
  });
}

/** Field by name, of a frame whose checksum is right. */
function fieldsOf(frame: Packet): Readonly<Record<string, string>> {
  expect(verifyChecksums(frame.bytes, headersOf(frame))).toBeUndefined();
  return Object.fromEntries(listFields(frame.frame).map(({ field, value }) => [field, value]));
}

describe("neighbour discovery on an L2Bridge network moves as ARP does", () => {
  const pod = { kind: "container", usesHostMac: true } as const;
  /** `sharesSubnet`: cfg-1, pods have addresses of the node's subnet. */
  const bridged = (sharesSubnet = true): KnownPorts<"uplink" | "host" | "a" | "b"> =>
    new KnownPorts({
      uplink: { kind: "external", mac: W1m },
      host: { kind: "host", mac: W1m, ips: [W6] },
      a: { ...pod, mac: Am, ips: [A6], deliversByAddress: sharesSubnet },
      b: { ...pod, mac: Bm, ips: [B6], deliversByAddress: sharesSubnet },
    });

  it("WALK-6-1: a question for a pod of the node comes to it alone, from the asker's MAC", () => {
    const decision = bridged().decide("a", solicitation(W1m, A6, B6));
    expect(told(decision)).toBe("to b");
    expect(fieldsOf(frameOf(decision))).toMatchObject({ "eth.src": "0E-2A-0A-F4-01-0A" });
  });

  it("WALK-6-2: towards the wire frame and option have the host's MAC, with a right checksum", () => {
    const asked = solicitation(Am, A6, R6);
    const decision = bridged().decide("a", asked);
    expect(told(decision)).toBe("to uplink");
    expect(fieldsOf(frameOf(decision))).toMatchObject({
      "eth.src": "00-15-5D-00-00-11",
      "icmpv6.opt.src_linkaddr": "00-15-5D-00-00-11",
    });
    expect(fieldsOf(asked)).toMatchObject({ "icmpv6.opt.src_linkaddr": "0E-2A-0A-F4-01-0A" });
  });

  it("§2.13: an answer to the host's MAC for a pod's address has the pod's again", () => {
    const decision = bridged().decide("uplink", advertisement([Rm, W1m], R6, A6));
    expect(told(decision)).toBe("to a");
    expect(fieldsOf(frameOf(decision))).toMatchObject({ "eth.dst": "0E-2A-0A-F4-01-0A" });
  });

  it.each([
    [
      "§2.10: a pod asks whether an address is free: absorbed",
      "a",
      solicitation(Am, NONE, A6),
      true,
      "consumed",
    ],
    [
      "§2.10: the same for an address that another pod has",
      "a",
      solicitation(Am, NONE, B6),
      true,
      "consumed",
    ],
    ["§2.10: a pod asks for its own address", "a", solicitation(Am, A6, A6), true, "consumed"],
    ["the host asks the same: for the wire", "host", solicitation(W1m, NONE, W6), true, "to uplink"],
    ["cfg-1: a peer asks for a pod", "uplink", solicitation(Rm, R6, A6), true, "to a"],
    ["cfg-2: the wire knows no pods", "uplink", solicitation(Rm, R6, A6), false, "to host"],
  ] as const)("%s", (_what, from, frame, sharesSubnet, decision) => {
    expect(told(bridged(sharesSubnet).decide(from, frame))).toBe(decision);
  });
});

describe("neighbour discovery on an overlay network", () => {
  const virtualSubnets = [4096];
  const router: PortFacts = {
    kind: "router",
    mac: W1dr,
    virtualSubnets,
    neighbors: new Map([[B6, Bm]]),
  };
  /** Flags of pod ports as observed on WS2022 and WS2025 (§1.2). */
  const overlaid = (flags: 336 | 4432): KnownPorts<"dr" | "a"> =>
    new KnownPorts({
      dr: router,
      a: { kind: "container", mac: Am, ips: [A6], virtualSubnets, flags },
    });

  it("WALK-6-6: a port with the flag of WS2025 answers itself, with hop limit 255", () => {
    const decision = overlaid(4432).ask(answerNeighborDiscovery, "a", solicitation(Am, A6, B6));
    expect(told(decision)).toBe("reply");
    expect(decision).toMatchObject({ isFromPort: true });
    expect(fieldsOf(frameOf(decision))).toMatchObject({
      "eth.src": "0E-2A-0A-F4-01-0B",
      "eth.dst": "0E-2A-0A-F4-01-0A",
      "ipv6.hlim": "255",
      "icmpv6.nd.na.flag.s": "1",
      "icmpv6.nd.na.target_address": "fd00:10:244:1::11",
      "icmpv6.opt.target_linkaddr": "0E-2A-0A-F4-01-0B",
    });
  });

  it.each([
    ["§1.2: on WS2022 the port has no such flag", 336, solicitation(Am, A6, B6), "next rule"],
    ["an address that HNS does not know", 4432, solicitation(Am, A6, R6), "drop broadcast-not-delivered"],
    ["§2.10: the port's own address", 4432, solicitation(Am, NONE, A6), "consumed"],
    ["an advertisement goes through the layers", 4432, advertisement([Am, Bm], A6, B6), "next rule"],
  ] as const)("%s", (_what, flags, frame, decision) => {
    expect(told(overlaid(flags).ask(answerNeighborDiscovery, "a", frame))).toBe(decision);
  });
});

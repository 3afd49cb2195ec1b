// The IPv6 walks on an L2Bridge network with two families, and where IPv6 is not carried (dataplane.md §2.11, §2.16).
import { beforeAll, describe, expect, it } from "vitest";
import { createLoadBalancer, createNetwork } from "#contracts/hcn/operations.ts";
import type { Ipv6 } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { type DriverPod, DriverWorld, ip } from "#test/support/dataplane/driver-world.ts";
import { buildIcmpv6Frame, buildNdFrame, buildTcpFrame } from "#core/wire/build-frame.ts";
import { type NdRepr, ND_HOP_LIMIT, solicitedNodeMulticast, NdView } from "#core/wire/icmpv6/nd.ts";
import type { Packet } from "#core/wire/packet.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { Headers } from "#core/wire/headers.ts";

const six = (text: string): Ipv6 => ip(text) as Ipv6;
const mac = (text: string): Mac => parseMac(text)!;
const [A6, B6, C6, X6, V6] = ["fd00:10::a", "fd00:10::b", "fd00:10::c", "2001:db8::10", "fd00:96::50"].map(
  six,
) as [Ipv6, Ipv6, Ipv6, Ipv6, Ipv6];
const W1m = mac("00-22-48-00-00-11");
const W2m = mac("00-22-48-00-00-12");
const Rm = mac("52-54-00-00-00-01");

let world: DriverWorld;
let a: DriverPod;
let b: DriverPod;
let [am, bm]: Mac[] = [];

function macOf(pod: DriverPod): Mac {
  return pod.compartment.listInterfaces()[0]!.mac;
}

/** cfg-1: pods in the nodes' subnet, with an address of each family. */
async function dualStack(profile = "ws2022"): Promise<DriverWorld> {
  const made = new DriverWorld({ profile });
  for (const [address, symbol] of [
    ["fd00:10::a", "A6"],
    ["fd00:10::b", "B6"],
    ["fd00:10::c", "C6"],
    ["2001:db8::10", "X6"],
    ["fd00:96::50", "V6"],
  ] as const)
    made.name(address, symbol);
  return made;
}

const SUBNETS = [
  { IpAddressPrefix: "10.0.0.0/24", Routes: [{ NextHop: "10.0.0.1", DestinationPrefix: "0.0.0.0/0" }] },
  { IpAddressPrefix: "fd00:10::/64", Routes: [{ NextHop: "fd00:10::1", DestinationPrefix: "::/0" }] },
];

beforeAll(async () => {
  world = await dualStack();
  const network = await world.network("L2Bridge", undefined, {
    Ipams: [{ Type: "Static", Subnets: SUBNETS }],
  });
  const addresses = (four: string, last: string) => ({
    IpConfigurations: [{ IpAddress: four }, { IpAddress: last }],
  });
  const nat = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/24"] } };
  a = await world.pod("A", network, { ...addresses("10.0.0.70", "fd00:10::a"), Policies: [nat] });
  b = await world.pod("B", network, addresses("10.0.0.71", "fd00:10::b"));
  for (const address of ["fd00:10::a", "fd00:10::b"])
    world.name(address, address.endsWith("a") ? "A6" : "B6");
  [am, bm] = [macOf(a), macOf(b)];
  // The router is known: nobody asks for it in the middle of a walk.
  a.compartment.listInterfaces()[0]!.neighbors.setPermanent(six("fd00:10::1"), Rm);
});

function syn(link: readonly [Mac, Mac], addresses: readonly [Ipv6, Ipv6], port = 8080): Packet {
  return buildTcpFrame({
    link: { sourceMac: link[0], destinationMac: link[1] },
    ip: {
      source: addresses[0],
      destination: addresses[1],
      ttl: 128,
      identification: 0,
      isDontFragment: true,
    },
    tcp: {
      sourcePort: 50_000,
      destinationPort: port,
      sequence: 1,
      acknowledgment: 0,
      flags: 0x02,
      window: 64_860,
      urgentPointer: 0,
      options: [],
    },
    payload: new Uint8Array(0),
  });
}

function discovery(link: readonly [Mac, Mac], addresses: readonly [Ipv6, Ipv6], nd: NdRepr): Packet {
  return buildNdFrame({
    link: { sourceMac: link[0], destinationMac: link[1] },
    ip: {
      source: addresses[0],
      destination: addresses[1],
      ttl: ND_HOP_LIMIT,
      identification: 0,
      isDontFragment: true,
    },
    nd,
  });
}

/** The group MAC of a solicitation: 33-33 and the last four bytes of the group's address (RFC 2464). */
function groupMac(target: Ipv6): Mac {
  return (0x3333_0000_0000 + Number(solicitedNodeMulticast(target) & 0xffff_ffffn)) as Mac;
}

function solicitation(from: Mac, source: Ipv6, target: Ipv6): Packet {
  const group = solicitedNodeMulticast(target);
  return discovery([from, groupMac(target)], [source, group], {
    type: "neighbor-solicitation",
    target,
    options: [{ kind: "source-link-layer", mac: from }],
  });
}

/** The option with a MAC in a message that left the node, when all its checksums hold. */
function optionMac(packet: Packet): Mac | undefined {
  const headers = new Headers();
  expect(headers.parse(packet)).toBeUndefined();
  expect(verifyChecksums(packet.bytes, headers)).toBeUndefined();
  const view = NdView.parse(packet.bytes, headers.transport, packet.end);
  return typeof view === "string" ? undefined : (view.sourceMac ?? view.targetMac);
}

describe("WALK-6-1 A6 → B6 on the same node", () => {
  it("the solicitation goes to B's port alone, and the answer to A's", () => {
    const rows = world.uplinkRows(() => {
      expect(world.send(a.compartment, solicitation(am!, A6, B6))).toEqual([
        "deliver B | Am→33-33-FF-00-00-0B | A6→ff02::1:ff00:b | NS | 255",
      ]);
      const answer = discovery([bm!, am!], [B6, A6], {
        type: "neighbor-advertisement",
        target: B6,
        isRouter: false,
        isSolicited: true,
        isOverride: true,
        options: [{ kind: "target-link-layer", mac: bm! }],
      });
      expect(world.send(b.compartment, answer)).toEqual(["deliver A | Bm→Am | B6→A6 | NA | 255"]);
    });
    expect(rows).toEqual([]);
  });

  it("then Am→Bm, hop limit 128, and Bm→Am with the answer; nothing leaves the node", () => {
    world.serve(b.compartment, "tcp", 8080);
    expect(
      world.uplinkRows(() => {
        expect(world.walk(a.compartment, "tcp", "fd00:10::b", 8080)).toEqual([
          "send A | Am→Bm | A6→B6 | p→8080 | 128",
          "deliver B | Am→Bm | A6→B6 | p→8080 | 128",
          "reply send B | Bm→Am | B6→A6 | 8080→p | 128",
          "reply deliver A | Bm→Am | B6→A6 | 8080→p | 128",
        ]);
      }),
    ).toEqual([]);
  });

  it("a pod that asks whether its address is free is answered by nobody", () => {
    const unspecified = 0n as Ipv6;
    expect(world.send(a.compartment, solicitation(am!, unspecified, A6))).toEqual([]);
  });
});

describe("WALK-6-2 A6 → C6 on another node, cfg-1", () => {
  it("a solicitation shows the host's MAC to the wire, in the frame and in its option", () => {
    const sent: Packet[] = [];
    const rows = world.uplinkPackets(
      (packet) => sent.push(packet),
      () => world.send(a.compartment, solicitation(am!, A6, C6)),
    );
    expect(rows).toEqual([expect.stringMatching(/^W1m→33-33-FF-00-00-0C \| A6→.* \| NS \| 255$/)]);
    expect(optionMac(sent[0]!)).toBe(W1m);
  });

  it("EXTERNAL_L2_REWRITE_GROUP_IPV6_OUT: W1m on the wire, addresses and hop limit as they were", () => {
    expect(world.uplinkRows(() => world.send(a.compartment, syn([am!, Rm], [A6, C6])))).toEqual([
      "W1m→Rm | A6→C6 | p→8080 | 128",
    ]);
  });

  it("EXTERNAL_L2_REWRITE_GROUP_IPV6_IN: what comes for A6 gets A's MAC, solicitations too", () => {
    expect(world.receive(syn([W2m, W1m], [C6, A6]))[0]).toBe("drop A | W2m→Am | C6→A6 | p→8080 | 128");
    expect(world.receive(solicitation(W2m, C6, A6)).at(-1)).toMatch(
      /^deliver A \| W2m→.* \| C6→.* \| NS \| 255$/,
    );
  });
});

describe("WALK-6-3 A6 → V6, a Service with DSR", () => {
  it("destination and port of the back end, hop limit and source untouched; the answer is V6's again", async () => {
    await createLoadBalancer(world.client, {
      HostComputeEndpoints: [b.endpoint],
      FrontendVIPs: ["fd00:96::50"],
      PortMappings: [{ Protocol: 6, ExternalPort: 80, InternalPort: 8080 }],
      Flags: 3,
      SchemaVersion: { Major: 2, Minor: 0 },
    });
    expect(world.send(a.compartment, syn([am!, Rm], [A6, V6], 80))).toEqual([
      "deliver B | Am→Bm | A6→B6 | p→8080 | 128",
      "reply send B | Bm→Am | B6→A6 | 8080→p | 128",
      // A never sent that SYN: its stack knows of no connection.
      "reply drop A | Bm→Am | V6→A6 | 80→p | 128",
    ]);
  });

  it("WALK-6-7 an echo to V6 is not balanced, and nobody answers", () => {
    const echo = buildIcmpv6Frame({
      link: { sourceMac: am!, destinationMac: Rm },
      ip: { source: A6, destination: V6, ttl: 128, identification: 0, isDontFragment: true },
      icmpv6: { type: "echo-request", identifier: 1, sequence: 1, payload: new Uint8Array(8) },
    });
    expect(world.uplinkRows(() => world.send(a.compartment, echo))).toEqual([
      "W1m→Rm | A6→V6 | icmpv6 | 128",
    ]);
  });
});

it("WALK-6-4 DT-169 A6 → X6: the host's MAC, and the pod's own address: no OutBoundNAT for IPv6", () => {
  expect(world.uplinkRows(() => world.send(a.compartment, syn([am!, Rm], [A6, X6], 443)))).toEqual([
    "W1m→Rm | A6→X6 | p→443 | 128",
  ]);
});

it("WALK-6-5 on Azure the gateway's neighbour is set by the plugin: frames to 12-34-56-78-9a-bc go to the fabric", async () => {
  const tunnel = new DriverWorld({ fabricAddresses: ["fd00:10::a"] });
  const network = await tunnel.network("L2Tunnel", undefined, {
    Ipams: [{ Type: "Static", Subnets: SUBNETS }],
  });
  const pod = await tunnel.pod("A", network, {
    IpConfigurations: [{ IpAddress: "10.0.0.70" }, { IpAddress: "fd00:10::a" }],
  });
  tunnel.name("2001:db8::10", "X6");
  // The pod asks whether its addresses are free first.
  tunnel.run();
  const rows = tunnel.uplinkRows(() =>
    tunnel.send(pod.compartment, syn([macOf(pod), mac("12-34-56-78-9A-BC")], [A6, X6], 443)),
  );
  expect(rows).toEqual(["W1m→gw | A→X6 | p→443 | 128"]);
});

describe("WALK-6-6 a solicitation of an overlay endpoint", () => {
  /** What the pod of an overlay node with the address flags of a build hears. */
  async function asked(profile: string, target: string): Promise<readonly string[]> {
    const overlay = new DriverWorld({ profile });
    const [four] = SUBNETS;
    const policies = [{ Type: "VSID" as const, Settings: { IsolationId: 4096 } }];
    const Subnets = [
      {
        ...four!,
        IpAddressPrefix: "10.244.1.0/24",
        Routes: [{ NextHop: "10.244.1.1", DestinationPrefix: "0.0.0.0/0" }],
        Policies: policies,
      },
      SUBNETS[1]!,
    ];
    const network = await overlay.network("Overlay", undefined, { Ipams: [{ Type: "Static", Subnets }] });
    const configurations = (last: string) => ({
      IpConfigurations: [{ IpAddress: `10.244.1.${last}` }, { IpAddress: `fd00:10::${last}` }],
    });
    const pod = await overlay.pod("A", network, configurations("10"));
    await overlay.pod("B", network, configurations("11"));
    const own = macOf(pod);
    return overlay.send(pod.compartment, solicitation(own, six("fd00:10::10"), six(target)));
  }

  it("is answered by the port on Server 2025, whose address flags have NDP (4096), hop limit 255", async () => {
    expect(await asked("ws2025", "fd00:10::11")).toEqual(["deliver A | Bm→Am | B→A | NA | 255"]);
  });

  it("is answered by nobody when nobody has the address, and on Server 2022", async () => {
    expect((await asked("ws2025", "fd00:10::12")).map((row) => row.split(" | ")[0])).toEqual(["drop W1"]);
    expect((await asked("ws2022", "fd00:10::11")).map((row) => row.split(" | ")[0])).toEqual(["drop W1"]);
  });
});

describe("where IPv6 is not carried", () => {
  it.each([
    ["ws2019", "L2Bridge"],
    ["ws2019", "Overlay"],
  ] as const)("%s: an %s network refuses an IPv6 subnet", async (profile, type) => {
    const old = new DriverWorld({ profile });
    const request = { Name: "six", Type: type, Ipams: [{ Type: "Static" as const, Subnets: SUBNETS }] };
    await expect(createNetwork(old.client, request)).rejects.toMatchObject({ name: "HcnError" });
  });
});

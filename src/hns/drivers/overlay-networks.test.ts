// Overlay networks on a node: layers, isolation, ARP, MTU, policies that change (dataplane.md §2.2.1, §2.10, §10).
import { readU16 } from "#core/base/bytes.ts";
import { fork } from "#core/base/fork.ts";
import { beforeEach, describe, expect, it } from "vitest";
import {
  createEndpoint,
  createLoadBalancer,
  deleteEndpoint,
  deleteNetwork,
  getNetworkById,
  modifyNetworkPolicies,
} from "#contracts/hcn/operations.ts";
import { DhcpClient } from "#dataplane/host/dhcp/dhcp-client.ts";
import type { TcpOwner } from "#dataplane/host/tcp/tcp-connection.ts";
import { formatIp, parseIp } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import { OVERLAY_MACS } from "#test/support/dataplane/overlay-stages.ts";
import { Ear, type OverlayPod, OverlayWorld, remoteSubnet } from "#test/support/dataplane/overlay-world.ts";
import type { SwitchPort } from "#dataplane/switch/switch-port.ts";

const { W1dr, W2dr, Bm, Cm } = OVERLAY_MACS;

let world: OverlayWorld;
beforeEach(() => {
  world = new OverlayWorld();
});

/** Has nothing to say on a connection. */
class Silent implements TcpOwner {
  tcpConnected(): void {}
  tcpData(): void {}
  tcpPeerFinished(): void {}
  tcpClosed(): void {}
}

function layersOf(port: SwitchPort): readonly (readonly [string, number])[] {
  return port.vfp.orderOf("out").map(({ definition }) => [definition.name, definition.priority]);
}

describe("the ports of an overlay node (dataplane.md §2.2.1)", () => {
  it("have the observed layers; the uplink has none", async () => {
    await world.w1.overlay("10.244.1.0/24", { router: W1dr });
    await world.w1.pod("10.244.1.10");
    const [virtualSwitch] = world.w1.datapath.listSwitches();
    const layers = Object.fromEntries(virtualSwitch!.listPorts().map((port) => [port.kind, layersOf(port)]));
    expect(layers).toEqual({
      external: [],
      host: [
        ["SLB_HAIRPIN_LAYER", 101],
        // Of the older shape, §2.2.2.
        ["SNAT", 200],
        ["LB", 300],
        ["ENCAP", 500],
        ["DECAP_IN", 600],
        ["SLB_LB_LAYER", 700],
        ["VNET_PA_ROUTE_LAYER", 2_000],
      ],
      router: [
        ["REMOTESUBNETROUTE_HAIRPIN_LAYER", 35],
        ["VNET_ENCAP_LAYER", 40],
        ["VNET_PA_ROUTE_LAYER", 2_000],
      ],
      container: [
        ["LB_DSR", 7],
        ["ACL_ENDPOINT_LAYER", 15],
        ["VNET_ENCAP_LAYER", 40],
        ["SLB_NAT_LAYER", 50],
        ["SLB_DECAP_LAYER_STATEFUL", 100],
        ["VNET_PA_ROUTE_LAYER", 2_000],
      ],
    });
  });

  it("have the observed groups and rules on the distributed router's port", async () => {
    await world.w1.overlay("10.244.1.0/24", { router: W1dr });
    await world.w1.pod("10.244.1.10");
    const router = world.w1.datapath
      .listSwitches()[0]!
      .listPorts()
      .find((port) => port.kind === "router")!;
    const groups = router.vfp.layers.flatMap((layer) =>
      layer.groups.map(({ name, direction, priority, match }) => [name, direction, priority, match]),
    );
    expect(groups).toEqual([
      ["REMOTESUBNETROUTE_HAIRPIN_GROUP", "in", 100, "lpm-destination"],
      ["VNET_GROUP_ENCAP_IPV4_OUT", "out", 100, "lpm-destination"],
      ["VNET_GROUP_ENCAP_IPV4_IN", "in", 100, "lpm-destination"],
      ["VNET_GROUP_PA_ROUTE_IPV4_OUT", "out", 200, "priority"],
    ]);
    const rules = router.vfp.layers.flatMap((layer) => layer.groups.flatMap((group) => group.rules));
    expect(rules.find((rule) => rule.action.type === "decap")).toMatchObject({
      priority: 45_534,
      condition: { protocols: [252], tunnelId: 4_096 },
      action: { pushesTni: true },
    });
    expect(rules.find((rule) => rule.action.type === "paroute")).toMatchObject({
      name: "PA_ROUTE",
      priority: 45_535,
    });
  });

  it("DT-046 have the address flags 336, the node's address as provider, and the NIC's MAC as fake MAC", async () => {
    await world.w1.overlay("10.244.1.0/24", { router: W1dr });
    await world.w1.pod("10.244.1.10");
    const ports = world.w1.datapath.listSwitches()[0]!.listPorts();
    const reported = ports
      .filter(({ kind }) => kind !== "external")
      .map(({ kind, vfp }) => [kind, vfp.address.flags, vfp.address.fakeMac, vfp.address.providerIpv4]);
    expect(reported).toEqual([
      ["host", 0, OVERLAY_MACS.W1m, 0x0a00_000b],
      ["router", 336, OVERLAY_MACS.W1m, 0x0a00_000b],
      ["container", 336, OVERLAY_MACS.W1m, 0x0a00_000b],
    ]);
  });

  it("DT-045 have the address flags 4432 on WS2025", async () => {
    const newer = new OverlayWorld("ws2025");
    await newer.w1.overlay("10.244.1.0/24", { router: W1dr });
    await newer.w1.pod("10.244.1.10");
    const ports = newer.w1.datapath.listSwitches()[0]!.listPorts();
    const flags = ports.filter(({ kind }) => kind !== "external").map(({ vfp }) => vfp.address.flags);
    expect(flags).toEqual([0, 4_432, 4_432]);
  });

  it("go with their network: router, compartment and layers of the host's port", async () => {
    const before = world.w1.host.listCompartments().length;
    const id = await world.w1.overlay("10.244.1.0/24", { router: W1dr });
    expect(world.w1.host.listCompartments()).toHaveLength(before + 1);
    await deleteNetwork(world.w1.client, id);
    expect(world.w1.host.listCompartments()).toHaveLength(before);
    expect(world.w1.datapath.listSwitches()).toEqual([]);
  });
});

describe("two networks with one prefix", () => {
  it("hold the same address and MAC twice and never exchange a packet", async () => {
    const red = await world.w1.overlay("10.244.1.0/24", { name: "red", vni: 5_001 });
    const redA = await world.w1.pod("10.244.1.10", {}, red);
    const redB = await world.w1.pod("10.244.1.11", {}, red);
    const blue = await world.w1.overlay("10.244.1.0/24", { name: "blue", vni: 5_002 });
    const blueA = await world.w1.pod("10.244.1.10", {}, blue);
    const blueB = await world.w1.pod("10.244.1.11", {}, blue);
    const redEar = world.serve(redB.compartment, 80);
    const blueEar = world.serve(blueB.compartment, 80);
    expect(world.walk(redA.compartment, "10.244.1.11", 80).heard).toEqual(["10.244.1.11:80"]);
    expect([redEar.heard.length, blueEar.heard.length]).toEqual([2, 0]);
    expect(world.walk(blueA.compartment, "10.244.1.11", 80).heard).toEqual(["10.244.1.11:80"]);
    expect([redEar.heard.length, blueEar.heard.length]).toEqual([2, 2]);
  });

  it("take from the wire what has their VNI", async () => {
    const red = await world.w1.overlay("10.244.1.0/24", { name: "red", vni: 5_001 });
    const redA = await world.w1.pod("10.244.1.10", {}, red);
    const blue = await world.w1.overlay("10.244.1.0/24", { name: "blue", vni: 5_002, router: W1dr });
    const blueA = await world.w1.pod("10.244.1.10", {}, blue);
    const [redEar, blueEar] = [world.serve(redA.compartment, 80), world.serve(blueA.compartment, 80)];
    world.l1.sendInTunnel(["10.244.3.10", 9], ["10.244.1.10", 80], { vni: 5_002 });
    world.run();
    // The MAC of blue's router is nobody's in red.
    world.l1.sendInTunnel(["10.244.3.10", 9], ["10.244.1.10", 80], { vni: 5_001 });
    world.run();
    expect([redEar.heard.length, blueEar.heard.length]).toEqual([0, 1]);
  });

  it("do not reach each other by a tunnel that an endpoint makes by itself", async () => {
    // Without HostRoute, what is for the node leaves the endpoint's port as it is.
    const red = await world.w1.overlay("10.244.1.0/24", { name: "red", vni: 5_001, policies: [] });
    const redA = await world.w1.pod("10.244.1.10", {}, red);
    const blue = await world.w1.overlay("10.244.1.0/24", { name: "blue", vni: 5_002, router: W1dr });
    const blueA = await world.w1.pod("10.244.1.10", {}, blue);
    const ear = world.serve(blueA.compartment, 80);
    world.run();
    world.wire.frames.length = 0;
    world.l1.sendInTunnel(["10.244.3.10", 9], ["10.244.1.10", 80], { vni: 5_002, tag: 0 });
    world.run();
    expect(ear.heard).toHaveLength(1);
    // The same tunnel as the payload of a datagram: behind Ethernet, IPv4 and UDP.
    const tunnel = world.wire.frames[0]!.frame.slice(14 + 20 + 8);
    const socket = redA.compartment.udp.bind({ owner: world.serve(redA.compartment, 81) });
    if (typeof socket === "string") throw new Error(socket);
    socket.send({ destination: parseIp("10.0.0.11")!, port: 4_789, bytes: tunnel });
    world.run();
    expect(ear.heard).toHaveLength(1);
  });
});

describe("a tunnel that an endpoint makes by itself", () => {
  const NAT = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16"] } };

  /** Red on W1, blue on W2; what a red endpoint puts into a tunnel of blue, and where it goes. */
  async function forge(destination: string) {
    const policies = [remoteSubnet("10.244.2.0/24", "10.0.0.12", W2dr, 5_001)];
    const red = await world.w1.overlay("10.244.1.0/24", { name: "red", vni: 5_001, policies });
    const redA = await world.w1.pod("10.244.1.10", { Policies: [NAT] }, red);
    await world.w2.overlay("10.244.2.0/24", { name: "blue", vni: 5_002, router: W2dr });
    const blueC = await world.w2.pod("10.244.2.10");
    await world.w2.overlay("10.244.2.0/24", { name: "red", vni: 5_001, router: W2dr });
    const redC = await world.w2.pod("10.244.2.10");
    const [blueEar, payloadEar] = [world.serve(blueC.compartment, 80), world.serve(redC.compartment, 4_789)];
    const forged = buildUdpFrame({
      link: { sourceMac: W1dr, destinationMac: W2dr },
      ip: {
        source: parseIp("10.244.1.10")!,
        destination: parseIp("10.244.2.10")!,
        ttl: 128,
        identification: 1,
        isDontFragment: false,
      },
      udp: { sourcePort: 9, destinationPort: 80 },
      payload: Uint8Array.of(1),
      checksum: "computed",
    });
    const vxlan = Uint8Array.of(8, 0, 0, 0, 0, 0x13, 0x8a, 0);
    const socket = redA.compartment.udp.bind({ owner: new Ear(false), port: 50_000 });
    if (typeof socket === "string") throw new Error(socket);
    const send = (): void => {
      const bytes = Uint8Array.of(...vxlan, ...forged.frame);
      socket.send({ destination: parseIp(destination)!, port: 4_789, bytes, tag: 1 });
      world.run();
    };
    send();
    send();
    return { blue: blueEar.heard.length, payload: payloadEar.heard.length };
  }

  it("does not leave the node: another network would take it for this node's", async () => {
    expect(await forge("10.0.0.12")).toEqual({ blue: 0, payload: 0 });
    expect(world.drops()).toContain("tunnel-refused");
  });

  it("is payload inside its own network", async () => {
    expect(await forge("10.244.2.10")).toEqual({ blue: 0, payload: 2 });
  });
});

describe("ARP of endpoints (dataplane.md §2.10)", () => {
  it("DT-054 the gateway is the distributed router, a neighbour is itself; nothing goes to the wire", async () => {
    await world.w1.overlay("10.244.1.0/24", { router: W1dr });
    const a = await world.w1.pod("10.244.1.10");
    await world.w1.pod("10.244.1.11");
    world.wire.frames.length = 0;
    world.ask(a.compartment, "10.244.1.11", 80);
    world.ask(a.compartment, "10.244.9.9", 80);
    const [vnic] = a.compartment.listInterfaces();
    const known = vnic!.neighbors.list().map(({ ip, mac }) => [ip, mac]);
    expect(known).toContainEqual([0x0af4_0101, W1dr]);
    expect(known).toContainEqual([0x0af4_010b, Bm]);
  });

  it("DT-055 for a pod of another subnet nobody is asked but the gateway", async () => {
    await world.w1.overlay("10.244.1.0/24", {
      router: W1dr,
      policies: [remoteSubnet("10.244.2.0/24", "10.0.0.12", W2dr)],
    });
    const a = await world.w1.pod("10.244.1.10");
    world.ask(a.compartment, "10.244.2.10", 80);
    const [nic] = a.compartment.listInterfaces();
    expect(nic!.neighbors.list().map(({ ip, mac }) => [formatIp(ip), mac])).toEqual([["10.244.1.1", W1dr]]);
  });

  it("nobody answers for an address that nobody has", async () => {
    await world.w1.overlay("10.244.1.0/24", { router: W1dr });
    const a = await world.w1.pod("10.244.1.10");
    world.ask(a.compartment, "10.244.1.99", 80);
    expect(world.stages().at(-1)?.at).toBe("drop W1 neighbor-unresolved");
  });
});

describe("remote endpoints with a MAC of their own", () => {
  it("are reached in the same subnet through a tunnel to their node, without a hop", async () => {
    await world.w1.overlay("10.244.0.0/16", { router: W1dr });
    await world.w2.overlay("10.244.0.0/16", { router: W2dr });
    const a = await world.w1.pod("10.244.1.10");
    const c = await world.w2.pod("10.244.2.10");
    const remote = (address: string, mac: string, node: string): object => ({
      IpConfigurations: [{ IpAddress: address }],
      MacAddress: mac,
      Flags: 1,
      Policies: [{ Type: "ProviderAddress", Settings: { ProviderAddress: node } }],
    });
    const toC = await createEndpoint(
      world.w1.client,
      world.w1.network,
      remote("10.244.2.10", formatMac(Cm), "10.0.0.12"),
    );
    await createEndpoint(
      world.w2.client,
      world.w2.network,
      remote("10.244.1.10", formatMac(OVERLAY_MACS.Am), "10.0.0.11"),
    );
    world.serve(c.compartment, 80);
    expect(world.walk(a.compartment, "10.244.2.10", 80).heard).toEqual(["10.244.2.10:80"]);
    expect(world.stages().find(({ at }) => at === "wire")).toMatchObject({
      outer: "W1m→W2m W1→W2 ttl 128 DF :4789 VNI 4096",
      eth: "Am→Cm",
      ttl: 128,
    });
    expect(world.stages().at(-1)).toMatchObject({ at: "deliver W2", eth: "Am→Cm", ttl: 128 });
    await deleteEndpoint(world.w1.client, toC.ID);
    expect(world.ask(a.compartment, "10.244.2.10", 80).heard).toEqual([]);
  });
});

describe("policies of the network", () => {
  it("DT-047 VxlanPort is the UDP port on both sides", async () => {
    const port = { Type: "VxlanPort", Settings: { Port: 9_898 } };
    const to = (prefix: string, node: string, mac: typeof W1dr): ReturnType<typeof remoteSubnet> =>
      remoteSubnet(prefix, node, mac);
    await world.w1.overlay("10.244.1.0/24", {
      router: W1dr,
      policies: [port, to("10.244.2.0/24", "10.0.0.12", W2dr)],
    });
    await world.w2.overlay("10.244.2.0/24", {
      router: W2dr,
      policies: [port, to("10.244.1.0/24", "10.0.0.11", W1dr)],
    });
    const a = await world.w1.pod("10.244.1.10");
    const c = await world.w2.pod("10.244.2.10");
    world.serve(c.compartment, 80);
    expect(world.walk(a.compartment, "10.244.2.10", 80).heard).toEqual(["10.244.2.10:80"]);
    const [frame] = world.wire.frames;
    expect([frame!.frame[36], frame!.frame[37]]).toEqual([0x26, 0xaa]);
  });

  it("DT-041 a RemoteSubnetRoute that is taken away holds from the next packet on", async () => {
    const route = remoteSubnet("10.244.2.0/24", "10.0.0.12", W2dr);
    await world.w1.overlay("10.244.1.0/24", { router: W1dr, policies: [route] });
    const a = await world.w1.pod("10.244.1.10");
    world.walk(a.compartment, "10.244.2.10", 80);
    expect(world.stages().at(-1)?.outer).toContain("W1→W2");
    await modifyNetworkPolicies(world.w1.client, world.w1.network, "Remove", [route]);
    world.ask(a.compartment, "10.244.2.10", 80);
    expect(world.stages().every(({ outer }) => outer === undefined)).toBe(true);
  });

  it("DT-105 DT-106 without DSR, a SYN's MSS is 50 less behind the host's source NAT", async () => {
    const policies = [remoteSubnet("10.244.2.0/24", "10.0.0.12", W2dr)];
    await world.w1.overlay("10.244.1.0/24", { router: W1dr, policies });
    await createEndpoint(world.w1.client, world.w1.network, {
      IpConfigurations: [{ IpAddress: "10.244.1.2" }],
      MacAddress: formatMac(OVERLAY_MACS.W1m),
    });
    const remote = await createEndpoint(world.w1.client, world.w1.network, {
      IpConfigurations: [{ IpAddress: "10.244.2.10" }],
      MacAddress: "02-11-0A-F4-02-0A",
      Flags: 1,
    });
    await createLoadBalancer(world.w1.client, {
      HostComputeEndpoints: [remote.ID],
      FrontendVIPs: ["10.96.0.50"],
      PortMappings: [{ Protocol: 6, ExternalPort: 80, InternalPort: 8080 }],
      SourceVIP: "10.244.1.2",
      Flags: 0,
      SchemaVersion: { Major: 2, Minor: 0 },
    });
    const route = { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } };
    const a = await world.w1.pod("10.244.1.10", { Policies: [route] });
    world.run();
    world.wire.frames.length = 0;
    a.compartment.tcp.connect({ owner: new Silent(), destination: parseIp("10.96.0.50")!, port: 80 });
    world.run();
    // Behind 50 bytes of outer headers, Ethernet and IPv4; the first option of a SYN is its MSS (kind 2, length 4).
    const syn = world.wire.frames
      .map(({ frame }) => frame.slice(50 + 14 + 20))
      .find(({ length }) => length > 24);
    expect([...syn!.subarray(20, 24)]).toEqual([2, 4, 1_360 >> 8, 1_360 & 0xff]);
  });

  it("DT-043 on a node with an MTU of 1460 a pod has 1410, and its SYN says MSS 1370", async () => {
    world = new OverlayWorld("ws2022", 1_460);
    await world.w1.overlay("10.244.1.0/24", {
      router: W1dr,
      policies: [remoteSubnet("10.244.2.0/24", "10.0.0.12", W2dr)],
    });
    const a = await world.w1.pod("10.244.1.10");
    expect(a.compartment.listInterfaces()[0]!.mtuBytes).toBe(1_410);
    a.compartment.tcp.connect({ owner: new Silent(), destination: parseIp("10.244.2.10")!, port: 80 });
    world.run();
    const syn = world.wire.frames
      .map(({ frame }) => frame.slice(50 + 14 + 20))
      .find(({ length }) => length > 24);
    expect([...syn!.subarray(20, 24)]).toEqual([2, 4, 1_370 >> 8, 1_370 & 0xff]);
  });

  it("DT-042 DT-166 an endpoint's MTU has room for the tunnel's headers", async () => {
    await world.w1.overlay("10.244.1.0/24", { router: W1dr });
    const a = await world.w1.pod("10.244.1.10");
    expect(a.compartment.listInterfaces()[0]!.mtuBytes).toBe(1_450);
  });

  it("nothing of them is listed as without effect", async () => {
    const id = await world.w1.overlay("10.244.1.0/24", {
      router: W1dr,
      policies: [
        { Type: "HostRoute", Settings: {} },
        { Type: "VxlanPort", Settings: { Port: 4_789 } },
        remoteSubnet("10.244.2.0/24", "10.0.0.12", W2dr),
      ],
    });
    const network = await getNetworkById(world.w1.client, id);
    expect(JSON.stringify(network.Health)).not.toContain("NotEnforced");
  });
});

describe("frames of a tunnel", () => {
  async function twoNodes(): Promise<{ readonly a: OverlayPod; readonly c: OverlayPod }> {
    const policies = [{ Type: "HostRoute", Settings: {} }];
    await world.w1.overlay("10.244.1.0/24", {
      router: W1dr,
      policies: [...policies, remoteSubnet("10.244.2.0/24", "10.0.0.12", W2dr)],
    });
    await world.w2.overlay("10.244.2.0/24", {
      router: W2dr,
      policies: [...policies, remoteSubnet("10.244.1.0/24", "10.0.0.11", W1dr)],
    });
    return { a: await world.w1.pod("10.244.1.10"), c: await world.w2.pod("10.244.2.10") };
  }

  it("DT-033 have one UDP source port per flow, another for another flow", async () => {
    const { a } = await twoNodes();
    const portOf = (to: number): number[] => {
      world.walk(a.compartment, "10.244.2.10", to);
      return world.wire.frames
        .filter(({ frame }) => readU16(frame, 36) === 4_789)
        .map(({ frame }) => readU16(frame, 34));
    };
    const [first] = portOf(80);
    expect(portOf(80)[0]).toBe(first);
    expect(portOf(81)[0]).not.toBe(first);
  });

  it("DT-044 that are longer than the adapter takes are lost", async () => {
    const { c } = await twoNodes();
    const ear = new Ear(false);
    c.compartment.udp.bind({ owner: ear, port: 80 });
    // The host's own vNIC has the adapter's MTU: 1450 + 28 + 50 is more than 1500.
    const socket = world.w1.host.root.udp.bind({ owner: new Ear(false) });
    if (typeof socket === "string") throw new Error(socket);
    socket.send({ destination: parseIp("10.244.2.10")!, port: 80, bytes: new Uint8Array(1_400) });
    world.run();
    expect(ear.heard).toHaveLength(1);
    world.listener.heard.length = 0;
    socket.send({ destination: parseIp("10.244.2.10")!, port: 80, bytes: new Uint8Array(1_450), tag: 1 });
    world.run();
    expect(ear.heard).toHaveLength(1);
    expect(world.drops()).toEqual(["mtu-exceeded"]);
  });

  it("DT-053 DT-056 broadcasts and multicasts of an endpoint stay on its port", async () => {
    const { a } = await twoNodes();
    world.run();
    world.ask(a.compartment, "10.244.1.255", 5_353);
    expect(world.drops()).toEqual(["broadcast-not-delivered"]);
    expect(world.wire.frames).toEqual([]);
    world.ask(a.compartment, "224.0.0.251", 5_353);
    expect(world.drops()).toHaveLength(1);
    expect(world.wire.frames).toEqual([]);
  });

  it("belong to their world: a fork goes on by itself", async () => {
    const { a, c } = await twoNodes();
    const ear = new Ear(false);
    c.compartment.udp.bind({ owner: ear, port: 80 });
    const socket = a.compartment.udp.bind({ owner: new Ear(false) });
    if (typeof socket === "string") throw new Error(socket);
    const { clock } = world;
    const original = { clock, socket, ear };
    const forked = fork(original);
    for (const each of [forked, original]) {
      each.socket.send({ destination: parseIp("10.244.2.10")!, port: 80, bytes: new Uint8Array(1) });
      each.clock.runUntil(each.clock.nowMs + 5_000);
      expect(each.ear.heard).toHaveLength(1);
    }
  });
});

describe("DHCP of endpoints (dataplane.md §1.2 flag 256, §2.12)", () => {
  async function ask(dns?: readonly string[]): Promise<DhcpClient> {
    await world.w1.overlay("10.244.1.0/24", { router: W1dr });
    await world.w1.pod("10.244.1.11");
    const { compartment } = await world.w1.pod("10.244.1.10", {
      ...(dns !== undefined && { Dns: { ServerList: [...dns] } }),
    });
    const client = new DhcpClient(compartment, compartment.listInterfaces().at(-1)!);
    world.run();
    world.wire.frames.length = 0;
    client.start();
    world.run();
    return client;
  }

  it("the switch answers with the endpoint's own address, and nothing leaves the node", async () => {
    const { lease } = await ask(["10.96.0.10"]);
    expect(lease).toMatchObject({
      ip: parseIp("10.244.1.10"),
      length: 24,
      router: parseIp("10.244.1.1"),
      serverId: parseIp("10.244.1.1"),
      dnsServers: [parseIp("10.96.0.10")],
    });
    expect(world.wire.frames).toEqual([]);
  });
});

// The overlay walks of dataplane.md §2.3, stage by stage and field by field, on networks made by hand.
import { beforeAll, describe, expect, it } from "vitest";
import { createEndpoint, createLoadBalancer } from "#contracts/hcn/operations.ts";
import type { QuirkSettings } from "#core/catalogue/quirks.ts";
import { parseIp } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { OVERLAY_MACS, type OverlayStage } from "#test/support/dataplane/overlay-stages.ts";
import { type OverlayPod, OverlayWorld, remoteSubnet } from "#test/support/dataplane/overlay-world.ts";
import { buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { Headers } from "#core/wire/headers.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { listFields } from "#core/wire/text/fields.ts";
import { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";

const { W1dr, W2dr, W1m, L1v } = OVERLAY_MACS;
const NAT = {
  Type: "OutBoundNAT",
  Settings: { Exceptions: ["10.244.0.0/16", "10.96.0.0/12"] },
};
const HOST_ROUTE = { Type: "HostRoute", Settings: {} };

interface Walks extends OverlayWorld {
  readonly a: OverlayPod;
  readonly b: OverlayPod;
  readonly c: OverlayPod;
}

async function walks(quirks: QuirkSettings = {}): Promise<Walks> {
  const world = new OverlayWorld("ws2022", 1_500, quirks);
  await world.w1.overlay("10.244.1.0/24", {
    router: W1dr,
    policies: [
      HOST_ROUTE,
      remoteSubnet("10.244.2.0/24", "10.0.0.12", W2dr),
      remoteSubnet("10.244.3.0/24", "10.0.0.21", L1v),
    ],
  });
  await world.w2.overlay("10.244.2.0/24", {
    router: W2dr,
    policies: [HOST_ROUTE, remoteSubnet("10.244.1.0/24", "10.0.0.11", W1dr)],
  });
  const a = await world.w1.pod("10.244.1.10", { Policies: [NAT] });
  const b = await world.w1.pod("10.244.1.11", { Policies: [NAT] });
  const c = await world.w2.pod("10.244.2.10", { Policies: [NAT] });
  return Object.assign(world, { a, b, c });
}

/** A row without a tunnel. */
function row(at: string, eth: string, ip: string, ttl: number, l4: string): OverlayStage {
  return { at, eth, ip, ttl, l4 };
}

let world: Walks;
beforeAll(async () => {
  world = await walks();
});

/** A back end of another node, as kube-proxy makes it: with a placeholder for a MAC. */
async function remoteBackEnd(at: OverlayWorld, address: string, node: string): Promise<string> {
  const hex = address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
  const endpoint = await createEndpoint(at.w1.client, at.w1.network, {
    IpConfigurations: [{ IpAddress: address }],
    MacAddress: `02-11-${hex.join("-")}`,
    Flags: 1,
    Policies: [{ Type: "ProviderAddress", Settings: { ProviderAddress: node } }],
  });
  return endpoint.ID;
}

/** The ClusterIP V:80, or the node port 30080, with target port 8080; UDP. */
async function service(
  at: OverlayWorld,
  backEnds: readonly string[],
  options: { readonly isDsr: boolean; readonly isNodePort?: boolean; readonly sourceVip?: string },
): Promise<void> {
  const { isDsr, isNodePort = false, sourceVip } = options;
  await createLoadBalancer(at.w1.client, {
    HostComputeEndpoints: [...backEnds],
    FrontendVIPs: isNodePort ? [] : ["10.96.0.50"],
    PortMappings: [{ Protocol: 17, ExternalPort: isNodePort ? 30_080 : 80, InternalPort: 8080 }],
    ...(sourceVip !== undefined && { SourceVIP: sourceVip }),
    Flags: isDsr ? 1 : 0,
    SchemaVersion: { Major: 2, Minor: 0 },
  });
}

describe("WALK-O-1 pod to pod on one node", () => {
  it("DT-030: the same MACs, an undecremented TTL, and nothing on the wire", () => {
    const ear = world.b.compartment;
    world.serve(ear, 8080);
    expect(world.walk(world.a.compartment, "10.244.1.11", 8080).heard).toEqual(["10.244.1.11:8080"]);
    expect(world.stages()).toEqual([
      row("send W1", "Am→Bm", "A→B", 128, "p→8080"),
      row("W1 out ACL_ENDPOINT_LAYER", "Am→Bm", "A→B", 128, "p→8080"),
      row("W1 out VNET_ENCAP_LAYER", "Am→Bm", "A→B", 128, "p→8080"),
      row("W1 in VNET_ENCAP_LAYER", "Am→Bm", "A→B", 128, "p→8080"),
      row("W1 in ACL_ENDPOINT_LAYER", "Am→Bm", "A→B", 128, "p→8080"),
      row("deliver W1", "Am→Bm", "A→B", 128, "p→8080"),
    ]);
    expect(world.wire.frames).toEqual([]);
  });
});

/** A row inside a tunnel between nodes. */
function inside(outer: string, ...fields: Parameters<typeof row>): OverlayStage {
  return { ...row(...fields), outer };
}

describe("WALK-O-2 pod to pod on another Windows node", () => {
  it("DT-031 DT-032 DT-034: encapsulated on the pod's port, turned round at the other node's router", () => {
    world.serve(world.c.compartment, 8080);
    expect(world.walk(world.a.compartment, "10.244.2.10", 8080).heard).toEqual(["10.244.2.10:8080"]);
    const unrouted = "W1m→00-00-00-00-00-00 W1→W2 ttl 128 DF :4789 VNI 4096";
    const outer = "W1m→W2m W1→W2 ttl 128 DF :4789 VNI 4096";
    expect(world.stages()).toEqual([
      row("send W1", "Am→W1dr", "A→C", 128, "p→8080"),
      row("W1 out ACL_ENDPOINT_LAYER", "Am→W1dr", "A→C", 128, "p→8080"),
      inside(unrouted, "W1 out VNET_ENCAP_LAYER", "Am→W2dr", "A→C", 127, "p→8080"),
      inside(outer, "W1 out VNET_PA_ROUTE_LAYER", "Am→W2dr", "A→C", 127, "p→8080"),
      inside(outer, "wire", "Am→W2dr", "A→C", 127, "p→8080"),
      row("W2 in VNET_ENCAP_LAYER", "Am→W2dr", "A→C", 127, "p→8080"),
      row("W2 in REMOTESUBNETROUTE_HAIRPIN_LAYER", "W2dr→Cm", "A→C", 127, "p→8080"),
      row("W2 out VNET_ENCAP_LAYER", "W2dr→Cm", "A→C", 127, "p→8080"),
      row("W2 in VNET_ENCAP_LAYER", "W2dr→Cm", "A→C", 127, "p→8080"),
      row("W2 in ACL_ENDPOINT_LAYER", "W2dr→Cm", "A→C", 127, "p→8080"),
      row("deliver W2", "W2dr→Cm", "A→C", 127, "p→8080"),
    ]);
  });

  it("the answer is symmetrical", () => {
    expect(world.stages(2)).toContainEqual(
      inside("W2m→W1m W2→W1 ttl 128 DF :4789 VNI 4096", "wire", "Cm→W1dr", "C→A", 127, "8080→p"),
    );
    expect(world.stages(2).at(-1)).toEqual(row("deliver W1", "W1dr→Am", "C→A", 127, "8080→p"));
  });
});

describe("DT-184 a pod that leaves it to others to cut its segments", () => {
  it("each frame on the wire holds 1500 bytes of IP at most, with one tunnel; FIN and PSH are on the last alone", () => {
    const payload = Uint8Array.from({ length: 3_000 }, (_, index) => index & 0xff);
    const packet = buildTcpFrame({
      link: { sourceMac: OVERLAY_MACS.Am, destinationMac: W1dr },
      ip: {
        source: parseIp("10.244.1.10")!,
        destination: parseIp("10.244.2.10")!,
        ttl: 128,
        identification: 7,
        isDontFragment: true,
      },
      tcp: {
        sourcePort: 50_000,
        destinationPort: 8080,
        sequence: 0x1000,
        acknowledgment: 1,
        flags: TcpFlag.ack | TcpFlag.psh | TcpFlag.fin,
        window: 1_024,
      },
      payload,
    });
    packet.segmentBytes = 1_410;
    world.walk(world.a.compartment, "10.244.2.10", 8080);
    world.wire.frames.length = 0;
    world.a.compartment.listInterfaces()[0]!.transmitFrame(packet);
    world.run();
    const sent = world.wire.frames.map((each) => {
      const fields = new Map(listFields(each.frame).map(({ field, value }) => [field, value]));
      const outer = new Headers();
      outer.parseBytes(each.frame, 0, each.frame.length);
      const tunnel = new TunnelHeaders();
      tunnel.locate(each.frame, outer);
      expect(verifyChecksums(each.frame, tunnel.inner)).toBeUndefined();
      const data = each.frame.slice(tunnel.inner.transport + 20, tunnel.inner.end);
      return {
        fields: ["ip.len", "inner.ip.id", "inner.tcp.seq_raw", "inner.tcp.flags", "inner.ip.ttl"].map(
          (name) => fields.get(name),
        ),
        data,
      };
    });
    const toC = sent.filter(({ fields }) => fields[2] !== undefined && fields[3] !== "RST");
    expect(toC.slice(0, 3).map(({ fields }) => fields)).toEqual([
      ["1500", "0x0007", "4096", "ACK", "127"],
      ["1500", "0x0008", "5506", "ACK", "127"],
      ["270", "0x0009", "6916", "FIN PSH ACK", "127"],
    ]);
    expect(toC.slice(0, 3).flatMap(({ data }) => [...data])).toEqual([...payload]);
  });
});

describe("WALK-O-3 pod to a pod on a Linux node, and back", () => {
  it("DT-034 the MAC inside is that of the Linux node's VXLAN device", () => {
    world.walk(world.a.compartment, "10.244.3.10", 8080);
    expect(world.stages().at(-1)).toEqual(
      inside("W1m→L1m W1→L1 ttl 128 DF :4789 VNI 4096", "wire", "Am→L1v", "A→D", 127, "p→8080"),
    );
    expect(world.l1.heard).toHaveLength(2);
  });

  it("DT-035 DT-038 the answer is taken out of its tunnel at the router's port, and turned round to the pod", () => {
    world.ask(world.a.compartment, "10.244.3.10", 8080);
    world.l1.sendInTunnel(["10.244.3.10", 8080], ["10.244.1.10", 50_000]);
    world.run();
    expect(world.stages(2)).toEqual([
      inside("L1m→W1m L1→W1 ttl 64 :4789 VNI 4096", "wire", "L1v→W1dr", "D→A", 63, "8080→p"),
      row("W1 in VNET_ENCAP_LAYER", "L1v→W1dr", "D→A", 63, "8080→p"),
      row("W1 in REMOTESUBNETROUTE_HAIRPIN_LAYER", "W1dr→Am", "D→A", 63, "8080→p"),
      row("W1 out VNET_ENCAP_LAYER", "W1dr→Am", "D→A", 63, "8080→p"),
      row("W1 in VNET_ENCAP_LAYER", "W1dr→Am", "D→A", 63, "8080→p"),
      row("W1 in ACL_ENDPOINT_LAYER", "W1dr→Am", "D→A", 63, "8080→p"),
      expect.objectContaining({ eth: "W1dr→Am", ip: "D→A", ttl: 63 }),
    ]);
  });

  it("DT-036 a tunnel of a network that the node does not have ends at the switch", () => {
    world.listener.heard.length = 0;
    world.l1.sendInTunnel(["10.244.3.10", 8080], ["10.244.1.10", 50_000], { vni: 4097 });
    world.run();
    expect(world.stages(2).map(({ at }) => at)).toEqual(["wire", "drop W1 virtual-subnet-unknown"]);
  });

  it("DT-039 a MAC that nobody has inside: the outer header is tried, and the host takes nothing of it", () => {
    world.listener.heard.length = 0;
    world.l1.sendInTunnel(["10.244.3.10", 8080], ["10.244.1.10", 50_000], { routerMac: L1v });
    world.run();
    expect(world.stages(2).map(({ at }) => at)).toEqual(["wire", "W1 in DECAP_IN", "drop W1 mac-not-local"]);
  });
});

describe("WALK-O-4 pod to ClusterIP with DSR", () => {
  it("DT-084 the back end is remote: chosen on the pod's port, then as O-3; its answer gets the ClusterIP back", async () => {
    const at = await walks();
    await service(at, [await remoteBackEnd(at, "10.244.2.10", "10.0.0.12")], { isDsr: true });
    at.serve(at.c.compartment, 8080);
    expect(at.walk(at.a.compartment, "10.96.0.50", 80).heard).toEqual(["10.96.0.50:80"]);
    const outer = "W1m→W2m W1→W2 ttl 128 DF :4789 VNI 4096";
    const unrouted = "W1m→00-00-00-00-00-00 W1→W2 ttl 128 DF :4789 VNI 4096";
    expect(at.stages().slice(0, 6)).toEqual([
      row("send W1", "Am→W1dr", "A→V", 128, "p→80"),
      row("W1 out LB_DSR", "Am→W1dr", "A→C", 128, "p→8080"),
      row("W1 out ACL_ENDPOINT_LAYER", "Am→W1dr", "A→C", 128, "p→8080"),
      inside(unrouted, "W1 out VNET_ENCAP_LAYER", "Am→W2dr", "A→C", 127, "p→8080"),
      inside(outer, "W1 out VNET_PA_ROUTE_LAYER", "Am→W2dr", "A→C", 127, "p→8080"),
      inside(outer, "wire", "Am→W2dr", "A→C", 127, "p→8080"),
    ]);
    expect(at.stages(2).slice(-4)).toEqual([
      row("W1 in VNET_ENCAP_LAYER", "W1dr→Am", "C→A", 127, "8080→p"),
      row("W1 in ACL_ENDPOINT_LAYER", "W1dr→Am", "C→A", 127, "8080→p"),
      row("W1 in LB_DSR", "W1dr→Am", "V→A", 127, "80→p"),
      row("deliver W1", "W1dr→Am", "V→A", 127, "80→p"),
    ]);
  });

  it("the back end is on the node: no tunnel, and it answers directly", async () => {
    const at = await walks();
    await service(at, [at.b.endpoint], { isDsr: true });
    at.serve(at.b.compartment, 8080);
    expect(at.walk(at.a.compartment, "10.96.0.50", 80).heard).toEqual(["10.96.0.50:80"]);
    expect(at.stages().at(-1)).toEqual(row("deliver W1", "Am→Bm", "A→B", 128, "p→8080"));
    expect(at.wire.frames).toEqual([]);
  });
});

const SERVICE_ROUTE = { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } };

/** A node with the source VIP S1 and a pod whose packets to services come to the host's port. */
async function withSourceVip(): Promise<{ readonly at: Walks; readonly client: OverlayPod }> {
  const at = await walks();
  await createEndpoint(at.w1.client, at.w1.network, {
    Name: "source-vip",
    IpConfigurations: [{ IpAddress: "10.244.1.2" }],
    MacAddress: formatMac(W1m),
    Policies: [{ Type: "ProviderAddress", Settings: { ProviderAddress: "10.0.0.11" } }],
  });
  const client = await at.w1.pod("10.244.1.12", { Policies: [NAT, SERVICE_ROUTE] });
  return { at, client };
}

describe("WALK-O-5 pod to ClusterIP without DSR", () => {
  it("DT-105 the host's port translates both addresses; the back end sees the source VIP, and the answer comes back", async () => {
    const { at, client } = await withSourceVip();
    await service(at, [await remoteBackEnd(at, "10.244.2.10", "10.0.0.12")], {
      isDsr: false,
      sourceVip: "10.244.1.2",
    });
    const ear = at.serve(at.c.compartment, 8080);
    expect(at.walk(client.compartment, "10.96.0.50", 80).heard).toEqual(["10.96.0.50:80"]);
    expect(ear.heard.at(-1)).toMatch(/^10\.244\.1\.2:49\d{3}$/);
    const client12 = "10.244.1.12";
    const seen = at.stages().map((stage) => [stage.at, stage.ip, stage.l4]);
    expect(seen.slice(0, 10)).toEqual([
      ["send W1", `${client12}→V`, "p→80"],
      // Row 1: the pod's port sees the ClusterIP.
      ["W1 out ACL_ENDPOINT_LAYER", `${client12}→V`, "p→80"],
      ["W1 out VNET_ENCAP_LAYER", `${client12}→V`, "p→80"],
      ["W1 out VNET_PA_ROUTE_LAYER", `${client12}→V`, "p→80"],
      ["W1 in DECAP_IN", `${client12}→V`, "p→80"],
      ["W1 in SLB_HAIRPIN_LAYER", `${client12}→V`, "p→80"],
      ["W1 out SNAT", "S1→V", "q→80"],
      ["W1 out LB", "S1→C", "q→8080"],
      ["W1 out ENCAP", "S1→C", "q→8080"],
      ["W1 out VNET_PA_ROUTE_LAYER", "S1→C", "q→8080"],
    ]);
    expect(at.stages(2).at(-1)).toMatchObject({ at: "deliver W1", ip: `V→${client12}`, l4: "80→p" });
  });
});

describe("WALK-O-5 WALK-O-8 without a source VIP", () => {
  /** C keeps its own address towards nodes, so that its answers find their way. */
  async function withoutSourceVip(isNodePort: boolean) {
    const at = await walks({ "overlay-nodeport-ws2022": "off" });
    const exceptions = { Exceptions: ["10.244.0.0/16", "10.96.0.0/12", "10.0.0.0/24"] };
    const c = await at.w2.pod("10.244.2.12", { Policies: [{ Type: "OutBoundNAT", Settings: exceptions }] });
    await service(at, [await remoteBackEnd(at, "10.244.2.12", "10.0.0.12")], { isDsr: false, isNodePort });
    const ear = at.serve(c.compartment, 8080);
    return { at, ear };
  }

  it("O-5: the node's address stands for the client, and the answer comes back by the node", async () => {
    const { at, ear } = await withoutSourceVip(false);
    const route = { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } };
    const client = await at.w1.pod("10.244.1.12", { Policies: [NAT, route] });
    expect(at.walk(client.compartment, "10.96.0.50", 80).heard).toEqual(["10.96.0.50:80"]);
    expect(ear.heard.at(-1)).toMatch(/^10\.0\.0\.11:49\d{3}$/);
    const outer = at.stages().find((stage) => stage.at === "wire")?.outer;
    expect(outer).toBe("W1m→W2m W1→W2 ttl 128 DF :4789 VNI 4096");
  });

  it("O-8: the same for a client outside", async () => {
    const { at, ear } = await withoutSourceVip(true);
    const outside = at.underlay.getOutsideHost("X")!.compartment;
    expect(at.walk(outside, "10.0.0.11", 30_080).heard).toEqual(["10.0.0.11:30080"]);
    expect(ear.heard.at(-1)).toMatch(/^10\.0\.0\.11:/);
  });
});

describe("WALK-O-6 a pod that reaches itself through its service", () => {
  it("fails with DSR", async () => {
    const at = await walks();
    await service(at, [at.a.endpoint], { isDsr: true });
    const ear = at.serve(at.a.compartment, 8080);
    expect(at.walk(at.a.compartment, "10.96.0.50", 80).heard).toEqual([]);
    expect(ear.heard).toEqual([]);
    expect(at.drops()).toEqual(["hairpin-under-dsr"]);
  });

  it.each([
    ["with", [HOST_ROUTE]],
    ["without", []],
  ])("works with loopbackDSR, %s HostRoute: the pod sees the node's address", async (_, policies) => {
    const at = new OverlayWorld();
    await at.w1.overlay("10.244.1.0/24", { router: W1dr, policies });
    const loopback = { Type: "OutBoundNAT", Settings: { Destinations: ["10.244.1.10"] } };
    const a = await at.w1.pod("10.244.1.10", { Policies: [NAT, loopback] });
    await service(at, [a.endpoint], { isDsr: true });
    const ear = at.serve(a.compartment, 8080);
    expect(at.walk(a.compartment, "10.96.0.50", 80).heard).toEqual(["10.96.0.50:80"]);
    expect(ear.heard[0]).toMatch(/^10\.0\.0\.11:/);
  });
});

describe("WALK-O-6 without DSR", () => {
  it("the pod reaches itself through S1", async () => {
    const { at, client } = await withSourceVip();
    await service(at, [client.endpoint], { isDsr: false, sourceVip: "10.244.1.2" });
    const ear = at.serve(client.compartment, 8080);
    expect(at.walk(client.compartment, "10.96.0.50", 80).heard).toEqual(["10.96.0.50:80"]);
    expect(ear.heard.at(-1)).toMatch(/^10\.244\.1\.2:/);
  });

  it("DT-110: Block_LoopBack, priority 1, drops a packet from the ClusterIP to itself, whoever is behind it", async () => {
    const { at, client } = await withSourceVip();
    await service(at, [client.endpoint], { isDsr: false, sourceVip: "10.244.1.2" });
    const port = at.w1.datapath.listSwitches()[0]!.hostPort!;
    const [rule] = port.vfp.getLayer("SNAT")!.groups.flatMap(({ rules }) => rules);
    expect(rule).toMatchObject({ priority: 1, action: { type: "block", code: "service-loop-blocked" } });
    expect(rule?.name).toMatch(/^Block_LoopBack[0-9A-F]{5}_10\.244\.1\.2_10\.96\.0\.50_80_8080_17$/);
    expect(rule?.provenance.object).toBe("HostComputeLoadBalancer");
    const ip = parseIp("10.96.0.50")!;
    const packet = buildUdpFrame({
      link: { sourceMac: W1m, destinationMac: W1dr },
      ip: { source: ip, destination: ip, ttl: 128, identification: 1, isDontFragment: true },
      udp: { sourcePort: 50_000, destinationPort: 80 },
      payload: new Uint8Array(4),
    });
    const headers = new Headers();
    headers.parse(packet);
    expect(port.vfp.process("out", packet, headers, 0)).toBe("drop");
    expect(port.vfp.drops.get("service-loop-blocked")).toBe(1);
  });
});

describe("WALK-O-7 pod to the outside", () => {
  it("DT-128: translated on the pod's port, to the next hop of the node; the answer finds the pod", () => {
    const outside = world.underlay.getOutsideHost("X")!;
    world.serve(outside.compartment, 443);
    expect(world.walk(world.a.compartment, "203.0.113.10", 443).heard).toEqual(["203.0.113.10:443"]);
    expect(world.stages().slice(0, 6)).toEqual([
      row("send W1", "Am→W1dr", "A→X", 128, "p→443"),
      row("W1 out ACL_ENDPOINT_LAYER", "Am→W1dr", "A→X", 128, "p→443"),
      row("W1 out VNET_ENCAP_LAYER", "Am→W1dr", "A→X", 128, "p→443"),
      row("W1 out SLB_NAT_LAYER", "Am→W1dr", "W1→X", 128, "q→443"),
      row("W1 out VNET_PA_ROUTE_LAYER", "W1m→Rm", "W1→X", 128, "q→443"),
      row("wire", "W1m→Rm", "W1→X", 128, "q→443"),
    ]);
    const back = world.stages(2);
    const ttl = back.at(-1)!.ttl;
    expect(back.slice(-5)).toEqual([
      row("wire", "Rm→W1m", "X→W1", ttl, "443→q"),
      row("W1 in SLB_NAT_LAYER", "Rm→Am", "X→A", ttl, "443→p"),
      row("W1 in VNET_ENCAP_LAYER", "W1dr→Am", "X→A", ttl, "443→p"),
      row("W1 in ACL_ENDPOINT_LAYER", "W1dr→Am", "X→A", ttl, "443→p"),
      row("deliver W1", "W1dr→Am", "X→A", ttl, "443→p"),
    ]);
  });
});

describe("WALK-O-8 from outside to a node port", () => {
  it("with DSR and a local back end: turned round at the host's port, and the client's address is kept", async () => {
    const at = await walks();
    await service(at, [at.a.endpoint], { isDsr: true, isNodePort: true });
    const ear = at.serve(at.a.compartment, 8080);
    const outside = at.underlay.getOutsideHost("X")!.compartment;
    expect(at.walk(outside, "10.0.0.11", 30_080).heard).toEqual(["10.0.0.11:30080"]);
    expect(ear.heard[0]).toBe("203.0.113.10:50000");
    const stages = at.stages();
    const ttl = stages.at(-1)!.ttl;
    expect(stages.slice(-7)).toEqual([
      row("wire", "Rm→W1m", "X→W1", ttl, "p→30080"),
      row("W1 in SLB_HAIRPIN_LAYER", "Rm→W1m", "X→W1", ttl, "p→30080"),
      row("W1 out SLB_LB_LAYER", "Rm→Am", "X→W1", ttl, "p→30080"),
      row("W1 in SLB_NAT_LAYER", "Rm→Am", "X→A", ttl, "p→8080"),
      row("W1 in VNET_ENCAP_LAYER", "W1dr→Am", "X→A", ttl, "p→8080"),
      row("W1 in ACL_ENDPOINT_LAYER", "W1dr→Am", "X→A", ttl, "p→8080"),
      row("deliver W1", "W1dr→Am", "X→A", ttl, "p→8080"),
    ]);
    expect(at.stages(2).slice(0, 6)).toEqual([
      row("send W1", "Am→W1dr", "A→X", 128, "8080→p"),
      row("W1 out ACL_ENDPOINT_LAYER", "Am→W1dr", "A→X", 128, "8080→p"),
      row("W1 out VNET_ENCAP_LAYER", "Am→W1dr", "A→X", 128, "8080→p"),
      row("W1 out SLB_NAT_LAYER", "Am→W1dr", "W1→X", 128, "30080→p"),
      row("W1 out VNET_PA_ROUTE_LAYER", "W1m→Rm", "W1→X", 128, "30080→p"),
      row("wire", "W1m→Rm", "W1→X", 128, "30080→p"),
    ]);
  });

  it("without DSR and with a remote back end: the client's address is lost, and the answer comes back through the node", async () => {
    const at = await walks({ "overlay-nodeport-ws2022": "off" });
    await createEndpoint(at.w1.client, at.w1.network, {
      IpConfigurations: [{ IpAddress: "10.244.1.2" }],
      MacAddress: formatMac(W1m),
    });
    await service(at, [await remoteBackEnd(at, "10.244.2.10", "10.0.0.12")], {
      isDsr: false,
      isNodePort: true,
      sourceVip: "10.244.1.2",
    });
    const ear = at.serve(at.c.compartment, 8080);
    const outside = at.underlay.getOutsideHost("X")!.compartment;
    expect(at.walk(outside, "10.0.0.11", 30_080).heard).toEqual(["10.0.0.11:30080"]);
    expect(ear.heard[0]).toMatch(/^10\.244\.1\.2:/);
  });
});

describe("WALK-O-9 node and pod", () => {
  it("DT-051 node to its own pod: the pod sees the node's address", () => {
    const ear = world.serve(world.a.compartment, 9000);
    expect(world.walk(world.w1.host.root, "10.244.1.10", 9000).heard).toEqual(["10.244.1.10:9000"]);
    expect(ear.heard[0]).toMatch(/^10\.0\.0\.11:/);
    expect(world.wire.frames).toEqual([]);
  });

  it("pod to its own node", () => {
    const ear = world.serve(world.w1.host.root, 10_250);
    expect(world.walk(world.a.compartment, "10.0.0.11", 10_250).heard).toEqual(["10.0.0.11:10250"]);
    expect(ear.heard).toHaveLength(2);
    expect(world.wire.frames).toEqual([]);
  });

  it("node to a pod of another node goes through the tunnel, with the node's address", () => {
    const ear = world.serve(world.c.compartment, 9001);
    world.walk(world.w1.host.root, "10.244.2.10", 9001);
    expect(ear.heard[0]).toMatch(/^10\.0\.0\.11:/);
  });

  it.each([
    [
      "with the node's address when that is not an exception",
      ["10.244.0.0/16", "10.96.0.0/12"],
      "W1→W2",
      "q",
    ],
    ["with its own, without a tunnel, when it is one", ["10.244.0.0/16", "10.0.0.0/24"], "A→W2", "p"],
  ])("pod to another node: %s", async (_, exceptions, addresses, port) => {
    const at = new OverlayWorld();
    await at.w1.overlay("10.244.1.0/24", { router: W1dr });
    const nat = { Type: "OutBoundNAT", Settings: { Exceptions: exceptions } };
    const a = await at.w1.pod("10.244.1.10", { Policies: [nat] });
    const ear = at.serve(at.w2.host.root, 10_250);
    at.walk(a.compartment, "10.0.0.12", 10_250);
    expect(ear.heard).toHaveLength(2);
    expect(at.stages().find((stage) => stage.at === "wire")).toEqual(
      row("wire", "W1m→W2m", addresses, 128, `${port}→10250`),
    );
  });

  it("pod to a port of its own node that another pod publishes", async () => {
    const at = await walks();
    const published = { Protocol: 17, InternalPort: 53, ExternalPort: 5353 };
    const server = await at.w1.pod("10.244.1.13", {
      Policies: [NAT, { Type: "PortMapping", Settings: published }],
    });
    const ear = at.serve(server.compartment, 53);
    expect(at.walk(at.a.compartment, "10.0.0.11", 5_353).heard).toEqual(["10.0.0.11:5353"]);
    expect(ear.heard[0]).toBe("10.244.1.10:50000");
  });

  it("DT-052 without HostRoute the node does not reach its pods", async () => {
    const at = new OverlayWorld();
    await at.w1.overlay("10.244.1.0/24", { router: W1dr, policies: [] });
    const a = await at.w1.pod("10.244.1.10");
    const ear = at.serve(a.compartment, 9000);
    at.walk(at.w1.host.root, "10.244.1.10", 9000);
    expect(ear.heard).toEqual([]);
    expect(at.drops()).toContain("overlay-without-host-route");
  });
});

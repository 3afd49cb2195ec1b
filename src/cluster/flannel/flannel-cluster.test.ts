// A cluster with flannel, from its file to its routes (control-planes.md §1 to §3).
import { describe, expect, it } from "vitest";
import { addToList } from "#core/base/keyed-lists.ts";
import { defined } from "#core/base/assert.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { getNetworkByName, listEndpoints, listNetworks } from "#contracts/hcn/operations.ts";
import { formatRoute } from "#dataplane/host/ip/route-table.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { formatIp, parseIp } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import {
  type SessionWorld,
  clusterText,
  deployment,
  openSessionWorld,
  podsOf,
  remove,
} from "#test/support/cluster/session-world.ts";
import { hcnClientOf } from "../machines/windows-node.ts";

const PODS = deployment("win", "windows", 2) + deployment("lin", "linux", 1);

function flannel(backend: string, fields = ""): string {
  return clusterText(`network: { plugin: flannel, backend: ${backend}${fields} }`);
}

function nodeOf({ session }: SessionWorld, name: string) {
  return defined(
    session.cluster.nodes.find(({ spec }) => spec.name === name),
    `node ${name}`,
  );
}

function clientOf(world: SessionWorld, name: string): HcnClient {
  return hcnClientOf(nodeOf(world, name));
}

function annotationsOf({ session }: SessionWorld, name: string): Readonly<Record<string, string>> {
  const node = session.listObjects("Node").find(({ metadata }) => metadata.name === name);
  const { metadata } = defined(node, name) as { readonly metadata: object };
  return (metadata as { readonly annotations?: Readonly<Record<string, string>> }).annotations ?? {};
}

/** Routes by a next hop into the pod ranges. */
function podRoutes(world: SessionWorld, name: string): readonly string[] {
  const routes = nodeOf(world, name).host.root.listRoutes();
  return routes
    .filter(({ nextHop }) => nextHop !== undefined)
    .map(formatRoute)
    .filter((text) => text.startsWith("10.244."))
    .toSorted();
}

async function remoteSubnets(world: SessionWorld, name: string): Promise<readonly unknown[]> {
  const { Policies = [] } = await getNetworkByName(clientOf(world, name), "vxlan0");
  return Policies.filter(({ Type }) => Type === "RemoteSubnetRoute").map(({ Settings }) => Settings);
}

async function routerMac(world: SessionWorld, name: string): Promise<string> {
  const { Policies = [] } = await getNetworkByName(clientOf(world, name), "vxlan0");
  const policy = Policies.find(({ Type }) => Type === "DrMacAddress");
  const mac = policy?.Settings?.["Address"];
  return typeof mac === "string" ? mac : "none";
}

/** As Go prints a MAC. */
function withColons(mac: string): string {
  return mac.toLowerCase().replaceAll("-", ":");
}

it.each(["ws2019", "ws2022"])(
  "host-gw on %s: the first pods of a node have .3; host-local gives .2 first, and HNS refuses it (cni.md §7 row 46)",
  async (build) => {
    const text = clusterText("network: { plugin: flannel, backend: host-gw }", build);
    const world = await openSessionWorld(text, deployment("win", "windows", 4));
    const byNode = new Map<string, string[]>();
    for (const { spec, status } of podsOf(world, "win-")) {
      addToList(byNode, spec?.nodeName ?? "", status?.podIP?.split(".").at(-1) ?? "none");
    }
    const addresses = [...byNode.values()].map((each) => each.toSorted());
    expect(addresses).toEqual([
      ["3", "4"],
      ["3", "4"],
    ]);
  },
);

describe("a cluster with flannel, backend vxlan", () => {
  it("publishes each node's lease in its annotations (§1.4)", async () => {
    const world = await openSessionWorld(flannel("vxlan"));
    const VtepMAC = withColons(await routerMac(world, "win-1"));
    const annotations = annotationsOf(world, "win-1");
    expect(annotations).toMatchObject({
      "flannel.alpha.coreos.com/backend-type": "vxlan",
      "flannel.alpha.coreos.com/kube-subnet-manager": "true",
      "flannel.alpha.coreos.com/public-ip": "10.0.0.11",
    });
    expect(JSON.parse(annotations["flannel.alpha.coreos.com/backend-data"] ?? "")).toEqual({
      VNI: 4096,
      VtepMAC,
    });
    expect(annotationsOf(world, "linux-1")).toMatchObject({
      "flannel.alpha.coreos.com/public-ip": "10.0.0.21",
    });
  });

  it("gives Windows nodes a RemoteSubnetRoute for each other node (§1.8)", async () => {
    const world = await openSessionWorld(flannel("vxlan"));
    const linux = defined(nodeOf(world, "linux-1").host.root.getInterface("flannel.4096"), "the device");
    expect(await remoteSubnets(world, "win-1")).toEqual([
      {
        DestinationPrefix: "10.244.1.0/24",
        IsolationId: 4096,
        ProviderAddress: "10.0.0.12",
        DistributedRouterMacAddress: withColons(await routerMac(world, "win-2")),
      },
      {
        DestinationPrefix: "10.244.2.0/24",
        IsolationId: 4096,
        ProviderAddress: "10.0.0.21",
        DistributedRouterMacAddress: withColons(formatMac(linux.mac)),
      },
    ]);
  });

  it("CP-S7 gives Linux nodes neighbour, forwarding entry and route for each other node", async () => {
    const world = await openSessionWorld(flannel("vxlan"));
    const device = defined(nodeOf(world, "linux-1").host.root.getInterface("flannel.4096"), "the device");
    expect(device.addresses.map(({ ip, length }) => `${formatIp(ip)}/${length}`)).toEqual(["10.244.2.0/32"]);
    expect(podRoutes(world, "linux-1")).toEqual([
      "10.244.0.0/24 via 10.244.0.0 on flannel.4096",
      "10.244.1.0/24 via 10.244.1.0 on flannel.4096",
    ]);
    const neighbors = device.neighbors
      .list()
      .map(({ ip, mac }) => [formatIp(ip), formatMac(defined(mac, "MAC"))]);
    expect(neighbors).toEqual([
      ["10.244.0.0", await routerMac(world, "win-1")],
      ["10.244.1.0", await routerMac(world, "win-2")],
    ]);
  });

  it.each<[string, number, number, readonly string[], KnowledgeCode]>([
    ["another VNI is dropped silently", 4_097, 4_789, [], "virtual-subnet-unknown"],
    ["another UDP port is answered by ICMP", 4_096, 8_472, ["port-unreachable"], "port-not-listening"],
  ])("CP-S10 on a Linux node a tunnel with %s", async (_what, vni, port, failures, code) => {
    const world = await openSessionWorld(flannel("vxlan"));
    const { host } = nodeOf(world, "win-1");
    const heard: string[] = [];
    const owner = {
      udpReceived: () => undefined,
      udpFailed: (_: unknown, { reason }: { reason: string }) => heard.push(reason),
    };
    const socket = host.root.udp.bind({ owner });
    if (typeof socket === "string") throw new Error(socket);
    const bytes = Uint8Array.of(8, 0, 0, 0, 0, vni >> 8, vni & 0xff, 0, ...new Uint8Array(60));
    const { clock } = world.session.cluster;
    socket.send({ destination: defined(parseIp("10.0.0.21"), "an address"), port, bytes });
    clock.runUntil(clock.nowMs + 1_000);
    expect(heard).toEqual(failures);
    expect(nodeOf(world, "linux-1").host.root.drops.get(code)).toBe(1);
  });

  it("CP-F49 takes .2 for the source VIP and the rest for pods, in one book", async () => {
    const world = await openSessionWorld(flannel("vxlan"), PODS);
    const addresses = podsOf(world, "win").map(({ status }) => status?.podIP);
    expect(new Set(addresses)).toEqual(new Set(["10.244.0.3", "10.244.1.3"]));
    const vip = { IpConfigurations: [expect.objectContaining({ IpAddress: "10.244.0.2" })] as unknown };
    expect(await listEndpoints(clientOf(world, "win-1"))).toContainEqual(expect.objectContaining(vip));
  });

  it("takes routes and policies away with a node that leaves", async () => {
    const world = await openSessionWorld(flannel("vxlan"));
    await remove(world, "node/win-2");
    expect(podRoutes(world, "linux-1")).toEqual(["10.244.0.0/24 via 10.244.0.0 on flannel.4096"]);
    expect(await remoteSubnets(world, "win-1")).toMatchObject([{ ProviderAddress: "10.0.0.21" }]);
  });

  it("CP-F1 ends on Windows with a VNI below 4096: no network, no pods, and both are told", async () => {
    const world = await openSessionWorld(flannel("vxlan", ", vni: 5"), PODS);
    const codes = world.session.notes().map(({ code }) => code);
    expect(codes).toContain("flannel-vni-below-4096");
    expect(await listNetworks(clientOf(world, "win-1"))).toEqual([]);
    expect(podsOf(world, "win").map(({ status }) => status?.phase)).toEqual(["Pending", "Pending"]);
    expect(podsOf(world, "lin").map(({ status }) => status?.phase)).toEqual(["Running"]);
  });
});

describe("a cluster with flannel, backend host-gw", () => {
  it("CP-F46 has the network's gateway at .1 and the host's leg at .2", async () => {
    const world = await openSessionWorld(flannel("host-gw"));
    const { Type, Ipams = [] } = await getNetworkByName(clientOf(world, "win-1"), "cbr0");
    expect(Type).toBe("L2Bridge");
    expect(Ipams[0]?.Subnets?.[0]).toMatchObject({
      IpAddressPrefix: "10.244.0.0/24",
      Routes: [{ NextHop: "10.244.0.1" }],
    });
    const addresses = nodeOf(world, "win-1")
      .host.root.listInterfaces()
      .flatMap((each) => each.addresses.map(({ ip }) => formatIp(ip)));
    expect(addresses).toContain("10.244.0.2");
  });

  it("routes to the pods of each other node by its address (§1.9, §3)", async () => {
    const world = await openSessionWorld(flannel("host-gw"));
    expect(podRoutes(world, "win-1")).toEqual([
      "10.244.1.0/24 via 10.0.0.12 on vEthernet (Ethernet)",
      "10.244.2.0/24 via 10.0.0.21 on vEthernet (Ethernet)",
    ]);
    expect(podRoutes(world, "linux-1")).toEqual([
      "10.244.0.0/24 via 10.0.0.11 on eth0",
      "10.244.1.0/24 via 10.0.0.12 on eth0",
    ]);
  });

  it("brings up the first pod at the second try: the first address is the node's own leg's", async () => {
    const world = await openSessionWorld(flannel("host-gw"), PODS);
    expect(podsOf(world, "win").map(({ status }) => status?.podIP)).not.toContain("10.244.0.2");
    expect(podsOf(world, "win").map(({ status }) => status?.phase)).toEqual(["Running", "Running"]);
  });
});

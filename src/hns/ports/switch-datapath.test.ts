import { describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import type { Environment } from "#core/base/environment.ts";
import { fork } from "#core/base/fork.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { Prng } from "#core/base/prng.ts";
import { memoryPair } from "#dataplane/device/memory-pair.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createLoadBalancer,
  createNamespace,
  createNetwork,
  deleteEndpoint,
  deleteNamespace,
  deleteNetwork,
  modifyEndpointPolicies,
  removeNamespaceEndpoint,
} from "#contracts/hcn/operations.ts";
import { HOST_ATTACH, attachHnsEndpoint } from "#contracts/hcn/v1-operations.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { Host } from "#dataplane/host/host.ts";
import { formatRoute } from "#dataplane/host/ip/route-table.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "#dataplane/host/udp.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import {
  ANY_IPV4,
  type Ip,
  type Ipv4,
  formatIp,
  formatPrefix,
  parseInterfaceAddress,
  parseIp,
} from "#core/net/ip.ts";
import { type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import { HnsService } from "../service/hns-service.ts";
import { InProcessHcnClient } from "../service/in-process-client.ts";
import { SwitchDatapath } from "./switch-datapath.ts";

const HOST_MAC = parseMac("00-22-48-00-00-11")!;
const ROUTER_MAC = parseMac("00-22-48-00-00-01")!;

function ip(text: string): Ip {
  return parseIp(text)!;
}

/** Notes what it hears and answers with the same bytes. */
class Echo implements UdpOwner {
  readonly heard: string[] = [];

  udpReceived(socket: UdpSocket, datagram: UdpDatagram): void {
    this.heard.push(`${formatIp(datagram.source)}:${datagram.sourcePort}`);
    socket.send({
      destination: datagram.source,
      port: datagram.sourcePort,
      bytes: datagram.bytes,
      source: datagram.destination,
    });
  }

  udpFailed(): void {}
}

/** Notes who answers. */
class Asker implements UdpOwner {
  readonly answers: string[] = [];

  udpReceived(_socket: UdpSocket, datagram: UdpDatagram): void {
    this.answers.push(`${formatIp(datagram.source)}:${datagram.sourcePort}`);
  }

  udpFailed(): void {}
}

/** A node W1 (10.0.0.11) on one cable with a Linux machine that is router (10.0.0.1) and outside host (203.0.113.10). */
class World {
  readonly clock = new VirtualClock();
  readonly env: Environment = { clock: this.clock, prng: new Prng(7), recorder: undefined };
  readonly node = new Host(this.env, { name: "w1", os: "windows" });
  readonly outside = new Host(this.env, { name: "outside", os: "linux" });
  readonly datapath = new SwitchDatapath(this.env, this.node);
  readonly service: HnsService;
  readonly client: InProcessHcnClient;

  constructor(profile = "ws2022") {
    const [nodeEnd, outsideEnd] = memoryPair(this.clock, { delayMs: 0.1 });
    const ethernet = this.node.root.addInterface({ name: "Ethernet", mac: HOST_MAC, device: nodeEnd });
    this.node.root.addAddress(ethernet, parseInterfaceAddress("10.0.0.11/24")!);
    this.node.root.addRoute({ prefix: ANY_IPV4, nextHop: ip("10.0.0.1"), interface: ethernet, metric: 256 });
    const eth0 = this.outside.root.addInterface({ name: "eth0", mac: ROUTER_MAC, device: outsideEnd });
    this.outside.root.addAddress(eth0, parseInterfaceAddress("10.0.0.1/24")!);
    this.outside.root.addAddress(eth0, parseInterfaceAddress("203.0.113.10/32")!);
    this.service = new HnsService(this.env, {
      node: "w1",
      windows: parseProfile(profile)!,
      datapath: this.datapath,
      adapters: [{ name: "Ethernet", mac: HOST_MAC, device: nodeEnd, addresses: [] }],
    });
    this.client = new InProcessHcnClient(this.service);
  }

  run(): void {
    this.clock.runUntil(this.clock.nowMs + 5_000);
  }

  async network(prefix: string, gateway: string): Promise<string> {
    const network = await createNetwork(this.client, {
      Name: "cbr0",
      Type: "L2Bridge",
      Ipams: [
        {
          Type: "Static",
          Subnets: [
            { IpAddressPrefix: prefix, Routes: [{ NextHop: gateway, DestinationPrefix: "0.0.0.0/0" }] },
          ],
        },
      ],
    });
    return network.ID;
  }

  /** The host's leg in the network: flannel's `cbr0_ep`. */
  async bridgeEndpoint(network: string, address: string): Promise<string> {
    const endpoint = await createEndpoint(this.client, network, {
      Name: "cbr0_ep",
      IpConfigurations: [{ IpAddress: address }],
    });
    await attachHnsEndpoint(this.client, endpoint.ID, HOST_ATTACH);
    for (const each of this.node.root.listInterfaces()) each.isForwarding = true;
    return endpoint.ID;
  }

  async pod(network: string, document: HostComputeEndpoint): Promise<Pod> {
    const endpoint = await createEndpoint(this.client, network, document);
    const namespace = await createNamespace(this.client);
    await addNamespaceEndpoint(this.client, namespace.ID, endpoint.ID);
    const compartment = this.node.getCompartment(namespace.NamespaceId!)!;
    return {
      endpoint: endpoint.ID,
      namespace: namespace.ID,
      compartment,
      mac: parseMac(endpoint.MacAddress!)!,
    };
  }
}

interface Pod {
  readonly endpoint: string;
  readonly namespace: string;
  readonly compartment: Compartment;
  readonly mac: Mac;
}

/** Binds an echo server and returns what it hears. */
function serve(compartment: Compartment, port: number): Echo {
  const echo = new Echo();
  compartment.udp.bind({ owner: echo, port });
  return echo;
}

/** Sends one datagram from a new socket; returns what comes back. */
function ask(world: World, from: Compartment, to: string, port: number): Asker {
  const asker = new Asker();
  const socket = from.udp.bind({ owner: asker });
  if (typeof socket === "string") throw new Error(socket);
  socket.send({ destination: ip(to), port, bytes: Uint8Array.of(1, 2, 3) });
  world.run();
  return asker;
}

async function ownSubnet(
  policies: HostComputeEndpoint["Policies"] = [],
  profile = "ws2022",
): Promise<World & { a: Pod; b: Pod }> {
  const world = new World(profile);
  const network = await world.network("10.244.1.0/24", "10.244.1.1");
  await world.bridgeEndpoint(network, "10.244.1.2");
  const routes = [{ NextHop: "10.244.1.2", DestinationPrefix: "0.0.0.0/0" }];
  const nat = {
    Type: "OutBoundNAT",
    Settings: { Exceptions: ["10.96.0.0/12", "10.244.0.0/16", "10.0.0.0/24"] },
  };
  const a = await world.pod(network, {
    Name: "a_cbr0",
    IpConfigurations: [{ IpAddress: "10.244.1.10" }],
    Routes: routes,
    Policies: [nat, ...policies],
  });
  const b = await world.pod(network, {
    Name: "b_cbr0",
    IpConfigurations: [{ IpAddress: "10.244.1.11" }],
    Routes: routes,
  });
  return Object.assign(world, { a, b });
}

describe("the host's adapter and its switch", () => {
  it("the first network moves address, MAC and routes to the host's vNIC, the last one brings them back", async () => {
    const world = new World();
    const routesBefore = world.node.root.listRoutes().map(formatRoute);
    const network = await world.network("10.244.1.0/24", "10.244.1.1");
    const [vnic] = world.node.root.listInterfaces();
    expect(world.node.root.listInterfaces()).toHaveLength(1);
    expect(vnic).toMatchObject({ name: "vEthernet (Ethernet)", mac: HOST_MAC });
    expect(vnic?.addresses.map((address) => formatIp(address.ip))).toEqual(["10.0.0.11"]);
    const echo = serve(world.outside.root, 53);
    expect(ask(world, world.node.root, "203.0.113.10", 53).answers).toEqual(["203.0.113.10:53"]);
    expect(echo.heard[0]).toMatch(/^10\.0\.0\.11:/);
    await deleteNetwork(world.client, network);
    expect(world.node.root.listRoutes().map(formatRoute)).toEqual(routesBefore);
    expect(ask(world, world.node.root, "203.0.113.10", 53).answers).toEqual(["203.0.113.10:53"]);
  });

  it("HCN-090 a second L2Bridge network on the adapter shares the switch of the first", async () => {
    const world = new World();
    const network = await world.network("192.168.255.0/30", "192.168.255.1");
    await createNetwork(world.client, {
      Name: "cbr1",
      Type: "L2Bridge",
      Ipams: [
        {
          Subnets: [
            {
              IpAddressPrefix: "10.244.1.0/24",
              Routes: [{ NextHop: "10.244.1.1", DestinationPrefix: "0.0.0.0/0" }],
            },
          ],
        },
      ],
    });
    expect(world.datapath.listSwitches()).toHaveLength(1);
    await deleteNetwork(world.client, network);
    expect(world.datapath.listSwitches()).toHaveLength(1);
    expect(world.node.root.getInterface("vEthernet (Ethernet)")).toBeDefined();
  });
});

describe("the own-subnet shape", () => {
  it("DT-061 pod to pod on one node: both ways, by MAC", async () => {
    const world = await ownSubnet();
    const echo = serve(world.b.compartment, 8080);
    expect(ask(world, world.a.compartment, "10.244.1.11", 8080).answers).toEqual(["10.244.1.11:8080"]);
    expect(echo.heard[0]).toMatch(/^10\.244\.1\.10:/);
  });

  it("DT-128 DT-136 pod to outside leaves with the node's address and a port of its block; the answer finds the pod", async () => {
    const world = await ownSubnet();
    const echo = serve(world.outside.root, 53);
    expect(ask(world, world.a.compartment, "203.0.113.10", 53).answers).toEqual(["203.0.113.10:53"]);
    expect(echo.heard).toEqual(["10.0.0.11:49152"]);
  });

  it("DT-065 without OutBoundNAT the pod's own address goes out", async () => {
    const world = await ownSubnet();
    const echo = serve(world.outside.root, 53);
    expect(ask(world, world.b.compartment, "203.0.113.10", 53).answers).toEqual([]);
    expect(echo.heard[0]).toMatch(/^10\.244\.1\.11:/);
  });

  it("DT-129 an exception keeps the pod's own address", async () => {
    const world = await ownSubnet();
    const echo = serve(world.outside.root, 53);
    ask(world, world.a.compartment, "10.0.0.1", 53);
    expect(echo.heard[0]).toMatch(/^10\.244\.1\.10:/);
  });

  it("DT-126 a mapped port of the node reaches the pod, and the answer comes from the node", async () => {
    const mapping = {
      Type: "PortMapping",
      Settings: { Protocol: 17, InternalPort: 53, ExternalPort: 5353, Flags: 1 },
    };
    const world = await ownSubnet([mapping]);
    const echo = serve(world.a.compartment, 53);
    expect(ask(world, world.outside.root, "10.0.0.11", 5353).answers).toEqual(["10.0.0.11:5353"]);
    expect(echo.heard[0]).toMatch(/^10\.0\.0\.1:/);
  });

  it("CNI-055 without LocalRoutedVip a mapped port is open to others, not to the node itself", async () => {
    const mapping = { Type: "PortMapping", Settings: { Protocol: 17, InternalPort: 53, ExternalPort: 5353 } };
    const world = await ownSubnet([mapping]);
    const echo = serve(world.a.compartment, 53);
    expect(ask(world, world.node.root, "10.0.0.11", 5353).answers).toEqual([]);
    expect(echo.heard).toEqual([]);
    expect(ask(world, world.outside.root, "10.0.0.11", 5353).answers).toEqual(["10.0.0.11:5353"]);
    expect(echo.heard).toHaveLength(1);
  });

  it.each(["ws2019", "ws2022"])(
    "CNI-055 with LocalRoutedVip the node itself reaches it too, as long as the pod is there (%s)",
    async (profile) => {
      const Settings = { Protocol: 17, InternalPort: 53, ExternalPort: 5353, Flags: 1 };
      const world = await ownSubnet([{ Type: "PortMapping", Settings }], profile);
      const echo = serve(world.a.compartment, 53);
      expect(ask(world, world.node.root, "10.0.0.11", 5353).answers).toEqual(["10.0.0.11:5353"]);
      expect(echo.heard).toHaveLength(1);
      expect(ask(world, world.outside.root, "10.0.0.11", 5353).answers).toEqual(["10.0.0.11:5353"]);
      await removeNamespaceEndpoint(world.client, world.a.namespace, world.a.endpoint);
      expect(ask(world, world.node.root, "10.0.0.11", 5353).answers).toEqual([]);
      const own = serve(world.node.root, 5353);
      expect(ask(world, world.node.root, "10.0.0.11", 5353).answers).toEqual(["10.0.0.11:5353"]);
      expect(own.heard).toHaveLength(1);
    },
  );

  it("node to pod and pod to node go by the bridge endpoint", async () => {
    const world = await ownSubnet();
    const podEcho = serve(world.a.compartment, 80);
    expect(ask(world, world.node.root, "10.244.1.10", 80).answers).toEqual(["10.244.1.10:80"]);
    expect(podEcho.heard[0]).toMatch(/^10\.244\.1\.2:/);
    const nodeEcho = serve(world.node.root, 10250);
    expect(ask(world, world.a.compartment, "10.0.0.11", 10250).answers).toEqual(["10.0.0.11:10250"]);
    expect(nodeEcho.heard[0]).toMatch(/^10\.244\.1\.10:/);
  });

  it("DT-143 DT-144 an ACL that is added later holds from the next packet on", async () => {
    const world = await ownSubnet();
    const echo = serve(world.b.compartment, 8080);
    ask(world, world.a.compartment, "10.244.1.11", 8080);
    await modifyEndpointPolicies(world.client, world.b.endpoint, "Add", [
      { Type: "ACL", Settings: { Action: "Block", Direction: "In", Priority: 65500 } },
    ]);
    ask(world, world.a.compartment, "10.244.1.11", 8080);
    expect(echo.heard).toHaveLength(1);
    await modifyEndpointPolicies(world.client, world.b.endpoint, "Add", [
      {
        Type: "ACL",
        Settings: { Action: "Allow", Direction: "In", RemoteAddresses: "10.244.1.10", Priority: 1000 },
      },
    ]);
    ask(world, world.a.compartment, "10.244.1.11", 8080);
    expect(echo.heard).toHaveLength(2);
  });

  it("DT-016 rules change while an answer is on its way: the flow holds, and is of the new generation", async () => {
    const acl = (Direction: string, fields: object) => ({
      Type: "ACL",
      Settings: { Direction, Priority: 1000, ...fields },
    });
    const world = await ownSubnet([
      acl("Out", { Action: "Allow" }),
      acl("In", { Action: "Block", Priority: 65_500 }),
    ]);
    const [server, client] = [new Asker(), new Asker()];
    const [at, from] = [
      world.b.compartment.udp.bind({ owner: server, port: 8080 }),
      world.a.compartment.udp.bind({ owner: client, port: 5000 }),
    ];
    if (typeof at === "string" || typeof from === "string") throw new Error("ports are free");
    from.send({ destination: ip("10.244.1.11"), port: 8080, bytes: Uint8Array.of(1) });
    world.run();
    const port = world.datapath
      .listSwitches()[0]!
      .listPorts()
      .find(({ mac }) => mac === world.a.mac)!.vfp;
    const before = port.generation;
    await modifyEndpointPolicies(world.client, world.a.endpoint, "Add", [
      acl("Out", { Action: "Allow", RemoteAddresses: "10.9.9.9", Priority: 500 }),
    ]);
    expect(port.generation).toBeGreaterThan(before);
    const answer = (): void => {
      at.send({ destination: ip("10.244.1.10"), port: 5000, bytes: Uint8Array.of(2) });
      world.run();
    };
    answer();
    expect(client.answers).toEqual(["10.244.1.11:8080"]);
    const flows = port.getLayer("ACL_ENDPOINT_LAYER")!.listFlows();
    expect(flows.map(({ generation }) => generation)).toEqual([port.generation]);
    // Without the flow nothing comes in.
    await modifyEndpointPolicies(world.client, world.a.endpoint, "Add", [
      acl("Out", { Action: "Block", RemoteAddresses: "10.244.1.11", Priority: 400 }),
    ]);
    answer();
    expect(client.answers).toHaveLength(1);
  });

  it("statistics count what passes a pod's port and what its rules drop (hcn.md §9.23)", async () => {
    const world = await ownSubnet();
    serve(world.b.compartment, 8080);
    ask(world, world.a.compartment, "10.244.1.11", 8080);
    const before = await world.client.queryEndpointStats(world.a.endpoint);
    ask(world, world.a.compartment, "10.244.1.11", 8080);
    const after = await world.client.queryEndpointStats(world.a.endpoint);
    const grown = (field: string): number => Number(after[field]) - Number(before[field]);
    // One datagram of three bytes each way: Ethernet 14, IPv4 20, UDP 8.
    expect([grown("PacketsSent"), grown("BytesSent")]).toEqual([1, 45]);
    expect([grown("PacketsReceived"), grown("BytesReceived")]).toEqual([1, 45]);
    expect(after).toMatchObject({ DroppedPacketsIncoming: 0, DroppedPacketsOutgoing: 0 });
    await modifyEndpointPolicies(world.client, world.b.endpoint, "Add", [
      { Type: "ACL", Settings: { Action: "Block", Direction: "In", Priority: 65500 } },
    ]);
    const blockedBefore = await world.client.queryEndpointStats(world.b.endpoint);
    ask(world, world.a.compartment, "10.244.1.11", 8080);
    expect(await world.client.queryEndpointStats(world.b.endpoint)).toEqual({
      ...blockedBefore,
      DroppedPacketsIncoming: 1,
    });
  });

  it("the pod has address, MAC, routes and the bridge endpoint as gateway", async () => {
    const world = await ownSubnet();
    const [vnic] = world.a.compartment.listInterfaces();
    expect(vnic?.name).toBe("vEthernet (a_cbr0)");
    expect(formatMac(vnic!.mac)).toMatch(/^00-15-5D-/);
    expect(world.a.compartment.listRoutes().map(formatRoute)).toEqual([
      "10.244.1.0/24 on-link on vEthernet (a_cbr0)",
      "0.0.0.0/0 via 10.244.1.2 on vEthernet (a_cbr0)",
    ]);
  });

  it("the host's leg brings a second default route that does not win (flannel-io/flannel#1763)", async () => {
    const world = await ownSubnet();
    const defaults = world.node.root.listRoutes().filter((route) => route.prefix.length === 0);
    expect(defaults.map(formatRoute)).toEqual([
      "0.0.0.0/0 via 10.0.0.1 on vEthernet (Ethernet)",
      "0.0.0.0/0 via 10.244.1.1 on vEthernet (cbr0_ep)",
    ]);
    expect(ask(world, world.node.root, "203.0.113.10", 9).answers).toEqual([]);
  });

  it("what is taken away is gone: port, interface, NAT blocks, compartment", async () => {
    const world = await ownSubnet();
    serve(world.outside.root, 53);
    ask(world, world.a.compartment, "203.0.113.10", 53);
    const [virtualSwitch] = world.datapath.listSwitches();
    expect(virtualSwitch?.portBlocks.usedCount).toBe(1);
    const portsBefore = virtualSwitch?.listPorts().length ?? 0;
    await removeNamespaceEndpoint(world.client, world.a.namespace, world.a.endpoint);
    expect(world.a.compartment.listInterfaces()).toEqual([]);
    expect(virtualSwitch?.portBlocks.usedCount).toBe(0);
    expect(virtualSwitch?.listPorts()).toHaveLength(portsBefore - 1);
    await deleteEndpoint(world.client, world.a.endpoint);
    await deleteNamespace(world.client, world.a.namespace);
    expect(world.node.getCompartment(world.a.compartment.id)).toBeUndefined();
  });

  it("a fork goes its own way", async () => {
    const world = await ownSubnet();
    serve(world.outside.root, 53);
    const { client: _client, ...state } = world;
    const copy = fork(state);
    const asker = new Asker();
    const socket = copy.a.compartment.udp.bind({ owner: asker });
    if (typeof socket === "string") throw new Error(socket);
    socket.send({ destination: ip("203.0.113.10"), port: 53, bytes: Uint8Array.of(1) });
    copy.clock.runUntil(5_000);
    expect(asker.answers).toEqual(["203.0.113.10:53"]);
    copy.service.delete("Endpoint", world.b.endpoint);
    expect(copy.service.enumerate("Endpoint")).toHaveLength(2);
    expect(world.service.enumerate("Endpoint")).toHaveLength(3);
    expect(world.datapath.listSwitches()[0]?.portBlocks.usedCount).toBe(0);
  });
});

describe("the node's-subnet shape", () => {
  async function nodeSubnet(
    policies: HostComputeEndpoint["Policies"] = [],
  ): Promise<World & { a: Pod; b: Pod }> {
    const world = new World();
    const network = await world.network("10.0.0.0/24", "10.0.0.1");
    const a = await world.pod(network, {
      Name: "a_azure",
      IpConfigurations: [{ IpAddress: "10.0.0.50" }],
      Policies: policies,
    });
    const b = await world.pod(network, { Name: "b_azure", IpConfigurations: [{ IpAddress: "10.0.0.51" }] });
    return Object.assign(world, { a, b });
  }

  it("DT-059 DT-060 on the wire the pod has the host's MAC, both ways", async () => {
    const world = await nodeSubnet();
    const echo = serve(world.outside.root, 53);
    expect(ask(world, world.a.compartment, "10.0.0.1", 53).answers).toEqual(["10.0.0.1:53"]);
    expect(echo.heard[0]).toMatch(/^10\.0\.0\.50:/);
    const [eth0] = world.outside.root.listInterfaces();
    expect(eth0?.neighbors.resolve(ip("10.0.0.50") as Ipv4, { nextHopSettled: () => {} })).toBe(HOST_MAC);
    const podEcho = serve(world.b.compartment, 80);
    expect(ask(world, world.outside.root, "10.0.0.51", 80).answers).toEqual(["10.0.0.51:80"]);
    expect(podEcho.heard[0]).toMatch(/^10\.0\.0\.1:/);
  });

  it("DT-061 pod to pod on one node stays inside with its own MAC", async () => {
    const world = await nodeSubnet();
    const echo = serve(world.b.compartment, 80);
    expect(ask(world, world.a.compartment, "10.0.0.51", 80).answers).toEqual(["10.0.0.51:80"]);
    expect(echo.heard[0]).toMatch(/^10\.0\.0\.50:/);
  });

  it("pod and node reach each other", async () => {
    const world = await nodeSubnet([
      { Type: "OutBoundNAT", Settings: {} },
      { Type: "SDNRoute", Settings: { DestinationPrefix: "10.0.0.11/32", NeedEncap: true } },
    ]);
    const nodeEcho = serve(world.node.root, 10250);
    expect(ask(world, world.a.compartment, "10.0.0.11", 10250).answers).toEqual(["10.0.0.11:10250"]);
    expect(nodeEcho.heard[0]).toMatch(/^10\.0\.0\.50:/);
    const podEcho = serve(world.a.compartment, 80);
    expect(ask(world, world.node.root, "10.0.0.50", 80).answers).toEqual(["10.0.0.50:80"]);
    expect(podEcho.heard[0]).toMatch(/^10\.0\.0\.11:/);
  });

  it("OutBoundNAT works here too", async () => {
    const world = await nodeSubnet([{ Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/24"] } }]);
    const echo = serve(world.outside.root, 53);
    expect(ask(world, world.a.compartment, "203.0.113.10", 53).answers).toEqual(["203.0.113.10:53"]);
    expect(echo.heard).toEqual(["10.0.0.11:49152"]);
  });
});

it("the MTU follows InterfaceParameters and EncapOverhead", async () => {
  const world = new World();
  const network = await world.network("10.244.1.0/24", "10.244.1.1");
  const pod = await world.pod(network, {
    Policies: [
      { Type: "InterfaceParameters", Settings: { Mtu: 1450 } },
      { Type: "EncapOverhead", Settings: { Overhead: 50 } },
    ],
  });
  const mtu = (): number | undefined => pod.compartment.listInterfaces()[0]?.mtuBytes;
  expect(mtu()).toBe(1400);
  const change = async (...policies: PolicyDocument[]): Promise<unknown> =>
    modifyEndpointPolicies(world.client, pod.endpoint, "Update", policies);
  await change({ Type: "InterfaceParameters", Settings: { Mtu: 1300 } });
  expect(mtu()).toBe(1300);
  await change();
  expect(mtu()).toBe(1500);
  expect(formatPrefix(pod.compartment.listRoutes()[0]!.prefix)).toBe("10.244.1.0/24");
});

it.each([
  [8, 5],
  [0, 15],
])(
  "an endpoint with the flags %i (8: EnableLowInterfaceMetric) has an interface of the metric %i",
  async (Flags, metric) => {
    const world = new World();
    const network = await world.network("10.244.1.0/24", "10.244.1.1");
    const { compartment } = await world.pod(network, { Flags });
    expect(compartment.listInterfaces().map((each) => each.metric)).toEqual([metric]);
  },
);

describe("a port that a program of the node listens on (F-56, quirk listener-blocks-front-end)", () => {
  it.each<[string, boolean]>([
    ["ws2019", true],
    ["ws2022", false],
  ])("%s: a mapping and a load balancer of it are refused: %s", async (profile, isRefused) => {
    const world = new World(profile);
    const network = await world.network("10.244.1.0/24", "10.244.1.1");
    serve(world.node.root, 5353);
    const mapping = {
      Type: "PortMapping",
      Settings: { Protocol: 17, InternalPort: 53, ExternalPort: 5353 },
    };
    const endpoint = (await createEndpoint(world.client, network, {})).ID;
    const calls = [
      async () => createEndpoint(world.client, network, { Policies: [mapping] }),
      async () =>
        createLoadBalancer(world.client, {
          HostComputeEndpoints: [endpoint],
          PortMappings: [{ Protocol: 17, InternalPort: 53, ExternalPort: 5353 }],
        }),
    ];
    const answers = await Promise.allSettled(calls.map(async (call) => call()));
    expect(answers.map(({ status }) => status)).toEqual(
      calls.map(() => (isRefused ? "rejected" : "fulfilled")),
    );
    for (const answer of answers)
      if (answer.status === "rejected")
        expect(answer.reason).toMatchObject({ code: "HCN_E_PORT_ALREADY_EXISTS" });
  });
});

/** Who reaches whom on each kind of switch (hcn.md §4.1, table of network types). */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import type { Environment } from "#core/base/environment.ts";
import { Prng } from "#core/base/prng.ts";
import { memoryPair } from "#dataplane/device/memory-pair.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
  deleteNetwork,
} from "#contracts/hcn/operations.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { Host } from "#dataplane/host/host.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "#dataplane/host/udp.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import { ANY_IPV4, formatIp, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { HnsService } from "../hns-service.ts";
import { InProcessHcnClient } from "../in-process-client.ts";
import { SwitchDatapath } from "../../ports/switch-datapath.ts";

const PORT = 7;

class Listener implements UdpOwner {
  readonly heard: string[] = [];

  udpReceived(_socket: UdpSocket, datagram: UdpDatagram): void {
    this.heard.push(formatIp(datagram.source));
  }

  udpFailed(): void {}
}

/** A Windows node w1 (10.0.0.11) on a cable with the machine 10.0.0.1. */
class World {
  readonly clock = new VirtualClock();
  readonly env: Environment = { clock: this.clock, prng: new Prng(7), recorder: undefined };
  readonly node = new Host(this.env, { name: "w1", os: "windows" });
  readonly peer = new Host(this.env, { name: "peer", os: "linux" });
  readonly client: InProcessHcnClient;

  constructor(profile = "ws2022") {
    const [nodeEnd, peerEnd] = memoryPair(this.clock, { delayMs: 0.1 });
    const mac = parseMac("00-22-48-00-00-11")!;
    const ethernet = this.node.root.addInterface({ name: "Ethernet", mac, device: nodeEnd });
    this.node.root.addAddress(ethernet, parseInterfaceAddress("10.0.0.11/24")!);
    this.node.root.addRoute({
      prefix: ANY_IPV4,
      nextHop: parseIp("10.0.0.1")!,
      interface: ethernet,
      metric: 256,
    });
    const eth0 = this.peer.root.addInterface({
      name: "eth0",
      mac: parseMac("00-22-48-00-00-01")!,
      device: peerEnd,
    });
    this.peer.root.addAddress(eth0, parseInterfaceAddress("10.0.0.1/24")!);
    const service = new HnsService(this.env, {
      node: "w1",
      windows: parseProfile(profile)!,
      datapath: new SwitchDatapath(this.env, this.node),
      adapters: [{ name: "Ethernet", mac, device: nodeEnd, addresses: [] }],
    });
    this.client = new InProcessHcnClient(service);
  }

  async network(document: HostComputeNetwork): Promise<string> {
    const network = await createNetwork(this.client, {
      SchemaVersion: { Major: 2, Minor: 0 },
      ...document,
    });
    return network.ID;
  }

  async pod(network: string, address: string): Promise<Compartment> {
    const endpoint = await createEndpoint(this.client, network, {
      Name: `pod-${address}`,
      IpConfigurations: [{ IpAddress: address, PrefixLength: 24 }],
    });
    const namespace = await createNamespace(this.client);
    await addNamespaceEndpoint(this.client, namespace.ID, endpoint.ID);
    return this.node.getCompartment(namespace.NamespaceId!)!;
  }

  /** Whether a datagram from one stack arrives at an address of another. */
  reaches(from: Compartment, to: Compartment, address: string): boolean {
    const listener = new Listener();
    const server = to.udp.bind({ port: PORT, owner: listener });
    const socket = from.udp.bind({ owner: new Listener() });
    if (typeof server === "string" || typeof socket === "string") throw new Error("a port is in use");
    socket.send({ destination: parseIp(address)!, port: PORT, bytes: new Uint8Array([1]) });
    this.clock.runUntil(this.clock.nowMs + 5_000);
    socket.close();
    server.close();
    return listener.heard.length > 0;
  }
}

const INTERNAL_SUBNET = {
  IpAddressPrefix: "10.11.0.0/24",
  Routes: [{ NextHop: "10.11.0.1", DestinationPrefix: "0.0.0.0/0" }],
} as const;

describe("who reaches whom", () => {
  it.each(["Internal", "NAT", "ICS"] as const)(
    "%s: the host is the gateway; host and endpoints reach each other, the wire does not come in",
    async (Type) => {
      const world = new World();
      const network = await world.network({
        Name: "n",
        Type,
        Ipams: [{ Type: "Static", Subnets: [INTERNAL_SUBNET] }],
      });
      const gateway = world.node.root.getInterface("vEthernet (n)");
      expect(gateway?.addresses).toEqual([{ ip: parseIp("10.11.0.1"), length: 24 }]);
      const [one, two] = [await world.pod(network, "10.11.0.10"), await world.pod(network, "10.11.0.11")];
      expect(world.reaches(one, two, "10.11.0.11")).toBe(true);
      expect(world.reaches(one, world.node.root, "10.11.0.1")).toBe(true);
      expect(world.reaches(world.node.root, one, "10.11.0.10")).toBe(true);
      expect(world.reaches(world.peer.root, one, "10.11.0.10")).toBe(false);
      await deleteNetwork(world.client, network);
      expect(world.node.root.getInterface("vEthernet (n)")).toBeUndefined();
      expect(world.node.root.getInterface("Ethernet")?.addresses).toHaveLength(1);
    },
  );

  it("Private: the endpoints alone", async () => {
    const world = new World();
    const network = await world.network({ Name: "n", Type: "Private" });
    const [one, two] = [await world.pod(network, "10.12.0.10"), await world.pod(network, "10.12.0.11")];
    expect(world.node.root.getInterface("vEthernet (n)")).toBeUndefined();
    expect(world.reaches(one, two, "10.12.0.11")).toBe(true);
    expect(world.reaches(one, world.node.root, "10.0.0.11")).toBe(false);
    expect(world.reaches(world.node.root, one, "10.12.0.10")).toBe(false);
  });

  it("Transparent: endpoints are on the wire with their own MAC", async () => {
    const world = new World();
    const network = await world.network({ Name: "n", Type: "Transparent" });
    const pod = await world.pod(network, "10.0.0.20");
    expect(world.node.root.getInterface("vEthernet (Ethernet)")?.addresses).toHaveLength(1);
    expect(world.reaches(pod, world.peer.root, "10.0.0.1")).toBe(true);
    expect(world.reaches(world.peer.root, pod, "10.0.0.20")).toBe(true);
    expect(world.reaches(pod, world.node.root, "10.0.0.11")).toBe(true);
    const [eth0] = world.peer.root.listInterfaces();
    expect(eth0?.neighbors.list().map((neighbor) => formatIp(neighbor.ip))).toContain("10.0.0.20");
  });

  it("DisableHostPort: the node has no address on the adapter until the switch goes", async () => {
    const world = new World("ws2025");
    const routes = (): number => world.node.root.listRoutes().length;
    const before = routes();
    const network = await world.network({ Name: "n", Type: "Transparent", Flags: 1024 });
    const pod = await world.pod(network, "10.0.0.20");
    expect(world.node.root.listInterfaces().map(({ name }) => name)).not.toContain("vEthernet (Ethernet)");
    expect(world.reaches(world.peer.root, world.node.root, "10.0.0.11")).toBe(false);
    expect(world.reaches(world.peer.root, pod, "10.0.0.20")).toBe(true);
    await deleteNetwork(world.client, network);
    expect(world.reaches(world.peer.root, world.node.root, "10.0.0.11")).toBe(true);
    expect(routes()).toBe(before);
  });

  it("ICS: the host has the gateway of a subnet that comes later, and loses it with the subnet", async () => {
    const world = new World();
    const network = await world.network({ Name: "n", Type: "ICS" });
    const second = {
      IpAddressPrefix: "10.12.0.0/24",
      Routes: [{ NextHop: "10.12.0.1", DestinationPrefix: "0.0.0.0/0" }],
    };
    const change = async (RequestType: string): Promise<void> =>
      world.client.modify("Network", network, {
        ResourceType: "Subnet",
        RequestType,
        Settings: { Subnets: [second] },
      });
    await change("Add");
    const pod = await world.pod(network, "10.12.0.9");
    expect(world.reaches(pod, world.node.root, "10.12.0.1")).toBe(true);
    const [endpoint] = await world.client.enumerate("Endpoint");
    await world.client.delete("Endpoint", endpoint!);
    await change("Remove");
    expect(world.node.root.getInterface("vEthernet (n)")?.addresses).toHaveLength(1);
  });

  it("LayerConstraint: two Internal networks on one switch, each with its gateway on the host", async () => {
    const world = new World();
    const subnet = (net: string): HostComputeNetwork["Ipams"] & object => [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: `${net}.0/24`,
            Routes: [{ NextHop: `${net}.1`, DestinationPrefix: "0.0.0.0/0" }],
          },
        ],
      },
    ];
    const first = await world.network({ Name: "one", Type: "Internal", Ipams: subnet("10.11.0") });
    const shown = await world.client.query("Network", first, { SchemaVersion: { Major: 1, Minor: 0 } });
    const Policies = [{ Type: "LayerConstraint", Settings: { LayerId: shown["LayeredOn"] ?? null } }];
    const second = await world.network({
      Name: "two",
      Type: "Internal",
      Ipams: subnet("10.12.0"),
      Policies,
    });
    const pod = await world.pod(second, "10.12.0.9");
    expect(world.reaches(pod, world.node.root, "10.12.0.1")).toBe(true);
    expect(world.node.root.getInterface("vEthernet (one)")?.addresses).toHaveLength(2);
    await deleteNetwork(world.client, first);
    expect(world.node.root.getInterface("vEthernet (one)")?.addresses).toHaveLength(1);
    expect(world.reaches(pod, world.node.root, "10.12.0.1")).toBe(true);
    await deleteNetwork(world.client, second);
    expect(world.node.root.getInterface("vEthernet (one)")).toBeUndefined();
  });
});

// IPv6 of an L2Bridge node with two families, whole stacks on both ends (dataplane.md §2.11, §2.16, §2.2.3;, F-43).
import { beforeEach, describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { createEndpoint, createLoadBalancer } from "#contracts/hcn/operations.ts";
import { type DriverPod, DriverWorld } from "#test/support/dataplane/driver-world.ts";

const SUBNETS = [
  { IpAddressPrefix: "10.0.0.0/24", Routes: [{ NextHop: "10.0.0.1", DestinationPrefix: "0.0.0.0/0" }] },
  { IpAddressPrefix: "fd00:10::/64", Routes: [{ NextHop: "fd00:10::1", DestinationPrefix: "::/0" }] },
];
const [NODE, NODE6, A6, X6, V6] = [
  "10.0.0.11",
  "fd00:10::11",
  "fd00:10::a",
  "2001:db8::cb00:710a",
  "fd00:96::50",
];
const SCHEMA = { Major: 2, Minor: 0 };

let world: DriverWorld;
let network: string;
let a: DriverPod;

/** LocalRoutedVip, and with IPv6: what clients add for pods with two addresses (hcn.md §3.3). */
function hostPort(Flags: number): PolicyDocument {
  return { Type: "PortMapping", Settings: { Protocol: 6, InternalPort: 8080, ExternalPort: 9090, Flags } };
}

beforeEach(async () => {
  world = new DriverWorld({ profile: "ws2025", hasIpv6: true });
  network = await world.network("L2Bridge", undefined, { Ipams: [{ Type: "Static", Subnets: SUBNETS }] });
  a = await world.pod("A", network, {
    IpConfigurations: [{ IpAddress: "10.0.0.70" }, { IpAddress: A6 }],
    Policies: [{ Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/24"] } }, hostPort(1), hostPort(3)],
  });
  world.name(A6, "A6");
  world.name(V6, "V6");
  world.serve(a.compartment, "tcp", 8080);
  world.serve(world.neighbour.root, "tcp", 8080);
  world.x.serve("tcp", 443);
  world.run();
});

describe("a pod's own connections", () => {
  it("WALK-6-2 to another machine of the subnet: the host's MAC on the wire, and the answer finds the pod", () => {
    expect(world.walk(a.compartment, "tcp", "fd00:10::12", 8080)).toEqual([
      "send A | Am→W2m | A6→W2v6 | p→8080 | 128",
      "wire | W1m→W2m | A6→W2v6 | p→8080 | 128",
      "deliver W2 | W1m→W2m | A6→W2v6 | p→8080 | 128",
      "reply send W2 | W2m→W1m | W2v6→A6 | 8080→p | 64",
      "reply wire | W2m→W1m | W2v6→A6 | 8080→p | 64",
      "reply deliver A | W2m→Am | W2v6→A6 | 8080→p | 64",
    ]);
  });

  it("WALK-6-4 DT-169 to the outside: the pod's own address, which the fabric leads back", () => {
    const answer = world.ask(a.compartment, "tcp", X6, 443);
    expect(answer).toMatchObject({ outcome: "answered" });
    expect(JSON.stringify(answer)).toContain(A6);
  });
});

describe("host ports of IPv6", () => {
  it("WALK-6-8 DT-127 F-43 others reach both, the node its IPv4 one alone (ipv6-host-port-from-node)", () => {
    for (const address of [NODE, NODE6])
      expect(world.ask(world.x.compartment, "tcp", address, 9090)).toMatchObject({ outcome: "answered" });
    expect(world.ask(world.node.root, "tcp", NODE, 9090)).toMatchObject({ outcome: "answered" });
    const { codes } = world.follow(world.node.root, "tcp", NODE6, 9090);
    expect(codes[0]).toBe("ipv6-host-port-from-node");
  });

  it("F-43 off: the node reaches it, too", async () => {
    world.service.setQuirk("ipv6-port-mapping-from-node", "off");
    const b = await world.pod("B", network, {
      IpConfigurations: [{ IpAddress: "10.0.0.71" }, { IpAddress: "fd00:10::b" }],
      Policies: [{ ...hostPort(3), Settings: { ...hostPort(3).Settings, ExternalPort: 9292 } }],
    });
    world.serve(b.compartment, "tcp", 8080);
    world.run();
    expect(world.ask(world.node.root, "tcp", NODE6, 9292)).toMatchObject({ outcome: "answered" });
  });

  it("a mapping without an address takes the node's of its family (HCN-083)", async () => {
    const made = await createEndpoint(world.client, network, {
      IpConfigurations: [{ IpAddress: "10.0.0.99" }, { IpAddress: "fd00:10::99" }],
      Policies: [{ ...hostPort(2), Settings: { ...hostPort(2).Settings, ExternalPort: 9191 } }],
    });
    expect(JSON.stringify(made.Policies)).toContain(`"VIP":"${NODE6}"`);
  });
});

describe("load balancers of IPv6 on the host's port", () => {
  async function balance(flags: number, vips: readonly string[]): Promise<void> {
    await createLoadBalancer(world.client, {
      HostComputeEndpoints: [a.endpoint],
      ...(vips.length > 0 && { FrontendVIPs: [...vips] }),
      PortMappings: [{ Protocol: 6, ExternalPort: 3000, InternalPort: 8080 }],
      Flags: flags,
      SchemaVersion: SCHEMA,
    });
  }

  it.each([
    ["DSR", 3, A6],
    ["without DSR", 2, NODE6],
  ])("%s: the node reaches a front end of its pod (DT-168)", async (_name, flags) => {
    await balance(flags, [V6]);
    expect(world.ask(world.node.root, "tcp", V6, 3000)).toMatchObject({ outcome: "answered" });
  });

  it.each([
    ["DSR keeps the client's address", 3, X6],
    ["without DSR the back end sees the node", 2, NODE6],
  ])("a node port from outside: %s (dataplane.md §3.3, §3.5)", async (_name, flags, seen) => {
    await balance(flags, []);
    const answer = world.ask(world.x.compartment, "tcp", NODE6, 3000);
    expect(answer).toMatchObject({ outcome: "answered" });
    expect(JSON.stringify(answer)).toContain(seen);
    // Nobody opened the port of the other family.
    expect(world.ask(world.x.compartment, "tcp", NODE, 3000).outcome).not.toBe("answered");
  });

  it("both families have the same node port at once, and each goes alone (kube-proxy.md §3.11)", async () => {
    await balance(3, []);
    await balance(1, []);
    for (const address of [NODE, NODE6])
      for (const from of [world.x.compartment, world.node.root])
        expect(world.ask(from, "tcp", address, 3000)).toMatchObject({ outcome: "answered" });
  });
});

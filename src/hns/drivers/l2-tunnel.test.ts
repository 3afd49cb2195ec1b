/** The L2Tunnel driver: what stays on the node with L2Bridge goes by the fabric (dataplane.md §2.5, rows of §10). */
import { describe, expect, it } from "vitest";
import { formatMac } from "#core/net/mac.ts";
import { hostPrefix } from "#core/net/ip.ts";
import { createLoadBalancerOnly } from "#contracts/hcn/operations.ts";
import { type DriverPod, DriverWorld, ip } from "#test/support/dataplane/driver-world.ts";

async function tunnelWorld(): Promise<{ world: DriverWorld; network: string; a: DriverPod; b: DriverPod }> {
  const world = new DriverWorld({ fabricAddresses: ["10.0.0.50", "10.0.0.51"] });
  const network = await world.network("L2Tunnel", { prefix: "10.0.0.0/24", gateway: "10.0.0.1" });
  const a = await world.pod("A", network, { IpConfigurations: [{ IpAddress: "10.0.0.50" }] });
  const b = await world.pod("B", network, { IpConfigurations: [{ IpAddress: "10.0.0.51" }] });
  return { world, network, a, b };
}

describe("pod to pod on one node", () => {
  it("WALK-L2T DT-067 DT-174: out to the physical host's switch and back, both ways, TTL untouched", async () => {
    const { world, a, b } = await tunnelWorld();
    world.serve(b.compartment, "tcp", 8080);
    expect(world.walk(a.compartment, "tcp", "10.0.0.51", 8080)).toEqual([
      "send A | Am→gw | A→B | p→8080 | 128",
      "wire | gw→W1m | A→B | p→8080 | 128",
      "deliver B | gw→Bm | A→B | p→8080 | 128",
      "reply send B | Bm→gw | B→A | 8080→p | 128",
      "reply wire | gw→W1m | B→A | 8080→p | 128",
      "reply deliver A | gw→Am | B→A | 8080→p | 128",
    ]);
  });

  it("WALK-L2T row 2: on the wire the pod has the node's MAC", async () => {
    const { world, a, b } = await tunnelWorld();
    world.serve(b.compartment, "udp", 8080);
    expect(world.uplinkRows(() => world.ask(a.compartment, "udp", "10.0.0.51", 8080))).toContain(
      "W1m→gw | A→B | p→8080 | 128",
    );
  });

  it("DT-068: a rule of the fabric denies it: no answer", async () => {
    const { world, a, b } = await tunnelWorld();
    world.serve(b.compartment, "tcp", 8080);
    world.denials.push({ from: hostPrefix(ip("10.0.0.50")), to: hostPrefix(ip("10.0.0.51")) });
    expect(world.follow(a.compartment, "tcp", "10.0.0.51", 8080).codes).toContain("fabric-acl-denied");
    expect(world.ask(a.compartment, "tcp", "10.0.0.51", 8080)).toMatchObject({ outcome: "timed-out" });
    expect(world.fabric.drops.get("fabric-acl-denied")).toBeGreaterThan(1);
  });

  it("DT-069: ARP for the gateway, and for a neighbour, is answered with 12-34-56-78-9a-bc", async () => {
    const { a, world } = await tunnelWorld();
    for (const address of ["10.0.0.1", "10.0.0.51"]) {
      world.ask(a.compartment, "icmp", address);
      const [nic] = a.compartment.listInterfaces();
      const mac = nic!.neighbors.resolve(ip(address), { nextHopSettled: () => {} });
      expect(typeof mac === "string" ? mac : formatMac(mac).toLowerCase()).toBe("12-34-56-78-9a-bc");
    }
  });
});

it("the outside, another machine and the node itself are reached over the fabric, too", async () => {
  const { world, a } = await tunnelWorld();
  world.x.serve("udp", 53);
  world.serve(world.neighbour.root, "udp", 53);
  world.serve(world.node.root, "udp", 53);
  for (const address of ["10.0.0.12", "10.0.0.11"])
    expect(world.ask(a.compartment, "udp", address, 53)).toMatchObject({
      answer: expect.stringContaining("saw 10.0.0.50:") as string,
    });
  expect(world.ask(world.neighbour.root, "icmp", "10.0.0.50")).toMatchObject({ outcome: "answered" });
  expect(world.uplinkRows(() => world.ask(a.compartment, "udp", "10.0.0.11", 53))).toContain(
    "W1m→gw | A→W1 | p→53 | 128",
  );
});

it("OutBoundNAT has the node's address on the way out", async () => {
  const { world, network } = await tunnelWorld();
  const pod = await world.pod("C", network, {
    IpConfigurations: [{ IpAddress: "10.0.0.52" }],
    Policies: [{ Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/24"] } }],
  });
  world.x.serve("udp", 53);
  expect(world.ask(pod.compartment, "udp", "203.0.113.10", 53)).toMatchObject({
    answer: expect.stringContaining("saw 10.0.0.11:") as string,
  });
});

it("a Service without DSR is the node's to translate: a route with NeedEncap leads over the host", async () => {
  const { world, network, b } = await tunnelWorld();
  const Settings = { DestinationPrefix: "10.96.0.0/12", NeedEncap: true };
  const client = await world.pod("C", network, {
    IpConfigurations: [{ IpAddress: "10.0.0.52" }],
    Policies: [{ Type: "SDNRoute", Settings }],
  });
  await createLoadBalancerOnly(world.client, {
    HostComputeEndpoints: [b.endpoint],
    FrontendVIPs: ["10.96.0.50"],
    PortMappings: [{ Protocol: 17, ExternalPort: 80, InternalPort: 8080 }],
    SchemaVersion: { Major: 2, Minor: 0 },
  });
  world.serve(b.compartment, "udp", 8080);
  // dataplane.md §2.4 B-4: the back end sees the node.
  expect(world.ask(client.compartment, "udp", "10.96.0.50", 80)).toMatchObject({
    answer: expect.stringContaining("saw 10.0.0.11:") as string,
  });
});

it("health data say nothing of the type any more", async () => {
  const { world, network } = await tunnelWorld();
  expect(await world.client.query("Network", network)).not.toHaveProperty("Health.NotEnforced");
});

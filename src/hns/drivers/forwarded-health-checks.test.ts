/**
 * A cloud's load balancer asks a node for its health at the address of a Service, and the node itself is the back end
 * (kube-proxy.md §5.4, row KP-F6; kubernetes/kubernetes#99287).
 */
import { describe, expect, it } from "vitest";
import { createEndpoint, createLoadBalancerOnly } from "#contracts/hcn/operations.ts";
import { HOST_ATTACH, attachHnsEndpoint } from "#contracts/hcn/v1-operations.ts";
import { defined } from "#core/base/assert.ts";
import { parsePrefix } from "#core/net/ip.ts";
import { DriverWorld, ip } from "#test/support/dataplane/driver-world.ts";

const CHECK_PORT = 32_000;
const FIRST = "11.21.31.41";
const SECOND = "11.21.31.42";
const NODE = "10.0.0.11";
const LEG = "10.244.1.2";

interface Options {
  readonly forwards?: boolean;
  readonly protocol?: number;
}

/** A node with a leg `cbr0` in its pods' network, and what kube-proxy makes for two addresses of a Service. */
async function nodeWithChecks({ forwards = true, protocol = 6 }: Options = {}): Promise<DriverWorld> {
  const world = new DriverWorld();
  const network = await world.network("L2Bridge", { prefix: "10.244.1.0/24", gateway: "10.244.1.1" });
  const leg = await createEndpoint(world.client, network, {
    Name: "cbr0",
    IpConfigurations: [{ IpAddress: LEG }],
  });
  await attachHnsEndpoint(world.client, leg.ID ?? "", HOST_ATTACH);
  for (const each of world.node.root.listInterfaces()) each.isForwarding = forwards;
  for (const vip of [FIRST, SECOND]) {
    await createLoadBalancerOnly(world.client, {
      HostComputeEndpoints: [leg.ID ?? ""],
      FrontendVIPs: [vip],
      PortMappings: [{ Protocol: protocol, InternalPort: CHECK_PORT, ExternalPort: CHECK_PORT }],
    });
    const prefix = defined(parsePrefix(`${vip}/32`), "a prefix");
    world.underlay.router.addRoute({ prefix, nextHop: ip(NODE) });
  }
  world.name(FIRST, "VIP");
  return world;
}

/** Packets on the node's cable meanwhile, without their frames. */
function onTheWire(world: DriverWorld, work: () => unknown): readonly string[] {
  return world.uplinkRows(work).filter((row) => row.includes(" | "));
}

describe("a forwarded health check", () => {
  it("KP-F6: the prober is answered by the address that it asked, and the node sees the prober", async () => {
    const world = await nodeWithChecks();
    const server = world.serve(world.node.root, "tcp", CHECK_PORT);
    for (const vip of [FIRST, SECOND]) {
      const result = world.ask(world.e.compartment, "tcp", vip, CHECK_PORT);
      expect(result.outcome === "answered" ? result.answer : "").toContain(" saw 198.51.100.7:");
    }
    expect(server.answeredCount).toBe(2);
  });

  it("KP-F6: nothing but the Service's address is seen outside the node", async () => {
    const world = await nodeWithChecks();
    world.serve(world.node.root, "tcp", CHECK_PORT);
    const rows = onTheWire(world, () => world.ask(world.e.compartment, "tcp", FIRST, CHECK_PORT));
    expect(rows.length).toBeGreaterThan(2);
    for (const row of rows) expect(row).toContain("VIP→E");
  });

  it("KP-F6: without a server the node refuses, in the name of the Service's address", async () => {
    const world = await nodeWithChecks();
    const rows = onTheWire(world, () => {
      expect(world.ask(world.e.compartment, "tcp", FIRST, CHECK_PORT).outcome).toBe("refused");
    });
    for (const row of rows) expect(row).toContain("VIP→E");
  });

  it("KP-F25: of a UDP Service datagrams are forwarded", async () => {
    const world = await nodeWithChecks({ protocol: 17 });
    world.serve(world.node.root, "udp", CHECK_PORT);
    expect(world.ask(world.e.compartment, "udp", FIRST, CHECK_PORT)).toMatchObject({ outcome: "answered" });
  });

  it("KP-F6: a node that does not forward takes nothing for the leg's address at its adapter", async () => {
    const world = await nodeWithChecks({ forwards: false });
    world.serve(world.node.root, "tcp", CHECK_PORT);
    const { codes } = world.follow(world.e.compartment, "tcp", FIRST, CHECK_PORT);
    expect(codes).toContain("destination-not-local");
  });

  it("KP-F6: its rules are on the host's port, named as those of a back end's, and marked as inferred", async () => {
    const world = await nodeWithChecks();
    const [bridge] = world.datapath.listSwitches();
    const groups = bridge?.hostPort?.vfp.getLayer("SLB_LB_LAYER")?.groups ?? [];
    const rules = groups.flatMap((group) =>
      group.rules.map(({ name, inferred }) => [
        group.name,
        name.replace(/_[0-9A-F]{5}_/, "_<h>_"),
        inferred !== undefined,
      ]),
    );
    expect(rules).toEqual(
      [FIRST, SECOND].map((vip) => ["SLB_GROUP_NAT_IPv4_IN", `NAT_<h>_${vip}_${CHECK_PORT}_6`, true]),
    );
  });
});

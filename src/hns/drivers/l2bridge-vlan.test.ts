/** VLANs on L2Bridge networks: ports in access mode, the uplink a trunk (hcn.md §3.2, §3.3). */
import { describe, expect, it } from "vitest";
import { modifyEndpointPolicies } from "#contracts/hcn/operations.ts";
import { ROUTER_MAC } from "#dataplane/fabric/underlay.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { type DriverPod, DriverWorld, ip } from "#test/support/dataplane/driver-world.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import { pushVlan } from "#core/wire/vlan.ts";

const vlan = (IsolationId: number): { Type: string; Settings: { IsolationId: number } } => ({
  Type: "VLAN",
  Settings: { IsolationId },
});

/** A network in VLAN 7 with two pods. */
async function taggedBridge(): Promise<{ world: DriverWorld; network: string; a: DriverPod; b: DriverPod }> {
  const world = new DriverWorld();
  const network = await world.network("L2Bridge", undefined, {
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: "10.0.0.0/24",
            Routes: [{ NextHop: "10.0.0.1", DestinationPrefix: "0.0.0.0/0" }],
            Policies: [vlan(7)],
          },
        ],
      },
    ],
  });
  const a = await world.pod("A", network, { IpConfigurations: [{ IpAddress: "10.0.0.50" }] });
  const b = await world.pod("B", network, { IpConfigurations: [{ IpAddress: "10.0.0.51" }] });
  return { world, network, a, b };
}

describe("an L2Bridge network in VLAN 7", () => {
  it("pods of the VLAN reach each other, untagged; on the wire frames carry the host's MAC and the tag", async () => {
    const { world, a, b } = await taggedBridge();
    world.serve(b.compartment, "udp", 53);
    expect(world.walk(a.compartment, "udp", "10.0.0.51", 53)[0]).toBe("send A | Am→Bm | A→B | p→53 | 128");
    const rows = world.uplinkRows(() => world.ask(a.compartment, "udp", "203.0.113.10", 53));
    expect(rows[0]).toBe("W1m→all vlan 7");
  });

  it("the node is outside of it, both ways, and says why", async () => {
    const { world, a } = await taggedBridge();
    expect(world.ask(a.compartment, "icmp", "10.0.0.11").outcome).toBe("unreachable");
    expect(world.ask(world.node.root, "icmp", "10.0.0.50").outcome).toBe("unreachable");
    expect(world.dropsOf("vlan-not-allowed")).toBeGreaterThan(1);
  });

  it("a tagged frame from the wire comes to the pod that it is for, by address, without its tag", async () => {
    const { world, a } = await taggedBridge();
    const heard: string[] = [];
    const owner = {
      udpReceived: (_socket: unknown, { source }: { source: Ip }) => heard.push(formatIp(source)),
      udpFailed: () => {},
    };
    a.compartment.udp.bind({ owner, port: 53 });
    const bridge = world.datapath.listSwitches()[0]!;
    const arrive = (tag: number): void => {
      const packet = buildUdpFrame({
        link: { sourceMac: ROUTER_MAC, destinationMac: bridge.hostPort!.mac },
        ip: {
          source: ip("203.0.113.10"),
          destination: ip("10.0.0.50"),
          ttl: 64,
          identification: 1,
          isDontFragment: true,
        },
        udp: { sourcePort: 5_000, destinationPort: 53 },
        payload: new Uint8Array(4),
      });
      if (tag !== 0) pushVlan(packet, { id: tag });
      bridge.handleFrame(bridge.externalPort!, packet);
      world.run(10);
    };
    arrive(7);
    expect(heard).toEqual(["203.0.113.10"]);
    arrive(0);
    expect(heard).toHaveLength(1);
    expect(world.dropsOf("vlan-not-allowed")).toBe(1);
    // A VLAN of nobody here: the frame goes on with its tag, and nobody takes it.
    arrive(8);
    expect(heard).toHaveLength(1);
  });

  it("an endpoint's own VLAN goes before that of its subnet, and a change holds at once", async () => {
    const { world, network, a, b } = await taggedBridge();
    expect(world.ask(a.compartment, "icmp", "10.0.0.51").outcome).toBe("answered");
    await modifyEndpointPolicies(world.client, b.endpoint, "Add", [vlan(9)]);
    expect(world.ask(a.compartment, "icmp", "10.0.0.51").outcome).toBe("timed-out");
    const rows = world.uplinkRows(() => world.ask(b.compartment, "icmp", "10.0.0.99"));
    expect(rows[0]).toBe("W1m→all vlan 9");
    await modifyEndpointPolicies(world.client, b.endpoint, "Remove", [vlan(9)]);
    expect(world.ask(a.compartment, "icmp", "10.0.0.51").outcome).toBe("answered");
    for (const [kind, id] of [
      ["Network", network],
      ["Endpoint", b.endpoint],
    ] as const)
      expect(await world.client.query(kind, id)).not.toHaveProperty("Health.NotEnforced");
  });
});

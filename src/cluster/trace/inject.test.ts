// A packet that is injected is remembered: flows, counters and drops of the cluster itself (pktmon, vfpctrl).
import { beforeEach, describe, expect, it } from "vitest";
import type { ControlClient } from "../api/client.ts";
import { openInspectionClient } from "#test/support/cluster/inspection-client.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: inject }
underlay: { subnet: 10.0.0.0/24, router: 10.0.0.1 }
outside:
  - { name: client, address: 198.51.100.7, ports: [{ port: 443 }] }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
network: { plugin: win-bridge, routes: static }
pods:
  - { name: a, node: win-1, address: 10.244.1.10 }
  - name: b
    node: win-1
    address: 10.244.1.11
    ports: [{ port: 8080 }]
    policies:
      - { Type: ACL, Settings: { Action: Block, Direction: In, Protocols: "6", Priority: 100, RuleType: Switch } }
`;

let client: ControlClient;
beforeEach(async () => {
  client = await openInspectionClient(CLUSTER);
});

const OUT = { from: "pod/a", to: "198.51.100.7", protocol: "tcp", port: 443 } as const;

async function pictureOfA(): Promise<unknown> {
  return [await client.vfpPort("pod/a"), await client.packetCounters()];
}

describe("mullion trace --inject", () => {
  it("a plain trace leaves nothing behind, and neither does looking", async () => {
    const before = await pictureOfA();
    await client.trace(OUT);
    expect(await pictureOfA()).toEqual(before);
  });

  it("leaves flows in both directions, a port of the node, and counters", async () => {
    const { report } = await client.trace({ ...OUT, inject: true });
    expect(report.verdict).toBe("answered");
    const { listing } = await client.vfpPort("pod/a");
    const tcp = listing.flows.filter((flow) => flow.protocol === 6);
    expect(tcp.map(({ direction }) => direction).toSorted()).toEqual(["IN", "OUT"]);
    const out = tcp.find(({ direction }) => direction === "OUT");
    expect(out).toMatchObject({
      source: "10.244.1.10",
      destination: "198.51.100.7",
      destinationPort: 443,
      ttl: 240,
    });
    expect(out?.transposition.ipHeader).toMatch(/^Modify\(SrcIp 10\.0\.0\.11, /);
    // Blocks of 64 ports (dataplane.md §1.8).
    expect(listing.natRanges.map(({ first, last, used }) => [last - first + 1, used])).toEqual([[64, 1]]);
    // The first one waited for the router's MAC, and came to the port again.
    expect(listing.counters.out.pendingPackets).toBe(1);
    expect(listing.counters.out.synPackets).toBe(2);
    expect(listing.counters.in.synAckPackets).toBe(1);
    const snat = listing.layers
      .flatMap((layer) => layer.groups.flatMap((group) => group.rules))
      .find((rule) => rule.name.startsWith("SNAT_TCP_"));
    expect(snat?.counters?.matchedPackets).toBeGreaterThan(0);
  });

  it("a drop is counted where it happened, with Hyper-V's word and our code", async () => {
    const question = { from: "pod/a", to: "pod/b", protocol: "tcp", port: 8080, inject: true } as const;
    expect((await client.trace(question)).report.code).toBe("acl-rule-blocked");
    const { items } = await client.packetCounters("win-1");
    const drops = items.flatMap(({ components }) =>
      components.flatMap((component) =>
        component.drops.map((drop) => ({ ...drop, driver: component.driver })),
      ),
    );
    expect(drops).toContainEqual(
      expect.objectContaining({
        driver: "vfpext.sys",
        direction: "inbound",
        reason: "FailedSecurityPolicy",
        location: "0xE0006096",
        code: "acl-rule-blocked",
      }),
    );
    const { items: ports } = await client.vfpPorts("win-1");
    const [b] = ports.filter(({ addresses }) => addresses.includes("10.244.1.11"));
    expect(b?.egressDrops[0]).toMatchObject({ reason: "FailedSecurityPolicy", code: "acl-rule-blocked" });
    expect((await client.vfpPort("pod/b")).listing.counters.in.droppedAcl).toBe(b?.egressDrops[0]?.packets);
  });
});

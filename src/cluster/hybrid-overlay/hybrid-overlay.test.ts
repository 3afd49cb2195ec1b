// A cluster with ovn-kubernetes' hybrid overlay, by packets on the wire (control-planes.md §4.1).
import { beforeAll, describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { getNetworkByName, listNetworks, modifyNetworkPolicies } from "#contracts/hcn/operations.ts";
import {
  MAC,
  NETWORK,
  PREFIX,
  annotationsOf,
  ask,
  clientOf,
  dropsOf,
  file,
  node,
  settingsOf,
  textOf,
  troublesOf,
  tunnelsOf,
  waysOf,
} from "#test/support/cluster/hybrid-overlay-world.ts";
import { type SessionWorld, apply, openSessionWorld } from "#test/support/cluster/session-world.ts";

describe("a cluster with the hybrid overlay", () => {
  let world: SessionWorld;
  beforeAll(async () => {
    world = await openSessionWorld(file());
  });

  it("has no troubles, and notes nothing", () => {
    expect(troublesOf(world)).toEqual([]);
    expect(world.begun.notes).toEqual([]);
  });

  it("has nodes that say where their pods are", async () => {
    expect(annotationsOf(world, "linux-1")).toMatchObject({
      "k8s.ovn.org/node-subnets": '{"default":["10.128.0.0/23"]}',
      [`${PREFIX}-distributed-router-gateway-ip`]: "10.128.0.3",
      [MAC]: "0a:58:0a:80:00:03",
    });
    const [router] = await settingsOf(world, "win-1", "DrMacAddress");
    expect(annotationsOf(world, "win-1")).toMatchObject({
      [`${PREFIX}-node-subnet`]: "10.132.0.0/24",
      [MAC]: router?.["Address"],
    });
  });

  it("makes both networks as ovn-kubernetes does (CP-O1)", async () => {
    const networks = await listNetworks(clientOf(world, "win-1"));
    const rows = networks.map(({ Name, Type, Flags = 0, Ipams = [] }) => {
      const subnet = Ipams[0]?.Subnets?.[0];
      const vsid = subnet?.Policies?.find((each) => each.Type === "VSID")?.Settings?.["IsolationId"];
      return [Name, Type, (Flags & 8) !== 0, subnet?.IpAddressPrefix, subnet?.Routes?.[0]?.NextHop, vsid];
    });
    expect(rows).toEqual([
      ["BaseOVNKubernetesHybridOverlayNetwork", "Overlay", false, "100.64.0.0/30", "100.64.0.2", 4098],
      [NETWORK, "Overlay", true, "10.132.0.0/24", "10.132.0.1", 4097],
    ]);
  });

  it("leads Windows nodes to all others", async () => {
    const [router] = await settingsOf(world, "win-2", "DrMacAddress");
    const mac = textOf(router?.["Address"]).toLowerCase().replaceAll("-", ":");
    expect(await waysOf(world, "win-1")).toEqual([
      "10.128.0.0/23 10.0.0.21 4097 0a:58:0a:80:00:03",
      "10.128.2.0/23 10.0.0.22 4097 0a:58:0a:80:02:03",
      `10.132.1.0/24 10.0.0.12 4097 ${mac}`,
    ]);
  });

  it.each([
    ["pod/a", "pod/b", "b saw 10.132.0.3"],
    ["pod/a", "pod/c", "c saw 10.132.0.3"],
    ["pod/c", "pod/a", "a saw 10.128.0.4"],
    ["pod/c", "pod/d", "d saw 10.128.0.4"],
    // The host sends by ovn-k8s-mp0, which has .2.
    ["node/linux-1", "pod/a", "a saw 10.128.0.2"],
  ])("%s reaches %s: %s", (from, to, answer) => {
    expect(ask(world, from, to)).toBe(answer);
    expect(ask(world, from, to, "icmp")).toBe("answered");
  });

  it("has frames on the wire with VNI 4097, to the MAC address of the other node's router", () => {
    const [there, back] = tunnelsOf(world, "pod/a", "pod/c");
    expect(there).toBe("4789 4097 0A-58-0A-80-00-03");
    expect(back).toMatch(/^4789 4097 00-15-5D-/);
  });
});

it("has no network on Server 2019 with another UDP port (CP-O5)", async () => {
  const world = await openSessionWorld(file(", vxlanPort: 9898", "ws2019"));
  expect(troublesOf(world)).toContain("win-1 hybrid-overlay-port-unsupported");
  expect(await listNetworks(clientOf(world, "win-1"))).toEqual([]);
});

it("has no tunnel to a node without the annotation, and takes away the one before (CP-O3)", async () => {
  const world = await openSessionWorld(file());
  const before = await waysOf(world, "win-1");
  await apply(world, node("linux-1", { [MAC]: "nothing" }));
  const after = await waysOf(world, "win-1");
  expect(after).toEqual(before.filter((way) => !way.startsWith("10.128.0.0/23")));
  expect(ask(world, "pod/a", "pod/c")).not.toContain("saw");
});

it("takes OVN's range of a Linux node before that of the hybrid overlay (CP-O4)", async () => {
  const annotations = {
    "k8s.ovn.org/node-subnets": '{"default":"10.128.0.0/23"}',
    [`${PREFIX}-node-subnet`]: "10.131.0.0/23",
  };
  const world = await openSessionWorld(file(), node("linux-1", annotations));
  expect((await waysOf(world, "win-1"))[0]).toMatch(/^10\.128\.0\.0\/23 /);
});

it("begins anew with a network that is there: all ways to others are taken away first (CP-O2)", async () => {
  const world = await openSessionWorld(file());
  const client = clientOf(world, "win-1");
  const before = await waysOf(world, "win-1");
  const { ID } = await getNetworkByName(client, NETWORK);
  const stale = {
    Type: "RemoteSubnetRoute",
    Settings: {
      DestinationPrefix: "10.133.0.0/24",
      IsolationId: 4097,
      ProviderAddress: "10.0.0.99",
      DistributedRouterMacAddress: "0a:58:0a:80:00:09",
    },
  };
  await modifyNetworkPolicies(client, ID, "Add", [stale]);
  // Upstream asks the wrong way round whether the address has changed, so that any change of its own Node will do.
  await apply(world, node("win-1", { "example.org/note": "changed" }));
  expect(await waysOf(world, "win-1")).toEqual(before);
  expect((await getNetworkByName(client, NETWORK)).ID).toBe(ID);
});

it.each([
  ["upstream", 2],
  ["hardened", 1],
])("%s: a node whose MAC address changes has %i ways to it", async (compat, count) => {
  const text = file().replaceAll("os: windows,", `os: windows, compat: ${compat},`);
  const world = await openSessionWorld(text);
  await apply(world, node("linux-1", { [MAC]: "0a:58:0a:80:00:77" }));
  const ways = (await waysOf(world, "win-1")).filter((way) => way.startsWith("10.128.0.0/23"));
  expect(ways).toHaveLength(count);
  expect(ways.at(-1)).toContain("0a:58:0a:80:00:77");
});

describe("one thing that is broken", () => {
  /** Changes the way of win-1 to linux-1 by hand. */
  async function changeWay(settings: Readonly<Record<string, unknown>>): Promise<SessionWorld> {
    const world = await openSessionWorld(file());
    const client = clientOf(world, "win-1");
    const { ID, Policies = [] } = await getNetworkByName(client, NETWORK);
    const way = defined(
      Policies.find(({ Settings }) => Settings?.["DestinationPrefix"] === "10.128.0.0/23"),
      "a way",
    );
    await modifyNetworkPolicies(client, ID, "Remove", [way]);
    await modifyNetworkPolicies(client, ID, "Add", [
      { ...way, Settings: { ...way.Settings, ...settings } } as typeof way,
    ]);
    return world;
  }

  it("ends a packet to another MAC address than the router's at br-ext (CP-O7)", async () => {
    const world = await changeWay({ DistributedRouterMacAddress: "0a:58:0a:80:00:99" });
    expect(dropsOf(world, "pod/a", "pod/c")).toContain("hybrid-overlay-no-flow");
    expect(ask(world, "pod/c", "pod/a")).not.toContain("saw");
    expect(ask(world, "pod/a", "pod/d")).toBe("d saw 10.132.0.3");
  });

  it("ends a packet at a node that the way should not lead to", async () => {
    const world = await changeWay({ ProviderAddress: "10.0.0.22" });
    expect(dropsOf(world, "pod/a", "pod/c")).toContain("hybrid-overlay-no-flow");
  });

  it("asks for nothing of a VNI on the way into OVN: no flow of br-ext looks at it", async () => {
    const world = await changeWay({ IsolationId: 4100 });
    expect(tunnelsOf(world, "pod/a", "pod/c")[0]).toBe("4789 4100 0A-58-0A-80-00-03");
    expect(ask(world, "pod/a", "pod/c")).toBe("c saw 10.132.0.3");
  });

  it("ends a packet with another VNI on the way to Windows", async () => {
    const world = await openSessionWorld(file());
    const client = clientOf(world, "win-1");
    const { ID, Policies = [] } = await getNetworkByName(client, NETWORK);
    const way = defined(
      Policies.find(({ Settings }) => Settings?.["DestinationPrefix"] === "10.132.1.0/24"),
      "a way",
    );
    await modifyNetworkPolicies(client, ID, "Remove", [way]);
    const other = { ...way, Settings: { ...way.Settings, IsolationId: 4100 } } as typeof way;
    await modifyNetworkPolicies(client, ID, "Add", [other]);
    expect(dropsOf(world, "pod/a", "pod/b")).toContain("virtual-subnet-unknown");
  });
});

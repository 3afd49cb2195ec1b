// What the releases of flanneld that people run do differently (their history; control-planes.md §1.4, §2.1).
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { createHnsNetwork, listHnsNetworks } from "#contracts/hcn/v1-operations.ts";
import { getNetworkByName } from "#contracts/hcn/operations.ts";
import { type FlanneldNode, FlanneldWorld } from "#test/support/flannel/flanneld-world.ts";
import { behaviourOf, formatFlanneldRelease, parseFlanneldRelease } from "./flanneld-options.ts";

const EXTERNAL = {
  Type: "overlay",
  Name: "External",
  Subnets: [
    {
      AddressPrefix: "192.168.255.0/30",
      GatewayAddress: "192.168.255.1",
      Policies: [{ Type: "VSID", VSID: 9999 }],
    },
  ],
} as const;

const NET_CONF = { Network: "192.168.0.0/16", Backend: { name: "vxlan0", type: "vxlan" } };

function behaviour(release: string): ReturnType<typeof behaviourOf> {
  return behaviourOf(defined(parseFlanneldRelease(release), release));
}

/** flanneld of a release on a node with 10.244.1.0/24, perhaps with the scripts' network External. */
async function started(
  release: string,
  { network = "10.244.0.0/16", hasExternal = true } = {},
): Promise<FlanneldNode> {
  const world = new FlanneldWorld();
  world.nodes.put("w1", { podCIDR: "10.244.1.0/24" });
  const machine = world.machine("w1");
  const hns = defined(machine.client, "a Windows node has HNS");
  if (hasExternal) await createHnsNetwork(hns, EXTERNAL);
  const netConf = { ...NET_CONF, Network: network };
  const options = { netConf, options: { behaviour: behaviour(release) } };
  const node = world.flanneld("w1", options, machine);
  await world.run(1_000);
  return node;
}

function endOf({ state }: FlanneldNode): string {
  return state?.state === "ended" ? `${state.finding.code}: ${state.finding.message}` : `${state?.state}`;
}

describe("releases of flanneld", () => {
  it.each([
    ["0.11.0", "0.11.0"],
    ["v0.24", "0.24.0"],
    ["0.28.9", "0.28.9"],
    ["newest", undefined],
    ["1", undefined],
  ])("%s is read as %s", (text, expected) => {
    const release = parseFlanneldRelease(text);
    expect(release === undefined ? undefined : formatFlanneldRelease(release)).toBe(expected);
  });

  it.each([
    ["0.11.0", { borrowsRouterMac: true, checksRange: false, namesAdapter: false, addsHostRoute: false }],
    ["0.12.0", { borrowsRouterMac: false, checksRange: false, namesAdapter: false, addsHostRoute: true }],
    ["0.17.9", { borrowsRouterMac: false, checksRange: false, namesAdapter: false, addsHostRoute: true }],
    ["0.18.0", { borrowsRouterMac: false, checksRange: true, namesAdapter: false, addsHostRoute: true }],
    ["0.24.0", { borrowsRouterMac: false, checksRange: true, namesAdapter: false, addsHostRoute: true }],
    ["0.24.1", { borrowsRouterMac: false, checksRange: true, namesAdapter: true, addsHostRoute: true }],
    ["1.0.0", { borrowsRouterMac: false, checksRange: true, namesAdapter: true, addsHostRoute: true }],
  ])("%s", (release, expected) => {
    expect(behaviour(release)).toEqual(expected);
  });

  it("0.11 publishes the router's MAC of External, and that is the MAC of its own network", async () => {
    const node = await started("0.11.0");
    expect(node.state).toMatchObject({ state: "running", isReady: true });
    const network = await getNetworkByName(defined(node.machine.client, "HNS"), "vxlan0");
    const mac = network.Policies?.find(({ Type }) => Type === "DrMacAddress")?.Settings?.["Address"];
    expect(node.flanneld.lease?.attributes.backendData).toBe(
      JSON.stringify({ VNI: 4096, VtepMAC: (mac as string).toLowerCase().replaceAll("-", ":") }),
    );
  });

  it.each([
    ["0.11.0", false],
    ["0.12.0", true],
  ])("%s asks for a HostRoute, so that the node reaches its own pods: %s", async (release, isAsked) => {
    const node = await started(release);
    const network = await getNetworkByName(defined(node.machine.client, "HNS"), "vxlan0");
    expect(network.Policies?.some(({ Type }) => Type === "HostRoute")).toBe(isAsked);
  });

  it("0.11 ends without an overlay network that has the node's address (flannel issue 1109)", async () => {
    const node = await started("0.11.0", { hasExternal: false });
    expect(endOf(node)).toBe(
      "flannel-router-mac-missing: Error registering network: Cannot find network with Management IP 10.0.0.11",
    );
  });

  it("CP-F15 came with 0.18: 0.17 runs with a Network that does not hold the node's range", async () => {
    const old = await started("0.17.0", { network: "192.168.0.0/16" });
    expect(old.state).toMatchObject({ state: "running" });
    expect([...old.machine.files.texts.values()].join("")).toContain("FLANNEL_NETWORK=192.168.0.0/16");
    const later = await started("0.18.0", { network: "192.168.0.0/16" });
    expect(endOf(later)).toContain("flannel-network-without-node-range: ");
  });

  it("0.24.0 shares the switch of External; 0.24.1 names the switch's vNIC and is refused (flannel issue 1966)", async () => {
    const old = await started("0.24.0");
    expect(old.state).toMatchObject({ state: "running", isReady: true });
    const networks = await listHnsNetworks(defined(old.machine.client, "HNS"));
    expect(networks.map(({ Name, ManagementIP }) => [Name, ManagementIP])).toEqual([
      ["External", "10.0.0.11"],
      ["vxlan0", "10.0.0.11"],
    ]);
    const later = await started("0.24.1");
    expect(endOf(later)).toContain("flannel-adapter-is-switch: Error registering network: ");
    expect(endOf(later)).toContain("The parameter is incorrect");
  });

  it("0.24.1 runs where no switch stands on the adapter yet", async () => {
    const node = await started("0.24.1", { hasExternal: false });
    expect(node.state).toMatchObject({ state: "running", isReady: true });
  });
});

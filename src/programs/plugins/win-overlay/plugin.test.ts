// win-overlay where it is better than upstream (cni.md §8), and what stops it.
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { errorOf } from "#test/support/cni/cni-process.ts";
import { resultWith } from "#test/support/cni/scripted-plugin.ts";
import { NETWORKS, overlayNode } from "#test/support/cni/windows-plugin-node.ts";

function config(fields: object = {}): object {
  return {
    cniVersion: "1.1.0",
    name: "vxlan0",
    type: "win-overlay",
    apiVersion: 2,
    ipam: { type: "host-local" },
    ...fields,
  };
}

async function add(compat: Compat, fields: object = {}, ...ips: string[]) {
  const node = overlayNode(compat);
  node.ipam.result = resultWith(...(ips.length > 0 ? ips : ["10.244.5.2/24"]));
  const run = await node.run("ADD", config(fields));
  return { ...node, run, created: node.client.bodiesOf("create Endpoint")[0] };
}

describe("hardened", () => {
  it.each(["0E:2A", "zz-zz", "0E-2"])(
    "CNI-063 MAC prefix %j: refused before IPAM is asked",
    async (prefix) => {
      const { run, ipam, client } = await add("hardened", { endpointMacPrefix: prefix });
      expect(errorOf(run)).toMatchObject({
        code: 7,
        msg: `endpointMacPrefix [${prefix}] is invalid, value must be of the format xx-xx`,
      });
      expect(ipam.verbs).toEqual([]);
      expect(client.calls).toEqual([]);
    },
  );

  it("CNI-064 of both families the IPv4 address is taken; IPv6 alone is refused and given back", async () => {
    const dual = await add("hardened", {}, "fd00:5::2/64", "10.244.5.2/24");
    expect(dual.created).toMatchObject({
      MacAddress: "0E-2A-0a-f4-05-02",
      IpConfigurations: [{ IpAddress: "10.244.5.2", PrefixLength: 24 }],
    });
    const v6 = await add("hardened", {}, "fd00:5::2/64");
    expect(v6.run.explained).toBe("cni-overlay-ipv6");
    expect(v6.ipam.verbs).toEqual(["ADD", "DEL"]);
  });

  it("CNI-066 a configured provider address wins", async () => {
    const own = { Type: "ProviderAddress", Settings: { ProviderAddress: "10.0.133.170" } };
    const { created } = await add("hardened", { policies: [{ name: "EndpointPolicy", value: own }] });
    expect(created).toMatchObject({ Policies: [own] });
  });

  it("CNI-068 port mappings are made", async () => {
    const portMappings = [{ hostPort: 8080, containerPort: 80, protocol: "tcp" }];
    const { created } = await add("hardened", { runtimeConfig: { portMappings } });
    expect(created).toMatchObject({
      Policies: [
        { Type: "PortMapping", Settings: { InternalPort: 80, ExternalPort: 8080, Protocol: 6 } },
        { Type: "ProviderAddress" },
      ],
    });
  });

  it("CNI-069 STATUS without ipam: ready, as long as the network is there", async () => {
    const node = overlayNode("hardened");
    expect(await node.run("STATUS", config({ ipam: undefined }))).toMatchObject({ status: 0, stdout: "" });
    const missing = await node.run("STATUS", config({ name: "vxlan9", ipam: undefined }));
    expect(errorOf(missing)).toMatchObject({ code: 50 });
    expect(missing.explained).toBe("cni-network-not-found");
  });

  it.each([1, 2])("no ipam, apiVersion %d: HNS chooses address, MAC and route", async (apiVersion) => {
    const node = overlayNode("hardened");
    node.client.chosenAddresses = ["10.244.5.9"];
    const env = apiVersion === 1 ? { CNI_NETNS: "none" } : {};
    const run = await node.run("ADD", config({ apiVersion, ipam: undefined }), env);
    expect(JSON.parse(run.stdout)).toMatchObject({
      interfaces: [{ name: "eth0" }],
      ips: [{ address: "10.244.5.9/24", gateway: "10.244.5.1", interface: 0 }],
    });
  });

  it("CHECK misses the provider address that ADD made", async () => {
    const node = overlayNode("hardened");
    node.ipam.result = resultWith("10.244.5.2/24");
    const prevResult = JSON.parse((await node.run("ADD", config())).stdout) as object;
    expect(await node.run("CHECK", config({ prevResult }))).toMatchObject({ status: 0, stdout: "" });
    const [made] = node.client.list("Endpoint");
    node.client.put("Endpoint", { ...made, ID: made?.["ID"] as string, Policies: [] });
    expect(errorOf(await node.run("CHECK", config({ prevResult }))).msg).toBe(
      'endpoint SBX_vxlan0 is not as ADD left it: the policy ProviderAddress {"ProviderAddress":"10.0.0.7"} is missing',
    );
  });
});

describe("networks that are not right", () => {
  it.each([
    ["upstream", 2, "network cbr0 is of an unexpected type: L2Bridge"],
    ["upstream", 1, "network cbr0 is of an unexpected type: L2Bridge"],
    ["hardened", 2, "network cbr0 is of an unexpected type: L2Bridge"],
  ] as const)("%s, apiVersion %d: another type", async (compat, apiVersion, msg) => {
    expect(errorOf((await add(compat, { name: "cbr0", apiVersion })).run)).toMatchObject({ code: 999, msg });
  });

  it.each([
    [2, 'error while hcn.GetNetworkByName(vxlan9): Network name "vxlan9" not found'],
    [1, "error while GETHNSNewtorkByName(vxlan9): Network vxlan9 not found"],
  ] as const)("apiVersion %d: none of that name", async (apiVersion, msg) => {
    const { run } = await add("upstream", { name: "vxlan9", apiVersion });
    expect(errorOf(run)).toMatchObject({ code: 999, msg });
    expect(run.explained).toBe("cni-network-not-found");
  });

  it("upstream loses the error of its look-up through HNS v1; hardened tells it", async () => {
    for (const [compat, msg] of [
      ["upstream", "network vxlan0 not found"],
      ["hardened", "error while GETHNSNewtorkByName(vxlan0): hns failed with error : "],
    ] as const) {
      const node = overlayNode(compat);
      node.client.failNext("GET /networks/", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
      expect(errorOf(await node.run("ADD", config())).msg).toContain(msg);
    }
  });

  // win-overlay_windows.go of plugins 1.9.1: the look-up through v1 is made first, its failure looked at last.
  it("what HCN's look-up says is told before what HNS v1 has failed with", async () => {
    for (const compat of ["upstream", "hardened"] as const) {
      const node = overlayNode(compat);
      node.client.failNext("GET /networks/", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
      expect(errorOf(await node.run("ADD", config({ name: "vxlan9" }))).msg).toBe(
        'error while hcn.GetNetworkByName(vxlan9): Network name "vxlan9" not found',
      );
    }
  });

  it("over HNS v1 upstream does not look for the endpoint again", async () => {
    const node = overlayNode("upstream");
    node.ipam.result = resultWith("10.244.5.2/24");
    const answer = node.ipam.add.bind(node.ipam);
    node.ipam.add = (request) => {
      const ID = "11111111-0000-4000-8000-000000000001";
      node.client.put("Endpoint", { ID, Name: "SBX_vxlan0", VirtualNetwork: NETWORKS.vxlan0 });
      return answer(request);
    };
    const run = await node.run("ADD", config({ apiVersion: 1 }), { CNI_NETNS: "none" });
    expect(run.status).toBe(0);
    expect(node.client.list("Endpoint")).toHaveLength(2);
  });

  it("no subnet: upstream crashes after IPAM has given an address, hardened gives it back", async () => {
    const upstream = await add("upstream", { name: "bareOverlay" });
    expect(upstream.run).toMatchObject({ status: 2, stdout: "" });
    expect(upstream.ipam.verbs).toEqual(["ADD"]);
    const hardened = await add("hardened", { name: "bareOverlay" });
    expect(errorOf(hardened.run).msg).toContain(
      "network bareOverlay has no subnet; give the HNS network the node's pod subnet",
    );
    expect(hardened.ipam.verbs).toEqual(["ADD", "DEL"]);
  });
});

describe("the end of a pod", () => {
  it("CNI-070 CNI-071 CNI-077 the endpoint goes before the address, twice is no error", async () => {
    const node = overlayNode("hardened");
    node.ipam.result = resultWith("10.244.5.2/24");
    await node.run("ADD", config());
    for (const _ of ["first", "second"])
      expect(await node.run("DEL", config())).toMatchObject({ status: 0, stdout: "" });
    expect(node.client.list("Endpoint")).toEqual([]);
    expect(node.ipam.verbs).toEqual(["ADD", "DEL", "DEL"]);
  });
});

// win-overlay in the worked examples of cni.md §7.B: what HNS is asked for, and what the runtime reads.
import { describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import { errorOf } from "#test/support/cni/cni-process.ts";
import { resultWith } from "#test/support/cni/scripted-plugin.ts";
import { NAMESPACE, NETWORKS, overlayNode } from "#test/support/cni/windows-plugin-node.ts";

// What hcsshim writes into every document beside its fields: structs, however empty.
const V2 = { Health: { Extra: {} }, SchemaVersion: { Major: 2, Minor: 0 } };
const NONE = { CNI_NETNS: "none" };
const IPAM = { type: "host-local", subnet: "10.244.5.0/24" };

function config(fields: object): object {
  return { cniVersion: "1.0.0", name: "vxlan0", type: "win-overlay", apiVersion: 2, ipam: IPAM, ...fields };
}

const policy = (value: object) => ({ name: "EndpointPolicy", value });
const nat = (...Exceptions: string[]) => ({ Type: "OutBoundNAT", Settings: { Exceptions } });
const route = (DestinationPrefix: string) => ({
  Type: "SDNRoute",
  Settings: { DestinationPrefix, NeedEncap: true },
});
const provider = (ProviderAddress: string) => ({ Type: "ProviderAddress", Settings: { ProviderAddress } });
const toItself = (address: string) => ({ Type: "OutBoundNAT", Settings: { Destinations: [address] } });

/** What HCN is asked to create on vxlan0. */
function endpoint(ip: string, mac: string, policies: readonly object[], fields: object = {}): object {
  return {
    Name: "SBX_vxlan0",
    HostComputeNetwork: NETWORKS.vxlan0,
    Policies: policies,
    IpConfigurations: [{ IpAddress: ip }],
    Dns: {},
    Routes: [{ NextHop: "10.244.5.1", DestinationPrefix: "0.0.0.0/0" }],
    MacAddress: mac,
    ...V2,
    ...fields,
  };
}

async function add(fields: object, ip: string, env: Record<string, string> = {}) {
  const node = overlayNode();
  node.ipam.result = resultWith(ip);
  const run = await node.run("ADD", config(fields), env);
  return { ...node, run, result: JSON.parse(run.stdout) as JsonObject };
}

describe("win-overlay over HCN (cni.md §7.B)", () => {
  const CLUSTER = ["10.244.0.0/16", "10.96.0.0/12", "10.0.0.0/24"];

  it("CNI-EX-B1 CNI-067 containerd with ipMasq", async () => {
    const { client, result } = await add(
      {
        ipMasq: true,
        capabilities: { dns: true },
        policies: [nat(...CLUSTER), route("10.96.0.0/12")].map((Value) => ({
          Name: "EndpointPolicy",
          Value,
        })),
        runtimeConfig: {
          dns: { Servers: ["10.96.0.10"], Searches: ["default.svc.cluster.local"], Options: null },
        },
      },
      "10.244.5.2/24",
    );
    const id = client.list("Endpoint")[0]?.["ID"];
    expect(client.calls).toEqual([
      {
        call: "create Endpoint",
        body: endpoint(
          "10.244.5.2",
          "0E-2A-0a-f4-05-02",
          [nat(...CLUSTER), route("10.96.0.0/12"), provider("10.0.0.7"), nat("10.244.5.0/24")],
          { Dns: { Search: ["default.svc.cluster.local"], ServerList: ["10.96.0.10"] } },
        ),
      },
      {
        call: "modify Namespace",
        id: NAMESPACE,
        body: { ResourceType: "Endpoint", RequestType: "Add", Settings: { EndpointId: id } },
      },
    ]);
    expect(result).toEqual({
      cniVersion: "1.0.0",
      interfaces: [{ name: "SBX_vxlan0", mac: "0E-2A-0a-f4-05-02" }],
      ips: [{ address: "10.244.5.2/24", gateway: "10.244.5.1" }],
      dns: { nameservers: ["10.96.0.10"], search: ["default.svc.cluster.local"] },
    });
  });

  it.each([
    ["0E:2A", "0E:2A"],
    ["0E2A", "0E2A"],
    ["0E-2A-", "0E-2A-"],
  ])("CNI-EX-B4 CNI-063 MAC prefix %j", async (endpointMacPrefix, shown) => {
    for (const apiVersion of [1, 2]) {
      const { run, client, ipam } = await add({ endpointMacPrefix, apiVersion }, "10.244.5.3/24");
      expect(errorOf(run)).toEqual({
        code: 999,
        msg: `endpointMacPrefix [${shown}] is invalid, value must be of the format xx-xx`,
      });
      expect(client.calls).toEqual([]);
      expect(ipam.verbs).toEqual(["DEL"]);
    }
  });

  it("CNI-EX-B4 CNI-063 no digits pass, and HNS is asked for such a MAC", async () => {
    const { client } = await add({ endpointMacPrefix: "zz-zz" }, "10.244.5.3/24");
    expect(client.bodiesOf("create Endpoint")).toMatchObject([{ MacAddress: "zz-zz-0a-f4-05-03" }]);
  });

  it("CNI-EX-B5 CNI-066 a configured provider address that differs: both are sent", async () => {
    const { client, result } = await add(
      { cniVersion: "0.2.0", policies: [policy(provider("10.0.133.170"))] },
      "10.244.5.4/24",
    );
    expect(client.bodiesOf("create Endpoint")).toEqual([
      endpoint("10.244.5.4", "0E-2A-0a-f4-05-04", [provider("10.0.133.170"), provider("10.0.0.7")]),
    ]);
    expect(result).toEqual({
      cniVersion: "0.2.0",
      ip4: { ip: "10.244.5.4/24", gateway: "10.244.5.1" },
      dns: {},
    });
  });

  it("CNI-EX-B6 CNI-065 a configured provider address that is the node's: one policy", async () => {
    const { client } = await add(
      { cniVersion: "0.2.0", policies: [policy(provider("10.0.0.7"))] },
      "10.244.5.4/24",
    );
    expect(client.bodiesOf("create Endpoint")).toEqual([
      endpoint("10.244.5.4", "0E-2A-0a-f4-05-04", [provider("10.0.0.7")]),
    ]);
  });

  it("CNI-EX-B7 loopback DSR, provider address and ipMasq, in this order", async () => {
    const { client, result } = await add({ ipMasq: true, loopbackDSR: true }, "10.244.5.5/24");
    expect(client.bodiesOf("create Endpoint")).toEqual([
      endpoint("10.244.5.5", "0E-2A-0a-f4-05-05", [
        toItself("10.244.5.5"),
        provider("10.0.0.7"),
        nat("10.244.5.0/24"),
      ]),
    ]);
    expect(result).toEqual({
      cniVersion: "1.0.0",
      interfaces: [{ name: "SBX_vxlan0", mac: "0E-2A-0a-f4-05-05" }],
      ips: [{ address: "10.244.5.5/24", gateway: "10.244.5.1" }],
    });
  });

  it("CNI-EX-B9 CNI-068 port mappings are ignored", async () => {
    const portMappings = [{ HostPort: 8080, ContainerPort: 80, Protocol: "tcp" }];
    const { client } = await add(
      { capabilities: { portMappings: true }, runtimeConfig: { portMappings } },
      "10.244.5.7/24",
    );
    expect(client.bodiesOf("create Endpoint")).toEqual([
      endpoint("10.244.5.7", "0E-2A-0a-f4-05-07", [provider("10.0.0.7")]),
    ]);
  });

  it("CNI-EX-B10 CNI-064 an IPv6 range", async () => {
    const { run } = await add({}, "fd00:5::2/120");
    expect(errorOf(run)).toEqual({
      code: 999,
      msg: "error while adding HostComputeEndpoint: failed to make a new HostComputeEndpoint: error while processing endpoint args: IPAM plugin return is missing valid IP Address",
    });
    expect(run.explained).toBe("cni-overlay-ipv6");
  });

  it("CNI-EX-B11 no ipam: HNS must choose address and MAC", async () => {
    const node = overlayNode();
    node.client.chosenAddresses = ["10.244.5.9"];
    await node.run("ADD", config({ ipam: undefined }));
    expect(node.client.bodiesOf("create Endpoint")).toEqual([
      {
        Name: "SBX_vxlan0",
        HostComputeNetwork: NETWORKS.vxlan0,
        Policies: [provider("10.0.0.7")],
        IpConfigurations: [{}],
        Dns: {},
        Routes: [{ NextHop: "10.244.5.1", DestinationPrefix: "0.0.0.0/0" }],
        ...V2,
      },
    ]);
  });

  it("CNI-EX-B12 the sample of OVN's hybrid overlay", async () => {
    const node = overlayNode();
    node.ipam.result = resultWith("10.132.0.2/24");
    const run = await node.run(
      "ADD",
      config({
        cniVersion: "0.2.0",
        name: "OVNKubernetesHybridOverlayNetwork",
        capabilities: { portMappings: true, dns: true },
        ipam: { type: "host-local", subnet: "10.132.0.0/24" },
        policies: [nat("172.30.0.0/16"), route("172.30.0.0/16"), provider("10.0.133.170")].map(policy),
      }),
    );
    expect(node.client.bodiesOf("create Endpoint")).toEqual([
      {
        Name: "SBX_OVNKubernetesHybridOverlayNetwork",
        HostComputeNetwork: NETWORKS.OVNKubernetesHybridOverlayNetwork,
        Policies: [nat("172.30.0.0/16"), route("172.30.0.0/16"), provider("10.0.133.170")],
        IpConfigurations: [{ IpAddress: "10.132.0.2" }],
        Dns: {},
        Routes: [{ NextHop: "10.132.0.1", DestinationPrefix: "0.0.0.0/0" }],
        MacAddress: "0E-2A-0a-84-00-02",
        ...V2,
      },
    ]);
    expect(JSON.parse(run.stdout)).toEqual({
      cniVersion: "0.2.0",
      ip4: { ip: "10.132.0.2/24", gateway: "10.132.0.1" },
      dns: {},
    });
  });

  it("CNI-EX-B13 ADD again: the namespace is asked again, and if it refuses, the living address is freed", async () => {
    const node = overlayNode();
    node.ipam.result = resultWith("10.244.5.2/24");
    await node.run("ADD", config({}));
    const again = await node.run("ADD", config({}));
    expect(node.client.bodiesOf("create Endpoint")).toHaveLength(1);
    expect(node.client.bodiesOf("modify Namespace")).toHaveLength(2);
    expect(errorOf(again).code).toBe(999);
    expect(node.ipam.verbs).toEqual(["ADD", "DEL"]);
  });
});

describe("win-overlay over HNS v1 (cni.md §7.B)", () => {
  const v1 = (fields: object) => ({ apiVersion: undefined, ...fields });
  const v1Nat = (...ExceptionList: string[]) => ({ Type: "OutBoundNAT", ExceptionList });
  const PA = { Type: "PA", PA: "10.0.0.7" };

  it("CNI-EX-B2 dockershim with policies, without ipMasq", async () => {
    const policies = [
      v1Nat("192.168.0.0/16", "11.0.0.0/8"),
      { Type: "ROUTE", DestinationPrefix: "11.0.0.0/8", NeedEncap: true },
    ];
    const dns = { Nameservers: ["11.0.0.10"], Search: ["svc.cluster.local"] };
    const { client, result } = await add(
      v1({ cniVersion: "0.2.0", dns, policies: policies.map(policy) }),
      "10.244.5.3/24",
      NONE,
    );
    expect(client.bodiesOf("POST /endpoints/")).toEqual([
      {
        Name: "SBX_vxlan0",
        VirtualNetwork: NETWORKS.vxlan0,
        Policies: [...policies, PA],
        MacAddress: "0E-2A-0a-f4-05-03",
        IPAddress: "10.244.5.3",
        DNSSuffix: "svc.cluster.local",
        DNSServerList: "11.0.0.10",
        GatewayAddress: "10.244.5.1",
      },
    ]);
    expect(result).toEqual({
      cniVersion: "0.2.0",
      ip4: { ip: "10.244.5.3/24", gateway: "10.244.5.1" },
      dns: { nameservers: ["11.0.0.10"], search: ["svc.cluster.local"] },
    });
  });

  it("CNI-EX-B3 CNI-062 a MAC prefix of one's own; 200 is c8", async () => {
    const { client, result } = await add(
      v1({ cniVersion: "0.3.0", ipMasq: true, endpointMacPrefix: "0E-2B" }),
      "10.244.5.200/24",
      NONE,
    );
    expect(client.bodiesOf("POST /endpoints/")).toEqual([
      {
        Name: "SBX_vxlan0",
        VirtualNetwork: NETWORKS.vxlan0,
        Policies: [PA, v1Nat("10.244.5.0/24")],
        MacAddress: "0E-2B-0a-f4-05-c8",
        IPAddress: "10.244.5.200",
        GatewayAddress: "10.244.5.1",
      },
    ]);
    expect(result).toEqual({
      cniVersion: "0.3.0",
      interfaces: [{ name: "SBX_vxlan0", mac: "0E-2B-0a-f4-05-c8" }],
      ips: [{ version: "4", address: "10.244.5.200/24", gateway: "10.244.5.1" }],
      dns: { nameservers: [""], search: [""] },
    });
  });

  it("CNI-EX-B8 provider address, ipMasq, loopback DSR: the order of v1", async () => {
    const { client, result } = await add(
      v1({ cniVersion: "0.4.0", ipMasq: true, loopbackDSR: true }),
      "10.244.5.6/24",
      NONE,
    );
    expect(client.bodiesOf("POST /endpoints/")).toEqual([
      {
        Name: "SBX_vxlan0",
        VirtualNetwork: NETWORKS.vxlan0,
        Policies: [PA, v1Nat("10.244.5.0/24"), { Type: "OutBoundNAT", Destinations: ["10.244.5.6"] }],
        MacAddress: "0E-2A-0a-f4-05-06",
        IPAddress: "10.244.5.6",
        GatewayAddress: "10.244.5.1",
      },
    ]);
    expect(result).toEqual({
      cniVersion: "0.4.0",
      interfaces: [{ name: "SBX_vxlan0", mac: "0E-2A-0a-f4-05-06" }],
      ips: [{ version: "4", address: "10.244.5.6/24", gateway: "10.244.5.1" }],
      dns: { nameservers: [""], search: [""] },
    });
  });

  it("CNI-EX-B10 CNI-064 an IPv6 range", async () => {
    const { run } = await add(v1({}), "fd00:5::2/120", NONE);
    expect(errorOf(run)).toEqual({
      code: 999,
      msg: `error while AddHnsEndpoint(SBX_vxlan0,${NETWORKS.vxlan0},SBX): failed to make a new HNSEndpoint: win-overlay doesn't support IPv6 now`,
    });
  });

  it("CNI-EX-B11 CNI-069 no ipam: fails, and so does STATUS of both APIs", async () => {
    const node = overlayNode();
    const run = await node.run("ADD", config(v1({ ipam: undefined })), NONE);
    expect(errorOf(run).msg).toBe(
      `error while AddHnsEndpoint(SBX_vxlan0,${NETWORKS.vxlan0},SBX): failed to make a new HNSEndpoint: error while ipam.ExecAdd: no plugin name provided`,
    );
    for (const apiVersion of [1, 2]) {
      const status = await node.run("STATUS", config({ cniVersion: "1.1.0", apiVersion, ipam: undefined }));
      expect(errorOf(status)).toEqual({ code: 999, msg: "no plugin name provided" });
    }
  });

  it("CNI-EX-B13 ADD again: attached already, the same result", async () => {
    const node = overlayNode();
    node.ipam.result = resultWith("10.244.5.2/24");
    const first = await node.run("ADD", config(v1({})), NONE);
    const again = await node.run("ADD", config(v1({})), NONE);
    expect(again.status).toBe(0);
    expect(again.stdout).toBe(first.stdout);
    expect(node.client.bodiesOf("POST /endpoints/")).toHaveLength(1);
    expect(node.ipam.verbs).toEqual(["ADD"]);
  });
});

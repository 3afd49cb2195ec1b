import { describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { errorOf } from "#test/support/cni/cni-process.ts";
import { resultWith } from "#test/support/cni/scripted-plugin.ts";
import { NAMESPACE, NETWORKS, bridgeNode } from "#test/support/cni/windows-plugin-node.ts";
import { HostLocal } from "../host-local/plugin.ts";
import { MemoryLeaseStore } from "../host-local/leases.ts";

// What hcsshim writes into every document beside its fields: structs, however empty.
const V2 = { Health: { Extra: {} }, SchemaVersion: { Major: 2, Minor: 0 } };
const NAT_EXCEPTIONS = ["10.244.0.0/16", "10.96.0.0/12", "10.0.0.0/24"];
const CLUSTER_NAT = { Type: "OutBoundNAT", Settings: { Exceptions: NAT_EXCEPTIONS } };
const SERVICE_ROUTE = { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } };
const V1_NAT = { Type: "OutBoundNAT", ExceptionList: NAT_EXCEPTIONS };
const V1_ROUTES = [
  { Type: "ROUTE", DestinationPrefix: "10.96.0.0/12", NeedEncap: true },
  { Type: "ROUTE", DestinationPrefix: "10.0.0.7/32", NeedEncap: true },
];
const DNS = { Nameservers: ["10.96.0.10"], Search: ["svc.cluster.local"] };
const RESULT_DNS = { nameservers: ["10.96.0.10"], search: ["svc.cluster.local"] };
const IPAM = { type: "host-local", subnet: "10.244.3.0/24", rangeStart: "10.244.3.3" };
const INTERFACE = { name: "SBX_cbr0", mac: "00-15-5D-AA-BB-CC" };

const policies = (...values: readonly object[]) => values.map((Value) => ({ Name: "EndpointPolicy", Value }));

function config(fields: object): object {
  return { cniVersion: "1.0.0", name: "cbr0", type: "win-bridge", apiVersion: 2, ipam: IPAM, ...fields };
}

/** What HCN is asked to create for address `ip` of cbr0. */
function endpoint(ip: string, fields: object = {}): object {
  return {
    Name: "SBX_cbr0",
    HostComputeNetwork: NETWORKS.cbr0,
    IpConfigurations: [{ IpAddress: ip }],
    Dns: {},
    Routes: [{ NextHop: "10.244.3.2", DestinationPrefix: "0.0.0.0/0" }],
    ...V2,
    ...fields,
  };
}

/** Runs ADD with an IPAM that gives `ip`. */
async function add(fields: object, ip = "10.244.3.3/24", env: Record<string, string> = {}) {
  const node = bridgeNode();
  node.ipam.result = resultWith(ip);
  const run = await node.run("ADD", config(fields), env);
  return { ...node, status: run.status, run, result: JSON.parse(run.stdout) as JsonObject };
}

describe("win-bridge over HCN (cni.md §7.A)", () => {
  const A1 = {
    capabilities: { portMappings: true, dns: true },
    dns: DNS,
    policies: policies(CLUSTER_NAT, SERVICE_ROUTE),
  };

  it("CNI-EX-A1 CNI-024 CNI-025 CNI-059 containerd with the runtime's DNS", async () => {
    const searches = ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"];
    const runtimeConfig = { dns: { Servers: ["10.96.0.10"], Searches: searches, Options: ["ndots:5"] } };
    const { client, result } = await add({ ...A1, runtimeConfig });
    const id = client.list("Endpoint")[0]?.["ID"];
    expect(client.calls).toEqual([
      {
        call: "create Endpoint",
        body: endpoint("10.244.3.3", {
          Policies: [CLUSTER_NAT, SERVICE_ROUTE],
          Dns: { Search: searches, ServerList: ["10.96.0.10"] },
        }),
      },
      {
        call: "modify Namespace",
        id: NAMESPACE,
        body: { ResourceType: "Endpoint", RequestType: "Add", Settings: { EndpointId: id } },
      },
    ]);
    expect(result).toEqual({
      cniVersion: "1.0.0",
      interfaces: [INTERFACE],
      ips: [{ address: "10.244.3.3/24", gateway: "10.244.3.2" }],
      dns: { nameservers: ["10.96.0.10"], search: searches },
    });
  });

  it("CNI-EX-A2 an old version, no runtimeConfig", async () => {
    const { client, result } = await add({ ...A1, cniVersion: "0.2.0" }, "10.244.3.4/24");
    expect(client.bodiesOf("create Endpoint")).toEqual([
      endpoint("10.244.3.4", {
        Policies: [CLUSTER_NAT, SERVICE_ROUTE],
        Dns: { Search: ["svc.cluster.local"], ServerList: ["10.96.0.10"] },
      }),
    ]);
    expect(result).toEqual({
      cniVersion: "0.2.0",
      ip4: { ip: "10.244.3.4/24", gateway: "10.244.3.2" },
      dns: RESULT_DNS,
    });
  });

  it("CNI-EX-A6 ipMasqNetwork that is not listed: a second OutBoundNAT", async () => {
    const services = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.96.0.0/12"] } };
    const pods = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16"] } };
    const { client, result } = await add(
      {
        cniVersion: "0.4.0",
        ipMasqNetwork: "10.244.0.0/16",
        policies: [{ name: "EndpointPolicy", value: services }],
      },
      "10.244.3.5/24",
    );
    expect(client.bodiesOf("create Endpoint")).toEqual([
      endpoint("10.244.3.5", { Policies: [services, pods] }),
    ]);
    expect(result).toEqual({
      cniVersion: "0.4.0",
      interfaces: [INTERFACE],
      ips: [{ version: "4", address: "10.244.3.5/24", gateway: "10.244.3.2" }],
      dns: {},
    });
  });

  it("CNI-EX-A7 CNI-050 ipMasqNetwork that is listed: nothing is added", async () => {
    const fields = { cniVersion: "0.4.0", ipMasqNetwork: "10.244.0.0/16", policies: policies(CLUSTER_NAT) };
    const { client } = await add(fields, "10.244.3.6/24");
    expect(client.bodiesOf("create Endpoint")).toEqual([endpoint("10.244.3.6", { Policies: [CLUSTER_NAT] })]);
  });

  it("CNI-EX-A8 CNI-052 CNI-053 port mappings: sctp is skipped, 0x11 is 17, hostIP is VIP", async () => {
    const portMappings = [
      { HostPort: 8080, ContainerPort: 80, Protocol: "tcp", HostIP: "" },
      { HostPort: 5353, ContainerPort: 53, Protocol: "UDP", HostIP: "10.0.0.7" },
      { HostPort: 9999, ContainerPort: 9999, Protocol: "sctp", HostIP: "" },
      { HostPort: 7000, ContainerPort: 7000, Protocol: "0x11", HostIP: "" },
    ];
    const { client, result } = await add({ runtimeConfig: { portMappings } }, "10.244.3.7/24");
    const mapping = (InternalPort: number, ExternalPort: number, Protocol: number, VIP: string) => ({
      Type: "PortMapping",
      Settings: { InternalPort, ExternalPort, Protocol, VIP },
    });
    expect(client.bodiesOf("create Endpoint")).toEqual([
      endpoint("10.244.3.7", {
        Policies: [mapping(80, 8080, 6, ""), mapping(53, 5353, 17, "10.0.0.7"), mapping(7000, 7000, 17, "")],
      }),
    ]);
    expect(result["ips"]).toEqual([{ address: "10.244.3.7/24", gateway: "10.244.3.2" }]);
    expect(result).not.toHaveProperty("dns");
  });

  it("CNI-EX-A10 loopbackDSR", async () => {
    const { client } = await add({ loopbackDSR: true, policies: policies(CLUSTER_NAT) }, "10.244.3.9/24");
    const loopback = { Type: "OutBoundNAT", Settings: { Destinations: ["10.244.3.9"] } };
    expect(client.bodiesOf("create Endpoint")).toEqual([
      endpoint("10.244.3.9", { Policies: [CLUSTER_NAT, loopback] }),
    ]);
  });

  it("CNI-EX-A11 no ipam: HNS chooses", async () => {
    const node = bridgeNode();
    node.client.chosenAddresses = ["10.244.3.77"];
    const run = await node.run("ADD", config({ ipam: undefined, policies: policies(CLUSTER_NAT) }));
    expect(node.client.bodiesOf("create Endpoint")).toEqual([
      endpoint("", {
        Policies: [CLUSTER_NAT],
        IpConfigurations: [{}],
        Routes: [{ DestinationPrefix: "::/0" }],
      }),
    ]);
    expect(JSON.parse(run.stdout)).toEqual({
      cniVersion: "1.0.0",
      interfaces: [INTERFACE],
      ips: [{ address: "10.244.3.77/24", gateway: "10.244.3.1" }],
    });
    expect(node.ipam.verbs).toEqual([]);
  });

  it("CNI-EX-A13 policies in the form of v1: their bodies vanish", async () => {
    const { client, status, result } = await add(
      { policies: policies(V1_NAT, V1_ROUTES[0] ?? {}) },
      "10.244.3.10/24",
    );
    expect(client.bodiesOf("create Endpoint")).toEqual([
      endpoint("10.244.3.10", { Policies: [{ Type: "OutBoundNAT" }, { Type: "ROUTE" }] }),
    ]);
    expect(status).toBe(0);
    expect(result).toEqual({
      cniVersion: "1.0.0",
      interfaces: [{ name: "SBX_cbr0", mac: "00-15-5D-AA-BB-CC" }],
      ips: [{ address: "10.244.3.10/24", gateway: "10.244.3.2" }],
    });
  });

  it("CNI-EX-A14 CNI-031 CNI-032 look-ups that fail", async () => {
    const missing = await add({ name: "x" });
    expect(errorOf(missing.run)).toEqual({
      code: 999,
      msg: 'error while getting network x: Network name "x" not found',
    });
    expect(missing.run.explained).toBe("cni-network-not-found");
    const old = await add({ name: "x", apiVersion: 0 });
    expect(errorOf(old.run)).toEqual({
      code: 999,
      msg: "error while getting network x: Network x not found",
    });
    const nat = await add({ name: "nat" });
    expect(errorOf(nat.run)).toEqual({ code: 999, msg: "network nat is of unexpected type: NAT" });
  });

  it("CNI-EX-A15 CNI-045 a /23: the gateway is network + 2", async () => {
    const { client, result } = await add({ name: "cbr1" }, "10.244.5.10/23");
    expect(client.bodiesOf("create Endpoint")).toEqual([
      {
        ...endpoint("10.244.5.10"),
        Name: "SBX_cbr1",
        HostComputeNetwork: NETWORKS.cbr1,
        Routes: [{ NextHop: "10.244.4.2", DestinationPrefix: "0.0.0.0/0" }],
      },
    ]);
    expect(result["interfaces"]).toEqual([{ name: "SBX_cbr1", mac: "00-15-5D-AA-BB-CC" }]);
    expect(result["ips"]).toEqual([{ address: "10.244.5.10/23", gateway: "10.244.4.2" }]);
  });

  it("CNI-EX-A16 CNI-046 the default range gives the bridge endpoint's address first; the retry works", async () => {
    const hostLocal = new HostLocal({ store: new MemoryLeaseStore(), compat: "upstream" });
    const node = bridgeNode("upstream", [hostLocal]);
    node.client.usedAddresses.add("10.244.3.2");
    const stdin = config({ ipam: { type: "host-local", subnet: "10.244.3.0/24" } });
    const first = await node.run("ADD", stdin);
    expect(node.client.bodiesOf("create Endpoint")).toEqual([endpoint("10.244.3.2")]);
    expect(errorOf(first)).toEqual({
      code: 999,
      msg:
        "error while adding HostComputeEndpoint: failed to create the new HostComputeEndpoint: " +
        "hcnCreateEndpoint failed in Win32: The object already exists. (0x1392) " +
        '{"Success":false,"Error":"The object already exists. ","ErrorCode":2147947410}',
    });
    const second = await node.run("ADD", stdin);
    expect(JSON.parse(second.stdout)).toMatchObject({
      ips: [{ address: "10.244.3.3/24", gateway: "10.244.3.2" }],
    });
  });

  it("CNI-EX-A17 CNI-033 L2Tunnel: network + 2 wins over the gateway of IPAM", async () => {
    const { client, result } = await add(
      { name: "l2t", ipam: { type: "azure-vnet-ipam" } },
      "10.240.0.35/12",
    );
    expect(client.bodiesOf("create Endpoint")).toMatchObject([
      { Name: "SBX_l2t", Routes: [{ NextHop: "10.240.0.2", DestinationPrefix: "0.0.0.0/0" }] },
    ]);
    expect(result["ips"]).toEqual([{ address: "10.240.0.35/12", gateway: "10.240.0.2" }]);
  });

  it("CNI-EX-A18 CNI-048 dual stack: the first address alone; the second stays reserved until DEL", async () => {
    const store = new MemoryLeaseStore();
    const node = bridgeNode("upstream", [new HostLocal({ store, compat: "upstream" })]);
    const ranges = [
      [{ subnet: "192.168.1.0/24", rangeStart: "192.168.1.10" }],
      [{ subnet: "fd00::100/120" }],
    ];
    const stdin = config({ name: "winl2bridge", ipam: { type: "host-local", ranges } });
    const run = await node.run("ADD", stdin);
    expect(node.client.bodiesOf("create Endpoint")).toMatchObject([
      {
        IpConfigurations: [{ IpAddress: "192.168.1.10" }],
        Routes: [{ NextHop: "192.168.1.2", DestinationPrefix: "0.0.0.0/0" }],
      },
    ]);
    expect((JSON.parse(run.stdout) as JsonObject)["ips"]).toEqual([
      { address: "192.168.1.10/24", gateway: "192.168.1.2" },
    ]);
    const network = { dataDir: "/var/lib/cni/networks", name: "winl2bridge" };
    const held = () => store.withLeases(network, "existing", (leases) => leases.list().length);
    expect(await held()).toBe(2);
    await node.run("DEL", stdin);
    expect(await held()).toBe(0);
  });
});

describe("win-bridge over HNS v1 (cni.md §7.A)", () => {
  const NONE = { CNI_NETNS: "none" };
  const A3 = {
    cniVersion: "0.2.0",
    apiVersion: undefined,
    dns: DNS,
    policies: policies(V1_NAT, ...V1_ROUTES),
  };
  const A3_RESULT = {
    cniVersion: "0.2.0",
    ip4: { ip: "10.244.3.3/24", gateway: "10.244.3.2" },
    dns: RESULT_DNS,
  };

  it("CNI-EX-A3 CNI-035 a sandbox of dockershim", async () => {
    const { client, result } = await add(A3, "10.244.3.3/24", NONE);
    const id = client.list("Endpoint")[0]?.["ID"] as string;
    expect(client.calls).toEqual([
      {
        call: "POST /endpoints/",
        body: {
          Name: "SBX_cbr0",
          VirtualNetwork: NETWORKS.cbr0,
          Policies: [V1_NAT, ...V1_ROUTES],
          IPAddress: "10.244.3.3",
          DNSSuffix: "svc.cluster.local",
          DNSServerList: "10.96.0.10",
          GatewayAddress: "10.244.3.2",
        },
      },
      // Hot attach is a change of the container, not a call of HNS (hnsendpoint.go of hcsshim).
      {
        call: "modify ComputeSystem",
        id: "SBX",
        body: { ResourceType: "Network", RequestType: "Add", Settings: id },
      },
    ]);
    expect(result).toEqual(A3_RESULT);
  });

  it("CNI-EX-A4 CNI-036 CNI-037 the same again, and a workload container: attached only, same answer", async () => {
    const node = bridgeNode();
    await node.run("ADD", config(A3), NONE);
    const again = await node.run("ADD", config(A3), NONE);
    expect(JSON.parse(again.stdout)).toEqual(A3_RESULT);
    const workload = await node.run("ADD", config(A3), {
      CNI_CONTAINERID: "WKL",
      CNI_NETNS: "container:SBX",
    });
    expect(JSON.parse(workload.stdout)).toEqual(A3_RESULT);
    expect(node.client.bodiesOf("POST /endpoints/")).toHaveLength(1);
    expect(node.ipam.verbs).toEqual(["ADD"]);
    expect(node.client.list("Endpoint")[0]?.["SharedContainers"]).toEqual(["SBX", "WKL"]);
  });

  it("CNI-EX-A4 a container that does not run is no error for an endpoint that exists", async () => {
    const node = bridgeNode();
    await node.run("ADD", config(A3), NONE);
    node.client.failNext("modify ComputeSystem", new HcnError("HCS_E_SYSTEM_NOT_FOUND"));
    const workload = await node.run("ADD", config(A3), {
      CNI_CONTAINERID: "WKL",
      CNI_NETNS: "container:SBX",
    });
    expect(JSON.parse(workload.stdout)).toEqual(A3_RESULT);
  });

  it("CNI-EX-A5 CNI-034 a namespace GUID without apiVersion: fails, and IPAM DEL is called all the same", async () => {
    const { run, ipam, client } = await add(A3);
    expect(errorOf(run)).toEqual({
      code: 999,
      msg: "error while adding HNSEndpoint: failed to find HNSEndpoint SBX_cbr0: Endpoint SBX_cbr0 not found",
    });
    expect(run.explained).toBe("cni-api-version-missing");
    expect(ipam.verbs).toEqual(["DEL"]);
    expect(client.calls).toEqual([]);
  });

  it('CNI-EX-A9 CNI-054 CNI-061 a port mapping: hostIP is lost, empty DNS becomes [""]', async () => {
    const portMappings = [{ hostPort: 8080, containerPort: 80, protocol: "tcp", hostIP: "127.0.0.1" }];
    const fields = { cniVersion: "0.2.0", apiVersion: 0, runtimeConfig: { portMappings } };
    const { client, result } = await add(fields, "10.244.3.8/24", NONE);
    expect(client.bodiesOf("POST /endpoints/")).toEqual([
      {
        Name: "SBX_cbr0",
        VirtualNetwork: NETWORKS.cbr0,
        Policies: [{ Type: "NAT", InternalPort: 80, ExternalPort: 8080, Protocol: "tcp" }],
        IPAddress: "10.244.3.8",
        GatewayAddress: "10.244.3.2",
      },
    ]);
    expect(result).toEqual({
      cniVersion: "0.2.0",
      ip4: { ip: "10.244.3.8/24", gateway: "10.244.3.2" },
      dns: { nameservers: [""], search: [""] },
    });
  });

  it("CNI-EX-A12 no ipam: HNS chooses", async () => {
    const node = bridgeNode();
    node.client.chosenAddresses = ["10.244.3.78"];
    const run = await node.run(
      "ADD",
      config({ cniVersion: "0.3.1", apiVersion: 0, ipam: undefined, dns: DNS }),
      NONE,
    );
    expect(node.client.bodiesOf("POST /endpoints/")).toEqual([
      {
        Name: "SBX_cbr0",
        VirtualNetwork: NETWORKS.cbr0,
        DNSSuffix: "svc.cluster.local",
        DNSServerList: "10.96.0.10",
      },
    ]);
    expect(JSON.parse(run.stdout)).toEqual({
      cniVersion: "0.3.1",
      interfaces: [INTERFACE],
      ips: [{ version: "4", address: "10.244.3.78/24", gateway: "10.244.3.1" }],
      dns: RESULT_DNS,
    });
  });
});

// azure-vnet in the worked examples of cni.md §7.E: what HNS is asked for, what the runtime reads.
import { describe, expect, it } from "vitest";
import { parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { errorOf } from "#test/support/cni/cni-process.ts";
import { type AzureNode, NAMESPACE, azureNode } from "#test/support/cni/windows-plugin-node.ts";

// What hcsshim writes into every document beside its fields: structs, however empty.
const V2 = { Health: { Extra: {} }, SchemaVersion: { Major: 2, Minor: 0 } };
const EXCEPTIONS = ["10.240.0.0/16", "10.0.0.0/8"];
const endpointPolicy = (Value: object) => ({ Name: "EndpointPolicy", Value });
const NAT_V1 = { Type: "OutBoundNAT", ExceptionList: EXCEPTIONS };
const ROUTE_V1 = { Type: "ROUTE", DestinationPrefix: "10.0.0.0/8", NeedEncap: true };
const NAT = { Type: "OutBoundNAT", Settings: { Exceptions: EXCEPTIONS } };
const ROUTE = { Type: "SDNRoute", Settings: { DestinationPrefix: "10.0.0.0/8", NeedEncap: true } };

/** The plugin's part of the stock conflist, as the runtime passes it. */
const STOCK = {
  cniVersion: "0.3.0",
  name: "azure",
  type: "azure-vnet",
  capabilities: { portMappings: true, dns: true },
  ipam: { type: "azure-vnet-ipam" },
  dns: { Nameservers: ["10.0.0.10", "168.63.129.16"], Search: ["svc.cluster.local"] },
  AdditionalArgs: [NAT_V1, ROUTE_V1].map(endpointPolicy),
};

const address = (text: string) => defined(parseInterfaceAddress(text), text);
const gateway = defined(parseIp("10.240.0.1"), "gateway");
const IPAM: CniResult = {
  interfaces: [],
  ips: [{ address: address("10.240.0.35/16"), gateway }],
  routes: [{ destination: address("0.0.0.0/0"), gateway }],
  dns: { nameservers: ["168.63.129.16"], domain: "", search: [], options: [] },
};

const NETWORK = {
  MacPool: {},
  Name: "azure",
  Type: "L2Bridge",
  Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } }],
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.240.0.0/16",
          Routes: [{ NextHop: "10.240.0.1", DestinationPrefix: "0.0.0.0/0" }],
        },
      ],
    },
  ],
  Flags: 8,
  ...V2,
};

const RESULT = {
  cniVersion: "0.3.0",
  interfaces: [{ name: "eth0" }],
  ips: [{ version: "4", address: "10.240.0.35/16", gateway: "10.240.0.1" }],
  routes: [{ dst: "0.0.0.0/0", gw: "10.240.0.1" }],
  dns: { nameservers: ["168.63.129.16"] },
};

function node(): AzureNode {
  const made = azureNode("upstream");
  made.ipam.result = IPAM;
  return made;
}

function azureNetworkId({ client }: AzureNode): unknown {
  return client.list("Network").find(({ Name }) => Name === "azure")?.["ID"];
}

function endpoint(own: AzureNode, fields: object = {}): object {
  return {
    Name: "7c5e1f0a-eth0",
    HostComputeNetwork: azureNetworkId(own),
    Policies: [NAT, ROUTE],
    IpConfigurations: [{ IpAddress: "10.240.0.35", PrefixLength: 16 }],
    Dns: { Search: ["default.svc.cluster.local"], ServerList: ["10.0.0.10", "168.63.129.16"] },
    Routes: [{ NextHop: "10.240.0.1", DestinationPrefix: "0.0.0.0/0" }],
    ...V2,
    ...fields,
  };
}

describe("azure-vnet (cni.md §7.E)", () => {
  it("CNI-EX-E1 the stock list, first pod of the node: the network is made", async () => {
    const own = node();
    const run = await own.run("ADD", STOCK);
    expect(JSON.parse(run.stdout)).toEqual(RESULT);
    expect(own.client.bodiesOf("create Network")).toEqual([NETWORK]);
    expect(own.client.bodiesOf("create Endpoint")).toEqual([endpoint(own)]);
    const id = own.client.list("Endpoint")[0]?.["ID"];
    expect(own.client.calls.at(-1)).toEqual({
      call: "modify Namespace",
      id: NAMESPACE,
      body: { ResourceType: "Endpoint", RequestType: "Add", Settings: { EndpointId: id } },
    });
  });

  it("CNI-EX-E1 a NIC that is the host's part of a switch is not named to HNS", async () => {
    const own = node();
    const interfaces = [{ name: "vEthernet (Ethernet)", mac: "", addresses: [address("10.240.0.4/16")] }];
    Object.assign(own.host, { interfaces: () => interfaces });
    await own.run("ADD", STOCK);
    const { Policies: _none, ...rest } = NETWORK;
    expect(own.client.bodiesOf("create Network")).toEqual([rest]);
  });

  it("CNI-EX-E2 CNI-131 CNI-141 second pod: the runtime's DNS alone, one host port", async () => {
    const own = node();
    await own.run("ADD", STOCK);
    await own.run("DEL", STOCK);
    const runtimeConfig = {
      dns: {
        Servers: ["10.0.0.10"],
        Searches: ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"],
        Options: ["ndots:5"],
      },
      portMappings: [{ HostPort: 8080, ContainerPort: 80, Protocol: "tcp", HostIP: "" }],
    };
    const run = await own.run("ADD", { ...STOCK, runtimeConfig });
    const mapping = {
      Type: "PortMapping",
      Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080, Flags: 1 },
    };
    expect(own.client.bodiesOf("create Endpoint")[1]).toEqual(
      endpoint(own, {
        Policies: [NAT, ROUTE, mapping],
        Dns: {
          Search: ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"],
          ServerList: ["10.0.0.10"],
          Options: ["ndots:5"],
        },
      }),
    );
    expect(own.client.bodiesOf("create Network")).toHaveLength(1);
    expect(JSON.parse(run.stdout)).toEqual(RESULT);
  });

  it("CNI-EX-E3 a sandbox without a namespace: HNS v1", async () => {
    const own = node();
    const portMappings = [{ hostPort: 8080, containerPort: 80, protocol: "tcp" }];
    const stdin = { ...STOCK, runtimeConfig: { portMappings } };
    const run = await own.run("ADD", stdin, { CNI_NETNS: "none" });
    expect(own.client.bodiesOf("POST /networks/")).toEqual([
      {
        Name: "azure",
        Type: "l2bridge",
        NetworkAdapterName: "Ethernet",
        Subnets: [{ AddressPrefix: "10.240.0.0/16", GatewayAddress: "10.240.0.1" }],
      },
    ]);
    expect(own.client.bodiesOf("POST /endpoints/")).toEqual([
      {
        Name: "7c5e1f0a-eth0",
        VirtualNetwork: azureNetworkId(own),
        Policies: [NAT_V1, ROUTE_V1, { Type: "NAT", Protocol: "TCP", InternalPort: 80, ExternalPort: 8080 }],
        IPAddress: "10.240.0.35",
        PrefixLength: 16,
        DNSSuffix: "default.svc.cluster.local",
        DNSServerList: "10.0.0.10,168.63.129.16",
      },
    ]);
    const id = own.client.list("Endpoint")[0]?.["ID"] as string;
    expect(own.client.calls.at(-1)).toEqual({
      call: "modify ComputeSystem",
      id: "7c5e1f0a9b3d4e6f",
      body: { ResourceType: "Network", RequestType: "Add", Settings: id },
    });
    expect(JSON.parse(run.stdout)).toEqual(RESULT);
    expect(own.timers).toEqual([]);
  });

  it("an HNS that does not tell its version is an old one: the pause, and the pod works", async () => {
    const own = node();
    own.client.failNext("GET /globals/version", new HcnError("E_NOTIMPL"));
    own.timersRing = true;
    expect((await own.run("ADD", STOCK, { CNI_NETNS: "none" })).status).toBe(0);
    expect(own.timers).toEqual([10_000]);
  });

  it("CNI-EX-E3 ten seconds of pause after a new network on Windows 1803", async () => {
    const own = node();
    own.client.version = { Major: 7, Minor: 2 };
    own.timersRing = true;
    await own.run("ADD", STOCK, { CNI_NETNS: "none" });
    expect(own.timers).toEqual([10_000]);
  });

  it("CNI-EX-E9 loopback DSR, and HCN without it", async () => {
    const own = node();
    const stdin = { ...STOCK, windowsSettings: { enableLoopbackDSR: true } };
    await own.run("ADD", stdin);
    const loopback = { Type: "OutBoundNAT", Settings: { Destinations: ["10.240.0.35"] } };
    expect(own.client.bodiesOf("create Endpoint")).toEqual([
      endpoint(own, { Policies: [NAT, ROUTE, loopback] }),
    ]);
    const old = node();
    old.client.version = { Major: 9, Minor: 2 };
    expect(errorOf(await old.run("ADD", stdin)).msg).toContain("hcn doesn't support DSR");
  });

  it("CNI-EX-E10 CNI-128 a policy in the form of HCN; the address is given back", async () => {
    const own = node();
    const policy = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/8"] } };
    const run = await own.run("ADD", { ...STOCK, AdditionalArgs: [endpointPolicy(policy)] });
    expect(errorOf(run)).toEqual({
      code: 999,
      msg: "failed to create endpoint: unexpected end of JSON input",
    });
    expect(own.ipam.verbs).toEqual(["ADD", "DEL"]);
    expect(own.ipam.requests[1]?.configuration["ipam"]).toEqual({
      type: "azure-vnet-ipam",
      subnet: "10.240.0.0/16",
      ipAddress: "10.240.0.35",
    });
    expect(own.client.list("Endpoint")).toEqual([]);
  });

  it("CNI-EX-E11 CNI-130 name servers without search; not looked at beside the runtime's", async () => {
    const own = node();
    const stdin = { ...STOCK, dns: { Nameservers: ["10.0.0.10"] } };
    const run = await own.run("ADD", stdin);
    expect(errorOf(run)).toEqual({
      code: 100,
      msg: "Failed to getEndpointDNSSettings: Wrong DNS configuration: {Nameservers:[10.0.0.10] Domain: Search:[] Options:[]}",
    });
    const dns = { servers: ["10.0.0.10"] };
    expect((await own.run("ADD", { ...stdin, runtimeConfig: { dns } })).status).toBe(0);
  });

  it("CNI-EX-E12 CNI-132 no pod in CNI_ARGS: ADD refuses, DEL goes on", async () => {
    const own = node();
    const env = { CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAMESPACE=default" };
    expect(errorOf(await own.run("ADD", STOCK, env))).toEqual({
      code: 100,
      msg: "Pod Name not specified in CNI Args",
    });
    expect(errorOf(await own.run("ADD", STOCK, { CNI_ARGS: "" }))).toEqual({
      code: 100,
      msg: "Pod Namespace not specified in CNI Args",
    });
    expect(own.ipam.verbs).toEqual([]);
    await own.run("ADD", STOCK);
    expect(await own.run("DEL", STOCK, { CNI_ARGS: "" })).toMatchObject({ status: 0, stdout: "" });
    expect(own.client.list("Endpoint")).toEqual([]);
  });

  it("CNI-EX-E13 no interface in the pods' subnet: the address is given back", async () => {
    const own = node();
    own.ipam.result = { ...IPAM, ips: [{ address: address("10.99.0.35/16"), gateway }] };
    expect(errorOf(await own.run("ADD", STOCK))).toEqual({
      code: 100,
      msg: "Failed to find the master interface",
    });
    expect(own.ipam.verbs).toEqual(["ADD", "DEL"]);
    expect(own.client.calls).toEqual([]);
  });

  it("CNI-EX-E14 DEL after a reboot, the state gone: released by container, success", async () => {
    const own = node();
    const run = await own.run("DEL", STOCK);
    expect(run).toMatchObject({ status: 0, stdout: "" });
    expect(own.client.calls).toEqual([]);
    expect(own.ipam.verbs).toEqual(["DEL"]);
    expect(own.ipam.requests[0]?.configuration["ipam"]).toEqual({ type: "azure-vnet-ipam" });
  });
});

// azure-vnet with CNS in the worked examples of cni.md §7.E, and the rows of §8 that CNS has a part in.
import { describe, expect, it } from "vitest";
import { HcnError } from "#contracts/hcn/error.ts";
import { errorOf } from "#test/support/cni/cni-process.ts";
import {
  AZURE_CONTAINER,
  AZURE_POD,
  type CnsNode,
  TENANT,
  cnsNode,
  configuration,
  pool,
} from "#test/support/cni/cns-node.ts";
import { NAMESPACE } from "#test/support/cni/windows-plugin-node.ts";
import { PLAIN_POD_IP } from "../cns/service.ts";

const MODES = ["upstream", "hardened"] as const;
// What hcsshim writes into every document beside its fields: structs, however empty.
const V2 = { Health: { Extra: {} }, SchemaVersion: { Major: 2, Minor: 0 } };
const EXCEPTIONS = ["10.240.0.0/16", "10.0.0.0/8"];
const endpointPolicy = (Value: object) => ({ Name: "EndpointPolicy", Value });
const NAT_V1 = { Type: "OutBoundNAT", ExceptionList: EXCEPTIONS };
const ROUTE_V1 = { Type: "ROUTE", DestinationPrefix: "10.0.0.0/8", NeedEncap: true };
const NAT = { Type: "OutBoundNAT", Settings: { Exceptions: EXCEPTIONS } };
const ROUTE = { Type: "SDNRoute", Settings: { DestinationPrefix: "10.0.0.0/8", NeedEncap: true } };
const DNS = { Search: ["default.svc.cluster.local"], ServerList: ["10.0.0.10", "168.63.129.16"] };

/** The plugin's part of the lists that come with Azure CNI. */
function list(fields: object = {}) {
  return {
    cniVersion: "0.3.0",
    name: "azure",
    type: "azure-vnet",
    capabilities: { portMappings: true, dns: true },
    ipam: { type: "azure-cns" },
    dns: { Nameservers: ["10.0.0.10", "168.63.129.16"], Search: ["svc.cluster.local"] },
    AdditionalArgs: [NAT_V1, ROUTE_V1].map(endpointPolicy),
    ...fields,
  };
}

const SWIFT = list({
  cniVersion: "1.0.0",
  executionMode: "v4swift",
  windowsSettings: { hnsTimeoutDurationInSeconds: 120 },
});
const OVERLAY = list({ ipam: { type: "azure-cns", mode: "overlay" } });

const ACLS = [
  {
    Type: "ACL",
    Protocols: "6",
    Action: "Block",
    Direction: "Out",
    RemoteAddresses: "168.63.129.16",
    RemotePorts: "80",
    Priority: 200,
    RuleType: "Switch",
  },
  { Type: "ACL", Action: "Allow", Direction: "In", Priority: 65500 },
  { Type: "ACL", Action: "Allow", Direction: "Out", Priority: 65500 },
];
const TENANCY = list({
  multiTenancy: true,
  enableSnatOnHost: true,
  enableExactMatchForPodName: true,
  AdditionalArgs: [NAT_V1, ROUTE_V1, ...ACLS].map(endpointPolicy),
  windowsSettings: { hnsTimeoutDurationInSeconds: 120 },
});
const ACL_SETTINGS = [
  {
    Type: "ACL",
    Settings: {
      Protocols: "6",
      Action: "Block",
      Direction: "Out",
      RemoteAddresses: "168.63.129.16",
      RemotePorts: "80",
      RuleType: "Switch",
      Priority: 200,
    },
  },
  { Type: "ACL", Settings: { Action: "Allow", Direction: "In", Priority: 65500 } },
  { Type: "ACL", Settings: { Action: "Allow", Direction: "Out", Priority: 65500 } },
];

function network(name: string, subnets: readonly object[]): object {
  return {
    MacPool: {},
    Name: name,
    Type: "L2Bridge",
    Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } }],
    Ipams: [{ Type: "Static", Subnets: subnets }],
    Flags: 8,
    ...V2,
  };
}

function idOf({ client }: CnsNode, name: string): unknown {
  return client.list("Network").find(({ Name }) => Name === name)?.["ID"];
}

function bodiesTo(own: CnsNode, path: string): readonly unknown[] {
  return own.requests
    .filter(({ url }) => url.endsWith(path))
    .map(({ body }) => JSON.parse(body ?? "null") as unknown);
}

const SWIFT_POOL = pool("10.241.0.4/16", "10.241.0.1", "10.241.0.9");
const OVERLAY_POOL = pool("10.244.1.0/24", "", "10.244.1.5");
const DEFAULT_V4 = { NextHop: "10.244.1.1", DestinationPrefix: "0.0.0.0/0" };
const DEFAULT_V6 = { NextHop: "fe80::1234:5678:9abc", DestinationPrefix: "::/0" };

describe("azure-vnet with CNS (cni.md §7.E)", () => {
  it("CNI-EX-E4 swift: an address of the pods' subnet, the two rules of source NAT", async () => {
    const own = cnsNode();
    own.cns.pool.add(SWIFT_POOL);
    const run = await own.run("ADD", SWIFT);
    expect(bodiesTo(own, "/network/requestipconfigs")).toEqual([
      {
        desiredIPAddresses: null,
        podInterfaceID: "7c5e1f0a-eth0",
        infraContainerID: AZURE_CONTAINER,
        orchestratorContext: AZURE_POD,
        ifname: "",
        secondaryInterfacesExist: false,
        BackendInterfaceExist: false,
        BacknendInterfaceMacAddress: null,
      },
    ]);
    expect(own.requests[0]).toMatchObject({
      method: "POST",
      url: "http://localhost:10090/network/requestipconfigs",
      timeoutMs: 15_000,
    });
    expect(own.client.bodiesOf("create Endpoint")).toEqual([
      {
        Name: "7c5e1f0a-eth0",
        HostComputeNetwork: idOf(own, "azure"),
        Policies: [
          NAT,
          ROUTE,
          { Type: "OutBoundNAT", Settings: { VirtualIP: "10.241.0.4", Destinations: ["168.63.129.16"] } },
          { Type: "OutBoundNAT", Settings: { Destinations: ["169.254.169.254"] } },
        ],
        IpConfigurations: [{ IpAddress: "10.241.0.9", PrefixLength: 16 }],
        Dns: DNS,
        Routes: [{ NextHop: "10.241.0.1", DestinationPrefix: "0.0.0.0/0" }],
        ...V2,
      },
    ]);
    expect(JSON.parse(run.stdout)).toEqual({
      cniVersion: "1.0.0",
      interfaces: [{ name: "eth0" }],
      ips: [{ address: "10.241.0.9/16", gateway: "10.241.0.1" }],
      routes: [{ dst: "0.0.0.0/0", gw: "10.241.0.1" }],
    });
  });

  it("CNI-EX-E4 Windows Server 2019 has no such rules", async () => {
    const own = cnsNode();
    own.cns.pool.add(SWIFT_POOL);
    own.client.version = { Major: 9, Minor: 5 };
    await own.run("ADD", SWIFT);
    expect(own.client.bodiesOf("create Endpoint")).toMatchObject([{ Policies: [NAT, ROUTE] }]);
  });

  it("CNI-EX-E5 CNI-140 overlay without a gateway: the first address of the subnet", async () => {
    const own = cnsNode();
    own.cns.pool.add(OVERLAY_POOL);
    const run = await own.run("ADD", OVERLAY);
    const subnet = { IpAddressPrefix: "10.244.1.0/24", Routes: [DEFAULT_V4] };
    expect(own.client.bodiesOf("create Network")).toEqual([network("azure", [subnet])]);
    expect(own.client.bodiesOf("create Endpoint")).toEqual([
      {
        Name: "7c5e1f0a-eth0",
        HostComputeNetwork: idOf(own, "azure"),
        Policies: [NAT, ROUTE],
        IpConfigurations: [{ IpAddress: "10.244.1.5", PrefixLength: 24 }],
        Dns: DNS,
        Routes: [DEFAULT_V4],
        ...V2,
      },
    ]);
    expect(JSON.parse(run.stdout)).toEqual({
      cniVersion: "0.3.0",
      interfaces: [{ name: "eth0" }],
      ips: [{ version: "4", address: "10.244.1.5/24", gateway: "10.244.1.1" }],
      routes: [{ dst: "0.0.0.0/0", gw: "10.244.1.1" }],
      dns: {},
    });
  });

  it("CNI-EX-E6 CNI-140 CNI-141 dual-stack overlay with a host port", async () => {
    const own = cnsNode();
    own.cns.pool.add(pool("10.244.1.0/24", "", "10.244.1.6"));
    own.cns.pool.add(pool("fd12:1::/64", "", "fd12:1::6"));
    const portMappings = [{ HostPort: 8080, ContainerPort: 80, Protocol: "tcp", HostIP: "" }];
    const run = await own.run("ADD", { ...OVERLAY, runtimeConfig: { portMappings } });
    expect(own.client.bodiesOf("create Network")).toEqual([
      network("azure", [
        { IpAddressPrefix: "10.244.1.0/24", Routes: [DEFAULT_V4] },
        { IpAddressPrefix: "fd12:1::/64", Routes: [DEFAULT_V6] },
      ]),
    ]);
    const mapping = { Protocol: 6, InternalPort: 80, ExternalPort: 8080 };
    expect(own.client.bodiesOf("create Endpoint")).toEqual([
      {
        Name: "7c5e1f0a-eth0",
        HostComputeNetwork: idOf(own, "azure"),
        Policies: [
          NAT,
          ROUTE,
          { Type: "PortMapping", Settings: { ...mapping, Flags: 1 } },
          { Type: "PortMapping", Settings: { ...mapping, Flags: 2 } },
        ],
        IpConfigurations: [
          { IpAddress: "10.244.1.6", PrefixLength: 24 },
          { IpAddress: "fd12:1::6", PrefixLength: 64 },
        ],
        Dns: DNS,
        Routes: [DEFAULT_V4, DEFAULT_V6],
        ...V2,
      },
    ]);
    expect(own.commands).toEqual([
      '((Get-NetIPInterface | where InterfaceAlias -Like "vEthernet*").IfIndex)[0]',
      "Get-NetRoute -DestinationPrefix ::/0 -PolicyStore Persistentstore",
    ]);
    expect(JSON.parse(run.stdout)).toEqual({
      cniVersion: "0.3.0",
      interfaces: [{ name: "eth0" }],
      ips: [
        { version: "4", address: "10.244.1.6/24", gateway: "10.244.1.1" },
        { version: "6", address: "fd12:1::6/64", gateway: "fe80::1234:5678:9abc" },
      ],
      routes: [
        { dst: "0.0.0.0/0", gw: "10.244.1.1" },
        { dst: "::/0", gw: "fe80::1234:5678:9abc" },
      ],
      dns: {},
    });
  });

  it("CNI-EX-E6 the node has no persistent default route of IPv6: it is made; no PowerShell hinders no pod", async () => {
    const own = cnsNode("hardened");
    own.cns.pool.add(pool("fd12:1::/64", "", "fd12:1::6"));
    const commands: string[] = [];
    own.host.shell.powershell = (script) => {
      commands.push(script);
      if (script.startsWith("Get-NetRoute")) return Promise.reject(new Error("no matching route"));
      return Promise.resolve("7\r\n");
    };
    expect(await own.run("ADD", OVERLAY)).toMatchObject({ status: 0, stderr: "" });
    const route = "-DestinationPrefix ::/0 -InterfaceIndex 7 -NextHop fe80::1234:5678:9abc -confirm:$false";
    expect(commands[2]).toBe(`Remove-NetRoute ${route};New-NetRoute ${route}`);

    const bare = cnsNode("hardened");
    bare.cns.pool.add(pool("fd12:1::/64", "", "fd12:1::6"));
    bare.host.shell.powershell = () => Promise.reject(new Error("spawn powershell ENOENT"));
    expect(await bare.run("ADD", OVERLAY)).toMatchObject({
      status: 0,
      stderr: "azure-vnet: the node's default route of IPv6 could not be made: spawn powershell ENOENT\n",
    });
  });

  const TENANT_NETWORK = "azure-vlan5-10-1-0-0_24";
  const tenantEndpoint = (own: CnsNode, fields: object) => ({
    Name: "7c5e1f0a-eth0",
    HostComputeNetwork: idOf(own, TENANT_NETWORK),
    IpConfigurations: [{ IpAddress: "10.1.0.7", PrefixLength: 24 }],
    Dns: DNS,
    Routes: [{ NextHop: "10.1.0.1", DestinationPrefix: "0.0.0.0/0" }],
    ...V2,
    ...fields,
  });

  it("CNI-EX-E7 several tenants, the host translates: a network with the VLAN, no OutBoundNAT", async () => {
    const own = cnsNode("upstream", { supported: "<api>NetworkManagementDNSSupport</api>" });
    own.cns.addContainer(AZURE_POD, TENANT);
    const run = await own.run("ADD", TENANCY);
    expect(own.requests[0]).toMatchObject({
      method: "GET",
      url: "http://168.63.129.16/machine/plugins/?comp=nmagent&type=GetSupportedApis",
    });
    expect(own.client.bodiesOf("create Network")).toEqual([
      network(TENANT_NETWORK, [
        {
          IpAddressPrefix: "10.1.0.0/24",
          Routes: [{ NextHop: "10.1.0.1", DestinationPrefix: "0.0.0.0/0" }],
          Policies: [{ Type: "VLAN", Settings: { IsolationId: 5 } }],
        },
      ]),
    ]);
    expect(own.client.bodiesOf("create Endpoint")).toEqual([
      tenantEndpoint(own, { Policies: [ROUTE, ...ACL_SETTINGS] }),
    ]);
    expect(JSON.parse(run.stdout)).toEqual({
      cniVersion: "0.3.0",
      interfaces: [{ name: "eth0" }],
      ips: [{ version: "4", address: "10.1.0.7/24", gateway: "10.1.0.1" }],
      dns: {},
    });
  });

  it("CNI-EX-E8 source NAT for DNS, and the tenant's own ranges", async () => {
    const own = cnsNode("upstream", { supported: "NetworkManagementSnatSupport" });
    const CnetAddressSpace = [{ IPAddress: "10.2.0.0", PrefixLength: 16 }];
    own.cns.addContainer(AZURE_POD, { ...TENANT, CnetAddressSpace });
    await own.run("ADD", TENANCY);
    expect(own.client.bodiesOf("create Endpoint")).toEqual([
      tenantEndpoint(own, {
        Policies: [
          { Type: "OutBoundNAT", Settings: { Exceptions: [...EXCEPTIONS, "10.2.0.0/16"] } },
          ROUTE,
          ...ACL_SETTINGS,
          { Type: "OutBoundNAT", Settings: { Destinations: ["168.63.129.16"] } },
        ],
        Routes: [
          { NextHop: "10.1.0.1", DestinationPrefix: "10.2.0.0/16" },
          { NextHop: "10.1.0.1", DestinationPrefix: "0.0.0.0/0" },
        ],
      }),
    ]);
  });

  it("CNI-EX-E8 neither call: no default route, and the container needs an address of its own on the host", async () => {
    const own = cnsNode("upstream", { supported: "none" });
    own.cns.addContainer(AZURE_POD, TENANT);
    await own.run("ADD", TENANCY);
    expect(own.client.bodiesOf("create Endpoint")[0]).not.toHaveProperty("Routes");

    const bare = cnsNode("upstream", { supported: "none" });
    bare.cns.addContainer(AZURE_POD, { ...TENANT, LocalIPConfiguration: configuration("/0", "") });
    expect(errorOf(await bare.run("ADD", TENANCY)).msg).toBe(
      "GetAllNetworkContainers failed for podname web-0 namespace default. error: Snat IP not populated",
    );
    expect(bare.client.calls).toEqual([]);
  });

  it("CNI-EX-E15 CNI-137 DEL while CNS is down: the endpoint goes, a file is left for CNS", async () => {
    const own = cnsNode();
    own.cns.pool.add(SWIFT_POOL);
    await own.run("ADD", SWIFT);
    const reach = own.host.http;
    Object.assign(own.host, { http: () => Promise.reject(new Error("connection refused")) });
    expect(await own.run("DEL", SWIFT)).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(own.client.list("Endpoint")).toEqual([]);
    expect([...own.pending]).toEqual([[AZURE_CONTAINER, "7c5e1f0a-eth0"]]);
    expect(own.cns.pool.all().filter(({ holder }) => holder !== undefined)).toHaveLength(1);
    // CNS is there again and works it off.
    Object.assign(own.host, { http: reach });
    await own.cns.drain({
      list: async () =>
        [...own.pending].map(([containerId, podInterfaceId]) => ({ containerId, podInterfaceId })),
      remove: async (id) => {
        own.pending.delete(id);
      },
    });
    expect(own.pending.size).toBe(0);
    expect(own.cns.pool.all().filter(({ holder }) => holder !== undefined)).toEqual([]);
  });

  it("CNI-EX-E15 CNI-137 disableAsyncDelete: code 11, and a later DEL succeeds", async () => {
    for (const compat of MODES) {
      const own = cnsNode(compat);
      own.cns.pool.add(SWIFT_POOL);
      const stdin = { ...SWIFT, disableAsyncDelete: true };
      await own.run("ADD", stdin);
      const reach = own.host.http;
      Object.assign(own.host, { http: () => Promise.reject(new Error("connection refused")) });
      const failed = errorOf(await own.run("DEL", stdin));
      expect(failed.code).toBe(11);
      expect(failed.msg).toContain("using ReleaseIPs and async delete is disabled");
      expect(own.pending.size).toBe(0);
      Object.assign(own.host, { http: reach });
      expect((await own.run("DEL", stdin)).status).toBe(0);
      expect(own.cns.pool.all().filter(({ holder }) => holder !== undefined)).toEqual([]);
    }
  });

  const MAC = "60:45:bd:12:45:65";
  const FRONTEND = {
    ...PLAIN_POD_IP,
    NICType: "FrontendNIC",
    MacAddress: MAC,
    PodIPConfig: { IPAddress: "10.20.0.8", PrefixLength: 24 },
    NetworkContainerPrimaryIPConfig: configuration("10.20.0.8/24", "10.20.0.1"),
  };

  function withSecondAdapter(own: CnsNode): CnsNode {
    const before = own.host.interfaces();
    const second = { name: "Ethernet 2", mac: "60-45-BD-12-45-65", addresses: [] };
    Object.assign(own.host, { interfaces: () => [...before, second] });
    return own;
  }

  it("CNI-EX-E16 an interface of the pod's own: a transparent network for it alone", async () => {
    const own = withSecondAdapter(cnsNode("upstream", { isStateless: true, keepsEndpoints: true }));
    own.cns.addInterface(AZURE_POD, FRONTEND);
    const run = await own.run("ADD", list());
    expect(own.client.bodiesOf("create Network")).toEqual([
      {
        MacPool: {},
        Name: `azure-${MAC}`,
        Type: "Transparent",
        Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet 2" } }],
        Ipams: [
          {
            Type: "Static",
            Subnets: [
              {
                IpAddressPrefix: "10.20.0.0/24",
                Routes: [{ NextHop: "10.20.0.1", DestinationPrefix: "0.0.0.0/0" }],
              },
            ],
          },
        ],
        Flags: 9224,
        ...V2,
      },
    ]);
    expect(own.client.bodiesOf("create Endpoint")).toEqual([
      {
        Name: "7c5e1f0a-eth1",
        HostComputeNetwork: idOf(own, `azure-${MAC}`),
        Policies: [NAT, ROUTE, { Type: "Iov", Settings: { IovOffloadWeight: 100, QueuePairsRequested: 1 } }],
        IpConfigurations: [{ IpAddress: "10.20.0.8", PrefixLength: 24 }],
        Dns: DNS,
        MacAddress: "60-45-bd-12-45-65",
        ...V2,
      },
    ]);
    expect(JSON.parse(run.stdout)).toMatchObject({
      interfaces: [{ name: "eth0", mac: MAC }],
      ips: [{ address: "10.20.0.8/24" }],
    });
    await own.run("DEL", list());
    expect([own.client.list("Endpoint"), idOf(own, `azure-${MAC}`)]).toEqual([[], undefined]);
  });

  it("CNI-EX-E16 a network of that name is an error, and nothing is left", async () => {
    const own = withSecondAdapter(cnsNode("upstream", { isStateless: true, keepsEndpoints: true }));
    own.cns.addInterface(AZURE_POD, FRONTEND);
    own.client.put("Network", {
      ID: "0fb28d70-306c-469d-9690-3245a82d8899",
      Name: `azure-${MAC}`,
      Type: "Transparent",
    });
    expect(errorOf(await own.run("ADD", list())).msg).toContain(
      `HNS network with name:azure-${MAC} already exists. Returning error for transparent network`,
    );
    expect(own.client.list("Endpoint")).toEqual([]);
    expect(idOf(own, `azure-${MAC}`)).toBe("0fb28d70-306c-469d-9690-3245a82d8899");
  });

  it.each(MODES)("CNI-EX-E16 %s: beside the cluster's network: two endpoints, one result", async (compat) => {
    const own = withSecondAdapter(cnsNode(compat));
    own.cns.pool.add(SWIFT_POOL);
    own.cns.addInterface(AZURE_POD, FRONTEND);
    const run = await own.run("ADD", list());
    expect(own.client.bodiesOf("create Endpoint")).toMatchObject([
      {
        Name: "7c5e1f0a-eth0",
        Routes: [
          { NextHop: "10.241.0.1", DestinationPrefix: "0.0.0.0/0" },
          { NextHop: "0.0.0.0", DestinationPrefix: "0.0.0.0/0" },
        ],
      },
      { Name: "7c5e1f0a-eth2", MacAddress: "60-45-bd-12-45-65" },
    ]);
    expect(JSON.parse(run.stdout)).toMatchObject({
      interfaces: [{ name: "eth0" }],
      ips: [{ address: "10.241.0.9/16" }],
    });
    expect((await own.run("DEL", list())).status).toBe(0);
    expect(own.client.list("Endpoint")).toEqual([]);
    expect(own.cns.pool.all().filter(({ holder }) => holder !== undefined)).toEqual([]);
  });
});

describe("rows of cni.md §8 with CNS", () => {
  it.each(MODES)("CNI-138 %s: CNS of old: the calls for one address", async (compat) => {
    const own = cnsNode(compat, { isOld: true });
    own.cns.pool.add(SWIFT_POOL);
    expect((await own.run("ADD", SWIFT)).status).toBe(0);
    expect((await own.run("DEL", SWIFT)).status).toBe(0);
    const paths = own.requests.map(({ url }) => url.replace("http://localhost:10090/network/", ""));
    expect(paths).toEqual(["requestipconfigs", "requestipconfig", "releaseipconfigs", "releaseipconfig"]);
    expect(own.cns.pool.all().filter(({ holder }) => holder !== undefined)).toEqual([]);
  });

  it.each(MODES)("CNI-138 %s: the return code 43 means the same", async (compat) => {
    const own = cnsNode(compat);
    own.cns.pool.add(SWIFT_POOL);
    const reach = own.host.http;
    const refuse = { status: 200, text: '{"response":{"ReturnCode":43,"Message":"Unsupported API"}}' };
    Object.assign(own.host, {
      http: (request: Parameters<typeof reach>[0]) =>
        request.url.endsWith("configs") ? Promise.resolve(refuse) : reach(request),
    });
    expect((await own.run("ADD", SWIFT)).status).toBe(0);
  });

  it.each(MODES)("CNI-139 %s: two interfaces with default routes, or none", async (compat) => {
    const both = cnsNode(compat);
    both.cns.pool.add(SWIFT_POOL);
    const reach = both.host.http;
    const second = { ...PLAIN_POD_IP, NICType: "FrontendNIC", MacAddress: "60:45:bd:12:45:65" };
    const info = { ...second, PodIPConfig: { IPAddress: "10.20.0.8", PrefixLength: 24 } };
    Object.assign(both.host, {
      http: async (request: Parameters<typeof reach>[0]) => {
        const answer = await reach(request);
        if (!request.url.endsWith("requestipconfigs")) return answer;
        const body = JSON.parse(answer.text) as { podIPInfo: object[] };
        return { ...answer, text: JSON.stringify({ ...body, podIPInfo: [...body.podIPInfo, info] }) };
      },
    });
    const failed = errorOf(await both.run("ADD", SWIFT));
    expect(failed.code).toBe(999);
    expect(failed.msg).toContain("add result requires exactly one interface with default routes");
    expect(both.client.calls).toEqual([]);
    // Upstream leaves the address with the container until DEL.
    const held = (): number => both.cns.pool.all().filter(({ holder }) => holder !== undefined).length;
    expect(held()).toBe(compat === "upstream" ? 1 : 0);
    await both.run("DEL", SWIFT);
    expect(held()).toBe(0);
  });

  it.each(MODES)("CNI-140 %s: without an overlay CNS must name the gateway", async (compat) => {
    const own = cnsNode(compat);
    own.cns.pool.add(pool("10.241.0.4/16", "", "10.241.0.9"));
    expect(errorOf(await own.run("ADD", SWIFT)).msg).toContain(
      "Gateway address  from response is invalid: invalid arg(s)",
    );
  });

  it("CNI-156 two containers that begin alike: upstream has one name for both, hardened two", async () => {
    const other = { CNI_CONTAINERID: "7c5e1f0affffffff" };
    const stocked = (compat: (typeof MODES)[number]): CnsNode => {
      const own = cnsNode(compat);
      own.cns.pool.add(pool("10.241.0.4/16", "10.241.0.1", "10.241.0.9", "10.241.0.10"));
      return own;
    };
    const upstream = stocked("upstream");
    await upstream.run("ADD", SWIFT);
    await upstream.run("ADD", SWIFT, other);
    // CNS takes the second for the first: the same address, and a name that is there already.
    const { client } = upstream;
    expect(client.bodiesOf("create Endpoint")).toMatchObject([
      { Name: "7c5e1f0a-eth0", IpConfigurations: [{ IpAddress: "10.241.0.9" }] },
      { Name: "7c5e1f0a-eth0", IpConfigurations: [{ IpAddress: "10.241.0.9" }] },
    ]);

    const hardened = stocked("hardened");
    await hardened.run("ADD", SWIFT);
    expect((await hardened.run("ADD", SWIFT, other)).status).toBe(0);
    expect(hardened.client.list("Endpoint")).toMatchObject([
      { Name: "7c5e1f0a-eth0", IpConfigurations: [{ IpAddress: "10.241.0.9" }] },
      { Name: "7c5e1f0affffffff-eth0", IpConfigurations: [{ IpAddress: "10.241.0.10" }] },
    ]);
    await hardened.run("DEL", SWIFT);
    expect(hardened.client.list("Endpoint")).toMatchObject([{ Name: "7c5e1f0affffffff-eth0" }]);
    await hardened.run("DEL", SWIFT, other);
    expect(hardened.client.list("Endpoint")).toEqual([]);
    expect(hardened.cns.pool.all().filter(({ holder }) => holder !== undefined)).toEqual([]);
  });

  it("HNS refuses the endpoint: the address is given back to CNS", async () => {
    for (const compat of MODES) {
      const own = cnsNode(compat);
      own.cns.pool.add(SWIFT_POOL);
      own.client.failNext("create Endpoint", new HcnError("ERROR_INVALID_PARAMETER"));
      expect((await own.run("ADD", SWIFT)).status).toBe(1);
      expect(bodiesTo(own, "/network/releaseipconfigs")).toMatchObject([
        { desiredIPAddresses: ["10.241.0.9"], podInterfaceID: "7c5e1f0a-eth0" },
      ]);
      expect(own.cns.pool.all().filter(({ holder }) => holder !== undefined)).toEqual([]);
    }
  });

  it("the namespace that the pod is in is the one of the call", async () => {
    const own = cnsNode("hardened");
    own.cns.pool.add(SWIFT_POOL);
    await own.run("ADD", SWIFT);
    expect(own.client.list("Endpoint")).toMatchObject([{ HostComputeNamespace: NAMESPACE }]);
  });
});

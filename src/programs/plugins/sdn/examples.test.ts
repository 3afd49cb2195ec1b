// nat, sdnbridge and sdnoverlay in the worked examples of cni.md §7.D: what HNS is asked for, what the runtime reads.
import { describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import { errorOf } from "#test/support/cni/cni-process.ts";
import { resultWith } from "#test/support/cni/scripted-plugin.ts";
import type { FakeHcnClient } from "#test/support/hns/fake-hcn-client.ts";
import { NAMESPACE, NETWORKS, sdnNode } from "#test/support/cni/windows-plugin-node.ts";
import { MemoryLeaseStore } from "../host-local/leases.ts";
import { HostLocal } from "../host-local/plugin.ts";
import type { SdnName } from "./conf.ts";

// What hcsshim writes into every document beside its fields: structs, however empty.
const V2 = { Health: { Extra: {} }, SchemaVersion: { Major: 2, Minor: 0 } };
const EXCEPTIONS = ["10.244.0.0/16", "10.96.0.0/12", "10.0.0.0/24"];
const NAT = { Type: "OutBoundNAT", Settings: { Exceptions: EXCEPTIONS } };
const ROUTE = { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } };
const PROVIDER = { Type: "ProviderAddress", Settings: { ProviderAddress: "10.0.0.7" } };
const endpointPolicy = (Value: object) => ({ Name: "EndpointPolicy", Value });
const route = (NextHop: string) => ({ NextHop, DestinationPrefix: "0.0.0.0/0" });
/** The MAC 00-15-5D-AA-BB-CC as upstream prints it. */
const GARBLED = { name: "eth0", mac: "\u0000\u0015]\ufffd\ufffd\ufffd" };
const acl = (LocalPorts: string) => ({
  Type: "ACL",
  Settings: { Protocols: "6", Action: "Allow", Direction: "In", LocalPorts, Priority: 1000 },
});

/** Runs ADD; `chosen` is what HNS chooses, `ips` what IPAM gives. */
async function add(
  name: SdnName,
  stdin: object,
  options: { chosen?: string; ips?: readonly string[]; env?: Record<string, string> } = {},
) {
  const node = sdnNode(name);
  if (options.chosen !== undefined) node.client.chosenAddresses = [options.chosen];
  if (options.ips !== undefined) node.ipam.result = resultWith(...options.ips);
  const run = await node.run("ADD", stdin, options.env);
  const [created] = node.client.bodiesOf("create Endpoint");
  return { ...node, run, created, result: JSON.parse(run.stdout || "{}") as JsonObject };
}

/** HNS tells the lengths of addresses, and its own choice of those that nobody asked for. */
function answering(client: FakeHcnClient, addresses: readonly (readonly [string, number])[]): void {
  const create = client.create.bind(client);
  client.create = async (kind, settings, parameters) => {
    const ID = await create(kind, settings, parameters);
    if (kind === "Endpoint") {
      const IpConfigurations = addresses.map(([IpAddress, PrefixLength]) => ({ IpAddress, PrefixLength }));
      client.put(kind, { ...(await client.query(kind, ID)), ID, IpConfigurations });
    }
    return ID;
  };
}

describe("nat (cni.md §7.D)", () => {
  const nat = (fields: object, cniVersion = "0.2.0") => ({ cniVersion, name: "nat", type: "nat", ...fields });
  const endpoint = (fields: object = {}) => ({
    Name: "SBX_nat",
    HostComputeNetwork: NETWORKS.nat,
    Dns: {},
    Routes: [route("172.24.32.1")],
    ...V2,
    ...fields,
  });

  it("CNI-EX-D1 CNI-150 containerd's own configuration, the network is there", async () => {
    const { client, created, result } = await add(
      "nat",
      nat({
        master: "Ethernet",
        ipam: { subnet: "172.24.32.0/20", routes: [{ GW: "172.24.32.1" }] },
        capabilities: { portMappings: true, dns: true },
      }),
      { chosen: "172.24.40.11" },
    );
    const id = client.list("Endpoint")[0]?.["ID"];
    expect(created).toEqual(endpoint());
    expect(client.calls.at(-1)).toEqual({
      call: "modify Namespace",
      id: NAMESPACE,
      body: { ResourceType: "Endpoint", RequestType: "Add", Settings: { EndpointId: id } },
    });
    expect(result).toEqual({
      cniVersion: "0.2.0",
      ip4: { ip: "172.24.40.11/20", gateway: "172.24.32.1" },
      dns: {},
    });
  });

  it("CNI-EX-D2 CNI-101 CNI-106 CNI-107 no such network: it is made; gateway is no name of a route's gateway", async () => {
    const { client, created, result } = await add(
      "nat",
      {
        cniVersion: "1.0.0",
        name: "natNetwork",
        type: "nat",
        master: "Ethernet",
        ipam: { subnet: "192.168.100.0/24", routes: [{ gateway: "192.168.100.5" }] },
      },
      { chosen: "192.168.100.37" },
    );
    expect(client.bodiesOf("create Network")).toEqual([
      {
        MacPool: {},
        Name: "natNetwork",
        Type: "NAT",
        Ipams: [
          {
            Type: "Static",
            Subnets: [{ IpAddressPrefix: "192.168.100.0/24", Routes: [route("192.168.100.1")] }],
          },
        ],
        Dns: {},
        ...V2,
      },
    ]);
    expect(created).toMatchObject({ Name: "SBX_natNetwork", Dns: {}, Routes: [route("192.168.100.1")] });
    expect(result).toEqual({
      cniVersion: "1.0.0",
      // As cni 1.1.2 prints it.
      dns: {},
      interfaces: [GARBLED],
      ips: [{ interface: 0, address: "192.168.100.37/24", gateway: "192.168.100.1" }],
    });
  });

  it("CNI-EX-D3 nerdctl's configuration: mask of HNS, gateway of the configuration, which is useless", async () => {
    const ipam = { type: "", subnet: "10.4.0.0/24", routes: [{ gateway: "10.4.0.1" }] };
    const { created, result } = await add("nat", nat({ ipam }, "1.0.0"), { chosen: "172.24.40.12" });
    expect(created).toEqual(endpoint({ Routes: [route("10.4.0.1")] }));
    expect(result).toEqual({
      cniVersion: "1.0.0",
      // As cni 1.1.2 prints it.
      dns: {},
      interfaces: [GARBLED],
      ips: [{ interface: 0, address: "172.24.40.12/20", gateway: "10.4.0.1" }],
    });
  });

  it("CNI-EX-D4 no ipam at all", async () => {
    const { created, result } = await add("nat", nat({}), { chosen: "172.24.40.13" });
    const { Routes: _none, ...without } = endpoint();
    expect(created).toEqual(without);
    expect(result).toEqual({
      cniVersion: "0.2.0",
      ip4: { ip: "172.24.40.13/20", gateway: "172.24.32.1" },
      dns: {},
    });
  });

  it("CNI-EX-D5 CNI-103 the namespace of the pod before the first search entry", async () => {
    const fields = {
      dns: { Nameservers: ["8.8.8.8"], Search: ["corp.example"] },
      ipam: { subnet: "172.24.32.0/20" },
    };
    const { created } = await add("nat", nat(fields), {
      chosen: "172.24.40.14",
      env: { CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAMESPACE=web;K8S_POD_UID=x" },
    });
    expect(created).toEqual(endpoint({ Dns: { Search: ["web.corp.example"], ServerList: ["8.8.8.8"] } }));
    const unreadable = await add("nat", nat(fields), {
      chosen: "172.24.40.14",
      env: { CNI_ARGS: "K8S_POD_NAMESPACE=web;K8S_POD_UID=x" },
    });
    expect(unreadable.created).toMatchObject({ Dns: { Search: ["corp.example"] } });
  });

  it("CNI-EX-D6 CNI-108 CNI-109 a port that the node reaches, and an ACL that lets it in", async () => {
    const { created, result } = await add(
      "nat",
      nat(
        {
          optionalFlags: { localRoutedPortMapping: true, allowAclPortMapping: true },
          ipam: { subnet: "172.24.32.0/20" },
          runtimeConfig: { portMappings: [{ hostPort: 8080, containerPort: 80, protocol: "tcp" }] },
        },
        "0.3.0",
      ),
      { chosen: "172.24.40.15" },
    );
    const mapping = {
      Type: "PortMapping",
      Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080, Flags: 1 },
    };
    expect(created).toEqual(endpoint({ Policies: [mapping, acl("80")] }));
    expect(result).toEqual({
      cniVersion: "0.3.0",
      interfaces: [GARBLED],
      ips: [{ version: "4", interface: 0, address: "172.24.40.15/20", gateway: "172.24.32.1" }],
      dns: {},
    });
  });

  it("CNI-EX-D14 CNI-104 ADD again: the same answer, and nothing is attached", async () => {
    const node = sdnNode("nat");
    node.client.chosenAddresses = ["172.24.40.11"];
    const first = await node.run("ADD", nat({}));
    const again = await node.run("ADD", nat({}));
    expect(again.stdout).toBe(first.stdout);
    expect(node.client.bodiesOf("create Endpoint")).toHaveLength(1);
    expect(node.client.bodiesOf("modify Namespace")).toHaveLength(1);
  });
});

describe("sdnbridge (cni.md §7.D)", () => {
  const bridge = (fields: object, cniVersion = "0.3.0") => ({
    cniVersion,
    name: "cbr0",
    type: "sdnbridge",
    ...fields,
  });
  const IPAM = { type: "host-local", subnet: "10.244.3.0/24" };
  const AdditionalArgs = [NAT, ROUTE].map(endpointPolicy);

  it("CNI-EX-D7 with host-local: IPAM's gateway, not network + 2", async () => {
    const node = sdnNode("sdnbridge", "upstream", [
      new HostLocal({ store: new MemoryLeaseStore(), compat: "upstream" }),
    ]);
    const ipam = { ...IPAM };
    await node.run("ADD", bridge({ ipam, AdditionalArgs }), { CNI_CONTAINERID: "OTHER" });
    const run = await node.run("ADD", bridge({ ipam, AdditionalArgs }));
    expect(node.client.bodiesOf("create Endpoint")[1]).toEqual({
      Name: "SBX_cbr0",
      HostComputeNetwork: NETWORKS.cbr0,
      Policies: [NAT, ROUTE],
      IpConfigurations: [{ IpAddress: "10.244.3.3" }],
      Dns: {},
      Routes: [route("10.244.3.1")],
      ...V2,
    });
    expect(JSON.parse(run.stdout)).toEqual({
      cniVersion: "0.3.0",
      interfaces: [GARBLED],
      ips: [{ version: "4", interface: 0, address: "10.244.3.3/24", gateway: "10.244.3.1" }],
      dns: {},
    });
  });

  it("CNI-EX-D8 the bridge's gateway, and loopback DSR", async () => {
    const optionalFlags = { forceBridgeGateway: true, loopbackDSR: true };
    const { created } = await add("sdnbridge", bridge({ ipam: IPAM, AdditionalArgs, optionalFlags }), {
      ips: ["10.244.3.4/24"],
    });
    expect(created).toEqual({
      Name: "SBX_cbr0",
      HostComputeNetwork: NETWORKS.cbr0,
      Policies: [NAT, ROUTE, { Type: "OutBoundNAT", Settings: { Destinations: ["10.244.3.4"] } }],
      IpConfigurations: [{ IpAddress: "10.244.3.4" }],
      Dns: {},
      Routes: [route("10.244.3.2")],
      ...V2,
    });
  });

  it("CNI-EX-D9 CNI-102 ranges of host-local are lost on the way", async () => {
    const node = sdnNode("sdnbridge", "upstream", [
      new HostLocal({ store: new MemoryLeaseStore(), compat: "upstream" }),
    ]);
    const ipam = { type: "host-local", ranges: [[{ subnet: "10.244.3.0/24" }]] };
    expect(errorOf(await node.run("ADD", bridge({ ipam }))).msg).toContain("no IP ranges specified");
    const { ipam: asked } = await add("sdnbridge", bridge({ ipam, dataDir: "C:\\x" }), {
      ips: ["10.244.3.4/24"],
    });
    expect(Object.keys(asked.requests[0]?.configuration ?? {})).toEqual([
      "cniVersion",
      "name",
      "type",
      "ipam",
      "dns",
      "optionalFlags",
      "runtimeConfig",
      "additionalRoutes",
      "AdditionalArgs",
    ]);
    expect(asked.requests[0]?.configuration).toMatchObject({
      type: "L2Bridge",
      ipam: { type: "host-local" },
    });
  });

  it("CNI-EX-D10 CNI-108 both families: IPAM gets the text as it is, the mapping a copy for IPv6", async () => {
    const ranges = [
      [{ subnet: "192.168.1.0/24", rangeStart: "192.168.1.10", gateway: "192.168.1.2" }],
      [{ subnet: "fd00::100/120", rangeStart: "fd00::102", gateway: "fd00::101" }],
    ];
    const node = sdnNode("sdnbridge", "upstream", [
      new HostLocal({ store: new MemoryLeaseStore(), compat: "upstream" }),
    ]);
    answering(node.client, [
      ["192.168.1.10", 24],
      ["fd00::102", 120],
    ]);
    const run = await node.run("ADD", {
      cniVersion: "0.4.0",
      name: "winl2bridge",
      type: "sdnbridge",
      optionalFlags: { localRoutedPortMapping: true, allowAclPortMapping: true, enableDualStack: true },
      ipam: { type: "host-local", ranges },
      runtimeConfig: {
        portMappings: [{ hostPort: 8080, containerPort: 80, protocol: "tcp", hostIP: "10.0.0.7" }],
      },
    });
    const ports = { Protocol: 6, InternalPort: 80, ExternalPort: 8080 };
    expect(node.client.bodiesOf("create Endpoint")).toEqual([
      {
        Name: "SBX_winl2bridge",
        HostComputeNetwork: NETWORKS.winl2bridge,
        Policies: [
          { Type: "PortMapping", Settings: { ...ports, VIP: "10.0.0.7", Flags: 1 } },
          { Type: "PortMapping", Settings: { ...ports, Flags: 3 } },
          acl("80"),
        ],
        IpConfigurations: [{ IpAddress: "192.168.1.10" }, { IpAddress: "fd00::102" }],
        Dns: {},
        Routes: [route("192.168.1.2"), { NextHop: "fd00::101", DestinationPrefix: "::/0" }],
        ...V2,
      },
    ]);
    expect(JSON.parse(run.stdout)).toEqual({
      cniVersion: "0.4.0",
      interfaces: [GARBLED],
      ips: [
        { version: "4", interface: 0, address: "192.168.1.10/24", gateway: "192.168.1.2" },
        { version: "6", interface: 0, address: "fd00::102/120", gateway: "fd00::101" },
      ],
      dns: {},
    });
  });

  it("CNI-EX-D11 both families without IPAM: the gateway of IPv6 from additionalRoutes", async () => {
    const { created } = await add(
      "sdnbridge",
      {
        cniVersion: "0.2.0",
        name: "winl2bridge",
        type: "sdnbridge",
        ipam: { environment: "azure", subnet: "192.168.1.0/24", routes: [{ GW: "192.168.1.2" }] },
        optionalFlags: { enableDualStack: true, gatewayFromAdditionalRoutes: true },
        additionalRoutes: [{ GW: "fd00::101", Dst: "::/0" }],
      },
      { chosen: "192.168.1.30" },
    );
    expect(created).toEqual({
      Name: "SBX_winl2bridge",
      HostComputeNetwork: NETWORKS.winl2bridge,
      Dns: {},
      Routes: [route("192.168.1.2"), { NextHop: "fd00::101", DestinationPrefix: "::/0" }],
      ...V2,
    });
  });

  it.each([
    ["0.2.0", {}],
    ["1.0.0", { gatewayFromAdditionalRoutes: false }],
  ])(
    "CNI-EX-D11 the result has the first address of each family of what HNS returns (%s)",
    async (cniVersion, more) => {
      const node = sdnNode("sdnbridge");
      const { client } = node;
      answering(client, [
        ["fd00::130", 120],
        ["192.168.1.30", 24],
        ["192.168.1.31", 25],
        ["fd00::131", 121],
      ]);
      const run = await node.run("ADD", {
        cniVersion,
        name: "winl2bridge",
        type: "sdnbridge",
        ipam: { environment: "azure", subnet: "192.168.1.0/24", routes: [{ GW: "192.168.1.2" }] },
        optionalFlags: { enableDualStack: true, gatewayFromAdditionalRoutes: true, ...more },
        additionalRoutes: [{ GW: "fd00::101", Dst: "::/0" }],
      });
      const result = JSON.parse(run.stdout) as JsonObject;
      if (cniVersion === "0.2.0")
        expect(result).toEqual({
          cniVersion,
          ip4: { ip: "192.168.1.30/24", gateway: "192.168.1.2" },
          ip6: { ip: "fd00::130/120", gateway: "fd00::101" },
          dns: {},
        });
      else
        expect(result["ips"]).toEqual([
          { interface: 0, address: "192.168.1.30/24", gateway: "192.168.1.2" },
          { interface: 0, address: "fd00::130/120" },
        ]);
    },
  );

  it.each(["l2bridge", "l2tunnel"])("CNI-EX-D12 CNI-100 type %s is none", async (type) => {
    const { run } = await add("sdnbridge", bridge({ type }));
    expect(errorOf(run)).toEqual({
      code: 999,
      msg: `Unsupported CNI config 'type' "${type}". Options are the keys/values from: map[nat:NAT sdnbridge:L2Bridge sdnoverlay:Overlay]`,
    });
  });

  it("CNI-EX-D12 the words of HCN are types, whatever the executable is called", async () => {
    const { run } = await add("nat", bridge({ type: "L2Bridge", ipam: IPAM }), { ips: ["10.244.3.4/24"] });
    expect(run.status).toBe(0);
  });

  it("CNI-EX-D15 the network is made; NetworkPolicy chooses the adapter, master does not", async () => {
    const adapter = { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet 2" } };
    const { client, result } = await add(
      "sdnbridge",
      {
        cniVersion: "0.3.0",
        name: "mgmtbr",
        type: "sdnbridge",
        master: "Ethernet",
        AdditionalArgs: [{ Name: "NetworkPolicy", Value: adapter }],
        ipam: { subnet: "10.9.0.0/24", routes: [{ GW: "10.9.0.254" }] },
      },
      { chosen: "10.9.0.11" },
    );
    expect(client.bodiesOf("create Network")).toEqual([
      {
        MacPool: {},
        Name: "mgmtbr",
        Type: "L2Bridge",
        Policies: [adapter],
        Ipams: [
          { Type: "Static", Subnets: [{ IpAddressPrefix: "10.9.0.0/24", Routes: [route("10.9.0.254")] }] },
        ],
        Dns: {},
        ...V2,
      },
    ]);
    expect(result).toEqual({
      cniVersion: "0.3.0",
      interfaces: [GARBLED],
      ips: [{ version: "4", interface: 0, address: "10.9.0.11/24", gateway: "10.9.0.254" }],
      dns: {},
    });
  });
});

describe("sdnoverlay (cni.md §7.D)", () => {
  it("CNI-EX-D13 CNI-060 the runtime's name servers, searches and options", async () => {
    const nat = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16"] } };
    const { created, result } = await add(
      "sdnoverlay",
      {
        cniVersion: "0.2.0",
        name: "vxlan0",
        type: "sdnoverlay",
        ipam: { type: "host-local", subnet: "10.244.5.0/24" },
        AdditionalArgs: [nat, PROVIDER].map(endpointPolicy),
        runtimeConfig: {
          dns: {
            servers: ["10.96.0.10"],
            searches: ["default.svc.cluster.local"],
            options: ["ndots:5"],
          },
        },
      },
      { ips: ["10.244.5.9/24"] },
    );
    expect(created).toMatchObject({
      Name: "SBX_vxlan0",
      HostComputeNetwork: NETWORKS.vxlan0,
      Policies: [nat, PROVIDER],
      IpConfigurations: [{ IpAddress: "10.244.5.9" }],
      Dns: { Search: ["default.svc.cluster.local"], ServerList: ["10.96.0.10"], Options: ["ndots:5"] },
      ...V2,
    });
    expect(result).toMatchObject({ cniVersion: "0.2.0", ip4: { ip: "10.244.5.9/24" }, dns: {} });
  });
});

describe("no ipam: HNS chooses (cni.md §7.G)", () => {
  it.each([
    ["sdnbridge", "cbr0", "10.244.3.9", "10.244.3.9/24"],
    ["sdnoverlay", "vxlan0", "10.244.5.9", "10.244.5.9/24"],
  ] as const)(
    "%s: no address and no route are sent; HNS' address, the network's mask",
    async (name, network, chosen, address) => {
      const stdin = { cniVersion: "0.3.0", name: network, type: name };
      const { created, result } = await add(name, stdin, { chosen });
      expect(created).toEqual({
        Name: `SBX_${network}`,
        HostComputeNetwork: NETWORKS[network],
        Dns: {},
        ...V2,
      });
      expect(result).toMatchObject({ ips: [{ version: "4", interface: 0, address }] });
    },
  );
});

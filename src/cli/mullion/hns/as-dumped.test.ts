// Dumps that are looked at, as a user does it: text in, printed objects out, and nothing of them is another.
import { describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import { lostFields } from "#test/support/lost-fields.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "../program.ts";
import { dump } from "./dump.ts";
import { get } from "./get.ts";

const NETWORK = {
  ActivityId: "AC3ABD0F-A0D2-4B2E-8D2D-53D3BC0C9001",
  CurrentEndpointCount: 2,
  DNSServerCompartment: 4,
  Extensions: [
    {
      Id: "F74F241B-440F-4433-BB28-00F89EAD20D8",
      IsEnabled: true,
      Name: "Microsoft Azure VFP-Switch-Erweiterung",
    },
    { Id: "E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A", IsEnabled: true, Name: "Windows-Filterplattform" },
  ],
  Flags: 0,
  Health: { LastErrorCode: 5, LastUpdateTime: 133000000000000000 },
  ID: "6F7E13A2-8ADE-48EE-844E-AC0B0AFF2301",
  MaxConcurrentEndpoints: 7,
  Name: "nat",
  Policies: [{ Type: "VLAN", VLAN: 12 }],
  State: 2,
  SwitchName: "Schalter",
  TotalEndpoints: 9,
  Type: "nat",
  Version: 38654705668,
};

/** An endpoint whose network nobody printed. */
const ENDPOINT = {
  ID: "c9385412-bdef-49f5-88b0-c9d484ef6701",
  IPAddress: "10.42.213.221",
  IsRemoteEndpoint: false,
  MacAddress: "0E-2A-0a-2a-d5-dd",
  Name: "pod_Calico",
  Policies: [{ PA: "10.156.233.218", Type: "PA" }],
  PrefixLength: 26,
  Resources: { State: 1, VfpOperationTime: 7 },
  State: 3,
  VirtualNetwork: "06560ccd-89f3-4c69-a1a1-e9e368201402",
  VirtualNetworkName: "Calico",
};

async function run(line: string, text: string): Promise<string> {
  const terminal = new MemoryTerminal({ "x.txt": text });
  const verbs = { hns: { get, dump } };
  await runMullion({ argv: line.split(" "), verbs, terminal, version: "0", isDebug: true });
  return terminal.output;
}

async function show(text: string, flags = "--v1"): Promise<readonly JsonObject[]> {
  const { items } = JSON.parse(await run(`hns get all -f x.txt -o json ${flags}`.trim(), text)) as {
    readonly items: readonly JsonObject[];
  };
  return items;
}

describe("a dump that is looked at", () => {
  it.each([
    ["network", NETWORK],
    ["endpoint without its network", ENDPOINT],
  ])("shows each field of a %s as it is", async (_what, object) => {
    const [shown, ...others] = await show(JSON.stringify(object));
    expect(others).toEqual([]);
    expect(shown).toMatchObject(object);
  });

  it("names what it adds, and takes that off again", async () => {
    const [shown = {}] = await show(JSON.stringify(NETWORK));
    const added = shown["Added"] as readonly string[];
    expect(added).toContain("NatName");
    const own = Object.keys(shown).filter((field) => field !== "Added" && !added.includes(field));
    expect(own.toSorted()).toEqual(Object.keys(NETWORK).toSorted());
    const [again = {}] = await show(JSON.stringify({ items: [shown] }));
    expect(again).toMatchObject(NETWORK);
    expect(again["Added"]).toEqual(added);
  });

  it("keeps the VLAN of a NAT network in v2 form", async () => {
    const [shown] = await show(JSON.stringify(NETWORK), "");
    expect(shown?.["Policies"]).toEqual([{ Type: "VLAN", Settings: { VLAN: 12 } }]);
  });

  it("shows in tables what the dump says and no object that it does not hold", async () => {
    const text = await run("hns get all -f x.txt", JSON.stringify(ENDPOINT));
    expect(text).toContain("pod_Calico");
    expect(text).not.toContain("HostDefault");
  });

  it("shows a shortened list up to where it was cut", async () => {
    const text = [
      "ID         : c9385412-bdef-49f5-88b0-c9d484ef6701",
      "Name       : pod_Calico",
      "IPAddress  : 10.42.213.221",
      "Policies   : {@{PA=10.156.233.218; Type=PA}, @{Action=Allow; Priority=900; Type=ACL}...}",
      "MacAddress : 0E-2A-0a-2a-d5-dd",
    ].join("\n");
    const [shown = {}] = await show(text);
    expect(shown["Policies"]).toEqual([
      { PA: "10.156.233.218", Type: "PA" },
      { Action: "Allow", Priority: 900, Type: "ACL" },
    ]);
    expect(shown["CutOff"]).toEqual({ "Policies[2]": "..." });
  });

  it("names what it adds inside of an object that the dump has, and takes that off again", async () => {
    const [shown = {}] = await show(JSON.stringify({ ...NETWORK, Health: { LastErrorCode: 5 } }));
    expect(shown["Added"]).toContain("Health.LastUpdateTime");
    expect(shown["Health"]).toHaveProperty("LastUpdateTime");
    const [again = {}] = await show(JSON.stringify({ items: [shown] }), "--v1");
    expect(again).toEqual(shown);
    const [other = {}] = await show(JSON.stringify({ items: [shown] }), "");
    expect(other["Health"]).toMatchObject({ Data: { LastErrorCode: 5 } });
  });

  it.each([
    ["an ellipsis in a list", "{@{PA=10.0.0.4; Type=PA}...}", "Policies[1]"],
    ["the one sign of newer PowerShell", "{@{PA=10.0.0.4; Type=PA}…}", "Policies[1]"],
    ["half a paste", "{@{PA=10.0.0.4; Type=PA}, @{Action=Al", "Policies[1]"],
  ])("says of %s that it is cut, and in which line", async (_what, list, path) => {
    const terminal = new MemoryTerminal({
      "x.txt": `ID        : c9385412-bdef-49f5-88b0-c9d484ef6701\nIPAddress : 10.42.213.221\nPolicies  : ${list}`,
    });
    const argv = "hns get ep -f x.txt -o json".split(" ");
    await runMullion({ argv, verbs: { hns: { get } }, terminal, version: "0", isDebug: true });
    expect(terminal.errors).toContain(`x.txt:3: cut off: ${path} of Endpoint`);
  });

  it("shows a network whose type was not pasted without one, and nothing that follows from a type", async () => {
    const { Type: _cut, Name: _name, ...rest } = NETWORK;
    for (const flags of ["--v1", ""]) {
      const [shown = {}] = await show(JSON.stringify(rest), flags);
      for (const field of ["Type", "Name", "NatName", "NotEnforced", "GatewayMac"])
        expect(shown).not.toHaveProperty(field);
      expect(JSON.stringify(shown)).not.toContain("NotEnforced");
    }
  });

  it("reads a table of PowerShell, and says which cells are cut", async () => {
    const text = [
      "[admin@jump ~]$ type endpoints.txt",
      "ID                                   Name     IPAddress   VirtualNetworkName",
      "--                                   ----     ---------   ------------------",
      "c9385412-bdef-49f5-88b0-c9d484ef6701 4a625... 10.42.0.11  Calico",
    ].join("\n");
    const [shown = {}] = await show(text);
    const { ID, IPAddress, VirtualNetworkName, CutOff, State } = shown;
    expect({ ID, IPAddress, VirtualNetworkName, CutOff }).toEqual({
      ID: "c9385412-bdef-49f5-88b0-c9d484ef6701",
      IPAddress: "10.42.0.11",
      VirtualNetworkName: "Calico",
      CutOff: { Name: "4a625..." },
    });
    expect(State).toBeUndefined();
  });

  it("tables name no type of a network whose type was not pasted", async () => {
    const { Type: _cut, ...rest } = NETWORK;
    expect(await run("hns get net -f x.txt", JSON.stringify(rest))).not.toMatch(/NAT/);
  });

  it("calls policies by themselves what they are", async () => {
    const terminal = new MemoryTerminal({
      "x.txt": '{"Type": "NAT", "InternalPort": 80, "ExternalPort": 8081}',
    });
    const argv = "hns get all -f x.txt".split(" ");
    await runMullion({ argv, verbs: { hns: { get } }, terminal, version: "0", isDebug: true });
    expect(terminal.errors).toContain("an HNS policy (NAT) without the object that it belongs to");
    expect(terminal.errors).toContain("mullion lint FILE reads policies");
  });

  it("names an object that says no more than its id and name", async () => {
    const list = "Networks:\nName             ID\nnat              B5083512-BE1D-4326-B58F-56CA5154E801\n";
    const [shown = {}] = await show(list);
    expect(shown).toEqual({
      ID: "B5083512-BE1D-4326-B58F-56CA5154E801",
      Name: "nat",
      Kind: "Network",
      Added: ["Kind"],
    });
    expect(await show(JSON.stringify({ items: [shown] }))).toEqual([shown]);
  });
});

const NETWORK_V2 = {
  ID: "06560ccd-89f3-4c69-a1a1-e9e368201402",
  Name: "Calico",
  Owner: "node",
  Type: "Overlay",
  Flags: 8,
  State: 1,
  Version: 55834574851,
  Health: { Data: { LastErrorCode: 3 }, Extra: { LayeredOn: "a1320335-eb6a-4247-8fa4-47471041d201" } },
  MacPool: { Ranges: [{ StartMacAddress: "00-15-5D-52-C0-00", EndMacAddress: "00-15-5D-52-CF-FF" }] },
  Policies: [
    { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet 7" } },
    { Type: "ProviderAddress", Settings: { ProviderAddress: "10.156.233.218" } },
    { Type: "AirMail", Settings: { Stamp: 80 } },
  ],
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.42.213.192/26",
          Routes: [{ NextHop: "10.42.213.193", DestinationPrefix: "0.0.0.0/0" }],
          Policies: [{ Type: "VSID", Settings: { IsolationId: 4097 } }],
        },
      ],
    },
  ],
  SchemaVersion: { Major: 2, Minor: 0 },
};

const ENDPOINT_V2 = {
  ID: "c9385412-bdef-49f5-88b0-c9d484ef6702",
  Name: "pod_Calico",
  HostComputeNetwork: "06560ccd-89f3-4c69-a1a1-e9e368201499",
  IpConfigurations: [{ IpAddress: "10.42.213.222", PrefixLength: 26 }],
  Routes: [
    { NextHop: "10.42.213.193", DestinationPrefix: "0.0.0.0/0" },
    { NextHop: "10.42.213.200", DestinationPrefix: "10.60.0.0/16", Metric: 4 },
  ],
  Dns: { Search: ["svc.cluster.local", "cluster.local"], ServerList: ["10.43.0.10"], Options: ["ndots:5"] },
  MacAddress: "0E-2A-0a-2a-d5-de",
  Flags: 16,
  State: 5,
  Policies: [
    { Type: "OutBoundNAT", Settings: { Exceptions: ["10.42.0.0/16"], Colour: "red" } },
    { Type: "SDNRoute", Settings: { DestinationPrefix: "10.43.0.0/16", NeedEncap: true } },
  ],
  SchemaVersion: { Major: 2, Minor: 0 },
};

const LOAD_BALANCER_V2 = {
  ID: "326f84d7-35ec-4355-a60a-e82e2b05ec02",
  HostComputeEndpoints: ["07F382AB-8884-40BA-8ADF-EFE4C92E8602"],
  SourceVIP: "10.42.213.200",
  FrontendVIPs: ["10.43.0.10"],
  PortMappings: [{ Protocol: 17, InternalPort: 5353, ExternalPort: 53, Flags: 1, DistributionType: 1 }],
  Flags: 1,
  SchemaVersion: { Major: 2, Minor: 0 },
};

const NAMESPACE_V2 = {
  ID: "4ea04396-a6e5-478f-915e-909b8c80b202",
  NamespaceId: 9,
  Type: "Guest",
  Resources: [{ Type: "Endpoint", Data: { Id: "c9385412-bdef-49f5-88b0-c9d484ef6702" } }],
  SchemaVersion: { Major: 2, Minor: 0 },
};

/** What a view shows beside what it says that it added. */
function ownFields(shown: JsonObject): readonly string[] {
  const added = (shown["Added"] ?? []) as readonly string[];
  return Object.keys(shown)
    .filter((field) => field !== "Added" && !added.includes(field))
    .toSorted();
}

describe("a dump that is looked at in the other form", () => {
  it("v2 in v1: each policy, address and number of a network, and the rest is marked", async () => {
    const [shown = {}] = await show(JSON.stringify(NETWORK_V2));
    expect(shown).toMatchObject({
      Name: "Calico",
      Owner: "node",
      Type: "Overlay",
      State: 1,
      Version: 55834574851,
      ManagementIP: "10.156.233.218",
      NetworkAdapterName: "Ethernet 7",
      LayeredOn: "a1320335-eb6a-4247-8fa4-47471041d201",
      Health: { LastErrorCode: 3 },
      MacPools: NETWORK_V2.MacPool.Ranges,
      Policies: [
        { Type: "PA", PA: "10.156.233.218" },
        { Type: "AirMail", Stamp: 80 },
      ],
      Subnets: [
        {
          AddressPrefix: "10.42.213.192/26",
          GatewayAddress: "10.42.213.193",
          Policies: [{ Type: "VSID", VSID: 4097 }],
        },
      ],
    });
    const said =
      "Flags Health ID LayeredOn MacPools ManagementIP Name NetworkAdapterName Owner Policies State";
    expect(ownFields(shown)).toEqual([...said.split(" "), "Subnets", "Type", "Version"].toSorted());
  });

  it("v2 in v1: what v1 has no words for keeps its own, and an absent network gets no name", async () => {
    const [shown = {}] = await show(JSON.stringify(ENDPOINT_V2));
    expect(shown).toMatchObject({
      VirtualNetwork: "06560ccd-89f3-4c69-a1a1-e9e368201499",
      IPAddress: "10.42.213.222",
      PrefixLength: 26,
      GatewayAddress: "10.42.213.193",
      Routes: ENDPOINT_V2.Routes,
      DNSSuffix: "svc.cluster.local,cluster.local",
      DNSServerList: "10.43.0.10",
      Dns: ENDPOINT_V2.Dns,
      EnableInternalDNS: true,
      State: 5,
      Policies: [
        { Type: "OutBoundNAT", ExceptionList: ["10.42.0.0/16"], Colour: "red" },
        { Type: "ROUTE", DestinationPrefix: "10.43.0.0/16", NeedEncap: true },
      ],
    });
    expect(shown["VirtualNetworkName"] ?? "").toBe("");
  });

  it("v2 in v1: load balancers and namespaces", async () => {
    const shown = await show(JSON.stringify([LOAD_BALANCER_V2, NAMESPACE_V2]));
    expect(shown.find(({ ID: id }) => id === LOAD_BALANCER_V2.ID)).toMatchObject({
      References: ["/endpoints/07F382AB-8884-40BA-8ADF-EFE4C92E8602"],
      Policies: [
        {
          Type: "ELB",
          Protocol: 17,
          InternalPort: 5353,
          ExternalPort: 53,
          SourceVIP: "10.42.213.200",
          VIPs: ["10.43.0.10"],
          IsDSR: true,
          ILB: true,
          DistributionType: 1,
        },
      ],
    });
    expect(shown.find(({ ID: id }) => id === NAMESPACE_V2.ID)).toMatchObject({
      CompartmentId: 9,
      IsDefault: false,
      Type: "Guest",
      ResourceList: NAMESPACE_V2.Resources,
    });
  });

  it("v1 in v2: flags that are fields in v1 count beside its number", async () => {
    const remote = { ...ENDPOINT, Flags: 0, IsRemoteEndpoint: true };
    const [shown] = await show(JSON.stringify(remote), "");
    expect(shown?.["Flags"]).toBe(1);
  });

  it("v1 in v2: fields that v2 has no place for keep their names, and the form is marked", async () => {
    const [shown = {}] = await show(JSON.stringify(NETWORK), "");
    const { Extensions, CurrentEndpointCount, MaxConcurrentEndpoints, SwitchName } = NETWORK;
    expect(shown).toMatchObject({ Extensions, CurrentEndpointCount, MaxConcurrentEndpoints, SwitchName });
    expect(shown["Added"]).toContain("SchemaVersion");
  });

  it("says in the data, too, what is cut, in either form", async () => {
    const text = [
      "ID         : c9385412-bdef-49f5-88b0-c9d484ef6701",
      "IPAddress  : 10.42.213.221",
      "Policies   : {@{ExceptionList=System.Object[]; Type=OutBoundNAT}...}",
    ].join("\n");
    for (const flags of ["--v1", ""]) {
      const [shown = {}] = await show(text, flags);
      expect(shown["CutOff"]).toHaveProperty(["Policies[0].ExceptionList"], "System.Object[]");
    }
  });

  it.each([
    ["v1", NETWORK],
    ["v1", ENDPOINT],
    ["v2", NETWORK_V2],
    ["v2", ENDPOINT_V2],
    ["v2", LOAD_BALANCER_V2],
    ["v2", NAMESPACE_V2],
  ])("comes back through both forms as it was: %s %#", async (form, object) => {
    const own = form === "v1" ? "--v1" : "";
    for (const through of ["--v1", ""]) {
      const [view = {}] = await show(JSON.stringify(object), through);
      const [again = {}] = await show(JSON.stringify({ items: [view] }), own);
      expect(lostFields(object, again)).toEqual([]);
    }
  });
});

// Issue point "dumps": what a real node printed goes into a service without a check, can be looked at in both dialects, and
// comes out again with every field. The nodes are composed from hcn.md §2.12 and §9.
import { Ajv } from "ajv";
import { beforeEach, describe, expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { lostFields } from "#test/support/lost-fields.ts";
import { createHns } from "../local-hns.ts";
import type { RestoreNote } from "../store/stored-object.ts";
import { dumpItems } from "./dump-items.ts";
import { dumpSchema } from "#contracts/hcn/dumps.ts";
import type { DumpedObject } from "./dumped-object.ts";
import { formatDump, readDump } from "./read-dump.ts";
import type { HnsService } from "../service/hns-service.ts";

function idOf(document: JsonObject): string {
  const id = document["ID"];
  return typeof id === "string" ? id : "";
}

const V1 = { SchemaVersion: { Major: 1, Minor: 0 } } as const;
const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;

function read(...files: readonly string[]): readonly DumpedObject[] {
  return files.flatMap((text, index) => {
    const { objects, problems } = readDump(new SourceText(`file-${index}.txt`, text));
    expect(problems).toEqual([]);
    return objects;
  });
}

function restored(objects: readonly DumpedObject[]): {
  readonly service: HnsService;
  readonly notes: readonly RestoreNote[];
} {
  const { service } = createHns({ adapters: [{ name: "Ethernet 2", addresses: ["10.0.0.6/24"] }] });
  return { service, notes: service.restore(dumpItems(objects), { keepsUnknownFields: true }) };
}

const RESOURCES = {
  AdditionalParams: {},
  AllocationOrder: 1,
  Allocators: [
    {
      AdditionalParams: {},
      ID: "CD46223C-7C6D-4AC2-BD1E-9D040B1EC301",
      State: 3,
      Tag: "External Adapter Info",
    },
  ],
  ID: "19C8DEBE-0BA9-4C37-A3FF-DE1FBF03B201",
  State: 1,
  parentId: "28656732-D066-4A42-BCFC-45F998A03501",
} as const;

const NETWORK: JsonObject = {
  ActivityId: "19C8DEBE-0BA9-4C37-A3FF-DE1FBF03B201",
  AdditionalParams: {},
  CurrentEndpointCount: 2,
  DNSServerCompartment: 4,
  DrMacAddress: "00-15-5D-7B-82-55",
  Extensions: [
    { Id: "E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A", IsEnabled: false, Name: "Plataforma de filtrado" },
    { Id: "583CC151-73EC-4A6A-8B47-578297AD7623", IsEnabled: true, Name: "Open vSwitch Extension" },
  ],
  Flags: 8,
  Health: { LastErrorCode: 0, LastUpdateTime: 131999292562686800, AddressNotificationMissedCount: 3 },
  ID: "3C6FAB4D-6191-4171-A627-DD46F8C2E301",
  IPv6: false,
  LayeredOn: "241F09EF-FB6A-44F6-9D54-DDB8BD487C01",
  MacPools: [{ EndMacAddress: "00-15-5D-1B-FF-FF", StartMacAddress: "00-15-5D-1B-F0-00" }],
  ManagementIP: "10.0.0.6",
  MaxConcurrentEndpoints: 7,
  Name: "flannel.4096",
  NetworkAdapterName: "Ethernet 2",
  Policies: [
    { Type: "HostRoute" },
    {
      Type: "RemoteSubnetRoute",
      DestinationPrefix: "10.42.7.0/24",
      IsolationId: 4096,
      ProviderAddress: "10.0.0.7",
      DistributedRouterMacAddress: "0a-1b-2c-3d-4e-5f",
      State: 3,
    },
    { Type: "Wormhole", To: "Mars" },
  ],
  Resources: RESOURCES,
  State: 1,
  Subnets: [
    {
      AdditionalParams: {},
      AddressPrefix: "10.42.6.0/24",
      Flags: 0,
      GatewayAddress: "10.42.6.1",
      Health: { LastErrorCode: 0, LastUpdateTime: 131999292562686800 },
      ID: "90C9F0E1-6B1A-4F1A-8F1E-0D4A9C6F0001",
      IpSubnets: [
        {
          AdditionalParams: {},
          Flags: 3,
          ID: "90C9F0E1-6B1A-4F1A-8F1E-0D4A9C6F0002",
          IpAddressPrefix: "10.42.6.0/24",
          ObjectType: 6,
          Policies: [],
          State: 0,
        },
      ],
      ObjectType: 5,
      Policies: [{ Type: "VSID", VSID: 4096 }],
      State: 0,
    },
  ],
  SwitchGuid: "241F09EF-FB6A-44F6-9D54-DDB8BD487C01",
  TotalEndpoints: 9,
  Type: "Overlay",
  Version: 38654705666,
};

const POD: JsonObject = {
  ID: "5e6298c2-4638-494e-be6b-ff6fef942c01",
  Name: "1057facc9092f4d8_flannel.4096",
  Version: 38654705666,
  AdditionalParams: {},
  CreateProcessingStartTime: 131922084428234000,
  EncapOverhead: 50,
  GatewayAddress: "10.42.6.1",
  IPAddress: "10.42.6.20",
  IPSubnetId: "90c9f0e1-6b1a-4f1a-8f1e-0d4a9c6f0002",
  MacAddress: "0e-2a-0a-2a-06-14",
  Namespace: {
    CompartmentGuid: "4e95f905-60c7-4585-96fc-7964b5464201",
    ID: "7cb720c0-ac4c-4266-92e1-dc277b2a9b01",
  },
  Policies: [
    { Type: "OutBoundNAT", ExceptionList: ["10.96.0.0/12", "10.42.0.0/16"] },
    { Type: "PA", PA: "10.0.0.6" },
    { Type: "ACL", Protocols: "6", Action: "Allow", Direction: "In", Priority: 1000, Scope: 0 },
    { Type: "ACL", Protocols: "17", Action: "Block", Direction: "In", Priority: 1001, Scope: 0 },
  ],
  PrefixLength: 24,
  Resources: { ...RESOURCES, ID: "4503493F-861A-4175-A476-A8ED2F094001" },
  SharedContainers: ["c1", "c2"],
  State: 3,
  VirtualNetwork: "3c6fab4d-6191-4171-a627-dd46f8c2e301",
  VirtualNetworkName: "flannel.4096",
  Zebra: { stripes: [1, 2] },
};

const REMOTE: JsonObject = {
  // Without Resources, whose ID it is elsewhere, nothing else tells it.
  ActivityId: "0B1C7A51-6F0A-4D0B-8C5D-0E4C1A6F7701",
  ID: "2f366b7b-2ed6-449b-9476-ed4675fd7701",
  IPAddress: "10.42.9.37",
  IsRemoteEndpoint: true,
  MacAddress: "02-11-0a-2a-09-25",
  Name: "Ethernet",
  Policies: [{ PA: "10.0.0.14", Type: "PA" }],
  PrefixLength: 24,
  State: 1,
  VirtualNetwork: "3c6fab4d-6191-4171-a627-dd46f8c2e301",
};

const NAMESPACE: JsonObject = {
  ActivityId: "3B27B61E-0B57-4185-9ACC-4D7D23AA7501",
  CompartmentGuid: "4E95F905-60C7-4585-96FC-7964B5464201",
  CompartmentId: 6,
  Containers: ["c1", "c1", "c2"],
  Flags: 0,
  ID: "7CB720C0-AC4C-4266-92E1-DC277B2A9B01",
  IsDefault: false,
  Policies: [],
  ResourceList: [{ Data: { Id: "5E6298C2-4638-494E-BE6B-FF6FEF942C01" }, Type: "Endpoint" }],
  Resources: { ...RESOURCES, ID: "3B27B61E-0B57-4185-9ACC-4D7D23AA7501" },
  State: 1,
  Version: 55834574851,
};

const POLICY_LIST: JsonObject = {
  ActivityId: "11903C90-501F-478F-A5C9-3B2A70BF5101",
  AdditionalParams: {},
  Flags: 0,
  Health: { LastErrorCode: 0, LastUpdateTime: 133511564334272900 },
  ID: "3599612C-54B4-4B9D-9258-4FC5E2100501",
  IsApplied: true,
  Policies: [
    {
      Type: "ELB",
      Protocol: 6,
      InternalPort: 6443,
      ExternalPort: 443,
      SourceVIP: "10.42.6.3",
      VIPs: ["172.30.0.1"],
      IsDSR: true,
      Shade: "blue",
    },
  ],
  References: [
    "/endpoints/5e6298c2-4638-494e-be6b-ff6fef942c01",
    "/endpoints/2f366b7b-2ed6-449b-9476-ed4675fd7701",
  ],
  State: 2,
  Version: 64424509440,
};

const NODE: readonly (readonly [kind: HcnObjectKind, document: JsonObject])[] = [
  ["Network", NETWORK],
  ["Endpoint", POD],
  ["Endpoint", REMOTE],
  ["Namespace", NAMESPACE],
  ["LoadBalancer", POLICY_LIST],
];

/** What the service works out itself, so that its own value stands (store/kept-fields.ts). */
const WORKED_OUT: readonly string[] = [
  "CurrentEndpointCount",
  "MaxConcurrentEndpoints",
  "TotalEndpoints",
  "DNSServerCompartment",
  "Extensions[0].Name",
  "Subnets[0].Health.LastUpdateTime",
  // A container that is named twice is one container.
  "Containers[1]",
  "Containers[2]",
];

describe("the state of a real node, in v1 form", () => {
  let service: HnsService;
  let notes: readonly RestoreNote[];
  beforeEach(() => {
    ({ service, notes } = restored(read(JSON.stringify(NODE.map(([, document]) => document)))));
  });

  it("restores, and tells what the service cannot act on", () => {
    expect(notes).toMatchObject([
      { kind: "Network", text: expect.stringContaining('has the type "Wormhole"') as unknown },
    ]);
  });

  it.each(NODE)("%s: every field is in the v1 result", (kind, document) => {
    const shown = service.query(kind, idOf(document), V1);
    const lost = lostFields(document, shown).filter(({ path }) => !WORKED_OUT.includes(path));
    expect(lost).toEqual([]);
  });

  it.each(NODE)("%s: once more, after a dump of our own and back", (kind, document) => {
    const dump = formatDump(undefined, service.export());
    const again = restored(read(dump));
    expect(again.notes).toEqual(notes);
    const id = idOf(document);
    expect(again.service.query(kind, id, V1)).toEqual(service.query(kind, id, V1));
    expect(again.service.query(kind, id, V2)).toEqual(service.query(kind, id, V2));
  });

  it("gives dumps that keep to their schema", () => {
    const validate = new Ajv({ strict: false }).compile(dumpSchema());
    for (const text of [
      formatDump({ node: "win-1", version: { Major: 13, Minor: 3 } }, service.export()),
      formatDump(undefined, dumpItems(read(JSON.stringify(NODE.map(([, document]) => document))))),
    ]) {
      validate(JSON.parse(text));
      expect(validate.errors).toBeNull();
    }
  });

  it("has the types that Go clients decode in the v2 result", () => {
    const namespace = service.query("Namespace", idOf(NAMESPACE), V2);
    expect(namespace["Resources"]).toEqual([
      { Type: "Endpoint", Data: { Id: "5e6298c2-4638-494e-be6b-ff6fef942c01" } },
      { Type: "Container", Data: { Id: "c1" } },
      { Type: "Container", Data: { Id: "c2" } },
    ]);
    expect(service.query("Network", idOf(NETWORK), V2)).toMatchObject({
      Type: "Overlay",
      Ipams: [{ Subnets: [{ Policies: [{ Type: "VSID", Settings: { IsolationId: 4096 } }] }] }],
      MacPool: { Ranges: [{ StartMacAddress: "00-15-5D-1B-F0-00" }] },
    });
    expect(service.query("LoadBalancer", idOf(POLICY_LIST), V2)).toMatchObject({
      FrontendVIPs: ["172.30.0.1"],
      SourceVIP: "10.42.6.3",
      PortMappings: [{ Protocol: 6, InternalPort: 6443, ExternalPort: 443 }],
      Flags: 1,
    });
  });

  it("runs: endpoints are attached and found, and what is deleted is gone", () => {
    expect(service.query("Endpoint", idOf(POD), V2)).toMatchObject({
      HostComputeNamespace: "7cb720c0-ac4c-4266-92e1-dc277b2a9b01",
      IpConfigurations: [{ IpAddress: "10.42.6.20", PrefixLength: 24 }],
    });
    expect(service.enumerate("Endpoint", { ...V2, Filter: JSON.stringify({ Name: "Ethernet" }) })).toEqual([
      REMOTE["ID"],
    ]);
    const other = restored(read(JSON.stringify(NODE.map(([, document]) => document)))).service;
    other.delete("LoadBalancer", idOf(POLICY_LIST));
    expect(other.enumerate("LoadBalancer")).toEqual([]);
  });
});

describe("what a service shows in v1 form", () => {
  it("makes a service that shows the same in both forms", () => {
    const kinds = ["Network", "Namespace", "Endpoint", "LoadBalancer"] as const;
    const show = (service: HnsService, query: typeof V1): readonly JsonObject[] =>
      kinds.flatMap((kind) => service.enumerate(kind).map((id) => service.query(kind, id, query)));
    const first = restored(read(JSON.stringify(NODE.map(([, document]) => document)))).service;
    const second = restored(read(JSON.stringify(show(first, V1)))).service;
    expect(show(second, V1)).toEqual(show(first, V1));
    expect(second.query("LoadBalancer", idOf(POLICY_LIST), V2)).toEqual(
      first.query("LoadBalancer", idOf(POLICY_LIST), V2),
    );
    for (const each of [POD, REMOTE])
      expect(second.query("Endpoint", idOf(each), V2)).toMatchObject(first.query("Endpoint", idOf(each), V2));
  });

  it("has each back end once", () => {
    const { service } = restored(read(JSON.stringify(NODE.map(([, document]) => document))));
    expect(service.query("LoadBalancer", idOf(POLICY_LIST), V2)["HostComputeEndpoints"]).toHaveLength(2);
  });
});

describe("several files of one node", () => {
  it("make one object of what they say about it", () => {
    const detailed = { ...NETWORK, NetLogs: [1] };
    const names = `Networks:\nName             ID\nflannel.4096     ${idOf(NETWORK)}\n`;
    const items = dumpItems(read(JSON.stringify(NETWORK), names, JSON.stringify(detailed)));
    expect(items).toHaveLength(1);
    expect(items[0]?.v1).toMatchObject({ Name: "flannel.4096", NetLogs: [1] });
  });

  it("stand in the order in which a service takes them", () => {
    const items = dumpItems(read(...NODE.toReversed().map(([, document]) => JSON.stringify(document))));
    expect(items.map(({ kind }) => kind)).toEqual([
      "Network",
      "Namespace",
      "Endpoint",
      "Endpoint",
      "LoadBalancer",
    ]);
  });

  it("find the network of hnsdiag's endpoints by its name", () => {
    const text = `Name             ID                                   Virtual Network Name
Ethernet         2f366b7b-2ed6-449b-9476-ed4675fd7701 flannel.4096
`;
    const [, endpoint] = dumpItems(read(JSON.stringify(NETWORK), text));
    expect(endpoint?.document).toMatchObject({
      HostComputeNetwork: "3c6fab4d-6191-4171-a627-dd46f8c2e301",
    });
  });

  // hnsdiag's table of namespaces alone says which endpoints are in one (dataplane.md §7.13).
  it("find the namespace of hnsdiag's endpoints in its other table", () => {
    const other = "9cb720c0-ac4c-4266-92e1-dc277b2a9b09";
    const text = `ID                                   | Endpoint IDs
${idOf(NAMESPACE)} | 2F366B7B-2ed6-449b-9476-ed4675fd7701 5e6298c2-4638-494e-be6b-ff6fef942c01
`;
    const items = dumpItems(
      read(text, JSON.stringify([REMOTE, { ...POD, Namespace: { ID: other } }, { ...POD, ID: other }])),
    );
    expect(items.map(({ id, document }) => [id, document["HostComputeNamespace"]])).toEqual([
      [idOf(NAMESPACE).toLowerCase(), undefined],
      [idOf(REMOTE), idOf(NAMESPACE).toLowerCase()],
      [idOf(POD), other],
      [other, "7cb720c0-ac4c-4266-92e1-dc277b2a9b01"],
    ]);
  });
});

describe("what PowerShell cut off", () => {
  it("stands in CutOff, and never where a program expects a list", () => {
    const { service } = restored(
      read(JSON.stringify({ ...POD, Policies: "System.Object[]" }), JSON.stringify(NETWORK)),
    );
    const shown = service.query("Endpoint", idOf(POD), V1);
    expect(shown["CutOff"]).toEqual({ Policies: "System.Object[]" });
    expect(shown["Policies"]).toBeInstanceOf(Array);
  });

  it("is taken out at its place, and what stands beside it stays", () => {
    const text = "System.Object[]";
    const given = {
      ID: idOf(NETWORK),
      Type: "Overlay",
      Subnets: [
        { AddressPrefix: "10.42.6.0/24", Policies: text },
        { AddressPrefix: "10.42.7.0/24", Policies: [{ Type: "VSID", VSID: 7 }, text, text] },
        text,
      ],
    };
    const [item] = dumpItems(read(JSON.stringify(given)));
    expect(item?.v1).toEqual({
      ...given,
      Subnets: [
        { AddressPrefix: "10.42.6.0/24" },
        { AddressPrefix: "10.42.7.0/24", Policies: [{ Type: "VSID", VSID: 7 }] },
      ],
      CutOff: Object.fromEntries(
        ["[0].Policies", "[1].Policies[1]", "[1].Policies[2]", "[2]"].map((path) => [`Subnets${path}`, text]),
      ),
    });
  });
});

// hcn.md §2.12, field map: what a v1 document does not say, the v2 document does not say either.
describe("a v1 document that says little, in v2 form", () => {
  const ID = "5e6298c2-4638-494e-be6b-ff6fef942c01";
  it.each<[what: string, given: JsonObject, expected: JsonObject]>([
    ["a network", { Type: "Overlay", Subnets: [], Policies: [], Health: {} }, { Type: "Overlay" }],
    ["a type that is no text", { Type: 5, Subnets: [], MacPools: [] }, {}],
    ["an endpoint", { VirtualNetwork: "", IPAddress: "", Resources: {}, Health: null }, {}],
    ["a namespace", { IsDefault: false, CompartmentId: 4 }, { NamespaceId: 4, Type: "Host" }],
    [
      "a namespace that names a container twice",
      {
        IsDefault: false,
        ResourceList: [{ Type: "Container", Data: { Id: "c1" } }, { Type: "Container" }],
        Containers: ["c1", "c2", "c2"],
      },
      {
        Type: "Host",
        Resources: [
          { Type: "Container", Data: { Id: "c1" } },
          { Type: "Container" },
          { Type: "Container", Data: { Id: "c2" } },
        ],
      },
    ],
  ])("%s", (_what, given, expected) => {
    const [item] = dumpItems(read(JSON.stringify({ ID, ...given })));
    expect(item?.document).toEqual({ ID, ...V2, ...expected });
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";
import type { StoredObject } from "./stored-object.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
const KINDS = ["Network", "Namespace", "Endpoint", "LoadBalancer"] as const;

/** Everything that clients see of a service, in both dialects. */
function picture(node: HnsNode): unknown {
  return KINDS.map((kind) =>
    node.service
      .enumerate(kind)
      .map((id) => [
        node.service.query(kind, id, V2),
        node.service.query(kind, id, { SchemaVersion: { Major: 1, Minor: 0 } }),
      ]),
  );
}

function member(EndpointId: string): JsonObject {
  return { ResourceType: "Endpoint", RequestType: "Add", Settings: { EndpointId } };
}

/** A node with something of everything. */
function busyNode(): HnsNode & {
  readonly network: string;
  readonly pod: string;
  readonly namespace: string;
} {
  const node = hnsNode();
  const { service } = node;
  const network = service.create("Network", { ...V2, ...CBR0 });
  const namespace = service.create("Namespace", { ...V2, Type: "Host" });
  const pod = service.create(
    "Endpoint",
    { ...V2, Name: "pod", IpConfigurations: [{ IpAddress: "10.244.2.7" }] },
    { network },
  );
  service.create("Endpoint", { ...V2, Name: "idle" }, { network });
  service.modify("Namespace", namespace, member(pod));
  service.modify("Namespace", namespace, {
    ResourceType: "Container",
    RequestType: "Add",
    Settings: { ContainerId: "c1" },
  });
  service.create(
    "Endpoint",
    { ...V2, Flags: 1, MacAddress: "02-11-0a-f4-03-05", IpConfigurations: [{ IpAddress: "10.244.3.5" }] },
    { network },
  );
  service.create("LoadBalancer", {
    ...V2,
    HostComputeEndpoints: [pod],
    FrontendVIPs: ["10.96.0.10"],
    PortMappings: [{ Protocol: 17, InternalPort: 53, ExternalPort: 53 }],
    Flags: 1,
  });
  return { ...node, network, pod, namespace };
}

describe("objects in stored form", () => {
  it("come back as they were, in another service", () => {
    const before = busyNode();
    const after = hnsNode({ seed: 2 });
    expect(after.service.restore(before.service.export())).toEqual([]);
    expect(picture(after)).toEqual(picture(before));
    expect(after.service.export()).toEqual(before.service.export());
    expect(after.datapath.listVnics()).toEqual(before.datapath.listVnics());
    expect(after.datapath.listCompartments()).toEqual(before.datapath.listCompartments());
  });
});

/** Makes load balancers without DSR until the node has no block of ports left. @returns how many there were. */
function exhaust(node: HnsNode, network: string): number {
  const backEnd = node.service.create("Endpoint", { ...V2, Name: "back end" }, { network });
  for (let count = 0; ; count++) {
    const document = {
      ...V2,
      HostComputeEndpoints: [backEnd],
      PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: 1_000 + count }],
    };
    try {
      node.service.create("LoadBalancer", document);
    } catch {
      return count;
    }
  }
}

describe("blocks of ports", () => {
  it("are taken again by load balancers that come back", () => {
    const [fresh, used, restored] = [1, 2, 3].map((seed) => hnsNode({ seed, profile: "ws2019.1" }));
    const make = (node: HnsNode): string => node.service.create("Network", { ...V2, ...CBR0 });
    const most = exhaust(fresh!, make(fresh!));
    const network = make(used!);
    const backEnd = used!.service.create("Endpoint", V2, { network });
    for (const port of [80, 81, 82]) {
      used!.service.create("LoadBalancer", {
        ...V2,
        HostComputeEndpoints: [backEnd],
        PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: port }],
      });
    }
    expect(restored!.service.restore(used!.service.export())).toEqual([]);
    expect(exhaust(restored!, network)).toBe(most - 3);
  });
});

const IDS = {
  network: "11111111-1111-4111-8111-111111111111",
  stranger: "99999999-9999-4999-8999-999999999999",
  first: "a0000000-0000-4000-8000-000000000001",
  second: "a0000000-0000-4000-8000-000000000002",
} as const;

const NETWORK: StoredObject = {
  kind: "Network",
  id: IDS.network,
  document: { ID: IDS.network, ...CBR0 },
};

function endpoint(id: string, fields: JsonObject): StoredObject {
  const document = {
    ID: id,
    HostComputeNetwork: IDS.network,
    SchemaVersion: { Major: 2, Minor: 0 },
    ...fields,
  };
  return { kind: "Endpoint", id, document };
}

function loadBalancer(id: string, fields: JsonObject): StoredObject {
  return { kind: "LoadBalancer", id, document: { ID: id, ...fields } };
}

function addressed(id: string, ip: string, mac: string): StoredObject {
  return endpoint(id, { IpConfigurations: [{ IpAddress: ip, PrefixLength: 24 }], MacAddress: mac });
}

describe("objects that contradict each other", () => {
  const MAC_1 = "00-15-5D-00-00-01";
  const MAC_2 = "00-15-5D-00-00-02";

  it.each<[string, readonly StoredObject[], string, number]>([
    [
      "an endpoint of a network that is not there",
      [endpoint(IDS.first, { HostComputeNetwork: IDS.stranger })],
      `The endpoint is degraded: there is no network ${IDS.stranger}`,
      5,
    ],
    [
      "two endpoints with one address",
      [NETWORK, addressed(IDS.second, "10.244.2.7", MAC_2), addressed(IDS.first, "10.244.2.7", MAC_1)],
      `The endpoint is degraded: endpoint ${IDS.second} has the address 10.244.2.7 already`,
      5,
    ],
    [
      "two endpoints with one MAC address",
      [NETWORK, addressed(IDS.second, "10.244.2.8", MAC_1), addressed(IDS.first, "10.244.2.7", MAC_1)],
      `The endpoint is degraded: ${IDS.second} has the MAC address ${MAC_1} already`,
      5,
    ],
    [
      "an endpoint in a namespace that is not there",
      [NETWORK, endpoint(IDS.first, { HostComputeNamespace: IDS.stranger })],
      `There is no namespace ${IDS.stranger}; the endpoint is not attached`,
      1,
    ],
  ])("are kept and noted: %s", (_what, objects, note, state) => {
    const { service } = hnsNode();
    const notes = service.restore(objects);
    expect(notes).toContainEqual({ kind: "Endpoint", id: IDS.first, text: note });
    expect(service.query("Endpoint", IDS.first, V2)).toMatchObject({ State: state });
    // The service is alive, and what is wrong can be taken away.
    for (const kind of KINDS)
      for (const { id } of objects.filter((object) => object.kind === kind)) {
        if (service.enumerate(kind).includes(id)) service.delete(kind, id);
      }
    expect(service.enumerate("Endpoint")).toEqual([]);
  });

  it("are no contradiction where Windows takes them: two endpoints of Server 2019 with one address", () => {
    const { service } = hnsNode({ profile: "ws2019" });
    const both = [addressed(IDS.first, "10.244.2.7", MAC_1), addressed(IDS.second, "10.244.2.7", MAC_2)];
    expect(service.restore([NETWORK, ...both])).toEqual([]);
    for (const { id } of both) expect(service.query("Endpoint", id, V2)).toMatchObject({ State: 1 });
  });

  it("leave a degraded endpoint where nobody can attach it", () => {
    const { service } = hnsNode();
    service.restore([addressed(IDS.first, "10.244.2.7", MAC_1)]);
    const namespace = service.create("Namespace", { ...V2, Type: "Host" });
    expect(() => service.modify("Namespace", namespace, member(IDS.first))).toThrow(
      expect.objectContaining({ code: "HCN_E_DEGRADED_OPERATION" }),
    );
  });

  it("leave the address to the endpoint that had it first, also when the other one goes", () => {
    const { service } = hnsNode();
    service.restore([
      NETWORK,
      addressed(IDS.first, "10.244.2.7", MAC_1),
      addressed(IDS.second, "10.244.2.7", MAC_2),
    ]);
    service.delete("Endpoint", IDS.second);
    expect(() =>
      service.create(
        "Endpoint",
        { ...V2, IpConfigurations: [{ IpAddress: "10.244.2.7" }] },
        { network: IDS.network },
      ),
    ).toThrow(expect.objectContaining({ code: "ERROR_OBJECT_ALREADY_EXISTS" }));
  });

  it("keep a policy that does not read, and act on the others", () => {
    const { service } = hnsNode();
    const broken = { Type: "ACL", Settings: { Action: "Perhaps", Direction: "In" } };
    const unknown = { Type: "Teleport", Settings: { To: "moon" } };
    const known = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/8"], Mystery: 7 } };
    const notes = service.restore([NETWORK, endpoint(IDS.first, { Policies: [broken, known, unknown] })], {
      keepsUnknownFields: true,
    });
    expect(notes.map((note) => note.text)).toEqual([
      expect.stringMatching(/Policies\[0\]\.Settings\.Action is "Perhaps".*left out/),
      expect.stringMatching(/Policies\[2\] has the type "Teleport".*left out/),
    ]);
    expect(service.query("Endpoint", IDS.first, V2)["Policies"]).toEqual(
      expect.arrayContaining([broken, known, unknown]),
    );
  });

  it("name each route that does not read", () => {
    const { service } = hnsNode();
    const [good, broken] = [
      { NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0", Metric: 0 },
      { NextHop: "gateway", DestinationPrefix: "10.0.0.0/8", Metric: 0 },
    ];
    const notes = service.restore([NETWORK, endpoint(IDS.first, { Routes: [broken, good] })], {
      keepsUnknownFields: true,
    });
    expect(notes.map((note) => note.text)).toEqual([
      'The route {"NextHop":"gateway","DestinationPrefix":"10.0.0.0/8","Metric":0} does not read; left out',
    ]);
    // A dump is given back as it was.
    expect(service.query("Endpoint", IDS.first, V2)["Routes"]).toEqual([broken, good]);
  });

  it("take a load balancer without a network and with back ends that are gone", () => {
    const { service } = hnsNode();
    const mapping = { Protocol: 6, InternalPort: 80, ExternalPort: 80 };
    const notes = service.restore([
      loadBalancer(IDS.first, { HostComputeEndpoints: [IDS.stranger], PortMappings: [mapping] }),
    ]);
    expect(notes.map((note) => note.text)).toEqual([
      "There is no network ; the load balancer has no effect",
      `There is no endpoint ${IDS.stranger}; the others serve`,
    ]);
    expect(service.query("LoadBalancer", IDS.first, V2)).toMatchObject({ State: 4, PortMappings: [mapping] });
  });

  it("leave a front end to the load balancer that had it first, also when the other one goes", () => {
    const { service } = hnsNode();
    const fields = {
      HostComputeEndpoints: [IDS.stranger],
      FrontendVIPs: ["10.96.0.10"],
      PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: 80 }],
    };
    const backEnd = { ...addressed(IDS.stranger, "10.244.2.7", MAC_1) };
    service.restore([NETWORK, backEnd, loadBalancer(IDS.first, fields), loadBalancer(IDS.second, fields)]);
    service.delete("LoadBalancer", IDS.second);
    expect(() => service.create("LoadBalancer", { ...V2, ...fields })).toThrow(
      expect.objectContaining({ code: "HCN_E_PORT_ALREADY_EXISTS" }),
    );
  });

  it("take the first of two objects with one id", () => {
    const { service } = hnsNode();
    const notes = service.restore([
      NETWORK,
      { ...NETWORK, document: { ...NETWORK.document, Name: "other" } },
    ]);
    expect(notes.map((note) => note.text)).toEqual([
      "There are two objects with this id; the first one stays",
    ]);
    expect(service.query("Network", IDS.network, V2)["Name"]).toBe("cbr0");
  });

  /** Fields of documents and of records that readers and views look into. */
  const DOCUMENT_FIELDS = [
    "ID",
    "Name",
    "Type",
    "Policies",
    "IpConfigurations",
    "HostComputeEndpoints",
    "Ipams",
    "Health",
    "Resources",
    "PortMappings",
    "MacAddress",
  ];
  const RECORD_FIELDS = [
    "policies",
    "ipConfigs",
    "routes",
    "attachment",
    "containers",
    "subnets",
    "macRanges",
    "dns",
    "endpointIds",
    "portMappings",
    "frontendVips",
    "schemaVersion",
    "changedAtMs",
    "compartmentId",
    "kept",
    "version",
    "owner",
  ];

  it("take any JSON for a document and for what stands beside it", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...KINDS),
        fc.dictionary(fc.constantFrom(...DOCUMENT_FIELDS), fc.jsonValue()),
        fc.dictionary(fc.constantFrom(...RECORD_FIELDS), fc.jsonValue()),
        (kind, document, internal) => {
          const { service } = hnsNode();
          const object = { kind, id: IDS.first, document, internal } as StoredObject;
          service.restore([object], { keepsUnknownFields: true });
          expect(service.enumerate(kind)).toContain(IDS.first);
          expect(service.query(kind, IDS.first, V2)["ID"]).toBe(IDS.first);
          expect(hnsNode().service.restore(service.export())).toEqual(expect.any(Array));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("a dump of another node", () => {
  const document = {
    ID: IDS.network,
    ...CBR0,
    Telemetry: { Data: "of Windows" },
    Health: {
      Data: { LastErrorCode: 0, LastUpdateTime: 133_801_632_000_000_000 },
      Extra: { UtilityVM: IDS.stranger },
    },
  };

  it("shows fields that HNS does not know again, also over another store", () => {
    const first = hnsNode();
    expect(
      first.service.restore([{ kind: "Network", id: IDS.network, document }], { keepsUnknownFields: true }),
    ).toEqual([]);
    const second = hnsNode();
    second.service.restore(first.service.export());
    const v2 = second.service.query("Network", IDS.network, V2);
    expect(v2).toMatchObject({ Telemetry: document.Telemetry, Health: document.Health });
  });

  it("keeps the fields of its v1 form", () => {
    const { service } = hnsNode();
    const v1 = {
      ID: IDS.network,
      Name: "cbr0",
      GatewayMac: "00-11",
      Resources: { Allocators: [{ Tag: "Host Vnic" }] },
    };
    service.restore([{ kind: "Network", id: IDS.network, document, v1 }], { keepsUnknownFields: true });
    const shown = service.query("Network", IDS.network, { SchemaVersion: { Major: 1, Minor: 0 } });
    expect(shown).toMatchObject({ GatewayMac: "00-11", Resources: v1.Resources });
  });

  it("without the host's own namespace gets one, which is news to the store", () => {
    const { service } = hnsNode();
    service.restore([NETWORK], { areStored: true });
    expect(service.takeChanges().map(({ kind }) => kind)).toEqual(["Namespace"]);
  });

  it("chooses what it does not say: MAC range, switch, identifiers of subnets", () => {
    const { service, datapath } = hnsNode();
    service.restore([{ kind: "Network", id: IDS.network, document: { ...CBR0 } }]);
    const shown = service.query("Network", IDS.network, V2);
    expect(shown).toMatchObject({
      MacPool: { Ranges: [{ StartMacAddress: expect.stringMatching(/^00-15-5D/) as unknown }] },
    });
    expect(datapath.listSwitches()).toHaveLength(1);
    expect(service.create("Endpoint", V2, { network: IDS.network })).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("gives a network a switch of its own when another kind of network has the same", () => {
    const { service, datapath } = hnsNode();
    const Health = { Extra: { LayeredOn: IDS.network, SwitchGuid: IDS.network } };
    const other = "11111111-2222-4333-8444-555555555555";
    const notes = service.restore([
      { kind: "Network", id: IDS.network, document: { ...CBR0, Health } },
      { kind: "Network", id: other, document: { Name: "nat", Type: "NAT", Health } },
    ]);
    expect(notes).toMatchObject([{ kind: "Network", id: other }]);
    expect(datapath.listSwitches().map((id) => datapath.getSwitch(id)?.kind)).toEqual([
      "external",
      "internal",
    ]);
    service.delete("Network", other);
    expect(datapath.listSwitches()).toEqual([IDS.network]);
  });
});

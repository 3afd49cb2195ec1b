import { describe, expect, it } from "vitest";
import type { HcnClient, HcnObjectKind } from "./client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { HcnError } from "./error.ts";
import {
  createNetwork,
  getNetworkByName,
  listEndpoints,
  listLoadBalancers,
  listNamespaces,
  listNetworks,
  namespaceOf,
} from "./operations.ts";

const GUID = "0fb28d70-306c-469d-9690-3245a82d882a";

/** A service that answers from a table and notes what it was asked. */
class ScriptedClient implements HcnClient {
  readonly asked: string[] = [];
  private readonly documents: Map<string, JsonObject>;

  constructor(documents: readonly (readonly [string, JsonObject])[]) {
    this.documents = new Map(documents);
  }

  async enumerate(kind: HcnObjectKind, query?: object): Promise<readonly string[]> {
    this.asked.push(`enumerate ${kind} ${JSON.stringify(query)}`);
    return Promise.resolve([...this.documents.keys()]);
  }

  async query(kind: HcnObjectKind, id: string, query?: object): Promise<JsonObject> {
    this.asked.push(`query ${kind} ${id} ${JSON.stringify(query)}`);
    const document = this.documents.get(id);
    if (document === undefined || document["vanished"] === true) {
      this.documents.delete(id);
      throw new HcnError("HCN_E_ENDPOINT_NOT_FOUND");
    }
    return Promise.resolve(document);
  }

  async create(kind: HcnObjectKind, settings: JsonObject): Promise<string> {
    this.asked.push(`create ${kind} ${JSON.stringify(settings)}`);
    this.documents.set("new", { ID: GUID, ...settings });
    return Promise.resolve("new");
  }

  async modify(): Promise<void> {}
  async delete(): Promise<void> {}
  async call(): Promise<JsonObject> {
    return Promise.resolve({});
  }
  async queryEndpointStats(): Promise<JsonObject> {
    return Promise.resolve({});
  }
  async queryEndpointAddresses(): Promise<JsonObject> {
    return Promise.resolve({});
  }
  async reservePorts(): Promise<never> {
    return Promise.reject(new Error("not scripted"));
  }
  async releasePorts(): Promise<void> {}
  async listPortReservations(): Promise<readonly []> {
    return Promise.resolve([]);
  }
  async queryService(): Promise<JsonObject> {
    return Promise.resolve({});
  }
  subscribe(): () => void {
    return () => {};
  }
  async close(): Promise<void> {}
}

describe("the helper calls (hcn.md §1.5)", () => {
  it("look-up by name enumerates and queries with the same query, filter included", async () => {
    const client = new ScriptedClient([["id-1", { ID: GUID, Name: "cbr0", Type: "L2Bridge" }]]);
    await getNetworkByName(client, "cbr0");
    const query = '{"SchemaVersion":{"Major":2,"Minor":0},"Filter":"{\\"Name\\":\\"cbr0\\"}"}';
    expect(client.asked).toEqual([`enumerate Network ${query}`, `query Network id-1 ${query}`]);
  });

  it("HCN-005 a network without a type is NAT", async () => {
    const client = new ScriptedClient([["id-1", { ID: GUID, Name: "nat" }]]);
    expect((await listNetworks(client)).map((network) => network.Type)).toEqual(["NAT"]);
  });

  it("an answer without an id is refused, whatever asked for it", async () => {
    const client = new ScriptedClient([["id-1", { Name: "web" }]]);
    for (const list of [listNetworks, listEndpoints, listNamespaces, listLoadBalancers])
      await expect(list(client)).rejects.toMatchObject({ code: "HCN_E_INVALID_JSON" });
  });

  it("an object that vanishes between the calls is left out", async () => {
    const client = new ScriptedClient([
      ["id-1", { vanished: true }],
      ["id-2", { ID: GUID, Name: "b" }],
    ]);
    expect((await listEndpoints(client)).map((endpoint) => endpoint.Name)).toEqual(["b"]);
  });

  it.each([
    [
      { IpAddressPrefix: "10.0.0.0/24", Routes: [{ DestinationPrefix: "0.0.0.0/0" }] },
      "network create error, subnet has address prefix but no gateway specified",
    ],
    [{ IpAddressPrefix: "10.0.0.0/24" }, "network create error, no default gateway"],
    [
      { IpAddressPrefix: "10.0.0.0/24", Routes: [{ NextHop: "10.0.0.1", DestinationPrefix: "10.0.0.0/8" }] },
      "network create error, no default gateway",
    ],
  ])("a subnet %j is refused before any call", async (subnet, text) => {
    const client = new ScriptedClient([]);
    await expect(createNetwork(client, { Name: "x", Ipams: [{ Subnets: [subnet] }] })).rejects.toThrow(text);
    expect(client.asked).toEqual([]);
  });

  it("a created object gets schema version 2.0 and is read back", async () => {
    const client = new ScriptedClient([]);
    await createNetwork(client, { Name: "x", Type: "L2Bridge" });
    expect(client.asked[0]).toBe(
      'create Network {"SchemaVersion":{"Major":2,"Minor":0},"Name":"x","Type":"L2Bridge"}',
    );
    expect(client.asked[1]).toContain("query Network new");
  });

  it.each([
    [undefined, undefined],
    ["", undefined],
    ["00000000-0000-0000-0000-000000000000", undefined],
    ["7cb720c0-ac4c-4266-92e1-dc277b2a9b94", "7cb720c0-ac4c-4266-92e1-dc277b2a9b94"],
  ])("an endpoint with HostComputeNamespace %j is in %j", (given, expected) => {
    expect(namespaceOf(given === undefined ? {} : { HostComputeNamespace: given })).toBe(expected);
  });
});

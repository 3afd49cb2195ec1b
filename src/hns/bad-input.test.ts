// Bad input for every kind and call, in process and over HTTP: the documented code and text, every object as it was,
// and the service alive (hcn.md §1.1, §1.6, §6).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LIMITS } from "#core/base/limits.ts";
import { type HcnClient, type HcnObjectKind, HCN_KINDS } from "#contracts/hcn/client.ts";
import { type JsonObject, type JsonValue } from "#core/base/json.ts";
import { type Guid } from "#contracts/hcn/guid.ts";
import { HCN_ERRORS, type HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { HttpHcnClient } from "#contracts/hcn/http/http-client.node.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { HnsHttpServer } from "./http/http-server.node.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
const MISSING = "0fb28d70-306c-469d-9690-3245a82d882a";
const LONE = "half \ud83d";

/** One object of each kind, by its id. */
type Ids = Readonly<Record<HcnObjectKind, Guid>>;

function documentOf(kind: HcnObjectKind, ids: Ids): JsonObject {
  const documents: Readonly<Record<HcnObjectKind, JsonObject>> = {
    Network: { ...CBR0, Name: "cbr1" },
    Endpoint: { ...V2, Name: "web", HostComputeNetwork: ids.Network },
    Namespace: { ...V2, Type: "Host" },
    LoadBalancer: {
      ...V2,
      HostComputeEndpoints: [ids.Endpoint],
      FrontendVIPs: ["10.96.0.99"],
      PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: 80 }],
      Flags: 1,
    },
    SdnRoute: { ...V2, HostComputeEndpoints: [ids.Endpoint], Routes: [{ DestinationPrefix: "10.9.0.0/16" }] },
    GuestNetworkService: { ...V2, VirtualMachineId: MISSING },
  };
  return documents[kind];
}

async function populate(client: HcnClient): Promise<Ids> {
  const ids: Record<HcnObjectKind, Guid> = {
    Network: await client.create("Network", CBR0),
    Endpoint: "",
    Namespace: "",
    LoadBalancer: "",
    SdnRoute: "",
    GuestNetworkService: "",
  };
  ids.Endpoint = await client.create("Endpoint", { ...V2, Name: "a" }, { network: ids.Network });
  for (const kind of ["Namespace", "LoadBalancer", "SdnRoute", "GuestNetworkService"] as const)
    ids[kind] = await client.create(kind, documentOf(kind, ids));
  return ids;
}

/** Everything that the service shows of its objects; asked in process, because it is asked often. */
async function snapshot(client: HcnClient): Promise<readonly JsonObject[]> {
  const documents: JsonObject[] = [];
  for (const kind of HCN_KINDS)
    for (const id of await client.enumerate(kind)) documents.push(await client.query(kind, id, V2));
  return documents;
}

/** A client, and the same service in process. */
interface Opened {
  readonly client: HcnClient;
  readonly local: HcnClient;
}

interface Refusal {
  readonly code: string;
  readonly number: number;
  /** Windows' own text stands at the beginning of the record's. */
  readonly hasText: boolean;
  /** Every object is as it was, and the service alive. */
  readonly isUnchanged: boolean;
}

/** What a refusal with that code has to be. */
function refused(code: HcnErrorCode): Refusal {
  return { code, number: HCN_ERRORS[code].hresult, hasText: true, isUnchanged: true };
}

/** How a call was refused. */
async function refusalOf(local: HcnClient, call: () => Promise<unknown>): Promise<Refusal | undefined> {
  const before = JSON.stringify(await snapshot(local));
  const error: unknown = await call().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof HcnError)) return undefined;
  const { Error: text, ErrorCode: number } = error.toRecord();
  const hasText = error.code !== "unknown" && text.startsWith(HCN_ERRORS[error.code].text);
  const isUnchanged = before === JSON.stringify(await snapshot(local));
  return { code: error.code, number, hasText, isUnchanged };
}

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

/** Fields that every document has, each with a value of a wrong type. */
const WRONG_BASE: readonly [JsonObject, HcnErrorCode][] = [
  [{ Name: 5 }, "HCN_E_INVALID_JSON"],
  [{ Name: ["x"] }, "HCN_E_INVALID_JSON"],
  [{ Owner: {} }, "HCN_E_INVALID_JSON"],
  [{ Name: LONE }, "HCN_E_INVALID_JSON"],
  [{ [LONE]: 1 }, "HCN_E_INVALID_JSON"],
  [{ ID: 7 }, "HCN_E_INVALID_JSON"],
  [{ ID: "no guid" }, "HCN_E_GUID_CONVERSION_FAILURE"],
  [{ SchemaVersion: "2.0" }, "HCN_E_INVALID_JSON"],
  [{ SchemaVersion: { Major: "two" } }, "HCN_E_INVALID_JSON"],
  [{ SchemaVersion: { Major: 2, Minor: -1 } }, "HCN_E_INVALID_JSON"],
  [{ AdditionalParams: nested(200) }, "HCN_E_INVALID_JSON"],
];

/** What is wrong with a document of one kind. */
const WRONG: readonly [HcnObjectKind, JsonObject, HcnErrorCode][] = [
  ["Network", { Type: "Foo" }, "HCN_E_INVALID_NETWORK_TYPE"],
  ["Network", { Type: 99 }, "HCN_E_INVALID_NETWORK_TYPE"],
  ["Network", { Type: {} }, "HCN_E_INVALID_NETWORK_TYPE"],
  ["Network", { Flags: "many" }, "HCN_E_INVALID_JSON"],
  ["Network", { Flags: 1.5 }, "HCN_E_INVALID_JSON"],
  ["Network", { Ipams: {} }, "HCN_E_INVALID_JSON"],
  ["Network", { Ipams: [5] }, "HCN_E_INVALID_JSON"],
  ["Network", { Ipams: [{ Type: "Magic" }] }, "HCN_E_INVALID_JSON"],
  ["Network", { Policies: [{ Type: "NoSuchPolicy", Settings: {} }] }, "HCN_E_INVALID_POLICY_TYPE"],
  ["Network", { Policies: [{ Type: "VxlanPort", Settings: { Port: 70_000 } }] }, "HCN_E_INVALID_POLICY"],
  ["Network", { Policies: "all" }, "HCN_E_INVALID_JSON"],
  [
    "Network",
    { Ipams: [{ Subnets: [{ IpAddressPrefix: "10.9.0.1/16", Routes: [] }] }] },
    "HCN_E_INVALID_NETWORK",
  ],
  ["Endpoint", { IpConfigurations: "10.244.2.9" }, "HCN_E_INVALID_JSON"],
  ["Endpoint", { IpConfigurations: [{ IpAddress: "10.244.2.9", PrefixLength: 999 }] }, "HCN_E_INVALID_JSON"],
  ["Endpoint", { IpConfigurations: [{ IpAddress: "10.9.9.9" }] }, "HCN_E_INVALID_IP"],
  ["Endpoint", { IpConfigurations: [{ IpAddress: "300.1.1.1" }] }, "HCN_E_INVALID_IP"],
  ["Endpoint", { HostComputeNetwork: MISSING }, "HCN_E_NETWORK_NOT_FOUND"],
  ["Endpoint", { Policies: [{ Type: "NoSuchPolicy", Settings: {} }] }, "HCN_E_INVALID_POLICY_TYPE"],
  ["Endpoint", { Policies: [{ Type: "ACL", Settings: { Action: "Maybe" } }] }, "HCN_E_INVALID_POLICY"],
  ["Endpoint", { MacAddress: "00-11" }, "HCN_E_INVALID_ENDPOINT"],
  ["Endpoint", { Flags: -1 }, "HCN_E_INVALID_JSON"],
  ["Namespace", { Type: "Cellar" }, "HCN_E_INVALID_JSON"],
  ["Namespace", { NamespaceId: "five" }, "HCN_E_INVALID_JSON"],
  ["Namespace", { Resources: [{ Type: "Endpoint" }] }, "HCN_E_INVALID_JSON"],
  ["LoadBalancer", { HostComputeEndpoints: [] }, "HCN_E_INVALID_JSON_REFERENCE"],
  ["LoadBalancer", { HostComputeEndpoints: [MISSING] }, "HCN_E_ENDPOINT_NOT_FOUND"],
  ["LoadBalancer", { HostComputeEndpoints: "x" }, "HCN_E_GUID_CONVERSION_FAILURE"],
  [
    "LoadBalancer",
    { PortMappings: [{ Protocol: 6, InternalPort: 0, ExternalPort: 80 }] },
    "HCN_E_INVALID_INTERNAL_PORT",
  ],
  [
    "LoadBalancer",
    { PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: 99_999 }] },
    "HCN_E_INVALID_JSON",
  ],
  ["SdnRoute", { HostComputeEndpoints: [] }, "HCN_E_INVALID_JSON_REFERENCE"],
  ["SdnRoute", { HostComputeEndpoints: [MISSING] }, "HCN_E_ENDPOINT_NOT_FOUND"],
  ["SdnRoute", { Routes: 5 }, "HCN_E_INVALID_JSON"],
  ["GuestNetworkService", { VirtualMachineId: "vm" }, "HCN_E_GUID_CONVERSION_FAILURE"],
  ["GuestNetworkService", { MirrorHostNetworking: "perhaps" }, "HCN_E_INVALID_JSON"],
  ["GuestNetworkService", { GnsRpcServerInformation: { EndpointType: "Pigeon" } }, "HCN_E_INVALID_JSON"],
];

/** Requests to change an object that is there. */
const WRONG_CHANGES: readonly [HcnObjectKind, JsonObject, HcnErrorCode][] = [
  ...(["Network", "Endpoint", "Namespace", "GuestNetworkService"] as const).flatMap(
    (kind): readonly [HcnObjectKind, JsonObject, HcnErrorCode][] => [
      [kind, {}, "HCN_E_REQUEST_UNSUPPORTED"],
      [kind, { RequestType: "Paint", ResourceType: "Policy" }, "HCN_E_REQUEST_UNSUPPORTED"],
      [kind, { RequestType: 17, ResourceType: 0 }, "HCN_E_REQUEST_UNSUPPORTED"],
      [kind, { RequestType: "Add", ResourceType: "Roof" }, "HCN_E_REQUEST_UNSUPPORTED"],
      [kind, { RequestType: "Add", ResourceType: 0, Settings: "text" }, "HCN_E_INVALID_JSON"],
      [kind, { RequestType: LONE }, "HCN_E_INVALID_JSON"],
    ],
  ),
  [
    "Network",
    { RequestType: "Add", ResourceType: "Policy", Settings: { Policies: [{ Type: "Nothing" }] } },
    "HCN_E_INVALID_POLICY_TYPE",
  ],
  [
    "Network",
    { RequestType: "Add", ResourceType: "Policy", Settings: { Policies: 5 } },
    "HCN_E_INVALID_JSON",
  ],
  [
    "Network",
    {
      RequestType: "Add",
      ResourceType: "Subnet",
      Settings: { Subnets: [{ IpAddressPrefix: "10.7.0.1/16" }] },
    },
    "HCN_E_INVALID_SUBNET",
  ],
  [
    "Endpoint",
    {
      RequestType: "Update",
      ResourceType: "Policy",
      Settings: { Policies: [{ Type: "ACL", Settings: { RemoteAddresses: "Any" } }] },
    },
    "HCN_E_INVALID_POLICY",
  ],
  [
    "Namespace",
    { RequestType: "Add", ResourceType: "Endpoint", Settings: { EndpointId: MISSING } },
    "HCN_E_ENDPOINT_NOT_FOUND",
  ],
  [
    "Namespace",
    { RequestType: "Add", ResourceType: "Endpoint", Settings: { EndpointId: "web" } },
    "HCN_E_GUID_CONVERSION_FAILURE",
  ],
  [
    "GuestNetworkService",
    { RequestType: "Update", ResourceType: "State", Settings: { State: 99 } },
    "HCN_E_INVALID_JSON",
  ],
];

/** What says that an object of the kind is not there (hcn.md §4, §6). */
const NOT_FOUND: Readonly<Record<HcnObjectKind, HcnErrorCode>> = {
  Network: "HCN_E_NETWORK_NOT_FOUND",
  Endpoint: "HCN_E_ENDPOINT_NOT_FOUND",
  Namespace: "ERROR_NOT_FOUND",
  LoadBalancer: "ERROR_NOT_FOUND",
  SdnRoute: "ERROR_NOT_FOUND",
  GuestNetworkService: "ERROR_NOT_FOUND",
};

/** Queries that are none. */
const WRONG_QUERIES: readonly [unknown, HcnErrorCode][] = [
  [[], "HCN_E_INVALID_JSON"],
  [5, "HCN_E_INVALID_JSON"],
  ["{", "HCN_E_INVALID_JSON"],
  [{ Filter: "{" }, "HCN_E_INVALID_JSON"],
  [{ Filter: "[]" }, "HCN_E_INVALID_JSON"],
  [{ Filter: { Name: "x" } }, "HCN_E_INVALID_JSON"],
  [{ SchemaVersion: 2 }, "HCN_E_INVALID_JSON"],
  [{ SchemaVersion: { Major: 2 }, Flags: "detailed" }, "HCN_E_INVALID_JSON"],
  [{ Filter: `"${LONE}"` }, "HCN_E_INVALID_JSON"],
];

function describeBadInput(name: string, open: () => Promise<Opened>): void {
  describe(`bad input ${name}`, () => {
    let client: HcnClient;
    let local: HcnClient;
    let ids: Ids;
    beforeEach(async () => {
      ({ client, local } = await open());
      ids = await populate(local);
    });
    afterEach(async () => client.close());

    it.each(HCN_KINDS.flatMap((kind) => WRONG_BASE.map(([wrong, code]) => [kind, wrong, code] as const)))(
      "a %s with %j is refused with %s",
      async (kind, wrong, code) => {
        const document = { ...documentOf(kind, ids), ...wrong };
        expect(await refusalOf(local, async () => client.create(kind, document))).toEqual(refused(code));
      },
    );

    it.each(WRONG)("a %s with %j is refused with %s", async (kind, wrong, code) => {
      const document = { ...documentOf(kind, ids), ...wrong };
      expect(await refusalOf(local, async () => client.create(kind, document))).toEqual(refused(code));
    });

    it.each(WRONG_CHANGES)("the change of a %s by %j is refused with %s", async (kind, settings, code) => {
      expect(await refusalOf(local, async () => client.modify(kind, ids[kind], settings))).toEqual(
        refused(code),
      );
    });

    it.each(HCN_KINDS)(
      "an unknown %s is not opened, changed or deleted; a text that is no GUID neither",
      async (kind) => {
        const change = { RequestType: "Add", ResourceType: 0, Settings: {} };
        for (const id of [MISSING, "00000000-0000-0000-0000-000000000000"]) {
          expect(await refusalOf(local, async () => client.query(kind, id, V2))).toEqual(
            refused(NOT_FOUND[kind]),
          );
          expect(await refusalOf(local, async () => client.delete(kind, id))).toEqual(
            refused(NOT_FOUND[kind]),
          );
        }
        expect(await refusalOf(local, async () => client.modify("Network", MISSING, change))).toEqual(
          refused("HCN_E_NETWORK_NOT_FOUND"),
        );
        for (const id of ["", "x", `${MISSING}0`, `{${MISSING}`]) {
          expect(await refusalOf(local, async () => client.query(kind, id))).toEqual(
            refused("HCN_E_GUID_CONVERSION_FAILURE"),
          );
          expect(await refusalOf(local, async () => client.modify(kind, id, change))).toEqual(
            refused("HCN_E_GUID_CONVERSION_FAILURE"),
          );
          expect(await refusalOf(local, async () => client.delete(kind, id))).toEqual(
            refused("HCN_E_GUID_CONVERSION_FAILURE"),
          );
        }
      },
    );

    it.each(WRONG_QUERIES)("the query %j is refused with %s", async (query, code) => {
      for (const kind of HCN_KINDS) {
        expect(await refusalOf(local, async () => client.enumerate(kind, query as JsonObject))).toEqual(
          refused(code),
        );
        expect(
          await refusalOf(local, async () => client.query(kind, ids[kind], query as JsonObject)),
        ).toEqual(refused(code));
      }
    });

    it("NULL, an empty text, {} and a bare filter are queries for v1 shape (§1.1, §1.6)", async () => {
      for (const query of [undefined, "", {}, '{"Name":"cbr0"}', { Name: "cbr0" }]) {
        expect(await client.enumerate("Network", query as JsonObject)).toEqual([ids.Network]);
        const shown = await client.query("Network", ids.Network, query as JsonObject);
        expect([shown["ID"], Object.hasOwn(shown, "Subnets")]).toEqual([ids.Network.toUpperCase(), true]);
      }
    });

    it("a minor above the service's own is taken, and unknown fields are ignored (§1.6)", async () => {
      for (const kind of HCN_KINDS) {
        const SchemaVersion = { Major: 2, Minor: 99 };
        const other = { FrontendVIPs: ["10.96.7.7"], Name: "cbr7" };
        const document = { ...documentOf(kind, ids), ...(kind === "LoadBalancer" && other), SchemaVersion };
        const id = await client.create(kind, { ...document, Nmae: "misspelt", Extra: { a: [1] } });
        const shown = await client.query(kind, id, { SchemaVersion });
        expect(shown["ID"]).toBe(id);
        expect(shown["Extra"]).toBeUndefined();
      }
    });

    it("documents of v1 are taken by create, and come back in v2 (§1.6)", async () => {
      const network = await client.create("Network", {
        Name: "v1",
        Type: "l2bridge",
        Subnets: [{ AddressPrefix: "10.8.0.0/16", GatewayAddress: "10.8.0.1" }],
      });
      expect(await client.query("Network", network, V2)).toMatchObject({ Type: "L2Bridge" });
      const endpoint = await client.create("Endpoint", { VirtualNetwork: network, IPAddress: "10.8.0.7" });
      expect(await client.query("Endpoint", endpoint, V2)).toMatchObject({
        HostComputeNetwork: network,
        IpConfigurations: [{ IpAddress: "10.8.0.7" }],
      });
    });

    it.each(["{", "[1,", "", "nul", '{"Name":"\\ud800"}', "1e999", '{"a":1}}'])(
      "HCN-055: v1 answers the body %j with the record of HCN_E_INVALID_JSON",
      async (body) => {
        const before = await snapshot(client);
        for (const path of ["/networks/", "/endpoints/", "/policylists/", "/namespaces/"]) {
          expect(await client.call("POST", path, body)).toEqual({
            Error: expect.stringMatching(/^Invalid JSON document string\. /) as unknown,
            ErrorCode: 0x803b001b,
            Success: false,
          });
        }
        expect(await snapshot(client)).toEqual(before);
      },
    );
  });
}

describeBadInput("in process", async () => {
  const { client } = hnsNode();
  return Promise.resolve({ client, local: client });
});

describe("over HTTP", () => {
  let folder = "";
  let server: HnsHttpServer;
  let opened: Opened;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "mullion-bad-"));
    const socketPath = join(folder, "hns.sock");
    const local = hnsNode().client;
    server = await HnsHttpServer.listen({ client: local, address: { socketPath } });
    opened = { client: new HttpHcnClient({ address: { socketPath } }), local };
  });
  afterEach(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  describeBadInput("through a socket", async () => Promise.resolve(opened));
});

describe("bodies of requests", () => {
  const TOKEN = "0123456789abcdef0123456789abcdef";
  let server: HnsHttpServer;
  let post: (path: string, body: string | Buffer<ArrayBuffer>) => Promise<Response>;
  beforeEach(async () => {
    const address = { host: "127.0.0.1", port: 0, token: TOKEN } as const;
    server = await HnsHttpServer.listen({ client: hnsNode().client, address });
    post = async (path, body) =>
      fetch(`http://127.0.0.1:${server.port!}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}` },
        body,
      });
  });
  afterEach(async () => server.close());

  const network = (name: string): string =>
    `{"kind":"Network","settings":{"Name":${name},"Type":"L2Bridge"}}`;

  it.each([
    ["no JSON", "{", 400],
    ["no object", "[]", 400],
    ["bytes that are no UTF-8", Buffer.from('{"kind":"Network","settings":{"Name":"\xff"}}', "latin1"), 400],
    ["UTF-16", Buffer.from(network('"x"'), "utf16le"), 400],
    ["half a surrogate pair", network('"\\ud83d"'), 400],
    ["200 levels", `{"kind":"Network","settings":${"[".repeat(200)}${"]".repeat(200)}}`, 400],
    ["a million levels", "[".repeat(1_000_000), 400],
    ["more than 10 MiB", `"${"x".repeat(LIMITS.jsonBytesMax)}"`, 413],
    ["settings that are not a JSON text", '{"kind":"Network","settings":"{"}', 400],
    ["settings that are a list", '{"kind":"Network","settings":[]}', 400],
  ])("%s: %j is HCN_E_INVALID_JSON", async (_what, body, status) => {
    const response = await post("/hcn/create", body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      error: { Success: false, Error: "Invalid JSON document string. ", ErrorCode: 2151350299 },
    });
    const listed = await post("/hcn/enumerate", '{"kind":"Network"}');
    expect(await listed.json()).toEqual({ result: [] });
  });

  it("of a field that stands twice the last one counts; settings may be a text", async () => {
    const created = await post(
      "/hcn/create",
      '{"kind":"Endpoint","kind":"Network","settings":"{\\"Name\\":\\"a\\",\\"Name\\":\\"b\\",\\"Type\\":\\"L2Bridge\\"}"}',
    );
    expect(created.status).toBe(200);
    const listed = await post("/hcn/enumerate", '{"kind":"Network","query":{"Name":"b"}}');
    expect(((await listed.json()) as { result: string[] }).result).toHaveLength(1);
  });

  it("a document just below the limit is taken", async () => {
    const padding = "x".repeat(LIMITS.jsonBytesMax - 200);
    const created = await post(
      "/hcn/create",
      `{"kind":"Network","settings":{"Type":"L2Bridge","Unknown":"${padding}"}}`,
    );
    expect(created.status).toBe(200);
  });

  it("HCN-054: what succeeds carries no error record", async () => {
    const created = await post("/hcn/create", network('"cbr0"'));
    expect(Object.keys((await created.json()) as object)).toEqual(["result"]);
    const called = await post("/hcn/call", '{"method":"GET","path":"/networks/"}');
    expect(await called.json()).toMatchObject({ result: { Success: true } });
    const { client } = hnsNode();
    const envelope = await client.call("GET", "/globals/version", "");
    expect(Object.keys(envelope).toSorted()).toEqual(["Output", "Success"]);
  });
});

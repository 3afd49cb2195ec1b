import { beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import type { HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import type { HcnError } from "#contracts/hcn/error.ts";
import type { HostComputeLoadBalancer } from "#contracts/hcn/documents/load-balancer.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createLoadBalancer,
  createNamespace,
  createNetwork,
  deleteEndpoint,
  deleteLoadBalancer,
  deleteNetwork,
  getLoadBalancerById,
  listEndpoints,
  listLoadBalancers,
  modifyLoadBalancer,
  queryBy,
  removeNamespaceEndpoint,
} from "#contracts/hcn/operations.ts";
import { requestHns } from "#contracts/hcn/v1-operations.ts";
import { CBR0, type HnsNode, type HnsNodeOptions, hnsNode } from "#test/support/hns/hns-node.ts";
import { InProcessHcnClient } from "../in-process-client.ts";
import { MemoryObjectStore } from "../../store/stored-object.ts";

const MISSING = "0fb28d70-306c-469d-9690-3245a82d882a";
const PORT = { Protocol: 6, InternalPort: 8080, ExternalPort: 80 } as const;

interface Fixture extends HnsNode {
  readonly network: string;
  /** Two local endpoints and a remote one. */
  readonly endpoints: readonly [string, string, string];
}

async function fixture(options: HnsNodeOptions = {}): Promise<Fixture> {
  const node = hnsNode(options);
  const network = (await createNetwork(node.client, CBR0)).ID;
  const make = async (document: object): Promise<string> =>
    (await createEndpoint(node.client, network, document)).ID;
  const endpoints = [
    await make({ Name: "l1" }),
    await make({ Name: "l2" }),
    await make({ IpConfigurations: [{ IpAddress: "10.244.9.9" }], Flags: 1 }),
  ] as const;
  return { ...node, network, endpoints };
}

/** A ClusterIP over the first endpoint. */
function clusterIp(node: Fixture, more: Partial<HostComputeLoadBalancer> = {}): HostComputeLoadBalancer {
  return {
    HostComputeEndpoints: [node.endpoints[0]],
    FrontendVIPs: ["10.96.0.7"],
    PortMappings: [PORT],
    Flags: 1,
    ...more,
  };
}

function mapping(more: object): Partial<HostComputeLoadBalancer> {
  return { PortMappings: [{ ...PORT, ...more }] };
}

describe("creating a load balancer", () => {
  it.each<[string, (node: Fixture) => Partial<HostComputeLoadBalancer>, HcnErrorCode, string]>([
    [
      "HCN-056 no endpoint",
      () => ({ HostComputeEndpoints: [] }),
      "HCN_E_INVALID_JSON_REFERENCE",
      "at least one",
    ],
    [
      "an unknown endpoint (hcn.md §4.7)",
      () => ({ HostComputeEndpoints: [MISSING] }),
      "HCN_E_ENDPOINT_NOT_FOUND",
      MISSING,
    ],
    [
      "one unknown endpoint among others",
      (node) => ({ HostComputeEndpoints: [...node.endpoints, MISSING] }),
      "HCN_E_ENDPOINT_NOT_FOUND",
      "HostComputeEndpoints[3]",
    ],
    [
      "an endpoint that is not a GUID",
      () => ({ HostComputeEndpoints: ["EPID-1"] }),
      "HCN_E_GUID_CONVERSION_FAILURE",
      "EPID-1",
    ],
    ["no port mapping", () => ({ PortMappings: [] }), "HCN_E_INVALID_POLICY", "at least one"],
    [
      "no internal port (hcn.md §6.1)",
      () => mapping({ InternalPort: 0 }),
      "HCN_E_INVALID_INTERNAL_PORT",
      "PortMappings[0]",
    ],
    ["no external port", () => mapping({ ExternalPort: 0 }), "HCN_E_INVALID_POLICY", "ExternalPort"],
    ["ICMP", () => mapping({ Protocol: 1 }), "HCN_E_INVALID_POLICY", "6 (TCP)"],
    [
      "a front end that is not an address",
      () => ({ FrontendVIPs: ["web"] }),
      "HCN_E_INVALID_IP",
      "FrontendVIPs[0]",
    ],
    ["a source that is not an address", () => ({ SourceVIP: "web" }), "HCN_E_INVALID_IP", "SourceVIP"],
    [
      "the same port twice in one document",
      () => ({ PortMappings: [PORT, PORT] }),
      "HCN_E_PORT_ALREADY_EXISTS",
      "port 80",
    ],
  ])("%s is refused and nothing is made", async (_name, more, code, detail) => {
    const node = await fixture();
    const error = await createLoadBalancer(node.client, clusterIp(node, more(node))).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code });
    expect((error as HcnError).detail).toContain(detail);
    expect(await listLoadBalancers(node.client)).toEqual([]);
  });

  it("HCN-056 the record of the first says what Windows says (hcn.md §9.24)", async () => {
    const { client } = await fixture();
    const error = (await client
      .create("LoadBalancer", { SchemaVersion: { Major: 2, Minor: 0 } })
      .catch((reason: unknown) => reason)) as HcnError;
    expect(error.toRecord()).toEqual({
      Success: false,
      Error: "The reference is invalid in the JSON document. A Reference is required",
      ErrorCode: 2151350300,
    });
  });

  it("endpoints of two networks are refused", async () => {
    const node = await fixture();
    const other = await createNetwork(node.client, { ...CBR0, Name: "cbr1" });
    const stranger = (await createEndpoint(node.client, other.ID, {})).ID;
    const document = clusterIp(node, { HostComputeEndpoints: [node.endpoints[0], stranger] });
    await expect(createLoadBalancer(node.client, document)).rejects.toMatchObject({
      code: "HCN_E_INVALID_JSON_REFERENCE",
    });
  });

  it.each<[string, number, HostComputeLoadBalancer, boolean]>([
    ["the same address, protocol and port", 1, {}, true],
    ["another address", 1, { FrontendVIPs: ["10.96.0.8"] }, false],
    ["another protocol", 1, mapping({ Protocol: 17 }), false],
    ["another port", 1, mapping({ ExternalPort: 81 }), false],
    ["one of several addresses", 1, { FrontendVIPs: ["10.96.0.8", "10.96.0.7"] }, true],
    ["a node port beside an address", 1, { FrontendVIPs: [] }, false],
    ["a node port twice", 0, { FrontendVIPs: [] }, true],
    ["a node port for each family", 0, { FrontendVIPs: [], Flags: 2 }, false],
  ])("0x803b0013 for %s (hcn.md §4.7)", async (_name, vipCount, more, isClash) => {
    const node = await fixture();
    const first = vipCount === 0 ? { FrontendVIPs: [], Flags: 0 } : {};
    await createLoadBalancer(node.client, clusterIp(node, first));
    const second = createLoadBalancer(node.client, clusterIp(node, { Flags: 0, ...more }));
    if (isClash) await expect(second).rejects.toMatchObject({ hresult: 0x803b0013 });
    else await expect(second).resolves.toMatchObject({ State: 2 });
  });

  it("a front end is free again when its load balancer is gone", async () => {
    const node = await fixture();
    const made = await createLoadBalancer(node.client, clusterIp(node));
    await deleteLoadBalancer(node.client, made.ID);
    await expect(createLoadBalancer(node.client, clusterIp(node))).resolves.toMatchObject({ State: 2 });
  });

  it("HCN-035 endpoints that were never attached are fine, HCN-068 remote ones too", async () => {
    const node = await fixture();
    const document = clusterIp(node, {
      HostComputeEndpoints: node.endpoints,
      SourceVIP: "10.0.0.1",
      FrontendVIPs: ["10.96.0.7", "10.96.0.8"],
    });
    expect(await createLoadBalancer(node.client, document)).toMatchObject({
      ...document,
      HostComputeEndpoints: node.endpoints.map((id) => id.toUpperCase()),
    });
  });

  it("0x803b0007 for an endpoint whose port is gone (hcn.md §4.7), until it has one again", async () => {
    const node = await fixture();
    const namespace = (await createNamespace(node.client, "Host")).ID;
    await addNamespaceEndpoint(node.client, namespace, node.endpoints[0]);
    await removeNamespaceEndpoint(node.client, namespace, node.endpoints[0]);
    await expect(createLoadBalancer(node.client, clusterIp(node))).rejects.toMatchObject({
      hresult: 0x803b0007,
    });
    await addNamespaceEndpoint(node.client, namespace, node.endpoints[0]);
    await expect(createLoadBalancer(node.client, clusterIp(node))).resolves.toMatchObject({ State: 2 });
  });

  it.each([
    ["ws2019.1", 64],
    ["ws2022.1", 64],
    ["ws2022", 1024],
  ])("on %s %d back ends are the most (kube-proxy.md §3.13)", async (profile, most) => {
    const node = await fixture({ profile });
    const ids = Array.from({ length: most + 1 }, (_, index) =>
      node.service.create(
        "Endpoint",
        {
          SchemaVersion: { Major: 2, Minor: 0 },
          Flags: 1,
          IpConfigurations: [{ IpAddress: `10.9.${index >> 8}.${index & 255}` }],
        },
        { network: node.network },
      ),
    );
    const error = await createLoadBalancer(node.client, clusterIp(node, { HostComputeEndpoints: ids })).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ explanation: "too-many-back-ends" });
    // As kubernetes/kubernetes#98680 shows it.
    expect((error as HcnError).toRecord()).toEqual({
      Success: false,
      Error: "The parameter is incorrect. Unable to initialize VFP LB rule: invalid number of destinations.",
      ErrorCode: 2147942487,
    });
    const fitting = clusterIp(node, { HostComputeEndpoints: ids.slice(1) });
    expect((await createLoadBalancer(node.client, fitting)).HostComputeEndpoints).toHaveLength(most);
  });
});

describe("what comes back", () => {
  it.each([
    ["HCN-038 DSR and PreserveDip", { Flags: 1, ...mapping({ Flags: 8 }) }],
    ["HCN-039 ILB", mapping({ Flags: 1 })],
    ["HCN-075 session affinity", mapping({ DistributionType: 2 })],
    ["HCN-076 IPv6", { Flags: 2, FrontendVIPs: ["fd00:96::7"] }],
    ["a node port", { Flags: 0, FrontendVIPs: [], ...mapping({ Flags: 2 }) }],
    ["SCTP", mapping({ Protocol: 132 })],
  ])("%s is kept", async (_name, more) => {
    const node = await fixture();
    const made = await createLoadBalancer(node.client, clusterIp(node, more));
    const { Flags, FrontendVIPs, PortMappings } = clusterIp(node, more);
    expect(made.PortMappings).toEqual(PortMappings);
    expect(made.Flags ?? 0).toBe(Flags);
    expect(made.FrontendVIPs ?? []).toEqual(FrontendVIPs);
  });

  it("DT-089 affinity is an unknown field on WS2019, before HNS 12.0 (hcn.md §7.1, §8.3)", async () => {
    const node = await fixture({ profile: "ws2019" });
    const made = await createLoadBalancer(node.client, clusterIp(node, mapping({ DistributionType: 2 })));
    expect(made.PortMappings).toEqual([PORT]);
  });

  it.each([
    ["ILB", mapping({ Flags: 1 }), "Flags 1 (ILB)"],
    ["UseMux without DSR", { Flags: 0, ...mapping({ Flags: 4 }) }, "Flags 4 (UseMux)"],
    ["UseMux with DSR", mapping({ Flags: 4 }), undefined],
    ["PreserveDip without DSR", { Flags: 0, ...mapping({ Flags: 8 }) }, "Flags 8 (PreserveDip)"],
    ["PreserveDip with DSR", mapping({ Flags: 8 }), undefined],
    ["SCTP", mapping({ Protocol: 132 }), "SCTP (132)"],
    ["IPv6 without DSR", { Flags: 2, FrontendVIPs: ["fd00:96::7"] }, undefined],
    ["IPv6 with DSR", { Flags: 3, FrontendVIPs: ["fd00:96::7"] }, undefined],
    ["VipExternalIP", mapping({ Flags: 16 }), undefined],
  ])("what of %s has no effect stands in the health data", async (_name, more, reason) => {
    const node = await fixture();
    const made = await createLoadBalancer(node.client, clusterIp(node, more));
    const text = JSON.stringify(made.Health?.Data);
    if (reason === undefined) expect(text).not.toContain("NotEnforced");
    else expect(text).toContain(reason);
  });

  it.each<[string, (made: HostComputeLoadBalancer) => JsonObject, boolean]>([
    ["its id in upper case", (made) => ({ ID: made.ID!.toUpperCase() }), true],
    ["another id", () => ({ ID: MISSING }), false],
    ["its name", () => ({ Name: "web" }), true],
    ["another name", () => ({ Name: "other" }), false],
  ])("a filter with %s", async (_name, filter, isFound) => {
    const node = await fixture();
    const made = await createLoadBalancer(node.client, clusterIp(node, { Name: "web" }));
    const found = await node.client.enumerate("LoadBalancer", queryBy(filter(made)));
    expect(found).toEqual(isFound ? [made.ID] : []);
  });
});

describe("changing a load balancer (hcn.md §5.2)", () => {
  const version = { Major: 15, Minor: 5 } as const;

  it("HCN-036 adds a back end, then removes one, and keeps the id", async () => {
    const node = await fixture({ profile: "ws2025", version });
    const [first, second] = node.endpoints;
    const made = await createLoadBalancer(node.client, clusterIp(node, { Owner: "kube-proxy" }));
    const two = clusterIp(node, { HostComputeEndpoints: [first, second] });
    const changed = await modifyLoadBalancer(node.client, made.ID, two);
    expect(changed).toMatchObject({ ID: made.ID, Owner: "kube-proxy", State: 2 });
    expect(changed.HostComputeEndpoints).toHaveLength(2);
    const one = clusterIp(node, { HostComputeEndpoints: [second] });
    expect(await modifyLoadBalancer(node.client, made.ID, one)).toMatchObject({
      HostComputeEndpoints: [second.toUpperCase()],
    });
  });

  // hcn.md: the optional fields that every object has.
  it("a change keeps owner, name and further parameters unless it has its own", async () => {
    const node = await fixture({ profile: "ws2025", version });
    const base = { Owner: "kube-proxy", Name: "web", AdditionalParams: { a: 1 } };
    const made = await createLoadBalancer(node.client, clusterIp(node, base));
    expect(made).toMatchObject(base);
    expect(await modifyLoadBalancer(node.client, made.ID, clusterIp(node))).toMatchObject(base);
    const other = { Owner: "admin", Name: "shop", AdditionalParams: { b: 2 } };
    const changed = await modifyLoadBalancer(node.client, made.ID, clusterIp(node, other));
    expect(changed).toMatchObject(other);
    expect(changed.AdditionalParams).toEqual(other.AdditionalParams);
  });

  it("a change frees the front ends that it leaves and keeps off those of others", async () => {
    const node = await fixture({ profile: "ws2025", version });
    const first = await createLoadBalancer(node.client, clusterIp(node));
    await createLoadBalancer(node.client, clusterIp(node, { FrontendVIPs: ["10.96.0.8"] }));
    const taken = clusterIp(node, { FrontendVIPs: ["10.96.0.8"] });
    await expect(modifyLoadBalancer(node.client, first.ID, taken)).rejects.toMatchObject({
      code: "HCN_E_PORT_ALREADY_EXISTS",
    });
    expect(await getLoadBalancerById(node.client, first.ID)).toEqual(first);
    await modifyLoadBalancer(node.client, first.ID, clusterIp(node, { FrontendVIPs: ["10.96.0.9"] }));
    await expect(createLoadBalancer(node.client, clusterIp(node))).resolves.toMatchObject({ State: 2 });
  });

  it("endpoints of another network are refused", async () => {
    const node = await fixture({ profile: "ws2025", version });
    const made = await createLoadBalancer(node.client, clusterIp(node));
    const other = await createNetwork(node.client, { ...CBR0, Name: "cbr1" });
    const stranger = (await createEndpoint(node.client, other.ID, {})).ID;
    await expect(
      modifyLoadBalancer(node.client, made.ID, clusterIp(node, { HostComputeEndpoints: [stranger] })),
    ).rejects.toMatchObject({ code: "HCN_E_INVALID_JSON_REFERENCE" });
  });

  it("15.4 takes the call, does nothing, and the health data says so (hcn.md §7.1)", async () => {
    const node = await fixture({ profile: "ws2025" });
    const made = await createLoadBalancer(node.client, clusterIp(node));
    const two = clusterIp(node, { HostComputeEndpoints: node.endpoints });
    const answer = await modifyLoadBalancer(node.client, made.ID, two);
    const { Health, ...rest } = answer;
    const { Health: _, ...before } = made;
    expect(rest).toEqual(before);
    expect(JSON.stringify(Health?.Data)).toContain("load-balancer-update-ignored");
  });

  it.each(["ws2019", "ws2022"])("%s does not implement it", async (profile) => {
    const node = await fixture({ profile });
    const made = await createLoadBalancer(node.client, clusterIp(node));
    await expect(modifyLoadBalancer(node.client, made.ID, clusterIp(node))).rejects.toMatchObject({
      code: "E_NOTIMPL",
      hresult: 0x80004001,
    });
  });

  it("one that is not there is element not found, on every version", async () => {
    const node = await fixture();
    await expect(modifyLoadBalancer(node.client, MISSING, clusterIp(node))).rejects.toMatchObject({
      code: "ERROR_NOT_FOUND",
    });
  });
});

describe("the life of a load balancer", () => {
  let node: Fixture;
  beforeEach(async () => {
    node = await fixture();
  });

  it("H16 its endpoints can be deleted: it lives on with the rest, and is degraded without any (hcn.md §4.4)", async () => {
    const [first, , remote] = node.endpoints;
    const document = clusterIp(node, { HostComputeEndpoints: [first, remote] });
    const { ID } = await createLoadBalancer(node.client, document);
    await deleteEndpoint(node.client, remote);
    expect(await getLoadBalancerById(node.client, ID)).toMatchObject({ State: 2 });
    await deleteEndpoint(node.client, first);
    expect(await getLoadBalancerById(node.client, ID)).toMatchObject({
      State: 4,
      HostComputeEndpoints: [first.toUpperCase(), remote.toUpperCase()],
    });
    expect(await requestHns(node.client, "GET", `/policylists/${ID}`)).toMatchObject({ IsApplied: false });
    await deleteLoadBalancer(node.client, ID);
    expect(await listLoadBalancers(node.client)).toEqual([]);
  });

  it("an endpoint that comes back under its id serves it again", async () => {
    const [first] = node.endpoints;
    const { ID } = await createLoadBalancer(node.client, clusterIp(node));
    await deleteEndpoint(node.client, first);
    await createEndpoint(node.client, node.network, { ID: first });
    expect(await getLoadBalancerById(node.client, ID)).toMatchObject({ State: 2 });
  });

  it("goes with its network (hcn.md §4.6)", async () => {
    await createLoadBalancer(node.client, clusterIp(node));
    await deleteNetwork(node.client, node.network);
    expect(await listLoadBalancers(node.client)).toEqual([]);
    expect(await listEndpoints(node.client)).toEqual([]);
  });

  it("nobody is told of it: HNS has no notification for load balancers (hcn.md §1.4)", async () => {
    const heard: unknown[] = [];
    node.client.subscribe((notification) => heard.push(notification));
    const { ID } = await createLoadBalancer(node.client, clusterIp(node));
    await deleteLoadBalancer(node.client, ID);
    expect(heard).toEqual([]);
  });

  it("is stored, also when the end of an endpoint degrades it", async () => {
    const store = new MemoryObjectStore();
    const client = new InProcessHcnClient(node.service, store);
    const { ID } = await createLoadBalancer(client, clusterIp(node));
    const stored = async (): Promise<JsonObject | undefined> =>
      (await store.list()).find((change) => change.id === ID)?.document;
    expect(await stored()).toMatchObject({ ID, State: 2 });
    await deleteEndpoint(client, node.endpoints[0]);
    expect(await stored()).toMatchObject({ State: 4 });
    await deleteLoadBalancer(client, ID);
    expect(await stored()).toBeUndefined();
  });
});

import { describe, expect, it } from "vitest";
import type { HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import {
  addSdnRoute,
  addSdnRouteEndpoint,
  createSdnRoute,
  deleteSdnRoute,
  getSdnRouteById,
  listSdnRoutes,
  modifySdnRoute,
  removeSdnRouteEndpoint,
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
  deleteEndpoint,
  deleteNetwork,
  listEndpoints,
} from "#contracts/hcn/operations.ts";
import type { HostComputeRoute } from "#contracts/hcn/documents/sdn-route.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import { CBR0, type HnsNode, type HnsNodeOptions, hnsNode } from "#test/support/hns/hns-node.ts";

const MISSING = "0fb28d70-306c-469d-9690-3245a82d882a";
/** The route of hcn.md §9.20, host bits and all. */
const SETTING = { DestinationPrefix: "169.254.169.254/24", NextHop: "127.10.0.33" } as const;

interface Fixture extends HnsNode {
  readonly network: string;
  readonly endpoints: readonly [string, string];
}

async function fixture(options: HnsNodeOptions = {}): Promise<Fixture> {
  const node = hnsNode(options);
  const network = (await createNetwork(node.client, CBR0)).ID;
  const make = async (Name: string): Promise<string> =>
    (
      await createEndpoint(node.client, network, {
        Name,
        Policies: [{ Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16"] } }],
      })
    ).ID;
  return { ...node, network, endpoints: [await make("e1"), await make("e2")] };
}

describe("an SDN route", () => {
  it("HCN-041: is created with hcsshim's Setting, found, and deleted", async () => {
    const { client, endpoints } = await fixture();
    const route = await addSdnRoute(client, [endpoints[0]], SETTING);
    expect(route.HostComputeEndpoints).toEqual([endpoints[0]]);
    // Read as hcsshim reads it, and as the schema page has it.
    expect(route.Setting).toEqual([SETTING]);
    expect(route.Routes).toEqual([SETTING]);
    expect((await listSdnRoutes(client)).map((each) => each.ID)).toEqual([route.ID]);
    expect((await getSdnRouteById(client, route.ID)).ID).toBe(route.ID);
    await deleteSdnRoute(client, route.ID);
    expect(await listSdnRoutes(client)).toEqual([]);
    await expect(getSdnRouteById(client, route.ID)).rejects.toThrow(`SDN Route "${route.ID}" not found`);
  });

  it("is created with the Routes of the schema (hcn.md §9.20)", async () => {
    const { client, endpoints } = await fixture();
    const Routes = [
      {
        DestinationPrefix: "10.1.0.0/16",
        NextHop: "10.244.2.2",
        NeedEncap: false,
        AutomaticEndpointMonitor: false,
      },
    ];
    const route = await createSdnRoute(client, {
      HostComputeEndpoints: [endpoints[0]],
      Routes,
      SchemaVersion: { Major: 2, Minor: 2 },
    });
    expect(route.Routes).toEqual(Routes);
    expect(route.SchemaVersion).toEqual({ Major: 2, Minor: 2 });
  });

  it("HCN-042: AddEndpoint and RemoveEndpoint delete and create, and keep the id", async () => {
    const { client, network, endpoints } = await fixture();
    const made = await addSdnRoute(client, [endpoints[0]], SETTING);
    const added = await addSdnRouteEndpoint(client, made, endpoints[1]);
    expect(added.ID).toBe(made.ID);
    expect(added.HostComputeEndpoints).toEqual(endpoints);
    const removed = await removeSdnRouteEndpoint(client, added, endpoints[1]);
    expect(removed.ID).toBe(made.ID);
    expect(removed.HostComputeEndpoints).toEqual([endpoints[0]]);
    expect(removed.Setting).toEqual([SETTING]);
    // By the old id, and then the network, while the second endpoint still exists.
    await deleteSdnRoute(client, made.ID);
    await deleteEndpoint(client, endpoints[0]);
    expect(await listEndpoints(client)).toHaveLength(1);
    await deleteNetwork(client, network);
    expect(await listEndpoints(client)).toEqual([]);
  });

  it("is changed by its whole document", async () => {
    const { client, endpoints } = await fixture();
    const made = await createSdnRoute(client, {
      Name: "metadata",
      HostComputeEndpoints: [endpoints[0]],
      Routes: [SETTING],
    });
    const changed = await modifySdnRoute(client, made.ID, {
      HostComputeEndpoints: endpoints,
      Routes: [{ DestinationPrefix: "10.9.0.0/16", NeedEncap: true }],
    });
    expect(changed).toMatchObject({
      ID: made.ID,
      Name: "metadata",
      HostComputeEndpoints: endpoints,
      Routes: [{ DestinationPrefix: "10.9.0.0/16", NeedEncap: true }],
    });
  });

  it.each<[string, (node: Fixture) => HostComputeRoute, HcnErrorCode]>([
    ["no endpoint", () => ({ HostComputeEndpoints: [], Routes: [SETTING] }), "HCN_E_INVALID_JSON_REFERENCE"],
    [
      "an unknown endpoint",
      (node) => ({ HostComputeEndpoints: [node.endpoints[0], MISSING], Routes: [SETTING] }),
      "HCN_E_ENDPOINT_NOT_FOUND",
    ],
    [
      "a route without a prefix",
      (node) => ({ HostComputeEndpoints: [node.endpoints[0]], Routes: [{ DestinationPrefix: "" }] }),
      "HCN_E_INVALID_POLICY",
    ],
    [
      "an id that another one has",
      (node) => ({ ID: node.endpoints[1], HostComputeEndpoints: [node.endpoints[0]], Routes: [SETTING] }),
      "ERROR_OBJECT_ALREADY_EXISTS",
    ],
  ])("%s is refused and nothing is made", async (_case, document, code) => {
    const node = await fixture();
    if (code === "ERROR_OBJECT_ALREADY_EXISTS") {
      await createSdnRoute(node.client, {
        ID: node.endpoints[1],
        HostComputeEndpoints: [node.endpoints[0]],
        Routes: [SETTING],
      });
    }
    const before = await listSdnRoutes(node.client);
    await expect(createSdnRoute(node.client, document(node))).rejects.toMatchObject({ code });
    expect(await listSdnRoutes(node.client)).toEqual(before);
  });

  it.each([
    [
      { Routes: [{ NextHop: "10.0.0.1" }] },
      "HCN_E_INVALID_POLICY",
      /Routes\[0\]\.DestinationPrefix is nothing/,
    ],
    [
      { Routes: [SETTING, { DestinationPrefix: "10.0.0.0/40" }] },
      "HCN_E_INVALID_POLICY",
      /Routes\[1\].*a CIDR/,
    ],
    [
      { Setting: [{ ...SETTING, NextHop: "here" }] },
      "HCN_E_INVALID_POLICY",
      /Setting\[0\]\.NextHop is "here"/,
    ],
    [{ Setting: [{ ...SETTING, NeedEncap: 3 }] }, "HCN_E_INVALID_POLICY", /NeedEncap is 3.*true or false/],
    [{ Routes: "10.0.0.0/8" }, "HCN_E_INVALID_JSON", /Routes is "10\.0\.0\.0\/8"; it must be a list/],
  ])("%j is refused with the place", async (fields, code, message) => {
    const { client, endpoints } = await fixture();
    const document = {
      SchemaVersion: { Major: 2, Minor: 0 },
      HostComputeEndpoints: [endpoints[0]],
      ...fields,
    };
    const refused = client.create("SdnRoute", document);
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string });
  });

  it("hcsshim's helper refuses a route without endpoints before any call", async () => {
    const { client } = await fixture();
    await expect(addSdnRoute(client, [], SETTING)).rejects.toThrow("missing endpoints");
  });

  it("goes with its network", async () => {
    const { client, network, endpoints } = await fixture();
    await addSdnRoute(client, [endpoints[0]], SETTING);
    await deleteNetwork(client, network);
    expect(await client.enumerate("SdnRoute")).toEqual([]);
  });

  it("a filter with the id finds it, in either letter case", async () => {
    const { client, endpoints } = await fixture();
    const made = await addSdnRoute(client, [endpoints[0]], SETTING);
    await addSdnRoute(client, [endpoints[1]], SETTING);
    const Filter = JSON.stringify({ ID: made.ID.toUpperCase() });
    expect(await client.enumerate("SdnRoute", { Filter })).toEqual([made.ID]);
  });
});

describe("what an SDN route does (hcn.md §3.3)", () => {
  /** The exceptions of the first endpoint's source NAT rule for TCP, and who else is named by its port's rules. */
  function natRule(node: Fixture): Rule | undefined {
    const vnic = node.datapath.listVnics().find((each) => each.portDescription.includes("(e1)"));
    return vnic?.program?.groups.SLB_NAT_LAYER!.flatMap((group) => group.rules)[0];
  }

  function isExcepted(node: Fixture, address: number): boolean {
    const except = natRule(node)?.condition.destinationExcept ?? [];
    return except.some((prefix) => prefix.address === address);
  }

  const ROUTED = 0x0a_09_00_00;

  it("keeps its prefix from source NAT on each endpoint that it names, as long as it is there", async () => {
    const node = await fixture();
    const namespace = (await createNamespace(node.client)).ID;
    await addNamespaceEndpoint(node.client, namespace, node.endpoints[0]);
    expect(natRule(node)).toBeDefined();
    expect(isExcepted(node, ROUTED)).toBe(false);
    const route = await addSdnRoute(node.client, [node.endpoints[0]], { DestinationPrefix: "10.9.0.0/16" });
    expect(isExcepted(node, ROUTED)).toBe(true);
    await deleteSdnRoute(node.client, route.ID);
    expect(isExcepted(node, ROUTED)).toBe(false);
  });

  it("a route to the node is a rule that names the route object", async () => {
    const node = await fixture();
    const namespace = (await createNamespace(node.client)).ID;
    await addNamespaceEndpoint(node.client, namespace, node.endpoints[0]);
    const route = await addSdnRoute(node.client, [node.endpoints[0]], {
      DestinationPrefix: "10.0.2.15/32",
      NeedEncap: true,
    });
    const [vnic] = node.datapath.listVnics();
    const rules = vnic?.program?.groups.INTERNAL_L2_REWRITE_LAYER!.flatMap((group) => group.rules) ?? [];
    expect(rules.map((rule) => rule.provenance)).toContainEqual({
      object: "HostComputeRoute",
      id: route.ID,
      name: "",
      policy: { type: "SDNRoute", index: 0 },
    });
  });

  it("a next hop is stored and said not to act", async () => {
    const { client, endpoints } = await fixture();
    const route = await addSdnRoute(client, [endpoints[0]], SETTING);
    expect(route.Health?.Data).toMatchObject({ NotEnforced: [{ Type: "SDNRoute", Index: 0 }] });
  });
});

/**
 * What every `HcnClient` keeps, whatever carries its calls. `open` gives a client of a fresh service that makes
 * L2Bridge networks on one adapter, named `Ethernet`.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeGuestCalls } from "./client-guest.suite.ts";
import { describeComputeSystems } from "./client-systems.suite.ts";
import { type HcnClient, type HcnNotification, NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  addSdnRoute,
  addSdnRouteEndpoint,
  deleteSdnRoute,
  listSdnRoutes,
  addNamespaceEndpoint,
  createEndpoint,
  createLoadBalancer,
  createNamespace,
  createNetwork,
  deleteEndpoint,
  deleteLoadBalancer,
  deleteNetwork,
  getEndpointById,
  getEndpointByName,
  getLoadBalancerById,
  getNamespaceById,
  getNamespaceEndpointIds,
  getNetworkById,
  getNetworkByName,
  listEndpoints,
  listEndpointsOfNetwork,
  listLoadBalancers,
  listNetworks,
  modifyEndpointPolicies,
  queryBy,
  removeNamespaceEndpoint,
} from "#contracts/hcn/operations.ts";
import {
  HOST_ATTACH,
  attachHnsEndpoint,
  createHnsEndpoint,
  createHnsNetwork,
  detachHnsEndpoint,
  getHnsEndpoint,
  getHnsVersion,
  listHnsNetworks,
  requestHns,
} from "#contracts/hcn/v1-operations.ts";

const V2: JsonObject = { SchemaVersion: { Major: 2, Minor: 0 } };
const MISSING = "0fb28d70-306c-469d-9690-3245a82d882a";

const NETWORK = {
  Name: "cbr0",
  Type: "L2Bridge",
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.244.2.0/24",
          Routes: [{ NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" }],
        },
      ],
    },
  ],
} as const;

const REMOTE = {
  IpConfigurations: [{ IpAddress: "10.244.9.37" }],
  MacAddress: "02-11-0a-f4-09-25",
  Flags: 1,
} as const;

/** A ClusterIP with DSR (hcn.md §9.19), without its back ends. */
const BALANCED = {
  SourceVIP: "10.0.2.15",
  FrontendVIPs: ["10.96.0.10"],
  PortMappings: [{ Protocol: 6, InternalPort: 8080, ExternalPort: 80 }],
  Flags: 1,
} as const;

export function describeHcnClient(name: string, open: () => Promise<HcnClient>): void {
  describe(`${name} keeps the HcnClient contract`, () => {
    let client: HcnClient;
    beforeEach(async () => {
      client = await open();
    });
    afterEach(async () => {
      await client.close();
    });

    it("HCN-006 HCN-007 a look-up that finds nothing is an empty list", async () => {
      expect(await client.enumerate("Network", queryBy({ Name: "nobody" }))).toEqual([]);
      expect(await client.enumerate("Endpoint", queryBy({ ID: MISSING }))).toEqual([]);
      await expect(getNetworkByName(client, "nobody")).rejects.toThrow('Network name "nobody" not found');
      await expect(getNetworkById(client, MISSING)).rejects.toThrow(`Network ID "${MISSING}" not found`);
    });

    it("HCN-027 a namespace that is not there is an empty list", async () => {
      await expect(getNamespaceById(client, MISSING)).rejects.toThrow(`Namespace ID "${MISSING}" not found`);
    });

    it("HCN-008 HCN-009 enumerated ids are lower case without braces and can be opened", async () => {
      await createNetwork(client, NETWORK);
      const ids = await client.enumerate("Network");
      expect(ids).toHaveLength(1);
      for (const id of ids) {
        expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
        expect(await client.query("Network", id, V2)).toMatchObject({ ID: id, Name: "cbr0" });
      }
    });

    it("HCN-010 an explicit id is honoured, in either letter case; after delete it is gone", async () => {
      const id = await client.create("Network", { ...NETWORK, ...V2 }, { id: MISSING.toUpperCase() });
      expect(id).toBe(MISSING);
      expect(await client.enumerate("Network")).toEqual([MISSING]);
      await deleteNetwork(client, MISSING.toUpperCase());
      expect(await client.enumerate("Network")).toEqual([]);
    });

    it("HCN-013 opening the zero GUID fails", async () => {
      await expect(client.query("Network", "00000000-0000-0000-0000-000000000000", V2)).rejects.toMatchObject(
        {
          code: "HCN_E_NETWORK_NOT_FOUND",
        },
      );
    });

    it("HCN-015 deleting what is not there fails and harms nothing", async () => {
      await expect(deleteNetwork(client, MISSING)).rejects.toMatchObject({ code: "HCN_E_NETWORK_NOT_FOUND" });
      await expect(deleteEndpoint(client, MISSING)).rejects.toMatchObject({
        code: "HCN_E_ENDPOINT_NOT_FOUND",
      });
      expect(await listNetworks(client)).toEqual([]);
    });

    it("HCN-028 a missing namespace is ERROR_NOT_FOUND", async () => {
      await expect(client.query("Namespace", MISSING, V2)).rejects.toMatchObject({
        code: "ERROR_NOT_FOUND",
        hresult: 0x80070490,
      });
    });

    it("HCN-055 a refusal carries code, number, record and a detail for people", async () => {
      await createNetwork(client, NETWORK);
      const error = await createNetwork(client, NETWORK).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(HcnError);
      expect(error).toMatchObject({ code: "HCN_E_NETWORK_ALREADY_EXISTS", hresult: 0x803b0010 });
      expect((error as HcnError).toRecord()).toEqual({
        Success: false,
        Error: "A network with this name already exists. ",
        ErrorCode: 2151350288,
      });
      expect((error as HcnError).detail).toContain("cbr0");
    });

    it("HCN-018 HCN-020 an endpoint gets address and MAC, and is found by id and by name", async () => {
      const network = await createNetwork(client, NETWORK);
      const endpoint = await createEndpoint(client, network.ID, { Name: "web_cbr0" });
      expect(endpoint.IpConfigurations?.[0]?.IpAddress).toMatch(/^10\.244\.2\./);
      expect(endpoint.MacAddress).toMatch(/^00-15-5D-/);
      expect(await getEndpointById(client, endpoint.ID)).toEqual(endpoint);
      expect(await getEndpointByName(client, "web_cbr0")).toEqual(endpoint);
    });

    it("HCN-048 statistics of every endpoint, in v1 and by the call of their own", async () => {
      const network = await createNetwork(client, NETWORK);
      await createEndpoint(client, network.ID, { Name: "a" });
      await createEndpoint(client, network.ID, REMOTE);
      for (const endpoint of await listEndpoints(client)) {
        const stats = await client.queryEndpointStats(endpoint.ID);
        expect(stats).toEqual({
          BytesReceived: 0,
          BytesSent: 0,
          DroppedPacketsIncoming: 0,
          DroppedPacketsOutgoing: 0,
          EndpointId: endpoint.ID.toUpperCase(),
          InstanceId: expect.stringMatching(/^[0-9A-F-]{36}$/) as string,
          PacketsReceived: 0,
          PacketsSent: 0,
        });
        expect(await requestHns(client, "GET", `/endpointstats/${endpoint.ID}`)).toEqual(stats);
      }
      await expect(client.queryEndpointStats(MISSING)).rejects.toMatchObject({
        code: "HCN_E_ENDPOINT_NOT_FOUND",
      });
    });

    it("the addresses of an endpoint, in v1 and by the call of their own", async () => {
      const network = await createNetwork(client, NETWORK);
      const endpoint = await createEndpoint(client, network.ID, { Name: "a" });
      const addresses = await client.queryEndpointAddresses(endpoint.ID, V2);
      expect(addresses).toMatchObject({
        EndpointId: endpoint.ID.toUpperCase(),
        IpConfigurations: endpoint.IpConfigurations!,
        MacAddress: endpoint.MacAddress!,
      });
      expect(await requestHns(client, "GET", `/endpointaddresses/${endpoint.ID}`)).toEqual(addresses);
      await expect(client.queryEndpointAddresses(MISSING)).rejects.toMatchObject({
        code: "HCN_E_ENDPOINT_NOT_FOUND",
      });
    });

    it("HCN-014 an endpoint's explicit id and MAC are honoured", async () => {
      const network = await createNetwork(client, NETWORK);
      const document = { ...V2, HostComputeNetwork: network.ID, MacAddress: "00:11:22:33:44:55" };
      const id = await client.create("Endpoint", document, { id: MISSING, network: network.ID });
      expect(id).toBe(MISSING);
      expect(await client.query("Endpoint", id, V2)).toMatchObject({ MacAddress: "00:11:22:33:44:55" });
    });

    it("HCN-021 endpoints of a network are asked for by VirtualNetwork, in either letter case", async () => {
      const first = await createNetwork(client, NETWORK);
      const second = await createNetwork(client, { ...NETWORK, Name: "cbr1" });
      const endpoint = await createEndpoint(client, first.ID, { Name: "a" });
      await createEndpoint(client, second.ID, { Name: "b" });
      const found = await listEndpointsOfNetwork(client, first.ID.toUpperCase());
      expect(found.map((each) => each.ID)).toEqual([endpoint.ID]);
    });

    it("HCN-023 HCN-024 an endpoint goes into a namespace and out of it", async () => {
      const network = await createNetwork(client, NETWORK);
      const endpoint = await createEndpoint(client, network.ID, { Name: "web" });
      const namespace = await createNamespace(client, "Host");
      await addNamespaceEndpoint(client, namespace.ID, endpoint.ID);
      expect(await getNamespaceEndpointIds(client, namespace.ID)).toEqual([endpoint.ID]);
      expect((await getEndpointById(client, endpoint.ID)).HostComputeNamespace).toBe(namespace.ID);
      await removeNamespaceEndpoint(client, namespace.ID, endpoint.ID);
      expect(await getNamespaceEndpointIds(client, namespace.ID)).toEqual([]);
      expect((await getEndpointById(client, endpoint.ID)).HostComputeNamespace).toBeUndefined();
    });

    it("HCN-030 HCN-031 Update replaces the policies of a detached endpoint", async () => {
      const network = await createNetwork(client, NETWORK);
      const endpoint = await createEndpoint(client, network.ID, {
        Policies: [{ Type: "OutBoundNAT", Settings: {} }],
      });
      const acls = [
        { Type: "ACL", Settings: { Protocols: "6", Action: "Allow", Direction: "In", Priority: 200 } },
        { Type: "ACL", Settings: { Action: "Block", Direction: "Out", Priority: 300 } },
      ] as const;
      const updated = await modifyEndpointPolicies(client, endpoint.ID, "Update", acls);
      expect(updated.Policies).toEqual(acls);
    });

    it("HCN-001 HCN-066 v1 and v2 are two views of one store", async () => {
      const network = await createHnsNetwork(client, {
        Name: "cbr0",
        Type: "l2bridge",
        Subnets: [{ AddressPrefix: "10.244.2.0/24", GatewayAddress: "10.244.2.1" }],
      });
      const version = await getHnsVersion(client);
      expect(version.Major).toBeGreaterThan(8);
      const v2 = await getNetworkByName(client, "cbr0");
      expect(v2.ID).toBe(network.ID);
      expect((await listHnsNetworks(client)).map((each) => each.Type)).toEqual(["L2Bridge"]);
      const endpoint = await createHnsEndpoint(client, {
        Name: "cbr0_ep",
        VirtualNetwork: network.ID,
        IPAddress: "10.244.2.2",
      });
      expect((await listEndpoints(client)).map((each) => each.ID)).toEqual([endpoint.ID]);
      await attachHnsEndpoint(client, endpoint.ID, HOST_ATTACH);
      expect((await getHnsEndpoint(client, endpoint.ID)).State).toBe(2);
      await detachHnsEndpoint(client, endpoint.ID, HOST_ATTACH);
      expect((await getHnsEndpoint(client, endpoint.ID)).State).toBe(1);
    });

    it("a v1 failure is an envelope, not a rejected call", async () => {
      expect(await client.call("GET", `/endpoints/${MISSING}`, "")).toEqual({
        Error: "The endpoint was not found. ",
        ErrorCode: 2151350274,
        Success: false,
      });
      expect(await client.call("POST", "/networks/", "{")).toMatchObject({
        Success: false,
        ErrorCode: 0x803b001b,
      });
    });

    describeComputeSystems(() => client);

    it("HCN-040 listing load balancers works with none present", async () => {
      expect(await listLoadBalancers(client)).toEqual([]);
      await expect(getLoadBalancerById(client, MISSING)).rejects.toThrow(
        `LoadBalancer "${MISSING}" not found`,
      );
    });

    it("HCN-035 HCN-038 a load balancer over a local and a remote endpoint comes back as it was made", async () => {
      const network = await createNetwork(client, NETWORK);
      const local = await createEndpoint(client, network.ID, { Name: "web" });
      const remote = await createEndpoint(client, network.ID, REMOTE);
      const endpoints = [local.ID.toUpperCase(), remote.ID.toUpperCase()];
      const made = await createLoadBalancer(client, { ...BALANCED, HostComputeEndpoints: endpoints });
      expect(made).toMatchObject({ ...BALANCED, HostComputeEndpoints: endpoints, State: 2 });
      expect(await getLoadBalancerById(client, made.ID.toUpperCase())).toEqual(made);
      await deleteLoadBalancer(client, made.ID);
      expect(await client.enumerate("LoadBalancer")).toEqual([]);
    });

    it("HCN-037 a load balancer that was deleted can be made again with its id and another back end", async () => {
      const network = await createNetwork(client, NETWORK);
      const first = await createEndpoint(client, network.ID, { Name: "a" });
      const second = await createEndpoint(client, network.ID, { Name: "b" });
      const made = await createLoadBalancer(client, { ...BALANCED, HostComputeEndpoints: [first.ID] });
      const endpoints = [first.ID.toUpperCase(), second.ID.toUpperCase()];
      await deleteLoadBalancer(client, made.ID);
      const again = await createLoadBalancer(client, {
        ...BALANCED,
        ID: made.ID,
        HostComputeEndpoints: endpoints,
      });
      expect(again.ID).toBe(made.ID);
      expect(again.HostComputeEndpoints).toEqual(endpoints);
    });

    it("HCN-056 HCN-074 refusals about load balancers have their codes", async () => {
      await expect(client.create("LoadBalancer", { ...V2 })).rejects.toMatchObject({
        code: "HCN_E_INVALID_JSON_REFERENCE",
      });
      await expect(deleteLoadBalancer(client, MISSING)).rejects.toMatchObject({ code: "ERROR_NOT_FOUND" });
    });

    it("HCN-104 v1 lists and deletes the load balancers of v2", async () => {
      const network = await createNetwork(client, NETWORK);
      const endpoint = await createEndpoint(client, network.ID, { Name: "web" });
      const made = await createLoadBalancer(client, { ...BALANCED, HostComputeEndpoints: [endpoint.ID] });
      expect(await requestHns(client, "GET", "/policylists/")).toMatchObject([
        { ID: made.ID.toUpperCase(), References: [`/endpoints/${endpoint.ID}`], IsApplied: true },
      ]);
      await requestHns(client, "DELETE", `/policylists/${made.ID.toUpperCase()}`);
      expect(await listLoadBalancers(client)).toEqual([]);
    });

    it("SDN routes are made of hcsshim's documents, changed by delete and create, and deleted", async () => {
      const network = await createNetwork(client, NETWORK);
      const first = (await createEndpoint(client, network.ID, { Name: "p" })).ID;
      const second = (await createEndpoint(client, network.ID, { Name: "q" })).ID;
      const made = await addSdnRoute(client, [first], { DestinationPrefix: "169.254.169.254/24" });
      const added = await addSdnRouteEndpoint(client, made, second);
      expect([added.ID, added.HostComputeEndpoints]).toEqual([made.ID, [first, second]]);
      expect(await listSdnRoutes(client)).toEqual([added]);
      await deleteSdnRoute(client, made.ID);
      expect(await listSdnRoutes(client)).toEqual([]);
    });

    describeGuestCalls(() => client);

    it("a listener hears networks come and go until it unsubscribes", async () => {
      const heard: HcnNotification[] = [];
      const unsubscribe = client.subscribe((notification) => heard.push(notification));
      const network = await createNetwork(client, { ...NETWORK, Flags: 8 });
      await deleteNetwork(client, network.ID);
      await expect.poll(() => heard.length).toBe(4);
      expect(heard.map((notification) => notification.type)).toEqual([
        NOTIFICATION_TYPES.NetworkPreCreate,
        NOTIFICATION_TYPES.NetworkCreate,
        NOTIFICATION_TYPES.NetworkPreDelete,
        NOTIFICATION_TYPES.NetworkDelete,
      ]);
      expect(heard[1]?.data).toEqual({ ID: network.ID, Flags: 8 });
      unsubscribe();
      await createNetwork(client, NETWORK);
      expect(heard).toHaveLength(4);
    });

    it("calls that run at the same time each get their own answer", async () => {
      const network = await createNetwork(client, NETWORK);
      const created = await Promise.all(
        Array.from({ length: 20 }, async (_, index) =>
          createEndpoint(client, network.ID, { Name: `pod-${index}` }),
        ),
      );
      expect(created.map((endpoint) => endpoint.Name)).toEqual(
        Array.from({ length: 20 }, (_, index) => `pod-${index}`),
      );
      expect(new Set(created.map((endpoint) => endpoint.IpConfigurations?.[0]?.IpAddress)).size).toBe(20);
    });
  });
}

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "#test/support/any-text.ts";
import type { JsonObject } from "#core/base/json.ts";
import {
  createEndpoint,
  createNamespace,
  createNetwork,
  getEndpointById,
  getNetworkByName,
  listEndpoints,
  listLoadBalancers,
} from "#contracts/hcn/operations.ts";
import {
  HOST_ATTACH,
  attachHnsEndpoint,
  createHnsEndpoint,
  createHnsNetwork,
  detachHnsEndpoint,
  getHnsEndpoint,
  requestHns,
} from "#contracts/hcn/v1-operations.ts";
import { CBR0, POD_ENDPOINT, hnsNode } from "#test/support/hns/hns-node.ts";

const MISSING = "0fb28d70-306c-469d-9690-3245a82d882a";

const FLANNEL_NETWORK = {
  Name: "cbr0",
  Type: "L2Bridge",
  DNSServerList: "10.96.0.10",
  Subnets: [{ AddressPrefix: "10.244.2.0/24", GatewayAddress: "10.244.2.1" }],
} as const;

describe("HNS v1", () => {
  it("HCN-001 /globals/version answers numbers", async () => {
    const { client } = hnsNode({ profile: "ws2025" });
    expect(await client.call("GET", "/globals/version", "")).toEqual({
      Success: true,
      Output: { Major: 15, Minor: 4 },
    });
  });

  it.each(["/networks", "/networks/", "networks/"])("GET %s lists networks", async (path) => {
    const { client } = hnsNode();
    await createNetwork(client, CBR0);
    expect(await client.call("get", path, "")).toMatchObject({ Success: true, Output: [{ Name: "cbr0" }] });
  });

  it("HCN-016 a v1 document makes a network by HcnCreateNetwork and comes back as v2", async () => {
    const { client } = hnsNode();
    await client.create("Network", FLANNEL_NETWORK);
    expect(await getNetworkByName(client, "cbr0")).toMatchObject({
      Type: "L2Bridge",
      Dns: { ServerList: ["10.96.0.10"] },
      Ipams: [
        {
          Subnets: [
            {
              IpAddressPrefix: "10.244.2.0/24",
              Routes: [{ NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" }],
            },
          ],
        },
      ],
    });
  });

  it("HCN-017 a v1 document makes an endpoint by HcnCreateEndpoint", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    const id = await client.create("Endpoint", { Name: "v1", VirtualNetwork: network.ID.toUpperCase() });
    expect(await getEndpointById(client, id)).toMatchObject({ Name: "v1", HostComputeNetwork: network.ID });
  });

  it("HCN-071 the type comes back in canonical case", async () => {
    const { client } = hnsNode();
    expect((await createHnsNetwork(client, { ...FLANNEL_NETWORK, Type: "l2bridge" })).Type).toBe("L2Bridge");
  });

  it("HCN-078 flannel and win-overlay find ManagementIP and the subnet's gateway", async () => {
    const { client } = hnsNode();
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    expect(network).toMatchObject({ ManagementIP: "10.0.2.15", Subnets: [{ GatewayAddress: "10.244.2.1" }] });
  });

  it("HCN-066 an endpoint made through v2 reads through v1", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    const endpoint = await createEndpoint(client, network.ID, POD_ENDPOINT);
    expect(await getHnsEndpoint(client, endpoint.ID.toUpperCase())).toMatchObject({
      VirtualNetwork: network.ID,
      VirtualNetworkName: "cbr0",
      IPAddress: "10.244.2.10",
      PrefixLength: 24,
      GatewayAddress: "10.244.2.2",
      MacAddress: "0E-2A-0A-F4-02-0A",
      DNSServerList: "10.96.0.10",
      Namespace: { ID: "00000000-0000-0000-0000-000000000000" },
      State: 1,
    });
  });

  it("the keys of a v1 document come in alphabetical order, and so do those of a failure", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    const output = (await requestHns(client, "GET", `/networks/${network.ID}`)) as JsonObject;
    expect(Object.keys(output)).toEqual(Object.keys(output).sort());
    expect(Object.keys(await client.call("GET", "/networks/nonsense", ""))).toEqual([
      "Error",
      "ErrorCode",
      "Success",
    ]);
  });

  it("HCN-047 HCN-064 the host's leg is attached once, detached once", async () => {
    const { client, datapath } = hnsNode();
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    const endpoint = await createHnsEndpoint(client, {
      Name: "cbr0_ep",
      VirtualNetwork: network.ID,
      IPAddress: "10.244.2.2",
    });
    expect(endpoint.GatewayAddress).toBe("10.244.2.1");
    await attachHnsEndpoint(client, endpoint.ID, HOST_ATTACH);
    expect(datapath.listVnics()).toMatchObject([{ compartmentId: 1, interfaceName: "vEthernet (cbr0_ep)" }]);
    const body = JSON.stringify(HOST_ATTACH);
    expect(await client.call("POST", `/endpoints/${endpoint.ID}/attach`, body)).toEqual({
      Error: "This endpoint is already attached to the switch. ",
      ErrorCode: 0x803b0014,
      Success: false,
    });
    await detachHnsEndpoint(client, endpoint.ID, HOST_ATTACH);
    expect(datapath.listVnics()).toEqual([]);
    await expect(detachHnsEndpoint(client, endpoint.ID, HOST_ATTACH)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_NOT_ATTACHED",
    });
  });

  it.each([
    ['{"SystemType":"Container","ContainerId":"x"}', 0xc037010e],
    ['{"SystemType":"Container"}', 0xc037010e],
    ['{"SystemType":"Host","CompartmentId":7}', 0x80070057],
    ["{}", 0xc037010e],
    ["[]", 0x803b001b],
  ])("attach with %s is refused", async (body, code) => {
    const { client } = hnsNode();
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    const endpoint = await createHnsEndpoint(client, { VirtualNetwork: network.ID });
    expect(await client.call("POST", `/endpoints/${endpoint.ID}/attach`, body)).toMatchObject({
      Success: false,
      ErrorCode: code,
    });
  });

  it("policies are read and written in v1 spelling and kept in v2's (hcn.md §3.6)", async () => {
    const { client } = hnsNode({ profile: "ws2019" });
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    const policies = [
      { Type: "OutBoundNAT", ExceptionList: ["10.96.0.0/12"], Destinations: ["8.8.8.8"], VIP: "10.0.2.15" },
      { Type: "ROUTE", DestinationPrefix: "10.96.0.0/12", NeedEncap: true },
      { Type: "NAT", Protocol: "TCP", InternalPort: 80, ExternalPort: 8080, ExternalPortReserved: true },
      {
        Type: "ACL",
        Protocol: 6,
        Action: "Block",
        Direction: "In",
        LocalPort: 80,
        RuleType: "Switch",
        Priority: 200,
      },
      { Type: "PA", PA: "10.0.2.15" },
      { Type: "QOS", MaximumOutgoingBandwidthInBytes: 1000 },
    ];
    const endpoint = await createHnsEndpoint(client, { VirtualNetwork: network.ID, Policies: policies });
    expect((await getEndpointById(client, endpoint.ID)).Policies?.slice(0, 6)).toEqual([
      {
        Type: "OutBoundNAT",
        Settings: { VirtualIP: "10.0.2.15", Exceptions: ["10.96.0.0/12"], Destinations: ["8.8.8.8"] },
      },
      { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } },
      { Type: "PortMapping", Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080, Flags: 4 } },
      {
        Type: "ACL",
        Settings: {
          Protocols: "6",
          Action: "Block",
          Direction: "In",
          LocalPorts: "80",
          RuleType: "Switch",
          Priority: 200,
        },
      },
      { Type: "ProviderAddress", Settings: { ProviderAddress: "10.0.2.15" } },
      { Type: "QOS", Settings: { MaximumOutgoingBandwidthInBytes: 1000 } },
    ]);
    expect(endpoint.Policies?.map((policy) => policy.Type)).toEqual([
      "OutBoundNAT",
      "ROUTE",
      "NAT",
      "ACL",
      "PA",
      "QOS",
      "L2Driver",
    ]);
    expect(endpoint.Policies?.[2]).toEqual(policies[2]);
  });

  it("HCN-077 POST /endpoints/{id} replaces all policies; what was read can be written back", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    const endpoint = await createEndpoint(client, network.ID, POD_ENDPOINT);
    const before = await getEndpointById(client, endpoint.ID);
    const read = await getHnsEndpoint(client, endpoint.ID);
    await requestHns(client, "POST", `/endpoints/${endpoint.ID}`, { Policies: read.Policies ?? [] });
    expect((await getEndpointById(client, endpoint.ID)).Policies).toEqual(before.Policies);
    await requestHns(client, "POST", `/endpoints/${endpoint.ID}`, {
      Policies: [{ Type: "ACL", Action: "Allow", Direction: "In" }],
    });
    expect((await getEndpointById(client, endpoint.ID)).Policies).toHaveLength(1);
  });

  it("a load-balancer policy on an endpoint, or one that nobody knows, is refused", async () => {
    const { client } = hnsNode();
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    for (const Type of ["ELB", "Nonsense"]) {
      await expect(
        createHnsEndpoint(client, { VirtualNetwork: network.ID, Policies: [{ Type }] }),
      ).rejects.toMatchObject({ code: "HCN_E_INVALID_POLICY_TYPE" });
    }
    expect(await listEndpoints(client)).toEqual([]);
  });

  it("DELETE answers the object as it was", async () => {
    const { client } = hnsNode();
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    expect(await client.call("DELETE", `/networks/${network.ID}`, "")).toMatchObject({
      Success: true,
      Output: { Name: "cbr0" },
    });
    expect(await client.call("DELETE", `/networks/${network.ID}`, "")).toEqual({
      Error: "The network was not found. ",
      ErrorCode: 2151350273,
      Success: false,
    });
  });

  it("namespaces: made, filled, emptied, deleted (hcn.md §9.23)", async () => {
    const { client } = hnsNode();
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    const endpoint = await createHnsEndpoint(client, { VirtualNetwork: network.ID });
    const made = (await requestHns(client, "POST", "/namespaces/", { IsDefault: true })) as JsonObject;
    expect(made).toMatchObject({ IsDefault: true, CompartmentId: 1, ResourceList: [] });
    const path = `/namespaces/${made["ID"] as string}`;
    const resource = { Type: "Endpoint", Data: { Id: endpoint.ID } };
    expect(await client.call("POST", `${path}/addresource`, JSON.stringify(resource))).toEqual({
      Success: true,
    });
    expect(await requestHns(client, "GET", path)).toMatchObject({ ResourceList: [resource] });
    await requestHns(client, "POST", `${path}/removeresource`, resource);
    await requestHns(client, "DELETE", path);
    expect(await client.call("GET", path, "")).toEqual({
      Error: "Element not found. ",
      ErrorCode: 0x80070490,
      Success: false,
    });
  });

  it("policy lists: made from ELB policies, listed, read as v2, deleted (hcn.md §1.7, §3.6)", async () => {
    const { client } = hnsNode();
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    const endpoint = await createHnsEndpoint(client, { VirtualNetwork: network.ID });
    const policy = {
      Type: "ELB",
      Protocol: 6,
      InternalPort: 80,
      ExternalPort: 30_080,
      SourceVIP: "10.0.2.15",
      VIPs: [],
      IsDSR: false,
      ILB: true,
      LocalRoutedVip: true,
    } as const;
    const made = (await requestHns(client, "POST", "/policylists/", {
      References: [`/endpoints/${endpoint.ID.toUpperCase()}`],
      Policies: [policy, { ...policy, ExternalPort: 30_081 }],
    })) as JsonObject;
    expect(made["Policies"]).toEqual([policy, { ...policy, ExternalPort: 30_081 }]);
    expect(await listLoadBalancers(client)).toMatchObject([
      {
        ID: (made["ID"] as string).toLowerCase(),
        HostComputeEndpoints: [endpoint.ID.toUpperCase()],
        SourceVIP: "10.0.2.15",
        PortMappings: [
          { Protocol: 6, InternalPort: 80, ExternalPort: 30_080, Flags: 3 },
          { Protocol: 6, InternalPort: 80, ExternalPort: 30_081, Flags: 3 },
        ],
      },
    ]);
    const path = `/policylists/${made["ID"] as string}`;
    expect(await requestHns(client, "GET", path)).toEqual(made);
    expect(await client.call("DELETE", path, "")).toEqual({ Success: true, Output: made });
    expect(await client.call("DELETE", path, "")).toMatchObject({ ErrorCode: 0x80070490, Success: false });
  });

  it.each<[string, JsonObject, number]>([
    ["without references", { Policies: [] }, 0x803b001c],
    ["with a reference to something else", { References: ["/networks/x"] }, 0x803b001c],
    ["of routes", { Policies: [{ Type: "ROUTE" }] }, 0x803b000e],
    [
      "whose policies have several front ends",
      {
        Policies: [
          { Type: "ELB", VIPs: ["10.96.0.1"] },
          { Type: "ELB", VIPs: ["10.96.0.2"] },
        ],
      },
      0x803b000d,
    ],
  ])("a policy list %s is refused", async (_name, document, code) => {
    const { client } = hnsNode();
    expect(await client.call("POST", "/policylists", JSON.stringify(document))).toMatchObject({
      Success: false,
      ErrorCode: code,
    });
    expect(await client.call("GET", "/policylists", "")).toEqual({ Success: true, Output: [] });
  });

  it.each(["/", "", "/__proto__", "/constructor/x", "/networks/a/b/c", `/${"x".repeat(5_000)}`])(
    "GET %j is nothing that HNS has",
    async (path) => {
      expect(await hnsNode().client.call("GET", path, "")).toEqual({
        Error: expect.stringMatching(/^(The specified request is unsupported|Failed to interpret)/) as string,
        ErrorCode: expect.any(Number) as number,
        Success: false,
      });
    },
  );

  it("any method, path and body is answered by an envelope, and nothing is broken by it", async () => {
    const { client } = hnsNode({ profile: "ws2025" });
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    const endpoint = await createHnsEndpoint(client, { VirtualNetwork: network.ID });
    const word = fc.oneof(
      fc.constantFrom("networks", "endpoints", "NAMESPACES", "policylists", "endpointstats", "accelnet"),
      fc.constantFrom("attach", "detach", "addresource", "detailed", "globals", "version", "__proto__"),
      fc.constantFrom(MISSING, network.ID, `{${endpoint.ID.toUpperCase()}}`, "?detailed=true", ".."),
      anyText(8),
    );
    const path = fc.array(word, { maxLength: 5 }).map((words) => `/${words.join("/")}`);
    const body = fc.oneof(fc.json({ maxDepth: 2 }), anyText(20));
    const method = fc.oneof(fc.constantFrom("GET", "POST", "delete"), fc.string({ maxLength: 6 }));
    await fc.assert(
      fc.asyncProperty(method, path, body, async (verb, where, text) => {
        const answer = await client.call(verb, where, text);
        expect(Object.keys(answer)).toContain("Success");
        if (answer["Success"] === false) expect(answer["ErrorCode"]).toBeGreaterThan(0x8000_0000);
      }),
      { seed: 20_251_121, numRuns: 300 },
    );
    expect(await client.call("GET", "/globals/version", "")).toMatchObject({ Success: true });
  });

  it("an id that is none is a GUID that cannot be read (0x803b0019)", async () => {
    const { client } = hnsNode();
    for (const id of ["cbr0", "..", "%2e%2e", "__proto__", "{}"]) {
      expect(await client.call("GET", `/networks/${id}`, "")).toEqual({
        Error: "Failed to interpret a parameter as a GUID. ",
        ErrorCode: 0x803b0019,
        Success: false,
      });
    }
  });

  it("words and ids come in either letter case, with braces, slashes and a query string", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    const id = network.ID;
    for (const path of [
      `/NETWORKS/${id.toUpperCase()}`,
      `networks//{${id}}/`,
      `/networks/${id}?x=1`,
      `/networks/${id}/?detailed=true`,
      `/networks/${id}/detailed`,
    ]) {
      expect(await client.call("get", path, "")).toMatchObject({ Success: true, Output: { Name: "cbr0" } });
    }
    expect(await client.call("PATCH", `/networks/${id}`, "")).toMatchObject({ ErrorCode: 0x803b0015 });
  });

  it("the layer of a network shows the host's vNIC: connected, with the adapter's MAC (hcn.md §2.9)", async () => {
    const { client } = hnsNode();
    const { ID } = await createNetwork(client, CBR0);
    const { Output } = (await client.call("GET", `/networks/${ID}?detailed=true`, "")) as unknown as {
      readonly Output: {
        readonly Layer: { readonly Resources: { readonly Allocators: readonly JsonObject[] } };
      };
    };
    const vnics = Output.Layer.Resources.Allocators.filter(({ Tag }) => Tag === "Host Vnic");
    expect(vnics).toMatchObject([
      {
        Connected: true,
        NicFriendlyName: "vEthernet (Ethernet)",
        MacAddress: expect.stringMatching(/^[0-9A-F]{2}(-[0-9A-F]{2}){5}$/) as string,
        NetworkId: ID.toUpperCase(),
        State: 3,
      },
    ]);
  });

  it("up to 1803 a failure has no number (hcn.md §1.7)", async () => {
    const { client } = hnsNode({ version: { Major: 7, Minor: 2 } });
    expect(await client.call("GET", `/endpoints/${MISSING}`, "")).toEqual({
      Error: "The endpoint was not found. ",
      Success: false,
    });
  });

  it("the keys of every envelope are in alphabetical order", async () => {
    const { client } = hnsNode();
    for (const path of ["/networks/", `/networks/${MISSING}`]) {
      const keys = Object.keys(await client.call("GET", path, ""));
      expect(keys).toEqual(keys.toSorted());
    }
  });

  it("HCN-049 a network is deleted with its endpoints, attached or not", async () => {
    const { client, datapath } = hnsNode();
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    const endpoint = await createHnsEndpoint(client, { Name: "leg", VirtualNetwork: network.ID });
    await createHnsEndpoint(client, { Name: "detached", VirtualNetwork: network.ID });
    await attachHnsEndpoint(client, endpoint.ID, HOST_ATTACH);
    await requestHns(client, "DELETE", `/networks/${network.ID}`);
    expect(await requestHns(client, "GET", "/endpoints/")).toEqual([]);
    expect(datapath.listVnics()).toEqual([]);
  });

  it("HCN-050 accelnet: POST 2 MACs, GET 2, DELETE, GET 0", async () => {
    const { client } = hnsNode({ profile: "ws2025" });
    const body = {
      MacAddressList: [{ MacAddress: "00-15-5D-0A-B7-C6" }, { MacAddress: "00-15-5D-38-01-00" }],
    };
    expect(await requestHns(client, "GET", "/accelnet/")).toEqual({ MacAddressList: [] });
    expect(await requestHns(client, "POST", "/accelnet/", body)).toEqual(body);
    expect(await requestHns(client, "GET", "/accelnet/")).toEqual(body);
    expect(await requestHns(client, "DELETE", "/accelnet/")).toEqual({ MacAddressList: [] });
    expect(await requestHns(client, "GET", "/accelnet/")).toEqual({ MacAddressList: [] });
    await expect(
      requestHns(client, "POST", "/accelnet/", { MacAddressList: [{ MacAddress: "nonsense" }] }),
    ).rejects.toMatchObject({ code: "HCN_E_INVALID_JSON" });
  });

  it("the accelnet list is stored, comes back, and goes when it is cleared", async () => {
    const { client, service } = hnsNode({ profile: "ws2025" });
    await requestHns(client, "POST", "/accelnet/", { MacAddressList: [{ MacAddress: "00-15-5D-0A-B7-C6" }] });
    const stored = service.export();
    const other = hnsNode({ profile: "ws2025" });
    other.service.restore(stored);
    expect(await requestHns(other.client, "GET", "/accelnet/")).toEqual({
      MacAddressList: [{ MacAddress: "00-15-5D-0A-B7-C6" }],
    });
    service.call("POST", "/accelnet/", '{"MacAddressList":[{"MacAddress":"00-15-5D-0A-B7-C7"}]}');
    expect(service.takeChanges()).toMatchObject([{ kind: "Globals", object: { kind: "Globals" } }]);
    service.call("DELETE", "/accelnet/", "");
    expect(service.takeChanges()).toMatchObject([{ kind: "Globals", object: undefined }]);
    other.service.restore([]);
    expect(await requestHns(other.client, "GET", "/accelnet/")).toEqual({ MacAddressList: [] });
  });

  it("accelnet is nothing that HNS before 15.4 has", async () => {
    const { client } = hnsNode({ profile: "ws2022" });
    expect(await client.call("GET", "/accelnet/", "")).toMatchObject({ ErrorCode: 0x803b0015 });
  });

  it("/activities lists what the service keeps, by its ActivityId", async () => {
    const { client } = hnsNode();
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    const document = (await requestHns(client, "GET", `/networks/${network.ID}`)) as JsonObject;
    expect(await requestHns(client, "GET", "/activities")).toContainEqual(
      expect.objectContaining({
        ActivityId: document["ActivityId"] as string,
        EntityId: document["ID"] as string,
        EntityType: "Network",
      }),
    );
  });

  it("/plugins lists the types of network", async () => {
    const { client } = hnsNode();
    expect(await requestHns(client, "GET", "/plugins")).toContainEqual({ Name: "L2Bridge" });
  });

  it("/portpools lists the blocks of 64 ports that load balancers hold", async () => {
    const { client } = hnsNode();
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    const endpoint = await createHnsEndpoint(client, { VirtualNetwork: network.ID });
    expect(await requestHns(client, "GET", "/portpools")).toEqual({ PortPoolAllocations: [] });
    await requestHns(client, "POST", "/policylists/", {
      References: [`/endpoints/${endpoint.ID}`],
      Policies: [{ Type: "ELB", Protocol: 6, InternalPort: 80, ExternalPort: 80, VIPs: ["10.96.0.1"] }],
    });
    const pools = (await requestHns(client, "GET", "/portpools")) as JsonObject;
    expect(pools["PortPoolAllocations"]).toContainEqual(
      expect.objectContaining({ Protocol: 6, StartingPort: 49_152, EndingPort: 49_215 }),
    );
  });

  it("POST /policylists/{id} replaces the list where load balancers can be changed, is E_NOTIMPL elsewhere", async () => {
    for (const [version, code] of [
      [{ Major: 15, Minor: 5 }, undefined],
      [{ Major: 13, Minor: 3 }, 0x80004001],
    ] as const) {
      const { client } = hnsNode({ profile: "win11-21h2", version });
      const network = await createHnsNetwork(client, FLANNEL_NETWORK);
      const endpoint = await createHnsEndpoint(client, { VirtualNetwork: network.ID });
      const list = (port: number): object => ({
        References: [`/endpoints/${endpoint.ID}`],
        Policies: [{ Type: "ELB", Protocol: 6, InternalPort: port, ExternalPort: 80, VIPs: ["10.96.0.1"] }],
      });
      const made = (await requestHns(client, "POST", "/policylists/", list(80))) as JsonObject;
      const path = `/policylists/${made["ID"] as string}`;
      const answer = await client.call("POST", path, JSON.stringify(list(8_080)));
      if (code === undefined)
        expect(answer).toMatchObject({ Output: { Policies: [{ InternalPort: 8080 }] } });
      else expect(answer).toMatchObject({ Success: false, ErrorCode: code });
    }
  });

  it("POST /endpoints/{id} without policies leaves them", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    const endpoint = await createEndpoint(client, network.ID, POD_ENDPOINT);
    await requestHns(client, "POST", `/endpoints/${endpoint.ID}`, { DNSSuffix: "x" });
    expect((await getEndpointById(client, endpoint.ID)).Policies).toEqual(endpoint.Policies);
  });

  it("GET /endpoints/{id}/detailed has the resources of the endpoint", async () => {
    const { client } = hnsNode();
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    const endpoint = await createHnsEndpoint(client, { VirtualNetwork: network.ID });
    const document = (await requestHns(client, "GET", `/endpoints/${endpoint.ID}/detailed`)) as JsonObject;
    expect(document["Resources"]).toMatchObject({
      AllocationOrder: 0,
      ID: document["ActivityId"],
      State: 1,
    });
  });

  it.each([
    ["a namespace", "/namespaces/"],
    ["an endpoint", "/endpoints/"],
  ])("DELETE of %s answers it as it was", async (_name, path) => {
    const { client } = hnsNode();
    const network = await createHnsNetwork(client, FLANNEL_NETWORK);
    const made = (await requestHns(client, "POST", path, { VirtualNetwork: network.ID })) as JsonObject;
    expect(await requestHns(client, "DELETE", `${path}${made["ID"] as string}`)).toEqual(made);
    expect(await client.call("GET", `${path}${made["ID"] as string}`, "")).toMatchObject({ Success: false });
  });

  it("HCN-012 a query without a schema version gives v1 fields", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    expect(await client.query("Network", network.ID, {})).toMatchObject({
      ID: network.ID.toUpperCase(),
      Type: "L2Bridge",
      NetworkAdapterName: "Ethernet",
    });
    const namespace = await createNamespace(client);
    expect(await client.query("Namespace", namespace.ID)).toMatchObject({
      CompartmentId: 2,
      IsDefault: false,
    });
  });

  it.each([
    ["ws2019", /^[0-9A-F-]+$/],
    ["ws2022", /^[0-9a-f-]+$/],
  ])("on %s the ids of endpoints are spelled %s", async (profile, spelling) => {
    const { client } = hnsNode({ profile });
    const network = await createNetwork(client, CBR0);
    const endpoint = await createEndpoint(client, network.ID, {});
    const document = await client.query("Endpoint", endpoint.ID, {});
    expect(document["ID"]).toMatch(spelling);
    expect(document["VirtualNetwork"]).toMatch(spelling);
  });

  it("HNS 9 shows of an endpoint what later versions leave out (hcn.md §2.12, §9.23)", async () => {
    const shown = async (profile: string): Promise<JsonObject> => {
      const { client } = hnsNode({ profile });
      const network = await createHnsNetwork(client, {
        Name: "external",
        Type: "Transparent",
        Subnets: [{ AddressPrefix: "10.0.1.0/24", GatewayAddress: "10.0.1.1" }],
      });
      const endpoint = await createHnsEndpoint(client, {
        VirtualNetwork: network.ID,
        IPAddress: "10.0.1.5",
      });
      return (await requestHns(client, "GET", `/endpoints/${endpoint.ID}`)) as JsonObject;
    };
    const zero = "00000000-0000-0000-0000-000000000000";
    expect(await shown("ws2019")).toMatchObject({
      InterfaceConstraint: { InterfaceGuid: zero },
      Namespace: { CompartmentGuid: zero, ID: zero },
      Policies: [],
    });
    const later = await shown("ws2022");
    expect(later).not.toHaveProperty("InterfaceConstraint");
    expect(later).not.toHaveProperty("Policies");
    expect(later["Namespace"]).toEqual({ ID: zero });
  });
});

/** What programs do with endpoints, call by call, and what the service owes them (hcn.md §10). */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { HcnError, HcnNotFoundError, isNotFoundError } from "#contracts/hcn/error.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
  deleteEndpoint,
  getEndpointById,
  getEndpointByName,
} from "#contracts/hcn/operations.ts";
import {
  HOST_ATTACH,
  attachHnsEndpoint,
  createHnsEndpoint,
  createHnsNetwork,
  detachHnsEndpoint,
  getHnsEndpoint,
  getHnsEndpointByName,
} from "#contracts/hcn/v1-operations.ts";
import { formatIp } from "#core/net/ip.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";

const NAT = {
  Name: "nat",
  Type: "NAT",
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "192.168.100.0/24",
          Routes: [{ NextHop: "192.168.100.1", DestinationPrefix: "0.0.0.0/0" }],
        },
      ],
    },
  ],
} as const;

/** hcn.md §9.8. */
const WSL_NETWORK = {
  Name: "WSL",
  Flags: 9,
  Type: "ICS",
  IPv6: false,
  IsolateSwitch: true,
  MaxConcurrentEndpoints: 1,
  Subnets: [
    {
      ObjectType: 5,
      AddressPrefix: "172.24.48.0/20",
      GatewayAddress: "172.24.48.1",
      IpSubnets: [{ ObjectType: 6, Flags: 3, IpAddressPrefix: "172.24.48.0/20" }],
    },
  ],
  DNSServerList: "172.24.48.1",
} as const;

describe("CNI plugins", () => {
  it("HCN-080 endpoints are named <container>_<network>; a failed look-up is not proof of absence", async () => {
    const { client, service } = hnsNode();
    const network = await createNetwork(client, CBR0);
    const name = `${"4b57fac484487d41".repeat(4)}_cbr0`;
    const endpoint = await createEndpoint(client, network.ID, { Name: name });
    expect((await getHnsEndpointByName(client, name)).ID).toBe(endpoint.ID);
    await expect(getHnsEndpointByName(client, "other_cbr0")).rejects.toBeInstanceOf(HcnNotFoundError);
    service.stop();
    const failure = await getHnsEndpointByName(client, name).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(HcnError);
    expect(isNotFoundError(failure)).toBe(false);
  });
});

describe("Docker", () => {
  it("HCN-047 a v1 NAT network's endpoint is attached to the host, compartment 1, and detached", async () => {
    const { client, datapath } = hnsNode();
    const network = await createHnsNetwork(client, {
      Name: "nat",
      Type: "NAT",
      Subnets: [{ AddressPrefix: "192.168.100.0/24", GatewayAddress: "192.168.100.1" }],
    });
    const endpoint = await createHnsEndpoint(client, { Name: "ep", VirtualNetwork: network.ID });
    await attachHnsEndpoint(client, endpoint.ID, HOST_ATTACH);
    expect(datapath.listVnics()).toMatchObject([{ compartmentId: 1, interfaceName: "vEthernet (ep)" }]);
    await detachHnsEndpoint(client, endpoint.ID, HOST_ATTACH);
    expect((await getHnsEndpoint(client, endpoint.ID)).State).toBe(1);
  });

  it("HCN-093 EnableInternalDNS: flag 16, and the gateway answers before the other name servers", async () => {
    const { client, datapath } = hnsNode();
    const network = await createNetwork(client, NAT);
    const made = await createHnsEndpoint(client, {
      VirtualNetwork: network.ID,
      EnableInternalDNS: true,
      DNSServerList: "10.50.50.50",
    });
    expect(made.EnableInternalDNS).toBe(true);
    expect((await getEndpointById(client, made.ID)).Flags).toBe(16);
    const namespace = await createNamespace(client);
    await addNamespaceEndpoint(client, namespace.ID, made.ID);
    const [vnic] = datapath.listVnics();
    expect(vnic?.dns?.servers.map(formatIp)).toEqual(["192.168.100.1", "10.50.50.50"]);
  });

  it.each([{ EnableInternalDNS: false }, {}])(
    "HCN-093 %o: no flag, and the name servers as they are given",
    async (form) => {
      const { client, datapath } = hnsNode();
      const network = await createNetwork(client, NAT);
      const given = { VirtualNetwork: network.ID, DNSServerList: "10.50.50.50", ...form };
      const made = await createHnsEndpoint(client, given);
      expect(made.EnableInternalDNS ?? false).toBe(false);
      expect((await getEndpointById(client, made.ID)).Flags ?? 0).toBe(0);
      const namespace = await createNamespace(client);
      await addNamespaceEndpoint(client, namespace.ID, made.ID);
      const [vnic] = datapath.listVnics();
      expect(vnic?.dns?.servers.map(formatIp)).toEqual(["10.50.50.50"]);
    },
  );

  it.each([
    [
      "the gateway answers before the other name servers",
      16,
      ["10.50.50.50"],
      ["192.168.100.1", "10.50.50.50"],
    ],
    ["their own order stays", 16, ["10.9.9.9", "10.1.1.1"], ["192.168.100.1", "10.9.9.9", "10.1.1.1"]],
    ["the gateway stands there once", 16, ["10.1.1.1", "192.168.100.1"], ["192.168.100.1", "10.1.1.1"]],
    ["the gateway is the only one", 16, [], ["192.168.100.1"]],
    ["with other flags, too", 16 | 8 | 2, ["10.1.1.1"], ["192.168.100.1", "10.1.1.1"]],
    ["no other flag does that", 2 | 4 | 8, ["10.1.1.1", "192.168.100.1"], ["10.1.1.1", "192.168.100.1"]],
    ["without it, none", 0, [], undefined],
  ])(
    "HCN-093 OverrideDNSServerOrder: %s (Flags %d, servers %j)",
    async (_what, Flags, ServerList, expected) => {
      const { client, datapath } = hnsNode();
      const network = await createNetwork(client, NAT);
      const { ID } = await createEndpoint(client, network.ID, {
        Flags,
        ...(ServerList.length > 0 ? { Dns: { ServerList } } : {}),
        // A route that is no default route leads through no gateway that answers names.
        Routes: [
          { DestinationPrefix: "10.20.0.0/16", NextHop: "192.168.100.9" },
          { DestinationPrefix: "0.0.0.0/0", NextHop: "192.168.100.1" },
        ],
      });
      const namespace = await createNamespace(client);
      await addNamespaceEndpoint(client, namespace.ID, ID);
      expect(datapath.listVnics()[0]?.dns?.servers.map(formatIp)).toEqual(expected);
      expect((await getHnsEndpoint(client, ID)).EnableInternalDNS ?? false).toBe((Flags & 16) !== 0);
    },
  );

  it("EnableLowMetric: flag 8, and the interface wins against others", async () => {
    const { client, datapath } = hnsNode();
    const network = await createNetwork(client, NAT);
    const made = await createHnsEndpoint(client, { VirtualNetwork: network.ID, EnableLowMetric: true });
    expect((await getEndpointById(client, made.ID)).Flags).toBe(8);
    const namespace = await createNamespace(client);
    await addNamespaceEndpoint(client, namespace.ID, made.ID);
    // Windows' own interfaces have 15.
    expect(datapath.listVnics()[0]?.interfaceMetric).toBeLessThan(15);
  });

  it("DisableICC and mirroring are kept, and their health data say that they do nothing", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, NAT);
    const made = await createEndpoint(client, network.ID, { Flags: 2 | 4 });
    expect(made.Flags).toBe(6);
    const health = JSON.stringify(made.Health);
    expect(health).toContain("DisableInterComputeCommunication (2)");
    expect(health).toContain("EnableMirroring (4)");
  });
});

describe("WSL", () => {
  const endpoint = (address: string): HostComputeEndpoint & JsonObject => ({
    SchemaVersion: { Major: 2, Minor: 16 },
    Name: "Ethernet",
    IpConfigurations: [{ IpAddress: address, PrefixLength: 20 }],
    Policies: [
      { Type: "PortName", Settings: {} },
      {
        Type: "Firewall",
        Settings: { VmCreatorId: "40e0ac32-46a5-438a-a0b2-2b479e8f2e90", PolicyFlags: 0 },
      },
    ],
  });

  it("HCN-094 PortName without settings and Firewall are taken, with the address asked for or without", async () => {
    const { client } = hnsNode({ profile: "ws2025" });
    const network = await client.create("Network", WSL_NETWORK, {
      id: "b95d0c5e-57d4-412b-b571-18a81a16e005",
    });
    expect(network).toBe("b95d0c5e-57d4-412b-b571-18a81a16e005");
    const first = await client.create("Endpoint", endpoint("172.24.50.7"), { network });
    const made = await getEndpointById(client, first);
    expect(made.IpConfigurations).toMatchObject([{ IpAddress: "172.24.50.7", PrefixLength: 20 }]);
    expect(made.Policies).toMatchObject([{ Type: "PortName" }, { Type: "Firewall" }]);
    // The address of the last start is taken: WSL asks again without one.
    await expect(client.create("Endpoint", endpoint("172.24.50.7"), { network })).rejects.toMatchObject({
      code: "ERROR_OBJECT_ALREADY_EXISTS",
    });
    const { IpConfigurations: _, ...without } = endpoint("172.24.50.7");
    const second = await client.create("Endpoint", without, { network });
    expect((await getEndpointById(client, second)).IpConfigurations?.[0]?.IpAddress).toMatch(/^172\.24\./);
  });

  it("HCN-096 a document that asks for Refresh and nothing else is carried out", async () => {
    const { client } = hnsNode();
    const network = await client.create("Network", WSL_NETWORK);
    const id = await client.create("Endpoint", { VirtualNetwork: network });
    await client.modify("Endpoint", id, { RequestType: "Refresh" });
    expect((await getEndpointById(client, id)).State).toBe(1);
  });
});

describe("ncproxy", () => {
  it("HCN-098 an endpoint has one or two addresses, never none and never more; names need not be empty", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    const made = await createEndpoint(client, network.ID, { Name: "nic" });
    expect(made.IpConfigurations).toHaveLength(1);
    const three = ["10.244.2.7", "10.244.2.8", "10.244.2.9"].map((IpAddress) => ({ IpAddress }));
    await expect(createEndpoint(client, network.ID, { IpConfigurations: three })).rejects.toMatchObject({
      code: "HCN_E_INVALID_ENDPOINT",
    });
    // Its own check of names and ids comes first; the service finds nothing under an empty one.
    await expect(getEndpointByName(client, "")).rejects.toBeInstanceOf(HcnNotFoundError);
    await expect(client.query("Endpoint", "")).rejects.toMatchObject({
      code: "HCN_E_GUID_CONVERSION_FAILURE",
    });
    await deleteEndpoint(client, made.ID);
  });
});

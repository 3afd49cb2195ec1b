/** Addresses of endpoints on every type of network (hcn.md §4.2, §4.1). */
import { describe, expect, it } from "vitest";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import type { HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import type { HostComputeNetwork, NetworkType, Subnet } from "#contracts/hcn/documents/network.ts";
import { createEndpoint, createNetwork, deleteNetwork, getEndpointById } from "#contracts/hcn/operations.ts";
import { type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

const DHCP = 32;

function subnet(prefix: string, gateway: string, fields: Partial<Subnet> = {}): Subnet {
  const destination = prefix.includes(":") ? "::/0" : "0.0.0.0/0";
  return {
    IpAddressPrefix: prefix,
    Routes: [{ NextHop: gateway, DestinationPrefix: destination }],
    ...fields,
  };
}

const STATIC_V4 = subnet("10.244.2.0/24", "10.244.2.1");

function networkOf(Type: NetworkType, ...Subnets: readonly Subnet[]): HostComputeNetwork {
  return { Name: "net", Type, ...(Subnets.length > 0 && { Ipams: [{ Type: "Static", Subnets }] }) };
}

const VSID = { Policies: [{ Type: "VSID", Settings: { IsolationId: 4_096 } }] };

/** Types whose endpoints get addresses from their subnets. */
const STATIC_NETWORKS: readonly HostComputeNetwork[] = [
  networkOf("NAT", STATIC_V4),
  networkOf("ICS", STATIC_V4),
  networkOf("Transparent", STATIC_V4),
  networkOf("L2Bridge", STATIC_V4),
  networkOf("L2Tunnel", STATIC_V4),
  networkOf("Overlay", { ...STATIC_V4, ...VSID }),
  networkOf("Private", STATIC_V4),
  networkOf("Internal", STATIC_V4),
];

async function on(
  network: HostComputeNetwork,
  profile = "ws2022",
): Promise<HnsNode & { readonly id: string }> {
  const node = hnsNode({ profile });
  const { ID } = await createNetwork(node.client, network);
  return { ...node, id: ID };
}

describe.each(STATIC_NETWORKS.map((network) => [network.Type, network] as const))(
  "an endpoint on a static %s network",
  (_type, network) => {
    it("HCN-018 gets an address, its length, a default route and a MAC", async () => {
      const { client, id } = await on(network);
      const made = await createEndpoint(client, id, {});
      expect(made.IpConfigurations).toHaveLength(1);
      expect(made.IpConfigurations?.[0]).toMatchObject({
        IpAddress: expect.stringMatching(/^10\.244\.2\.\d+$/) as string,
        PrefixLength: 24,
        IpSubnetId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      });
      expect(made.Routes).toEqual([{ NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" }]);
      expect(made.MacAddress).toMatch(/^00-15-5D-/);
    });

    it("HCN-057 HCN-063 has the address it asks for, unless it lies outside, is reserved or is taken", async () => {
      const { client, id } = await on(network);
      const asking = (IpAddress: string): Promise<HostComputeEndpoint> =>
        createEndpoint(client, id, { IpConfigurations: [{ IpAddress }] });
      expect((await asking("10.244.2.10")).IpConfigurations).toMatchObject([
        { IpAddress: "10.244.2.10", PrefixLength: 24 },
      ]);
      await expect(asking("10.244.3.10")).rejects.toMatchObject({ hresult: 0x803b001e });
      for (const reserved of ["10.244.2.0", "10.244.2.1", "10.244.2.255"])
        await expect(asking(reserved)).rejects.toMatchObject({ hresult: 0x803b002f });
      await expect(asking("10.244.2.10")).rejects.toMatchObject({ hresult: 0x80071392 });
    });

    it("HCN-067 HCN-068 a remote one lies where it likes, has no port and the name Ethernet", async () => {
      const { client, id } = await on(network);
      await createEndpoint(client, id, { IpConfigurations: [{ IpAddress: "10.244.2.10" }] });
      for (const IpAddress of ["10.244.2.10", "172.30.0.1"]) {
        const remote = await createEndpoint(client, id, { Flags: 1, IpConfigurations: [{ IpAddress }] });
        expect(remote).toMatchObject({
          Name: "Ethernet",
          Flags: 1,
          IpConfigurations: [{ IpAddress, PrefixLength: 24 }],
        });
      }
    });

    it("HCN-049 goes with its network, and its address is free again", async () => {
      const { client, id } = await on(network);
      const made = await createEndpoint(client, id, {});
      await deleteNetwork(client, id);
      await expect(getEndpointById(client, made.ID)).rejects.toThrow("not found");
    });
  },
);

describe("DHCP (Flags 32)", () => {
  it.each<NetworkType>(["NAT", "L2Bridge", "L2Tunnel"])("is refused on %s, which is static", async (type) => {
    const { client, id } = await on(networkOf(type, STATIC_V4));
    await expect(createEndpoint(client, id, { Flags: DHCP })).rejects.toMatchObject({
      code: "HCN_E_INVALID_ENDPOINT",
    });
  });

  it("on a Transparent network of DHCP leaves the address to the wire, with the flag or without", async () => {
    const { client, id } = await on({
      Name: "ext",
      Type: "Transparent",
      Ipams: [{ Type: "DHCP" as "Dhcp" }],
    });
    for (const Flags of [0, DHCP]) {
      const made = await createEndpoint(client, id, { Flags });
      expect(made).not.toHaveProperty("IpConfigurations");
      expect(made.MacAddress).toMatch(/^00-15-5D-/);
    }
    const made = await createEndpoint(client, id, { Flags: DHCP });
    expect(made.Health?.Data).not.toHaveProperty("NotEnforced");
  });

  it("on an ICS network gets an address from the network's own server", async () => {
    const { client, id } = await on({ ...networkOf("ICS", STATIC_V4), Flags: 2 });
    const made = await createEndpoint(client, id, { Flags: DHCP });
    expect(made.Flags).toBe(DHCP);
    expect(made.IpConfigurations).toMatchObject([{ PrefixLength: 24 }]);
  });

  it("takes an address that is asked for all the same", async () => {
    const { client, id } = await on(networkOf("Transparent", STATIC_V4));
    const IpConfigurations = [{ IpAddress: "10.244.2.10" }];
    const made = await createEndpoint(client, id, { Flags: DHCP, IpConfigurations });
    expect(made.IpConfigurations).toMatchObject(IpConfigurations);
  });
});

it.each<NetworkType>(["Private", "Internal", "Transparent"])(
  "on a %s network without subnets an endpoint has no address, or the one that it says",
  async (type) => {
    const { client, id } = await on(networkOf(type));
    expect(await createEndpoint(client, id, {})).not.toHaveProperty("IpConfigurations");
    const made = await createEndpoint(client, id, {
      IpConfigurations: [{ IpAddress: "10.11.0.7", PrefixLength: 24 }],
    });
    expect(made.IpConfigurations).toEqual([{ IpAddress: "10.11.0.7", PrefixLength: 24 }]);
    expect(made).not.toHaveProperty("Routes");
  },
);

describe("the prefix length of a single address (Slash32EndpointPrefixes)", () => {
  it.each([
    ["ws2019", true],
    ["ws2019.379", false],
    ["1903", false],
    ["2004", true],
    ["ws2022", true],
  ])("on %s is taken: %s", async (profile, isTaken) => {
    const { client, id } = await on(networkOf("L2Bridge", STATIC_V4), profile);
    const created = createEndpoint(client, id, {
      IpConfigurations: [{ IpAddress: "10.244.2.10", PrefixLength: 32 }],
    });
    if (isTaken) expect((await created).IpConfigurations).toMatchObject([{ PrefixLength: 32 }]);
    else await expect(created).rejects.toMatchObject({ code: "HCN_E_INVALID_ENDPOINT" });
  });
});

describe("IP subnets (hcn.md §4.2)", () => {
  const FIRST = "c1a0f1f2-0a0b-4d0e-9a51-2d2b40a1c001";
  const SECOND = "c1a0f1f2-0a0b-4d0e-9a51-2d2b40a1c002";
  const blocks = {
    IpSubnets: [
      { ID: FIRST, IpAddressPrefix: "10.244.2.0/25" },
      { ID: SECOND, IpAddressPrefix: "10.244.2.128/25" },
    ],
  };
  const network = networkOf("L2Bridge", { ...STATIC_V4, ...blocks });

  it("an endpoint that names one gets its address there", async () => {
    const { client, id } = await on(network);
    for (let count = 0; count < 10; count++) {
      const made = await createEndpoint(client, id, { IpConfigurations: [{ IpSubnetId: SECOND }] });
      const [config] = made.IpConfigurations ?? [];
      expect(config).toMatchObject({ PrefixLength: 24, IpSubnetId: SECOND });
      expect(Number(config?.IpAddress?.split(".")[3])).toBeGreaterThanOrEqual(128);
    }
  });

  it("an address has the block that it lies in", async () => {
    const { client, id } = await on(network);
    const made = await createEndpoint(client, id, {
      IpConfigurations: [{ IpAddress: "10.244.2.200", IpSubnetId: SECOND }],
    });
    expect(made.IpConfigurations).toEqual([
      { IpAddress: "10.244.2.200", PrefixLength: 24, IpSubnetId: SECOND },
    ]);
  });

  it.each<[string, NonNullable<HostComputeEndpoint["IpConfigurations"]>, HcnErrorCode]>([
    ["an address of another block", [{ IpAddress: "10.244.2.10", IpSubnetId: SECOND }], "HCN_E_INVALID_IP"],
    [
      "a block that is not there",
      [{ IpSubnetId: "0fb28d70-306c-469d-9690-3245a82d882a" }],
      "HCN_E_SUBNET_NOT_FOUND",
    ],
    ["two blocks of one family", [{ IpSubnetId: FIRST }, { IpSubnetId: SECOND }], "HCN_E_INVALID_ENDPOINT"],
  ])("%s is refused", async (_name, IpConfigurations, code) => {
    const { client, id } = await on(network);
    await expect(createEndpoint(client, id, { IpConfigurations })).rejects.toMatchObject({ code });
    expect(await client.enumerate("Endpoint")).toEqual([]);
  });
});

describe("dual stack", () => {
  const network = networkOf(
    "L2Bridge",
    subnet("192.168.128.0/20", "192.168.128.1"),
    subnet("fd00::100/120", "fd00::101"),
  );

  it("one of each family, with a route each", async () => {
    const { client, id } = await on(network);
    const made = await createEndpoint(client, id, {});
    expect(made.IpConfigurations?.map((config) => config.PrefixLength)).toEqual([20, 120]);
    expect(made.Routes).toEqual([
      { NextHop: "192.168.128.1", DestinationPrefix: "0.0.0.0/0" },
      { NextHop: "fd00::101", DestinationPrefix: "::/0" },
    ]);
  });

  it("HCN-051 the two addresses that it asks for", async () => {
    const { client, id } = await on(network);
    const wanted = [
      { IpAddress: "192.168.128.4", PrefixLength: 20 },
      { IpAddress: "fd00::106", PrefixLength: 120 },
    ];
    const made = await createEndpoint(client, id, { IpConfigurations: wanted });
    expect(made.IpConfigurations).toMatchObject(wanted);
    expect(made.IpConfigurations).toHaveLength(2);
  });
});

describe("an endpoint with several faults", () => {
  const faults: readonly (readonly [HcnErrorCode, HostComputeEndpoint])[] = [
    ["HCN_E_INVALID_ENDPOINT", { HostComputeNamespace: "0fb28d70-306c-469d-9690-3245a82d882a" }],
    ["HCN_E_INVALID_POLICY_TYPE", { Policies: [{ Type: "Nonsense" }] }],
    ["HCN_E_INVALID_IP", { IpConfigurations: [{ IpAddress: "10.9.9.9" }] }],
    ["HCN_E_INVALID_ENDPOINT", { MacAddress: "nonsense" }],
  ];

  it.each(faults.map(([code], index) => [code, index] as const))(
    "is refused with %s, the first of them (%d)",
    async (code, index) => {
      const { client, id } = await on(networkOf("L2Bridge", STATIC_V4));
      const document = Object.assign({}, ...faults.slice(index).map(([, fault]) => fault)) as object;
      const settings = { SchemaVersion: { Major: 2, Minor: 0 }, ...document };
      await expect(client.create("Endpoint", settings, { network: id })).rejects.toMatchObject({ code });
    },
  );

  it("on a network that is not there is not found, whatever else it says", async () => {
    const { client } = await on(networkOf("L2Bridge", STATIC_V4));
    const settings = { SchemaVersion: { Major: 2, Minor: 0 }, Policies: [{ Type: "Nonsense" }] };
    const network = "0fb28d70-306c-469d-9690-3245a82d882a";
    await expect(client.create("Endpoint", settings, { network })).rejects.toMatchObject({
      code: "HCN_E_NETWORK_NOT_FOUND",
    });
  });
});

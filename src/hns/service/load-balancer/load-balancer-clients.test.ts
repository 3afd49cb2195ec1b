/** What programs that keep load balancers in HNS rely on: kube-proxy and hcsshim (hcn.md §8.5, §10). */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import {
  addLoadBalancerEndpoint,
  createEndpoint,
  createLoadBalancer,
  createNetwork,
  deleteLoadBalancer,
  listEndpoints,
  listLoadBalancers,
  removeLoadBalancerEndpoint,
} from "#contracts/hcn/operations.ts";
import { isNotFoundError } from "#contracts/hcn/error.ts";
import type { HostComputeLoadBalancer } from "#contracts/hcn/documents/load-balancer.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import { requestHns } from "#contracts/hcn/v1-operations.ts";
import { CBR0, type HnsNode, type HnsNodeOptions, hnsNode } from "#test/support/hns/hns-node.ts";

interface Fixture extends HnsNode {
  readonly endpoints: readonly [string, string];
}

/** The overlay network of hcsshim's tests. */
const OVERLAY: HostComputeNetwork = {
  Name: "overlay",
  Type: "Overlay",
  Flags: 8,
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "192.168.100.0/24",
          Routes: [{ NextHop: "192.168.100.1", DestinationPrefix: "0.0.0.0/0" }],
          Policies: [{ Type: "VSID", Settings: { IsolationId: 5000 } }],
        },
      ],
    },
  ],
};

async function fixture(options: HnsNodeOptions = {}, document: HostComputeNetwork = CBR0): Promise<Fixture> {
  const node = hnsNode(options);
  const network = (await createNetwork(node.client, document)).ID;
  const make = async (Name: string): Promise<string> =>
    (await createEndpoint(node.client, network, { Name })).ID;
  return { ...node, endpoints: [await make("a"), await make("b")] };
}

/** One load balancer of a Service as kube-proxy makes it. */
function service(
  endpoints: readonly string[],
  more: Partial<HostComputeLoadBalancer> = {},
): HostComputeLoadBalancer {
  return {
    HostComputeEndpoints: endpoints,
    SourceVIP: "10.0.2.15",
    FrontendVIPs: ["10.96.0.10"],
    PortMappings: [{ Protocol: 6, InternalPort: 8080, ExternalPort: 80 }],
    Flags: 1,
    ...more,
  };
}

describe("hcsshim", () => {
  it("HCN-037: AddEndpoint and RemoveEndpoint of a load balancer delete and create, and keep the id", async () => {
    const { client, endpoints } = await fixture();
    const [first, second] = endpoints;
    const made = await createLoadBalancer(client, service([first]));
    const added = await addLoadBalancerEndpoint(client, made, second);
    expect(added.ID).toBe(made.ID);
    expect(added.HostComputeEndpoints).toHaveLength(2);
    const removed = await removeLoadBalancerEndpoint(client, added, second);
    expect(removed.ID).toBe(made.ID);
    expect(removed.HostComputeEndpoints?.map((id) => id.toLowerCase())).toEqual([first]);
    await deleteLoadBalancer(client, made.ID);
    expect(await listLoadBalancers(client)).toEqual([]);
  });
});

describe("kube-proxy", () => {
  it("HCN-072: after a restart it knows its load balancers again by the hash of upper-cased ids", async () => {
    const { client, endpoints } = await fixture();
    await createLoadBalancer(client, service(endpoints));
    // Upstream folds its own ids and takes those of HNS as they are.
    const wanted = endpoints.map((id) => id.toUpperCase()).sort();
    const [read] = await listLoadBalancers(client);
    expect([...(read?.HostComputeEndpoints ?? [])].sort()).toEqual(wanted);
  });

  it("HCN-073: it can take the first port mapping and the first address of everything", async () => {
    const { client, endpoints } = await fixture();
    await createLoadBalancer(client, service(endpoints));
    await createLoadBalancer(client, service(endpoints, { FrontendVIPs: [], Flags: 0 }));
    for (const { PortMappings } of await listLoadBalancers(client))
      expect(PortMappings?.[0]).toMatchObject({ Protocol: 6, InternalPort: 8080, ExternalPort: 80 });
    for (const { IpConfigurations } of await listEndpoints(client))
      expect(IpConfigurations?.[0]?.IpAddress).toMatch(/^10\.244\.2\./);
  });

  it("HCN-074: deleting a load balancer that is gone is the error that clients take for not found", async () => {
    const { client, endpoints } = await fixture();
    const made = await createLoadBalancer(client, service(endpoints));
    await deleteLoadBalancer(client, made.ID);
    const again = await deleteLoadBalancer(client, made.ID).catch((error: unknown) => error);
    expect(isNotFoundError(again)).toBe(true);
    expect(again).toMatchObject({ hresult: 0x80070490 });
  });

  it("HCN-075, HCN-076: affinity and IPv6 come back as numbers", async () => {
    const { client, endpoints } = await fixture();
    const mapping = { Protocol: 6, InternalPort: 80, ExternalPort: 80, DistributionType: 2 } as const;
    const made = await createLoadBalancer(
      client,
      service(endpoints, { FrontendVIPs: ["fd00:96::1"], Flags: 3, PortMappings: [mapping] }),
    );
    expect(made.PortMappings).toEqual([mapping]);
    expect(made.Flags).toBe(3);
  });

  it("HCN-104: GET and DELETE of /policylists/ at its start take away what was made through v2", async () => {
    const { client, endpoints } = await fixture();
    await createLoadBalancer(client, service(endpoints));
    await createLoadBalancer(client, service(endpoints, { FrontendVIPs: ["10.96.0.11"] }));
    const lists = (await requestHns(client, "GET", "/policylists/")) as unknown as readonly { ID: string }[];
    expect(lists).toHaveLength(2);
    for (const { ID } of lists) await requestHns(client, "DELETE", `/policylists/${ID}`);
    expect(await listLoadBalancers(client)).toEqual([]);
    expect(await requestHns(client, "GET", "/policylists/")).toEqual([]);
  });
});

describe("both dialects", () => {
  it("hcn.md §9.19: a load balancer and its policy list", async () => {
    const { client, endpoints } = await fixture();
    const made = await createLoadBalancer(
      client,
      service(endpoints, {
        PortMappings: [{ Protocol: 6, InternalPort: 6443, ExternalPort: 443, Flags: 3 }],
      }),
    );
    const list = await requestHns(client, "GET", `/policylists/${made.ID}`);
    expect(list).toMatchObject({
      ID: made.ID.toUpperCase(),
      IsApplied: true,
      State: 2,
      Flags: 0,
      References: endpoints.map((id) => `/endpoints/${id}`),
      Policies: [
        {
          Type: "ELB",
          Protocol: 6,
          InternalPort: 6443,
          ExternalPort: 443,
          SourceVIP: "10.0.2.15",
          VIPs: ["10.96.0.10"],
          IsDSR: true,
          ILB: true,
          LocalRoutedVip: true,
        },
      ],
    });
    // What v1 shows can be made again through v1.
    await requestHns(client, "DELETE", `/policylists/${made.ID}`);
    const { References, Policies } = list as JsonObject;
    const again = (await requestHns(client, "POST", "/policylists/", { References, Policies })) as JsonObject;
    expect(again["Policies"]).toEqual(Policies);
    const [v2] = await listLoadBalancers(client);
    expect(v2).toMatchObject({
      FrontendVIPs: ["10.96.0.10"],
      SourceVIP: "10.0.2.15",
      Flags: 1,
      PortMappings: [{ Protocol: 6, InternalPort: 6443, ExternalPort: 443, Flags: 3 }],
    });
  });

  it("HCN-035: on an overlay, a source outside the prefix and two front ends are taken", async () => {
    const { client, endpoints } = await fixture({}, OVERLAY);
    const made = await createLoadBalancer(
      client,
      service(endpoints, { SourceVIP: "10.0.0.1", FrontendVIPs: ["1.1.1.2", "1.1.1.3"] }),
    );
    expect(made).toMatchObject({ SourceVIP: "10.0.0.1", FrontendVIPs: ["1.1.1.2", "1.1.1.3"], State: 2 });
  });
});

describe("defects", () => {
  it("front-end-stale-after-delete: the next load balancer there is refused, until the service restarts", async () => {
    const node = await fixture({ profile: "ws2019", quirks: { "front-end-stale-after-delete": "on" } });
    const made = await createLoadBalancer(node.client, service(node.endpoints));
    await deleteLoadBalancer(node.client, made.ID);
    const create = async (more: Partial<HostComputeLoadBalancer> = {}): Promise<unknown> =>
      createLoadBalancer(node.client, service(node.endpoints, more));
    await expect(create()).rejects.toMatchObject({ code: "HCN_E_PORT_ALREADY_EXISTS" });
    await create({ FrontendVIPs: ["10.96.0.11"] });
    node.service.restart();
    await create();
    expect(await listLoadBalancers(node.client)).toHaveLength(2);
  });

  it("is not there on other builds", async () => {
    const node = await fixture();
    const made = await createLoadBalancer(node.client, service(node.endpoints));
    await deleteLoadBalancer(node.client, made.ID);
    await createLoadBalancer(node.client, service(node.endpoints));
    expect(await listLoadBalancers(node.client)).toHaveLength(1);
  });
});

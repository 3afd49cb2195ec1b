import { beforeAll, describe, expect, it } from "vitest";
import type { ControlClient } from "#cluster/api/client.ts";
import { inProcessClient } from "#cluster/api/app.ts";
import { SILENT_LOG } from "#core/base/log.ts";
import type { Cluster } from "#cluster/cluster.ts";
import { readModel } from "#cluster/verify/model-of-cluster.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import { FixedSession, refuseManifests } from "#test/support/cluster/fixed-session.ts";
import { hcnClientOf } from "#cluster/machines/windows-node.ts";
import {
  createEndpoint,
  createLoadBalancer,
  getNetworkByName,
  listEndpoints,
} from "#contracts/hcn/operations.ts";
import { openTestCluster } from "#test/support/cluster/walk.ts";
import { formatKind } from "./get.ts";
import { parseKind } from "./kinds.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: services}
nodes:
  - {name: w1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
`;

const KIND = parseKind("hnsloadbalancers");

function clientOf(cluster: Cluster): ControlClient {
  return inProcessClient({
    session: new FixedSession(cluster),
    readManifests: refuseManifests,
    verify: (session) => verifyCluster(session.cluster, readModel(session.cluster)),
    identity: { name: "test", version: "0", pid: 0 },
    input: { problems: [], notes: [] },
    log: SILENT_LOG,
  });
}

describe("mullion get hnsloadbalancers", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await openTestCluster(CLUSTER);
    const client = hcnClientOf(cluster.nodes[0]!);
    const network = (await getNetworkByName(client, "cbr0")).ID;
    for (const last of [5, 6, 7]) {
      const IpConfigurations = [{ IpAddress: `10.244.9.${last}` }];
      await createEndpoint(client, network, { IpConfigurations, Flags: 1 });
    }
    const endpoints = (await listEndpoints(client)).map((endpoint) => endpoint.ID);
    await createLoadBalancer(client, {
      HostComputeEndpoints: endpoints.slice(1, 3),
      FrontendVIPs: ["10.96.0.7"],
      PortMappings: [{ Protocol: 6, InternalPort: 8080, ExternalPort: 80, DistributionType: 2 }],
      Flags: 1,
    });
    await createLoadBalancer(client, {
      HostComputeEndpoints: endpoints,
      PortMappings: [
        { Protocol: 6, InternalPort: 8080, ExternalPort: 30_080, Flags: 2 },
        { Protocol: 17, InternalPort: 53, ExternalPort: 30_053, Flags: 34 },
      ],
    });
  });

  it("shows front ends, ports, back ends and flags by name", async () => {
    expect(await formatKind(clientOf(cluster), KIND, "table")).toBe(
      [
        "NODE   VIPS        PORTS                         BACK ENDS                                   FLAGS",
        "w1     10.96.0.7   80:8080/TCP                   10.244.9.5,10.244.9.6                       DSR,SourceIP",
        "w1     node        30080:8080/TCP,30053:53/UDP   10.244.1.2,10.244.9.5,10.244.9.6 + 1 more   LocalRoutedVip,32",
        "",
      ].join("\n"),
    );
  });

  it("gives the objects as HNS returns them, with the addresses behind them", async () => {
    const [first] = (
      JSON.parse(await formatKind(clientOf(cluster), KIND, "json")) as {
        readonly items: readonly object[];
      }
    ).items;
    expect(first).toMatchObject({
      node: "w1",
      FrontendVIPs: ["10.96.0.7"],
      State: 2,
      BackEnds: ["10.244.9.5", "10.244.9.6"],
    });
  });

  it("says so when there are none", async () => {
    const empty = await openTestCluster(CLUSTER);
    expect(await formatKind(clientOf(empty), KIND, "table")).toBe("There are no HNS load balancers.\n");
  });
});

describe("what machines have below their pods", () => {
  it.each([
    ["computesystem", "There are no compute systems.\n"],
    [
      "compartments",
      /^NODE {3}COMPARTMENT {3}PODS {5}ADAPTERS .*\nw1 {15}1 {3}<none> {3}vEthernet \(Ethernet\)/,
    ],
    ["adapters", /^NODE .*\nw1 {15}1 {3}vEthernet \(Ethernet\) .* 10\.0\.0\.11\/24 {4}1500 {7}15\n/],
    ["routes", /^NODE .*\nw1 {15}1 {3}10\.0\.0\.0\/24 {5}on-link /],
  ])("%s", async (kind, text) => {
    const cluster = await openTestCluster(CLUSTER);
    expect(await formatKind(clientOf(cluster), parseKind(kind), "table")).toMatch(text);
  });
});

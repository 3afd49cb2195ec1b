/** Load balancers of a cluster's Windows nodes, made through HCN as kube-proxy makes them, for tests of the data plane. */
import { defined } from "#core/base/assert.ts";
import type { Cluster, ClusterNode } from "#cluster/cluster.ts";
import { hcnClientOf } from "#cluster/machines/windows-node.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import {
  createEndpoint,
  createLoadBalancer,
  getNetworkByName,
  listEndpoints,
} from "#contracts/hcn/operations.ts";
import { formatIp } from "#core/net/ip.ts";

export interface LoadBalancerSpec {
  /** Default `win-1`. */
  readonly node?: string;
  /** Empty: node port. */
  readonly vips: readonly string[];
  readonly port: number;
  /** Default: 8080. */
  readonly target?: number;
  /** Names of pods and nodes, or addresses. */
  readonly backEnds: readonly string[];
  /** Default false. */
  readonly isDsr?: boolean;
  /** Default 6. */
  readonly protocol?: number;
  readonly mappingFlags?: number;
  readonly distribution?: number;
}

function nodeOf(cluster: Cluster, name: string): ClusterNode {
  return defined(
    cluster.nodes.find((node) => node.spec.name === name),
    `a node ${name}`,
  );
}

function addressOf(cluster: Cluster, name: string): string {
  const pod = cluster.pods.find((each) => each.spec.name === name)?.address;
  const node = cluster.nodes.find((each) => each.spec.name === name)?.spec.address;
  const ip = pod ?? node;
  return ip === undefined ? name : formatIp(ip);
}

/** The endpoint with the address; a remote one is made when the node has none, as kube-proxy does (hcn.md §9.15). */
async function endpointFor(client: HcnClient, networkId: string, address: string): Promise<string> {
  const endpoints = await listEndpoints(client);
  const known = endpoints.find((each) =>
    each.IpConfigurations?.some((config) => config.IpAddress === address),
  );
  if (known?.ID !== undefined) return known.ID;
  const hex = address
    .split(".")
    .map((part) => Number(part).toString(16).padStart(2, "0"))
    .join("-");
  const made = await createEndpoint(client, networkId, {
    IpConfigurations: [{ IpAddress: address }],
    MacAddress: `02-11-${hex}`,
    Flags: 1,
  });
  return defined(made.ID, "an endpoint has an id");
}

/** The id of a pod's endpoint on `win-1`. */
export async function endpointOf(cluster: Cluster, pod: string): Promise<string> {
  const client = hcnClientOf(nodeOf(cluster, "win-1"));
  const network = await getNetworkByName(client, cluster.file.network.name);
  return endpointFor(client, defined(network.ID, "a network has an id"), addressOf(cluster, pod));
}

async function documentOf(
  cluster: Cluster,
  spec: LoadBalancerSpec,
): Promise<Parameters<typeof createLoadBalancer>[1]> {
  const client = hcnClientOf(nodeOf(cluster, spec.node ?? "win-1"));
  const network = await getNetworkByName(client, cluster.file.network.name);
  const ids: string[] = [];
  for (const name of spec.backEnds)
    ids.push(await endpointFor(client, defined(network.ID, "a network has an id"), addressOf(cluster, name)));
  return {
    HostComputeEndpoints: ids,
    FrontendVIPs: spec.vips,
    PortMappings: [
      {
        Protocol: spec.protocol ?? 6,
        ExternalPort: spec.port,
        InternalPort: spec.target ?? 8080,
        ...(spec.mappingFlags !== undefined && { Flags: spec.mappingFlags }),
        ...(spec.distribution !== undefined && { DistributionType: spec.distribution }),
      },
    ],
    Flags: spec.isDsr === true ? 1 : 0,
    SchemaVersion: { Major: 2, Minor: 0 },
  };
}

/** Makes a load balancer. @returns its id. */
export async function addLoadBalancer(cluster: Cluster, spec: LoadBalancerSpec): Promise<string> {
  const client = hcnClientOf(nodeOf(cluster, spec.node ?? "win-1"));
  const made = await createLoadBalancer(client, await documentOf(cluster, spec));
  return defined(made.ID, "a load balancer has an id");
}

/** A node's HNS with a network, two endpoints and load balancers, on which tests inject faults. */
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { readFault } from "#hns/failures/faults/read-fault.ts";
import { createEndpoint, createLoadBalancerOnly, createNetwork } from "#contracts/hcn/operations.ts";
import { CBR0, type HnsNode, type HnsNodeOptions, hnsNode } from "./hns-node.ts";

export interface FaultyNode extends HnsNode {
  readonly network: Guid;
  readonly endpoints: readonly Guid[];
  /** Puts a fault in force as a document says it. */
  inject(fault: JsonObject): Promise<string>;
  /** Makes a load balancer for the first endpoint at that port. */
  balance(port: number, more?: JsonObject): Promise<Guid>;
}

export async function faultyNode(options?: HnsNodeOptions): Promise<FaultyNode> {
  const node = hnsNode(options);
  const { client } = node;
  const network = (await createNetwork(client, CBR0)).ID ?? "";
  const endpoints: Guid[] = [];
  for (const last of [10, 11]) {
    const IpConfigurations = [{ IpAddress: `10.244.2.${last}`, PrefixLength: 24 }];
    endpoints.push(
      (await createEndpoint(client, network, { Name: `pod-${last}`, IpConfigurations })).ID ?? "",
    );
  }
  return {
    ...node,
    network,
    endpoints,
    inject: async (fault) => client.faults.add(readFault(fault)),
    balance: async (port, more = {}) =>
      createLoadBalancerOnly(client, {
        HostComputeEndpoints: endpoints.slice(0, 1),
        FrontendVIPs: ["10.96.0.10"],
        PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: port }],
        SchemaVersion: { Major: 2, Minor: 0 },
        ...more,
      }),
  };
}

/** A load balancer as the service keeps it: checked values, frozen, replaced as a whole on each change (hcn.md §2.7). */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { LoadBalancerDistribution } from "#contracts/hcn/documents/load-balancer.ts";
import type { Ip } from "#core/net/ip.ts";
import type { RecordBase } from "../network/network-record.ts";

export interface LoadBalancerPortMappingRecord {
  readonly protocol: number;
  readonly internalPort: number;
  readonly externalPort: number;
  readonly distribution: LoadBalancerDistribution;
  /** Bits of `LOAD_BALANCER_PORT_FLAGS`. */
  readonly flags: number;
}

export interface LoadBalancerRecord extends RecordBase {
  /** That of its endpoints. */
  readonly networkId: Guid;
  /** In the order of the request. Inferred (hcn.md §11.9; kube-proxy.md §8.9 H16): one that was deleted stays named. */
  readonly endpointIds: readonly Guid[];
  readonly sourceVip: Ip | undefined;
  /** Empty: the addresses of the node (node port). */
  readonly frontendVips: readonly Ip[];
  readonly portMappings: readonly LoadBalancerPortMappingRecord[];
  /** Bits of `LOAD_BALANCER_FLAGS`. */
  readonly flags: number;
}

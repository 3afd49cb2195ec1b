/** What a cluster's control plane is started with. */
import type { Prefix } from "#core/net/ip.ts";

export interface MemoryKubeOptions {
  /** Where nodes without a pod range get one: one range, or one per family (`--cluster-cidr`). None: nobody gets one. */
  readonly clusterCIDRs: readonly Prefix[];
  /** Length of a node's range (`--node-cidr-mask-size-ipv4`, `-ipv6`); 24 and 64 by default. */
  readonly nodeMaskSizes?: { readonly ipv4?: number; readonly ipv6?: number };
  /** Where cluster IPs come from: one range, or one per family (`--service-cluster-ip-range`). */
  readonly serviceCIDRs: readonly Prefix[];
  /** First and last node port; 30000 to 32767 by default (`--service-node-port-range`). */
  readonly nodePorts?: { readonly first: number; readonly last: number };
  /** With a pool, Services of type LoadBalancer get their ingress address from it, as from a cloud. */
  readonly loadBalancerPool?: Prefix;
}

export const NODE_PORTS_DEFAULT: { readonly first: number; readonly last: number } = Object.freeze({
  first: 30_000,
  last: 32_767,
});

/** Who put a rule where it is, in the words of the HCN contract. */
import type { Provenance } from "#core/base/recorder.ts";
import type { EndpointRecord } from "../service/endpoint/endpoint-record.ts";
import type { LoadBalancerRecord } from "../service/load-balancer/load-balancer-record.ts";
import type { NetworkRecord } from "../service/network/network-record.ts";
import type { SdnRouteRecord } from "../service/sdn-route-record.ts";

/** Rules that HNS adds although no policy asks for them. */
export const HNS_DEFAULT: Provenance = Object.freeze({ object: "default", id: "", name: "HNS" });

export function endpointProvenance(endpoint: EndpointRecord): Provenance {
  return { object: "HostComputeEndpoint", id: endpoint.id, name: endpoint.name };
}

export function networkProvenance(network: Pick<NetworkRecord, "id" | "name">): Provenance {
  return { object: "HostComputeNetwork", id: network.id, name: network.name };
}

export function sdnRouteProvenance({ id, name }: SdnRouteRecord): Provenance {
  return { object: "HostComputeRoute", id, name };
}

/** Names the front end, since a load balancer seldom has a name of its own. */
export function loadBalancerProvenance(loadBalancer: LoadBalancerRecord, frontEnd: string): Provenance {
  const { id, name } = loadBalancer;
  return { object: "HostComputeLoadBalancer", id, name: name === "" ? frontEnd : `${name} ${frontEnd}` };
}

/** Adds the policy that a rule comes from, of those that are known by what they are for. */
export function withNamedPolicy(provenance: Provenance, type: string, name: string): Provenance {
  return { ...provenance, policy: { type, name } };
}

/** Adds the policy that a rule comes from; `index` counts from 0 in the object's list. */
export function withPolicy(provenance: Provenance, type: string, index: number): Provenance {
  return { ...provenance, policy: { type, index } };
}

/**
 * Who put a rule where it is, in the words of the HCN contract: objects, their policies, and the objects behind the SDN
 * routes of an endpoint.
 */
import type { Provenance } from "#core/base/recorder.ts";
import type { SdnRouteRecord, EndpointRecord, NetworkRecord } from "../service/records.ts";
import type { SdnRoutePolicySetting } from "#contracts/hcn/documents/sdn-route.ts";
import type { EndpointPolicySettings } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { NetworkPolicySettings } from "#contracts/hcn/documents/network-policy.ts";
import type { NetworkFrame } from "../service/network/policy-index.ts";

/** Rules that HNS adds although no policy asks for them. */
export const HNS_DEFAULT: Provenance = Object.freeze({ object: "default", id: "", name: "HNS" });

export function endpointProvenance(endpoint: EndpointRecord): Provenance {
  return { object: "HostComputeEndpoint", id: endpoint.id, name: endpoint.name };
}

export function networkProvenance(network: Pick<NetworkRecord, "id" | "name">): Provenance {
  return { object: "HostComputeNetwork", id: network.id, name: network.name };
}

function sdnRouteProvenance({ id, name }: SdnRouteRecord): Provenance {
  return { object: "HostComputeRoute", id, name };
}

/** Adds the policy that a rule comes from, of those that are known by what they are for. */
export function withNamedPolicy(provenance: Provenance, type: string, name: string): Provenance {
  return { ...provenance, policy: { type, name } };
}

/** Adds the policy that a rule comes from; `index` counts from 0 in the object's list. */
export function withPolicy(provenance: Provenance, type: string, index: number): Provenance {
  return { ...provenance, policy: { type, index } };
}

// The policies of an object that rules come from.

/** What a policy says, and where it stands. */
export interface PlacedSetting<S> {
  readonly setting: S;
  /** Position in the object's list. */
  readonly index: number;
  readonly provenance: Provenance;
}

/** The policies of a type that an endpoint has. */
export function policiesOf<T extends keyof EndpointPolicySettings>(
  endpoint: EndpointRecord,
  type: T,
): readonly PlacedSetting<EndpointPolicySettings[T]>[] {
  const found: PlacedSetting<EndpointPolicySettings[T]>[] = [];
  for (const [index, policy] of endpoint.policies.entries()) {
    if (policy.Type !== type) continue;
    const setting = policy.Settings as EndpointPolicySettings[T];
    found.push({ setting, index, provenance: withPolicy(endpointProvenance(endpoint), type, index) });
  }
  return found;
}

/** The policies of a type that a network has. */
export function networkPoliciesOf<T extends keyof NetworkPolicySettings>(
  network: NetworkFrame,
  type: T,
): readonly PlacedSetting<NetworkPolicySettings[T]>[] {
  const found: PlacedSetting<NetworkPolicySettings[T]>[] = [];
  for (const { policy, index } of network.settings) {
    if (policy.Type !== type) continue;
    const setting = policy.Settings as NetworkPolicySettings[T];
    found.push({ setting, index, provenance: withPolicy(networkProvenance(network), type, index) });
  }
  return found;
}

// The SDN routes of an endpoint: its own policies, and the route objects that name it (hcn.md §2.8, §3.3).

/** An endpoint as the compiler sees it: with the route objects that name it; undefined: none does. */
export interface RoutedEndpoint extends EndpointRecord {
  readonly sdnRoutes?: readonly SdnRouteRecord[];
}

/**
 * Own policies come first. A route object acts as an SDNRoute policy of the endpoint would; `index` goes on behind the
 * policies, for the ids of rules.
 */
export function sdnRouteSources(endpoint: RoutedEndpoint): readonly PlacedSetting<SdnRoutePolicySetting>[] {
  const sources = [...policiesOf(endpoint, "SDNRoute")];
  let next = endpoint.policies.length;
  for (const object of endpoint.sdnRoutes ?? []) {
    for (const [index, setting] of object.routes.entries()) {
      const provenance = withPolicy(sdnRouteProvenance(object), "SDNRoute", index);
      sources.push({ setting, index: next, provenance });
      next++;
    }
  }
  return sources;
}

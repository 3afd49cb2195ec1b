/** What an endpoint's own policies come to on every type of network with rules: ACLs, source NAT, mapped ports. */
import type { Ipv4 } from "../../net/ip.ts";
import type { Group } from "../../vfp/group.ts";
import type { EndpointRecord } from "../endpoint-record.ts";
import type { NetworkRecord } from "../network-record.ts";
import { aclSources, compileAcls } from "./acl.ts";
import { addressSetsOf } from "./address-sets.ts";
import type { CompileCache } from "./compile-cache.ts";
import { type OutBoundNat, compileOutBoundNat } from "./outbound-nat.ts";
import { type PortMappings, compilePortMappings } from "./port-mapping.ts";
import type { RoutedEndpoint } from "./sdn-routes.ts";
import { compileTierAcls } from "./tier-acl.ts";

export const NO_GROUPS: readonly Group[] = Object.freeze([]);
/** Owner of what belongs to no object: endpoints without ACLs share the default pair over all networks. */
const NOBODY = "";

/** Both lists; a list alone stays the same object, so that whoever compares sees that nothing changed. */
export function joinGroups(first: readonly Group[], second: readonly Group[]): readonly Group[] {
  if (second.length === 0) return first;
  return first.length === 0 ? second : Object.freeze([...first, ...second]);
}

/** The groups of ACL_ENDPOINT_LAYER. */
export function aclGroupsOf(
  cache: CompileCache,
  network: NetworkRecord,
  endpoint: EndpointRecord,
): readonly Group[] {
  const sources = aclSources(network, endpoint);
  const hasTiers = endpoint.policies.some((policy) => policy.Type === "TierAcl");
  if (sources.length === 0 && !hasTiers) return cache.get(NOBODY, "acl", [], () => compileAcls([]));
  const inputs = [endpoint.policies, endpoint.name, network.policies, network.name];
  return cache.get(endpoint.id, "acl", inputs, () => {
    const sets = addressSetsOf(cache, network);
    return Object.freeze([...compileTierAcls(endpoint, sets), ...compileAcls(sources, sets)]);
  });
}

/** The translations of one endpoint. */
export interface Translations {
  readonly nat: OutBoundNat;
  readonly mappings: PortMappings;
  /** Groups of SLB_NAT_LAYER, without those of load balancers. */
  readonly groups: readonly Group[];
}

export function compileTranslations(endpoint: RoutedEndpoint, managementIp: Ipv4 | undefined): Translations {
  const nat = compileOutBoundNat(endpoint, managementIp);
  const mappings = compilePortMappings(endpoint, managementIp);
  return Object.freeze({ nat, mappings, groups: joinGroups(nat.groups, mappings.groups) });
}

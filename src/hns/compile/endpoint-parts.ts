/** What an endpoint's own policies come to on every type of network with rules: ACLs, source NAT, mapped ports. */
import type { Ip, Ipv4 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { EndpointRecord } from "../service/records.ts";
import type { NetworkFrame } from "../service/network/policy-index.ts";
import { addressSetsOf, aclSources, compileAcls, compileTierAcls } from "./acl.ts";
import type { CompileCache } from "./compile-cache.ts";
import { type ProxySource, compileProxies, proxySources } from "./l4-proxy.ts";
import { type NetworkView, attachedKey, hostLegsOf } from "./network-view.ts";
import { type OutBoundNat, compileOutBoundNat } from "./outbound-nat.ts";
import { NO_MAPPINGS, type PortMappings, compilePortMappings } from "./port-mapping.ts";
import type { Action } from "#dataplane/vfp/rule.ts";
import { type RoutedEndpoint, policiesOf } from "./provenance.ts";
import { makeRule, makeGroup } from "./layers.ts";

// QOS policies → a `qos` rule on the way out of an endpoint's port (dataplane.md §2.14, Appendix A). What comes in
// is not limited.
//
// Inferred: the layer, its place behind all others, and the names. Hyper-V's listings show the limit as a queue of the
// port; no dump with one is public.

/** The largest frame of a vNIC with the usual MTU: a limit below it would let nothing pass. */
const FRAME_BYTES_MAX = 1_514;
const INFERRED = "dataplane.md §2.14, §11 (Q-21)";
const FAMILIES = [4, 6] as const;

/** Inferred (dataplane.md §11, Q-21): a second's worth passes at once; a quarter of a second's worth may wait. */
function limitOf(bytesPerSecond: number): Action {
  return Object.freeze({
    type: "qos",
    bytesPerSecond,
    burstBytes: Math.max(bytesPerSecond, FRAME_BYTES_MAX),
    queueBytes: Math.max(Math.floor(bytesPerSecond / 4), FRAME_BYTES_MAX),
  });
}

/** The groups of QOS_LAYER: none without a limit. Of several the smallest holds; 0 and absence set none. */
export function compileBandwidth(endpoint: EndpointRecord): readonly Group[] {
  const limits = policiesOf(endpoint, "QOS").flatMap(({ setting, provenance }) => {
    const { MaximumOutgoingBandwidthInBytes: bytesPerSecond = 0 } = setting;
    return bytesPerSecond > 0 ? [{ bytesPerSecond, provenance }] : [];
  });
  const [limit] = limits.toSorted((a, b) => a.bytesPerSecond - b.bytesPerSecond);
  if (limit === undefined) return [];
  const rule = makeRule({
    name: `QOS_${endpoint.id}`,
    condition: {},
    action: limitOf(limit.bytesPerSecond),
    provenance: limit.provenance,
    inferred: INFERRED,
  });
  return Object.freeze(
    FAMILIES.map((family) =>
      makeGroup({ name: `QOS_GROUP_IPV${family}_OUT`, direction: "out", family, priority: 1 }, [rule]),
    ),
  );
}

export const NO_GROUPS: readonly Group[] = Object.freeze([]);
/** Owner of what belongs to no object: endpoints without ACLs share the default pair over all networks. */
const NO_OWNER = "";

/** Both lists; a list alone stays the same object, so that a comparison sees that nothing changed. */
export function joinGroups(first: readonly Group[], second: readonly Group[]): readonly Group[] {
  if (second.length === 0) return first;
  return first.length === 0 ? second : Object.freeze([...first, ...second]);
}

/** The groups of ACL_ENDPOINT_LAYER. */
export function aclGroupsOf(
  cache: CompileCache,
  network: NetworkFrame,
  endpoint: EndpointRecord,
): readonly Group[] {
  const sources = aclSources(network, endpoint);
  const hasTiers = endpoint.policies.some((policy) => policy.Type === "TierAcl");
  if (sources.length === 0 && !hasTiers) return cache.get(NO_OWNER, "acl", [], () => compileAcls([]));
  const inputs = [endpoint.policies, endpoint.name, network.settings, network.name];
  return cache.get(endpoint.id, "acl", inputs, () => {
    const sets = addressSetsOf(cache, network);
    return Object.freeze([...compileTierAcls(endpoint, sets), ...compileAcls(sources, sets)]);
  });
}

/** The proxies of one endpoint, and what tells two states of them apart. */
export interface EndpointProxies {
  readonly sources: readonly ProxySource[];
  /** Undefined without proxies: then policies of the network are no concern of the endpoint's rules. */
  readonly key: readonly unknown[] | undefined;
}

const NO_PROXIES: EndpointProxies = Object.freeze({ sources: Object.freeze([]), key: undefined });

export function proxiesOf(network: NetworkFrame, endpoint: EndpointRecord): EndpointProxies {
  const sources = proxySources(network, endpoint);
  return sources.length === 0 ? NO_PROXIES : { sources, key: network.settings };
}

/** The MAC that leads to an address from `endpoint`: that of a neighbour here, else that of the host's leg. */
function macFinder(view: NetworkView): (ip: Ip) => Mac | undefined {
  return (ip) => {
    const neighbor = view.attached.find(({ ipConfigs }) => ipConfigs.some((config) => config.ip === ip));
    return neighbor?.mac ?? hostLegsOf(view)[0]?.mac;
  };
}

/** The groups of the layers that are there only where a policy asks for them. */
export function optionalGroupsOf(
  cache: CompileCache,
  view: NetworkView,
  endpoint: EndpointRecord,
  proxies: EndpointProxies,
): { readonly QOS_LAYER: readonly Group[]; readonly L4_PROXY_LAYER: readonly Group[] } {
  const { id, policies, name, ipConfigs } = endpoint;
  const hasLimit = policies.some((policy) => policy.Type === "QOS");
  const proxyInputs = [
    policies,
    name,
    ipConfigs,
    proxies.key,
    ...(proxies.key === undefined ? [] : attachedKey(view)),
  ];
  return {
    QOS_LAYER: hasLimit
      ? cache.get(id, "qos", [policies, name], () => compileBandwidth(endpoint))
      : NO_GROUPS,
    L4_PROXY_LAYER:
      proxies.key === undefined
        ? NO_GROUPS
        : cache.get(id, "l4-proxy", proxyInputs, () =>
            compileProxies(endpoint, proxies.sources, macFinder(view)),
          ),
  };
}

/** The translations of one endpoint. */
export interface Translations {
  readonly nat: OutBoundNat;
  readonly mappings: PortMappings;
  /** Groups of SLB_NAT_LAYER, without those of load balancers. */
  readonly groups: readonly Group[];
}

export function compileTranslations(
  endpoint: RoutedEndpoint,
  managementIp: Ipv4 | undefined,
  proxies: readonly ProxySource[] = [],
  families: readonly (4 | 6)[] = [4],
): Translations {
  const nat = compileOutBoundNat(endpoint, managementIp, proxies);
  const isMapped = endpoint.policies.some((policy) => policy.Type === "PortMapping");
  const mappings = isMapped ? compilePortMappings(endpoint, managementIp, families) : NO_MAPPINGS;
  return Object.freeze({ nat, mappings, groups: joinGroups(nat.groups, mappings.groups) });
}

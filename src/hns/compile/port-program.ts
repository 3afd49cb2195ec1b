/** Everything that one endpoint's port is programmed with, put together from what each policy compiles to. */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import { FABRIC_GATEWAY_MAC } from "#dataplane/switch/forwarding.ts";
import type { PortProgram, TranslationDefinition } from "../ports/datapath.ts";
import type { EndpointRecord, NetworkRecord } from "../service/records.ts";
import type { NetworkFrame } from "../service/network/policy-index.ts";
import { traitsOf } from "../service/network/type-traits.ts";
import type { CompileCache } from "./compile-cache.ts";
import {
  NO_GROUPS,
  type Translations,
  aclGroupsOf,
  compileTranslations,
  joinGroups,
  proxiesOf,
  optionalGroupsOf,
} from "./endpoint-parts.ts";
import type { ProxySource } from "./l4-proxy.ts";
import {
  compileExternalIn,
  compileExternalOut,
  compileHostRoutes,
  compileInternalRewrite,
  compileInternalRules,
} from "./l2-rewrite.ts";
import { L2BRIDGE_STACK, makeRule, makeGroup, PA_ROUTE_GROUP_PRIORITY, PA_ROUTE_PRIORITY } from "./layers.ts";
import {
  type NetworkView,
  type NodeFacts,
  attachedKey,
  hostLegsOf,
  managementIpOf,
  type Shape,
  shapeOf,
} from "./network-view.ts";
import { compileOverlayProgram } from "./overlay/overlay-program.ts";
import { type Ipv4, prefixFamily, parseIp, type IpFamily } from "#core/net/ip.ts";
import { type RoutedEndpoint, networkProvenance, policiesOf } from "./provenance.ts";
import { NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import type { StaticMapping } from "#dataplane/host/winnat/session-table.ts";
import { mappedProtocols } from "../service/endpoint/port-mapping-table.ts";
import { isIpv6Mapping } from "./port-mapping.ts";

// The next hop of translated packets: VNET_PA_ROUTE_LAYER asks the host's routes and neighbours and writes both MACs
// (dataplane.md §1.6, §2.4 B-6 row 4). Group name, its priority 200 and the rule's priority are observed.

/**
 * Inferred: the rule holds for packets whose source a NAT rule rewrote on this port; the observed rule on overlay nodes
 * has no condition, because there every packet that leaves has an outer header.
 */
function compilePaRoute(network: NetworkFrame, isDual: boolean): readonly Group[] {
  const rule = makeRule({
    name: "PA_ROUTE",
    listedId: "",
    priority: PA_ROUTE_PRIORITY,
    condition: { isSourceTranslated: true },
    action: { type: "paroute" },
    provenance: networkProvenance(network),
    inferred: "dataplane.md §2.2.3",
  });
  const families: readonly IpFamily[] = isDual ? [4, 6] : [4];
  return Object.freeze(families.map((family) => paRouteGroup(family, [rule])));
}

/** Both names are observed on overlay nodes (dataplane.md §2.2.1). */
function paRouteGroup(family: IpFamily, rules: readonly Rule[]): Group {
  const name = `VNET_GROUP_PA_ROUTE_IPV${family}_OUT`;
  return makeGroup({ name, direction: "out", family, priority: PA_ROUTE_GROUP_PRIORITY }, rules);
}

/** The rule for translated packets, the same on all ports of a network. */
export function paRouteOf(cache: CompileCache, network: NetworkFrame): readonly Group[] {
  const isDual = network.subnets.some((subnet) => prefixFamily(subnet.prefix) === 6);
  return cache.get(network.id, "pa-route", [network.name, isDual], () => compilePaRoute(network, isDual));
}

// The program, part by part.

/** Groups that ports share: all ports of a network, or all ports there are. */
class SharedGroups {
  /** What tells two states of the node apart. */
  readonly nodeInputs: readonly unknown[];
  readonly isTunnelled: boolean;
  private readonly cache: CompileCache;
  private readonly view: NetworkView;
  private made: readonly Group[] | undefined;
  private external: readonly Group[] | undefined;

  constructor(cache: CompileCache, view: NetworkView) {
    this.cache = cache;
    this.view = view;
    this.nodeInputs = [...view.node.addresses, view.node.hostMac];
    this.isTunnelled = traitsOf(view.network.type).isTunnelled;
  }

  private get key(): readonly unknown[] {
    return attachedKey(this.view);
  }

  internal(): readonly Group[] {
    const { network, attached } = this.view;
    this.made ??= this.cache.get(network.id, "internal", this.key, () =>
      compileInternalRewrite(attached.flatMap((endpoint) => this.rulesTowards(endpoint))),
    );
    return this.made;
  }

  private rulesTowards(endpoint: EndpointRecord): readonly Rule[] {
    const inputs = [endpoint.ipConfigs, endpoint.mac, endpoint.name];
    return this.cache.get(endpoint.id, "internal", inputs, () => compileInternalRules(endpoint));
  }

  externalOut(): readonly Group[] {
    const { network, attached, node } = this.view;
    // Everything of an L2Tunnel leaves, also what is for a neighbour or the node itself (dataplane.md §2.5).
    const inside = this.isTunnelled ? [] : attached;
    const own = this.isTunnelled ? [] : node.addresses;
    this.external ??= this.cache.get(network.id, "external", [...this.key, ...this.nodeInputs], () =>
      compileExternalOut(
        network,
        inside,
        own,
        node.hostMac,
        this.isTunnelled ? FABRIC_GATEWAY_MAC : undefined,
      ),
    );
    return this.external;
  }

  paRoute(): readonly Group[] {
    return paRouteOf(this.cache, this.view.network);
  }
}

/** What of a program depends on the endpoint and the node alone. */
interface OwnParts {
  readonly translations: Translations;
  readonly externalIn: readonly Group[];
  readonly hostRoutes: readonly Group[];
}

function compileOwnParts(
  endpoint: RoutedEndpoint,
  node: NodeFacts,
  isAddressed: boolean,
  isTunnelled: boolean,
  proxies: readonly ProxySource[],
): OwnParts {
  const managementIp = managementIpOf(node);
  const translations = compileTranslations(endpoint, managementIp, proxies, [4, 6]);
  const isRouted = isAddressed && managementIp !== undefined;
  return Object.freeze({
    translations,
    externalIn: compileExternalIn(endpoint, isAddressed, translations.mappings.bindings),
    hostRoutes: isRouted ? compileHostRoutes(endpoint, managementIp, node.hostMac, isTunnelled) : NO_GROUPS,
  });
}

/** What of a program depends on no load balancer. */
interface StandingParts {
  readonly program: PortProgram;
  readonly translations: readonly Group[];
}

function compileStanding(
  cache: CompileCache,
  view: NetworkView,
  shared: SharedGroups,
  endpoint: RoutedEndpoint,
  isAddressed: boolean,
): StandingParts {
  const { policies, ipConfigs, mac, name, sdnRoutes } = endpoint;
  const proxies = proxiesOf(view.network, endpoint);
  const inputs = [policies, ipConfigs, mac, name, sdnRoutes, isAddressed, proxies.key, ...shared.nodeInputs];
  const own = cache.get(endpoint.id, "own", inputs, () =>
    compileOwnParts(endpoint, view.node, isAddressed, shared.isTunnelled, proxies.sources),
  );
  const { nat, mappings, groups: translations } = own.translations;
  const groups = {
    ...optionalGroupsOf(cache, view, endpoint, proxies),
    ACL_ENDPOINT_LAYER: aclGroupsOf(cache, view.network, endpoint),
    INTERNAL_L2_REWRITE_LAYER: shared.isTunnelled ? NO_GROUPS : joinGroups(shared.internal(), own.hostRoutes),
    SLB_DECAP_LAYER_STATEFUL: NO_GROUPS,
    EXTERNAL_L2_REWRITE_LAYER: joinGroups(
      shared.isTunnelled ? own.hostRoutes : NO_GROUPS,
      joinGroups(isAddressed ? shared.externalOut() : NO_GROUPS, own.externalIn),
    ),
    VNET_PA_ROUTE_LAYER: shared.paRoute(),
  };
  const program = {
    stack: L2BRIDGE_STACK,
    groups,
    tunnel: undefined,
    natPools: nat.pools,
    staticBindings: mappings.bindings,
    claims: mappings.claims,
    deliversByAddress: isAddressed,
  };
  return Object.freeze({ program: Object.freeze(program), translations });
}

function compileProgram(
  cache: CompileCache,
  view: NetworkView,
  shared: SharedGroups,
  endpoint: RoutedEndpoint,
  shape: Shape,
): PortProgram {
  const { services } = view;
  const standing = cache.get(endpoint.id, "standing", [view.base], () =>
    compileStanding(cache, view, shared, endpoint, shape === "node-subnet"),
  );
  const groups = {
    ...standing.program.groups,
    // On every pod's port, whether it serves or not (dataplane.md §2.2.3).
    LB_DSR: shape === "host" ? NO_GROUPS : services.podGroups,
    SLB_NAT_LAYER: services.natGroupsOf(endpoint.id, standing.translations),
  };
  return { ...standing.program, groups };
}

/** The programs of all attached endpoints of a network, or of those in `only`, by endpoint. */
export function compilePrograms(
  cache: CompileCache,
  view: NetworkView,
  only?: ReadonlySet<Guid>,
): ReadonlyMap<Guid, PortProgram> {
  const programs = new Map<Guid, PortProgram>();
  if (only?.size === 0) return programs;
  const { overlay } = view;
  if (overlay !== undefined) {
    for (const endpoint of view.attached)
      if (only?.has(endpoint.id) !== false)
        programs.set(endpoint.id, compileOverlayProgram(cache, view, overlay, endpoint));
    return programs;
  }
  const shared = new SharedGroups(cache, view);
  const hostLegs = hostLegsOf(view);
  for (const endpoint of view.attached) {
    if (only?.has(endpoint.id) === false) continue;
    const shape = shapeOf(endpoint, hostLegs);
    programs.set(endpoint.id, compileProgram(cache, view, shared, endpoint, shape));
  }
  return programs;
}

// A network behind the host → what the host's WinNAT does for it (dataplane.md §2.7): source NAT of its IPv4
// prefixes, and a static mapping per PortMapping policy and protocol of its attached endpoints. IPv6 is not
// translated (§2.11).

function ipv4Of(endpoint: EndpointRecord): Ipv4 | undefined {
  for (const { ip } of endpoint.ipConfigs) if (typeof ip === "number") return ip;
  return undefined;
}

/** Inferred: a mapping without an internal port leads to the port that it has outside. */
function mappingsOf(endpoint: EndpointRecord): readonly StaticMapping[] {
  const internalIp = ipv4Of(endpoint);
  if (internalIp === undefined || endpoint.attachment?.kind === "host") return [];
  return policiesOf(endpoint, "PortMapping").flatMap(({ setting, provenance }) => {
    if (isIpv6Mapping(setting)) return [];
    const { ExternalPort: externalPort = 0, InternalPort: wanted, VIP } = setting;
    const vip = parseIp(VIP ?? "");
    return mappedProtocols(setting).map((protocol) =>
      Object.freeze({
        protocol,
        externalIp: typeof vip === "number" ? vip : undefined,
        externalPort,
        internalIp,
        internalPort: wanted === 0 ? externalPort : wanted,
        provenance,
      }),
    );
  });
}

function hasDnsProxy({ flags }: NetworkRecord): boolean {
  return (flags & NETWORK_FLAGS.EnableDnsProxy) !== 0;
}

function gatewaysOf({ subnets }: NetworkRecord): readonly Ipv4[] {
  return subnets.flatMap(({ gateway }) => (typeof gateway === "number" ? [gateway] : []));
}

/** True when an ACL lets the endpoint open connections. */
function mayOpen({ policies }: EndpointRecord): boolean {
  return policies.some(
    (policy) =>
      policy.Type === "ACL" && policy.Settings.Action === "Allow" && policy.Settings.Direction === "Out",
  );
}

/** `deniesOutbound`: the node has the defect `nat-denies-outbound`. */
export function compileTranslation(
  network: NetworkRecord,
  attached: readonly EndpointRecord[],
  deniesOutbound: boolean,
): TranslationDefinition {
  const closed = deniesOutbound ? attached.filter((endpoint) => !mayOpen(endpoint)) : [];
  return Object.freeze({
    prefixes: Object.freeze(
      network.subnets.map(({ prefix }) => prefix).filter((prefix) => prefixFamily(prefix) === 4),
    ),
    mappings: Object.freeze(attached.flatMap(mappingsOf)),
    provenance: networkProvenance(network),
    ...(closed.length > 0 && { closed: Object.freeze(closed.flatMap((endpoint) => ipv4Of(endpoint) ?? [])) }),
    dnsProxies: Object.freeze(hasDnsProxy(network) ? gatewaysOf(network) : []),
  });
}

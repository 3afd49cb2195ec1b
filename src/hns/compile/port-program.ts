/** Everything that one endpoint's port is programmed with, put together from what each policy compiles to. */
import type { Guid } from "../../hcn/client.ts";
import type { Ip, Ipv4 } from "../../net/ip.ts";
import type { Mac } from "../../net/mac.ts";
import type { Group } from "../../vfp/group.ts";
import type { Rule } from "../../vfp/rule.ts";
import { FABRIC_GATEWAY_MAC } from "../../vswitch/tunnel-forwarding.ts";
import type { PortProgram } from "../datapath.ts";
import type { EndpointRecord } from "../endpoint-record.ts";
import type { NetworkRecord } from "../network-record.ts";
import { traitsOf } from "../network/type-traits.ts";
import { aclSources, compileAcls } from "./acl.ts";
import { addressSetsOf } from "./address-sets.ts";
import type { CompileCache } from "./compile-cache.ts";
import {
  compileExternalIn,
  compileExternalOut,
  compileHostRoutes,
  compileInternalRewrite,
  compileInternalRules,
} from "./l2-rewrite.ts";
import type { LoadBalancerTable } from "./load-balancer-table.ts";
import { type OutBoundNat, compileOutBoundNat } from "./outbound-nat.ts";
import { compilePaRoute } from "./pa-route.ts";
import { type PortMappings, compilePortMappings } from "./port-mapping.ts";
import { type RoutedEndpoint } from "./sdn-routes.ts";
import { type Shape, shapeOf } from "./shape.ts";
import { compileTierAcls } from "./tier-acl.ts";

/** The node as rules see it. */
export interface NodeFacts {
  /** Addresses on the adapter; the first IPv4 one is the management address. */
  readonly addresses: readonly Ip[];
  /** MAC of the host's vNIC, which is the adapter's. */
  readonly hostMac: Mac;
}

/** A network with its attached endpoints and its load balancers: all that the rules of its ports depend on. */
export interface NetworkView {
  readonly network: NetworkRecord;
  /** In order of creation. */
  readonly attached: readonly RoutedEndpoint[];
  readonly node: NodeFacts;
  /** The load balancers, compiled. */
  readonly services: LoadBalancerTable;
}

const NO_GROUPS: readonly Group[] = Object.freeze([]);
/** Owner of what belongs to no object: endpoints without ACLs share the default pair over all networks. */
const NOBODY = "";

export function managementIpOf(node: NodeFacts): Ipv4 | undefined {
  return node.addresses.find((address) => typeof address === "number");
}

export function hostLegsOf(view: NetworkView): readonly EndpointRecord[] {
  return view.attached.filter((endpoint) => endpoint.attachment?.kind === "host");
}

/** What tells two lists of addresses of attached endpoints apart. */
function attachedKey(view: NetworkView): readonly unknown[] {
  return view.attached.flatMap((endpoint) => [endpoint.id, endpoint.ipConfigs, endpoint.mac]);
}

/** The rule for translated packets, the same on all ports of a network. */
export function paRouteOf(cache: CompileCache, network: NetworkRecord): readonly Group[] {
  return cache.get(network.id, "pa-route", [network.name], () => compilePaRoute(network));
}

/** Groups that ports share: all ports of a network, or all ports there are. */
class SharedGroups {
  readonly internal: readonly Group[];
  /** What tells two states of the node apart. */
  readonly nodeInputs: readonly unknown[];
  readonly isTunnelled: boolean;
  private readonly cache: CompileCache;
  private readonly view: NetworkView;
  private readonly key: readonly unknown[];
  private external: readonly Group[] | undefined;

  constructor(cache: CompileCache, view: NetworkView) {
    this.cache = cache;
    this.view = view;
    this.key = attachedKey(view);
    this.nodeInputs = [...view.node.addresses, view.node.hostMac];
    this.isTunnelled = traitsOf(view.network.type).isTunnelled;
    this.internal = this.isTunnelled
      ? NO_GROUPS
      : cache.get(view.network.id, "internal", this.key, () =>
          compileInternalRewrite(view.attached.flatMap((endpoint) => this.rulesTowards(endpoint))),
        );
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

  acl(endpoint: EndpointRecord): readonly Group[] {
    const { network } = this.view;
    const sources = aclSources(network, endpoint);
    const hasTiers = endpoint.policies.some((policy) => policy.Type === "TierAcl");
    if (sources.length === 0 && !hasTiers) return this.cache.get(NOBODY, "acl", [], () => compileAcls([]));
    const inputs = [endpoint.policies, endpoint.name, network.policies, network.name];
    return this.cache.get(endpoint.id, "acl", inputs, () => {
      const sets = addressSetsOf(this.cache, network);
      return Object.freeze([...compileTierAcls(endpoint, sets), ...compileAcls(sources, sets)]);
    });
  }
}

/** What of a program depends on the endpoint and the node alone. */
interface OwnParts {
  readonly nat: OutBoundNat;
  readonly mappings: PortMappings;
  readonly externalIn: readonly Group[];
  readonly hostRoutes: readonly Group[];
  readonly slbNat: readonly Group[];
}

function compileOwnParts(endpoint: RoutedEndpoint, node: NodeFacts, isAddressed: boolean): OwnParts {
  const managementIp = managementIpOf(node);
  const nat = compileOutBoundNat(endpoint, managementIp);
  const mappings = compilePortMappings(endpoint, managementIp);
  const isRouted = isAddressed && managementIp !== undefined;
  return Object.freeze({
    nat,
    mappings,
    externalIn: compileExternalIn(endpoint, isAddressed, mappings.bindings),
    hostRoutes: isRouted ? compileHostRoutes(endpoint, managementIp, node.hostMac) : NO_GROUPS,
    slbNat: join(nat.groups, mappings.groups),
  });
}

/** Both lists; a list alone stays the same object, so that whoever compares sees that nothing changed. */
function join(first: readonly Group[], second: readonly Group[]): readonly Group[] {
  if (second.length === 0) return first;
  return first.length === 0 ? second : Object.freeze([...first, ...second]);
}

function compileProgram(
  cache: CompileCache,
  view: NetworkView,
  shared: SharedGroups,
  endpoint: RoutedEndpoint,
  shape: Shape,
): PortProgram {
  const isAddressed = shape === "node-subnet";
  const { services } = view;
  const { policies, ipConfigs, mac, name, sdnRoutes } = endpoint;
  const inputs = [policies, ipConfigs, mac, name, sdnRoutes, isAddressed, ...shared.nodeInputs];
  const own = cache.get(endpoint.id, "own", inputs, () => compileOwnParts(endpoint, view.node, isAddressed));
  return {
    groups: {
      // On every pod's port, whether it serves or not (dataplane.md §2.2.3).
      LB_DSR: shape === "host" ? NO_GROUPS : services.podGroups,
      ACL_ENDPOINT_LAYER: shared.acl(endpoint),
      SLB_NAT_LAYER: services.natGroupsOf(endpoint.id, own.slbNat),
      INTERNAL_L2_REWRITE_LAYER: shared.isTunnelled ? NO_GROUPS : join(shared.internal, own.hostRoutes),
      SLB_DECAP_LAYER_STATEFUL: NO_GROUPS,
      EXTERNAL_L2_REWRITE_LAYER: join(isAddressed ? shared.externalOut() : NO_GROUPS, own.externalIn),
      VNET_PA_ROUTE_LAYER: shared.paRoute(),
    },
    natPools: own.nat.pools,
    staticBindings: own.mappings.bindings,
    deliversByAddress: isAddressed,
  };
}

/** The programs of all attached endpoints of a network, or of those in `only`, by endpoint. */
export function compilePrograms(
  cache: CompileCache,
  view: NetworkView,
  only?: ReadonlySet<Guid>,
): ReadonlyMap<Guid, PortProgram> {
  const programs = new Map<Guid, PortProgram>();
  if (only?.size === 0) return programs;
  const shared = new SharedGroups(cache, view);
  const hostLegs = hostLegsOf(view);
  for (const endpoint of view.attached) {
    if (only?.has(endpoint.id) === false) continue;
    const shape = shapeOf(endpoint, hostLegs);
    programs.set(endpoint.id, compileProgram(cache, view, shared, endpoint, shape));
  }
  return programs;
}

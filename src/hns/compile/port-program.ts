/** Everything that one endpoint's port is programmed with, put together from what each policy compiles to. */
import type { Guid } from "../../hcn/client.ts";
import type { Ip, Ipv4 } from "../../net/ip.ts";
import type { Mac } from "../../net/mac.ts";
import type { Group } from "../../vfp/group.ts";
import type { PortProgram } from "../datapath.ts";
import type { EndpointRecord } from "../endpoint-record.ts";
import type { NetworkRecord } from "../network-record.ts";
import { aclSources, compileAcls } from "./acl.ts";
import type { CompileCache } from "./compile-cache.ts";
import {
  compileExternalIn,
  compileExternalOut,
  compileHostRoutes,
  compileInternalRewrite,
} from "./l2-rewrite.ts";
import { compileOutBoundNat } from "./outbound-nat.ts";
import { compilePaRoute } from "./pa-route.ts";
import { compilePortMappings } from "./port-mapping.ts";
import { type Shape, shapeOf } from "./shape.ts";

/** The node as rules see it. */
export interface NodeFacts {
  /** Addresses on the adapter; the first IPv4 one is the management address. */
  readonly addresses: readonly Ip[];
  /** MAC of the host's vNIC, which is the adapter's. */
  readonly hostMac: Mac;
}

/** A network with its attached endpoints: all that the rules of its ports depend on. */
export interface NetworkView {
  readonly network: NetworkRecord;
  /** In order of creation. */
  readonly attached: readonly EndpointRecord[];
  readonly node: NodeFacts;
}

const NO_GROUPS: readonly Group[] = Object.freeze([]);
/** Owner of what belongs to no object: endpoints without ACLs share the default pair over all networks. */
const NOBODY = "";

export function managementIpOf(node: NodeFacts): Ipv4 | undefined {
  return node.addresses.find((address) => typeof address === "number");
}

function hostLegsOf(view: NetworkView): readonly EndpointRecord[] {
  return view.attached.filter((endpoint) => endpoint.attachment?.kind === "host");
}

/** What tells two lists of addresses of attached endpoints apart. */
function attachedKey(view: NetworkView): readonly unknown[] {
  return view.attached.flatMap((endpoint) => [endpoint.id, endpoint.ipConfigs, endpoint.mac]);
}

function nodeKey(node: NodeFacts): readonly unknown[] {
  return [...node.addresses, node.hostMac];
}

/** Groups that ports share: all ports of a network, or all ports there are. */
class SharedGroups {
  readonly internal: readonly Group[];
  private readonly cache: CompileCache;
  private readonly view: NetworkView;
  private readonly key: readonly unknown[];
  private external: readonly Group[] | undefined;

  constructor(cache: CompileCache, view: NetworkView) {
    this.cache = cache;
    this.view = view;
    this.key = attachedKey(view);
    this.internal = cache.get(view.network.id, "internal", this.key, () =>
      compileInternalRewrite(view.attached),
    );
  }

  externalOut(): readonly Group[] {
    const { network, attached, node } = this.view;
    this.external ??= this.cache.get(network.id, "external", [...this.key, ...nodeKey(node)], () =>
      compileExternalOut(network, attached, node.addresses, node.hostMac),
    );
    return this.external;
  }

  paRoute(addresses: readonly Ipv4[]): readonly Group[] {
    const { network } = this.view;
    return this.cache.get(network.id, `pa-route ${addresses.join()}`, [network.name], () =>
      compilePaRoute(network, addresses),
    );
  }

  acl(endpoint: EndpointRecord): readonly Group[] {
    const { network } = this.view;
    const sources = aclSources(network, endpoint);
    if (sources.length === 0) return this.cache.get(NOBODY, "acl", [], () => compileAcls([]));
    const inputs = [endpoint.policies, endpoint.name, network.policies, network.name];
    return this.cache.get(endpoint.id, "acl", inputs, () => compileAcls(sources));
  }
}

function compileProgram(
  cache: CompileCache,
  view: NetworkView,
  shared: SharedGroups,
  endpoint: EndpointRecord,
  shape: Shape,
): PortProgram {
  const { node } = view;
  const managementIp = managementIpOf(node);
  const own = <T extends object>(name: string, compile: () => T): T =>
    cache.get(
      endpoint.id,
      name,
      [endpoint.policies, endpoint.ipConfigs, endpoint.mac, endpoint.name, shape, ...nodeKey(node)],
      compile,
    );
  const nat = own("outbound-nat", () => compileOutBoundNat(endpoint, managementIp));
  const mappings = own("port-mapping", () => compilePortMappings(endpoint, managementIp));
  const isAddressed = shape === "node-subnet";
  const externalIn = own("external-in", () => compileExternalIn(endpoint, isAddressed, mappings.bindings));
  const hostRoutes = own("host-routes", () =>
    isAddressed && managementIp !== undefined
      ? compileHostRoutes(endpoint, managementIp, node.hostMac)
      : NO_GROUPS,
  );
  const translatedTo = [...new Set([...nat.addresses, ...mappings.addresses])].sort((a, b) => a - b);
  return {
    groups: {
      LB_DSR: NO_GROUPS,
      ACL_ENDPOINT_LAYER: shared.acl(endpoint),
      SLB_NAT_LAYER: [...nat.groups, ...mappings.groups],
      INTERNAL_L2_REWRITE_LAYER: [...shared.internal, ...hostRoutes],
      SLB_DECAP_LAYER_STATEFUL: NO_GROUPS,
      EXTERNAL_L2_REWRITE_LAYER: [...(isAddressed ? shared.externalOut() : NO_GROUPS), ...externalIn],
      VNET_PA_ROUTE_LAYER: shared.paRoute(translatedTo),
    },
    natPools: nat.pools,
    staticBindings: mappings.bindings,
    deliversByAddress: isAddressed,
  };
}

/** The programs of all attached endpoints of a network, by endpoint. */
export function compilePrograms(cache: CompileCache, view: NetworkView): ReadonlyMap<Guid, PortProgram> {
  const shared = new SharedGroups(cache, view);
  const hostLegs = hostLegsOf(view);
  const programs = new Map<Guid, PortProgram>();
  for (const endpoint of view.attached) {
    const shape = shapeOf(endpoint, hostLegs);
    programs.set(endpoint.id, compileProgram(cache, view, shared, endpoint, shape));
  }
  return programs;
}

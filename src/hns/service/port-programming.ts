/**
 * Brings the ports of networks in line with the service's objects. A change costs what it concerns: ports are compiled
 * and programmed anew when something that all of them depend on is another, else those alone whose rules changed.
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { Ip, Prefix } from "#core/net/ip.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import { AddressFlag } from "#dataplane/vfp/port-settings.ts";
import type { CompileCache, SharedValues } from "../compile/compile-cache.ts";
import {
  type LoadBalancerFacts,
  type ServiceTraits,
  reservedPoolsOf,
} from "../compile/load-balancer/load-balancer-plan.ts";
import {
  type NetworkView,
  type NodeFacts,
  type OverlayView,
  hostLegsOf,
  managementIpOf,
  managementIpv6Of,
  serviceRangesOf,
} from "../compile/network-view.ts";
import { ProgramDefects } from "../failures/defects/program-defects.ts";
import { isMapped, planOverlay } from "../compile/overlay/overlay-plan.ts";
import { compileHostTunnel, compileRouter } from "../compile/overlay/overlay-program.ts";
import { compileTranslation, compilePrograms, paRouteOf } from "../compile/port-program.ts";
import { RouteRules, remoteSubnetsOf } from "../compile/overlay/remote-subnets.ts";
import type { Datapath, PortProgram } from "../ports/datapath.ts";
import {
  type LoadBalancerRecord,
  type EndpointRecord,
  type NetworkRecord,
  isRemoteEndpoint,
} from "./records.ts";
import type { NetworkFrame, PolicyIndexes } from "./network/policy-index.ts";
import { hasRules, traitsOf } from "./network/type-traits.ts";
import type { PhysicalAdapter } from "../ports/adapter-description.ts";
import type { QuirkSet } from "../failures/quirk-set.ts";
import type { ServiceState } from "./state.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

/** Bytes that VXLAN over IPv4 adds to a packet (dataplane.md §2.3). */
export const ENCAP_OVERHEAD = 50;
/** Observed on ports of endpoints and of the router; WS2025 has the flag of neighbour discovery, too (dataplane.md §1.2). */
const OVERLAY_ADDRESS_FLAGS =
  AddressFlag.virtualized | AddressFlag.macVirtualized | AddressFlag.processClientDhcp;

export interface PortProgrammingParts {
  readonly datapath: Datapath;
  readonly adapters: readonly PhysicalAdapter[];
  readonly state: ServiceState;
  readonly cache: CompileCache;
  readonly policies: PolicyIndexes;
  readonly shared: SharedValues;
  readonly traits: ServiceTraits;
  readonly quirks: QuirkSet;
  /** What ports of overlay networks are set to on this build. */
  readonly processesNeighborDiscovery: boolean;
}

const LATE_REMOVAL_MS = 30_000;

/** A network as its rules see it, worked out once for each state of its endpoints and of the node. */
interface Surveyed {
  /** The record that was surveyed. */
  readonly network: NetworkRecord;
  readonly view: NetworkView;
  readonly facts: LoadBalancerFacts;
  readonly serviceRanges: readonly Prefix[];
  /** The state of the local endpoints that was surveyed. */
  readonly localRevision: number;
}

/** What all ports of a network were programmed with last. */
interface Programmed {
  readonly base: object;
  readonly routes: object | undefined;
  readonly podGroups: readonly Group[];
}

/** Stands for the routes to other nodes' subnets; undefined: the network has no tunnels. */
function routesOf({ overlay }: NetworkView): object | undefined {
  return overlay?.remoteSubnets.revision.token;
}

function areEqual(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

/** Plain data, part of the service's context. */
export class PortProgramming {
  readonly defects: ProgramDefects;
  private readonly datapath: Datapath;
  private readonly adapters: readonly PhysicalAdapter[];
  private readonly state: ServiceState;
  private readonly cache: CompileCache;
  private readonly shared: SharedValues;
  private readonly policies: PolicyIndexes;
  private readonly routeRules = new RouteRules();
  private readonly quirks: QuirkSet;
  private traits: ServiceTraits;
  private readonly overlayFlags: number;
  private readonly surveyed = new Map<Guid, Surveyed>();
  private readonly programmed = new Map<Guid, Programmed>();

  constructor(parts: PortProgrammingParts) {
    const { datapath, adapters, state, cache, traits, quirks } = parts;
    this.quirks = quirks;
    this.defects = new ProgramDefects(quirks, cache);
    this.overlayFlags = OVERLAY_ADDRESS_FLAGS + (parts.processesNeighborDiscovery ? AddressFlag.ndp : 0);
    this.datapath = datapath;
    this.adapters = adapters;
    this.state = state;
    this.cache = cache;
    this.shared = parts.shared;
    this.policies = parts.policies;
    this.traits = traits;
  }

  /** From now on the node does other things with load balancers; all ports are brought in line. */
  changeTraits(traits: ServiceTraits): void {
    this.traits = traits;
    this.surveyed.clear();
    for (const id of this.state.networks.keys()) this.reprogram(id);
  }

  /** Brings all ports of a network in line, whatever they have. */
  renew(networkId: Guid): void {
    this.surveyed.delete(networkId);
    this.reprogram(networkId);
  }

  adapterOf(network: NetworkRecord): PhysicalAdapter | undefined {
    return this.adapters.find((adapter) => adapter.name === network.adapterName);
  }

  nodeFacts(adapter: PhysicalAdapter): NodeFacts {
    const addresses = this.datapath.addressesOf(adapter).map((address) => address.ip);
    return { addresses: this.inOrder(addresses, adapter), hostMac: adapter.mac };
  }

  /** The management address comes first. With `management-address-flips` that is the IPv4 address that came last. */
  private inOrder(addresses: readonly Ip[], adapter: PhysicalAdapter): readonly Ip[] {
    const last = addresses.findLast((ip) => typeof ip === "number");
    if (last === undefined || !this.quirks.strikes("management-address-flips", adapter.name))
      return addresses;
    return [last, ...addresses.filter((ip) => ip !== last)];
  }

  /** Brings all ports of a network in line. */
  reprogram(networkId: Guid): void {
    const network = this.state.networks.get(networkId);
    if (network !== undefined && traitsOf(network.type).isTranslated) {
      const deniesOutbound = this.quirks.strikes("nat-denies-outbound", networkId);
      const translation = compileTranslation(network, this.state.attachedOf(networkId), deniesOutbound);
      this.datapath.programTranslation(network.switchId, networkId, translation);
    }
    const surveyed = network && this.survey(network);
    if (network === undefined || surveyed === undefined) return;
    const { view } = surveyed;
    const { base, services } = view;
    this.updateServices(surveyed);
    const before = this.programmed.get(networkId);
    const isSame = before?.base === base;
    const routes = routesOf(view);
    if (!isSame) this.programRouter(view);
    else if (before.routes !== routes) this.datapath.followNetwork(networkId);
    const touched = services.takeTouched();
    const { podGroups } = services;
    const isOnlyTouched = isSame && before.routes === routes && before.podGroups === podGroups;
    this.program(view, compilePrograms(this.cache, view, isOnlyTouched ? touched : undefined));
    this.programmed.set(networkId, { base, routes, podGroups });
  }

  private programRouter(view: NetworkView): void {
    const { network, overlay } = view;
    if (overlay === undefined) return;
    const router = this.defects.onRouter(view, compileRouter(this.cache, view, overlay));
    this.datapath.programRouter(network.switchId, network.id, router);
  }

  /** What an endpoint's new port begins with; undefined when its network has no rules. */
  programOf(network: NetworkRecord, endpointId: Guid): PortProgram | undefined {
    const surveyed = this.survey(network);
    if (surveyed === undefined) return undefined;
    this.updateServices(surveyed);
    const { view } = surveyed;
    const program = compilePrograms(this.cache, view, new Set([endpointId])).get(endpointId);
    const endpoint = view.attached.find(({ id }) => id === endpointId);
    if (program === undefined || endpoint === undefined) return program;
    return this.defects.onPort(view, endpoint, program);
  }

  /** Brings a network in line whose rules name an endpoint that came or went without a vNIC. */
  followUnattached(endpoint: EndpointRecord): void {
    const network = this.state.networks.get(endpoint.networkId);
    if (network?.type !== "Overlay") return;
    const isSourceVip = !isRemoteEndpoint(endpoint) && endpoint.mac === this.adapterOf(network)?.mac;
    if (isSourceVip || isMapped(endpoint)) this.reprogram(network.id);
  }

  /** Forgets a network that is gone, and its router. */
  forget({ id: networkId, switchId, type }: NetworkRecord): void {
    if (traitsOf(type).isTranslated) this.datapath.programTranslation(switchId, networkId, undefined);
    const view = this.surveyed.get(networkId)?.view;
    if (view?.overlay !== undefined)
      this.datapath.removeRouter(view.network.switchId, networkId, this.lateRemovalMs(networkId));
    this.surveyed.delete(networkId);
    this.programmed.delete(networkId);
    this.defects.forget(networkId);
  }

  /** With `network-space-removed-late`: 30 s and more (dataplane.md §9, F-50). Inferred: less than a minute. */
  private lateRemovalMs(networkId: Guid): number {
    if (!this.quirks.strikes("network-space-removed-late", networkId)) return 0;
    return (
      LATE_REMOVAL_MS + this.quirks.chanceOf("network-space-removed-late", networkId).below(LATE_REMOVAL_MS)
    );
  }

  /**
   * Sets ports of the node aside for a load balancer that is about to be made or changed.
   * Inferred (hcn.md §11.27): a budget that is used up has the same code as a front end that is taken.
   * @throws HcnError HCN_E_PORT_ALREADY_EXISTS when the node has no block left (dataplane.md §3.5).
   */
  reserveServicePorts(loadBalancer: LoadBalancerRecord): void {
    const network = this.state.networks.get(loadBalancer.networkId);
    const surveyed = network && this.survey(network);
    if (network === undefined || surveyed === undefined) return;
    const pools = reservedPoolsOf(loadBalancer, surveyed.facts);
    if (pools.length === 0 || this.datapath.reserveHostPools(network.switchId, pools)) return;
    throw new HcnError("HCN_E_PORT_ALREADY_EXISTS", {
      detail: WORDS.sourceNatPortsExhausted,
    });
  }

  /** Undefined: the ports of networks of this type get no rules. */
  private survey(network: NetworkRecord): Surveyed | undefined {
    const adapter = hasRules(network) ? this.adapterOf(network) : undefined;
    if (adapter === undefined) return undefined;
    const { services, localRevision } = this.state.membersOf(network.id);
    const node = this.nodeFacts(adapter);
    const known = this.surveyed.get(network.id);
    const isSameRecord = known?.network === network;
    const frame = isSameRecord ? known.view.network : this.policies.frameOf(network, known?.view.network);
    const isOfSame = known?.view.network === frame && areEqual(known.view.node.addresses, node.addresses);
    if (isOfSame && known.localRevision === localRevision)
      return isSameRecord ? known : this.withRoutes(known, network);
    const attached = this.state.attachedOf(network.id);
    // Without tunnels, endpoints count as soon as they have a vNIC.
    if (isOfSame && known.view.overlay === undefined && areEqual(known.view.attached, attached)) {
      const followed: Surveyed = { ...known, network, localRevision };
      this.surveyed.set(network.id, followed);
      return followed;
    }
    const overlay = this.overlayOf(network, frame, node);
    const base = Object.freeze({});
    const view: NetworkView = { base, network: frame, attached, services, node, overlay };
    const surveyed: Surveyed = {
      network,
      view,
      facts: this.factsOf(view),
      serviceRanges: serviceRangesOf(view.attached),
      localRevision,
    };
    this.surveyed.set(network.id, surveyed);
    return surveyed;
  }

  /** The same with the routes to other nodes' subnets as they are now. */
  private withRoutes(known: Surveyed, network: NetworkRecord): Surveyed {
    const { view } = known;
    const { overlay } = view;
    let surveyed: Surveyed = { ...known, network };
    if (overlay !== undefined) {
      const remoteSubnets = remoteSubnetsOf(this.policies, this.routeRules, network.policies);
      if (routesOf(view) !== remoteSubnets.revision.token)
        surveyed = { ...surveyed, view: { ...view, overlay: { ...overlay, remoteSubnets } } };
    }
    this.surveyed.set(network.id, surveyed);
    return surveyed;
  }

  /** Undefined: the network has no tunnels. */
  private overlayOf(network: NetworkRecord, frame: NetworkFrame, node: NodeFacts): OverlayView | undefined {
    if (network.type !== "Overlay") return undefined;
    const { local, mapped, mappedRevision } = this.state.membersOf(network.id);
    const facts = { providerAddress: managementIpOf(node), hostMac: node.hostMac };
    const sourceVips = [...local.values()].filter(
      ({ attachment, mac }) => attachment === undefined && mac === node.hostMac,
    );
    const inputs = [frame, facts.providerAddress, facts.hostMac, mappedRevision];
    return {
      plan: this.cache.get(network.id, "overlay-plan", inputs, () =>
        planOverlay(frame, facts, [...mapped.values()]),
      ),
      remoteSubnets: remoteSubnetsOf(this.policies, this.routeRules, network.policies),
      sourceVips,
      addressFlags: this.overlayFlags,
    };
  }

  private factsOf(view: NetworkView): LoadBalancerFacts {
    const legs = hostLegsOf(view).flatMap((leg) => leg.ipConfigs.map((config) => config.ip));
    return Object.freeze({
      managementIp: managementIpOf(view.node),
      managementIp6: managementIpv6Of(view.node),
      nodeIps: Object.freeze([...view.node.addresses, ...legs]),
      hasPods: view.attached.some((endpoint) => endpoint.attachment?.kind !== "host"),
      traits: this.traits,
      overhead: view.overlay === undefined ? 0 : ENCAP_OVERHEAD,
      shared: this.shared,
    });
  }

  /** Compiles load balancers that changed, and programs the host's port. */
  private updateServices({ view, facts, serviceRanges }: Surveyed): void {
    const { network, services } = view;
    const members = this.state.membersOf(network.id);
    const surroundings = {
      endpoints: this.state.endpoints,
      facts,
      serviceRanges,
      paRoute: paRouteOf(this.cache, network),
      tunnel: view.overlay === undefined ? undefined : compileHostTunnel(this.cache, view, view.overlay),
    };
    const program = services.update(surroundings, members.takeOutdated(), members.loadBalancers);
    this.datapath.programHost(network.switchId, network.id, this.defects.onHost(view, program));
  }

  private program(view: NetworkView, programs: ReadonlyMap<Guid, PortProgram>): void {
    for (const endpoint of view.attached) {
      const portId = endpoint.attachment?.portId;
      const program = programs.get(endpoint.id);
      if (portId !== undefined && program !== undefined)
        this.datapath.program(view.network.switchId, portId, this.defects.onPort(view, endpoint, program));
    }
  }
}

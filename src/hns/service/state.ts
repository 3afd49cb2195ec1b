/**
 * All objects of one node's service, and what has to be found fast. Plain data: a fork copies it, and the records in
 * it are frozen, so forks share them.
 */
import { SharedMap } from "#core/base/shared-map.ts";
import { type Guid, ZERO_GUID } from "#contracts/hcn/guid.ts";
import { AddressPool, MacPool } from "./address-pool.ts";
import {
  type GuestNetworkServiceRecord,
  type SdnRouteRecord,
  type NamespaceRecord,
  type LoadBalancerRecord,
  type EndpointRecord,
  type NetworkRecord,
  isRemoteEndpoint,
} from "./records.ts";
import {
  PortReservationTable,
  FrontEndTable,
  SdnRouteTable,
  BackEndReferences,
  FormerBackEnds,
} from "./object-tables.ts";
import { PortMappingTable } from "./endpoint/port-mapping-table.ts";
import type { RoutedEndpoint } from "../compile/provenance.ts";
import { isMapped } from "../compile/overlay/overlay-plan.ts";
import { LoadBalancerTable } from "../compile/load-balancer/load-balancer-table.ts";

// What belongs to the service as a whole and to none of its objects. Plain data, part of its state.

/** Frozen; replaced as a whole on each change. */
interface ServiceGlobals {
  /** MACs of the fabric's management for accelerated networking, as they were written (hcn.md §9.10). */
  readonly accelnetMacs: readonly string[];
}

export const NO_GLOBALS: ServiceGlobals = Object.freeze({ accelnetMacs: Object.freeze([]) });

/** There is one service, so its entry needs no id of its own. */
export const GLOBALS_ID: Guid = ZERO_GUID;

// What belongs to one network, by order of creation. Plain data, part of the service's state.

export class NetworkMembers {
  /** Endpoints without remote ones, of which a big cluster has many. */
  readonly local: Map<Guid, EndpointRecord> = new Map();
  /** Those remote endpoints of an overlay network that have rules of their own. */
  readonly mapped: Map<Guid, EndpointRecord> = new Map();
  /** In order of creation. */
  readonly loadBalancers: Map<Guid, LoadBalancerRecord> = new Map();
  /** The rules that they come to. */
  readonly services: LoadBalancerTable = new LoadBalancerTable();
  /** Endpoints, remote ones among them. */
  endpointCount = 0;
  /** The most that there were at once, and all that there ever were, since the service started. */
  endpointCountMax = 0;
  endpointCountTotal = 0;
  /** Goes up with every change of a local or mapped endpoint, or of what belongs to one. */
  localRevision = 0;
  /** Goes up with every change of a mapped endpoint. */
  mappedRevision = 0;
  /** Load balancers whose rules are out of date: they changed, or a back end did. Undefined: gone. */
  private outdated = new Map<Guid, LoadBalancerRecord | undefined>();

  /** Puts the new record of an endpoint in the place of the old. */
  setEndpoint(endpoint: EndpointRecord): void {
    if (isRemoteEndpoint(endpoint)) {
      this.setRemote(endpoint);
      return;
    }
    this.local.set(endpoint.id, endpoint);
    this.localRevision++;
  }

  /** Enters a new endpoint. */
  addEndpoint(endpoint: EndpointRecord): void {
    this.endpointCount++;
    this.endpointCountTotal++;
    this.endpointCountMax = Math.max(this.endpointCountMax, this.endpointCount);
    this.setEndpoint(endpoint);
  }

  removeEndpoint({ id }: EndpointRecord): void {
    this.endpointCount--;
    if (this.local.delete(id)) this.localRevision++;
    else if (this.mapped.delete(id)) this.mappedChanged();
  }

  private setRemote(endpoint: EndpointRecord): void {
    if (isMapped(endpoint)) this.mapped.set(endpoint.id, endpoint);
    else if (!this.mapped.delete(endpoint.id)) return;
    this.mappedChanged();
  }

  private mappedChanged(): void {
    this.mappedRevision++;
    this.localRevision++;
  }

  /** Notes that something changed which belongs to local endpoints: their SDN routes. */
  touch(): void {
    this.localRevision++;
  }

  /** Enters a load balancer, or its new record in the place of the old. */
  setLoadBalancer(loadBalancer: LoadBalancerRecord): void {
    this.loadBalancers.set(loadBalancer.id, loadBalancer);
    this.outdated.set(loadBalancer.id, loadBalancer);
  }

  removeLoadBalancer(id: Guid): void {
    this.loadBalancers.delete(id);
    this.outdated.set(id, undefined);
  }

  /** Rules without an owner go. */
  dropLeftRules(): void {
    for (const id of this.services.left) this.outdated.set(id, undefined);
  }

  /** A back end of this load balancer changed. */
  markOutdated(loadBalancer: LoadBalancerRecord): void {
    this.outdated.set(loadBalancer.id, loadBalancer);
  }

  /** What to compile anew, once. */
  takeOutdated(): ReadonlyMap<Guid, LoadBalancerRecord | undefined> {
    const taken = this.outdated;
    this.outdated = new Map();
    return taken;
  }
}

// All objects.

/** What is to come back, and when. */
export interface LateRestoration {
  readonly atMs: number;
  readonly loadBalancers: readonly LoadBalancerRecord[];
}

export class ServiceState {
  /** In order of creation. */
  readonly networks: Map<Guid, NetworkRecord> = new Map();
  /** The one table that grows with the cluster instead of the node. */
  readonly endpoints: SharedMap<Guid, EndpointRecord> = new SharedMap();
  readonly namespaces: Map<Guid, NamespaceRecord> = new Map();
  readonly loadBalancers: Map<Guid, LoadBalancerRecord> = new Map();
  readonly guestNetworkServices: Map<Guid, GuestNetworkServiceRecord> = new Map();
  readonly portReservations: PortReservationTable = new PortReservationTable();
  /** Load balancers whose last update HNS took and did not carry out (hcn.md §7.1). */
  readonly ignoredUpdates: Set<Guid> = new Set();
  /** Load balancers that a fault has put into the state Degraded. */
  readonly degradedLoadBalancers: Set<Guid> = new Set();
  readonly sdnRoutes: SdnRouteTable = new SdnRouteTable();
  /** Mirrored networks that a query asked for, and when they come; undefined: none did, or they are there. */
  mirroring: { readonly atMs: number; readonly flags: number } | undefined = undefined;
  readonly frontEnds: FrontEndTable = new FrontEndTable();
  /** Load balancers that come back after a restart; undefined: none. */
  restoration: LateRestoration | undefined = undefined;
  readonly formerBackEnds: FormerBackEnds = new FormerBackEnds();
  /** MAC addresses are unique on the node, because networks share switches. */
  readonly macs: MacPool = new MacPool();
  readonly portMappings: PortMappingTable = new PortMappingTable();
  private own: ServiceGlobals = NO_GLOBALS;
  private readonly pools = new Map<Guid, AddressPool>();
  private readonly members = new Map<Guid, NetworkMembers>();
  private readonly references = new BackEndReferences();

  /** What belongs to no object. */
  get globals(): ServiceGlobals {
    return this.own;
  }

  setGlobals(changes: Partial<ServiceGlobals>): void {
    this.own = Object.freeze({ ...this.own, ...changes });
  }

  /** Makes forks cheap, which share what has settled. */
  settle(): void {
    this.endpoints.settle();
    this.references.settle();
  }

  addNetwork(network: NetworkRecord, pool: AddressPool): void {
    this.networks.set(network.id, network);
    this.pools.set(network.id, pool);
    this.members.set(network.id, new NetworkMembers());
  }

  /** Its endpoints and load balancers have to be gone before. */
  removeNetwork(id: Guid): void {
    this.networks.delete(id);
    this.pools.delete(id);
    this.members.delete(id);
  }

  /** The namespace of an id; undefined for none. */
  namespaceOf(id: Guid | undefined): NamespaceRecord | undefined {
    return id === undefined ? undefined : this.namespaces.get(id);
  }

  poolOf(networkId: Guid): AddressPool {
    return this.pools.get(networkId) ?? new AddressPool([]);
  }

  /** The endpoints and load balancers of a network. */
  membersOf(networkId: Guid): NetworkMembers {
    return this.members.get(networkId) ?? new NetworkMembers();
  }

  /** Endpoints of a network in order of creation. */
  endpointsOf(networkId: Guid): readonly EndpointRecord[] {
    return [...this.endpoints.values()].filter((endpoint) => endpoint.networkId === networkId);
  }

  /** Endpoints of all networks without remote ones. */
  localEndpoints(): readonly EndpointRecord[] {
    return [...this.members.values()].flatMap((members) => [...members.local.values()]);
  }

  /** Endpoints of a network whose vNIC is on the switch, with the route objects that name them. */
  attachedOf(networkId: Guid): readonly RoutedEndpoint[] {
    const attached: RoutedEndpoint[] = [];
    for (const endpoint of this.membersOf(networkId).local.values()) {
      if (endpoint.attachment?.portId === undefined) continue;
      const sdnRoutes = this.sdnRoutes.ofEndpoint(endpoint.id);
      attached.push(sdnRoutes === undefined ? endpoint : Object.freeze({ ...endpoint, sdnRoutes }));
    }
    return attached;
  }

  /** Enters an SDN route, or its new record in the place of the old; its network does not change. */
  setSdnRoute(route: SdnRouteRecord): void {
    this.sdnRoutes.set(route);
    this.members.get(route.networkId)?.touch();
  }

  removeSdnRoute(route: SdnRouteRecord): void {
    this.sdnRoutes.remove(route);
    this.members.get(route.networkId)?.touch();
  }

  sdnRoutesOfNetwork(networkId: Guid): readonly SdnRouteRecord[] {
    return [...this.sdnRoutes.values()].filter((route) => route.networkId === networkId);
  }

  /** Enters a new endpoint with its address, MAC and mapped ports. */
  addEndpoint(endpoint: EndpointRecord): void {
    this.endpoints.set(endpoint.id, endpoint);
    this.members.get(endpoint.networkId)?.addEndpoint(endpoint);
    // Addresses of remote endpoints are taken by none on this node (hcn.md §4.2, §4.3).
    if (isRemoteEndpoint(endpoint)) return;
    for (const config of endpoint.ipConfigs) this.poolOf(endpoint.networkId).take(config.ip, endpoint.id);
    this.macs.take(endpoint.mac, endpoint.id);
    this.addMappings(endpoint);
  }

  /** Replaces the record of an endpoint; address and MAC do not change. */
  replaceEndpoint(endpoint: EndpointRecord): void {
    const before = this.endpoints.get(endpoint.id);
    this.endpoints.set(endpoint.id, endpoint);
    this.members.get(endpoint.networkId)?.setEndpoint(endpoint);
    this.markOutdated(endpoint);
    if (before === undefined || before.policies === endpoint.policies) return;
    this.removeMappings(before);
    this.addMappings(endpoint);
  }

  removeEndpoint(endpoint: EndpointRecord): void {
    this.endpoints.delete(endpoint.id);
    this.members.get(endpoint.networkId)?.removeEndpoint(endpoint);
    this.markOutdated(endpoint);
    if (isRemoteEndpoint(endpoint)) return;
    for (const config of endpoint.ipConfigs) this.poolOf(endpoint.networkId).release(config.ip, endpoint.id);
    this.macs.release(endpoint.mac, endpoint.id);
    this.removeMappings(endpoint);
  }

  addLoadBalancer(loadBalancer: LoadBalancerRecord): void {
    this.loadBalancers.set(loadBalancer.id, loadBalancer);
    this.members.get(loadBalancer.networkId)?.setLoadBalancer(loadBalancer);
    this.frontEnds.add(loadBalancer, loadBalancer.id);
    this.references.add(loadBalancer);
  }

  /** Replaces the record of a load balancer; its network does not change. */
  replaceLoadBalancer(loadBalancer: LoadBalancerRecord): void {
    const before = this.loadBalancers.get(loadBalancer.id);
    if (before !== undefined) this.frontEnds.remove(before, before.id);
    this.loadBalancers.set(loadBalancer.id, loadBalancer);
    this.members.get(loadBalancer.networkId)?.setLoadBalancer(loadBalancer);
    this.frontEnds.add(loadBalancer, loadBalancer.id);
    if (before === undefined) this.references.add(loadBalancer);
    else this.references.replace(before, loadBalancer);
  }

  /** `isFrontEndLeft`: its front ends stay taken. */
  removeLoadBalancer(loadBalancer: LoadBalancerRecord, isFrontEndLeft = false): void {
    this.loadBalancers.delete(loadBalancer.id);
    this.ignoredUpdates.delete(loadBalancer.id);
    this.degradedLoadBalancers.delete(loadBalancer.id);
    this.members.get(loadBalancer.networkId)?.removeLoadBalancer(loadBalancer.id);
    this.forgetLoadBalancer(loadBalancer, isFrontEndLeft);
  }

  /** Load balancers that have an endpoint among their back ends. */
  loadBalancersOfEndpoint(endpointId: Guid): readonly LoadBalancerRecord[] {
    return this.references
      .to(endpointId)
      .map((id) => this.loadBalancers.get(id))
      .filter((each) => each !== undefined);
  }

  private markOutdated(endpoint: EndpointRecord): void {
    const members = this.members.get(endpoint.networkId);
    for (const loadBalancer of this.loadBalancersOfEndpoint(endpoint.id)) members?.markOutdated(loadBalancer);
  }

  private forgetLoadBalancer(loadBalancer: LoadBalancerRecord, isFrontEndLeft = false): void {
    if (!isFrontEndLeft) this.frontEnds.remove(loadBalancer, loadBalancer.id);
    this.references.remove(loadBalancer);
  }

  private addMappings(endpoint: EndpointRecord): void {
    for (const policy of endpoint.policies)
      if (policy.Type === "PortMapping") this.portMappings.add(policy.Settings, endpoint.id);
  }

  private removeMappings(endpoint: EndpointRecord): void {
    for (const policy of endpoint.policies)
      if (policy.Type === "PortMapping") this.portMappings.remove(policy.Settings, endpoint.id);
  }
}

/**
 * The seam between the service's objects and what moves packets. The service says what there should be; a datapath
 * makes it so. `SwitchDatapath` does it with a simulated switch and host stack; `RecordingDatapath` only keeps the books.
 */
import type { DhcpLease } from "#dataplane/switch/switch-port.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { FilterProgram } from "#dataplane/host/windows-filtering/filter-program.ts";
import type { NatProgram } from "#dataplane/host/winnat/session-table.ts";
import type { InterfaceAddress, Ip, Prefix } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { PortRange } from "#core/net/port-range.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { PortAddressInfo } from "#dataplane/vfp/port-settings.ts";
import type { VirtualSwitch } from "#dataplane/switch/virtual-switch.ts";
import type { HostLayerName, LayerName, LayerStack } from "../compile/layers.ts";
import type { PhysicalAdapter } from "./adapter-description.ts";
import type { QuirkSet } from "../failures/quirk-set.ts";

/** A NAT pool that a port has to have. Equal names mean the same pool. */
export interface NatPoolDefinition {
  readonly name: string;
  readonly ip: Ip;
  readonly protocol: number;
  readonly portsMax: number | undefined;
}

/** A NAT pool of the host's port. */
export interface HostPoolDefinition extends NatPoolDefinition {
  /** It keeps at least one block of ports, used or not. */
  readonly isReserved: boolean;
}

/** A port of the host's own addresses that load balancers serve. */
export interface PortClaimDefinition {
  readonly family: 4 | 6;
  readonly protocol: number;
  readonly port: number;
  /** Why the host itself does not reach it; undefined: its packets go to the switch. */
  readonly code: KnowledgeCode | undefined;
}

/** A port of an address of the node that belongs to a switch port, whatever MAC a frame carries. */
export interface StaticBindingDefinition {
  readonly ip: Ip;
  readonly protocol: number;
  readonly port: number;
}

/** What makes a port one of an overlay network. */
export interface TunnelSettings {
  /** The virtual subnets of whoever is behind the port: only these and the wire between the nodes reach it. */
  readonly virtualSubnets: readonly number[];
  /** Whose address stands outside on what the port encapsulates. */
  readonly address: PortAddressInfo;
  /** UDP destination port of VXLAN. */
  readonly vxlanPort: number;
  /** Of the host's port: ENCAP of answers that know their virtual subnet, asked when networks of a node may hold one address. */
  readonly answers?: readonly Group[];
  /** What a DHCP client behind the port is told; absent: nothing. */
  readonly lease?: DhcpLease;
}

/** Everything that is programmed into one switch port. Immutable; equal parts are shared between ports. */
export interface PortProgram {
  /** Fixed for the life of a port. */
  readonly stack: LayerStack;
  /** By layer of the stack; absent: none. */
  readonly groups: Readonly<Partial<Record<LayerName, readonly Group[]>>>;
  /** Undefined: the network has no tunnels. */
  readonly tunnel: TunnelSettings | undefined;
  readonly natPools: readonly NatPoolDefinition[];
  readonly staticBindings: readonly StaticBindingDefinition[];
  /** Ports of the node's addresses that its own stack leaves to the switch. */
  readonly claims: readonly PortClaimDefinition[];
  /** Frames from the wire that carry the host's MAC come to this port when they are for one of its addresses. */
  readonly deliversByAddress: boolean;
  /** True: nothing passes. Default false. */
  readonly isBlocked?: boolean;
}

/** The distributed router of an overlay network: a vNIC in a compartment of its own, and its port. */
export interface RouterProgram {
  readonly mac: Mac;
  /** The port's friendly name. */
  readonly portName: string;
  readonly program: PortProgram;
  /** What the switch answers ARP of the network's ports with (dataplane.md §2.10). */
  readonly neighbors: ReadonlyMap<Ip, Mac>;
}

/** Entries that came and entries that went. */
export interface Changes<T> {
  readonly added: readonly T[];
  readonly removed: readonly T[];
}

/**
 * What one network puts into the host's vNIC port of its switch. Groups are as they stand now; the rest is told by what
 * changed, so that one load balancer among ten thousand costs its own part.
 */
export interface HostProgram {
  readonly groups: Readonly<Record<HostLayerName, readonly Group[]>>;
  readonly pools: Changes<HostPoolDefinition>;
  readonly bindings: Changes<StaticBindingDefinition>;
  readonly claims: Changes<PortClaimDefinition>;
  /** Undefined: the network has no tunnels. */
  readonly tunnel: TunnelSettings | undefined;
}

/** What the host's WinNAT does for a network behind it. */
export interface TranslationDefinition extends Omit<NatProgram, "interfaceName"> {
  /** Addresses of the host on which it passes DNS questions on to its own servers. */
  readonly dnsProxies: readonly Ip[];
}

export interface RouteDefinition {
  readonly destination: Prefix;
  readonly nextHop: Ip | undefined;
  readonly metric: number;
}

export interface DnsDefinition {
  readonly domain: string;
  readonly search: readonly string[];
  readonly servers: readonly Ip[];
}

/** A switch to make. */
export type SwitchDefinition =
  | {
      readonly kind: "external";
      readonly id: Guid;
      readonly adapter: PhysicalAdapter;
      /** False: the host has no vNIC on it, and none of the adapter's addresses (DisableHostPort). */
      readonly hasHostPort: boolean;
      /** No VFP on its ports: frames go by VLAN and MAC. Switches of the other kinds are all so. */
      readonly isPlain: boolean;
      /** The adapter's route to the cloud's metadata service does not come along. Default false. */
      readonly losesMetadataRoute?: boolean;
      /** It is that of an L2Bridge network. Default false. */
      readonly isBridge?: boolean;
    }
  | {
      readonly kind: "internal";
      readonly id: Guid;
      readonly name: string;
      /** MAC of the host's vNIC `vEthernet (<name>)`. */
      readonly hostMac: Mac;
      /** Addresses of the host's vNIC: the gateways of the network's subnets. */
      readonly hostAddresses: readonly InterfaceAddress[];
    }
  | { readonly kind: "private"; readonly id: Guid; readonly name: string };

/** A vNIC to make: an interface in a compartment and a port on a switch, joined by a cable. */
export interface VnicDefinition {
  readonly switchId: Guid;
  readonly portId: Guid;
  /** The port's friendly name. */
  readonly portName: string;
  /** As traces name it: whose port it is, besides. */
  readonly portDescription: string;
  readonly interfaceName: string;
  readonly compartmentId: number;
  readonly mac: Mac;
  readonly addresses: readonly InterfaceAddress[];
  readonly routes: readonly RouteDefinition[];
  /** Written to the interface's key of the compartment's registry; undefined: nothing. */
  readonly dns: DnsDefinition | undefined;
  /** Undefined: that of the adapter. */
  readonly mtuBytes: number | undefined;
  /** Added to the metric of each route over the interface; undefined: what Windows gives. */
  readonly interfaceMetric: number | undefined;
  /** The VLAN of the port in access mode; 0: untagged. */
  readonly vlan: number;
  /** The endpoint has no address and asks a DHCP server on the wire. */
  readonly asksDhcp: boolean;
  /** The endpoint finds routers of IPv6, and makes addresses of what they advertise, where the node's link has IPv6. */
  readonly discoversRouters: boolean;
  /** All that the endpoint sends goes by the physical host's switch. */
  readonly sendsToFabric: boolean;
  /** What the compartment's own firewall does with the interface; undefined: nothing. */
  readonly filters: FilterProgram | undefined;
  /** Of a port without rules: what limits its rate (QOS_LAYER). */
  readonly bandwidth: readonly Group[];
  /** Undefined: the port has no rules; frames pass as they are. */
  readonly program: PortProgram | undefined;
}

/** What has passed a port since it was made, as seen by the endpoint behind it. */
export interface PortStatistics {
  readonly packetsReceived: number;
  readonly bytesReceived: number;
  readonly droppedIncoming: number;
  readonly packetsSent: number;
  readonly bytesSent: number;
  readonly droppedOutgoing: number;
}

/** Of a port that has carried nothing, or of an endpoint without one. */
export const NOTHING_PASSED: PortStatistics = Object.freeze({
  packetsReceived: 0,
  bytesReceived: 0,
  droppedIncoming: 0,
  packetsSent: 0,
  bytesSent: 0,
  droppedOutgoing: 0,
});

/** A block of NAT ports of the node that a switch port holds. */
export interface PortPoolAllocation {
  readonly switchId: Guid;
  readonly portId: Guid;
  readonly ip: Ip;
  readonly protocol: number;
  readonly range: PortRange;
}

export interface Datapath {
  /** Tells which defects the node has. Called again when one is set otherwise; ports and stacks follow. */
  followDefects(quirks: QuirkSet): void;
  /** Makes a compartment and returns its id: small, growing, above 1; `wantedId` when it is free. */
  createCompartment(name: string, wantedId?: number): number;
  removeCompartment(id: number): void;
  /**
   * Makes a switch. On an external one the adapter's addresses and routes move to a vNIC of the host, named
   * `vEthernet (<adapter>)`; an internal one gives the host a vNIC with addresses of its own, a private one gives none.
   */
  createSwitch(definition: SwitchDefinition): void;
  /** Takes the switch away; what was on an adapter goes back to it. */
  removeSwitch(id: Guid): void;
  /** Replaces the addresses of the host's vNIC on an internal switch. */
  setHostAddresses(switchId: Guid, addresses: readonly InterfaceAddress[]): void;
  /** The addresses of the node on `adapter`, wherever they are now. */
  addressesOf(adapter: PhysicalAdapter): readonly InterfaceAddress[];
  attach(vnic: VnicDefinition): void;
  detach(switchId: Guid, portId: Guid): void;
  /** Changes the MTU of an attached vNIC; undefined: that of its link. */
  setMtu(portId: Guid, mtuBytes: number | undefined): void;
  /** Puts an attached vNIC's port into a VLAN; 0: none. */
  setVlan(portId: Guid, vlan: number): void;
  /** Changes the rate of an attached vNIC whose port has no rules. */
  setBandwidth(portId: Guid, groups: readonly Group[]): void;
  /** The name servers of the host itself. */
  hostDnsServers(): readonly Ip[];
  /** Changes what the compartment's firewall does with an attached vNIC's interface. */
  setFilters(portId: Guid, filters: FilterProgram | undefined): void;
  /**
   * Makes pools of the host's port that are not there yet, each with a block of ports.
   * @returns false when the node has no block left; then nothing has changed.
   */
  reserveHostPools(switchId: Guid, pools: readonly HostPoolDefinition[]): boolean;
  /** Replaces what a network has put into the host's port. */
  programHost(switchId: Guid, networkId: Guid, program: HostProgram): void;
  /** Makes the distributed router of an overlay network, or replaces what its port is programmed with. */
  programRouter(switchId: Guid, networkId: Guid, router: RouterProgram): void;
  /** The network of a router changed in what is none of the router's rules. */
  followNetwork(networkId: Guid): void;
  /** Takes the distributed router of a network away, if it has one; `afterMs`: not at once, though the network is gone. */
  removeRouter(switchId: Guid, networkId: Guid, afterMs?: number): void;
  /** Has the host translate for a network on an internal switch; undefined: no more, and all sessions end. */
  programTranslation(switchId: Guid, networkId: Guid, translation: TranslationDefinition | undefined): void;
  /** Replaces what is programmed into an attached port. */
  program(switchId: Guid, portId: Guid, program: PortProgram): void;
  /** Undefined: there is no such port. */
  statisticsOf(switchId: Guid, portId: Guid): PortStatistics | undefined;
  /** True when a program of the host listens on the port. */
  isListening(protocol: number, port: number): boolean;
  /** The NAT ports in use on all switches. */
  listPortPools(): readonly PortPoolAllocation[];
  /** For listings; none where no packets move. */
  listVirtualSwitches(): readonly VirtualSwitch[];
}

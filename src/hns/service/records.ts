/** The objects as the service keeps them: checked values, frozen, replaced as a whole on each change. */
import type { Dns } from "#contracts/hcn/documents/base-document.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { IpamType, NetworkType } from "#contracts/hcn/documents/network.ts";
import type { NetworkPolicy, SubnetPolicy } from "#contracts/hcn/documents/network-policy.ts";
import type { SchemaVersion } from "#contracts/hcn/description/description.ts";
import type { Ip, Prefix } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { KeptFields } from "../store/kept-fields.ts";
import { ENDPOINT_FLAGS, ENDPOINT_STATES } from "#contracts/hcn/documents/endpoint.ts";
import type { EndpointPolicy } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { LoadBalancerDistribution } from "#contracts/hcn/documents/load-balancer.ts";
import type { NamespaceType } from "#contracts/hcn/documents/namespace.ts";
import type { SdnRoutePolicySetting } from "#contracts/hcn/documents/sdn-route.ts";
import type {
  GnsRpcServerInformation,
  GuestNetworkServiceState,
  GuestInterfaceState,
} from "#contracts/hcn/documents/guest-network-service.ts";

/**
 * `external`: on an adapter, with a vNIC of the host in its place. `internal`: the host and the endpoints.
 * `private`: the endpoints alone.
 */
export type SwitchKind = "external" | "internal" | "private";

/** Extensions that differ from what a new switch has. */
export type ExtensionStates = Readonly<Record<Guid, boolean>>;

/** All MAC addresses from `first` to `last`, both included. */
export interface MacRange {
  readonly first: Mac;
  readonly last: Mac;
}

export interface RouteRecord {
  readonly destination: Prefix;
  /** Undefined: there is no gateway (`0.0.0.0`). */
  readonly nextHop: Ip | undefined;
  readonly metric: number | undefined;
}

export interface IpSubnetRecord {
  readonly id: Guid;
  readonly name: string;
  readonly prefix: Prefix;
  readonly flags: number;
}

export interface SubnetRecord {
  readonly id: Guid;
  readonly name: string;
  readonly prefix: Prefix;
  readonly routes: readonly RouteRecord[];
  /** Next hop of the default route. */
  readonly gateway: Ip | undefined;
  readonly policies: readonly SubnetPolicy[];
  readonly ipSubnets: readonly IpSubnetRecord[];
  readonly flags: number;
}

/** What all records have. */
export interface RecordBase {
  readonly id: Guid;
  readonly owner: string;
  readonly name: string;
  readonly additionalParams: JsonValue | undefined;
  /** The dialect the object was written in, as results repeat it; 2.0 for v1 documents. */
  readonly schemaVersion: SchemaVersion;
  /** Version of the service that wrote the object: major × 2^32 + minor. */
  readonly version: number;
  /** On the service's clock. */
  readonly changedAtMs: number;
  /** Id of the object's resources; v1 documents call it `ActivityId`. */
  readonly activityId: Guid;
  /** Fields of an imported document that HNS does not know; results show them unchanged (`store/kept-fields.ts`). */
  readonly kept?: KeptFields | undefined;
  /** Why the object is there and not in use: it was restored, and contradicts the others. */
  readonly degraded?: string | undefined;
}

/** A subnet of a network whose endpoints get their addresses elsewhere: it holds policies (hcn.md §9.7). */
export interface BareSubnetRecord {
  readonly id: Guid;
  readonly name: string;
  readonly policies: readonly SubnetPolicy[];
  readonly flags: number;
}

export interface NetworkRecord extends RecordBase {
  readonly type: NetworkType;
  readonly switchKind: SwitchKind;
  /** Of networks on an external switch, and of mirrored ones: the adapter that they mirror. */
  readonly adapterName: string | undefined;
  readonly switchId: Guid;
  /** `LayeredOn`: what `LayerConstraint` of another network names. */
  readonly layerId: Guid;
  readonly policies: readonly NetworkPolicy[];
  readonly macRanges: readonly MacRange[];
  readonly dns: Dns | undefined;
  /** Undefined: the request had no Ipams. */
  readonly ipamType: IpamType | undefined;
  readonly subnets: readonly SubnetRecord[];
  readonly bareSubnets: readonly BareSubnetRecord[];
  readonly flags: number;
  /** The switch is for this network alone: IsolateVSwitch, or `IsolateSwitch` of v1. */
  readonly isIsolated: boolean;
  /** Extensions of the switch that differ from a new one's. */
  readonly extensions: ExtensionStates;
  /** MAC of the host's vNIC on an internal switch. */
  readonly hostMac: Mac | undefined;
  /** MAC of the distributed router; v1 documents of networks with VFP show one. */
  readonly drMac: Mac;
  /** When the node has its addresses on the switch, on the service's clock (hcn.md §4.1). */
  readonly addressedAtMs: number;
}

// Endpoints.

export interface IpConfigRecord {
  readonly ip: Ip;
  readonly length: number;
  /** Undefined for addresses outside the network's subnets: of remote endpoints, and where the network has none. */
  readonly ipSubnetId: Guid | undefined;
}

/**
 * Where an endpoint's vNIC is. `host`: in the host's own compartment. `namespace`: in the compartment of a namespace.
 * `container`: in the compartment of a container that has no namespace; others may share it. `guest`: in a utility VM,
 * of which the service keeps only the books.
 */
export type EndpointAttachment =
  | { readonly kind: "host"; readonly namespaceId: Guid | undefined; readonly portId: Guid }
  | { readonly kind: "namespace"; readonly namespaceId: Guid; readonly portId: Guid }
  | {
      readonly kind: "container";
      readonly namespaceId: undefined;
      readonly compartmentId: number;
      readonly portId: Guid;
    }
  | { readonly kind: "guest"; readonly namespaceId: Guid; readonly portId: undefined };

/** A network adapter of a virtual machine that the endpoint is behind (hcn.md §9.21). */
export interface VirtualMachinePort {
  readonly virtualMachineId: Guid;
  readonly portId: Guid;
  /** `<virtual machine>--<port>`. */
  readonly nicName: string;
}

export interface EndpointRecord extends RecordBase {
  readonly networkId: Guid;
  readonly policies: readonly EndpointPolicy[];
  readonly ipConfigs: readonly IpConfigRecord[];
  /** Undefined: that of the network. */
  readonly dns: Dns | undefined;
  readonly routes: readonly RouteRecord[];
  readonly mac: Mac;
  /** As it was written (hcn.md §4.3). */
  readonly macText: string;
  readonly flags: number;
  readonly attachment: EndpointAttachment | undefined;
  /** Its switch port was taken away, and it has no new one since. */
  readonly isPortGone: boolean;
  /** Containers that share the endpoint: those of its namespace, or those that it was attached to. */
  readonly containers: readonly string[];
  readonly virtualMachine: VirtualMachinePort | undefined;
  /** A container used it once and does not any more. */
  readonly wasUsed: boolean;
  /** The HRESULT of what broke it while it was in use (`degraded` says why); 0 while nothing has. */
  readonly errorCode: number;
}

/**
 * The endpoint's `State` (hcn.md §2.10): attached to the host 2; in a namespace 1 until a container runs there,
 * then 3, or 2 where the container runs in a utility VM.
 * Inferred: behind a port of a virtual machine it is 2, too.
 */
export function endpointState(endpoint: EndpointRecord): number {
  if (endpoint.degraded !== undefined) return ENDPOINT_STATES.Degraded;
  const isInMachine = endpoint.virtualMachine !== undefined || endpoint.attachment?.kind === "guest";
  if (endpoint.containers.length > 0)
    return isInMachine ? ENDPOINT_STATES.Attached : ENDPOINT_STATES.AttachedSharing;
  if (endpoint.virtualMachine !== undefined) return ENDPOINT_STATES.Attached;
  return endpoint.attachment?.kind === "host" && endpoint.attachment.namespaceId === undefined
    ? ENDPOINT_STATES.Attached
    : ENDPOINT_STATES.Created;
}

/** True for what stands for a back end on another machine: it has no vNIC, and never gets one (hcn.md §4.4). */
export function isRemoteEndpoint(endpoint: EndpointRecord): boolean {
  return (endpoint.flags & ENDPOINT_FLAGS.RemoteEndpoint) !== 0;
}

/** The interface's name on Windows (dataplane.md §5.1). */
export function interfaceNameOf(endpoint: EndpointRecord): string {
  return `vEthernet (${endpoint.name})`;
}

// Load balancers (hcn.md §2.7).

export interface LoadBalancerPortMappingRecord {
  readonly protocol: number;
  readonly internalPort: number;
  readonly externalPort: number;
  readonly distribution: LoadBalancerDistribution;
  /** Bits of `LOAD_BALANCER_PORT_FLAGS`. */
  readonly flags: number;
}

export interface LoadBalancerRecord extends RecordBase {
  /** That of its endpoints. */
  readonly networkId: Guid;
  /** In the order of the request. Inferred (hcn.md §11.9; kube-proxy.md §8.9 H16): one that was deleted stays named. */
  readonly endpointIds: readonly Guid[];
  readonly sourceVip: Ip | undefined;
  /** Empty: the addresses of the node (node port). */
  readonly frontendVips: readonly Ip[];
  readonly portMappings: readonly LoadBalancerPortMappingRecord[];
  /** Bits of `LOAD_BALANCER_FLAGS`. */
  readonly flags: number;
}

// Namespaces.

export interface NamespaceRecord extends RecordBase {
  readonly type: NamespaceType;
  /** Undefined for guests: their compartment is in a utility VM. */
  readonly compartmentId: number | undefined;
  readonly compartmentGuid: Guid;
  readonly containers: readonly string[];
  readonly endpointIds: readonly Guid[];
  /** The default namespace of the host, which always exists (hcn.md §2.4). */
  readonly isBuiltIn: boolean;
  /** Containers were in it, and are not any more. */
  readonly wasUsed: boolean;
  /** A request wanted to delete it while containers were in it (hcn.md §2.10). */
  readonly isTeardownBlocked: boolean;
}

/** hcn.md §2.10. */
export const NAMESPACE_STATES = { Healthy: 1, TeardownBlocked: 4 } as const;

/** Id of the host's own compartment. */
export const HOST_COMPARTMENT = 1;

// SDN route objects (hcn.md §2.8).

export interface SdnRouteRecord extends RecordBase {
  /** That of its endpoints. */
  readonly networkId: Guid;
  /** In the order of the request. Inferred: one that was deleted stays named, as in load balancers (hcn.md §11.9). */
  readonly endpointIds: readonly Guid[];
  readonly routes: readonly SdnRoutePolicySetting[];
}

// Guest network services.

/** An endpoint of a mirrored network, as the guest has it. */
export interface MirroredInterfaceRecord {
  readonly endpointId: Guid;
  readonly state: GuestInterfaceState;
}

export interface GuestNetworkServiceRecord extends RecordBase {
  readonly virtualMachineId: Guid;
  readonly mirrorsHost: boolean;
  readonly rpcServer: GnsRpcServerInformation | undefined;
  readonly flags: number;
  readonly state: GuestNetworkServiceState;
  readonly interfaces: readonly MirroredInterfaceRecord[];
}

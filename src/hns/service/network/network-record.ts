/** A network as the service keeps it: checked values, frozen, replaced as a whole on each change. */
import type { Dns } from "#contracts/hcn/documents/base-document.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { IpamType, NetworkType } from "#contracts/hcn/documents/network.ts";
import type { NetworkPolicy, SubnetPolicy } from "#contracts/hcn/documents/network-policy.ts";
import type { SchemaVersion } from "#contracts/hcn/description/description.ts";
import type { Ip, Prefix } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { KeptFields } from "../../store/kept-fields.ts";

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

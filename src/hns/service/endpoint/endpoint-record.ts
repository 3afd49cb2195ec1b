/** An endpoint as the service keeps it: checked values, frozen, replaced as a whole on each change. */
import type { Dns } from "#contracts/hcn/documents/base-document.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { ENDPOINT_FLAGS, ENDPOINT_STATES } from "#contracts/hcn/documents/endpoint.ts";
import type { EndpointPolicy } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { RecordBase, RouteRecord } from "../network/network-record.ts";

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

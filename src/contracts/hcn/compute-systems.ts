/**
 * The Host Compute Service, as far as a network meets it: which containers and virtual machines there are, and which
 * network adapters they have. HNS attaches endpoints to them by name and asks nothing else of it.
 *
 * The calls are those of `computecore.dll`: `HcsEnumerateComputeSystems`, `HcsCreateComputeSystem`,
 * `HcsModifyComputeSystem`, `HcsTerminateComputeSystem`.
 */
import type { Guid } from "./guid.ts";
import { HcnError } from "./error.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { HostComputeNamespace } from "./documents/namespace.ts";

export type ComputeSystemType = "Container" | "VirtualMachine";

/** A network adapter of a compute system: an endpoint of HNS. */
export interface ComputeSystemAdapter {
  readonly EndpointId: Guid;
}

/** A compute system as the list shows it. */
export interface ComputeSystem {
  /** Chosen by who created it: 64 hex digits for a container, often a GUID for a virtual machine. */
  readonly Id: string;
  readonly SystemType: ComputeSystemType;
  readonly Owner: string;
  /** By which HNS knows a virtual machine. */
  readonly RuntimeId: Guid;
  readonly State: "Running";
  /** The network namespace of a container; absent when it has none. */
  readonly Namespace?: Guid;
  readonly NetworkAdapters: readonly ComputeSystemAdapter[];
}

/** Failing calls reject with `HcnError`. */
export interface ComputeSystems {
  /** In order of creation. */
  list(): Promise<readonly ComputeSystem[]>;
  /**
   * Creates and starts a compute system. `document` is HCS's own, in the form of schema 1 (`SystemType`,
   * `EndpointList`, `NetworkSharedContainerName`) or 2 (`Container`, `HostedSystem`, `VirtualMachine`); only its
   * networking is read.
   */
  create(id: string, document: JsonObject): Promise<void>;
  /** Changes a running one: a request of `networkAdapterRequest`. */
  modify(id: string, request: JsonObject): Promise<void>;
  /** Ends a compute system; what was attached to it is detached. */
  terminate(id: string): Promise<void>;
}

/** A container in a network namespace, as containerd's shim asks for it. */
export function containerDocument(namespace: Guid, owner = "containerd-shim-runhcs-v1.exe"): JsonObject {
  return {
    Owner: owner,
    SchemaVersion: { Major: 2, Minor: 1 },
    Container: { Networking: { Namespace: namespace } },
  };
}

/** The request that hcsshim makes to add or remove a network adapter of a running system (hcn.md §4.5). */
export function networkAdapterRequest(requestType: "Add" | "Remove", endpoint: Guid): JsonObject {
  return { ResourceType: "Network", RequestType: requestType, Settings: endpoint };
}

/** @throws HcnError E_NOTIMPL when the service keeps no compute systems. */
export function requireComputeSystems({
  computeSystems,
}: {
  readonly computeSystems?: ComputeSystems | undefined;
}): ComputeSystems {
  if (computeSystems !== undefined) return computeSystems;
  throw new HcnError("E_NOTIMPL", { detail: "This service keeps no compute systems" });
}

/** Hot attach: a running compute system gets an endpoint. */
export async function addNetworkAdapter(systems: ComputeSystems, id: string, endpoint: Guid): Promise<void> {
  await systems.modify(id, networkAdapterRequest("Add", endpoint));
}

/** The reverse of `addNetworkAdapter`. */
export async function removeNetworkAdapter(
  systems: ComputeSystems,
  id: string,
  endpoint: Guid,
): Promise<void> {
  await systems.modify(id, networkAdapterRequest("Remove", endpoint));
}

// Bringing a guest's namespace in line with its utility VM: hcsshim's `Sync` (hcn.md §4.5). It is the client's part:
// the service knows nothing of it.

/** The shims of pods in utility VMs, as they are found on a node: on Windows by a registry key and a pipe. */
export interface PodShims {
  /**
   * Asks the shim of a namespace's pod to copy the namespace into its utility VM.
   * @returns false when there is no such shim, or not any more.
   */
  requestSync(namespace: Guid): Promise<boolean>;
}

/**
 * Brings a namespace in line. Only guests' need it; and a pod without a shim is no fault, because it may have ended.
 * @returns true when a shim did it.
 * @throws Error when the shim is there and fails.
 */
export async function syncNamespace(namespace: HostComputeNamespace, shims: PodShims): Promise<boolean> {
  const { ID: id, Type } = namespace;
  if (Type !== "Guest" || id === undefined) return false;
  try {
    return await shims.requestSync(id);
  } catch (cause) {
    throw new Error(`failed to sync namespace ${id} with shim`, { cause });
  }
}

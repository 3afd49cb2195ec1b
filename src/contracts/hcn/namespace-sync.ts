/**
 * Bringing a guest's namespace in line with its utility VM: hcsshim's `Sync` (hcn.md §4.5). It is the client's part: the
 * service knows nothing of it.
 */
import type { Guid } from "./guid.ts";
import type { HostComputeNamespace } from "./documents/namespace.ts";

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

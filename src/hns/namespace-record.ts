/** A namespace as the service keeps it. */
import type { Guid } from "../hcn/client.ts";
import type { NamespaceType } from "../hcn/namespace.ts";
import type { RecordBase } from "./network-record.ts";

export interface NamespaceRecord extends RecordBase {
  readonly type: NamespaceType;
  /** Undefined for guests: their compartment is in a utility VM. */
  readonly compartmentId: number | undefined;
  readonly compartmentGuid: Guid;
  readonly containers: readonly string[];
  readonly endpointIds: readonly Guid[];
  /** The default namespace of the host, which always exists (hcn.md §2.4). */
  readonly isBuiltIn: boolean;
}

/** Id of the host's own compartment. */
export const HOST_COMPARTMENT = 1;

export function isGuest(namespace: NamespaceRecord): boolean {
  return namespace.type === "Guest" || namespace.type === "GuestDefault";
}

/** A namespace as the service keeps it. */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { NamespaceType } from "#contracts/hcn/documents/namespace.ts";
import type { RecordBase } from "../network/network-record.ts";

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

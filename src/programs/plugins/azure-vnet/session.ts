/** What is remembered, for one call: in the state file under its lock, or with CNS (cni.md §5.8). */
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import type { AzureEndpointRecord, AzureState, FoundEndpoint } from "./state.ts";

export interface AzureSession {
  /** This call's own copy; what CNS remembers is not in it. */
  readonly state: AzureState;
  /** The endpoints of the request's container. @throws CniError */
  endpointsOf(request: PluginRequest): Promise<readonly FoundEndpoint[]>;
  /** Keeps what the state holds; `made` are the endpoints that are new. @throws CniError */
  save(made: readonly AzureEndpointRecord[]): Promise<void>;
  /** Forgets endpoints that are gone, and keeps the rest. @throws CniError */
  forget(gone: readonly FoundEndpoint[]): Promise<void>;
}

export interface AzureMemory {
  /** Runs `work` with what is remembered; where it lies in a file, while no other call has it. @throws CniError */
  use<T>(work: (session: AzureSession) => Promise<T>): Promise<T>;
}

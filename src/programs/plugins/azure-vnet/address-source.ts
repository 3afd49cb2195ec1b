/** Where the addresses of pods come from: an IPAM plugin, CNS, or the network containers of tenants. */
import type { GcAttachment } from "#contracts/cni/plugin-input.ts";
import type { InterfaceAddress } from "#core/net/ip.ts";
import type { AzureAllocation } from "./nics.ts";

/** The source for one attachment. All reject with `CniError`. */
export interface AddressSource {
  /** Asks for the pod's interfaces. When it fails, nothing is taken. */
  add(): Promise<AzureAllocation>;
  /** Gives an address back; without one, what the container holds. */
  release(address: InterfaceAddress | undefined): Promise<void>;
  check(): Promise<void>;
  status(): Promise<void>;
  /** Gives back what no valid attachment holds. */
  gc(valid: readonly GcAttachment[] | undefined): Promise<void>;
}

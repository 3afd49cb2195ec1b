/** What a node's networks depend on besides its build of Windows. */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { AllocationOrder } from "../address-pool.ts";

/** An extension of the Hyper-V switch that is installed on the node. */
export interface InstalledExtension {
  readonly id: Guid;
  readonly name: string;
}

export interface NetworkingOptions {
  /** Without VFP there are no L2Bridge, L2Tunnel and Overlay networks. Default true. */
  readonly hasVfp?: boolean;
  /** The service Internet Connection Sharing (SharedAccess) can run; ICS networks need it. Default true. */
  readonly hasIcs?: boolean;
  /** The network `Default Switch`, which only clients have, not servers. Default false. */
  readonly hasDefaultSwitch?: boolean;
  /** Which free address an endpoint gets that asks for none. Default `random`. */
  readonly allocationOrder?: AllocationOrder;
  /**
   * How long after a new switch the node has its addresses there: ManagementIP, and on Overlay networks ProviderAddress
   * and DrMacAddress, appear then (hcn.md §4.1), and so do mirrored networks. Default 0.
   */
  readonly addressDelayMs?: number;
  /** Extensions besides those of Windows, such as Open vSwitch. */
  readonly switchExtensions?: readonly InstalledExtension[];
}

/** The options with their defaults. */
export type NetworkingSettings = Required<NetworkingOptions>;

export function networkingSettings(options: NetworkingOptions = {}): NetworkingSettings {
  return Object.freeze({
    hasVfp: options.hasVfp ?? true,
    hasIcs: options.hasIcs ?? true,
    hasDefaultSwitch: options.hasDefaultSwitch ?? false,
    allocationOrder: options.allocationOrder ?? "random",
    addressDelayMs: options.addressDelayMs ?? 0,
    switchExtensions: Object.freeze(
      (options.switchExtensions ?? []).map((each) => Object.freeze({ ...each })),
    ),
  });
}

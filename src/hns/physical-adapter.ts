/** The node's network adapter, as HNS finds it: the uplink that an external network takes over. */
import type { Device } from "../device/device.ts";
import type { Mac } from "../net/mac.ts";
import type { InterfaceAddress } from "../net/prefix.ts";

export interface PhysicalAdapter {
  /** Friendly name: `Ethernet`. The host's interface over it has the same name until a switch takes the adapter. */
  readonly name: string;
  readonly mac: Mac;
  /** Where frames leave the node. */
  readonly device: Device;
  /**
   * Addresses of the node on this adapter; the first IPv4 one is the management address. Needed only where the host
   * has no interface of this name: otherwise those of the interface move to the host's vNIC.
   */
  readonly addresses: readonly InterfaceAddress[];
  /** Wi-Fi adapters carry no network with VFP (hcn.md §4.1). Default `wired`. */
  readonly medium?: "wired" | "wireless";
  /** A vNIC or a VPN's adapter: no switch takes it (hcn.md §4.1). */
  readonly isVirtual?: boolean;
  /** Name of a switch that somebody made on it without HNS, which has a network of its own then (hcn.md §4.1). */
  readonly outsideSwitch?: string;
}

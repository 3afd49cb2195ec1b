/** Network adapters as people write them: on a command line, in options. */
import type { Device } from "#dataplane/device/device.ts";
import type { Mac } from "#core/net/mac.ts";
import type { InterfaceAddress } from "#core/net/ip.ts";

/** A network adapter of the node, as people write it. */
export interface AdapterDescription {
  /** Friendly name, which networks name in `NetworkAdapterName`: `Ethernet`. */
  readonly name: string;
  /** `10.0.0.11/24`; several, of both families, are allowed. */
  readonly addresses: readonly string[];
  /** `00-15-5D-00-00-11`; chosen when absent. */
  readonly mac?: string;
  /** Wi-Fi adapters carry no network with VFP. Default `wired`. */
  readonly medium?: "wired" | "wireless";
  /** A vNIC or a VPN's adapter, which no switch takes. */
  readonly isVirtual?: boolean;
  /** Name of a switch that somebody made on it without HNS. */
  readonly outsideSwitch?: string;
}

/** The node of the documentation's examples. */
export const DEFAULT_ADAPTERS: readonly AdapterDescription[] = Object.freeze([
  Object.freeze({ name: "Ethernet", addresses: Object.freeze(["10.0.0.11/24"]) }),
]);

// The node's network adapter, as HNS finds it: the uplink that an external network takes over.

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

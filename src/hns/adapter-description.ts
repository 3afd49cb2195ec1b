/** Network adapters as people write them: on a command line, in options. */

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

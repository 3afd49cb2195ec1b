/** The command line of flanneld (control-planes.md §1.2), as far as the library reads it. */
import type { Compat } from "#core/base/compat.ts";
import type { InterfaceOptions } from "./node/external-interface.ts";
import { type FlanneldBehaviour, NEWEST_BEHAVIOUR } from "./release.ts";

/** Whether flanneld behaves as the published one, or mended. */
export interface FlanneldMode {
  readonly compat: Compat;
}

export interface FlanneldOptions extends InterfaceOptions, FlanneldMode {
  readonly subnetFile: string;
  /** Minutes before the end of a lease. */
  readonly subnetLeaseRenewMargin: number;
  readonly ipMasq: boolean;
  readonly ipMasqFullyRandomDisable: boolean;
  /** Seconds. */
  readonly iptablesResync: number;
  readonly iptablesForwardRules: boolean;
  /** Packets to what no pod of this node has end here. Linux. */
  readonly ipBlackholeRoute: boolean;
  /** `EVENT_QUEUE_DEPTH`. */
  readonly eventQueueDepth: number;
  /** Of the release that it is. Not a flag. */
  readonly behaviour: FlanneldBehaviour;
}

export const DEFAULT_OPTIONS: FlanneldOptions = Object.freeze({
  compat: "upstream",
  iface: Object.freeze([]),
  ifaceRegex: Object.freeze([]),
  ifaceCanReach: "",
  publicIp: "",
  publicIpv6: "",
  subnetFile: "/run/flannel/subnet.env",
  subnetLeaseRenewMargin: 60,
  ipMasq: false,
  ipMasqFullyRandomDisable: false,
  iptablesResync: 5,
  iptablesForwardRules: true,
  ipBlackholeRoute: false,
  eventQueueDepth: 5_000,
  behaviour: NEWEST_BEHAVIOUR,
});

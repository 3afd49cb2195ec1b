/**
 * The command line of flanneld (control-planes.md §1.2), as far as the library reads it, and what differs between its
 * releases on Windows, read in its history: the start scripts fetch 0.11.0, and a node may have any other.
 */
import type { Compat } from "#core/base/compat.ts";
import type { InterfaceOptions } from "./node/external-interface.ts";

export interface FlanneldRelease {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

export interface FlanneldBehaviour {
  /**
   * vxlan publishes the router's MAC of an Overlay network that another program made, which is why the start scripts
   * make `External` (until 0.11; flannel-io/flannel issue 1111, pull request 1137).
   */
  readonly borrowsRouterMac: boolean;
  /** The node's range has to lie in `Network` (from 0.18.0; commit d8fea14a). */
  readonly checksRange: boolean;
  /**
   * vxlan names the adapter to HNS (from 0.24.1; commit 761c2578, issue 1852). Once a switch stands on it that name is
   * `vEthernet (…)`, which HNS refuses (hcn.md §3.1; issue 1966).
   */
  readonly namesAdapter: boolean;
  /**
   * vxlan asks HNS for a HostRoute policy, without which a node does not reach its own pods (from 0.12.0;
   * windows-networking-documentation.md §8).
   */
  readonly addsHostRoute: boolean;
}

/** What upstream does today. */
export const NEWEST_BEHAVIOUR: FlanneldBehaviour = Object.freeze({
  borrowsRouterMac: false,
  checksRange: true,
  namesAdapter: true,
  addsHostRoute: true,
});

/** `0.11.0`, `v0.24`; undefined for what is no release. */
export function parseFlanneldRelease(text: string): FlanneldRelease | undefined {
  const match = /^v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?$/.exec(text);
  if (match === null) return undefined;
  return { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3] ?? 0) };
}

export function formatFlanneldRelease({ major, minor, patch }: FlanneldRelease): string {
  return `${major}.${minor}.${patch}`;
}

function isFrom({ major, minor, patch }: FlanneldRelease, first: readonly [number, number, number]): boolean {
  const parts = [major, minor, patch];
  const index = parts.findIndex((part, at) => part !== first[at]);
  return index < 0 || (parts[index] ?? 0) > (first[index] ?? 0);
}

export function behaviourOf(release: FlanneldRelease): FlanneldBehaviour {
  return Object.freeze({
    borrowsRouterMac: !isFrom(release, [0, 12, 0]),
    checksRange: isFrom(release, [0, 18, 0]),
    namesAdapter: isFrom(release, [0, 24, 1]),
    addsHostRoute: isFrom(release, [0, 12, 0]),
  });
}

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

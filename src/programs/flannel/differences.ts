/** Where flanneld behaves in two ways: as it is published (control-planes.md §1), and mended. */
import { type ByMode, byMode } from "#core/base/compat.ts";

export interface FlanneldDifferences {
  /** Fields of net-conf.json that nobody reads are told. */
  readonly warnsOfUnknownFields: boolean;
  /** A configuration that cannot work is refused before anything is published: ranges and numbers of networks. */
  readonly refusesBadConfiguration: boolean;
  /** How the process ends when its lease is lost. */
  readonly exitCodeOfLostLease: 0 | 1;

  // Leases
  /** A Node without annotations is published to; upstream writes into a map that is nil (kube.go of 0.28). */
  readonly publishesToBareNodes: boolean;
  /** The own Node is looked at after the start. */
  readonly watchesOwnNode: boolean;
  /** What leaves a Node's lease counts as it was last read, whatever the Node says now; a moved range as well. */
  readonly removesKnownLeases: boolean;
  /** A change of a Node is one of its lease; else of its annotations, of which one family hides the other. */
  readonly comparesLeases: boolean;
  /** A subnet of etcd that another node has just taken is chosen again. Upstream compares with another error. */
  readonly choosesSubnetAgain: boolean;
  /** etcd that does not answer is waited for. */
  readonly waitsForEtcd: boolean;
  /** A lease of etcd is renewed only if it is still the node's. */
  readonly looksBeforeRenewal: boolean;
  /** Another node's data in the own lease is a conflict; else its lease is taken for the own one. */
  readonly reportsConflicts: boolean;
  /** Leases of others are known by node and subnets, with what they say; else by subnets, the own one among them. */
  readonly knowsOwners: boolean;
  /** Leases that would break this node's network are not programmed. */
  readonly checksPeers: boolean;

  // Networks
  /** What is wanted is remembered: compared with the node, tried again, put back and cleaned up. */
  readonly keepsWays: boolean;
  /**
   * What cannot be read is read again before anything follows from it: networks and endpoints of HNS, routes, what the own
   * Node says. Upstream takes it for not there.
   */
  readonly readsAgain: boolean;
  /** A network of HNS is looked at closely, and waited for, before it is taken over. */
  readonly checksFoundNetwork: boolean;
  /** HNS gets the adapter behind a switch's vNIC, whose own name it refuses (hcn.md §3.1). */
  readonly namesAdapterBehindSwitch: boolean;
  /** Entries for a node that is elsewhere now go; those of another virtual network are never made. */
  readonly removesOldEntries: boolean;

  // The node
  /** Rules of nftables are looked at again, and no reason to end; their exception is as that of iptables. */
  readonly repeatsNftables: boolean;
  /** The route for what no pod has is made at once. */
  readonly makesBlackholeAtOnce: boolean;
  /** subnet.env and the Node's condition are written until they are, and subnet.env in one piece. */
  readonly retriesReports: boolean;
  /** subnet.env has a checksum, and one whose checksum is wrong is not read. */
  readonly sealsSubnetFile: boolean;
}

export const FLANNELD_DIFFERENCES: ByMode<FlanneldDifferences> = byMode<FlanneldDifferences>({
  warnsOfUnknownFields: [false, true],
  refusesBadConfiguration: [false, true],
  exitCodeOfLostLease: [0, 1],
  publishesToBareNodes: [false, true],
  watchesOwnNode: [false, true],
  removesKnownLeases: [false, true],
  comparesLeases: [false, true],
  choosesSubnetAgain: [false, true],
  waitsForEtcd: [false, true],
  looksBeforeRenewal: [false, true],
  reportsConflicts: [false, true],
  knowsOwners: [false, true],
  checksPeers: [false, true],
  keepsWays: [false, true],
  readsAgain: [false, true],
  checksFoundNetwork: [false, true],
  namesAdapterBehindSwitch: [false, true],
  removesOldEntries: [false, true],
  repeatsNftables: [false, true],
  makesBlackholeAtOnce: [false, true],
  retriesReports: [false, true],
  sealsSubnetFile: [false, true],
});

/** Where flanneld behaves in two ways: as it is published (control-planes.md §1), and mended. */
import { type ByMode, type Differences, byMode } from "#core/base/compat.ts";

/** Rows of switches: what `upstream` has, and what `hardened` has. */
const SWITCHES = {
  /** Fields of net-conf.json that nobody reads are told. */
  warnsOfUnknownFields: [false, true],
  /** A configuration that cannot work is refused before anything is published: ranges and numbers of networks. */
  refusesBadConfiguration: [false, true],
  /** How the process ends when its lease is lost. */
  exitCodeOfLostLease: [0, 1],

  // Leases
  /** A Node without annotations is published to; upstream writes into a map that is nil (kube.go of 0.28). */
  publishesToBareNodes: [false, true],
  /** The own Node is looked at after the start. */
  watchesOwnNode: [false, true],
  /** What leaves a Node's lease counts as it was last read, whatever the Node says now; a moved range as well. */
  removesKnownLeases: [false, true],
  /** A change of a Node is one of its lease; else of its annotations, of which one family hides the other. */
  comparesLeases: [false, true],
  /** A subnet of etcd that another node has just taken is chosen again. Upstream compares with another error. */
  choosesSubnetAgain: [false, true],
  /** etcd that does not answer is waited for. */
  waitsForEtcd: [false, true],
  /** A lease of etcd is renewed only if it is still the node's. */
  looksBeforeRenewal: [false, true],
  /** Another node's data in the own lease is a conflict; else its lease is taken for the own one. */
  reportsConflicts: [false, true],
  /** Leases of others are known by node and subnets, with what they say; else by subnets, the own one among them. */
  knowsOwners: [false, true],
  /** Leases that would break this node's network are not programmed. */
  checksPeers: [false, true],

  // Networks
  /** What is wanted is remembered: compared with the node, tried again, put back and cleaned up. */
  keepsWays: [false, true],
  /**
   * What cannot be read is read again before anything follows from it: networks and endpoints of HNS, routes, what the own
   * Node says. Upstream takes it for not there.
   */
  readsAgain: [false, true],
  /** A network of HNS is looked at closely, and waited for, before it is taken over. */
  checksFoundNetwork: [false, true],
  /** HNS gets the adapter behind a switch's vNIC, whose own name it refuses (hcn.md §3.1). */
  namesAdapterBehindSwitch: [false, true],
  /** Entries for a node that is elsewhere now go; those of another virtual network are never made. */
  removesOldEntries: [false, true],

  // The node
  /** Rules of nftables are looked at again, and no reason to end; their exception is as that of iptables. */
  repeatsNftables: [false, true],
  /** The route for what no pod has is made at once. */
  makesBlackholeAtOnce: [false, true],
  /** subnet.env and the Node's condition are written until they are, and subnet.env in one piece. */
  retriesReports: [false, true],
  /** subnet.env has a checksum, and one whose checksum is wrong is not read. */
  sealsSubnetFile: [false, true],
} as const;

export type FlanneldDifferences = Differences<typeof SWITCHES>;

export const FLANNELD_DIFFERENCES: ByMode<FlanneldDifferences> = byMode<FlanneldDifferences>(SWITCHES);

/** What the types of network differ in (hcn.md §4.1, table of network types). */
import type { IpamType, NetworkType } from "#contracts/hcn/documents/network.ts";
import type { NetworkRecord, SwitchKind } from "../records.ts";
import type { EndpointPolicyType } from "#contracts/hcn/documents/policy-type.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

export interface NetworkTypeTraits {
  readonly switchKind: SwitchKind;
  /** Ways in which its endpoints get addresses. */
  readonly ipams: readonly IpamType[];
  /** The service picks a subnet when the request has none. */
  readonly hasChosenSubnet: boolean;
  /** An endpoint without a subnet to take its address from is refused. */
  readonly needsSubnet: boolean;
  /** VFP runs on its ports; refused where the node has none (hcn.md §6.1). */
  readonly needsVfp: boolean;
  /** Refused where Internet Connection Sharing cannot run (hcn.md §6.1). */
  readonly needsIcs: boolean;
  /** It stands for an adapter of the host, which keeps it. */
  readonly isMirror: boolean;
  /** Networks of this type share the switch of an adapter; else there is one network per adapter. */
  readonly sharesSwitch: boolean;
  /** Its ports get rules; the other types only move frames in this version. */
  readonly hasRules: boolean;
  /** The host translates for its endpoints, and maps its own ports to theirs. */
  readonly isTranslated: boolean;
  /** VFP does not run on its switch: frames go by VLAN and MAC, and groups to everybody (dataplane.md §2.2.5). */
  readonly isPlain: boolean;
  /** All frames of its endpoints go by the physical host's switch (dataplane.md §2.5). */
  readonly isTunnelled: boolean;
}

const STATIC: readonly IpamType[] = ["Static"];
const STATIC_OR_DHCP: readonly IpamType[] = ["Static", "Dhcp"];

/** Frames and nothing else; addresses are the endpoints' own affair. */
const PLAIN: NetworkTypeTraits = {
  switchKind: "private",
  ipams: STATIC_OR_DHCP,
  hasChosenSubnet: false,
  needsSubnet: false,
  needsVfp: false,
  needsIcs: false,
  isMirror: false,
  sharesSwitch: false,
  hasRules: false,
  isTranslated: false,
  isPlain: true,
  isTunnelled: false,
};

/** NAT, ICS: the host is the gateway and translates. */
const TRANSLATED: NetworkTypeTraits = {
  ...PLAIN,
  switchKind: "internal",
  ipams: STATIC,
  hasChosenSubnet: true,
  needsSubnet: true,
  isTranslated: true,
};

/** L2Bridge and its relatives: VFP on the node's adapter. */
const BRIDGED: NetworkTypeTraits = {
  ...PLAIN,
  switchKind: "external",
  ipams: STATIC,
  needsSubnet: true,
  needsVfp: true,
  sharesSwitch: true,
  hasRules: true,
  isPlain: false,
};

/**
 * One row per type. Inferred (hcn.md §4.1, §11.18): ConstrainedICS is made as ICS; a Mirrored network leaves the adapter
 * that it mirrors to the host.
 */
const TYPE_TRAITS: { readonly [Type in NetworkType]: NetworkTypeTraits } = {
  NAT: TRANSLATED,
  ICS: { ...TRANSLATED, needsIcs: true },
  ConstrainedICS: { ...TRANSLATED, needsIcs: true },
  Transparent: { ...PLAIN, switchKind: "external" },
  L2Bridge: BRIDGED,
  L2Tunnel: { ...BRIDGED, isTunnelled: true },
  Overlay: BRIDGED,
  Private: PLAIN,
  Internal: { ...PLAIN, switchKind: "internal" },
  Mirrored: { ...PLAIN, isMirror: true },
  Infiniband: PLAIN,
};

export function traitsOf(type: NetworkType): NetworkTypeTraits {
  return TYPE_TRAITS[type];
}

/** True where ports get rules. */
export function hasRules(network: NetworkRecord): boolean {
  return traitsOf(network.type).hasRules;
}

// What of a type of network this version does not act out; objects say so in their health data.

const SHARING = WORDS.icsDhcpNotEmulated;

/** The other types are complete. */
const TYPE_LIMITS: { readonly [Type in NetworkType]?: string } = {
  ICS: SHARING,
  ConstrainedICS: SHARING,
  Mirrored: WORDS.mirroredSteeringNotEmulated,
};

/** Why a network of `type` is less than on Windows. */
export function limitOfType(type: NetworkType): string | undefined {
  return TYPE_LIMITS[type];
}

/** Why a policy that comes to rules has no effect where ports have none. */
export function ruleLimitOf(type: NetworkType): string {
  return `ports of ${type} networks get no rules from this version`;
}

/** Policies of endpoints that come to rules. */
export const RULE_POLICIES: readonly EndpointPolicyType[] = [
  "PortMapping",
  "ACL",
  "TierAcl",
  "OutBoundNAT",
  "SDNRoute",
  "ProviderAddress",
  "L4Proxy",
];

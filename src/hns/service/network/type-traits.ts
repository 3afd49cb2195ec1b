/** What the types of network differ in (hcn.md §4.1, table of network types). */
import { networkTypes } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { type IpamType, NETWORK_TYPES, type NetworkType } from "#contracts/hcn/documents/network.ts";
import type { NetworkRecord, SwitchKind } from "../records.ts";
import type { EndpointPolicyType } from "#contracts/hcn/documents/policy-type.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

const SWITCH_KINDS: readonly SwitchKind[] = ["external", "internal", "private"];
const IPAM_TYPES: readonly IpamType[] = ["Static", "Dhcp"];
/** `data/facts/network-types.yaml` says what each means. */
const MARKS = [
  "hasChosenSubnet",
  "needsSubnet",
  "needsVfp",
  "needsIcs",
  "isMirror",
  "sharesSwitch",
  "hasRules",
  "isTranslated",
  "mapsPorts",
  "isPlain",
  "isTunnelled",
] as const;
type Marks = Readonly<Record<(typeof MARKS)[number], boolean>>;

export interface NetworkTypeTraits extends Marks {
  readonly switchKind: SwitchKind;
  /** Ways in which its endpoints get addresses. */
  readonly ipams: readonly IpamType[];
}

function readTraits(row: CheckedFields): NetworkTypeTraits {
  const marks = row.words("marks", MARKS);
  const traits = {
    switchKind: row.word("switch", SWITCH_KINDS),
    ipams: row.words("ipams", IPAM_TYPES),
    ...(Object.fromEntries(MARKS.map((mark) => [mark, marks.includes(mark)])) as Marks),
  };
  row.end();
  return traits;
}

const TABLE = CheckedFields.ofTable(networkTypes());
/**
 * One row per type. Inferred (hcn.md §4.1, §11.18): ConstrainedICS is made as ICS; a Mirrored network leaves the adapter
 * that it mirrors to the host.
 */
const TYPE_TRAITS = Object.fromEntries(
  NETWORK_TYPES.map((type) => [type, readTraits(TABLE.within(type))]),
) as { readonly [Type in NetworkType]: NetworkTypeTraits };

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

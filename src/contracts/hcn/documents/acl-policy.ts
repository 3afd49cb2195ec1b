/** ACLs: the settings of the policies `ACL` and `NetworkACL` (hcn.md §3.3, §3.5). */
import { parsePortRanges } from "#core/net/port-range.ts";
import { parseAddressOrPrefix, splitList } from "./address-list.ts";
import type { JsonReader } from "../description/json.ts";
import { type ReadSettings, type SettingsOf, settingsReader } from "../description/settings.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

export type AclAction = AclPolicySetting["Action"];
export type AclDirection = AclPolicySetting["Direction"];
export type AclRuleType = NonNullable<AclPolicySetting["RuleType"]>;
/** The parts of a rule that say which packets it is about. */
export type AclTuple = Pick<
  AclPolicySetting,
  "Protocols" | "LocalAddresses" | "RemoteAddresses" | "LocalPorts" | "RemotePorts"
>;

/** The protocol number that stands for all of them. */
export const ACL_ANY_PROTOCOL = 256;

/** Parses a comma list of protocol numbers: undefined when it is none, an empty list for "any". */
export function parseAclProtocols(text: string): readonly number[] | undefined {
  const protocols: number[] = [];
  for (const item of splitList(text)) {
    const protocol = /^\d{1,3}$/.test(item) ? Number(item) : Number.NaN;
    if (Number.isNaN(protocol) || protocol > ACL_ANY_PROTOCOL) return undefined;
    if (protocol === ACL_ANY_PROTOCOL) return [];
    protocols.push(protocol);
  }
  return protocols;
}

/** What an address field names. */
export interface AclAddresses {
  /** Texts of addresses and CIDRs. */
  readonly addresses: readonly string[];
  /** Ids of `SetPolicy` sets. */
  readonly sets: readonly string[];
}

/** Words for "any" that Windows refuses: the field has to be left out (hcn.md §3.5). */
const REFUSED_ADDRESSES: readonly string[] = ["any", "*"];

/** Parses an address field; undefined when it says `Any` or `*`. */
export function parseAclAddresses(text: string): AclAddresses | undefined {
  const addresses: string[] = [];
  const sets: string[] = [];
  for (const item of splitList(text)) {
    if (REFUSED_ADDRESSES.includes(item.toLowerCase())) return undefined;
    if (parseAddressOrPrefix(item) === undefined) sets.push(item);
    else addresses.push(item);
  }
  return { addresses, sets };
}

function checkAddresses(reader: JsonReader, field: keyof AclTuple): void {
  const text = reader.text(field);
  // An address with a slash that does not parse is a mistake, not the id of a set.
  const parsed = text === undefined ? undefined : parseAclAddresses(text);
  if (text !== undefined && (parsed === undefined || parsed.sets.some((id) => id.includes("/"))))
    throw reader.fail(field, WORDS.aclAddressesSyntax);
}

function checkPorts(reader: JsonReader, field: keyof AclTuple): void {
  const text = reader.textOrNumber(field);
  if (text !== undefined && text !== "" && parsePortRanges(text) === undefined)
    throw reader.fail(field, "a comma list of ports and ranges such as 80,443,1000-2000");
}

/** Protocols with ports: TCP, UDP and SCTP. */
const PROTOCOLS_WITH_PORTS: readonly number[] = [6, 17, 132];

/**
 * Ports only with a protocol that has some (hcn.md §3.5). Inferred: a rule for any protocol may name ports, and is about
 * the packets that have them.
 */
function checkPortsHaveProtocol(reader: JsonReader, protocols: string | undefined): void {
  const named = parseAclProtocols(protocols ?? "") ?? [];
  const field = (["LocalPorts", "RemotePorts"] as const).find(
    (each) => (reader.textOrNumber(each) ?? "") !== "",
  );
  if (field === undefined || named.length === 0) return;
  if (named.some((protocol) => PROTOCOLS_WITH_PORTS.includes(protocol))) return;
  throw reader.fail(field, `left out, because the protocols ${protocols ?? ""} have no ports`);
}

/** @throws HcnError for a tuple that no rule has. */
export function checkAclTuple(reader: JsonReader): void {
  const protocols = reader.textOrNumber("Protocols");
  if (protocols !== undefined && parseAclProtocols(protocols) === undefined)
    throw reader.fail("Protocols", "a comma list of IP protocol numbers such as 6,17; 256 means any");
  checkPortsHaveProtocol(reader, protocols);
  checkAddresses(reader, "LocalAddresses");
  checkAddresses(reader, "RemoteAddresses");
  checkPorts(reader, "LocalPorts");
  checkPorts(reader, "RemotePorts");
}

const ACL = {
  Id: "text",
  /** Comma list of protocol numbers; 256 and absence mean any. */
  Protocols: "textOrNumber",
  Action: { is: ["Allow", "Block", "Pass"], needed: "Allow, Block or Pass" },
  Direction: { is: ["In", "Out"], needed: "In or Out" },
  /** Comma lists of addresses, CIDRs or ids of `SetPolicy` sets; absence means any. */
  LocalAddresses: "text",
  RemoteAddresses: "text",
  /** Comma lists of ports and ranges; absence means any. */
  LocalPorts: "textOrNumber",
  RemotePorts: "textOrNumber",
  /** `Host`: the Windows firewall; `Switch`: VFP. Inferred: their numbers, from the order in the documentation. */
  RuleType: ["Host", "Switch"],
  /** The lowest number wins. */
  Priority: "u16",
  /** From v1, for the Windows firewall. */
  ServiceName: "text",
} as const;
export type AclPolicySetting = SettingsOf<typeof ACL>;
export const readAcl: ReadSettings<AclPolicySetting> = settingsReader(ACL, {}, checkAclTuple);

/** One rule of a `TierAcl`. */
const TIER_RULE = {
  Id: "text",
  Protocols: "textOrNumber",
  TierAclRuleAction: { is: ["Allow", "Block", "Pass"], needed: "Allow, Block or Pass" },
  LocalAddresses: "text",
  RemoteAddresses: "text",
  LocalPorts: "textOrNumber",
  RemotePorts: "textOrNumber",
  Priority: "u16",
} as const;
export type TierAclRule = SettingsOf<typeof TIER_RULE>;

const readTierRule = settingsReader(TIER_RULE, {}, (reader) => {
  reader.enumeration("TierAclRuleAction", ACL.Action.is);
  checkAclTuple(reader);
});

const TIER_ACL = {
  Name: "text",
  Direction: { is: ["In", "Out"], needed: "In or Out" },
  Order: "u16",
  TierAclRules: { list: (): typeof TIER_RULE => TIER_RULE },
} as const;
export type TierAclPolicySetting = SettingsOf<typeof TIER_ACL>;
export const readTierAcl: ReadSettings<TierAclPolicySetting> = settingsReader(TIER_ACL, {
  TierAclRules: (reader, field) => reader.list(field, readTierRule),
});

/** An address set that ACLs name by its id (hcn.md §3.1). */
const SET_POLICY = {
  Id: { is: "text", needed: "the id of the set, without a comma" },
  Name: "text",
  /** Inferred: their numbers, from the schema's order. */
  PolicyType: { is: ["IPSET", "NESTEDIPSET"], needed: "IPSET or NESTEDIPSET" },
  /** Comma list: addresses for IPSET, ids of member sets for NESTEDIPSET. */
  Values: "text",
} as const;
export type SetPolicySetting = SettingsOf<typeof SET_POLICY>;

function checkSet(reader: JsonReader): void {
  const { is, needed } = SET_POLICY.PolicyType;
  reader.needed("PolicyType", reader.enumeration("PolicyType", is), needed);
  const id = reader.text("Id");
  if (id === undefined || id === "" || id.includes(",")) throw reader.fail("Id", SET_POLICY.Id.needed);
}

/**
 * The values of a set. Inferred (hcn.md §11.11): members with ports, which clients have for other systems, are refused,
 * since nobody has published how HNS writes them.
 */
function readSetValues(reader: JsonReader, field: string): string | undefined {
  const values = reader.text(field);
  const isAddress = (value: string): boolean => parseAddressOrPrefix(value) !== undefined;
  const type = reader.enumeration("PolicyType", SET_POLICY.PolicyType.is);
  if (type === "IPSET" && !splitList(values ?? "").every(isAddress))
    throw reader.fail(field, "a comma list of addresses and CIDRs");
  return values;
}

export const readSetPolicy: ReadSettings<SetPolicySetting> = settingsReader(
  SET_POLICY,
  { Values: readSetValues },
  checkSet,
);

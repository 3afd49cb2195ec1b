/** ACLs: the settings of the policies `ACL` and `NetworkACL` (hcn.md §3.3, §3.5). */
import { parsePortRanges } from "#core/net/port-range.ts";
import { parseAddressOrPrefix, splitList } from "./address-list.ts";
import { type JsonReader, present } from "../description/json.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

export const ACL_ACTIONS = ["Allow", "Block", "Pass"] as const;
export type AclAction = (typeof ACL_ACTIONS)[number];

export const ACL_DIRECTIONS = ["In", "Out"] as const;
export type AclDirection = (typeof ACL_DIRECTIONS)[number];

/** `Host`: the Windows firewall; `Switch`: VFP. Inferred: their numbers, from the order in the documentation. */
export const ACL_RULE_TYPES = ["Host", "Switch"] as const;
export type AclRuleType = (typeof ACL_RULE_TYPES)[number];

/** The protocol number that stands for all of them. */
export const ACL_ANY_PROTOCOL = 256;

/** The parts of a rule that say which packets it is about. */
export interface AclTuple {
  /** Comma list of protocol numbers; 256 and absence mean any. */
  readonly Protocols?: string;
  /** Comma lists of addresses, CIDRs or ids of `SetPolicy` sets; absence means any. */
  readonly LocalAddresses?: string;
  readonly RemoteAddresses?: string;
  /** Comma lists of ports and ranges; absence means any. */
  readonly LocalPorts?: string;
  readonly RemotePorts?: string;
}

export interface AclPolicySetting extends AclTuple {
  readonly Id?: string;
  readonly Action: AclAction;
  readonly Direction: AclDirection;
  readonly RuleType?: AclRuleType;
  /** The lowest number wins. */
  readonly Priority?: number;
  /** From v1, for the Windows firewall. */
  readonly ServiceName?: string;
}

/** One rule of a `TierAcl`. */
export interface TierAclRule extends AclTuple {
  readonly Id?: string;
  readonly TierAclRuleAction: AclAction;
  readonly Priority?: number;
}

export interface TierAclPolicySetting {
  readonly Name?: string;
  readonly Direction: AclDirection;
  readonly Order?: number;
  readonly TierAclRules?: readonly TierAclRule[];
}

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

function readAddresses(reader: JsonReader, field: "LocalAddresses" | "RemoteAddresses"): string | undefined {
  const text = reader.text(field);
  // An address with a slash that does not parse is a mistake, not the id of a set.
  const parsed = text === undefined ? undefined : parseAclAddresses(text);
  if (text !== undefined && (parsed === undefined || parsed.sets.some((id) => id.includes("/"))))
    throw reader.fail(field, WORDS.aclAddressesSyntax);
  return text;
}

function readPorts(reader: JsonReader, field: "LocalPorts" | "RemotePorts"): string | undefined {
  const text = reader.textOrNumber(field);
  if (text !== undefined && text !== "" && parsePortRanges(text) === undefined)
    throw reader.fail(field, "a comma list of ports and ranges such as 80,443,1000-2000");
  return text;
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

/** Reads the tuple of a rule. */
export function readAclTuple(reader: JsonReader): {
  readonly [K in keyof AclTuple]-?: AclTuple[K] | undefined;
} {
  const protocols = reader.textOrNumber("Protocols");
  if (protocols !== undefined && parseAclProtocols(protocols) === undefined)
    throw reader.fail("Protocols", "a comma list of IP protocol numbers such as 6,17; 256 means any");
  checkPortsHaveProtocol(reader, protocols);
  return {
    Protocols: protocols,
    LocalAddresses: readAddresses(reader, "LocalAddresses"),
    RemoteAddresses: readAddresses(reader, "RemoteAddresses"),
    LocalPorts: readPorts(reader, "LocalPorts"),
    RemotePorts: readPorts(reader, "RemotePorts"),
  };
}

export function readAcl(reader: JsonReader): AclPolicySetting {
  const tuple = readAclTuple(reader);
  const fields = {
    Id: reader.text("Id"),
    Protocols: tuple.Protocols,
    Action: reader.needed("Action", reader.enumeration("Action", ACL_ACTIONS), "Allow, Block or Pass"),
    Direction: reader.needed("Direction", reader.enumeration("Direction", ACL_DIRECTIONS), "In or Out"),
    LocalAddresses: tuple.LocalAddresses,
    RemoteAddresses: tuple.RemoteAddresses,
    LocalPorts: tuple.LocalPorts,
    RemotePorts: tuple.RemotePorts,
    RuleType: reader.enumeration("RuleType", ACL_RULE_TYPES),
    Priority: reader.u16("Priority"),
    ServiceName: reader.text("ServiceName"),
  };
  return present<AclPolicySetting>(fields);
}

function readTierRule(reader: JsonReader): TierAclRule {
  const action = reader.enumeration("TierAclRuleAction", ACL_ACTIONS);
  const { Protocols, ...tuple } = readAclTuple(reader);
  return present<TierAclRule>({
    Id: reader.text("Id"),
    Protocols,
    TierAclRuleAction: reader.needed("TierAclRuleAction", action, "Allow, Block or Pass"),
    ...tuple,
    Priority: reader.u16("Priority"),
  });
}

export function readTierAcl(reader: JsonReader): TierAclPolicySetting {
  return present<TierAclPolicySetting>({
    Name: reader.text("Name"),
    Direction: reader.needed("Direction", reader.enumeration("Direction", ACL_DIRECTIONS), "In or Out"),
    Order: reader.u16("Order"),
    TierAclRules: reader.list("TierAclRules", readTierRule),
  });
}

/** An address set that ACLs name by its id (hcn.md §3.1). */
export interface SetPolicySetting {
  readonly Id: string;
  readonly Name?: string;
  readonly PolicyType: SetPolicyType;
  /** Comma list: addresses for IPSET, ids of member sets for NESTEDIPSET. */
  readonly Values?: string;
}

/** Inferred: their numbers, from the schema's order. */
export const SET_POLICY_TYPES = ["IPSET", "NESTEDIPSET"] as const;
export type SetPolicyType = (typeof SET_POLICY_TYPES)[number];

/**
 * The values of a set. Inferred (hcn.md §11.11): members with ports, which clients have for other systems, are refused,
 * since nobody has published how HNS writes them.
 */
function readSetValues(reader: JsonReader, type: SetPolicyType): string | undefined {
  const values = reader.text("Values");
  const isAddress = (value: string): boolean => parseAddressOrPrefix(value) !== undefined;
  if (type === "IPSET" && !splitList(values ?? "").every(isAddress))
    throw reader.fail("Values", "a comma list of addresses and CIDRs");
  return values;
}

export function readSetPolicy(reader: JsonReader): SetPolicySetting {
  const type = reader.enumeration("PolicyType", SET_POLICY_TYPES);
  const policyType = reader.needed("PolicyType", type, "IPSET or NESTEDIPSET");
  const id = reader.text("Id");
  if (id === undefined || id === "" || id.includes(","))
    throw reader.fail("Id", "the id of the set, without a comma");
  return present<SetPolicySetting>({
    Id: id,
    Name: reader.text("Name"),
    PolicyType: policyType,
    Values: readSetValues(reader, policyType),
  });
}

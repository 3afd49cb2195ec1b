/** v1 policies ↔ v2 policies (hcn.md §3.6). A v1 policy is flat; its fields have names of their own. */
import { v1Policies } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { type JsonObject, type JsonValue, equalJson } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { NAT_FLAGS } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { HnsPolicy, PolicyOwner } from "#contracts/hcn/description/description.ts";
import { hns } from "#data/words.js";
import { JsonReader } from "#contracts/hcn/description/json.ts";
import type { HostComputeLoadBalancer } from "#contracts/hcn/documents/load-balancer.ts";
import { LOAD_BALANCER_FORM } from "#contracts/hcn/documents/v1-documents.ts";

const WORDS = hns();

/** One type: its names, and its fields from v1 name to v2 name. */
interface PolicyMapping {
  readonly v1: string;
  readonly v2: string;
  readonly fields: Readonly<Record<string, string>>;
}

function readMapping(row: CheckedFields): PolicyMapping {
  const fields = row.within("fields");
  const mapping = {
    v1: row.text("v1"),
    v2: row.text("v2"),
    fields: Object.fromEntries(fields.names().map((name) => [name, fields.text(name)])),
  };
  row.end();
  return mapping;
}

const TABLE = CheckedFields.ofTable(v1Policies());
/** By what a policy stands in. The first row of a v2 name is the one that v1 results use. */
const MAPPINGS: Readonly<Record<PolicyOwner, readonly PolicyMapping[]>> = {
  endpoint: TABLE.items("endpoint").map(readMapping),
  network: TABLE.items("network").map(readMapping),
  subnet: TABLE.items("subnet").map(readMapping),
};

/**
 * Single numbers that older documents carry in place of lists: old to new. Inferred: an ACL's InternalPort is the port of
 * the endpoint, as that of a port mapping is.
 */
const ACL_OLD_FIELDS: readonly (readonly [string, string])[] = [
  ["Protocol", "Protocols"],
  ["LocalPort", "LocalPorts"],
  ["InternalPort", "LocalPorts"],
  ["RemotePort", "RemotePorts"],
];

/** Old single fields of an ACL count where the list is absent; zero means any. */
function aclSettings(policy: HnsPolicy, settings: Record<string, JsonValue>): void {
  for (const [old, field] of ACL_OLD_FIELDS) {
    const value = policy[old];
    if (settings[field] === undefined && value !== undefined && value !== null && value !== 0)
      settings[field] = value;
  }
}

/** Policies whose `Flags` v1 has no field for. They are kept under that name, or a client that reads a list of
 * policies, adds one and writes it back would lose them. */
const NAT_POLICIES: readonly string[] = ["PortMapping", "OutBoundNAT"];

function numberOf(value: JsonValue | undefined): number {
  return typeof value === "number" ? value : 0;
}

function natFlags(policy: HnsPolicy): number {
  const reserved = policy["ExternalPortReserved"] === true ? NAT_FLAGS.ExternalPortReserved : 0;
  return numberOf(policy["Flags"]) | reserved;
}

/** v1's policy of a network that says which of its networks a subnet is: a VLAN, an overlay, or the plain one. */
const ISOLATION = "isolation";

function isolationPolicy(owner: PolicyOwner, { VLAN: vlan, VSID: vsid }: HnsPolicy): PolicyDocument {
  const [Type, IsolationId] = numberOf(vsid) === 0 ? ["VLAN", vlan ?? 0] : ["VSID", vsid ?? 0];
  if (Type === "VLAN" || owner === "subnet") return { Type, Settings: Object.freeze({ IsolationId }) };
  throw new HcnError("HCN_E_INVALID_POLICY", {
    detail: WORDS.isolationVsidOnSubnet,
  });
}

/**
 * Takes policies that v1 writes beside a whole network and v2 in its subnets: VLAN, VSID, Isolation (hcn.md §3.6).
 * @returns the others, and what each subnet gets.
 */
export function splitIsolation(policies: readonly HnsPolicy[]): {
  readonly others: readonly HnsPolicy[];
  readonly isolation: readonly PolicyDocument[];
} {
  const types = [...MAPPINGS.subnet.map((mapping) => mapping.v1.toLowerCase()), ISOLATION];
  const isOfSubnet = (policy: HnsPolicy): boolean => types.includes(policy.Type.toLowerCase());
  return {
    others: policies.filter((policy) => !isOfSubnet(policy)),
    isolation: policies.filter(isOfSubnet).map((policy) => policyFromV1("subnet", policy)),
  };
}

/**
 * The v2 form of a v1 policy. Inferred: v1's Isolation is a VLAN, or the VSID of a subnet, in v2, which has no such type;
 * VLAN 0 is the plain network. A type without a v1 spelling of its own is taken by its v2 name with flat fields.
 * @throws HcnError HCN_E_INVALID_POLICY_TYPE for load-balancer policies, which no endpoint has.
 */
export function policyFromV1(owner: PolicyOwner, policy: HnsPolicy): PolicyDocument {
  const type = policy.Type.toLowerCase();
  if (type === "elb" || type === "ilb") {
    throw new HcnError("HCN_E_INVALID_POLICY_TYPE", {
      detail: `${policy.Type} belongs in a policy list, not in ${owner === "endpoint" ? "an" : "a"} ${owner}`,
    });
  }
  if (type === ISOLATION) return isolationPolicy(owner, policy);
  const mapping = MAPPINGS[owner].find((candidate) => candidate.v1.toLowerCase() === type);
  const { Type, ...flat } = policy;
  if (mapping === undefined) return { Type, Settings: flat };
  const settings: Record<string, JsonValue> = {};
  for (const [from, to] of Object.entries(mapping.fields)) {
    const value = policy[from];
    if (value !== undefined && value !== null) settings[to] = value;
  }
  if (mapping.v2 === "ACL") aclSettings(policy, settings);
  const flags = natFlags(policy);
  if (flags !== 0 && NAT_POLICIES.includes(mapping.v2)) settings["Flags"] = flags;
  return { Type: mapping.v2, Settings: Object.freeze(settings) };
}

/** Fields of a v1 policy that its v2 form has no place for. */
export function fieldsWithoutV2(owner: PolicyOwner, policy: HnsPolicy): JsonObject {
  const mapping = MAPPINGS[owner].find(({ v1 }) => v1.toLowerCase() === policy.Type.toLowerCase());
  if (mapping === undefined) return {};
  const old = mapping.v2 === "ACL" ? ACL_OLD_FIELDS.map(([name]) => name) : [];
  const nat = NAT_POLICIES.includes(mapping.v2) ? ["Flags", "ExternalPortReserved"] : [];
  const known = ["Type", ...Object.keys(mapping.fields), ...old, ...nat];
  return Object.fromEntries(Object.entries(policy).filter(([field]) => !known.includes(field)));
}

const PROTOCOL_NAMES: Readonly<Record<number, string>> = { 6: "TCP", 17: "UDP" };

/** The flat form of a policy, with the names of v1. */
export function policyToV1(
  owner: PolicyOwner,
  policy: { readonly Type: string; readonly Settings: object },
): JsonObject {
  const settings = policy.Settings as JsonObject;
  const mapping = MAPPINGS[owner].find((candidate) => candidate.v2 === policy.Type);
  if (mapping === undefined) return { Type: policy.Type, ...settings };
  const flat: Record<string, JsonValue> = { Type: mapping.v1 };
  for (const [v1, v2] of Object.entries(mapping.fields)) {
    const value = settings[v2];
    if (value !== undefined) flat[v1] = value;
  }
  const flags = numberOf(settings["Flags"]);
  if (NAT_POLICIES.includes(mapping.v2) && (flags & ~NAT_FLAGS.ExternalPortReserved) !== 0)
    flat["Flags"] = flags & ~NAT_FLAGS.ExternalPortReserved;
  if (mapping.v2 !== "PortMapping") return flat;
  const protocol = settings["Protocol"];
  if (typeof protocol === "number") flat["Protocol"] = PROTOCOL_NAMES[protocol] ?? protocol;
  if ((flags & NAT_FLAGS.ExternalPortReserved) !== 0) flat["ExternalPortReserved"] = true;
  return flat;
}

// v1 policy lists as load balancers of v2 (hcn.md §2.12, §3.6, field map): references, and one `ELB` policy per port.

const REFERENCE = /^\/?endpoints\/([^/]+)\/?$/i;

/** `/endpoints/<guid>`. @throws HcnError HCN_E_INVALID_JSON_REFERENCE. */
function endpointOf(reference: string): string {
  const id = REFERENCE.exec(reference)?.[1];
  if (id !== undefined) return id;
  throw new HcnError("HCN_E_INVALID_JSON_REFERENCE", {
    detail: `References holds ${JSON.stringify(reference)}; it must be "/endpoints/<GUID>"`,
  });
}

/** What the policies of one list have to agree in: v2 has one of each for the whole load balancer. */
interface SharedFields {
  readonly vips: readonly string[];
  readonly sourceVip: string;
  readonly isDsr: boolean;
}

function readShared(policy: JsonReader): SharedFields {
  return {
    vips: policy.texts("VIPs") ?? [],
    sourceVip: policy.text("SourceVIP") ?? "",
    isDsr: policy.boolean("IsDSR") ?? false,
  };
}

function checkType(policy: JsonReader): void {
  const type = policy.text("Type") ?? "";
  if (type.toLowerCase() === "elb") return;
  throw new HcnError("HCN_E_INVALID_POLICY_TYPE", {
    detail: WORDS.policyListTypeUnsupported({ at: policy.at("Type"), type: JSON.stringify(type) }),
  });
}

/** @throws HcnError when the document is no policy list of a load balancer. */
export function loadBalancerFromV1(document: JsonValue): HostComputeLoadBalancer {
  const reader = JsonReader.of(document, "policy list", "HCN_E_INVALID_JSON");
  const policies =
    reader.list("Policies", (policy) => {
      checkType(policy);
      return readShared(policy);
    }) ?? [];
  const [shared] = policies;
  const isOther = policies.some((policy) => !equalJson(toJson(policy), toJson(shared)));
  if (isOther) {
    // Inferred: the code. A list of several policies was never seen.
    throw new HcnError("HCN_E_INVALID_POLICY", {
      detail: WORDS.elbPoliciesDiffer,
    });
  }
  const endpoints = (reader.texts("References") ?? []).map(endpointOf);
  return LOAD_BALANCER_FORM.fromRequest(LOAD_BALANCER_FORM.read(reader), {
    HostComputeEndpoints: endpoints,
    ...(policies.length === 0 && { PortMappings: [] }),
  });
}

function toJson(shared: SharedFields | undefined): JsonObject {
  return { ...shared };
}

/** The policies of one endpoint: what they have to be together, and what a request makes of them (hcn.md §3.3, §5.3). */
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { hasHostBits, parseAddressOrPrefix } from "#contracts/hcn/documents/address-list.ts";
import {
  type EndpointPolicy,
  NAT_FLAGS,
  type PortMappingPolicySetting,
  parseEndpointPolicies,
} from "#contracts/hcn/documents/endpoint-policy.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { ModifyRequestType } from "#contracts/hcn/documents/request.ts";
import type { EndpointPolicyType } from "#contracts/hcn/documents/policy-type.ts";
import { formatIp } from "#core/net/ip.ts";
import { setsOf } from "../../compile/acl.ts";
import { tuplesOf } from "./set-policies.ts";
import type { NetworkRecord } from "../records.ts";
import { traitsOf } from "../network/type-traits.ts";
import { mappedProtocols } from "../endpoint/port-mapping-table.ts";
import type { ServiceContext } from "../service-context.ts";
import { checkApplies, checkPolicyFeatures } from "./features.ts";
import { hns } from "#data/words.js";
import { type Fields, canonicalJson } from "#core/base/json.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";

const WORDS = hns();

// Which policies of an object a policy of a request names: what `Remove` goes by (hcn.md §5.3).

type Policy = EndpointPolicy | NetworkPolicy;

/** By which fields a policy is looked for among those of its type: by these alone, or by all but these. */
interface Lens {
  readonly by: "these" | "all-but";
  readonly fields: readonly string[];
}

const BY_ID: Lens = { by: "these", fields: ["Id"] };
const BY_ROUTE: Lens = { by: "these", fields: ["DestinationPrefix", "ProviderAddress"] };

/** A field that says nothing: a client that writes it out means the same as one that leaves it out. */
function isDefault(value: unknown): boolean {
  return value === false || value === 0 || value === "" || (Array.isArray(value) && value.length === 0);
}

/**
 * Equal settings, or the fields that clients match on. An ACL is known by its Id, a set by its Id, and a route to a subnet
 * by prefix and provider (hcn.md §3.5, §5.3). A port or an address that the service chose is not in a mapping of a request.
 */
function lensOf({ Type, Settings }: Policy): Lens {
  const settings = Settings as Fields;
  if (Type === "SetPolicy") return BY_ID;
  if (Type === "RemoteSubnetRoute") return BY_ROUTE;
  if ((Type === "ACL" || Type === "NetworkACL") && !isDefault(settings["Id"] ?? "")) return BY_ID;
  const chosen = Type === "PortMapping" ? ["ExternalPort", "VIP"] : [];
  return { by: "all-but", fields: chosen.filter((field) => isDefault(settings[field] ?? "")) };
}

function keyOf({ Settings }: Policy, { by, fields }: Lens): string {
  const seen = Object.entries(Settings as Fields).filter(
    ([field, value]) => !isDefault(value) && fields.includes(field) === (by === "these"),
  );
  return canonicalJson(Object.fromEntries(seen));
}

/** The policies of an object by what requests name them by: a request with thousands of policies looks each one up. */
export class PolicyMatches<P extends Policy> {
  private readonly present: readonly P[];
  private readonly byLens = new Map<string, ReadonlyMap<string, readonly P[]>>();

  constructor(present: readonly P[]) {
    this.present = present;
  }

  /** Those that `wanted` names, in their order. */
  of(wanted: P): readonly P[] {
    const lens = lensOf(wanted);
    const name = [wanted.Type, lens.by, ...lens.fields].join(" ");
    let byKey = this.byLens.get(name);
    if (byKey === undefined) {
      const ofType = this.present.filter(({ Type }) => Type === wanted.Type);
      byKey = Map.groupBy(ofType, (policy) => keyOf(policy, lens));
      this.byLens.set(name, byKey);
    }
    return byKey.get(keyOf(wanted, lens)) ?? [];
  }
}

/** The endpoint that policies are for. */
export interface PolicySubject {
  readonly id: Guid;
  readonly isRemote: boolean;
}

/** From Server 2022 on; Server 2019 takes them (hcn.md §3.3). */
function checkHostBits(policy: EndpointPolicy, where: string): void {
  if (policy.Type !== "OutBoundNAT") return;
  for (const field of ["Exceptions", "Destinations"] as const) {
    for (const text of policy.Settings[field] ?? []) {
      const address = parseAddressOrPrefix(text);
      if (address === undefined || !hasHostBits(address)) continue;
      throw new HcnError("HCN_E_INVALID_POLICY", {
        detail: `${where}.Settings.${field} holds ${text}, which has bits set behind its length`,
      });
    }
  }
}

/** Sets that ACLs name have to be there first (hcn.md §9.17). Inferred: the code for one that is not. */
function checkSets(policy: EndpointPolicy, network: NetworkRecord, where: string): void {
  if (policy.Type !== "ACL" && policy.Type !== "TierAcl") return;
  for (const id of tuplesOf(policy).flatMap(setsOf)) {
    const isKnown = network.policies.some((set) => set.Type === "SetPolicy" && set.Settings.Id === id);
    if (isKnown) continue;
    throw new HcnError("HCN_E_POLICY_NOT_FOUND", {
      detail: WORDS.aclSetUnknown({ where, id: JSON.stringify(id), name: network.name }),
    });
  }
}

/** What a remote endpoint may have (hcn.md §4.4): its node's address, and what the service itself enters. */
const REMOTE_POLICIES: readonly EndpointPolicyType[] = ["ProviderAddress", "L2Driver"];

/** Inferred: the code for any other policy, which would act on a port that is not there. */
function checkRemotePolicy(policy: EndpointPolicy, where: string): void {
  if (REMOTE_POLICIES.includes(policy.Type)) return;
  throw new HcnError("HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION", {
    detail: `${where} is ${policy.Type}; a remote endpoint (Flags 1) takes ProviderAddress only`,
  });
}

/** Reads policies and checks each by itself. */
function readEach(
  context: ServiceContext,
  network: NetworkRecord,
  subject: PolicySubject,
  documents: readonly PolicyDocument[],
): readonly EndpointPolicy[] {
  const policies = parseEndpointPolicies(documents);
  const rejectsHostBits = !context.hasQuirk("outbound-nat-host-bits-accepted");
  for (const [index, policy] of policies.entries()) {
    const where = `Policies[${index}]`;
    if (subject.isRemote) checkRemotePolicy(policy, where);
    checkPolicyFeatures(context, policy, where);
    checkApplies(network, policy, where);
    if (rejectsHostBits) checkHostBits(policy, where);
    checkSets(policy, network, where);
  }
  return policies;
}

/**
 * Types of which an endpoint has at most one. Inferred: which they are; §3 of hcn.md names those that may be several.
 */
const SINGLE_POLICIES: readonly EndpointPolicyType[] = [
  "QOS",
  "ProviderAddress",
  "PortName",
  "InterfaceConstraint",
  "VLAN",
  "Iov",
  "Firewall",
];

function checkSingle(policies: readonly EndpointPolicy[]): void {
  const count = (type: EndpointPolicyType): number =>
    policies.filter((policy) => policy.Type === type).length;
  if (count("InterfaceParameters") > 1) throw new HcnError("HCN_INTERFACEPARAMETERS_ALREADY_APPLIED");
  const twice = SINGLE_POLICIES.find((type) => count(type) > 1);
  if (twice === undefined) return;
  throw new HcnError("HCN_E_POLICY_ALREADY_EXISTS", {
    detail: `The endpoint has a second ${twice}; it takes at most one`,
  });
}

/**
 * The mapping that a dual-stack client adds for IPv6 names no address; the service takes the network's management
 * address of that family (hcn.md §3.3). Inferred: that results show it; without such an address it stays empty.
 */
function withManagementVip(
  context: ServiceContext,
  network: NetworkRecord,
  setting: PortMappingPolicySetting,
): PortMappingPolicySetting {
  if (((setting.Flags ?? 0) & NAT_FLAGS.IPv6) === 0 || (setting.VIP ?? "") !== "") return setting;
  const adapter = context.adapterOf(network);
  const addresses = adapter === undefined ? [] : context.nodeFacts(adapter).addresses;
  const address = addresses.find((ip) => typeof ip === "bigint");
  return address === undefined ? setting : Object.freeze({ ...setting, VIP: formatIp(address) });
}

const NO_POLICIES: readonly EndpointPolicy[] = Object.freeze([]);

/** Checks the list that an endpoint is about to have, and gives mappings the ports and addresses that they leave open. */
function settle(
  context: ServiceContext,
  network: NetworkRecord,
  subject: PolicySubject,
  policies: readonly EndpointPolicy[],
): readonly EndpointPolicy[] {
  if (policies.length === 0) return NO_POLICIES;
  checkSingle(policies);
  const mappings = policies.flatMap((policy) =>
    policy.Type === "PortMapping" ? [withManagementVip(context, network, policy.Settings)] : [],
  );
  if (mappings.length === 0) return Object.freeze([...policies]);
  const resolved = [...context.state.portMappings.resolve(mappings, subject.id, context.prng)];
  for (const setting of resolved)
    for (const protocol of mappedProtocols(setting))
      context.checkNotListening(
        protocol,
        setting.ExternalPort ?? 0,
        network !== undefined && traitsOf(network.type).isTranslated,
      );
  return Object.freeze(
    policies.map((policy) => {
      const settings = policy.Type === "PortMapping" ? resolved.shift() : undefined;
      if (policy.Type !== "PortMapping" || settings === undefined || settings === policy.Settings)
        return policy;
      return Object.freeze({ Type: policy.Type, Settings: settings });
    }),
  );
}

const L2_DRIVER: EndpointPolicy = Object.freeze({ Type: "L2Driver", Settings: Object.freeze({}) });
const ONLY_L2_DRIVER: readonly EndpointPolicy[] = Object.freeze([L2_DRIVER]);
const L2_DRIVER_TYPES: readonly string[] = ["L2Bridge", "L2Tunnel"];
/** What VXLAN over IPv4 takes of each frame (RFC 7348 §5). */
const VXLAN_OVERHEAD: EndpointPolicy = Object.freeze({
  Type: "EncapOverhead",
  Settings: Object.freeze({ Overhead: 50 }),
});

/**
 * Adds what the service enters of its own (hcn.md §2.3, §3.3): L2Driver on bridges, and EncapOverhead for vNICs of an
 * overlay. Own entries stand last, so that the positions of the caller's policies stay. Inferred: that a bridge has no
 * EncapOverhead, whose endpoints have the whole MTU of the node (dataplane.md §2.4), and a remote endpoint neither.
 */
function withOwnEntries(
  network: NetworkRecord,
  subject: PolicySubject,
  policies: readonly EndpointPolicy[],
): readonly EndpointPolicy[] {
  const isMissing = (type: EndpointPolicyType): boolean => !policies.some((policy) => policy.Type === type);
  if (L2_DRIVER_TYPES.includes(network.type) && isMissing("L2Driver"))
    return policies.length === 0 ? ONLY_L2_DRIVER : Object.freeze([...policies, L2_DRIVER]);
  if (network.type === "Overlay" && !subject.isRemote && isMissing("EncapOverhead"))
    return Object.freeze([...policies, VXLAN_OVERHEAD]);
  return policies;
}

/**
 * The policies of a new endpoint.
 * @throws HcnError with the code of the policy; HCN_E_PORT_ALREADY_EXISTS, HCN_E_POLICY_ALREADY_EXISTS,
 * HCN_INTERFACEPARAMETERS_ALREADY_APPLIED.
 */
export function policiesOfNewEndpoint(
  context: ServiceContext,
  network: NetworkRecord,
  subject: PolicySubject,
  documents: readonly PolicyDocument[],
): readonly EndpointPolicy[] {
  const given = documents.length === 0 ? NO_POLICIES : readEach(context, network, subject, documents);
  return withOwnEntries(network, subject, settle(context, network, subject, given));
}

/** What the service has entered itself gives way to what a client adds. */
function withAdded(
  present: readonly EndpointPolicy[],
  given: readonly EndpointPolicy[],
): readonly EndpointPolicy[] {
  const isReplaced = ({ Type }: EndpointPolicy): boolean =>
    (Type === "L2Driver" || Type === "EncapOverhead") && given.some((policy) => policy.Type === Type);
  return [...present.filter((policy) => !isReplaced(policy)), ...given];
}

/** @throws HcnError HCN_E_POLICY_NOT_FOUND when one of them is not there; then nothing is removed (hcn.md §6.1). */
function withoutRemoved(
  present: readonly EndpointPolicy[],
  documents: readonly PolicyDocument[],
): readonly EndpointPolicy[] {
  const given = parseEndpointPolicies(documents);
  const matches = new PolicyMatches(present);
  const named = given.map((wanted) => matches.of(wanted));
  const missing = named.findIndex((found) => found.length === 0);
  if (missing >= 0) {
    throw new HcnError("HCN_E_POLICY_NOT_FOUND", {
      detail: WORDS.policyToRemoveMissing({ type: given[missing]?.Type ?? "policy", missing }),
    });
  }
  const leaving = new Set(named.flat());
  return present.filter((policy) => !leaving.has(policy));
}

/**
 * The policies of an endpoint after a request (hcn.md §5.3): Add appends, Remove takes equal ones away, Update replaces
 * the whole list.
 * @throws HcnError as `policiesOfNewEndpoint`; HCN_E_POLICY_NOT_FOUND.
 */
export function changedEndpointPolicies(
  context: ServiceContext,
  network: NetworkRecord,
  endpoint: PolicySubject & { readonly policies: readonly EndpointPolicy[] },
  requestType: ModifyRequestType,
  documents: readonly PolicyDocument[],
): readonly EndpointPolicy[] {
  if (requestType === "Remove") return Object.freeze(withoutRemoved(endpoint.policies, documents));
  const given = readEach(context, network, endpoint, documents);
  const policies = requestType === "Add" ? withAdded(endpoint.policies, given) : given;
  return settle(context, network, endpoint, policies);
}

/**
 * What an endpoint shall be, before it is one of HCN or of HNS v1: its addresses, and its policies, those of the
 * configuration and those the plugins add (cni.md §2.1).
 *
 * Policies have two dialects. HNS v1 takes flat bodies (`{"Type", …}`) and gets every value as it was written; HCN
 * takes `{"Type", "Settings"}`. Looking into a body is done with case, as in upstream.
 */
import type { EndpointDifferences } from "./differences.ts";
import { CNI_CODES, CniError, annotate } from "#contracts/cni/error.ts";
import { StructReader, equalFold } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue, isJsonObject, mappingOf } from "#core/base/json.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { NAT_FLAGS } from "#contracts/hcn/documents/endpoint-policy.ts";
import { familyOf, formatIp, parseInterfaceAddress, type InterfaceAddress } from "#core/net/ip.ts";
import type { CniIp, CniDns } from "#contracts/cni/result.ts";
import { hasFeature } from "#contracts/hcn/features.ts";
import { getHnsVersion } from "#contracts/hcn/v1-operations.ts";
import type {
  ConfiguredPolicy,
  HnsApi,
  PortMapping,
  WindowsConfiguration,
  AddLoopback,
  Allocation,
  NetworkView,
  PluginCall,
  PluginTraits,
} from "./plugin-call.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

const ENDPOINT_POLICY = "EndpointPolicy";

function endpointPolicy(value: JsonObject): ConfiguredPolicy {
  return { name: ENDPOINT_POLICY, value };
}

function isEndpointPolicy(policy: ConfiguredPolicy): boolean {
  return equalFold(policy.name, ENDPOINT_POLICY);
}

/** Where the dialects keep a list of OutBoundNAT. */
const LISTS = {
  hcn: { exceptions: "Exceptions", destinations: "Destinations" },
  hns: { exceptions: "ExceptionList", destinations: "Destinations" },
} as const;

function outboundNat(api: HnsApi, list: string, entry: string): ConfiguredPolicy {
  return endpointPolicy(
    api === "hcn"
      ? { Type: "OutBoundNAT", Settings: { [list]: [entry] } }
      : { Type: "OutBoundNAT", [list]: [entry] },
  );
}

/** The list `list` of an OutBoundNAT policy; undefined when it is no such policy or has no such list. */
function readOutboundNatList(
  policy: ConfiguredPolicy,
  api: HnsApi,
  list: string,
): readonly JsonValue[] | undefined {
  const { value } = policy;
  if (!isEndpointPolicy(policy) || !isJsonObject(value) || value["Type"] !== "OutBoundNAT") return undefined;
  const holder = api === "hcn" ? value["Settings"] : value;
  const entries = mappingOf(holder)[list];
  return Array.isArray(entries) ? (entries as readonly JsonValue[]) : undefined;
}

function replaceOutboundNatList(
  policy: ConfiguredPolicy,
  api: HnsApi,
  list: string,
  entries: readonly JsonValue[],
): ConfiguredPolicy {
  const value = mappingOf(policy.value);
  const settings = mappingOf(value["Settings"]);
  return {
    name: policy.name,
    value:
      api === "hcn"
        ? { ...value, Settings: { ...settings, [list]: entries } }
        : { ...value, [list]: entries },
  };
}

function familyOfText(text: JsonValue): number {
  const address = typeof text === "string" ? parseInterfaceAddress(text) : undefined;
  return address === undefined ? 0 : familyOf(address.ip);
}

/**
 * Adds a network to the exceptions of OutBoundNAT unless it is listed. Upstream appends a policy of its
 * own; hardened appends to the first list of the same family (row 51). Inferred: one list is right whether or not HNS
 * unites the exceptions of two policies, which no source says; docs: cni.md §2.10 keeps the families apart.
 */
export function addOutboundNatException(
  policies: readonly ConfiguredPolicy[],
  cidr: string,
  api: HnsApi,
  { joinsExceptions }: Pick<EndpointDifferences, "joinsExceptions">,
): readonly ConfiguredPolicy[] {
  if (cidr === "") return policies;
  const list = LISTS[api].exceptions;
  const listed = policies.map((policy) => readOutboundNatList(policy, api, list));
  if (listed.some((entries) => entries?.includes(cidr) === true)) return policies;
  const family = familyOfText(cidr);
  const index = listed.findIndex(
    (entries) => entries?.every((entry) => familyOfText(entry) === family) === true,
  );
  if (!joinsExceptions || index < 0) return [...policies, outboundNat(api, list, cidr)];
  return policies.map((policy, i) =>
    i === index ? replaceOutboundNatList(policy, api, list, [...(listed[i] ?? []), cidr]) : policy,
  );
}

/** Adds the pod's own address to the destinations of OutBoundNAT unless it is listed. */
function addLoopbackDsr(
  policies: readonly ConfiguredPolicy[],
  address: string,
  api: HnsApi,
): readonly ConfiguredPolicy[] {
  const list = LISTS[api].destinations;
  const isListed = policies.some(
    (policy) => readOutboundNatList(policy, api, list)?.includes(address) === true,
  );
  return isListed ? policies : [...policies, outboundNat(api, list, address)];
}

/** The provider address that a policy says; undefined when it is no such policy or says none. */
function readProviderAddress(policy: ConfiguredPolicy, api: HnsApi): JsonValue | undefined {
  const { value } = policy;
  if (!isEndpointPolicy(policy) || !isJsonObject(value)) return undefined;
  if (value["Type"] !== "PA" && value["Type"] !== "ProviderAddress") return undefined;
  if (api === "hns") return value["PA"];
  return isJsonObject(value["Settings"]) ? value["Settings"]["ProviderAddress"] : undefined;
}

/**
 * Adds the node's own address as the provider address unless it is there. Upstream lets another configured one
 * stand beside it; with hardened the configured one wins (row 66).
 */
export function addProviderAddress(
  policies: readonly ConfiguredPolicy[],
  address: string,
  api: HnsApi,
  { keepsProviderAddress }: EndpointDifferences,
): readonly ConfiguredPolicy[] {
  const said = policies.flatMap((policy) => readProviderAddress(policy, api) ?? []);
  if (address === "" || said.includes(address) || (keepsProviderAddress && said.length > 0)) return policies;
  const added =
    api === "hcn"
      ? { Type: "ProviderAddress", Settings: { ProviderAddress: address } }
      : { Type: "PA", PA: address };
  return [...policies, endpointPolicy(added)];
}

const PROTOCOLS: ReadonlyMap<string, number> = new Map([
  ["icmpv4", 1],
  ["igmp", 2],
  ["tcp", 6],
  ["udp", 17],
  ["icmpv6", 58],
]);
/** Upstream reads ten bits. */
const PROTOCOL_MAX = 1023;
const DIGITS = /^(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])+|[1-9](?:_?[0-9])*|0)$/;

/** A protocol by name (without case) or by number with any prefix of Go; undefined when it is none. */
export function parsePortProtocol(text: string): number | undefined {
  if (DIGITS.test(text)) {
    const plain = text.replaceAll("_", "").replace(/^0(?=[0-7])/, "0o");
    const value = Number(plain);
    if (value <= PROTOCOL_MAX) return value;
  }
  return PROTOCOLS.get(text.toLowerCase());
}

function portMappingPolicy(
  mapping: PortMapping,
  protocol: number,
  api: HnsApi,
  isForNode: boolean,
): JsonObject {
  const ports = { InternalPort: mapping.containerPort, ExternalPort: mapping.hostPort };
  if (api === "hns") return { Type: "NAT", ...ports, Protocol: mapping.protocol };
  const settings = { ...ports, Protocol: protocol, VIP: mapping.hostIp };
  if (!isForNode) return { Type: "PortMapping", Settings: settings };
  // Without this flag the node cannot reach its own host port (row 55). An empty VIP says nothing.
  const { VIP, ...rest } = settings;
  const hardened = VIP === "" ? rest : settings;
  return { Type: "PortMapping", Settings: { ...hardened, Flags: NAT_FLAGS.LocalRoutedVip } };
}

/** Adds the runtime's port mappings. Those of unknown protocols are left out; hardened says so. */
export function addPortMappings(
  policies: readonly ConfiguredPolicy[],
  mappings: readonly PortMapping[],
  api: HnsApi,
  options: { readonly differences: EndpointDifferences; readonly warn: (text: string) => void },
): readonly ConfiguredPolicy[] {
  const added: ConfiguredPolicy[] = [];
  const { mapsPortsForNode, warns } = options.differences;
  for (const mapping of mappings) {
    const { hostPort, containerPort } = mapping;
    const protocol = parsePortProtocol(mapping.protocol);
    // Runtimes filter these out; a host port 0 maps nothing (row 56).
    if (mapsPortsForNode && hostPort === 0) continue;
    if (protocol !== undefined) {
      added.push(endpointPolicy(portMappingPolicy(mapping, protocol, api, mapsPortsForNode)));
    } else if (warns) {
      options.warn(
        WORDS.portMappingProtocolUnsupported({ hostPort, containerPort, protocol: mapping.protocol }),
      );
    }
  }
  return [...policies, ...added];
}

/** What a copy for the second family says; undefined for a policy that needs none: one VIP is of one family. */
function forSecondFamily({ value }: ConfiguredPolicy): JsonObject | undefined {
  if (!isJsonObject(value) || value["Type"] !== "PortMapping" || !isJsonObject(value["Settings"]))
    return undefined;
  const { VIP = "", Flags = 0, ...ports } = value["Settings"];
  if (VIP !== "" || typeof Flags !== "number" || (Flags & NAT_FLAGS.IPv6) !== 0) return undefined;
  return { Type: "PortMapping", Settings: { ...ports, Flags: Flags | NAT_FLAGS.IPv6 } };
}

/**
 * Hardened, over HCN: a pod of two families has each host port twice, the second with the flag IPv6, as Microsoft's plugins
 * write it (cni.md §8). Upstream knows one family.
 */
export function mapBothFamilies(
  policies: readonly ConfiguredPolicy[],
  addresses: readonly string[],
  api: HnsApi,
  { mapsBothFamilies: isWanted }: EndpointDifferences,
): readonly ConfiguredPolicy[] {
  const isDual = addresses.some((ip) => ip.includes(":")) && addresses.some((ip) => !ip.includes(":"));
  if (!isWanted || api !== "hcn" || !isDual) return policies;
  return policies.flatMap((policy) => {
    const copy = forSecondFamily(policy);
    return copy === undefined ? [policy] : [policy, endpointPolicy(copy)];
  });
}

/** The bodies for HNS v1: as they were written. */
export function toHnsPolicies(policies: readonly ConfiguredPolicy[]): readonly JsonValue[] {
  return policies.filter(isEndpointPolicy).map((policy) => policy.value ?? null);
}

/** One body as the Go client decodes it; undefined when it cannot. */
export function decodeHcnPolicy(value: JsonValue | undefined): PolicyDocument | undefined {
  if (value === null) return { Type: "" };
  if (value === undefined || !isJsonObject(value)) return undefined;
  const reader = new StructReader(value);
  const type = reader.raw("Type") ?? "";
  const settings = reader.raw("Settings");
  if (typeof type !== "string") return undefined;
  return settings === undefined ? { Type: type } : { Type: type, Settings: settings as JsonObject };
}

function refuse(policy: ConfiguredPolicy, index: number): CniError {
  const value = mappingOf(policy.value);
  const stray = Object.keys(value).find((key) => !equalFold(key, "Type") && !equalFold(key, "Settings"));
  const why =
    stray === undefined
      ? 'its value must be {"Type": "…", "Settings": {…}}'
      : WORDS.policyFieldOutsideSettings({ stray });
  return new CniError(CNI_CODES.invalidNetworkConfig, `field "policies[${index}]" cannot be used: ${why}`);
}

/** Hardened: a body that would lose something on its way is refused; upstream drops it silently. */
function isLossless(value: JsonValue | undefined): boolean {
  if (!isJsonObject(value) || decodeHcnPolicy(value) === undefined) return false;
  return Object.keys(value).every((key) => equalFold(key, "Type") || equalFold(key, "Settings"));
}

/**
 * The policies for HCN. Undecodable values and members outside `Type` and `Settings` vanish with upstream.
 * @throws CniError (7) for them in hardened mode.
 */
export function toHcnPolicies(
  policies: readonly ConfiguredPolicy[],
  { refusesLossyPolicies }: EndpointDifferences,
): readonly PolicyDocument[] {
  const documents: PolicyDocument[] = [];
  for (const [index, policy] of policies.entries()) {
    if (!isEndpointPolicy(policy)) continue;
    if (refusesLossyPolicies && !isLossless(policy.value)) throw refuse(policy, index);
    const document = decodeHcnPolicy(policy.value);
    if (document !== undefined) documents.push(document);
  }
  return documents;
}

/** The addresses to plan with: both families, at most one of each; upstream takes the first alone (row 48). */
export function selectAddresses(
  ips: readonly CniIp[],
  { plansBothFamilies }: EndpointDifferences,
): readonly InterfaceAddress[] {
  const addresses = ips.map(({ address }) => address);
  if (!plansBothFamilies) return addresses.slice(0, 1);
  return addresses.filter(
    (address, index) => addresses.findIndex(({ ip }) => familyOf(ip) === familyOf(address.ip)) === index,
  );
}

export interface EndpointPlan extends Allocation {
  readonly policies: readonly ConfiguredPolicy[];
  readonly dns: CniDns;
  /** The pod's own addresses become destinations of OutBoundNAT once HNS has chosen them (row 58). */
  readonly hasLateLoopbackDsr: boolean;
}

/** Loopback DSR is wanted and HNS has it; where it has not, hardened says so (row 57). */
export async function hasLoopbackDsr<C extends WindowsConfiguration>(
  call: PluginCall<C>,
  pluginName: string,
): Promise<boolean> {
  if (!call.configuration.hasLoopbackDsr) return false;
  const version = await call.caller.hns(getHnsVersion);
  if (hasFeature(version, "DSR")) return true;
  if (call.differences.warns) {
    call.request.warn(
      `${pluginName}: loopbackDSR is left out: HNS ${version.Major}.${version.Minor} has no DSR`,
    );
  }
  return false;
}

/** Adds loopback DSR for addresses of the pod. */
export function loopbackFor<C extends WindowsConfiguration>(
  { configuration }: PluginCall<C>,
  addresses: readonly string[],
): AddLoopback {
  return (policies) =>
    addresses.reduce((list, address) => addLoopbackDsr(list, address, configuration.api), policies);
}

/** Gets addresses and makes the plan. @throws CniError */
export async function planEndpoint<C extends WindowsConfiguration>(
  call: PluginCall<C>,
  traits: PluginTraits<C>,
  view: NetworkView | undefined,
): Promise<EndpointPlan> {
  const { configuration, differences } = call;
  try {
    const allocation = await traits.allocate(call, view);
    const isLoopback = await hasLoopbackDsr(call, traits.name);
    const ips = allocation.addresses.map(({ address }) => formatIp(address.ip));
    const own = ips.length === 0 ? differences.unknownAddress : ips;
    return {
      ...allocation,
      policies: mapBothFamilies(
        traits.policies(call, view, loopbackFor(call, isLoopback ? own : [])),
        ips,
        configuration.api,
        differences,
      ),
      dns: configuration.dns,
      hasLateLoopbackDsr: isLoopback && own.length === 0,
    };
  } catch (error) {
    const around = traits.sentences[configuration.api].plan;
    throw around === "" ? error : annotate(error, around);
  }
}

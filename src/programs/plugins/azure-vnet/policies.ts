/**
 * Policies of a configuration, which is written for HNS v1, as HCN and as HNS v1 take them, and those that azure-vnet adds
 * to them, flat as they are (cni.md §5.5). Types are compared with case; the members beside them are read without, as Go
 * does.
 */
import type { AzureDifferences } from "./differences.ts";
import { DecodeError, StructReader } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue, isJsonObject, mappingOf } from "#core/base/json.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { NAT_FLAGS } from "#contracts/hcn/documents/endpoint-policy.ts";
import { type Ip, familyOf, formatIp, parseIp } from "#core/net/ip.ts";
import { type AzurePolicy, AZURE_ERROR_CODE, type AzureConfiguration } from "./conf.ts";
import type { AzureAllocation } from "./address-source.ts";
import type { AzureSubnet } from "./state.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

type AzurePolicyKind = "OutBoundNAT" | "ROUTE" | "L4WFPPROXY" | "PortMapping" | "ACL" | "LoopbackDSR";

/** Source NAT for some destinations alone (cni.md §5.5). */
export interface NatRule {
  /** The address that they see; empty: the node's. */
  readonly virtualIp: string;
  readonly destinations: readonly string[];
}

export interface PolicyOptions {
  readonly differences: AzureDifferences;
  /** Whether HNS has loopback DSR. */
  readonly hasDsr: boolean;
  /** True: pods have source NAT from elsewhere, and no policy OutBoundNAT of the configuration. */
  readonly dropsOutboundNat: boolean;
  /** Further exceptions of OutBoundNAT: the tenant's own ranges. */
  readonly addressSpace: readonly string[];
  readonly nat: readonly NatRule[];
  /** HNS v1 gets the rules with several tenants alone. */
  readonly addsNatToV1: boolean;
}

/** For the policies of networks, and of endpoints that need nothing of the others. */
export function plainPolicyOptions(differences: AzureDifferences): PolicyOptions {
  return {
    differences,
    hasDsr: false,
    dropsOutboundNat: false,
    addressSpace: [],
    nat: [],
    addsNatToV1: false,
  };
}

const ACL_TEXTS = ["LocalAddresses", "RemoteAddresses", "LocalPorts", "RemotePorts", "RuleType"] as const;
/** As HCN has them. */
const PROTOCOL_NUMBERS: Readonly<Record<string, number>> = { TCP: 6, UDP: 17 };

/** What Go's decoder says of a member that is not there. */
function missing(): CniError {
  return new CniError(CNI_CODES.internal, "unexpected end of JSON input");
}

/** True when Go's decoder takes the value for the structure that `read` reads. */
function decodes(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof DecodeError) return false;
    throw error;
  }
}

function readAcl(reader: StructReader): JsonObject {
  const texts = Object.fromEntries(ACL_TEXTS.map((name) => [name, reader.text(name)]));
  const protocols = reader.text("Protocols");
  const priority = reader.integer("Priority") ?? 0;
  const given = Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== ""));
  return {
    ...(protocols !== "" && { Protocols: protocols }),
    Action: reader.text("Action"),
    Direction: reader.text("Direction"),
    ...given,
    ...(priority !== 0 && { Priority: priority }),
  };
}

function readRoute(reader: StructReader): void {
  reader.text("DestinationPrefix");
  reader.boolean("NeedEncap");
}

function readProxy(reader: StructReader): JsonObject {
  const texts = ["InboundProxyPort", "OutboundProxyPort", "UserSID"].map((name) => [name, reader.text(name)]);
  const given = Object.fromEntries(texts.filter(([, value]) => value !== "")) as JsonObject;
  return {
    ...given,
    FilterTuple: reader.object("FilterTuple") ?? {},
    InboundExceptions: reader.object("InboundExceptions") ?? {},
    OutboundExceptions: reader.object("OutboundExceptions") ?? {},
  };
}

/** What a policy is; undefined: nothing that the plugin knows. An object with an action is an ACL, whatever its type. */
function kindOf(value: JsonValue | undefined): AzurePolicyKind | undefined {
  if (!isJsonObject(value)) return undefined;
  const reader = new StructReader(value);
  const type = reader.raw("Type");
  if (type === "OutBoundNAT") return "OutBoundNAT";
  if (type === "ROUTE" && decodes(() => readRoute(reader))) return "ROUTE";
  if (type === "L4WFPPROXY" && decodes(() => readProxy(reader))) return "L4WFPPROXY";
  if (type === "PortMapping") return "PortMapping";
  if (decodes(() => readAcl(reader)) && reader.text("Action") !== "") return "ACL";
  return type === "LoopbackDSR" ? "LoopbackDSR" : undefined;
}

function exceptionsOf(reader: StructReader, { addressSpace }: PolicyOptions): readonly string[] {
  if (reader.raw("ExceptionList") === undefined) throw missing();
  const list = [...reader.texts("ExceptionList"), ...addressSpace];
  if (list.length === 0) throw new CniError(CNI_CODES.internal, "OutBoundNAT policy not set");
  return list;
}

function destinationOf(reader: StructReader, { hasDsr }: PolicyOptions): string {
  if (!hasDsr) {
    const message = WORDS.dsrUnsupported;
    throw new CniError(CNI_CODES.internal, message);
  }
  return reader.text("IPAddress");
}

/** A policy in the form of HCN (row 128). */
function readHcnForm(value: JsonObject): PolicyDocument | undefined {
  const { Type: type, Settings: settings } = value;
  return typeof type === "string" && type !== "" && isJsonObject(settings)
    ? { Type: type, Settings: settings }
    : undefined;
}

function toHcn({ name, value }: AzurePolicy, options: PolicyOptions): PolicyDocument {
  const object = mappingOf(value);
  const ready = options.differences.takesHcnForm ? readHcnForm(object) : undefined;
  if (ready !== undefined) return ready;
  const reader = new StructReader(object);
  switch (kindOf(value)) {
    case "OutBoundNAT":
      return { Type: "OutBoundNAT", Settings: { Exceptions: exceptionsOf(reader, options) } };
    case "ROUTE": {
      if (reader.raw("DestinationPrefix") === undefined || reader.raw("NeedEncap") === undefined)
        throw missing();
      const needsEncap = reader.boolean("NeedEncap");
      const settings = {
        DestinationPrefix: reader.text("DestinationPrefix"),
        ...(needsEncap && { NeedEncap: true }),
      };
      return { Type: "SDNRoute", Settings: settings };
    }
    case "L4WFPPROXY":
      return { Type: "L4WFPPROXY", Settings: readProxy(reader) };
    case "PortMapping":
      return { Type: "PortMapping", Settings: reader.object("Settings") ?? {} };
    case "ACL":
      return { Type: "ACL", Settings: readAcl(reader) };
    case "LoopbackDSR":
      return { Type: "OutBoundNAT", Settings: { Destinations: [destinationOf(reader, options)] } };
    case undefined: {
      const data = JSON.stringify(value ?? null);
      throw new CniError(CNI_CODES.internal, `Failed to set Policy: Type: ${name}, Data: ${data}`, {
        knowledge: "cni-policy-unknown",
      });
    }
  }
}

function ofEndpoint(policies: readonly AzurePolicy[]): readonly AzurePolicy[] {
  return policies.filter(({ name }) => name === "EndpointPolicy");
}

/** The endpoint's policies for HCN. @throws CniError for what cannot be converted */
export function toAzureHcnPolicies(
  policies: readonly AzurePolicy[],
  options: PolicyOptions,
): readonly PolicyDocument[] {
  const isDropped = ({ value }: AzurePolicy): boolean =>
    options.dropsOutboundNat && kindOf(value) === "OutBoundNAT";
  const converted = ofEndpoint(policies).flatMap((policy) => {
    // What is dropped is converted, too: it fails the ADD all the same.
    const document = toHcn(policy, options);
    return isDropped(policy) ? [] : [document];
  });
  const nat = options.nat.map(({ virtualIp, destinations }) => ({
    Type: "OutBoundNAT",
    Settings: { ...(virtualIp !== "" && { VirtualIP: virtualIp }), Destinations: destinations },
  }));
  return [...converted, ...nat];
}

function natOfPortMapping(reader: StructReader): JsonObject {
  const settings = reader.struct("Settings") ?? new StructReader({});
  const number = settings.integer("Protocol");
  const protocol = Object.entries(PROTOCOL_NUMBERS).find(([, value]) => value === number)?.[0];
  return {
    Type: "NAT",
    ...(protocol !== undefined && { Protocol: protocol }),
    InternalPort: settings.integer("InternalPort") ?? 0,
    ExternalPort: settings.integer("ExternalPort") ?? 0,
  };
}

/** The form of HCN turned back into that of v1 (hardened, row 128). */
function flatten({ Type, Settings }: PolicyDocument): JsonObject {
  const settings: JsonObject = Settings ?? {};
  if (Type === "SDNRoute") return { Type: "ROUTE", ...settings };
  if (Type !== "OutBoundNAT") return { Type, ...settings };
  const { Exceptions, ...others } = settings;
  return { Type, ...(Exceptions !== undefined && { ExceptionList: Exceptions }), ...others };
}

function toHns({ value }: AzurePolicy, options: PolicyOptions): JsonValue {
  const object = mappingOf(value);
  const reader = new StructReader(object);
  const kind = kindOf(value);
  if (kind === "PortMapping") return natOfPortMapping(reader);
  const ready = options.differences.takesHcnForm ? readHcnForm(object) : undefined;
  if (ready !== undefined) return flatten(ready);
  if (kind === "OutBoundNAT") return { Type: "OutBoundNAT", ExceptionList: exceptionsOf(reader, options) };
  if (kind === "LoopbackDSR") return { Type: "OutBoundNAT", Destinations: [destinationOf(reader, options)] };
  return value ?? null;
}

/**
 * Policies of one name for HNS v1, most of them as they were written. @throws CniError for what cannot be converted, unless that is left out
 */
export function toAzureHnsPolicies(
  policies: readonly AzurePolicy[],
  name: "EndpointPolicy" | "NetworkPolicy",
  options: PolicyOptions,
): readonly JsonValue[] {
  const converted = policies
    .filter((policy) => policy.name === name)
    .flatMap((policy) => {
      if (options.dropsOutboundNat && kindOf(policy.value) === "OutBoundNAT") return [];
      try {
        return [toHns(policy, options)];
      } catch (error) {
        if (!options.differences.leavesOutPolicies || !(error instanceof CniError)) throw error;
        return [];
      }
    });
  const nat = options.nat
    .filter(({ virtualIp }) => virtualIp === "" && options.addsNatToV1)
    .map(({ destinations }) => ({ Type: "OutBoundNAT", Destinations: destinations }));
  return [...converted, ...nat];
}

function internal(value: JsonObject): AzurePolicy {
  return { name: "EndpointPolicy", value };
}

/** One for each IPv4 address, when the configuration asks for loopback DSR. */
export function loopbackPolicies(
  { hasLoopbackDsr }: AzureConfiguration,
  addresses: readonly Ip[],
): readonly AzurePolicy[] {
  if (!hasLoopbackDsr) return [];
  const own = addresses.filter((ip) => familyOf(ip) === 4);
  return own.map((ip) => internal({ Type: "LoopbackDSR", IPAddress: formatIp(ip) }));
}

const AZURE_DNS = "168.63.129.16";
const AZURE_METADATA = "169.254.169.254";

/** Azure's resolver and metadata service want known source addresses (cni.md §5.5). */
export function natRules(
  { isV4Swift, isOverlay, isMultiTenant }: AzureConfiguration,
  { primaryIp, snat }: AzureAllocation,
): readonly NatRule[] {
  if (isV4Swift && !isOverlay) {
    return [
      { virtualIp: primaryIp, destinations: [AZURE_DNS] },
      { virtualIp: "", destinations: [AZURE_METADATA] },
    ];
  }
  return isMultiTenant && snat.forDns ? [{ virtualIp: "", destinations: [AZURE_DNS] }] : [];
}

/** IPv6 over NAT: all but the pods' own range is translated. @throws CniError when the pod has no second address */
export function ipv6NatPolicies(
  { ipv6Mode }: AzureConfiguration,
  subnets: readonly AzureSubnet[],
): readonly AzurePolicy[] {
  if (ipv6Mode !== "ipv6nat") return [];
  const second = subnets[1];
  if (second === undefined) {
    const message = WORDS.ipv6SubnetMissing;
    throw new CniError(CNI_CODES.internal, message);
  }
  const { ip, length } = second.prefix;
  return [internal({ Type: "OutBoundNAT", ExceptionList: [`${formatIp(ip)}/${length}`] })];
}

/**
 * Port mappings (row 141): flag 1 for IPv4, 2 for IPv6, both for a pod of both families when no host address is given.
 * @throws CniError for a host address that is none; for a protocol that is none (hardened, row 142)
 */
export function azurePortPolicies(
  { portMappings }: AzureConfiguration,
  isDualStack: boolean,
  { refusesNothingKnown }: AzureDifferences,
): readonly AzurePolicy[] {
  // Upstream keeps what the mapping before it had when it does not know a protocol.
  let protocol = 0;
  return portMappings.flatMap((mapping, index) => {
    const known = PROTOCOL_NUMBERS[mapping.protocol.trim().toUpperCase()];
    if (known === undefined && refusesNothingKnown) {
      throw new CniError(
        CNI_CODES.invalidNetworkConfig,
        `field "runtimeConfig.portMappings[${index}].protocol" must be "tcp" or "udp", not ${JSON.stringify(mapping.protocol)}`,
      );
    }
    protocol = known ?? protocol;
    const hostIp = mapping.hostIp === "" ? undefined : parseIp(mapping.hostIp);
    if (mapping.hostIp !== "" && hostIp === undefined)
      throw new CniError(AZURE_ERROR_CODE, `failed to parse hostIP ${mapping.hostIp}`);
    const isIpv6 = isDualStack && hostIp !== undefined && familyOf(hostIp) === 6;
    const make = (flags: number): AzurePolicy =>
      internal({
        Type: "PortMapping",
        Settings: {
          ...(protocol !== 0 && { Protocol: protocol }),
          ...(mapping.containerPort !== 0 && { InternalPort: mapping.containerPort }),
          ...(mapping.hostPort !== 0 && { ExternalPort: mapping.hostPort }),
          ...(mapping.hostIp !== "" && { VIP: mapping.hostIp }),
          Flags: flags,
        },
      });
    const first = make(isIpv6 ? NAT_FLAGS.IPv6 : NAT_FLAGS.LocalRoutedVip);
    return mapping.hostIp === "" && isDualStack ? [first, make(NAT_FLAGS.IPv6)] : [first];
  });
}

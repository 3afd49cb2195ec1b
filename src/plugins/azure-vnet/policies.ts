/**
 * Policies of a configuration, which is written for HNS v1, as HCN and as HNS v1 take them (cni.md §5.5). Types are
 * compared with case; the members beside them are read without, as Go does.
 */
import { DecodeError, StructReader } from "../../cni/decode.ts";
import { CNI_CODES, CniError } from "../../cni/error.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "../../cni/json.ts";
import type { Compat } from "../../cni/parameters.ts";
import type { PolicyDocument } from "../../hcn/base-document.ts";
import { NAT_FLAGS } from "../../hcn/nat-policy.ts";
import { type Ip, familyOf, formatIp, parseIp } from "../../net/ip.ts";
import { AZURE_ERROR_CODE, type AzureConfiguration, type AzurePolicy } from "./conf.ts";

type AzurePolicyKind = "OutBoundNAT" | "ROUTE" | "L4WFPPROXY" | "PortMapping" | "ACL" | "LoopbackDSR";

export interface PolicyOptions {
  readonly compat: Compat;
  /** Whether HNS has loopback DSR. */
  readonly hasDsr: boolean;
}

const ACL_TEXTS = ["LocalAddresses", "RemoteAddresses", "LocalPorts", "RemotePorts", "RuleType"] as const;
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

function exceptionsOf(reader: StructReader): readonly string[] {
  if (reader.raw("ExceptionList") === undefined) throw missing();
  const list = reader.texts("ExceptionList");
  if (list.length === 0) throw new CniError(CNI_CODES.internal, "OutBoundNAT policy not set");
  return list;
}

function destinationOf(reader: StructReader, { hasDsr }: PolicyOptions): string {
  if (!hasDsr) {
    const message = "hcn doesn't support DSR: platform does not support feature Direct Server Return (DSR)";
    throw new CniError(CNI_CODES.internal, message);
  }
  return reader.text("IPAddress");
}

/** A policy in the form of HCN, which better takes as it is (row 128). */
function readHcnForm(value: JsonObject): PolicyDocument | undefined {
  const { Type: type, Settings: settings } = value;
  return typeof type === "string" && type !== "" && isJsonObject(settings)
    ? { Type: type, Settings: settings }
    : undefined;
}

function toHcn({ name, value }: AzurePolicy, options: PolicyOptions): PolicyDocument {
  const object = isJsonObject(value) ? value : {};
  const ready = options.compat === "better" ? readHcnForm(object) : undefined;
  if (ready !== undefined) return ready;
  const reader = new StructReader(object);
  switch (kindOf(value)) {
    case "OutBoundNAT":
      return { Type: "OutBoundNAT", Settings: { Exceptions: exceptionsOf(reader) } };
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
  return ofEndpoint(policies).map((policy) => toHcn(policy, options));
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

/** The form of HCN turned back into that of v1 (better, row 128). */
function flatten({ Type, Settings }: PolicyDocument): JsonObject {
  const settings: JsonObject = Settings ?? {};
  if (Type === "SDNRoute") return { Type: "ROUTE", ...settings };
  if (Type !== "OutBoundNAT") return { Type, ...settings };
  const { Exceptions, ...others } = settings;
  return { Type, ...(Exceptions !== undefined && { ExceptionList: Exceptions }), ...others };
}

function toHns({ value }: AzurePolicy, options: PolicyOptions): JsonValue {
  const object = isJsonObject(value) ? value : {};
  const reader = new StructReader(object);
  const kind = kindOf(value);
  if (kind === "PortMapping") return natOfPortMapping(reader);
  const ready = options.compat === "better" ? readHcnForm(object) : undefined;
  if (ready !== undefined) return flatten(ready);
  if (kind === "OutBoundNAT") return { Type: "OutBoundNAT", ExceptionList: exceptionsOf(reader) };
  if (kind === "LoopbackDSR") return { Type: "OutBoundNAT", Destinations: [destinationOf(reader, options)] };
  return value ?? null;
}

/**
 * Policies of one name for HNS v1, most of them as they were written. What cannot be converted is left out by the
 * reference. @throws CniError (better)
 */
export function toAzureHnsPolicies(
  policies: readonly AzurePolicy[],
  name: "EndpointPolicy" | "NetworkPolicy",
  options: PolicyOptions,
): readonly JsonValue[] {
  return policies
    .filter((policy) => policy.name === name)
    .flatMap((policy) => {
      try {
        return [toHns(policy, options)];
      } catch (error) {
        if (options.compat === "better" || !(error instanceof CniError)) throw error;
        return [];
      }
    });
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

/**
 * Port mappings (row 141): flag 1 for IPv4, 2 for IPv6, both for a pod of both families when no host address is given.
 * @throws CniError for a host address that is none; for a protocol that is none (better, row 142)
 */
export function azurePortPolicies(
  { portMappings }: AzureConfiguration,
  isDualStack: boolean,
  compat: Compat,
): readonly AzurePolicy[] {
  // The reference keeps what the mapping before it had when it does not know a protocol.
  let protocol = 0;
  return portMappings.flatMap((mapping, index) => {
    const known = PROTOCOL_NUMBERS[mapping.protocol.trim().toUpperCase()];
    if (known === undefined && compat === "better") {
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

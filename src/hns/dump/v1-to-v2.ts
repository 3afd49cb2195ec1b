/**
 * Objects in v1 form as v2 documents, without a check (hcn.md §2.12, field map). What v2 has no place for is source to the
 * v1 document, which a dump keeps beside this one.
 */
import { BASE } from "#contracts/hcn/documents/base-document.ts";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { ZERO_GUID, parseGuid } from "#contracts/hcn/guid.ts";
import { isJsonObject } from "#core/base/json.ts";
import { LOAD_BALANCER_FLAGS, LOAD_BALANCER_PORT_FLAGS } from "#contracts/hcn/documents/load-balancer.ts";
import { NETWORK_TYPES } from "#contracts/hcn/documents/network.ts";
import { ENDPOINT_FORM } from "#contracts/hcn/documents/v1-documents.ts";
import { type HnsPolicy } from "#contracts/hcn/description/description.ts";
import { type V1Place, v1FormOf } from "#contracts/hcn/documents/v1-form.ts";
import { type PolicyOwner, fieldsWithoutV2, policyFromV1 } from "../v1/policy-mapping.ts";

type Fields = Record<string, JsonValue>;

/** The fields of a document. What has another type than expected counts as absent. */
class Source {
  private readonly document: JsonObject;

  constructor(document: JsonObject) {
    this.document = document;
  }

  /** A text; an empty one counts as absent. */
  text(field: string): string | undefined {
    const text = this.document[field];
    return typeof text === "string" && text !== "" ? text : undefined;
  }

  number(field: string): number | undefined {
    const number = this.document[field];
    return typeof number === "number" ? number : undefined;
  }

  isTrue(field: string): boolean {
    return this.document[field] === true;
  }

  object(field: string): JsonObject | undefined {
    const object = this.document[field];
    return isJsonObject(object) ? object : undefined;
  }

  list(field: string): readonly JsonValue[] | undefined {
    const list = this.document[field];
    return Array.isArray(list) ? (list as readonly JsonValue[]) : undefined;
  }

  /** A comma list, or a list of texts. */
  commaList(field: string): readonly string[] | undefined {
    const items = this.list(field)?.filter((item) => typeof item === "string");
    const texts = (items ?? this.text(field)?.split(",") ?? [])
      .map((item) => item.trim())
      .filter((item) => item !== "");
    return texts.length === 0 ? undefined : texts;
  }

  /** What stands at a place. */
  value({ outer, name, kind }: V1Place): JsonValue | undefined {
    const inside = outer === undefined ? this : new Source(this.object(outer) ?? {});
    if (kind === "guid") return inside.guid(name);
    if (kind === "text") return inside.text(name);
    if (kind === "commaList") return inside.commaList(name);
    if (kind === "boolean") return inside.isTrue(name) ? true : undefined;
    if (kind === "list" || kind === "policies") return inside.list(name);
    if (kind !== "json" && kind !== "jsonObject" && kind !== "schemaVersion") return inside.number(name);
    const object = inside.object(name);
    return Object.keys(object ?? {}).length === 0 ? undefined : object;
  }

  guid(field: string): string | undefined {
    const id = parseGuid(this.text(field) ?? "");
    return id === ZERO_GUID ? undefined : id;
  }
}

/** Without what is undefined, an empty list or an empty object. */
function present(fields: Readonly<Record<string, JsonValue | undefined>>): Fields {
  const kept: Fields = {};
  for (const [field, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (typeof value === "object" && value !== null && Object.keys(value).length === 0) continue;
    kept[field] = value;
  }
  return kept;
}

const BASE_FORM = v1FormOf(BASE);
const SCHEMA_VERSION: JsonObject = Object.freeze({ Major: 2, Minor: 0 });

/** What v2 has in other places: `Resources`, switch and containers are in `Health.Extra` there. */
function healthOf(source: Source, extra: Readonly<Record<string, JsonValue | undefined>> = {}): Fields {
  const Extra = present({ Resources: source.object("Resources"), ...extra });
  const Health = present({ Data: source.object("Health"), Extra });
  return present({ Health, SchemaVersion: SCHEMA_VERSION });
}

/** The base fields in v2 form. */
function baseOf(source: Source, extra: Readonly<Record<string, JsonValue | undefined>> = {}): Fields {
  return BASE_FORM.fromDump((place) => source.value(place), healthOf(source, extra));
}

function policyOf(owner: PolicyOwner, value: JsonValue): JsonValue {
  if (!isJsonObject(value) || typeof value["Type"] !== "string") return value;
  // Newer services show policies of v2 in v1 documents as they are.
  if (isJsonObject(value["Settings"])) return value;
  const policy: HnsPolicy = { ...value, Type: value["Type"] };
  try {
    const { Type, Settings = {} } = policyFromV1(owner, policy);
    return { Type, Settings: { ...Settings, ...fieldsWithoutV2(owner, policy) } };
  } catch (error) {
    if (!(error instanceof HcnError)) throw error;
    const { Type, ...Settings } = policy;
    return { Type, Settings };
  }
}

function policiesOf(owner: PolicyOwner, source: Source): readonly JsonValue[] {
  return (source.list("Policies") ?? []).map((policy) => policyOf(owner, policy));
}

function defaultRoute(gateway: string | undefined): readonly JsonObject[] {
  if (gateway === undefined) return [];
  return [{ NextHop: gateway, DestinationPrefix: gateway.includes(":") ? "::/0" : "0.0.0.0/0" }];
}

function dnsOf(source: Source): JsonObject {
  return present({
    Domain: source.text("DNSDomain"),
    Search: source.commaList("DNSSuffix"),
    ServerList: source.commaList("DNSServerList"),
  });
}

function subnetOf(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const source = new Source(value);
  const ipSubnets = source.list("IpSubnets")?.map((block) => {
    if (!isJsonObject(block)) return block;
    const own = new Source(block);
    return present({
      ID: own.guid("ID"),
      IpAddressPrefix: own.text("IpAddressPrefix"),
      Flags: own.number("Flags"),
    });
  });
  return present({
    ID: source.guid("ID"),
    IpAddressPrefix: source.text("AddressPrefix"),
    Policies: policiesOf("subnet", source),
    Routes: defaultRoute(source.text("GatewayAddress")),
    IpSubnets: ipSubnets,
    Flags: source.number("Flags"),
  });
}

function canonicalType(text: string | undefined): string | undefined {
  const name = NETWORK_TYPES.find((type) => type.toLowerCase() === text?.toLowerCase());
  return name ?? text;
}

/** The policy that a field of v1 is in v2. */
function fieldPolicy(type: string, field: string, value: JsonValue | undefined): readonly JsonObject[] {
  return value === undefined ? [] : [{ Type: type, Settings: { [field]: value } }];
}

function networkToV2(source: Source): Fields {
  const type = canonicalType(source.text("Type"));
  const policies = policiesOf("network", source);
  // On an overlay v2 shows addresses as policies, too (hcn.md §2.12); v1 goes on showing them as fields.
  const isOverlay = type === "Overlay";
  const ofFields: readonly JsonObject[] = [
    ...fieldPolicy("NetAdapterName", "NetworkAdapterName", source.text("NetworkAdapterName")),
    ...fieldPolicy("SourceMacAddress", "SourceMacAddress", source.text("SourceMac")),
    ...fieldPolicy("AutomaticDNS", "Enable", source.isTrue("AutomaticDNS") ? true : undefined),
    ...fieldPolicy("ProviderAddress", "ProviderAddress", isOverlay ? source.text("ManagementIP") : undefined),
    ...fieldPolicy("DrMacAddress", "Address", isOverlay ? source.text("DrMacAddress") : undefined),
  ];
  const given = new Set(policies.map((policy) => (isJsonObject(policy) ? policy["Type"] : "")));
  const added = ofFields.filter((policy) => !given.has(policy["Type"]));
  const switches = { LayeredOn: source.guid("LayeredOn"), SwitchGuid: source.guid("SwitchGuid") };
  const subnets = source.list("Subnets")?.map(subnetOf);
  return {
    ...baseOf(source, switches),
    ...present({
      Type: type,
      Policies: [...added, ...policies],
      MacPool: present({ Ranges: source.list("MacPools") }),
      Dns: dnsOf(source),
      Ipams: subnets === undefined || subnets.length === 0 ? [] : [{ Type: "Static", Subnets: subnets }],
      Flags: source.number("Flags"),
    }),
  };
}

/** `EncapOverhead` is a field of v1, and some builds show the policy beside it. */
function withOverhead(policies: readonly JsonValue[], overhead: number): readonly JsonValue[] {
  const isThere = policies.some((policy) => isJsonObject(policy) && policy["Type"] === "EncapOverhead");
  if (overhead === 0 || isThere) return policies;
  return [...policies, { Type: "EncapOverhead", Settings: { Overhead: overhead } }];
}

function endpointToV2(source: Source, networkId: (name: string) => string | undefined): Fields {
  const named = source.text("VirtualNetworkName");
  const network = source.guid("VirtualNetwork") ?? (named === undefined ? undefined : networkId(named));
  const policies = withOverhead(policiesOf("endpoint", source), source.number("EncapOverhead") ?? 0);
  return ENDPOINT_FORM.fromDump((place) => source.value(place), {
    ...healthOf(source, { SharedContainers: source.list("SharedContainers") }),
    HostComputeNetwork: network,
    Policies: policies.length === 0 ? undefined : policies,
  });
}

function resourcesOf(source: Source): readonly JsonValue[] {
  const resources = [...(source.list("ResourceList") ?? [])];
  const known = new Set(
    resources.map((each) => (isJsonObject(each) && isJsonObject(each["Data"]) ? each["Data"]["Id"] : "")),
  );
  // `Containers` may name one several times (hcn.md §2.4).
  for (const id of new Set(source.list("Containers") ?? []))
    if (!known.has(id)) resources.push({ Type: "Container", Data: { Id: id } });
  return resources;
}

function namespaceToV2(source: Source): Fields {
  const isDefault = source.isTrue("IsDefault");
  const compartment = source.number("CompartmentId");
  return {
    ...baseOf(source),
    ...present({
      NamespaceId: compartment === 0 ? undefined : compartment,
      NamespaceGuid: source.guid("CompartmentGuid"),
      Type: isDefault ? "HostDefault" : (source.text("Type") ?? "Host"),
      Resources: resourcesOf(source),
    }),
  };
}

const REFERENCE = /^\/?endpoints\//i;

interface Balanced {
  readonly mapping: JsonObject;
  readonly vips: readonly JsonValue[];
  readonly sourceVip: string | undefined;
  readonly isDsr: boolean;
}

const PROTOCOLS: Readonly<Record<string, number>> = { tcp: 6, udp: 17 };

function protocolOf(source: Source): JsonValue | undefined {
  const text = source.text("Protocol");
  return text === undefined ? source.number("Protocol") : (PROTOCOLS[text.toLowerCase()] ?? text);
}

function balancedOf(policy: JsonObject): Balanced {
  const source = new Source(policy);
  const { ILB, LocalRoutedVip } = LOAD_BALANCER_PORT_FLAGS;
  const flags = (source.isTrue("ILB") ? ILB : 0) | (source.isTrue("LocalRoutedVip") ? LocalRoutedVip : 0);
  const [vips, sourceVip, isDsr] = [
    source.list("VIPs") ?? [],
    source.text("SourceVIP"),
    source.isTrue("IsDSR"),
  ];
  const mapping = present({
    Protocol: protocolOf(source),
    InternalPort: source.number("InternalPort"),
    ExternalPort: source.number("ExternalPort"),
    Flags: flags === 0 ? undefined : flags,
  });
  return { mapping, vips, sourceVip, isDsr };
}

function loadBalancerToV2(source: Source): Fields {
  const references = (source.list("References") ?? []).map((each) =>
    typeof each === "string" ? each.replace(REFERENCE, "") : each,
  );
  const balanced = (source.list("Policies") ?? []).filter(isJsonObject).map(balancedOf);
  const [shared] = balanced;
  const mappings = balanced.map(({ mapping }) => mapping).filter((each) => Object.keys(each).length > 0);
  return {
    ...baseOf(source),
    ...present({
      HostComputeNetwork: source.guid("HostComputeNetwork"),
      HostComputeEndpoints: references,
      SourceVIP: shared?.sourceVip,
      FrontendVIPs: shared?.vips,
      PortMappings: mappings,
      Flags:
        (source.number("Flags") ?? 0) | (shared?.isDsr === true ? LOAD_BALANCER_FLAGS.DSR : 0) || undefined,
    }),
  };
}

/**
 * The v2 document of an object in v1 form. Never refuses: what does not read stays as it is.
 * @param networkId the id of a network of the same dump, by its name: hnsdiag's tables name no ids.
 */
export function documentFromV1(
  kind: HcnObjectKind,
  document: JsonObject,
  networkId: (name: string) => string | undefined,
): JsonObject {
  const source = new Source(document);
  switch (kind) {
    case "Network":
      return networkToV2(source);
    case "Endpoint":
      return endpointToV2(source, networkId);
    case "Namespace":
      return namespaceToV2(source);
    case "LoadBalancer":
      return loadBalancerToV2(source);
    case "SdnRoute":
    case "GuestNetworkService":
      // v1 has neither.
      return document;
  }
}

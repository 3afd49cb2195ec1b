/**
 * Objects in v1 form as v2 documents, without a check (hcn.md §2.12, field map). What v2 has a place for goes there; what
 * it has none for stays beside it under its own name, so that nothing of a real node's object is lost.
 */
import type { HcnObjectKind, JsonObject, JsonValue } from "../../hcn/client.ts";
import { ENDPOINT_FLAGS } from "../../hcn/endpoint.ts";
import { HcnError } from "../../hcn/error.ts";
import { ZERO_GUID, parseGuid } from "../../hcn/guid.ts";
import { isJsonObject } from "../../hcn/json-value.ts";
import { LOAD_BALANCER_FLAGS, LOAD_BALANCER_PORT_FLAGS } from "../../hcn/load-balancer.ts";
import { NETWORK_TYPES } from "../../hcn/network.ts";
import type { HnsPolicy } from "../../hcn/v1-documents.ts";
import { type PolicyOwner, fieldsWithoutV2, policyFromV1 } from "../v1/policy-mapping.ts";

type Fields = Record<string, JsonValue>;

/** The fields of a document, each taken once; what nobody takes is left over. */
class Leftover {
  private readonly fields: Fields;

  constructor(document: JsonObject) {
    this.fields = {};
    for (const [field, value] of Object.entries(document))
      if (value !== undefined) this.fields[field] = value;
  }

  /** A value that `isWanted`; any other stays. */
  private take<T extends JsonValue>(
    field: string,
    isWanted: (value: JsonValue) => value is T,
  ): T | undefined {
    const value = this.fields[field];
    if (value === undefined || !isWanted(value)) return undefined;
    Reflect.deleteProperty(this.fields, field);
    return value;
  }

  /** A text; an empty one counts as absent. */
  text(field: string): string | undefined {
    const text = this.take(field, (value) => typeof value === "string");
    return text === "" ? undefined : text;
  }

  number(field: string): number | undefined {
    return this.take(field, (value) => typeof value === "number");
  }

  isTrue(field: string): boolean {
    return this.take(field, (value) => typeof value === "boolean") ?? false;
  }

  object(field: string): JsonObject | undefined {
    return this.take(field, isJsonObject);
  }

  list(field: string): readonly JsonValue[] | undefined {
    return this.take<readonly JsonValue[]>(field, (value) => Array.isArray(value));
  }

  /** A comma list, or a list of texts. */
  commaList(field: string): readonly string[] | undefined {
    const items = this.list(field)?.filter((item) => typeof item === "string");
    const texts = (items ?? this.text(field)?.split(",") ?? [])
      .map((item) => item.trim())
      .filter((item) => item !== "");
    return texts.length === 0 ? undefined : texts;
  }

  guid(field: string): string | undefined {
    const id = parseGuid(this.text(field) ?? "");
    return id === ZERO_GUID ? undefined : id;
  }

  rest(): Fields {
    return this.fields;
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

const SCHEMA_VERSION: JsonObject = Object.freeze({ Major: 2, Minor: 0 });

/** The base fields in v2 form; `Resources`, switch and containers are in `Health.Extra` there. */
function baseOf(left: Leftover, extra: Readonly<Record<string, JsonValue | undefined>> = {}): Fields {
  const health = left.object("Health");
  left.object("SchemaVersion");
  return present({
    ID: left.guid("ID"),
    Owner: left.text("Owner"),
    Name: left.text("Name"),
    Version: left.number("Version"),
    AdditionalParams: left.object("AdditionalParams"),
    Health: present({
      Data: health,
      Extra: present({ Resources: left.object("Resources"), ...extra }),
    }),
    SchemaVersion: SCHEMA_VERSION,
    State: left.number("State"),
  });
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

function policiesOf(owner: PolicyOwner, left: Leftover): readonly JsonValue[] {
  return (left.list("Policies") ?? []).map((policy) => policyOf(owner, policy));
}

function defaultRoute(gateway: string | undefined): readonly JsonObject[] {
  if (gateway === undefined) return [];
  return [{ NextHop: gateway, DestinationPrefix: gateway.includes(":") ? "::/0" : "0.0.0.0/0" }];
}

function dnsOf(left: Leftover): JsonObject {
  return present({
    Domain: left.text("DNSDomain"),
    Search: left.commaList("DNSSuffix"),
    ServerList: left.commaList("DNSServerList"),
  });
}

function subnetOf(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const left = new Leftover(value);
  const ipSubnets = left.list("IpSubnets")?.map((block) => {
    if (!isJsonObject(block)) return block;
    const own = new Leftover(block);
    return { ...present({ ID: own.guid("ID"), ...own.rest() }) };
  });
  const known = present({
    ID: left.guid("ID"),
    IpAddressPrefix: left.text("AddressPrefix"),
    Policies: policiesOf("subnet", left),
    Routes: defaultRoute(left.text("GatewayAddress")),
    IpSubnets: ipSubnets,
    Flags: left.number("Flags"),
  });
  return { ...known, ...left.rest() };
}

function canonicalType(text: string | undefined): string | undefined {
  const name = NETWORK_TYPES.find((type) => type.toLowerCase() === text?.toLowerCase());
  return name ?? text;
}

function networkToV2(left: Leftover): Fields {
  const adapter = left.text("NetworkAdapterName");
  const sourceMac = left.text("SourceMac");
  const isAutomatic = left.isTrue("AutomaticDNS");
  const type = canonicalType(left.text("Type"));
  // On an overlay v2 shows both as policies (hcn.md §2.12); v1 goes on showing them as fields.
  const isOverlay = type === "Overlay";
  const { ManagementIP: address, DrMacAddress: mac } = left.rest();
  const policies: readonly JsonValue[] = [
    ...(adapter === undefined ? [] : [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: adapter } }]),
    ...(sourceMac === undefined
      ? []
      : [{ Type: "SourceMacAddress", Settings: { SourceMacAddress: sourceMac } }]),
    ...(isAutomatic ? [{ Type: "AutomaticDNS", Settings: { Enable: true } }] : []),
    ...(isOverlay && typeof address === "string" && address !== ""
      ? [{ Type: "ProviderAddress", Settings: { ProviderAddress: address } }]
      : []),
    ...(isOverlay && typeof mac === "string" && mac !== ""
      ? [{ Type: "DrMacAddress", Settings: { Address: mac } }]
      : []),
    ...policiesOf("network", left),
  ];
  const switches = { LayeredOn: left.guid("LayeredOn"), SwitchGuid: left.guid("SwitchGuid") };
  const subnets = left.list("Subnets")?.map(subnetOf);
  return {
    ...baseOf(left, switches),
    ...present({
      Type: type,
      Policies: policies,
      MacPool: present({ Ranges: left.list("MacPools") }),
      Dns: dnsOf(left),
      Ipams: subnets === undefined || subnets.length === 0 ? [] : [{ Type: "Static", Subnets: subnets }],
      Flags: left.number("Flags"),
    }),
    ...left.rest(),
  };
}

function ipConfigOf(
  address: string | undefined,
  length: number | undefined,
  subnet: string | undefined,
): readonly JsonObject[] {
  if (address === undefined) return [];
  return [present({ IpAddress: address, PrefixLength: length, IpSubnetId: subnet })];
}

/** Fields of a v1 endpoint that are bits of its flags in v2. */
const FLAG_FIELDS: readonly (readonly [field: string, bit: number])[] = [
  ["IsRemoteEndpoint", ENDPOINT_FLAGS.RemoteEndpoint],
  ["DisableICC", ENDPOINT_FLAGS.DisableInterComputeCommunication],
  ["EnableLowMetric", ENDPOINT_FLAGS.EnableLowInterfaceMetric],
  ["EnableInternalDNS", ENDPOINT_FLAGS.OverrideDNSServerOrder],
];

function endpointFlags(left: Leftover): number | undefined {
  let flags = left.number("Flags") ?? 0;
  for (const [field, bit] of FLAG_FIELDS) if (left.isTrue(field)) flags |= bit;
  return flags === 0 ? undefined : flags;
}

/** The id of the namespace, and what else `Namespace` says. */
function namespaceOf(left: Leftover): { readonly id: string | undefined; readonly rest: Fields } {
  const namespace = left.object("Namespace");
  if (namespace === undefined) return { id: undefined, rest: {} };
  const own = new Leftover(namespace);
  const id = own.guid("ID");
  const rest = own.rest();
  return { id, rest: Object.keys(rest).length === 0 ? {} : { Namespace: rest } };
}

function endpointToV2(left: Leftover, networkId: (name: string) => string | undefined): Fields {
  const named = left.rest()["VirtualNetworkName"];
  const network = left.guid("VirtualNetwork") ?? (typeof named === "string" ? networkId(named) : undefined);
  const overhead = left.number("EncapOverhead");
  const policies = [
    ...policiesOf("endpoint", left),
    ...(overhead === undefined || overhead === 0
      ? []
      : [{ Type: "EncapOverhead", Settings: { Overhead: overhead } }]),
  ];
  const namespace = namespaceOf(left);
  const addresses = [
    ...ipConfigOf(left.text("IPAddress"), left.number("PrefixLength"), left.guid("IPSubnetId")),
    ...ipConfigOf(left.text("IPv6Address"), left.number("IPv6PrefixLength"), left.guid("IPv6SubnetId")),
  ];
  return {
    ...baseOf(left, { SharedContainers: left.list("SharedContainers") }),
    ...present({
      HostComputeNetwork: network,
      HostComputeNamespace: namespace.id,
      Policies: policies,
      IpConfigurations: addresses,
      Dns: dnsOf(left),
      Routes: [...defaultRoute(left.text("GatewayAddress")), ...defaultRoute(left.text("GatewayAddressV6"))],
      MacAddress: left.text("MacAddress"),
      Flags: endpointFlags(left),
    }),
    ...namespace.rest,
    ...left.rest(),
  };
}

function resourcesOf(left: Leftover): readonly JsonValue[] {
  const resources = [...(left.list("ResourceList") ?? [])];
  const known = new Set(
    resources.map((each) => (isJsonObject(each) && isJsonObject(each["Data"]) ? each["Data"]["Id"] : "")),
  );
  // `Containers` may name one several times (hcn.md §2.4).
  for (const id of new Set(left.list("Containers") ?? []))
    if (!known.has(id)) resources.push({ Type: "Container", Data: { Id: id } });
  return resources;
}

function namespaceToV2(left: Leftover): Fields {
  const isDefault = left.isTrue("IsDefault");
  const compartment = left.number("CompartmentId");
  return {
    ...baseOf(left),
    ...present({
      NamespaceId: compartment === 0 ? undefined : compartment,
      NamespaceGuid: left.guid("CompartmentGuid"),
      Type: isDefault ? "HostDefault" : (left.text("Type") ?? "Host"),
      Resources: resourcesOf(left),
    }),
    ...left.rest(),
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

function protocolOf(left: Leftover): JsonValue | undefined {
  const text = left.text("Protocol");
  return text === undefined ? left.number("Protocol") : (PROTOCOLS[text.toLowerCase()] ?? text);
}

function balancedOf(policy: JsonObject): Balanced {
  const left = new Leftover(policy);
  left.text("Type");
  const { ILB, LocalRoutedVip } = LOAD_BALANCER_PORT_FLAGS;
  const flags = (left.isTrue("ILB") ? ILB : 0) | (left.isTrue("LocalRoutedVip") ? LocalRoutedVip : 0);
  const [vips, sourceVip, isDsr] = [left.list("VIPs") ?? [], left.text("SourceVIP"), left.isTrue("IsDSR")];
  const mapping = present({
    Protocol: protocolOf(left),
    InternalPort: left.number("InternalPort"),
    ExternalPort: left.number("ExternalPort"),
    Flags: flags === 0 ? undefined : flags,
  });
  return { mapping: { ...mapping, ...left.rest() }, vips, sourceVip, isDsr };
}

function loadBalancerToV2(left: Leftover): Fields {
  const references = (left.list("References") ?? []).map((each) =>
    typeof each === "string" ? each.replace(REFERENCE, "") : each,
  );
  const balanced = (left.list("Policies") ?? []).filter(isJsonObject).map(balancedOf);
  const [shared] = balanced;
  const mappings = balanced.map(({ mapping }) => mapping).filter((each) => Object.keys(each).length > 0);
  return {
    ...baseOf(left),
    ...present({
      HostComputeNetwork: left.guid("HostComputeNetwork"),
      HostComputeEndpoints: references,
      SourceVIP: shared?.sourceVip,
      FrontendVIPs: shared?.vips,
      PortMappings: mappings,
      Flags:
        (left.number("Flags") ?? 0) | (shared?.isDsr === true ? LOAD_BALANCER_FLAGS.DSR : 0) || undefined,
    }),
    ...left.rest(),
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
  const left = new Leftover(document);
  switch (kind) {
    case "Network":
      return networkToV2(left);
    case "Endpoint":
      return endpointToV2(left, networkId);
    case "Namespace":
      return namespaceToV2(left);
    case "LoadBalancer":
      return loadBalancerToV2(left);
    case "SdnRoute":
    case "GuestNetworkService":
      // v1 has neither.
      return document;
  }
}

/** v1 requests as v2 documents, so that one path checks both (hcn.md §2.12, field map). */
import type { Dns, PolicyDocument, Route } from "#contracts/hcn/documents/base-document.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { JsonReader, enumerationName, present } from "#contracts/hcn/description/json.ts";
import { type HostComputeNamespace, parseNamespace } from "#contracts/hcn/documents/namespace.ts";
import { type Ipam, NETWORK_TYPES, type NetworkType, type Subnet } from "#contracts/hcn/documents/network.ts";
import {
  ENDPOINT_FORM,
  type HnsEndpoint,
  type HnsNetwork,
  type HnsSubnet,
  parseHnsEndpoint,
  parseHnsNetwork,
} from "#contracts/hcn/documents/v1-documents.ts";
import { type HnsPolicy } from "#contracts/hcn/description/description.ts";
import type { ExtensionChange } from "../service/network/extensions.ts";
import type { NetworkRequest } from "../service/network/make-record.ts";
import { traitsOf } from "../service/network/type-traits.ts";
import { policyFromV1, splitIsolation } from "./policy-mapping.ts";

const DEFAULT_IPV4 = "0.0.0.0/0";
const DEFAULT_IPV6 = "::/0";

/** A comma list; undefined when it is absent or empty. */
function commaList(text: string | undefined): readonly string[] | undefined {
  const items = (text ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  return items.length === 0 ? undefined : items;
}

function dnsOf(document: HnsNetwork): Dns | undefined {
  const dns = present<Dns>({
    Domain: document.DNSDomain === "" ? undefined : document.DNSDomain,
    Search: commaList(document.DNSSuffix),
    ServerList: commaList(document.DNSServerList),
  });
  return Object.keys(dns).length === 0 ? undefined : dns;
}

function defaultRoute(gateway: string | undefined): readonly Route[] {
  if (gateway === undefined || gateway === "") return [];
  return [{ NextHop: gateway, DestinationPrefix: gateway.includes(":") ? DEFAULT_IPV6 : DEFAULT_IPV4 }];
}

function subnetOf(subnet: HnsSubnet, isolation: readonly PolicyDocument[]): Subnet {
  const own = (subnet.Policies ?? []).map((policy) => policyFromV1("subnet", policy));
  return present<Subnet>({
    ID: subnet.ID,
    IpAddressPrefix: subnet.AddressPrefix,
    // Its own isolation counts, else that of the network.
    Policies: own.length > 0 ? own : isolation,
    Routes: defaultRoute(subnet.GatewayAddress),
    IpSubnets: subnet.IpSubnets,
    Flags: subnet.Flags,
  });
}

function networkType(type: string | undefined): NetworkType | undefined {
  if (type === undefined || type === "") return undefined;
  const name = enumerationName<NetworkType>(NETWORK_TYPES, type);
  if (name !== undefined) return name;
  throw new HcnError("HCN_E_INVALID_NETWORK_TYPE", {
    detail: `Type is ${JSON.stringify(type)}; it must be one of ${NETWORK_TYPES.join(", ")}`,
  });
}

/** Fields of a v1 network that are policies in v2. */
function networkPolicies(network: HnsNetwork, others: readonly HnsPolicy[]): readonly PolicyDocument[] {
  const policies = others.map((policy) => policyFromV1("network", policy));
  const fields: readonly (readonly [string, JsonObject | undefined])[] = [
    ["NetAdapterName", settingOf("NetworkAdapterName", network.NetworkAdapterName)],
    ["SourceMacAddress", settingOf("SourceMacAddress", network.SourceMac)],
    ["ProviderAddress", settingOf("ProviderAddress", managementIp(network))],
    ["DrMacAddress", settingOf("Address", network.DrMacAddress)],
    ["AutomaticDNS", network.AutomaticDNS === true ? { Enable: true } : undefined],
  ];
  for (const [Type, Settings] of fields) if (Settings !== undefined) policies.push({ Type, Settings });
  return policies;
}

function settingOf(field: string, value: string | undefined): JsonObject | undefined {
  return value === undefined || value === "" ? undefined : { [field]: value };
}

/** It selects the adapter that has the address; antrea writes it with a prefix length (hcn.md §2.12). */
function managementIp({ ManagementIP }: HnsNetwork): string | undefined {
  return ManagementIP?.split("/")[0];
}

/** The subnet that the service picks where it picks one, else one without addresses (hcn.md §9.7). */
function subnetOfIsolation(type: NetworkType, isolation: readonly PolicyDocument[]): Ipam {
  if (traitsOf(type).hasChosenSubnet)
    return { Type: "Static", Subnets: [{ IpAddressPrefix: DEFAULT_IPV4, Policies: isolation }] };
  return { Type: "Dhcp", Subnets: [{ Policies: isolation }] };
}

/** A network without subnets gets its addresses from elsewhere; its isolation stands in a subnet all the same. */
function ipamsOf(network: HnsNetwork, isolation: readonly PolicyDocument[]): readonly Ipam[] | undefined {
  const subnets = network.Subnets?.map((subnet) => subnetOf(subnet, isolation));
  if (subnets !== undefined && subnets.length > 0) return [{ Type: "Static", Subnets: subnets }];
  return isolation.length === 0
    ? undefined
    : [subnetOfIsolation(networkType(network.Type) ?? "NAT", isolation)];
}

function extensionsOf({ Extensions: extensions = [] }: HnsNetwork): readonly ExtensionChange[] {
  return extensions.map(({ Id, IsEnabled }) => {
    if (Id !== undefined) return { id: Id, isEnabled: IsEnabled ?? false };
    throw new HcnError("HCN_E_INVALID_JSON", { detail: "An entry of Extensions has no Id" });
  });
}

/** @throws HcnError when the document is no v1 network. */
export function networkFromV1(document: JsonValue): NetworkRequest {
  const network = parseHnsNetwork(document);
  const pools = network.MacPools;
  const { others, isolation } = splitIsolation(network.Policies ?? []);
  return present<NetworkRequest>({
    ID: network.ID,
    Name: network.Name,
    AdditionalParams: network.AdditionalParams,
    Type: networkType(network.Type),
    Policies: networkPolicies(network, others),
    MacPool: pools && { Ranges: pools },
    Dns: dnsOf(network),
    Ipams: ipamsOf(network, isolation),
    Flags: network.Flags,
    isIsolated: network.IsolateSwitch,
    extensions: extensionsOf(network),
  });
}

function endpointPolicies(endpoint: HnsEndpoint): readonly PolicyDocument[] {
  const policies = (endpoint.Policies ?? []).map((policy) => policyFromV1("endpoint", policy));
  const overhead = endpoint.EncapOverhead ?? 0;
  if (overhead > 0) policies.push({ Type: "EncapOverhead", Settings: { Overhead: overhead } });
  return policies;
}

/** @throws HcnError when the document is no v1 endpoint. */
export function endpointFromV1(document: JsonValue): HostComputeEndpoint {
  const endpoint = parseHnsEndpoint(document);
  return ENDPOINT_FORM.fromRequest(endpoint, { Policies: endpointPolicies(endpoint) });
}

/**
 * A namespace document of either dialect: v1 has one field of its own, `IsDefault`, which asks for the host's
 * compartment.
 */
export function namespaceFromV1(document: JsonValue): HostComputeNamespace {
  const reader = JsonReader.of(document, "namespace", "HCN_E_INVALID_JSON");
  const namespace = parseNamespace(document);
  return reader.boolean("IsDefault") === true ? { ...namespace, Type: "HostDefault" } : namespace;
}

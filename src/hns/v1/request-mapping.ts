/** v1 requests as v2 documents, so that one path checks both (hcn.md §2.12, field map). */
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { ENDPOINT, type HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { JsonReader, enumerationName, present } from "#contracts/hcn/description/json.ts";
import { type HostComputeNamespace, NAMESPACE, parseNamespace } from "#contracts/hcn/documents/namespace.ts";
import { type Ipam, NETWORK, NETWORK_TYPES, type NetworkType } from "#contracts/hcn/documents/network.ts";
import {
  ENDPOINT_FORM,
  type HnsEndpoint,
  type HnsNetwork,
  NETWORK_FORM,
  parseHnsEndpoint,
  parseHnsNetwork,
} from "#contracts/hcn/documents/v1-documents.ts";
import type { HnsPolicy, PolicyOwner } from "#contracts/hcn/description/description.ts";
import { policiesOfFields, valuesOfFlags } from "#contracts/hcn/v1-form/v1-form.ts";
import type { ExtensionChange } from "../service/network/extensions.ts";
import type { NetworkRequest } from "../service/network/make-record.ts";
import { traitsOf } from "../service/network/type-traits.ts";
import { policyFromV1, splitIsolation } from "./policy-mapping.ts";

const ANY_IPV4 = "0.0.0.0/0";

function policyIn(owner: PolicyOwner, policy: JsonValue): JsonObject {
  return { ...policyFromV1(owner, policy as HnsPolicy) };
}

function networkType(type: string | undefined): NetworkType | undefined {
  if (type === undefined || type === "") return undefined;
  const name = enumerationName<NetworkType>(NETWORK_TYPES, type);
  if (name !== undefined) return name;
  throw new HcnError("HCN_E_INVALID_NETWORK_TYPE", {
    detail: `Type is ${JSON.stringify(type)}; it must be one of ${NETWORK_TYPES.join(", ")}`,
  });
}

/** It selects the adapter that has the address; antrea writes it with a prefix length (hcn.md §2.12). */
function managementIp({ ManagementIP }: HnsNetwork): string | undefined {
  return ManagementIP?.split("/")[0];
}

/** The subnet that the service picks where it picks one, else one without addresses (hcn.md §9.7). */
function subnetOfIsolation(type: NetworkType, isolation: readonly PolicyDocument[]): Ipam {
  if (traitsOf(type).hasChosenSubnet)
    return { Type: "Static", Subnets: [{ IpAddressPrefix: ANY_IPV4, Policies: isolation }] };
  return { Type: "Dhcp", Subnets: [{ Policies: isolation }] };
}

/**
 * A network without subnets gets its addresses from elsewhere; its isolation stands in a subnet all the same. Else a
 * subnet's own isolation counts, or that of the network.
 */
function ipamsOf(
  ipams: readonly Ipam[] | undefined,
  isolation: readonly PolicyDocument[],
  type: NetworkType | undefined,
): readonly Ipam[] | undefined {
  if (isolation.length === 0) return ipams;
  if (ipams === undefined) return [subnetOfIsolation(type ?? "NAT", isolation)];
  return ipams.map(({ Subnets = [], ...ipam }) => ({
    ...ipam,
    Subnets: Subnets.map((subnet) => ({ ...subnet, Policies: subnet.Policies ?? isolation })),
  }));
}

/** What docker writes where it leaves addresses to a DHCP server: a subnet of all addresses (moby/moby#30342). */
function withoutAnySubnet(
  ipams: readonly Ipam[] | undefined,
  type: NetworkType | undefined,
): readonly Ipam[] | undefined {
  if (type === undefined || ipams === undefined || !traitsOf(type).ipams.includes("Dhcp")) return ipams;
  const isAny = ipams.every(({ Subnets = [] }) =>
    Subnets.every(({ IpAddressPrefix }) => IpAddressPrefix === ANY_IPV4),
  );
  return isAny ? [{ Type: "Dhcp" }] : ipams;
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
  const { others, isolation } = splitIsolation(network.Policies ?? []);
  const type = networkType(network.Type);
  const fields = policiesOfFields(NETWORK, { ...network, ManagementIP: managementIp(network) });
  const given = NETWORK_FORM.fromRequest(
    network,
    { Type: type, Policies: [...others.map((policy) => policyFromV1("network", policy)), ...fields] },
    policyIn,
  );
  return present<NetworkRequest>({
    ...given,
    AdditionalParams: network.AdditionalParams,
    Ipams: ipamsOf(withoutAnySubnet(given.Ipams, type), isolation, type),
    isIsolated: network.IsolateSwitch,
    extensions: extensionsOf(network),
  });
}

function endpointPolicies(endpoint: HnsEndpoint): readonly PolicyDocument[] {
  const policies = (endpoint.Policies ?? []).map((policy) => policyFromV1("endpoint", policy));
  return [...policies, ...policiesOfFields(ENDPOINT, endpoint)];
}

/** @throws HcnError when the document is no v1 endpoint. */
export function endpointFromV1(document: JsonValue): HostComputeEndpoint {
  const endpoint = parseHnsEndpoint(document);
  return ENDPOINT_FORM.fromRequest(endpoint, { Policies: endpointPolicies(endpoint) });
}

/**
 * A namespace document of either dialect: v1 has one field of its own, which asks for the host's compartment.
 */
export function namespaceFromV1(document: JsonValue): HostComputeNamespace {
  const reader = JsonReader.of(document, "namespace", "HCN_E_INVALID_JSON");
  const namespace = parseNamespace(document);
  return { ...namespace, ...valuesOfFlags(NAMESPACE, (field) => reader.boolean(field) === true) };
}

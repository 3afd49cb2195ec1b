/** A network as results show it, in both dialects (hcn.md §2.2, §2.12, §9.4). */
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { type PrintableOf, printerOf } from "#contracts/hcn/description/object-json.ts";
import { familyOf, formatPrefix, formatIp, prefixFamily } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { notEnforcedOnNetwork } from "../service/enforcement.ts";
import type { BareSubnetRecord, NetworkRecord, SubnetRecord } from "../service/records.ts";
import {
  managementAddress,
  shownPolicies,
  routerMac,
  hasHostPort,
} from "../service/network/network-facts.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { withKept } from "../store/kept-fields.ts";
import {
  ALLOCATOR_STATE,
  baseValues,
  healthData,
  policyDocuments,
  resourcesDocument,
  routeValues,
  sortFields,
} from "./document-fields.ts";
import { ZERO_GUID, formatUpperGuid } from "#contracts/hcn/guid.ts";
import { extensionDocuments } from "../service/network/extensions.ts";
import { traitsOf } from "../service/network/type-traits.ts";
import { policyToV1 } from "../v1/policy-mapping.ts";
import { NETWORK, NETWORK_FLAGS, type SUBNET } from "#contracts/hcn/documents/network.ts";
import { NETWORK_FORM } from "#contracts/hcn/documents/v1-documents.ts";
import { fieldPoliciesOf, fieldsOfPolicies } from "#contracts/hcn/v1-form/v1-form.ts";

/** Networks are in state 1 in all healthy outputs. */
const NETWORK_STATE = 1;

type NetworkValues = PrintableOf<typeof NETWORK>;

/** Subnets as either dialect shows them, but for ids and what only one of them has. */
function subnetValues(subnet: SubnetRecord): PrintableOf<typeof SUBNET> {
  return {
    ID: subnet.id,
    Name: subnet.name,
    IpAddressPrefix: formatPrefix(subnet.prefix),
    Policies: policyDocuments(subnet.policies),
    Routes: subnet.routes.map(routeValues),
    IpSubnets: subnet.ipSubnets.map((block) => ({
      ID: block.id,
      Name: block.name,
      IpAddressPrefix: formatPrefix(block.prefix),
      Flags: block.flags,
    })),
    Flags: subnet.flags,
  };
}

function bareSubnetValues(subnet: BareSubnetRecord): PrintableOf<typeof SUBNET> {
  const { id, name, policies, flags } = subnet;
  return { ID: id, Name: name, Policies: policyDocuments(policies), Flags: flags };
}

function ipamValues({ ipamType, subnets, bareSubnets }: NetworkRecord): NetworkValues["Ipams"] {
  if (ipamType === undefined) return undefined;
  return [{ Type: ipamType, Subnets: [...subnets.map(subnetValues), ...bareSubnets.map(bareSubnetValues)] }];
}

/** What both dialects show alike. */
function sharedValues(network: NetworkRecord): NetworkValues {
  return {
    MacPool: {
      Ranges: network.macRanges.map((range) => ({
        StartMacAddress: formatMac(range.first),
        EndMacAddress: formatMac(range.last),
      })),
    },
    Dns: network.dns,
    Flags: network.flags,
  };
}

const PRINTER = printerOf(NETWORK);

/** A network in v2 shape; `isDetailed` adds the switch layer. NAT, the default type, would be left out. */
export function networkDocument(
  context: ServiceContext,
  network: NetworkRecord,
  isDetailed: boolean,
): JsonObject {
  const health = {
    Data: healthData(context, network, notEnforcedOnNetwork(context, network)),
    Extra: {
      LayeredOn: network.layerId,
      SwitchGuid: network.switchId,
    },
  };
  const document = PRINTER.print({
    ...baseValues(network, NETWORK_STATE),
    ...sharedValues(network),
    Health: health,
    Type: network.type === "NAT" ? undefined : network.type,
    Policies: policyDocuments(shownPolicies(context, network)),
    Ipams: ipamValues(network),
  });
  // Inferred (hcn.md §5.1): the place of the layer in a v2 result.
  const layer = isDetailed ? { Layer: layerDocument(context, network) } : {};
  return withKept({ ...document, ...layer }, network.kept?.v2);
}

/** The fields that filters compare: the names of v1, and those of v2 where they differ (hcn.md §5.1). */
export function networkFilterFields(context: ServiceContext, network: NetworkRecord): JsonObject {
  return {
    ID: network.id,
    Name: network.name,
    Owner: network.owner,
    Type: network.type,
    Flags: network.flags,
    State: NETWORK_STATE,
    ManagementIP: managementAddress(context, network) ?? "",
    NetworkAdapterName: network.adapterName ?? "",
    SwitchGuid: network.switchId,
    IPv6: network.subnets.some((subnet) => subnet.gateway !== undefined && familyOf(subnet.gateway) === 6),
  };
}

// A network as v1 shows it.

const SUBNET_OBJECT_TYPE = 5;
const IP_SUBNET_OBJECT_TYPE = 6;
/** Seen on external networks: 3 or 4. */
const DNS_SERVER_COMPARTMENT = 3;

function v1BareSubnet(subnet: BareSubnetRecord): JsonObject {
  return {
    AdditionalParams: {},
    Flags: subnet.flags,
    Health: { LastErrorCode: 0, LastUpdateTime: 0 },
    ID: formatUpperGuid(subnet.id),
    ObjectType: SUBNET_OBJECT_TYPE,
    Policies: subnet.policies.map((policy) => policyToV1("subnet", policy)),
    State: 0,
  };
}

function v1Subnet(subnet: SubnetRecord): JsonObject {
  return sortFields({
    ...v1BareSubnet(subnet),
    AddressPrefix: formatPrefix(subnet.prefix),
    GatewayAddress: subnet.gateway === undefined ? "" : formatIp(subnet.gateway),
    IpSubnets: subnet.ipSubnets.map((block) => ({
      Flags: block.flags,
      ID: formatUpperGuid(block.id),
      IpAddressPrefix: formatPrefix(block.prefix),
      ObjectType: IP_SUBNET_OBJECT_TYPE,
      Policies: [],
      State: 0,
    })),
  });
}

/** Policies that v1 shows as fields of the network. */
const FIELD_POLICIES: readonly string[] = fieldPoliciesOf(NETWORK)
  .filter(({ isShownTwice }) => isShownTwice !== true)
  .map(({ type }) => type);

/** `NAT` or `ICS` before the id. Inferred (hcn.md §4.1): which GUID it is, that of the network. */
function natName({ type, id }: NetworkRecord): string | undefined {
  const traits = traitsOf(type);
  if (!traits.hasChosenSubnet) return undefined;
  return `${traits.needsIcs ? "ICS" : "NAT"}${formatUpperGuid(id)}`;
}

/** What the service missed of the host's interfaces, which it watches for ICS (hcn.md §2.12). */
const NOTIFICATION_COUNTS: JsonObject = Object.freeze(
  Object.fromEntries(
    ["Address", "DNS", "Interface", "Route"].flatMap((what) => [
      [`${what}NotificationMissedCount`, 0],
      [`${what}NotificationSequenceNumber`, 0],
    ]),
  ),
);

function healthV1(context: ServiceContext, network: NetworkRecord): JsonObject {
  const data = healthData(context, network, notEnforcedOnNetwork(context, network));
  return traitsOf(network.type).needsIcs ? sortFields({ ...NOTIFICATION_COUNTS, ...data }) : data;
}

/** The fields that only some types have. */
function typeFields(
  context: ServiceContext,
  network: NetworkRecord,
): Readonly<Record<string, JsonValue | undefined>> {
  const isExternal = network.switchKind === "external";
  return {
    DNSServerCompartment: isExternal ? DNS_SERVER_COMPARTMENT : undefined,
    DrMacAddress: routerMac(context, network),
    GatewayMac: network.hostMac === undefined ? undefined : formatMac(network.hostMac),
    ManagementIP: managementAddress(context, network),
    NatName: natName(network),
    NetworkAdapterName: network.adapterName,
  };
}

function interfaceConstraint({ policies }: NetworkRecord): JsonObject {
  for (const policy of policies)
    if (policy.Type === "InterfaceConstraint") return { InterfaceGuid: ZERO_GUID, ...policy.Settings };
  return { InterfaceGuid: ZERO_GUID };
}

/** A network in v1 shape. */
export function networkDocumentV1(
  context: ServiceContext,
  network: NetworkRecord,
  isDetailed: boolean,
): JsonObject {
  // Inferred: the counts begin anew with the service; no source shows them after a restart.
  const { endpointCount, endpointCountMax, endpointCountTotal } = context.state.membersOf(network.id);
  return sortFields(
    withKept(
      {
        ...NETWORK_FORM.print(sharedValues(network)),
        ...fieldsOfPolicies(NETWORK, network.policies),
        ActivityId: formatUpperGuid(network.activityId),
        AdditionalParams: network.additionalParams ?? {},
        CurrentEndpointCount: endpointCount,
        Extensions: extensionDocuments(context, network),
        Health: healthV1(context, network),
        ID: formatUpperGuid(network.id),
        IPv6: network.subnets.some((subnet) => prefixFamily(subnet.prefix) === 6),
        InterfaceConstraint: interfaceConstraint(network),
        IsolateSwitch: network.isIsolated,
        Layer: isDetailed ? layerDocument(context, network) : undefined,
        LayeredOn: formatUpperGuid(network.layerId),
        MaxConcurrentEndpoints: endpointCountMax,
        Name: network.name,
        Policies: network.policies
          .filter((policy) => !FIELD_POLICIES.includes(policy.Type))
          .map((policy) => policyToV1("network", policy)),
        Resources: isDetailed ? networkResources(context, network) : undefined,
        State: NETWORK_STATE,
        Subnets: [...network.subnets.map(v1Subnet), ...network.bareSubnets.map(v1BareSubnet)],
        SwitchGuid: formatUpperGuid(network.switchId),
        SwitchName: network.adapterName ?? network.name,
        TotalEndpoints: endpointCountTotal,
        ...typeFields(context, network),
        Type: network.type,
        Version: network.version,
      },
      network.kept?.v1,
    ),
  );
}

// The switch layer below a network and the resources that it holds (hcn.md §2.9, §5.1): what a detailed query adds.
// Fields that name things which are not simulated, such as device instances, are left out.

function networkAllocator(tag: string, order: number, fields: JsonObject): JsonObject {
  return sortFields({
    AdditionalParams: {},
    AllocationOrder: order,
    ...fields,
    Flags: 0,
    IsPolicy: false,
    State: ALLOCATOR_STATE,
    Tag: tag,
  });
}

function hostVnic(context: ServiceContext, network: NetworkRecord): JsonObject | undefined {
  const adapter = network.switchKind === "external" ? context.adapterOf(network) : undefined;
  const mac = adapter?.mac ?? network.hostMac;
  if (mac === undefined || !hasHostPort(context, network)) return undefined;
  const name = `vEthernet (${adapter?.name ?? network.name})`;
  return {
    Connected: true,
    MacAddress: formatMac(mac),
    NetworkId: formatUpperGuid(network.id),
    NicFriendlyName: name,
    PortFriendlyNamePrefix: name,
    SwitchId: formatUpperGuid(network.switchId),
    nonPersistentPort: false,
  };
}

/** What Internet Connection Sharing serves. */
function sharing(network: NetworkRecord): JsonObject | undefined {
  const [subnet] = network.subnets;
  if (!traitsOf(network.type).needsIcs || subnet === undefined) return undefined;
  const { additionalParams: params, flags } = network;
  return {
    Dhcp: (flags & NETWORK_FLAGS.EnableDhcpServer) !== 0,
    DisableSharing: (flags & NETWORK_FLAGS.DisableSharing) !== 0,
    Dns: (flags & NETWORK_FLAGS.EnableDnsProxy) !== 0,
    ICSFlags: isJsonObject(params) ? (params["ICSFlags"] ?? 0) : 0,
    Prefix: subnet.prefix.length,
    SubnetIPAddress: formatIp(subnet.prefix.address),
  };
}

function allocators(context: ServiceContext, network: NetworkRecord): readonly JsonObject[] {
  const parts: readonly (readonly [string, JsonObject | undefined])[] = [
    ["External Adapter Info", network.switchKind === "external" ? {} : undefined],
    ["Host Vnic", hostVnic(context, network)],
    ["ICS", sharing(network)],
  ];
  const present = parts.filter((part): part is readonly [string, JsonObject] => part[1] !== undefined);
  return present.map(([tag, fields], order) => networkAllocator(tag, order, fields));
}

/** `Resources` of a network in v1, without its allocators. */
function networkResources(context: ServiceContext, network: NetworkRecord): JsonObject {
  return { ...resourcesDocument(context, network, []), parentId: formatUpperGuid(network.layerId) };
}

/** `Layer` of a detailed query. */
function layerDocument(context: ServiceContext, network: NetworkRecord): JsonObject {
  return {
    ID: formatUpperGuid(network.layerId),
    Resources: sortFields({
      ...networkResources(context, network),
      Allocators: allocators(context, network),
    }),
  };
}

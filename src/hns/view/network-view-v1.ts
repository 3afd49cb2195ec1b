/** A network as v1 shows it (hcn.md §2.12, §9.4). */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { ZERO_GUID, formatUpperGuid } from "#contracts/hcn/guid.ts";
import { formatIp, formatPrefix, prefixFamily } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { notEnforcedOnNetwork } from "../service/enforcement.ts";
import type { BareSubnetRecord, NetworkRecord, SubnetRecord } from "../service/network/network-record.ts";
import { extensionDocuments } from "../service/network/extensions.ts";
import { managementAddress, routerMac } from "../service/network/management.ts";
import { traitsOf } from "../service/network/type-traits.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { withKept } from "../store/kept-fields.ts";
import { policyToV1 } from "../v1/policy-mapping.ts";
import { healthData, sortFields, v1DnsFields, withoutDefaults } from "./document-fields.ts";
import { layerDocument, resourcesDocument } from "./network-resources.ts";
import { NETWORK_STATE } from "./network-view.ts";

const SUBNET_OBJECT_TYPE = 5;
const IP_SUBNET_OBJECT_TYPE = 6;
/** Seen on external networks: 3 or 4. */
const DNS_SERVER_COMPARTMENT = 3;

function v1Subnet(subnet: SubnetRecord): JsonObject {
  const document: Record<string, JsonValue> = {
    AdditionalParams: {},
    AddressPrefix: formatPrefix(subnet.prefix),
    Flags: subnet.flags,
    GatewayAddress: subnet.gateway === undefined ? "" : formatIp(subnet.gateway),
    Health: { LastErrorCode: 0, LastUpdateTime: 0 },
    ID: formatUpperGuid(subnet.id),
    IpSubnets: subnet.ipSubnets.map((block) => ({
      Flags: block.flags,
      ID: formatUpperGuid(block.id),
      IpAddressPrefix: formatPrefix(block.prefix),
      ObjectType: IP_SUBNET_OBJECT_TYPE,
      Policies: [],
      State: 0,
    })),
    ObjectType: SUBNET_OBJECT_TYPE,
    Policies: subnet.policies.map((policy) => policyToV1("subnet", policy)),
    State: 0,
  };
  return document;
}

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

/** Policies that v1 shows as fields of the network. */
const FIELD_POLICIES: readonly string[] = [
  "NetAdapterName",
  "SourceMacAddress",
  "AutomaticDNS",
  "DrMacAddress",
];

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

function health(context: ServiceContext, network: NetworkRecord): JsonObject {
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
  const sourceMac = network.policies.find((policy) => policy.Type === "SourceMacAddress");
  const automaticDns = network.policies.find((policy) => policy.Type === "AutomaticDNS");
  return sortFields(
    withKept(
      {
        ActivityId: formatUpperGuid(network.activityId),
        AdditionalParams: network.additionalParams ?? {},
        AutomaticDNS: automaticDns?.Settings.Enable,
        CurrentEndpointCount: endpointCount,
        ...withoutDefaults(v1DnsFields(network.dns)),
        Extensions: extensionDocuments(context, network),
        Flags: network.flags,
        Health: health(context, network),
        ID: formatUpperGuid(network.id),
        IPv6: network.subnets.some((subnet) => prefixFamily(subnet.prefix) === 6),
        InterfaceConstraint: interfaceConstraint(network),
        IsolateSwitch: network.isIsolated,
        Layer: isDetailed ? layerDocument(context, network) : undefined,
        LayeredOn: formatUpperGuid(network.layerId),
        MacPools: network.macRanges.map(({ first, last }) => ({
          EndMacAddress: formatMac(last),
          StartMacAddress: formatMac(first),
        })),
        MaxConcurrentEndpoints: endpointCountMax,
        Name: network.name,
        Policies: network.policies
          .filter((policy) => !FIELD_POLICIES.includes(policy.Type))
          .map((policy) => policyToV1("network", policy)),
        Resources: isDetailed ? resourcesDocument(context, network) : undefined,
        SourceMac: sourceMac?.Settings.SourceMacAddress,
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

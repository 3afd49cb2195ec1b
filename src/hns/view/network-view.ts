/** A network as results show it, in both dialects (hcn.md §2.2, §2.12, §9.4). */
import type { JsonObject, JsonValue } from "../../hcn/client.ts";
import { formatUpperGuid } from "../../hcn/guid.ts";
import { familyOf, formatIp } from "../../net/ip.ts";
import { formatMac } from "../../net/mac.ts";
import { formatPrefix, prefixFamily } from "../../net/prefix.ts";
import { managementIpOf } from "../compile/port-program.ts";
import { notEnforcedOnNetwork } from "../enforcement.ts";
import type { BareSubnetRecord, NetworkRecord, SubnetRecord } from "../network-record.ts";
import { traitsOf } from "../network/type-traits.ts";
import type { ServiceContext } from "../service-context.ts";
import { policyToV1 } from "../v1/policy-mapping.ts";
import { withKept } from "../stored/kept-fields.ts";
import {
  baseFields,
  healthData,
  policyDocuments,
  routeDocuments,
  sortFields,
  v1DnsFields,
  withoutDefaults,
} from "./document-fields.ts";

/** Networks are in state 1 in all healthy outputs. */
const NETWORK_STATE = 1;
const SUBNET_OBJECT_TYPE = 5;
const IP_SUBNET_OBJECT_TYPE = 6;
/** Seen on external networks: 3 or 4. */
const DNS_SERVER_COMPARTMENT = 3;
const BUILD_NEW_EXTENSIONS = 20_348;

function subnetDocument(subnet: SubnetRecord): JsonObject {
  return withoutDefaults({
    ID: subnet.id,
    Name: subnet.name,
    IpAddressPrefix: formatPrefix(subnet.prefix),
    Policies: policyDocuments(subnet.policies),
    Routes: routeDocuments(subnet.routes),
    IpSubnets: subnet.ipSubnets.map((block) =>
      withoutDefaults({
        ID: block.id,
        Name: block.name,
        IpAddressPrefix: formatPrefix(block.prefix),
        Flags: block.flags,
      }),
    ),
    Flags: subnet.flags,
  });
}

function bareSubnetDocument(subnet: BareSubnetRecord): JsonObject {
  return withoutDefaults({
    ID: subnet.id,
    Name: subnet.name,
    Policies: policyDocuments(subnet.policies),
    Flags: subnet.flags,
  });
}

function ipamDocuments({ ipamType, subnets, bareSubnets }: NetworkRecord): readonly JsonObject[] | undefined {
  if (ipamType === undefined) return undefined;
  const Subnets = [...subnets.map(subnetDocument), ...bareSubnets.map(bareSubnetDocument)];
  return [withoutDefaults({ Type: ipamType, Subnets })];
}

function macPoolDocument(network: NetworkRecord): JsonObject {
  return {
    Ranges: network.macRanges.map((range) => ({
      StartMacAddress: formatMac(range.first),
      EndMacAddress: formatMac(range.last),
    })),
  };
}

export function dnsDocument(dns: NetworkRecord["dns"]): JsonObject | undefined {
  if (dns === undefined) return undefined;
  const document = withoutDefaults({
    Domain: dns.Domain,
    Search: dns.Search,
    ServerList: dns.ServerList,
    Options: dns.Options,
  });
  return Object.keys(document).length === 0 ? undefined : document;
}

/** A network in v2 shape; `isDetailed` adds the switch layer. NAT, the default type, would be left out. */
export function networkDocument(
  context: ServiceContext,
  network: NetworkRecord,
  isDetailed: boolean,
): JsonObject {
  const health = {
    Data: healthData(context, network, notEnforcedOnNetwork(network)),
    Extra: {
      LayeredOn: network.layerId,
      SwitchGuid: network.switchId,
      ...(isDetailed && { Layer: { ID: network.layerId, Resources: { Allocators: [] } } }),
    },
  };
  return withKept(
    withoutDefaults({
      ...baseFields(network, health, NETWORK_STATE),
      Type: network.type === "NAT" ? undefined : network.type,
      Policies: policyDocuments(network.policies),
      MacPool: macPoolDocument(network),
      Dns: dnsDocument(network.dns),
      Ipams: ipamDocuments(network),
      Flags: network.flags,
    }),
    network.kept?.v2,
  );
}

/** Ids and names of switch extensions, by build (hcn.md §2.12). */
function extensionDocuments(context: ServiceContext, network: NetworkRecord): readonly JsonObject[] {
  const isNew = context.windows.profile.build >= BUILD_NEW_EXTENSIONS;
  return [
    {
      Id: "E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A",
      IsEnabled: false,
      Name: "Microsoft Windows Filtering Platform",
    },
    {
      Id: isNew ? "F74F241B-440F-4433-BB28-00F89EAD20D8" : "E9B59CFA-2BE1-4B21-828F-B6FBDBDDC017",
      IsEnabled: traitsOf(network.type).needsVfp,
      Name: "Microsoft Azure VFP Switch Extension",
    },
    {
      Id: isNew ? "430BDADD-BAB0-41AB-A369-94B67FA5BE0A" : "EA24CD6C-D17A-4348-9190-09F0D5BE83DD",
      IsEnabled: true,
      Name: "Microsoft NDIS Capture",
    },
  ];
}

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

/** Networks with VFP have a distributed router; only they show its MAC (hcn.md §2.12). */
function hasRouter({ type }: NetworkRecord): boolean {
  return traitsOf(type).needsVfp;
}

/** Policies that v1 shows as fields of the network. */
const FIELD_POLICIES: readonly string[] = [
  "NetAdapterName",
  "SourceMacAddress",
  "AutomaticDNS",
  "DrMacAddress",
];

/** The address that other nodes and plugins know this node by (hcn.md §4.1); it has it as long as the switch is there. */
export function managementAddress(context: ServiceContext, network: NetworkRecord): string {
  const adapter = context.adapterOf(network);
  const address = adapter && managementIpOf(context.nodeFacts(adapter));
  return address === undefined ? "" : formatIp(address);
}

/** A network in v1 shape. */
export function networkDocumentV1(
  context: ServiceContext,
  network: NetworkRecord,
  isDetailed: boolean,
): JsonObject {
  const count = context.state.membersOf(network.id).endpointCount;
  const sourceMac = network.policies.find((policy) => policy.Type === "SourceMacAddress");
  const automaticDns = network.policies.find((policy) => policy.Type === "AutomaticDNS");
  return sortFields(
    withKept(
      {
        ActivityId: formatUpperGuid(network.activityId),
        AdditionalParams: network.additionalParams ?? {},
        AutomaticDNS: automaticDns?.Settings.Enable,
        CurrentEndpointCount: count,
        DNSServerCompartment: network.switchKind === "external" ? DNS_SERVER_COMPARTMENT : undefined,
        ...withoutDefaults(v1DnsFields(network.dns)),
        DrMacAddress: hasRouter(network) ? formatMac(network.drMac) : undefined,
        Extensions: extensionDocuments(context, network),
        Flags: network.flags,
        Health: healthData(context, network, notEnforcedOnNetwork(network)),
        ID: formatUpperGuid(network.id),
        IPv6: network.subnets.some((subnet) => prefixFamily(subnet.prefix) === 6),
        LayeredOn: formatUpperGuid(network.layerId),
        MacPools: macPoolDocument(network)["Ranges"],
        ManagementIP: network.switchKind === "external" ? managementAddress(context, network) : undefined,
        MaxConcurrentEndpoints: count,
        Name: network.name,
        NetworkAdapterName: network.adapterName,
        Policies: network.policies
          .filter((policy) => !FIELD_POLICIES.includes(policy.Type))
          .map((policy) => policyToV1("network", policy)),
        Resources: isDetailed ? { Allocators: [], ID: formatUpperGuid(network.activityId) } : undefined,
        SourceMac: sourceMac?.Settings.SourceMacAddress,
        State: NETWORK_STATE,
        Subnets: [...network.subnets.map(v1Subnet), ...network.bareSubnets.map(v1BareSubnet)],
        SwitchGuid: formatUpperGuid(network.switchId),
        SwitchName: network.adapterName ?? network.name,
        TotalEndpoints: count,
        Type: network.type,
        Version: network.version,
      },
      network.kept?.v1,
    ),
  );
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
    ManagementIP: managementAddress(context, network),
    NetworkAdapterName: network.adapterName ?? "",
    SwitchGuid: network.switchId,
    IPv6: network.subnets.some((subnet) => subnet.gateway !== undefined && familyOf(subnet.gateway) === 6),
  };
}

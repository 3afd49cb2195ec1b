/** A network as results show it, in both dialects (hcn.md §2.2, §2.12, §9.4). */
import { DNS } from "#contracts/hcn/documents/base-document.ts";
import type { JsonObject } from "#core/base/json.ts";
import { printerOf } from "#contracts/hcn/description/print-object.ts";
import { familyOf, formatPrefix } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { notEnforcedOnNetwork } from "../service/enforcement.ts";
import type { BareSubnetRecord, NetworkRecord, SubnetRecord } from "../service/network/network-record.ts";
import { managementAddress, shownPolicies } from "../service/network/management.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { withKept } from "../store/kept-fields.ts";
import {
  baseFields,
  healthData,
  policyDocuments,
  routeDocuments,
  withoutDefaults,
} from "./document-fields.ts";
import { layerDocument } from "./network-resources.ts";

/** Networks are in state 1 in all healthy outputs. */
export const NETWORK_STATE = 1;

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

const DNS_PRINTER = printerOf(DNS);

function dnsDocument(dns: NetworkRecord["dns"]): JsonObject | undefined {
  if (dns === undefined) return undefined;
  const document = DNS_PRINTER.print(dns);
  return Object.keys(document).length === 0 ? undefined : document;
}

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
  return withKept(
    withoutDefaults({
      ...baseFields(network, health, NETWORK_STATE),
      Type: network.type === "NAT" ? undefined : network.type,
      Policies: policyDocuments(shownPolicies(context, network)),
      MacPool: macPoolDocument(network),
      Dns: dnsDocument(network.dns),
      Ipams: ipamDocuments(network),
      Flags: network.flags,
      // Inferred (hcn.md §5.1): the place of the layer in a v2 result.
      Layer: isDetailed ? layerDocument(context, network) : undefined,
    }),
    network.kept?.v2,
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
    ManagementIP: managementAddress(context, network) ?? "",
    NetworkAdapterName: network.adapterName ?? "",
    SwitchGuid: network.switchId,
    IPv6: network.subnets.some((subnet) => subnet.gateway !== undefined && familyOf(subnet.gateway) === 6),
  };
}

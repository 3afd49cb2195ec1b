/**
 * The switch layer below a network and the resources that it holds (hcn.md §2.9, §5.1): what a detailed query adds.
 * Fields that name things which are not simulated, such as device instances, are left out.
 */
import type { JsonObject } from "#core/base/json.ts";
import { formatUpperGuid } from "#contracts/hcn/guid.ts";
import { isJsonObject } from "#core/base/json.ts";
import { NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import { formatIp } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import type { NetworkRecord } from "../service/network/network-record.ts";
import { hasHostPort } from "../service/network/make-record.ts";
import { traitsOf } from "../service/network/type-traits.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { sortFields } from "./document-fields.ts";

/** Resources are in state 1, allocators in state 3 (hcn.md §2.10). */
const RESOURCES_STATE = 1;
const ALLOCATOR_STATE = 3;

function allocator(tag: string, order: number, fields: JsonObject): JsonObject {
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
  return present.map(([tag, fields], order) => allocator(tag, order, fields));
}

/** `Resources` of a network in v1, without its allocators. */
export function resourcesDocument(context: ServiceContext, network: NetworkRecord): JsonObject {
  return {
    AdditionalParams: {},
    AllocationOrder: 0,
    CompartmentOperationTime: 0,
    Flags: 0,
    Health: { LastErrorCode: 0, LastUpdateTime: context.fileTime(network.changedAtMs) },
    ID: formatUpperGuid(network.activityId),
    PortOperationTime: 0,
    State: RESOURCES_STATE,
    SwitchOperationTime: 0,
    VfpOperationTime: 0,
    parentId: formatUpperGuid(network.layerId),
  };
}

/** `Layer` of a detailed query. */
export function layerDocument(context: ServiceContext, network: NetworkRecord): JsonObject {
  return {
    ID: formatUpperGuid(network.layerId),
    Resources: sortFields({
      ...resourcesDocument(context, network),
      Allocators: allocators(context, network),
    }),
  };
}

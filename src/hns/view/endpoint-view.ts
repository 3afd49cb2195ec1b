/** An endpoint as results show it, in both dialects (hcn.md §2.3, §2.12, §9.11). */
import type { JsonObject } from "#core/base/json.ts";
import { type Guid, ZERO_GUID, formatUpperGuid } from "#contracts/hcn/guid.ts";
import { ENDPOINT } from "#contracts/hcn/documents/endpoint.ts";
import { formatIp } from "#core/net/ip.ts";
import { notEnforcedOnEndpoint, notProcessed } from "../service/enforcement.ts";
import {
  type EndpointRecord,
  type NetworkRecord,
  endpointState,
  isRemoteEndpoint,
} from "../service/records.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { policyToV1 } from "../v1/policy-mapping.ts";
import { withKept } from "../store/kept-fields.ts";
import {
  healthData,
  policyDocuments,
  sortFields,
  baseValues,
  routeValues,
  allocator,
  resourcesDocument,
} from "./document-fields.ts";
import { type PrintableOf, printerOf } from "#contracts/hcn/description/object-json.ts";
import { ENDPOINT_FORM } from "#contracts/hcn/documents/v1-documents.ts";
import { fieldsOfPolicies } from "#contracts/hcn/v1-form/v1-form.ts";
import { NOTHING_PASSED, type PortStatistics } from "../ports/datapath.ts";

/** HNS 9 wrote the ids of endpoints in upper case; HNS 15 writes lower case (hcn.md §9.23, §2.12). Inferred: between. */
const LOWER_CASE_SINCE_MAJOR = 10;

function networkOf(context: ServiceContext, endpoint: EndpointRecord): NetworkRecord | undefined {
  return context.state.networks.get(endpoint.networkId);
}

function networkName(context: ServiceContext, endpoint: EndpointRecord): string {
  return context.state.networks.get(endpoint.networkId)?.name ?? "";
}

/** A remote endpoint has no resolver here, so it inherits none (hcn.md §9.15). */
function dnsOf(context: ServiceContext, endpoint: EndpointRecord): EndpointRecord["dns"] {
  if (isRemoteEndpoint(endpoint)) return endpoint.dns;
  return endpoint.dns ?? context.state.networks.get(endpoint.networkId)?.dns;
}

/** The switch port of an attached endpoint (hcn.md §2.9, §9.21). */
function portAllocators(context: ServiceContext, endpoint: EndpointRecord): readonly JsonObject[] {
  const portId = endpoint.virtualMachine?.portId ?? endpoint.attachment?.portId;
  const network = context.state.networks.get(endpoint.networkId);
  if (portId === undefined || network === undefined) return NO_ALLOCATORS;
  const nicName = endpoint.virtualMachine?.nicName;
  return [
    allocator(context, endpoint, "Endpoint Port", {
      SwitchId: formatUpperGuid(network.switchId),
      EndpointPortGuid: formatUpperGuid(portId),
      ...(nicName !== undefined && { NicFriendlyName: nicName }),
    }),
  ];
}

const NO_ALLOCATORS: readonly JsonObject[] = Object.freeze([]);

/** `Health.Extra`: resources when there is a port, or when a query asks for details. */
function extra(context: ServiceContext, endpoint: EndpointRecord, isDetailed: boolean): JsonObject {
  const allocators = portAllocators(context, endpoint);
  const virtualMachine = endpoint.virtualMachine?.virtualMachineId;
  return {
    ...((isDetailed || allocators.length > 0) && {
      Resources: resourcesDocument(context, endpoint, allocators),
    }),
    ...(endpoint.containers.length > 0 && { SharedContainers: endpoint.containers }),
    ...(virtualMachine !== undefined && { VirtualMachine: virtualMachine }),
  };
}

/** `Health.Data` of v2 documents, `Health` of v1 documents. */
function health(context: ServiceContext, endpoint: EndpointRecord): JsonObject {
  const notEnforced = [
    ...notProcessed(context, endpoint),
    ...notEnforcedOnEndpoint(endpoint, networkOf(context, endpoint)),
  ];
  return healthData(context, endpoint, notEnforced, endpoint.errorCode);
}

const PRINTER = printerOf(ENDPOINT);

type EndpointValues = PrintableOf<typeof ENDPOINT>;

function addressValues({ ipConfigs }: EndpointRecord): EndpointValues["IpConfigurations"] {
  return ipConfigs.map(({ ip, length, ipSubnetId }) => ({
    IpAddress: formatIp(ip),
    PrefixLength: length,
    IpSubnetId: ipSubnetId,
  }));
}

/** What both dialects show of an endpoint. */
function valuesOf(context: ServiceContext, endpoint: EndpointRecord): EndpointValues {
  return {
    ...baseValues(endpoint, endpointState(endpoint)),
    HostComputeNetwork: endpoint.networkId,
    HostComputeNamespace: endpoint.attachment?.namespaceId,
    IpConfigurations: addressValues(endpoint),
    Dns: dnsOf(context, endpoint),
    Routes: endpoint.routes.map(routeValues),
    MacAddress: endpoint.macText,
    Flags: endpoint.flags,
  };
}

/** An endpoint in v2 shape. `IpConfigurations` is never empty: clients read its first element. */
export function endpointDocument(
  context: ServiceContext,
  endpoint: EndpointRecord,
  isDetailed = false,
): JsonObject {
  const document = PRINTER.print({
    ...valuesOf(context, endpoint),
    Health: { Data: health(context, endpoint), Extra: extra(context, endpoint, isDetailed) },
    Policies: policyDocuments(endpoint.policies),
  });
  return withKept(document, endpoint.kept?.v2);
}

/** An endpoint in v1 shape. */
export function endpointDocumentV1(context: ServiceContext, endpoint: EndpointRecord): JsonObject {
  const isOld = context.version.Major < LOWER_CASE_SINCE_MAJOR;
  const spell = (guid: Guid): string => (isOld ? formatUpperGuid(guid) : guid);
  const namespace = context.state.namespaceOf(endpoint.attachment?.namespaceId);
  const policies = endpoint.policies.map((policy) => policyToV1("endpoint", policy));
  return sortFields(
    withKept(
      {
        ...ENDPOINT_FORM.print(valuesOf(context, endpoint)),
        ...fieldsOfPolicies(ENDPOINT, endpoint.policies),
        ActivityId: formatUpperGuid(endpoint.activityId),
        AdditionalParams: endpoint.additionalParams ?? {},
        Health: health(context, endpoint),
        ID: spell(endpoint.id),
        InterfaceConstraint: isOld ? { InterfaceGuid: ZERO_GUID } : undefined,
        Namespace: {
          ...(isOld && { CompartmentGuid: formatUpperGuid(namespace?.compartmentGuid ?? ZERO_GUID) }),
          ID: spell(endpoint.attachment?.namespaceId ?? ZERO_GUID),
        },
        // Old versions show an empty list, new ones none (hcn.md §9.23, §2.12).
        Policies: policies.length === 0 && !isOld ? undefined : policies,
        Resources: resourcesDocument(context, endpoint, portAllocators(context, endpoint)),
        SharedContainers: endpoint.containers,
        Type: context.state.networks.get(endpoint.networkId)?.type,
        VirtualMachine: endpoint.virtualMachine?.virtualMachineId,
        VirtualNetwork: spell(endpoint.networkId),
        VirtualNetworkName: networkName(context, endpoint),
      },
      endpoint.kept?.v1,
    ),
  );
}

/** The fields that filters compare: the names of v1, and those of v2 where they differ (hcn.md §5.1). */
export function endpointFilterFields(context: ServiceContext, endpoint: EndpointRecord): JsonObject {
  return {
    ID: endpoint.id,
    Name: endpoint.name,
    Owner: endpoint.owner,
    VirtualNetwork: endpoint.networkId,
    HostComputeNetwork: endpoint.networkId,
    VirtualNetworkName: networkName(context, endpoint),
    HostComputeNamespace: endpoint.attachment?.namespaceId ?? ZERO_GUID,
    MacAddress: endpoint.macText,
    Flags: endpoint.flags,
    State: endpointState(endpoint),
    VirtualMachine: endpoint.virtualMachine?.virtualMachineId,
  };
}

// What `HcnQueryEndpointStats` and `HcnQueryEndpointAddresses` answer, and their v1 twins (hcn.md §1.7, §9.23).

/** The counters of the endpoint's port since it was made. */
function statisticsOf(context: ServiceContext, endpoint: EndpointRecord): PortStatistics {
  const network = context.state.networks.get(endpoint.networkId);
  const portId = endpoint.attachment?.portId;
  if (network === undefined || portId === undefined) return NOTHING_PASSED;
  return context.datapath.statisticsOf(network.switchId, portId) ?? NOTHING_PASSED;
}

/**
 * The statistics of an endpoint. Inferred (hcn.md §11.6): the v2 call answers what v1 does, and `InstanceId`, which is
 * not the endpoint's id in the one output that was published, is that of the port, else of the endpoint's resources.
 */
export function endpointStatisticsDocument(context: ServiceContext, endpoint: EndpointRecord): JsonObject {
  const statistics = statisticsOf(context, endpoint);
  return {
    BytesReceived: statistics.bytesReceived,
    BytesSent: statistics.bytesSent,
    DroppedPacketsIncoming: statistics.droppedIncoming,
    DroppedPacketsOutgoing: statistics.droppedOutgoing,
    EndpointId: formatUpperGuid(endpoint.id),
    InstanceId: formatUpperGuid(endpoint.attachment?.portId ?? endpoint.activityId),
    PacketsReceived: statistics.packetsReceived,
    PacketsSent: statistics.packetsSent,
  };
}

/** The addresses of an endpoint. Inferred (hcn.md §11.6): what the call answers is not published. */
export function endpointAddressesDocument(endpoint: EndpointRecord): JsonObject {
  return {
    EndpointId: formatUpperGuid(endpoint.id),
    IpConfigurations: [],
    ...PRINTER.print({ IpConfigurations: addressValues(endpoint) }),
    MacAddress: endpoint.macText,
  };
}

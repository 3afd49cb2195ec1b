/** What `HcnQueryEndpointStats` and `HcnQueryEndpointAddresses` answer, and their v1 twins (hcn.md §1.7, §9.23). */
import type { JsonObject } from "#core/base/json.ts";
import { formatUpperGuid } from "#contracts/hcn/guid.ts";
import { formatIp } from "#core/net/ip.ts";
import { NOTHING_PASSED, type PortStatistics } from "../ports/datapath.ts";
import type { EndpointRecord } from "../service/endpoint/endpoint-record.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { withoutDefaults } from "./document-fields.ts";

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

/** The addresses of an endpoint. Inferred (hcn.md §11.6): nobody has published what the call answers. */
export function endpointAddressesDocument(endpoint: EndpointRecord): JsonObject {
  return {
    EndpointId: formatUpperGuid(endpoint.id),
    IpConfigurations: endpoint.ipConfigs.map((config) =>
      withoutDefaults({
        IpAddress: formatIp(config.ip),
        PrefixLength: config.length,
        IpSubnetId: config.ipSubnetId,
      }),
    ),
    MacAddress: endpoint.macText,
  };
}

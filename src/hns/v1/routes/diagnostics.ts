/**
 * What HNS v1 tells about the service itself (hcn.md §1.7). Only the version's answer, and that `/portpools` is an
 * object with `PortPoolAllocations`, are known. Inferred (hcn.md §11.6): the other fields here.
 */
import type { JsonObject } from "#core/base/json.ts";
import { formatUpperGuid } from "#contracts/hcn/guid.ts";
import { NETWORK_TYPES } from "#contracts/hcn/documents/network.ts";
import { formatIp } from "#core/net/ip.ts";
import type { RecordBase } from "../../service/network/network-record.ts";
import type { ServiceContext } from "../../service/service-context.ts";
import type { Routes } from "../route.ts";

/** The resources that the service set aside, by the object that they are for. */
function activities(context: ServiceContext): readonly JsonObject[] {
  const { networks, endpoints, namespaces, loadBalancers } = context.state;
  const kinds: readonly (readonly [string, Iterable<RecordBase>])[] = [
    ["Network", networks.values()],
    ["Endpoint", endpoints.values()],
    ["Namespace", namespaces.values()],
    ["PolicyList", loadBalancers.values()],
  ];
  return kinds.flatMap(([EntityType, records]) =>
    [...records].map((record) => ({
      ActivityId: formatUpperGuid(record.activityId),
      EntityId: formatUpperGuid(record.id),
      EntityType,
      LastUpdateTime: context.fileTime(record.changedAtMs),
    })),
  );
}

/** The NAT ports that are set aside on the node. */
function portPools(context: ServiceContext): JsonObject {
  return {
    PortPoolAllocations: context.datapath.listPortPools().map((pool) => ({
      EndingPort: pool.range.last,
      IPAddress: formatIp(pool.ip),
      PortId: formatUpperGuid(pool.portId),
      Protocol: pool.protocol,
      StartingPort: pool.range.first,
      SwitchId: formatUpperGuid(pool.switchId),
    })),
  };
}

export const DIAGNOSTIC_ROUTES: Routes = {
  "GET /globals/version": ({ context }) => ({
    Major: context.version.Major,
    Minor: context.version.Minor,
  }),
  "GET /activities": ({ context }) => activities(context),
  // What HNS has a driver for; the types are its plugins.
  "GET /plugins": () => NETWORK_TYPES.map((Name) => ({ Name })),
  "GET /portpools": ({ context }) => portPools(context),
};

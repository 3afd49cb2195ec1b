/**
 * What HNS v1 tells about the service itself (hcn.md §1.7). Only the version's answer, and that `/portpools` is an
 * object with `PortPoolAllocations`, are known. Inferred (hcn.md §11.6): the other fields here.
 */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { formatUpperGuid } from "#contracts/hcn/guid.ts";
import { NETWORK_TYPES } from "#contracts/hcn/documents/network.ts";
import { formatIp } from "#core/net/ip.ts";
import type { RecordBase } from "../../service/records.ts";
import type { ServiceContext } from "../../service/service-context.ts";
import { type Handler, type Routes, type V1Request, bodyOf } from "../route.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { JsonReader } from "#contracts/hcn/description/json.ts";
import { isGroupMac, parseMac } from "#core/net/mac.ts";
import { NO_GLOBALS, GLOBALS_ID } from "../../service/state.ts";

// `/accelnet` of HNS v1: the MACs of a fabric's management adapters, from HNS 15.4 on (hcn.md §1.7, §9.10).

/** More are refused; clients send two. */
const MACS_MAX = 1_024;

function listDocument(context: ServiceContext): JsonObject {
  return { MacAddressList: context.state.globals.accelnetMacs.map((MacAddress) => ({ MacAddress })) };
}

/** Inferred: the code for an entry that is no MAC. */
function readMacs(body: JsonValue): readonly string[] {
  const reader = JsonReader.of(body, "request", "HCN_E_INVALID_JSON");
  const macs = reader.list("MacAddressList", (entry) => {
    const text = entry.text("MacAddress") ?? "";
    const mac = parseMac(text);
    if (mac === undefined || isGroupMac(mac)) throw entry.fail("MacAddress", "a unicast MAC address");
    return text;
  });
  if (macs === undefined || macs.length > MACS_MAX)
    throw reader.fail("MacAddressList", `a list of at most ${MACS_MAX} MAC addresses`);
  return Object.freeze(macs);
}

function set(request: V1Request): JsonValue {
  request.context.state.setGlobals({ accelnetMacs: readMacs(bodyOf(request)) });
  request.context.changed("Globals", GLOBALS_ID);
  return listDocument(request.context);
}

function clear({ context }: V1Request): JsonValue {
  context.state.setGlobals({ accelnetMacs: NO_GLOBALS.accelnetMacs });
  context.changed("Globals", GLOBALS_ID);
  return listDocument(context);
}

/** @throws HcnError HCN_E_REQUEST_UNSUPPORTED: what older versions, which do not know the path, answer. */
function whenServed(handler: Handler): Handler {
  return (request) => {
    if (request.context.has("Accelnet")) return handler(request);
    throw new HcnError("HCN_E_REQUEST_UNSUPPORTED", { detail: "/accelnet needs HNS 15.4 or later" });
  };
}

export const ACCELNET_ROUTES: Routes = {
  "GET /accelnet": whenServed(({ context }) => listDocument(context)),
  "POST /accelnet": whenServed(set),
  "DELETE /accelnet": whenServed(clear),
};

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

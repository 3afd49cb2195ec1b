/** `/accelnet` of HNS v1: the MACs of a fabric's management adapters, from HNS 15.4 on (hcn.md §1.7, §9.10). */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { JsonReader } from "#contracts/hcn/description/json.ts";
import { isGroupMac, parseMac } from "#core/net/mac.ts";
import { NO_GLOBALS, GLOBALS_ID } from "../../service/state.ts";
import type { ServiceContext } from "../../service/service-context.ts";
import { type Handler, type Routes, type V1Request, bodyOf } from "../route.ts";

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

/** What belongs to no object, in stored form: one entry, there as long as it differs from what a new service has. */
import type { Guid } from "#contracts/hcn/guid.ts";
import { ZERO_GUID } from "#contracts/hcn/guid.ts";
import { NO_GLOBALS } from "../service/globals.ts";
import type { ServiceContext } from "../service/service-context.ts";
import type { StoredKindRow } from "./stored-kind.ts";
import type { StoredObject } from "./stored-object.ts";

/** There is one service, so its entry needs no id of its own. */
export const GLOBALS_ID: Guid = ZERO_GUID;

function storedGlobals(context: ServiceContext): StoredObject | undefined {
  const { accelnetMacs } = context.state.globals;
  if (accelnetMacs.length === 0) return undefined;
  return { kind: "Globals", id: GLOBALS_ID, document: { AccelnetMacs: accelnetMacs } };
}

/** Takes everything away that belongs to no object. */
export function clearGlobals(context: ServiceContext): void {
  if (context.state.globals === NO_GLOBALS) return;
  context.state.setGlobals(NO_GLOBALS);
  context.changed("Globals", GLOBALS_ID);
}

export const STORED_GLOBALS: StoredKindRow = {
  kind: "Globals",
  list: (context) => {
    const stored = storedGlobals(context);
    return stored === undefined ? [] : [stored];
  },
  store: (context) => storedGlobals(context),
  ids: (context) => (storedGlobals(context) === undefined ? [] : [GLOBALS_ID]),
  enter: (context, { document }, _keepsUnknownFields, report) => {
    const macs = document["AccelnetMacs"];
    if (!Array.isArray(macs) || !macs.every((mac) => typeof mac === "string")) {
      report("AccelnetMacs is not a list of texts; left out");
      return;
    }
    context.state.setGlobals({ accelnetMacs: Object.freeze([...macs]) });
  },
};

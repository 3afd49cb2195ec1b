/**
 * Faults over HTTP, beside the calls of `http-protocol.ts`: one row per request, from which the server answers and the
 * published description is made.
 *
 * ```
 * GET    /hcn/faults                         → {"result": [status…]}
 * POST   /hcn/faults         a fault or a plan → {"result": [id…]}
 * DELETE /hcn/faults, /hcn/faults/{id}       → {"result": null}
 * POST   /hcn/faults/release {"id"?}         → {"result": how many}
 * POST   /hcn/faults/forget-load-balancers {"ids"?} → {"result": [guid…]}
 * POST   /hcn/faults/restart {"state"?}      → {"result": null}
 * POST   /hcn/faults/reboot  {}              → {"result": null}
 * GET    /hcn/faults/quirks                  → {"result": [{"name", "setting", "concernsBuild"}…]}
 * POST   /hcn/faults/quirks  {"name", "setting"} → {"result": null}
 * ```
 */
import type { JsonValue } from "#core/base/json.ts";
import { checkJsonValue } from "#contracts/hcn/description/json.ts";
import { isJsonObject } from "#core/base/json.ts";
import { type HnsFaults, RESTART_STATES, type RestartState } from "./fault.ts";
import { invalidFault, isFaultPlan, readFault, readFaultPlan, readQuirk } from "./read-fault.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

export const FAULTS_PATH = "/hcn/faults";

export interface FaultPath {
  readonly method: "GET" | "POST" | "DELETE";
  /** `{id}` stands for the id of a fault. */
  readonly path: string;
  readonly operationId: string;
  /** One line without a full stop. */
  readonly summary: string;
  /** @throws HcnError what the request is refused with. */
  readonly perform: (faults: HnsFaults, id: string, body: JsonValue) => Promise<JsonValue>;
}

function field(body: JsonValue, name: string): JsonValue | undefined {
  if (isJsonObject(body)) return body[name];
  throw invalidFault("the request must be an object");
}

function readIds(value: JsonValue | undefined): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const items: readonly JsonValue[] = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
  const ids = items.filter((item) => typeof item === "string");
  if (Array.isArray(value) && ids.length === items.length) return ids;
  throw invalidFault("ids must be a list of GUIDs");
}

function readState(value: JsonValue | undefined): RestartState | undefined {
  const state = RESTART_STATES.find((known) => known === value);
  if (value === undefined || state !== undefined) return state;
  throw invalidFault(`state must be one of ${RESTART_STATES.join(", ")}`);
}

function readReleased(value: JsonValue | undefined): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw invalidFault("id must be that of a fault");
}

async function done(work: Promise<void>): Promise<null> {
  await work;
  return null;
}

export const FAULT_PATHS: readonly FaultPath[] = Object.freeze([
  {
    method: "GET",
    path: FAULTS_PATH,
    operationId: "listFaults",
    summary: "The faults in force, and what each has struck",
    perform: async (faults) => checkJsonValue(await faults.list()),
  },
  {
    method: "POST",
    path: FAULTS_PATH,
    operationId: "addFaults",
    summary: "Puts a fault, or all faults of a plan, in force",
    perform: async (faults, _id, body) =>
      isFaultPlan(body) ? faults.apply(readFaultPlan(body)) : [await faults.add(readFault(body))],
  },
  {
    method: "DELETE",
    path: FAULTS_PATH,
    operationId: "clearFaults",
    summary: "Takes all faults away",
    perform: async (faults) => done(faults.clear()),
  },
  {
    method: "DELETE",
    path: `${FAULTS_PATH}/{id}`,
    operationId: "removeFault",
    summary: "Removes a fault; calls that hang on it continue",
    perform: async (faults, id) => done(faults.remove(id)),
  },
  {
    method: "POST",
    path: `${FAULTS_PATH}/release`,
    operationId: "releaseCalls",
    summary: "Lets hanging calls continue: those of one fault, or all",
    perform: async (faults, _id, body) => faults.release(readReleased(field(body, "id"))),
  },
  {
    method: "POST",
    path: `${FAULTS_PATH}/forget-load-balancers`,
    operationId: "forgetLoadBalancers",
    summary: WORDS.forgetLoadBalancersSummary,
    perform: async (faults, _id, body) => faults.forgetLoadBalancers(readIds(field(body, "ids"))),
  },
  {
    method: "POST",
    path: `${FAULTS_PATH}/restart`,
    operationId: "restartService",
    summary: WORDS.restartServiceSummary,
    perform: async (faults, _id, body) => done(faults.restart(readState(field(body, "state")))),
  },
  {
    method: "POST",
    path: `${FAULTS_PATH}/reboot`,
    operationId: "rebootNode",
    summary: "Restarts the service as a reboot of the node does",
    perform: async (faults) => done(faults.reboot()),
  },
  {
    method: "GET",
    path: `${FAULTS_PATH}/quirks`,
    operationId: "listQuirks",
    summary: "The defects of HNS, and how each is set",
    perform: async (faults) => checkJsonValue(await faults.quirks()),
  },
  {
    method: "POST",
    path: `${FAULTS_PATH}/quirks`,
    operationId: "setQuirk",
    summary: "Sets a defect: on, off, or at a rate",
    perform: async (faults, _id, body) => {
      const { name, setting } = readQuirk(field(body, "name"), field(body, "setting"));
      return done(faults.setQuirk(name, setting));
    },
  },
]);

import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { EFFECT_FIELDS } from "./fault-fields.ts";
import { faultPlanSchema } from "../../../../tools/fault-plan-schema.ts";
import { readFault, readFaultPlan } from "./read-fault.ts";

const GUID = "5e6298c2-4638-494e-be6b-ff6fef942c06";

function planOf(fault: JsonValue): JsonObject {
  return { apiVersion: "mullion/v1alpha1", kind: "HnsFaultPlan", faults: [fault] };
}

const GOOD: readonly JsonObject[] = [
  {
    effect: "fail",
    error: "HCN_E_PORT_ALREADY_EXISTS",
    calls: { operation: "create", kind: "LoadBalancer" },
  },
  { effect: "fail", error: "0x803b0013", carriedOut: true, nth: 3, id: "third" },
  { effect: "fail", error: 2151350291, calls: { method: "DELETE", path: "/policylists/*" } },
  { effect: "delay", delayMs: 500, jitterMs: 100, rate: 0.25 },
  { effect: "cost" },
  { effect: "cost", model: "ws2019", factor: 0.5 },
  { effect: "hang", calls: { id: GUID }, times: 1 },
  { effect: "crash", state: "forget-load-balancers", downMs: 0, after: 10 },
  { effect: "stop" },
  { effect: "stop", error: "EPT_S_NOT_REGISTERED" },
  { effect: "stale-endpoint" },
  { effect: "stale-endpoint", network: GUID, address: "10.244.2.10" },
  { effect: "degrade", kind: "Endpoint", object: GUID },
  { effect: "exhaust-ports", after: 5 },
  { effect: "lose-notifications", types: [9, 16], every: 2 },
];

describe("a fault as a document", () => {
  const validate = new Ajv().compile(faultPlanSchema());

  it.each(GOOD)("%j is one, for the reader and for the schema", (fault) => {
    expect(readFault(fault)).toEqual(fault);
    expect(validate(planOf(fault)), JSON.stringify(validate.errors)).toBe(true);
  });

  it("every effect has an example above", () => {
    expect(new Set(GOOD.map((fault) => fault["effect"]))).toEqual(new Set(Object.keys(EFFECT_FIELDS)));
  });

  it.each<[JsonValue, string]>([
    [null, "fault is null; it must be an object"],
    [[], "fault is []; it must be an object"],
    [{}, "fault.effect is nothing; it must be one of fail, delay"],
    [{ effect: "Fail" }, 'fault.effect is "Fail"; it must be one of'],
    [{ effect: "__proto__" }, "it must be one of"],
    [{ effect: "fail" }, "fault needs the field error"],
    [{ effect: "fail", error: "HCN_E_NOTHING" }, "it must be the name of an error of HNS"],
    [{ effect: "fail", error: 0 }, "it must be the name of an error of HNS"],
    [{ effect: "fail", error: "0x1ffffffff" }, "it must be the name of an error of HNS"],
    [{ effect: "hang", nth: 0 }, "fault.nth is 0; it must be a whole number from 1 to"],
    [{ effect: "hang", nth: 1.5 }, "fault.nth is 1.5; it must be a whole number"],
    [{ effect: "hang", rate: 1.1 }, "fault.rate is 1.1; it must be a number from 0 to 1"],
    [{ effect: "hang", rate: "1" }, 'fault.rate is "1"; it must be a number'],
    [{ effect: "hang", calls: { kind: "Pod" } }, 'fault.calls.kind is "Pod"; it must be one of Network'],
    [{ effect: "hang", calls: { verb: "GET" } }, 'fault.calls has no field "verb"; it has operation, kind'],
    [{ effect: "hang", delay: 5 }, 'fault has no field "delay"'],
    [{ effect: "hang", id: "Not a name" }, "it must be a name of lower-case letters"],
    [{ effect: "delay", delayMs: -1 }, "fault.delayMs is -1"],
    [{ effect: "delay", delayMs: 1e12 }, "fault.delayMs is 1000000000000"],
    [{ effect: "degrade", kind: "Endpoint", object: "1" }, 'fault.object is "1"; it must be a GUID'],
    [{ effect: "stale-endpoint", address: "10.0.0.1" }, "needs the field network"],
    [{ effect: "crash", state: "gone" }, "it must be one of keep, forget-load-balancers, lose"],
    [{ effect: "lose-notifications", types: ["NetworkCreate"] }, "it must be a list of numbers"],
  ])("%j is none: %s", (fault, message) => {
    expect(() => readFault(fault)).toThrow(message);
    expect(validate(planOf(fault)) && (fault as JsonObject)["address"] === undefined).toBe(
      // What a schema cannot say: which errors there are, how GUIDs look, and that two fields go together.
      /name of an error|a GUID/.test(message),
    );
  });
});

describe("a plan", () => {
  it("has a seed, faults and defects", () => {
    const plan = {
      apiVersion: "mullion/v1alpha1",
      kind: "HnsFaultPlan",
      seed: 7,
      faults: GOOD,
      quirks: { "reattach-refused": "off", "parallel-attach-not-found": { rate: 0.1, seed: "x" } },
    };
    const read = readFaultPlan(plan);
    expect(read).toEqual({ seed: "7", faults: GOOD, quirks: plan.quirks });
  });

  it.each<[JsonValue, string]>([
    [[], "the plan is []"],
    [{}, 'apiVersion is nothing; it must be "mullion/v1alpha1"'],
    [{ apiVersion: "mullion/v1alpha1", kind: "Cluster" }, 'kind is "Cluster"'],
    [{ ...planOf({ effect: "stop" }), fault: 1 }, 'a plan has no field "fault"'],
    [planOf({ effect: "delay" }), "faults[0] needs the field delayMs"],
    [{ ...planOf({ effect: "stop" }), quirks: { deadlock: "on" } }, 'there is no defect "deadlock"'],
    [{ ...planOf({ effect: "stop" }), quirks: { "reattach-refused": "yes" } }, 'it must be "on", "off"'],
    [{ ...planOf({ effect: "stop" }), faults: GOOD[0]! }, "it must be a list"],
    [
      { ...planOf({ effect: "stop" }), faults: Array.from({ length: 257 }, () => ({ effect: "stop" })) },
      "faults has 257 items; at most 256",
    ],
  ])("%j is none: %s", (plan, message) => {
    expect(() => readFaultPlan(plan)).toThrow(message);
  });
});

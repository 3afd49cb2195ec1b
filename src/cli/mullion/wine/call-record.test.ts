import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { type Exchange, isRefused, recordCall, recordNotification } from "./call-record.ts";
import { callSchema } from "./call-record.ts";
import { CallSummary } from "./trace-calls.ts";

const validate = new Ajv({ strict: true }).compile(callSchema());

const AT = "2026-11-22T01:04:37.394Z";
const ID = "d3abd3d2-fc0e-40f1-838b-ce29929e77b3";

function exchange(path: string, request: unknown, answer?: Exchange["answer"]): Exchange {
  const asked = typeof request === "string" ? request : JSON.stringify(request);
  return { at: AT, milliseconds: 1.234_56, path, request: asked, ...(answer !== undefined && { answer }) };
}

const good = (result: unknown): Exchange["answer"] => ({ status: 200, body: JSON.stringify({ result }) });

/** The exports of hcn.md §1.2, by what the DLLs send for them. */
const FUNCTIONS: readonly (readonly [path: string, request: object, name: string])[] = [
  ["enumerate", { kind: "LoadBalancer", query: "{}" }, "HcnEnumerateLoadBalancers"],
  ["create", { kind: "Network", settings: "{}" }, "HcnCreateNetwork"],
  ["query", { kind: "Endpoint", id: ID }, "HcnOpenEndpoint"],
  ["query", { kind: "Endpoint", id: ID, query: "" }, "HcnQueryEndpointProperties"],
  ["modify", { kind: "Namespace", id: ID, settings: "{}" }, "HcnModifyNamespace"],
  ["delete", { kind: "SdnRoute", id: ID }, "HcnDeleteSdnRoute"],
  ["stats", { kind: "Endpoint", id: ID, query: "" }, "HcnQueryEndpointStats"],
  ["addresses", { kind: "Endpoint", id: ID, query: "" }, "HcnQueryEndpointAddresses"],
  ["reserve-ports", { id: ID, protocol: 1, access: 1, port: 80 }, "HcnReserveGuestNetworkServicePort"],
  ["reserve-ports", { id: ID, portCount: 64 }, "HcnReserveGuestNetworkServicePortRange"],
  ["release-ports", { reservation: ID }, "HcnReleaseGuestNetworkServicePortReservationHandle"],
  ["port-reservations", {}, "HcnEnumerateGuestNetworkPortReservations"],
  ["service", { properties: "Features" }, "HcnQueryFeatures"],
  ["service", { properties: "Metrics" }, "HcnQueryMetrics"],
  ["call", { method: "GET", path: "/networks/" }, "HNSCall"],
  ["systems", {}, "HcsEnumerateComputeSystems"],
  ["notifications", {}, "HcnRegisterServiceCallback"],
  [`notifications?network=${ID}`, {}, "HcnRegisterNetworkCallback"],
  [`notifications?guestNetworkService=${ID}`, {}, "HcnRegisterGuestNetworkServiceCallback"],
  ["notifications?computeSystem=pod%2d1", {}, "HcsRegisterComputeSystemCallback"],
];

describe("recordCall", () => {
  it.each(FUNCTIONS)("%s %j is %s", (path, request, name) => {
    const record = recordCall(exchange(`/hcn/${path}`, request, good(null)));
    expect(record.function).toBe(name);
    expect(validate(record), JSON.stringify(validate.errors)).toBe(true);
    expect(isRefused(record)).toBe(false);
  });

  it("writes documents as JSON, and what is none as text", () => {
    const settings = '{"Name":"cbr0","SchemaVersion":{"Major":2,"Minor":0}}';
    const made = recordCall(exchange("/hcn/create", { kind: "Network", settings }, good(ID)));
    expect(made).toEqual({
      event: "call",
      at: AT,
      milliseconds: 1.235,
      function: "HcnCreateNetwork",
      arguments: { kind: "Network", settings: { Name: "cbr0", SchemaVersion: { Major: 2, Minor: 0 } } },
      hresult: "0x00000000",
      result: ID,
    });
    const broken = recordCall(exchange("/hcn/create", { kind: "Network", settings: '{"Name":' }, good(ID)));
    expect(broken.arguments).toEqual({ kind: "Network", settings: '{"Name":' });
    const opened = recordCall(
      exchange("/hcn/query", { kind: "Network", id: ID }, good({ ID, Name: "cbr0" })),
    );
    expect(opened).not.toHaveProperty("result");
  });

  it("writes a refusal with its HRESULT, name and record", () => {
    const error = { Success: false, Error: "The network was not found. ", ErrorCode: 2_151_350_273 };
    const answer = { status: 404, body: JSON.stringify({ error }) };
    const record = recordCall(exchange("/hcn/delete", { kind: "Network", id: ID }, answer));
    expect(record).toMatchObject({ hresult: "0x803b0001", name: "HCN_E_NETWORK_NOT_FOUND", error });
    expect(validate(record)).toBe(true);
    expect(isRefused(record)).toBe(true);
  });

  it.each([
    ["no answer", undefined],
    ["no JSON", { status: 200, body: "<html>" }],
    ["no result", { status: 200, body: "{}" }],
    ["an error without a code", { status: 500, body: '{"error":{"Error":"x"}}' }],
  ])("%s is RPC_S_SERVER_UNAVAILABLE with a reason", (_, answer) => {
    const record = recordCall(exchange("/hcn/delete", { kind: "Network", id: ID }, answer));
    expect(record).toMatchObject({ hresult: "0x800706ba", failure: expect.any(String) as string });
    expect(validate(record)).toBe(true);
    expect(isRefused(record)).toBe(true);
  });

  it.each(["", "[]", '"x"', "\0", '{"kind":7}', '{"properties":[]}', '{"settings":7,"query":[]}'])(
    "takes any request: %j",
    (request) => {
      for (const path of ["/hcn/query", "/hcn/service", "/hcn/none", "/elsewhere?x=%", "//x", ""]) {
        expect(validate(recordCall(exchange(path, request, good(null))))).toBe(true);
      }
    },
  );

  it.each([
    [{ Success: true, Output: [] }, "0x00000000", undefined, false],
    [{ Success: false, ErrorCode: 2_151_350_273 }, "0x803b0001", "HCN_E_NETWORK_NOT_FOUND", true],
    // As up to 1803 (hcn.md §1.7).
    [{ Success: false, Error: "Element not found. " }, "0x00000000", undefined, true],
  ])("reads the envelope of HNS v1: %j", (envelope, hresult, name, refused) => {
    const request = { method: "GET", path: `/networks/${ID}`, body: "" };
    const record = recordCall(exchange("/hcn/call", request, good(envelope)));
    expect(record).toMatchObject({ hresult, result: envelope });
    expect(record.name).toBe(name);
    expect(isRefused(record)).toBe(refused);
    expect(validate(record)).toBe(true);
  });
});

describe("recordNotification", () => {
  it("names the type and keeps the data", () => {
    const line = `{"type":16,"status":0,"data":{"ID":"${ID}","Flags":8},"scope":"${ID}"}`;
    const record = recordNotification(AT, line);
    expect(record).toEqual({
      event: "notification",
      at: AT,
      type: 16,
      name: "NetworkEndpointDetached",
      status: "0x00000000",
      data: { ID, Flags: 8 },
      scope: ID,
    });
    expect(validate(record)).toBe(true);
  });

  it("names those of compute systems, whose numbers are others", () => {
    const line = `{"type":1,"status":0,"data":{"ID":"${ID}","Flags":0},"computeSystem":"pod"}`;
    const record = recordNotification(AT, line);
    expect(record).toMatchObject({ type: 1, name: "SystemExited", scope: "pod" });
    expect(validate(record)).toBe(true);
  });

  it.each(["", "{", "[]", "{}", '{"type":"x"}'])("%j is none", (line) => {
    expect(recordNotification(AT, line)).toBeUndefined();
  });
});

describe("CallSummary", () => {
  it("counts by function, with times and refusals", () => {
    const summary = new CallSummary();
    const refusal = { status: 404, body: '{"error":{"ErrorCode":2151350273}}' };
    summary.add(recordCall(exchange("/hcn/create", { kind: "Network", settings: "{}" }, good(ID))));
    summary.add(recordCall(exchange("/hcn/delete", { kind: "Network", id: ID }, good(null))));
    for (let again = 0; again < 2; again++)
      summary.add(recordCall(exchange("/hcn/delete", { kind: "Network", id: ID }, refusal)));
    const heard = recordNotification(AT, '{"type":2}');
    if (heard !== undefined) summary.add(heard);
    expect(summary.format("calls.jsonl")).toBe(
      "4 calls in 5 ms, 1 notifications: calls.jsonl\n" +
        "FUNCTION           CALLS   MS EACH   REFUSED\n" +
        "HcnCreateNetwork       1       1.2\n" +
        "HcnDeleteNetwork       3       1.2   2 HCN_E_NETWORK_NOT_FOUND\n",
    );
    expect(new CallSummary().format("-")).toBe("0 calls in 0 ms, 0 notifications: -\n");
  });
});

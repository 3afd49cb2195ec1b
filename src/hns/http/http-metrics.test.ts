// The whole text, as Prometheus' exposition format has it: cumulative buckets, escaped labels, a family's help and type.
import { expect, it } from "vitest";
import type { FaultStatus } from "../failures/faults/fault.ts";
import { HnsMetrics, type ServedNumbers } from "./http-metrics.ts";

const NUMBERS: ServedNumbers = {
  profile: "ws2022",
  version: "13.2",
  objects: { Network: 1, Endpoint: 2 },
  listeners: 3,
  storeWrites: undefined,
  faults: [],
};

const BOUNDS = ["0.0001", "0.0005", "0.001", "0.005", "0.01", "0.05", "0.1", "0.5", "1", "5", "10", "+Inf"];

function linesOf(text: string, name: string): readonly string[] {
  expect(text.endsWith("\n")).toBe(true);
  return text.split("\n").filter((line) => line.replace(/^# (?:HELP|TYPE) /, "").startsWith(name));
}

it("before any call", () => {
  expect(new HnsMetrics().format(NUMBERS).split("\n")).toEqual([
    "# HELP mullion_hns_info The version of HNS that is served.",
    "# TYPE mullion_hns_info gauge",
    'mullion_hns_info{profile="ws2022",version="13.2"} 1',
    "# HELP mullion_hns_objects Objects that the service keeps.",
    "# TYPE mullion_hns_objects gauge",
    'mullion_hns_objects{kind="Network"} 1',
    'mullion_hns_objects{kind="Endpoint"} 2',
    "# HELP mullion_hns_calls_total Calls that were answered; result is ok or the error.",
    "# TYPE mullion_hns_calls_total counter",
    "# HELP mullion_hns_call_duration_seconds How long calls took.",
    "# TYPE mullion_hns_call_duration_seconds histogram",
    "# HELP mullion_hns_notifications_total Notifications that the service sent.",
    "# TYPE mullion_hns_notifications_total counter",
    "# HELP mullion_hns_listeners Streams of notifications that are open.",
    "# TYPE mullion_hns_listeners gauge",
    "mullion_hns_listeners 3",
    "",
  ]);
});

it("calls are counted by their result, and their times by their kind, each bound included", () => {
  const metrics = new HnsMetrics();
  const call = (seconds: number, result = "ok"): void => {
    metrics.countCall({ operation: "create", kind: "Network", result, seconds });
  };
  call(0);
  call(0.000_1);
  call(0.001);
  call(0.002, 'a "b" \\');
  call(10);
  call(10.5, "x\ny");
  metrics.countCall({ operation: "query", kind: "", result: "ok", seconds: 0.25 });
  const text = metrics.format(NUMBERS);
  expect(linesOf(text, "mullion_hns_calls_total{")).toEqual([
    'mullion_hns_calls_total{operation="create",kind="Network",result="ok"} 4',
    'mullion_hns_calls_total{operation="create",kind="Network",result="a \\"b\\" \\\\"} 1',
    'mullion_hns_calls_total{operation="create",kind="Network",result="x\\ny"} 1',
    'mullion_hns_calls_total{operation="query",kind="",result="ok"} 1',
  ]);
  const histogram = (labels: string, counts: readonly number[], sum: number): readonly string[] => [
    ...BOUNDS.map((le, at) => `mullion_hns_call_duration_seconds_bucket{${labels},le="${le}"} ${counts[at]}`),
    `mullion_hns_call_duration_seconds_sum{${labels}} ${sum}`,
    `mullion_hns_call_duration_seconds_count{${labels}} ${counts.at(-1)}`,
  ];
  const sum = 0 + 0.000_1 + 0.001 + 0.002 + 10 + 10.5;
  expect(linesOf(text, "mullion_hns_call_duration_seconds_")).toEqual([
    ...histogram('operation="create",kind="Network"', [2, 2, 3, 4, 4, 4, 4, 4, 4, 4, 5, 6], sum),
    ...histogram('operation="query",kind=""', [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1], 0.25),
  ]);
});

it("notifications, faults in force, and the store", () => {
  const metrics = new HnsMetrics();
  for (const type of ["NetworkCreate", "EndpointCreate", "NetworkCreate"]) metrics.countNotification(type);
  const fault = { id: "f1", fault: { effect: "fail" }, struck: 4, waiting: 2 } as unknown as FaultStatus;
  const text = metrics.format({
    ...NUMBERS,
    faults: [fault],
    storeWrites: 9,
    storeFaults: new Map([["io-error", 5]]),
    storeFault: "io-error",
  });
  expect(linesOf(text, "mullion_hns_notifications_total{")).toEqual([
    'mullion_hns_notifications_total{type="NetworkCreate"} 2',
    'mullion_hns_notifications_total{type="EndpointCreate"} 1',
  ]);
  expect(linesOf(text, "mullion_hns_fault_")).toEqual([
    "# HELP mullion_hns_fault_struck_total Calls that injected faults struck.",
    "# TYPE mullion_hns_fault_struck_total counter",
    'mullion_hns_fault_struck_total{fault="f1",effect="fail"} 4',
    "# HELP mullion_hns_fault_waiting Calls that hang on injected faults.",
    "# TYPE mullion_hns_fault_waiting gauge",
    'mullion_hns_fault_waiting{fault="f1",effect="fail"} 2',
  ]);
  expect(linesOf(text, "mullion_hns_store_")).toEqual([
    "# HELP mullion_hns_store_fault 1 while the store cannot write, by reason.",
    "# TYPE mullion_hns_store_fault gauge",
    'mullion_hns_store_fault{reason="disk-full"} 0',
    'mullion_hns_store_fault{reason="io-error"} 1',
    'mullion_hns_store_fault{reason="read-only"} 0',
    "# HELP mullion_hns_store_faults_total Failures of the store's disk.",
    "# TYPE mullion_hns_store_faults_total counter",
    'mullion_hns_store_faults_total{reason="disk-full"} 0',
    'mullion_hns_store_faults_total{reason="io-error"} 5',
    'mullion_hns_store_faults_total{reason="read-only"} 0',
    "# HELP mullion_hns_store_writes_total Changes that the store has kept.",
    "# TYPE mullion_hns_store_writes_total counter",
    "mullion_hns_store_writes_total 9",
  ]);
});

import { expect, it } from "vitest";
import { EventRecorder, type ProxyServerEvent, type RecordedEvent } from "./event-recorder.ts";
import { Klog } from "./klog.ts";

const EVENT: ProxyServerEvent = {
  type: "Warning",
  reason: "FailedToStartServiceHealthcheck",
  action: "Listen",
  regarding: { kind: "Service", namespace: "ns", name: "web", uid: "ns/web" },
  message: "taken",
};

function recorder(fails = false): {
  events: EventRecorder;
  time: { ms: number };
  stored: RecordedEvent[];
  lost: string[];
} {
  const stored: RecordedEvent[] = [];
  const lost: string[] = [];
  const time = { ms: 1_700_000_000_000 };
  const events = new EventRecorder({
    wallMs: () => time.ms,
    sink: async (event) => {
      if (fails) throw new Error("no server");
      stored.push(event);
      return Promise.resolve();
    },
    failed: (_error, { reason }) => lost.push(reason),
  });
  return { events, time, stored, lost };
}

it("an event that comes again within six minutes is counted", async () => {
  const { events, time, stored } = recorder();
  events.record(EVENT);
  time.ms += 30_000;
  events.record(EVENT);
  events.record({ ...EVENT, message: "other" });
  time.ms += 400_000;
  events.record(EVENT);
  await events.flush();
  expect(stored.map(({ message, count }) => `${message} ×${count}`)).toEqual([
    "taken ×1",
    "taken ×2",
    "other ×1",
    "taken ×1",
  ]);
  expect(stored[1]?.name).toBe(stored[0]?.name);
  expect(stored[3]?.name).not.toBe(stored[0]?.name);
  expect(stored[0]).toMatchObject({ namespace: "ns", firstMs: 1_700_000_000_000 });
});

it("different events of one moment have different names", async () => {
  const { events, time, stored } = recorder();
  events.record(EVENT);
  events.record({ ...EVENT, message: "other" });
  time.ms += 1;
  events.record({ ...EVENT, message: "third" });
  await events.flush();
  expect(new Set(stored.map(({ name }) => name)).size).toBe(3);
});

it("events of a node stand in the namespace default; what cannot be written ends nothing", async () => {
  const { events, lost } = recorder(true);
  events.record({ ...EVENT, regarding: { kind: "Node", namespace: "", name: "win-1", uid: "win-1" } });
  events.record(EVENT);
  await events.flush();
  expect(lost).toEqual([EVENT.reason, EVENT.reason]);
});

it("log lines as klog writes them", () => {
  let text = "";
  const log = new Klog({
    write: (line) => {
      text += line;
    },
    wallMs: () => new Date(2026, 10, 22, 3, 47, 8, 123).getTime() + 0.456,
    pid: 1234,
    verbosity: 2,
  });
  log.info(2, "Opening healthcheck", { service: "ns/web", port: 32_000, none: undefined });
  log.info(3, "not shown");
  log.error("Failed", { err: new Error('a "b"') });
  expect(text).toMatch(
    /^I1122 03:47:08\.1234\d\d {4}1234 kube-proxy:1\] "Opening healthcheck" service="ns\/web" port=32000\n/,
  );
  expect(text).toMatch(/\nE1122 .*\] "Failed" err="a \\"b\\""\n$/);
  expect(text).not.toContain("not shown");
});

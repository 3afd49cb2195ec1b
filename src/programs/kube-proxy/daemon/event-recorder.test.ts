import { expect, it } from "vitest";
import { EventRecorder, type ProxyServerEvent, type RecordedEvent } from "./event-recorder.ts";

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

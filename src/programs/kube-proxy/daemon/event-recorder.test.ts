import { expect, it } from "vitest";
import type { Repair } from "../report.ts";
import { EventRecorder, type ProxyServerEvent, type RecordedEvent, repairEvent } from "./event-recorder.ts";

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

it("of many different events the one that was heard of longest ago is forgotten first", async () => {
  const { events, stored } = recorder();
  events.record(EVENT);
  // As many as are remembered, in parts that the server keeps up with.
  for (let count = 1; count < 1_024; count++) {
    events.record({ ...EVENT, message: `other ${count}` });
    if (count % 100 === 0) await events.flush();
  }
  for (const message of ["taken", "one more", "taken", "other 1"]) events.record({ ...EVENT, message });
  await events.flush();
  expect(stored.slice(-4).map(({ message, count }) => `${message} ×${count}`)).toEqual([
    "taken ×2",
    "one more ×1",
    "taken ×3",
    "other 1 ×1",
  ]);
});

it("an event of a repair says on which node, what, and the code that explains it", () => {
  const repair: Repair = {
    kind: "endpoint-lost",
    family: 4,
    id: "e9000000-0000-4000-8000-000000000001",
    code: "hns-endpoints-lost",
    message: "The endpoint for 10.244.3.5 is there again: HNS had lost it",
  };
  expect(repairEvent("win-1", repair)).toMatchObject({
    reason: "RepairedHNS",
    regarding: { kind: "Node", name: "win-1" },
    message: "win-1: The endpoint for 10.244.3.5 is there again: HNS had lost it [hns-endpoints-lost]",
  });
});

// What a raised cluster keeps, against what was measured after a collection: dumps of `large-dump.ts`, L2Bridge, Node 24.
import { expect, it } from "vitest";
import { COPY_SHARE, bytesOf, checkRoom } from "./memory-check.ts";

/** Room that is left free, so that Node need not clear up all the time. */
const FREE_SHARE = 0.07;

it.each([
  { nodes: 100, pods: 1_000, services: 100, measured: 120 },
  { nodes: 100, pods: 3_000, services: 1_000, measured: 456 },
  { nodes: 200, pods: 2_000, services: 200, measured: 291 },
  { nodes: 50, pods: 3_000, services: 200, measured: 194 },
])(
  "$nodes nodes with $pods pods and $services Services keep $measured MiB, and half as much for copies",
  ({ measured, ...size }) => {
    const raised = (bytesOf(size) / 2 ** 20 / (1 + COPY_SHARE)) * (1 - FREE_SHARE);
    expect(raised / measured).toBeGreaterThan(0.95);
    expect(raised / measured).toBeLessThan(1.15);
  },
);

it("nodes that wait come up where there is room for them, and else stay", () => {
  const size = { nodes: 1_000, pods: 50_000, services: 2_000 };
  expect(() => checkRoom(size, 10)).not.toThrow();
  expect(() => checkRoom({ ...size, pods: 500_000 }, 1_000)).toThrow(
    /the 1000 that wait would take about \d+ MiB of memory/,
  );
});

import { describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { Prng } from "#core/base/prng.ts";
import { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import { type RequestRate, limitRequests } from "./source-feed.ts";

/** A source without objects, behind a bucket; and what has been asked when. */
function limited(rate: RequestRate): { source: KubeSource; clock: VirtualClock; asked: number[] } {
  const clock = new VirtualClock();
  const kube = new MemoryKube(new Prng(1), { clusterCIDRs: [], serviceCIDRs: [] });
  const asked: number[] = [];
  const inner = new MemoryKubeSource(kube);
  const source = limitRequests(inner, clock, rate);
  const [list, watch] = [inner.list.bind(inner), inner.watch.bind(inner)];
  inner.list = async (kind, selection) => {
    asked.push(clock.nowMs);
    return list(kind, selection);
  };
  inner.watch = (kind, version, listener, options) => {
    asked.push(clock.nowMs);
    return watch(kind, version, listener, options);
  };
  return { source, clock, asked };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

describe("clientConnection.qps and burst (kube-proxy.md §1.1)", () => {
  it("as many as the burst at once, then so many a second", async () => {
    const { source, clock, asked } = limited({ qps: 5, burst: 10 });
    for (let count = 0; count < 15; count++) void source.list("Service");
    await settle();
    expect(asked).toHaveLength(10);
    for (const ms of [200, 400, 600, 800, 1_000]) {
      clock.runUntil(ms);
      await settle();
    }
    expect(asked.slice(10)).toEqual([200, 400, 600, 800, 1_000]);
  });

  it("who was quiet has a full bucket again, and not more", async () => {
    const { source, clock, asked } = limited({ qps: 5, burst: 2 });
    for (let count = 0; count < 2; count++) void source.list("Service");
    await settle();
    clock.runUntil(60_000);
    for (let count = 0; count < 4; count++) void source.list("Service");
    await settle();
    expect(asked).toEqual([0, 0, 60_000, 60_000]);
  });

  it("a watch waits, too, and one that ends before its turn never begins", async () => {
    const { source, clock, asked } = limited({ qps: 1, burst: 1 });
    const listener = (): void => undefined;
    source.watch("Service", "0", listener);
    source.watch("Node", "0", listener);
    source.watch("EndpointSlice", "0", listener)();
    expect(asked).toEqual([0]);
    clock.runUntil(10_000);
    await settle();
    expect(asked).toEqual([0, 1_000]);
  });

  it("a negative rate holds nothing back", async () => {
    const { source, asked } = limited({ qps: -1, burst: 1 });
    for (let count = 0; count < 50; count++) void source.list("Service");
    await settle();
    expect(asked).toHaveLength(50);
  });
});

/** When orders for a route table are carried out: `wait.PollUntilContextCancel`, whose ticker keeps one tick. */
import { describe, expect, it } from "vitest";
import { type AzureRoute, DelayedRouteUpdater, MemoryRouteTables } from "./delayed-route-updater.ts";

const NO_NODES: ReadonlySet<string> = new Set();

function route(name: string): AzureRoute {
  return {
    name,
    addressPrefix: "10.244.1.0/24",
    nextHopType: "VirtualAppliance",
    nextHopIpAddress: "10.0.0.4",
  };
}

function updater(times: { readonly intervalMs: number; readonly waitMs: number }): DelayedRouteUpdater {
  const tables = new MemoryRouteTables();
  return new DelayedRouteUpdater({ tables, tableName: "t", location: "l", isDualStack: false, ...times });
}

describe("the route updater's ticks", () => {
  it("one that came while a write took effect is due at once", () => {
    const routes = updater({ intervalMs: 30_000, waitMs: 70_000 });
    routes.add("a", route("a"));
    expect(routes.advance(0, NO_NODES)).toBe(70_000);
    const second = routes.add("b", route("b"));
    // The ticks of 30 s and 60 s came meanwhile: one is kept, so "b" is written at 70 s and told at 140 s.
    expect(routes.advance(70_000, NO_NODES)).toBe(70_000);
    routes.advance(140_000, NO_NODES);
    expect(second.outcome).toEqual({ state: "done" });
  });

  it("later ones come in step with the first", () => {
    const routes = updater({ intervalMs: 30_000, waitMs: 40_000 });
    routes.add("a", route("a"));
    expect(routes.advance(0, NO_NODES)).toBe(40_000);
    // The tick of 30 s is used up at 40 s, for nothing; the next is that of 60 s.
    expect(routes.advance(40_000, NO_NODES)).toBeUndefined();
    routes.add("b", route("b"));
    expect(routes.advance(40_000, NO_NODES)).toBe(20_000);
  });
});

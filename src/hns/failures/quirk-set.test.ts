import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { Prng } from "#core/base/prng.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import type { QuirkSettings } from "#core/catalogue/quirks.ts";
import { QuirkSet } from "./quirk-set.ts";

function make(profile: string, settings?: QuirkSettings, seed = 1): QuirkSet {
  return new QuirkSet(parseProfile(profile)!, new Prng(seed), settings);
}

function draws(quirks: QuirkSet, count: number): readonly boolean[] {
  return Array.from({ length: count }, () => quirks.has("service-deadlock"));
}

describe("QuirkSet", () => {
  it("has the defects of its build, and what was set otherwise", () => {
    expect(make("ws2019").has("reattach-refused")).toBe(true);
    expect(make("ws2022").has("reattach-refused")).toBe(false);
    expect(make("ws2019", { "reattach-refused": "off" }).has("reattach-refused")).toBe(false);
    expect(make("ws2022", { "reattach-refused": "on" }).has("reattach-refused")).toBe(true);
  });

  it("a rate strikes about as often as it says, and the same way for one seed", () => {
    const settings: QuirkSettings = { "service-deadlock": { rate: 0.25, seed: "7" } };
    const struck = draws(make("ws2022", settings), 4_000);
    expect(struck.filter(Boolean).length).toBeGreaterThan(900);
    expect(struck.filter(Boolean).length).toBeLessThan(1_100);
    expect(draws(make("ws2022", settings), 4_000)).toEqual(struck);
    const other = make("ws2022", { "service-deadlock": { rate: 0.25, seed: "8" } });
    expect(draws(other, 4_000)).not.toEqual(struck);
  });

  it("0 never strikes and 1 always", () => {
    expect(draws(make("ws2022", { "service-deadlock": { rate: 0 } }), 100)).not.toContain(true);
    expect(draws(make("ws2022", { "service-deadlock": { rate: 1 } }), 100)).not.toContain(false);
  });

  it("a fork draws on its own", () => {
    const quirks = make("ws2022", { "service-deadlock": { rate: 0.5 } });
    const copy = fork(quirks);
    const struck = draws(copy, 64);
    expect(draws(quirks, 64)).toEqual(struck);
  });

  it("lists every defect with its setting", () => {
    const states = make("ws2019", { "service-deadlock": { rate: 0.5 } }).list();
    const byName = new Map(states.map((state) => [state.name, state]));
    expect(byName.get("service-deadlock")).toEqual({
      name: "service-deadlock",
      setting: { rate: 0.5 },
      concernsBuild: false,
    });
    expect(byName.get("reattach-refused")).toMatchObject({ setting: "on", concernsBuild: true });
  });
});

import { describe, expect, it } from "vitest";
import { PROFILE_NAMES, hasUpdate, hnsVersionOf, parseProfile } from "./profiles.ts";
import { backEndsMaxOf, isDefaultQuirk } from "./quirks.ts";

describe("profiles (hcn.md §7.2)", () => {
  it.each([
    ["ws2019", 17763, 9],
    ["1903", 18362, 10],
    ["2004", 19041, 11],
    ["ws2022", 20348, 13],
    ["win11-21h2", 22000, 14],
    ["23h2", 25398, 15],
    ["ws2025", 26100, 15],
  ])("%s is build %d with HNS %d", (text, build, major) => {
    const parsed = parseProfile(text)!;
    expect(parsed.profile.build).toBe(build);
    expect(hnsVersionOf(parsed).Major).toBe(major);
    expect(parsed.note).toBeUndefined();
  });

  it("HNS minors are those that were seen", () => {
    expect(PROFILE_NAMES.map((name) => hnsVersionOf(parseProfile(name)!).Minor)).toEqual([
      5, 3, 10, 3, 0, 0, 4,
    ]);
  });

  it.each([
    ["WS2022", "ws2022", undefined],
    ["ws2022.2582", "ws2022", 2582],
    ["20348", "ws2022", undefined],
    ["20348.2582", "ws2022", 2582],
    ["10.0.20348.2582", "ws2022", 2582],
    ["10.0.17763.1158", "ws2019", 1158],
    ["1903", "1903", undefined],
  ])("%s is %s, revision %s", (text, name, revision) => {
    expect(parseProfile(text)).toMatchObject({ profile: { name }, revision });
  });

  it("an unknown build takes the next lower profile and says so", () => {
    expect(parseProfile("10.0.22621.1")).toMatchObject({
      profile: { name: "win11-21h2" },
      revision: 1,
      note: "build 22621 has no profile; win11-21h2 (build 22000) is used, the next lower one",
    });
  });

  it.each(["", "ws2016", "14393", "10.0", "ws2022.x", "linux"])("%j is no profile", (text) => {
    expect(parseProfile(text)).toBeUndefined();
  });
});

describe("updates", () => {
  // Microsoft's release history of builds 17763 and 20348.
  it.each([
    ["KB4482887", "ws2019", 348],
    ["KB4489899", "ws2019", 379],
    ["KB4551853", "ws2019", 1217],
    ["KB4571748", "ws2019", 1432],
    ["KB5005619", "ws2022", 261],
    ["KB5040437", "ws2022", 2582],
  ])("%s brings %s to revision %d", (kb, name, revision) => {
    expect(hasUpdate(parseProfile(`${name}.${revision}`)!, kb)).toBe(true);
    expect(hasUpdate(parseProfile(`${name}.${revision - 1}`)!, kb)).toBe(false);
    expect(hasUpdate(parseProfile(name)!, kb)).toBe(true);
  });

  it("an update of another build is not there", () => {
    expect(hasUpdate(parseProfile("ws2022")!, "KB4571748")).toBe(false);
  });

  it("HNS of Server 2019 is 9.1 as released, and 9.2 with the update that brought HostRoute (hcn.md §7.2)", () => {
    expect(hnsVersionOf(parseProfile("ws2019.1")!)).toEqual({ Major: 9, Minor: 1 });
    expect(hnsVersionOf(parseProfile("ws2019.378")!)).toEqual({ Major: 9, Minor: 1 });
    expect(hnsVersionOf(parseProfile("ws2019.379")!)).toEqual({ Major: 9, Minor: 2 });
  });

  it("DSR needs HNS 9.3, which Server 2019 has since KB4571748", () => {
    expect(hnsVersionOf(parseProfile("ws2019.1431")!)).toEqual({ Major: 9, Minor: 2 });
    expect(hnsVersionOf(parseProfile("ws2019.1432")!)).toEqual({ Major: 9, Minor: 5 });
  });

  it.each([
    ["ws2019.3286", 64],
    ["ws2019.3287", 1024],
    ["1903", 64],
    ["2004", 64],
    ["ws2022.886", 64],
    ["ws2022.887", 1024],
    ["ws2022", 1024],
    ["win11-21h2", 1024],
    ["ws2025.1", 1024],
  ])("%s takes %d back ends in a load balancer", (text, count) => {
    expect(backEndsMaxOf(parseProfile(text)!)).toBe(count);
  });

  it.each([
    ["ws2019", false],
    ["2004", false],
    ["ws2022", true],
    ["ws2025", true],
  ])("a node of %s reaches Services by their addresses: %s", (text, reaches) => {
    expect(isDefaultQuirk("services-unreachable-from-node", parseProfile(text)!)).toBe(!reaches);
  });
});

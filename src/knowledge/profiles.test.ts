import { describe, expect, it } from "vitest";
import { PROFILE_NAMES, hnsVersionOf, parseProfile } from "./profiles.ts";

describe("profiles (hcn.md §7.2)", () => {
  it.each([
    ["ws2019", 17763, 9],
    ["1903", 18362, 10],
    ["2004", 19041, 11],
    ["ws2022", 20348, 13],
    ["win11-21h2", 22000, 14],
    ["ws2025", 26100, 15],
  ])("%s is build %d with HNS %d", (text, build, major) => {
    const parsed = parseProfile(text)!;
    expect(parsed.profile.build).toBe(build);
    expect(hnsVersionOf(parsed).Major).toBe(major);
    expect(parsed.note).toBeUndefined();
  });

  it("HNS minors are those that were seen", () => {
    expect(PROFILE_NAMES.map((name) => hnsVersionOf(parseProfile(name)!).Minor)).toEqual([5, 3, 10, 3, 0, 4]);
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
    expect(parseProfile("10.0.25398.1")).toMatchObject({
      profile: { name: "win11-21h2" },
      revision: 1,
      note: "build 25398 has no profile; win11-21h2 (build 22000) is used, the next lower one",
    });
  });

  it.each(["", "ws2016", "14393", "10.0", "ws2022.x", "linux"])("%j is no profile", (text) => {
    expect(parseProfile(text)).toBeUndefined();
  });
});

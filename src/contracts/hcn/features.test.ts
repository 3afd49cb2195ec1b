import { describe, expect, it } from "vitest";
import { type HnsFeature, featuresOf, hasFeature } from "./features.ts";

describe("features of an HNS version (hcn.md §7.1)", () => {
  it.each([
    [9, 1, "ApiV2", false],
    [9, 2, "ApiV2", true],
    [9, 2, "DSR", false],
    [9, 3, "DSR", true],
    [10, 1, "DSR", false],
    [10, 2, "DSR", true],
    [10, 3, "Slash32EndpointPrefixes", false],
    [10, 4, "Slash32EndpointPrefixes", true],
    [11, 9, "IPv6DualStack", false],
    [11, 10, "IPv6DualStack", true],
    [9, 5, "L4Proxy", true],
    [11, 0, "L4Proxy", false],
    [11, 11, "L4Proxy", true],
    [12, 0, "L4Proxy", false],
    [13, 0, "L4Proxy", false],
    [13, 1, "L4Proxy", true],
    [14, 9, "NetworkACL", false],
    [15, 4, "ModifyLoadbalancer", false],
    [15, 5, "ModifyLoadbalancer", true],
    [16, 0, "ModifyLoadbalancer", true],
  ] as const)("HCN-002 %d.%d %s: %s", (Major, Minor, feature: HnsFeature, expected) => {
    expect(hasFeature({ Major, Minor }, feature)).toBe(expected);
  });

  it("HCN-002 15.5 turns every feature on, 9.1 turns Api.V2 off", () => {
    expect(featuresOf({ Major: 15, Minor: 5 })).toHaveLength(22);
    expect(featuresOf({ Major: 16, Minor: 0 })).toHaveLength(22);
    expect(featuresOf({ Major: 9, Minor: 1 })).not.toContain("ApiV2");
  });
});

import { describe, expect, it } from "vitest";
import { NODE_PROFILE_NAMES, parseProfile } from "./profiles.ts";
import { QUIRKS, QUIRK_NAMES, type QuirkName, concernsBuild, isDefaultQuirk, parseQuirk } from "./quirks.ts";

describe("defects by build", () => {
  // hcn.md §3.3, §4.2, §4.5, §7.1, §8.5; dataplane.md F-21, F-27, F-47; users.md G9, G19.
  it.each<[name: QuirkName, build: string, isOn: boolean]>([
    ["duplicate-local-address", "ws2019", true],
    ["duplicate-local-address", "ws2022", false],
    ["reattach-refused", "ws2019", true],
    ["reattach-refused", "2004", false],
    ["outbound-nat-host-bits-accepted", "ws2019", true],
    ["outbound-nat-host-bits-accepted", "ws2022", false],
    ["load-balancer-update-ignored", "ws2022", false],
    ["load-balancer-update-ignored", "ws2025", true],
    ["load-balancer-port-blocks-not-shared", "ws2019.1216", true],
    ["load-balancer-port-blocks-not-shared", "ws2019.1217", false],
    ["load-balancer-port-blocks-not-shared", "ws2019", false],
    ["own-node-port-unreachable", "ws2019.1431", true],
    ["own-node-port-unreachable", "ws2019.1432", false],
    ["own-node-port-unreachable", "1903", true],
    ["own-node-port-unreachable", "2004", true],
    ["own-node-port-unreachable", "ws2022.1", false],
    ["own-node-port-unreachable", "ws2025", false],
    ["networks-lost-at-reboot", "ws2019.347", true],
    ["networks-lost-at-reboot", "ws2019.348", false],
    ["overlay-decap-lost-at-restart", "ws2019.1396", false],
    ["overlay-decap-lost-at-restart", "ws2019.1457", true],
    ["overlay-decap-lost-at-restart", "ws2019.1518", false],
    ["nat-denies-outbound", "ws2019", true],
  ])("%s is on by default on %s: %s", (name, build, isOn) => {
    expect(isDefaultQuirk(name, parseProfile(build)!)).toBe(isOn);
  });

  it.each<[name: QuirkName, build: string]>([
    ["sockets-refused", "ws2022.2582"],
    ["load-balancers-lost-at-restart", "ws2019"],
    ["source-address-refused", "2004"],
  ])("%s concerns %s and waits for a rate, because it strikes now and then", (name, build) => {
    expect(concernsBuild(name, parseProfile(build)!)).toBe(true);
    expect(isDefaultQuirk(name, parseProfile(build)!)).toBe(false);
  });

  it("the fault of KB5040437 ends with KB5044281", () => {
    expect(concernsBuild("sockets-refused", parseProfile("ws2022.2762")!)).toBe(false);
  });

  it("every defect has a source, a kebab-case name and known profiles", () => {
    for (const name of QUIRK_NAMES) {
      expect(name).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
      expect(QUIRKS[name].sources.length).toBeGreaterThan(0);
      for (const { profile } of QUIRKS[name].concerns) expect(NODE_PROFILE_NAMES).toContain(profile);
    }
  });
});

describe("parseQuirk", () => {
  it.each([
    ["service-deadlock", "on"],
    ["service-deadlock=on", "on"],
    ["service-deadlock=off", "off"],
    ["service-deadlock=0.25", { rate: 0.25 }],
    ["service-deadlock=.25", { rate: 0.25 }],
    ["service-deadlock=1", { rate: 1 }],
    ["service-deadlock=0.25@7", { rate: 0.25, seed: "7" }],
  ])("%s", (text, setting) => {
    expect(parseQuirk(text)).toEqual({ name: "service-deadlock", setting });
  });

  it.each([
    ["deadlock", 'there is no defect "deadlock"'],
    ["__proto__=on", 'there is no defect "__proto__"'],
    ["service-deadlock=2", "is not a setting"],
    ["service-deadlock=-1", "is not a setting"],
    ["service-deadlock=", "is not a setting"],
    ["service-deadlock=1e-3", "is not a setting"],
  ])("%s is refused", (text, problem) => {
    expect(parseQuirk(text)).toMatchObject({ problem: expect.stringContaining(problem) as string });
  });
});

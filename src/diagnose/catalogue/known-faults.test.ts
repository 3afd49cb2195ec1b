import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { KNOWN_FAULTS, type KnownFaultId, QUIRK_TEXTS, faultsOf } from "./quirk-texts.ts";
import { WINDOWS_PROFILES } from "#core/catalogue/profiles.ts";
import { QUIRKS, isDefaultQuirk } from "#core/catalogue/quirks.ts";

const IDS = Array.from({ length: 56 }, (_, index): KnownFaultId => {
  const text = String(index + 1).padStart(2, "0");
  return `F-${text}` as KnownFaultId;
});

/** Names of the tests of the whole project, as far as they name a fault: `F-07`. */
function testedFaults(): ReadonlySet<string> {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" });
  const texts = files
    .filter((file) => file.endsWith(".test.ts") && !file.endsWith("known-faults.test.ts"))
    .map((file) => readFileSync(join("src", file), "utf8"));
  const named = texts.flatMap((text) => text.match(/(?<=["`[(, ])F-\d\d(?=[":,) ])/g) ?? []);
  return new Set(named);
}

describe("the known faults (dataplane.md §9)", () => {
  it("all 56 are accounted for, and no other", () => {
    expect(Object.keys(KNOWN_FAULTS)).toEqual(IDS);
  });

  const tested = testedFaults();
  const acted = IDS.filter((id) => {
    const fault = KNOWN_FAULTS[id]!;
    return fault.kind !== "quirk" || QUIRK_TEXTS[fault.quirks[0]].notActedOn === undefined;
  });
  it.each(acted)("%s has a test with its number", (id) => {
    expect(tested).toContain(id);
  });

  it.each(IDS)("%s: a switch tells its number among its sources", (id) => {
    const fault = KNOWN_FAULTS[id]!;
    if (fault.kind !== "quirk") return expect(fault.what.length).toBeGreaterThan(20);
    return expect(QUIRKS[fault.quirks[0]].sources.join(" ")).toContain(id);
  });

  // Appendix A.4: all are off but those that are how Windows is. A documented defect of a build is on there.
  it("on every build only the idle time of flows is on by default", () => {
    const builds = WINDOWS_PROFILES.map((profile) => ({ profile, revision: undefined, note: undefined }));
    const onEverywhere = Object.values(KNOWN_FAULTS).flatMap((fault) =>
      fault.kind === "quirk" && builds.every((build) => isDefaultQuirk(fault.quirks[0], build))
        ? [fault.quirks[0]]
        : [],
    );
    expect(onEverywhere).toEqual(["idle-flows-forgotten"]);
  });

  it("a defect knows its numbers", () => {
    expect(faultsOf("acl-without-effect")).toEqual(["F-29"]);
    expect(faultsOf("service-deadlock")).toEqual(["F-38"]);
    expect(faultsOf("reattach-refused")).toEqual([]);
  });
});

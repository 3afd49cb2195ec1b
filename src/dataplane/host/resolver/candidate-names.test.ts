import { describe, expect, it } from "vitest";
import type { DnsSettings } from "../stack.ts";
import type { OperatingSystem } from "../stack-profile.ts";
import { planNames, readResolverOptions } from "./candidate-names.ts";
import { queryRounds } from "./question.ts";

/** What a pod of namespace `default` is told. */
const POD: DnsSettings = {
  domain: "",
  search: ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"],
  servers: [],
  options: ["ndots:5"],
};
const ONE_SUFFIX: DnsSettings = { ...POD, search: ["default.svc.cluster.local"] };
const NO_SUFFIX: DnsSettings = { ...POD, search: [] };
const DOMAIN_ONLY: DnsSettings = { ...NO_SUFFIX, domain: "corp.example" };

function names(os: OperatingSystem, name: string, settings: DnsSettings): string[] {
  return planNames(os, name, settings).candidates.map((candidate) => candidate.name);
}

const SHORT = "web.default.svc.cluster.local";

describe("the names that are asked for", () => {
  // windows-networking-documentation.md §6, dataplane.md §5.3 and §10; resolv.conf(5).
  it.each<[string, OperatingSystem, string, DnsSettings, string[]]>([
    ["DT-157 a single label gets the namespace's suffix", "windows", "web", ONE_SUFFIX, [SHORT]],
    ["only one suffix is used, of however many", "windows", "web", POD, [SHORT]],
    ["DT-158 a name with a dot is asked for as it is", "windows", "web.other", POD, ["web.other"]],
    [
      "kubernetes.default.svc is not completed",
      "windows",
      "kubernetes.default.svc",
      POD,
      ["kubernetes.default.svc"],
    ],
    ["a final dot is exact", "windows", "web.", POD, ["web"]],
    ["a final dot is exact, with other dots too", "windows", "a.b.", POD, ["a.b"]],
    ["ndots means nothing to Windows", "windows", "a.b", { ...POD, options: ["ndots:9"] }, ["a.b"]],
    ["a single label without a suffix is asked of nobody", "windows", "web", NO_SUFFIX, []],
    ["the adapter's own domain is in for a list", "windows", "web", DOMAIN_ONLY, ["web.corp.example"]],
    [
      "the search list comes first below ndots",
      "linux",
      "web.other",
      POD,
      [
        "web.other.default.svc.cluster.local",
        "web.other.svc.cluster.local",
        "web.other.cluster.local",
        "web.other",
      ],
    ],
    [
      "the name itself comes first from ndots on",
      "linux",
      "a.b.c.d.e.f",
      { ...POD, search: ["corp.example"] },
      ["a.b.c.d.e.f", "a.b.c.d.e.f.corp.example"],
    ],
    ["ndots is 1 by default", "linux", "a.b", { ...DOMAIN_ONLY, options: [] }, ["a.b", "a.b.corp.example"]],
    ["a final dot is exact on Linux too", "linux", "web.", POD, ["web"]],
    ["without suffixes the name is all there is", "linux", "web", NO_SUFFIX, ["web"]],
  ])("%s", (_title, os, name, settings, expected) => {
    expect(names(os, name, settings)).toEqual(expected);
  });

  it("says which suffixes Windows does not try, and why", () => {
    expect(planNames("windows", "web", POD)).toMatchObject({
      unusedSuffixes: ["svc.cluster.local", "cluster.local"],
      unusedBecause: "single-suffix",
    });
    expect(planNames("windows", "a.b", POD)).toMatchObject({
      unusedSuffixes: POD.search,
      unusedBecause: "dot",
    });
    expect(planNames("windows", "web", ONE_SUFFIX).unusedBecause).toBeUndefined();
    expect(planNames("linux", "a.b", POD).unusedBecause).toBeUndefined();
  });

  it("leaves out what would be too long for a name", () => {
    const long = "a".repeat(60);
    const search = ["b".repeat(63), Array.from({ length: 4 }, () => "c".repeat(63)).join(".")];
    expect(names("linux", long, { ...POD, search })).toEqual([`${long}.${search[0]}`, long]);
  });
});

describe("readResolverOptions", () => {
  it("has the values of resolv.conf(5) by default", () => {
    expect(readResolverOptions([])).toEqual({ ndots: 1, timeoutSeconds: 5, attempts: 2 });
  });

  it("reads known words, the last of each, up to glibc's bounds", () => {
    const words = ["ndots:2", "rotate", "ndots:5", "timeout:1", "attempts:9", "ndots:x"];
    expect(readResolverOptions(words)).toEqual({ ndots: 5, timeoutSeconds: 1, attempts: 5 });
  });
});

describe("queryRounds", () => {
  const options = readResolverOptions([]);
  const table = (os: OperatingSystem, count: number): [string, number][] =>
    queryRounds(os, count, options).map(({ servers, waitMs }) => [servers.join(), waitMs]);

  // KB 2834226: 0, 1, 2, 4, 8 s, and an end after 10.
  it("asks one server five times in ten seconds on Windows", () => {
    expect(table("windows", 1)).toEqual([
      ["0", 1_000],
      ["0", 1_000],
      ["0", 2_000],
      ["0", 4_000],
      ["0", 2_000],
    ]);
  });

  it("asks all servers at once from four seconds on, on Windows", () => {
    expect(table("windows", 3)).toEqual([
      ["0", 1_000],
      ["1", 1_000],
      ["2", 2_000],
      ["0,1,2", 4_000],
      ["0,1,2", 2_000],
    ]);
  });

  // resolv/res_send.c: timeout << place, shared among the servers from the second on.
  it("goes through the servers twice on Linux", () => {
    expect(table("linux", 1)).toEqual([
      ["0", 5_000],
      ["0", 5_000],
    ]);
    expect(table("linux", 2).slice(0, 3)).toEqual([
      ["0", 5_000],
      ["1", 5_000],
      ["0", 5_000],
    ]);
    expect(table("linux", 3).map(([, waitMs]) => waitMs)).toEqual([5_000, 3_000, 6_000, 5_000, 3_000, 6_000]);
  });

  it("reads three servers at most on Linux", () => {
    expect(table("linux", 5).map(([servers]) => servers)).toEqual(["0", "1", "2", "0", "1", "2"]);
  });
});

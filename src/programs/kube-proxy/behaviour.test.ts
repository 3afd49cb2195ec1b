// What begins and ends with which minor version (kube-proxy.md §1.2, §2, §3; the patches that behaviour.ts names).
import { expect, it } from "vitest";
import { type KubernetesVersion, behaviourOf } from "./behaviour.ts";

/** Each value of a table by its path. */
function valuesOf(table: object, path = ""): readonly (readonly [path: string, value: unknown])[] {
  return Object.entries(table).flatMap(([name, value]: [string, unknown]) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? valuesOf(value, `${path}${name}.`)
      : [[`${path}${name}`, value] as const],
  );
}

/** What is another value than one minor version before. */
function newIn(minor: number): Readonly<Record<string, unknown>> {
  const version = (of: number): KubernetesVersion => ({ major: 1, minor: of });
  const before = new Map(valuesOf(behaviourOf(version(minor - 1), "upstream")));
  const changed = valuesOf(behaviourOf(version(minor), "upstream")).filter(
    ([path, value]) => JSON.stringify(before.get(path)) !== JSON.stringify(value),
  );
  return Object.fromEntries(changed.filter(([path]) => path !== "minor"));
}

it.each([
  [21, { checksIngressAddresses: true, "idleChanges.service": "with-hints", hasDualStack: true }],
  [22, { hasIngressDsr: false }],
  [23, { skipsEmptyLists: true }],
  [24, { hasHealthCheckForward: true }],
  [25, { "identity.forgetsDeleted": false }],
  [26, { "identity.backEnds": "set", retriesDeletion: true }],
  [
    27,
    {
      hasInternalPolicy: true,
      hasOptimisation: true,
      marksExternalVips: true,
      readiness: "terminating",
      checksWrongFrontEnd: true,
      checksAllBackEnds: true,
      remembersDeletedExternal: true,
      staleDeletionsMax: 20,
      knowsSecondAddress: true,
      removal: "unreferenced",
    },
  ],
  [28, {}],
  [29, {}],
  [30, {}],
  [
    31,
    {
      "canonical.endpoints": true,
      "idleChanges.slice": "whole",
      checksWrongFrontEnd: false,
      removal: "terminated-of-last-service",
      oldLoadBalancers: "load-balancers",
      canModify: true,
    },
  ],
  [32, {}],
  [
    33,
    {
      "idleChanges.service": "plain",
      equalAddress: "remote",
      sparesLocalEndpoints: true,
      "defaultGates.WinDSR": true,
    },
  ],
  [34, { "idleChanges.service": "zero-ranges-are-none", slicePortWins: true, hasLockedGates: true }],
  [35, { checksAllBackEnds: false, removal: "terminated" }],
  [
    36,
    {
      filtersFrontEnds: true,
      "labelFilters.service": ["service.kubernetes.io/service-proxy-name"],
      "labelFilters.slice": ["service.kubernetes.io/headless"],
      "canonical.frontEnds": true,
      repeatedEntry: "running",
      "identity.hasFamily": true,
      equalAddress: "local",
      duplicateRemoval: "at-once",
    },
  ],
  [
    37,
    {
      remembersDeletedExternal: false,
      toleratedFailure: "not-running",
      takesUnreadForDeleted: false,
      removesConflicts: true,
    },
  ],
])("1.%d of upstream is other than the version before in %j", (minor, expected) => {
  expect(newIn(minor)).toEqual(expected);
});

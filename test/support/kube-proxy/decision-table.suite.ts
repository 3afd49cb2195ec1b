/** How a row of the decision table becomes a test: objects in, load balancers and endpoints of HNS out. */
import { expect, it } from "vitest";
import { messageOf } from "#core/base/thrown.ts";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import { sendThrough } from "./row-packets.suite.ts";
import { KubeProxyNode, type NodeSettings } from "./kube-proxy-node.ts";

/** Minor versions of Kubernetes, the first and the last one. */
export type MinorRange = readonly [first: number, last: number];

/** All versions that there are (kube-proxy.md §4). */
export const ALL_MINORS: MinorRange = [20, 37];

export function minorsIn([first, last]: MinorRange): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** A row of kube-proxy.md §8.2–8.8: what is there after the first sync. */
export interface Row {
  readonly id: string;
  readonly given: string;
  /** Where it holds; absent: in all versions. Rows of one id have all versions among them, each once. */
  readonly minors?: MinorRange;
  readonly node?: Omit<NodeSettings, "minor">;
  readonly services?: readonly Service[];
  readonly slices?: readonly EndpointSlice[];
  /** In order of creation, as the newest version makes them; `asMadeIn` says what older ones leave out. */
  readonly loadBalancers: readonly string[];
  /** Made by kube-proxy, in order; absent: the row does not say. */
  readonly endpoints?: readonly string[];
  /** Service ports that the next sync tries again; absent: none. */
  readonly notApplied?: readonly string[];
  /** Codes of the report; absent: none. */
  readonly codes?: readonly string[];
}

/** VipExternalIP (kube-proxy.md §3.5): kube-proxy sets it from 1.27 on. */
const VIP_EXTERNAL_IP = 16;

/** What every row of an older version lacks: a bit of front ends (§3.5), forwarded health checks (§4, 1.24). */
export function asMadeIn(minor: number, loadBalancers: readonly string[]): readonly string[] {
  const withChecks = minor >= 24 ? loadBalancers : loadBalancers.filter((text) => !text.includes("[GW]"));
  if (minor >= 27) return withChecks;
  return withChecks.map((text) =>
    text.replace(/ P(\d+) /, (_, bits) => ` P${Number(bits) & ~VIP_EXTERNAL_IP} `),
  );
}

/** `WinDSR` had to be asked for up to 1.32, and is locked from 1.34 on (§1.2). */
function nodeIn(minor: number, { node }: Row): NodeSettings {
  const { options } = node ?? {};
  if (options?.enableDSR !== true || minor >= 34) return { ...node, minor };
  return { ...node, minor, options: { ...options, featureGates: { WinDSR: true } } };
}

async function checkRow(row: Row, minor: number): Promise<void> {
  const node = new KubeProxyNode(nodeIn(minor, row));
  const report = await node.begin(row.services ?? [], row.slices ?? []);
  const version = `Kubernetes 1.${minor}`;
  expect(node.loadBalancers(), version).toEqual(asMadeIn(minor, row.loadBalancers));
  if (row.endpoints !== undefined) expect(node.madeEndpoints(), version).toEqual(row.endpoints);
  expect(node.notApplied(), version).toEqual(row.notApplied ?? []);
  expect(node.codes(), version).toEqual(row.codes ?? []);
  expect(report.families.map(({ outcome }) => outcome)).not.toContain("not-ready");
}

function versionsOf({ minors }: Row): string {
  return minors === undefined ? "" : `, 1.${minors[0]} to 1.${minors[1]}`;
}

/** Each row in every version where it holds. */
export function describeRows(rows: readonly Row[]): void {
  const named = rows.map((row) => [row.id, row.given + versionsOf(row), row] as const);
  it.each(named)("KP-%s %s", async (_id, _given, row) => {
    for (const minor of minorsIn(row.minors ?? ALL_MINORS)) await checkRow(row, minor);
  });
  it.each(named)("KP-%s %s: packets", async (_id, _given, row) => {
    expect(await sendThrough(row.loadBalancers, row.node?.isOverlay === true)).toBeGreaterThan(0);
  });
  it("each version has one expectation of each row", () => {
    const held = Map.groupBy(rows, ({ id }) => id);
    for (const [id, ofId] of held) {
      const minors = ofId.flatMap((row) => minorsIn(row.minors ?? ALL_MINORS));
      expect(
        minors.toSorted((a, b) => a - b),
        id,
      ).toEqual(minorsIn(ALL_MINORS));
    }
  });
}

/**
 * A row that is a story: it is told in every version where it holds, and the failure names the version. `range` is all
 * versions when the row says none.
 */
export function inVersions(
  title: string,
  range: MinorRange,
  report: (minor: number) => Promise<void> | void,
): void {
  const [first, last] = range;
  const isAll = first === ALL_MINORS[0] && last === ALL_MINORS[1];
  const versions = isAll ? "" : `, 1.${first} to 1.${last}`;
  it(`${title}${versions}`, async () => {
    for (const minor of minorsIn(range)) {
      try {
        await report(minor);
      } catch (error) {
        throw new Error(`in Kubernetes 1.${minor}: ${messageOf(error)}`, {
          cause: error,
        });
      }
    }
  });
}

/** How a row of the decision table becomes a test: objects in, load balancers and endpoints of HNS out. */
import { expect, it } from "vitest";
import type { EndpointSlice, Service } from "../kube/objects.ts";
import { sendThrough } from "./row-packets.suite.ts";
import { KubeProxyNode, type NodeSettings } from "../testing/kube-proxy-node.ts";

/** A row of kube-proxy.md §8.2–8.8: what is there after the first sync. */
export interface Row {
  readonly id: string;
  readonly given: string;
  readonly node?: NodeSettings;
  readonly services?: readonly Service[];
  readonly slices?: readonly EndpointSlice[];
  /** In order of creation. */
  readonly loadBalancers: readonly string[];
  /** Made by kube-proxy, in order; absent: the row does not say. */
  readonly endpoints?: readonly string[];
  /** Service ports that the next sync tries again; absent: none. */
  readonly notApplied?: readonly string[];
  /** Codes of the report; absent: none. */
  readonly codes?: readonly string[];
}

export function describeRows(rows: readonly Row[]): void {
  it.each(rows.map((row) => [row.id, row.given, row] as const))("KP-%s %s", async (_id, _given, row) => {
    const node = new KubeProxyNode(row.node);
    const report = await node.begin(row.services ?? [], row.slices ?? []);
    expect(node.loadBalancers()).toEqual(row.loadBalancers);
    if (row.endpoints !== undefined) expect(node.madeEndpoints()).toEqual(row.endpoints);
    expect(node.notApplied()).toEqual(row.notApplied ?? []);
    expect(node.codes()).toEqual(row.codes ?? []);
    expect(report.families.map(({ outcome }) => outcome)).not.toContain("not-ready");
  });
  it.each(rows.map((row) => [row.id, row.given, row] as const))(
    "KP-%s %s: packets",
    async (_id, _given, row) => {
      expect(await sendThrough(row.loadBalancers, row.node?.isOverlay === true)).toBeGreaterThan(0);
    },
  );
}

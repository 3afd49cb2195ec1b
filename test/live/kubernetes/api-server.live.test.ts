// The client of a real API server: the contract of all KubeSources, and what happens when the server goes away.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RealClock } from "#core/base/real-clock.node.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { Informer } from "#contracts/kubernetes/informer.ts";
import {
  type ApiServerSource,
  openApiServerSource,
} from "#contracts/kubernetes/server/api-server-source.node.ts";
import { contractOfKubeSources } from "../../support/kubernetes/source-contract.suite.ts";
import { CONTROL_PLANE_TIMEOUT_MS, ControlPlane } from "./control-plane.ts";

let plane: ControlPlane;
beforeAll(async () => {
  plane = await ControlPlane.start();
}, CONTROL_PLANE_TIMEOUT_MS);
afterAll(async () => plane.stop());

contractOfKubeSources("kube-apiserver and etcd", async () => {
  const source = await openApiServerSource({ kubeconfig: plane.kubeconfig });
  return { source, end: () => source.close() };
});

async function errorOf(promise: Promise<unknown>): Promise<KubeError | undefined> {
  try {
    await promise;
    return undefined;
  } catch (error) {
    return error instanceof KubeError ? error : undefined;
  }
}

describe("a real API server", () => {
  it("says its version", async () => {
    const source = await openApiServerSource({ kubeconfig: plane.kubeconfig });
    expect(await source.serverVersion()).toMatch(/^v1\.\d+\.\d+/);
    await source.close();
  });

  it("refuses somebody without rights with 403, and somebody unknown with 401", async () => {
    const [nobody, unknown] = [
      await openApiServerSource({ kubeconfig: plane.withoutRights }),
      await openApiServerSource({ kubeconfig: plane.unknown }),
    ];
    expect(await errorOf(nobody.list("Node"))).toMatchObject({
      code: "kubernetes-access-denied",
      status: 403,
    });
    expect(await errorOf(unknown.list("Node"))).toMatchObject({
      code: "kubernetes-access-denied",
      status: 401,
    });
    await Promise.all([nobody.close(), unknown.close()]);
  });

  it("gives long lists in pages, which are put together", async () => {
    const source = await openApiServerSource({ kubeconfig: plane.kubeconfig });
    const names = Array.from({ length: 520 }, (_, index) => `page-${String(index).padStart(3, "0")}`);
    const labels = { test: "pages" };
    for (const name of names)
      await source.create("ConfigMap", { metadata: { name, namespace: "default", labels } });
    const { items } = await source.list("ConfigMap", { namespace: "default", labelSelector: "test=pages" });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(names);
    for (const name of names) await source.delete("ConfigMap", { namespace: "default", name });
    await source.close();
  });
});

describe("an informer on a server that goes away", () => {
  let source: ApiServerSource;
  let clock: RealClock;
  let informer: Informer<"Node">;
  let reported: string[];
  let failures: KubeError[];

  /** Follows the nodes with a label. */
  async function follow(mark: string): Promise<void> {
    source = await openApiServerSource({ kubeconfig: plane.kubeconfig });
    clock = new RealClock();
    reported = [];
    failures = [];
    informer = new Informer(
      source,
      "Node",
      {
        changed: (before, after) => {
          const sign = before === undefined ? "+" : after === undefined ? "-" : "~";
          reported.push(`${sign}${(after ?? before)?.metadata.name}`);
        },
        failed: (error) => failures.push(error),
      },
      { clock, selection: { labelSelector: `test=${mark}` } },
    );
    informer.start();
    await informer.synced;
  }

  async function make(mark: string, name: string): Promise<void> {
    const writer = await openApiServerSource({ kubeconfig: plane.kubeconfig });
    await writer.create("Node", { metadata: { name, labels: { test: mark } } });
    await writer.close();
  }

  async function remove(name: string): Promise<void> {
    const writer = await openApiServerSource({ kubeconfig: plane.kubeconfig });
    await writer.delete("Node", { namespace: "", name });
    await writer.close();
  }

  async function end(): Promise<void> {
    informer.stop();
    clock.stop();
    await source.close();
  }

  it("hears what happened while it was away, and what happens after it is back", async () => {
    await follow("outage");
    await make("outage", "outage-1");
    await expect.poll(() => reported).toEqual(["+outage-1"]);
    await plane.killApiServer();
    await expect.poll(() => failures.map(({ code }) => code)).toContain("kubernetes-unreachable");
    expect(await errorOf(source.list("Node"))).toMatchObject({ code: "kubernetes-unreachable" });
    await plane.startApiServer();
    await remove("outage-1");
    await make("outage", "outage-2");
    await expect.poll(() => reported, { timeout: 60_000 }).toEqual(["+outage-1", "-outage-1", "+outage-2"]);
    await remove("outage-2");
    await expect.poll(() => reported.at(-1)).toBe("-outage-2");
    await end();
  });

  it("lists again when its version is compacted away: 410, and nothing is lost", async () => {
    await follow("compaction");
    await make("compaction", "compaction-1");
    await expect.poll(() => reported).toEqual(["+compaction-1"]);
    // Nodes that the informer does not follow move the world on behind its back.
    const old = (await source.list("Node")).resourceVersion;
    for (let round = 0; round < 3; round++) {
      await make("others", "compaction-2");
      await remove("compaction-2");
    }
    await plane.compact();
    await plane.killApiServer();
    await plane.startApiServer();
    await remove("compaction-1");
    await make("compaction", "compaction-3");
    const ends: (KubeError | undefined)[] = [];
    source.watch("Node", old, () => undefined, { onEnd: (error) => ends.push(error) });
    await expect.poll(() => ends, { timeout: 30_000 }).toHaveLength(1);
    expect(ends[0]).toMatchObject({ code: "resource-version-expired", status: 410 });
    await expect.poll(() => [...informer.all.keys()], { timeout: 60_000 }).toEqual(["compaction-3"]);
    expect(reported.filter((text) => text === "-compaction-1")).toHaveLength(1);
    await remove("compaction-3");
    await expect.poll(() => informer.all.size).toBe(0);
    await end();
  });
});

import { beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { KubeError, unreachable } from "./error.ts";
import { Informer, type InformerHandler } from "./informer.ts";
import { start } from "#test/support/kubernetes/kube.suite.ts";
import { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import type { KubeKind } from "./objects.ts";
import type { KubeList, Selection, WatchListener, WatchOptions } from "./source.ts";

/** A server that can be away, forget, and end watches. */
class UnsteadySource extends MemoryKubeSource {
  readonly asked: string[] = [];
  away: KubeError | undefined;
  forgets = false;

  override async list<Kind extends KubeKind>(kind: Kind, selection?: Selection): Promise<KubeList<Kind>> {
    this.asked.push("list");
    if (this.away !== undefined) throw this.away;
    return super.list(kind, selection);
  }

  override watch<Kind extends KubeKind>(
    kind: Kind,
    resourceVersion: string,
    listener: WatchListener<Kind>,
    options: WatchOptions = {},
  ): () => void {
    this.asked.push("watch");
    const reason = this.away ?? (this.forgets ? EXPIRED : undefined);
    if (reason === undefined) return super.watch(kind, resourceVersion, listener, options);
    queueMicrotask(() => options.onEnd?.(reason));
    return () => undefined;
  }
}

const AWAY = unreachable("connect ECONNREFUSED 127.0.0.1:6443");
const EXPIRED = new KubeError("resource-version-expired", 410, "too old resource version: 1 (9)");

let source: UnsteadySource;
let clock: VirtualClock;
let reported: string[];
let waits: number[];

const handler: InformerHandler<"Node"> = {
  changed: (before, after) => {
    if (before === undefined) reported.push(`+${after?.metadata.name}`);
    else reported.push(after === undefined ? `-${before.metadata.name}` : `~${after.metadata.name}`);
  },
  failed: (_error, retryInMs) => waits.push(retryInMs),
};

beforeEach(() => {
  source = new UnsteadySource(start("", { clusterCIDRs: [] }));
  clock = new VirtualClock();
  reported = [];
  waits = [];
});

/** Lets everything run that needs no time. */
async function quiet(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

async function pass(ms: number): Promise<void> {
  clock.runUntil(clock.nowMs + ms);
  await quiet();
}

async function begin(): Promise<Informer<"Node">> {
  const informer = new Informer(source, "Node", handler, { clock });
  informer.start();
  await quiet();
  return informer;
}

const make = (name: string): Promise<unknown> => source.create("Node", { metadata: { name } });
const remove = (name: string): Promise<void> => source.delete("Node", { namespace: "", name });

describe("an informer", () => {
  it("waits longer each time while there is no server, up to half a minute, and syncs when there is one", async () => {
    source.away = AWAY;
    const informer = await begin();
    for (let i = 0; i < 7; i++) await pass(waits.at(-1) ?? 0);
    expect(waits).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
    expect(informer.hasSynced).toBe(false);
    source.away = undefined;
    await make("a");
    await pass(30_000);
    expect(informer.hasSynced).toBe(true);
    expect(reported).toEqual(["+a"]);
  });

  it("goes on from the last version after a cut, without listing again", async () => {
    await make("a");
    await begin();
    await pass(2_000);
    source.endWatches();
    await make("b");
    await quiet();
    expect(reported).toEqual(["+a", "+b"]);
    expect(source.asked).toEqual(["list", "watch", "watch"]);
    expect(waits).toEqual([]);
  });

  it("comes back with pauses when the server goes away, and hears what happened in between", async () => {
    await make("a");
    await begin();
    await pass(2_000);
    source.away = AWAY;
    source.endWatches(AWAY);
    await quiet();
    await remove("a");
    await make("b");
    await pass(800);
    await pass(1_600);
    expect(waits).toEqual([800, 1_600, 3_200]);
    source.away = undefined;
    await pass(3_200);
    expect(reported).toEqual(["+a", "-a", "+b"]);
    expect(source.asked.filter((word) => word === "list")).toHaveLength(1);
  });

  it("lists again when its version is forgotten, and tells what is gone, changed and new", async () => {
    await make("a");
    await make("b");
    await begin();
    await pass(2_000);
    source.away = AWAY;
    source.endWatches(AWAY);
    await quiet();
    await remove("a");
    await source.patch(
      "Node",
      { namespace: "", name: "b" },
      { type: "merge", body: { metadata: { labels: { x: "1" } } } },
    );
    await make("c");
    source.away = undefined;
    source.forgets = true;
    clock.runUntil(clock.nowMs + 800);
    await Promise.resolve();
    source.forgets = false;
    await quiet();
    expect(reported).toEqual(["+a", "+b", "-a", "~b", "+c"]);
    expect(source.asked.filter((word) => word === "list")).toHaveLength(2);
  });

  it("tells an object that was made anew under its name as gone and new", async () => {
    await make("a");
    await begin();
    await pass(2_000);
    source.away = EXPIRED;
    source.endWatches(EXPIRED);
    await remove("a");
    await make("a");
    source.away = undefined;
    await quiet();
    await pass(800);
    expect(reported).toEqual(["+a", "-a", "+a"]);
  });

  it("does not ask without pause a server that forgets everything at once", async () => {
    source.forgets = true;
    await begin();
    expect(source.asked.length).toBeLessThan(8);
    expect(waits).toHaveLength(1);
  });

  it("waits as long as the server asks for", async () => {
    source.away = new KubeError("kubernetes-unreachable", 429, "too many requests", { retryAfterSeconds: 7 });
    await begin();
    expect(waits).toEqual([7_000]);
  });

  it("is silent after it was stopped", async () => {
    const informer = await begin();
    informer.stop();
    await make("a");
    source.endWatches(AWAY);
    await pass(60_000);
    expect(reported).toEqual([]);
    expect(source.asked).toEqual(["list", "watch"]);
  });
});

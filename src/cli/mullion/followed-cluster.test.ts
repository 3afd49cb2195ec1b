// What a watched cluster is asked for: each kind is listed once, and what has not changed is not read again.
import { beforeEach, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { KubeError, unreachable } from "#contracts/kubernetes/error.ts";
import type { KubeKind } from "#contracts/kubernetes/objects.ts";
import type { KubeList, Selection, WatchListener, WatchOptions } from "#contracts/kubernetes/source.ts";
import { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import { start } from "#test/support/kubernetes/kube.suite.ts";
import { FollowedCluster } from "./followed-cluster.ts";

const DENIED = new KubeError("kubernetes-access-denied", 403, "daemonsets is forbidden");
const EXPIRED = new KubeError("resource-version-expired", 410, "too old resource version: 1 (9)");

/** A server that counts lists, that refuses a kind, and that may be away. */
class CountingSource extends MemoryKubeSource {
  readonly address = "https://10.0.0.1:6443";
  readonly listed: KubeKind[] = [];
  readonly ends: ((error: KubeError | undefined) => void)[] = [];
  isAway = false;

  override async list<Kind extends KubeKind>(kind: Kind, selection?: Selection): Promise<KubeList<Kind>> {
    this.listed.push(kind);
    if (this.isAway) throw unreachable("connect ECONNREFUSED 10.0.0.1:6443");
    if (kind === "DaemonSet") throw DENIED;
    return super.list(kind, selection);
  }

  override watch<Kind extends KubeKind>(
    kind: Kind,
    resourceVersion: string,
    listener: WatchListener<Kind>,
    options: WatchOptions = {},
  ): () => void {
    if (kind === "Service" && options.onEnd !== undefined) this.ends.push(options.onEnd);
    return super.watch(kind, resourceVersion, listener, options);
  }
}

let source: CountingSource;
let cluster: FollowedCluster;

async function namesOf(kind: string): Promise<readonly string[]> {
  const { readings } = await cluster.read();
  const objects = readings.flatMap((each) => each.objects.map(({ object }) => object));
  return objects.filter((each) => each.kind === kind).map(({ metadata }) => metadata.name);
}

function addService(name: string): Promise<unknown> {
  return source.create("Service", { metadata: { name, namespace: "a" }, spec: { ports: [{ port: 80 }] } });
}

beforeEach(async () => {
  source = new CountingSource(start("", { clusterCIDRs: [] }));
  await source.create("Namespace", { metadata: { name: "a" } });
  await source.create("Node", { metadata: { name: "win-1" } });
  cluster = new FollowedCluster(source, new VirtualClock());
});

it("lists each kind once, and what has not changed is not read again", async () => {
  const { readings: first } = await cluster.read();
  expect(source.listed).toEqual(["Node", "Pod", "Service", "EndpointSlice", "ConfigMap", "DaemonSet"]);
  const { readings: second } = await cluster.read();
  expect(second).toHaveLength(first.length);
  for (const [index, reading] of second.entries()) expect(reading).toBe(first[index]);
  // Whoever is refused asks again: rights may come.
  expect(source.listed.slice(6)).toEqual(["DaemonSet"]);
});

it("hears what comes and what goes", async () => {
  expect(await namesOf("Service")).toEqual([]);
  await addService("web");
  expect(await namesOf("Service")).toEqual(["web"]);
  await source.delete("Service", { namespace: "a", name: "web" });
  expect(await namesOf("Service")).toEqual([]);
  expect(source.listed.filter((kind) => kind === "Service")).toHaveLength(1);
});

it("lists again where the server has forgotten the version", async () => {
  await cluster.read();
  await addService("web");
  source.ends.at(-1)?.(EXPIRED);
  await cluster.read();
  expect(await namesOf("Service")).toEqual(["web"]);
  expect(source.listed.filter((kind) => kind === "Service")).toHaveLength(2);
});

it("names what may not be listed, and objects at their addresses", async () => {
  const { readings, left } = await cluster.read();
  expect(left).toEqual([
    { file: "https://10.0.0.1:6443/daemonsets", line: 1, reason: "daemonsets is forbidden" },
  ]);
  const [node] = readings[0]?.objects ?? [];
  expect(node?.origin?.file).toBe("/api/v1/nodes/win-1");
});

it("says that a server is away, and comes back", async () => {
  await cluster.read();
  source.isAway = true;
  source.ends.at(-1)?.(unreachable("socket hang up"));
  await Promise.resolve();
  await expect(cluster.read()).rejects.toThrow("connect ECONNREFUSED");
  source.isAway = false;
  await addService("web");
  expect(await namesOf("Service")).toEqual(["web"]);
});

import { ChangeLog } from "./family-tracker.ts";
import { describe, expect, it } from "vitest";
import type { KubeReader, WatchEvent, WatchListener } from "#contracts/kubernetes/source.ts";
import type { KubeKind, KubeObjects } from "#contracts/kubernetes/objects.ts";
import { ADDRESS, KubeProxyNode, service, slice } from "#test/support/kube-proxy/kube-proxy-node.ts";
import { behaviourOf } from "../behaviour.ts";
import { followSource, ProxyObjects } from "./proxy-objects.ts";

const BEHAVIOUR = behaviourOf({ major: 1, minor: 36 }, "upstream");

/** A source that tells what a test says. */
class ScriptedSource implements KubeReader {
  readonly objects: { Service: KubeObjects["Service"][]; EndpointSlice: KubeObjects["EndpointSlice"][] } = {
    Service: [],
    EndpointSlice: [],
  };
  readonly watchedFrom: string[] = [];
  private readonly listeners: Map<KubeKind, (event: unknown) => void> = new Map();

  async list<Kind extends KubeKind>(
    kind: Kind,
  ): Promise<{ items: readonly KubeObjects[Kind][]; resourceVersion: string }> {
    await Promise.resolve();
    const items: unknown = kind === "Service" ? this.objects.Service : this.objects.EndpointSlice;
    return { items: items as readonly KubeObjects[Kind][], resourceVersion: "7" };
  }

  watch<Kind extends KubeKind>(kind: Kind, version: string, listener: WatchListener<Kind>): () => void {
    this.watchedFrom.push(version);
    this.listeners.set(kind, listener as (event: unknown) => void);
    return () => this.listeners.delete(kind);
  }

  report<Kind extends KubeKind>(kind: Kind, event: WatchEvent<Kind>): void {
    this.listeners.get(kind)?.(event);
  }
}

describe("following a source", () => {
  it("lists, watches, and ends", async () => {
    const source = new ScriptedSource();
    source.objects.Service.push(service());
    source.objects.EndpointSlice.push(slice(["L1"]));
    const node = new KubeProxyNode();
    let changes = 0;
    const stop = await followSource(source, node.objects, () => {
      changes += 1;
    });
    expect(source.watchedFrom).toEqual(["7", "7"]);
    await node.start();
    await node.proxy.sync();
    expect(node.loadBalancers()).toEqual(["C:80→8080 [EP-L1] L0 P0 D0"]);

    source.report("EndpointSlice", { type: "MODIFIED", object: slice(["L1", "L2"]) });
    source.report("Service", {
      type: "ADDED",
      object: service({ name: "other", spec: { clusterIP: ADDRESS.C2 } }),
    });
    await node.proxy.sync();
    expect(changes).toBe(2);
    expect(node.loadBalancers()).toEqual(["C:80→8080 [EP-L1,EP-L2] L0 P0 D0"]);
    expect(node.notApplied()).toEqual(["other:p80"]);

    source.report("Service", { type: "DELETED", object: service() });
    await node.proxy.sync();
    expect(node.loadBalancers()).toEqual([]);

    stop();
    source.report("Service", { type: "ADDED", object: service() });
    await node.proxy.sync();
    expect(node.loadBalancers()).toEqual([]);
  });

  it("a second listing takes away what is gone", async () => {
    const source = new ScriptedSource();
    source.objects.Service.push(
      service({ name: "a" }),
      service({ name: "b", spec: { clusterIP: ADDRESS.C2 } }),
    );
    source.objects.EndpointSlice.push(slice(["L1"], { of: "a" }), slice(["L1"], { of: "b" }));
    const node = new KubeProxyNode();
    await followSource(source, node.objects);
    await node.start();
    await node.proxy.sync();
    source.objects.Service.shift();
    source.objects.EndpointSlice.shift();
    await followSource(source, node.objects);
    await node.proxy.sync();
    expect(node.loadBalancers()).toEqual(["C2:80→8080 [EP-L1] L0 P0 D0"]);
  });
});

describe("what all nodes share", () => {
  it("is the same value for every node until the object changes", () => {
    const objects = new ProxyObjects();
    objects.servicesListed([service()]);
    objects.endpointSlicesListed([slice(["L1", "R1"])]);
    const tracker = objects.tracker(4, BEHAVIOUR);
    const [svc, endpoints] = [tracker.service("default/svc"), tracker.endpoints("default/svc")];
    expect(Object.isFrozen(svc)).toBe(true);
    expect(Object.isFrozen(endpoints)).toBe(true);
    expect(objects.tracker(4, BEHAVIOUR)).toBe(tracker);
    objects.serviceChanged(undefined, service({ labels: { team: "red" } }));
    expect(tracker.service("default/svc")).toBe(svc);
    objects.endpointSliceChanged(undefined, slice(["L1"]));
    expect(tracker.service("default/svc")).toBe(svc);
    expect(tracker.endpoints("default/svc")).not.toBe(endpoints);
  });

  it("is read apart for versions that read differently", () => {
    const objects = new ProxyObjects();
    objects.servicesListed([service({ spec: { externalIPs: [ADDRESS.E, "2001:db8::1"] } })]);
    const externalIps = [35, 36].map(
      (minor) =>
        objects.tracker(4, behaviourOf({ major: 1, minor }, "upstream")).service("default/svc")?.ports[0]
          ?.externalIps,
    );
    expect(externalIps).toEqual([[ADDRESS.E, "2001:db8::1"], [ADDRESS.E]]);
  });

  // The protocol is part of a port's name (ServicePortName of kubernetes, pkg/proxy/types.go).
  it("a slice's port of the same name and another protocol is not the Service's", async () => {
    const node = new KubeProxyNode();
    await node.begin([service()], [slice(["L1"], { ports: [{ name: "p80", port: 8080, protocol: "UDP" }] })]);
    expect(node.loadBalancers()).toEqual([]);
    expect(node.notApplied()).toEqual(["svc:p80"]);
  });

  it("a node that comes later finds no slice that is gone", async () => {
    const first = new KubeProxyNode();
    await first.begin([service()], [slice(["L1"])]);
    await first.remove(slice(["L1"]));
    // Of another version, which reads objects in another way.
    const later = new KubeProxyNode({ minor: 30 }, first.objects);
    await later.start();
    await later.proxy.sync();
    expect(later.loadBalancers()).toEqual([]);
    expect(later.notApplied()).toEqual(["svc:p80"]);
  });

  it("nor a Service that is gone", async () => {
    const first = new KubeProxyNode();
    await first.begin([service()], [slice(["L1"])]);
    await first.remove(service());
    const later = new KubeProxyNode({ minor: 30 }, first.objects);
    await later.start();
    await later.proxy.sync();
    expect(later.proxy.services()).toEqual([]);
  });

  it("follows a slice that changes its Service", () => {
    const objects = new ProxyObjects();
    objects.endpointSlicesListed([slice(["L1"], { name: "s", of: "a" })]);
    const tracker = objects.tracker(4, BEHAVIOUR);
    objects.endpointSliceChanged(undefined, slice(["L1"], { name: "s", of: "b" }));
    expect(tracker.endpoints("default/a")).toBeUndefined();
    expect(tracker.endpoints("default/b")?.byPort.size).toBe(1);
  });
});

describe("the log of changes", () => {
  it("gives each reader the names since its position, once, in order", () => {
    const log = new ChangeLog();
    log.add("b", 2);
    const position = log.end;
    for (const name of ["c", "a", "c"]) log.add(name, 3);
    expect(log.since(position)).toEqual(["a", "c"]);
    expect(log.since(log.end)).toEqual([]);
  });

  it("stays bounded, and says so to a reader that is too far behind", () => {
    const log = new ChangeLog();
    for (let n = 0; n < 10_000; n++) log.add(`s${n % 3}`, 3);
    expect(log.since(0)).toBeUndefined();
    expect(log.since(log.end - 2)).toHaveLength(2);
    expect(log.end).toBe(10_000);
  });

  it("a node that is too far behind finds every change all the same", async () => {
    const node = new KubeProxyNode();
    await node.begin(
      [service(), service({ name: "gone", spec: { clusterIP: ADDRESS.C2 } })],
      [slice(["L1"]), slice(["L1"], { of: "gone" })],
    );
    node.objects.serviceChanged(service({ name: "gone" }), undefined);
    for (let n = 0; n < 3_000; n++) {
      const port = 1_000 + (n % 2);
      const ports = [{ name: "p80", port, targetPort: 8080 }];
      node.objects.serviceChanged(
        undefined,
        service({ name: "busy", spec: { clusterIP: "10.20.30.99", ports } }),
      );
    }
    node.objects.endpointSliceChanged(undefined, slice(["L1"], { of: "busy" }));
    await node.proxy.sync();
    expect(node.loadBalancers()).toEqual([
      "C:80→8080 [EP-L1] L0 P0 D0",
      "10.20.30.99:1001→8080 [EP-L1] L0 P0 D0",
    ]);
  });
});

/**
 * What every KubeSource keeps, whoever stands behind it: the embedded control plane, the same over HTTP, a real API
 * server. The sentences are those of the Kubernetes API (kubernetes.io, "Kubernetes API Concepts").
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { defined } from "#core/base/assert.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { Informer } from "#contracts/kubernetes/informer.ts";
import type { KubeKind, Node, Pod, Service } from "#contracts/kubernetes/objects.ts";
import type { KubeDraft, KubeSource, ObjectName, WatchOptions } from "#contracts/kubernetes/source.ts";

export interface ContractSource {
  readonly source: KubeSource;
  /** Ends it, and clears away what the test left. */
  readonly end: () => Promise<void>;
}

let counter = 0;

/** A name that no other test has: one API server serves them all. */
function unique(base: string): string {
  counter++;
  return `${base}-${counter}`;
}

function nodeDraft(name: string): KubeDraft<"Node"> {
  return { metadata: { name, labels: { "mullion.test/contract": name } } };
}

function serviceDraft(name: string): KubeDraft<"Service"> {
  return {
    metadata: { name, namespace: "default", labels: { app: name } },
    spec: { selector: { app: name }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
  };
}

function podDraft(name: string, nodeName: string): KubeDraft<"Pod"> {
  return {
    metadata: { name, namespace: "default", labels: { app: name } },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "web", image: "web:1" }],
    },
  };
}

/** The error that a promise is rejected with. */
async function errorOf(promise: Promise<unknown>): Promise<KubeError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof KubeError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

/** Everything that a watch tells, as texts. */
class Heard {
  readonly events: string[] = [];
  readonly ends: (KubeError | undefined)[] = [];
  stop: () => void = () => undefined;

  watch(source: KubeSource, kind: KubeKind, version: string, options: WatchOptions = {}): this {
    this.stop = source.watch(
      kind,
      version,
      ({ type, object }) => this.events.push(`${type} ${object.metadata.name}`),
      { ...options, onEnd: (error) => this.ends.push(error) },
    );
    return this;
  }
}

/** Runs the suite; `open` is called before each test. */
export function contractOfKubeSources(title: string, open: () => Promise<ContractSource>): void {
  describe(`KubeSource contract: ${title}`, () => {
    let opened: ContractSource;
    let source: KubeSource;
    const made: { readonly kind: KubeKind; readonly name: ObjectName }[] = [];
    const stops: (() => void)[] = [];

    beforeEach(async () => {
      opened = await open();
      source = opened.source;
    });

    afterEach(async () => {
      for (const stop of stops.splice(0)) stop();
      for (const { kind, name } of made.splice(0)) await source.delete(kind, name).catch(() => undefined);
      await opened.end();
    });

    const inDefault = (name: string): ObjectName => ({ namespace: "default", name });
    const ofCluster = (name: string): ObjectName => ({ namespace: "", name });

    async function makeNode(name = unique("node")): Promise<Node> {
      made.push({ kind: "Node", name: ofCluster(name) });
      return source.create("Node", nodeDraft(name));
    }

    async function makeService(name = unique("service")): Promise<Service> {
      made.push({ kind: "Service", name: inDefault(name) });
      return source.create("Service", serviceDraft(name));
    }

    async function makePod(node: string, name = unique("pod")): Promise<Pod> {
      made.push({ kind: "Pod", name: inDefault(name) });
      return source.create("Pod", podDraft(name, node));
    }

    function hear(kind: KubeKind, version: string, options: WatchOptions = {}): Heard {
      const heard = new Heard().watch(source, kind, version, options);
      stops.push(heard.stop);
      return heard;
    }

    describe("create and get", () => {
      it("gives an object an identity and a version, and gives it back", async () => {
        const node = await makeNode();
        expect(node).toMatchObject({ apiVersion: "v1", kind: "Node" });
        expect(node.metadata.uid).not.toBe("");
        expect(node.metadata.resourceVersion).toMatch(/^\d+$/);
        expect(node.metadata.namespace).toBe("");
        const got = await source.get("Node", ofCluster(node.metadata.name));
        expect(got.metadata.uid).toBe(node.metadata.uid);
      });

      it("fills in what the server gives a Service", async () => {
        const service = await makeService();
        expect(service.metadata.namespace).toBe("default");
        expect(service.spec).toMatchObject({ type: "ClusterIP", sessionAffinity: "None" });
        expect(service.spec?.clusterIP).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
      });

      it("draws a name for generateName", async () => {
        const draft = { ...serviceDraft("x"), metadata: { generateName: "drawn-", namespace: "default" } };
        const service = await source.create("Service", draft);
        made.push({ kind: "Service", name: inDefault(service.metadata.name) });
        expect(service.metadata.name).toMatch(/^drawn-[a-z0-9]{5}$/);
      });

      it("refuses a name that is taken", async () => {
        const node = await makeNode();
        const error = await errorOf(source.create("Node", nodeDraft(node.metadata.name)));
        expect(error).toMatchObject({ code: "object-exists-already", status: 409, reason: "AlreadyExists" });
        expect(error.message).toBe(`nodes "${node.metadata.name}" already exists`);
      });

      it("refuses an object with a broken field, and names the field", async () => {
        const draft = serviceDraft(unique("service"));
        const spec = { ...draft.spec, ports: [{ port: 70_000 }] };
        const error = await errorOf(source.create("Service", { ...draft, spec }));
        expect(error).toMatchObject({ code: "object-refused", status: 422, reason: "Invalid" });
        expect(error.causes.map(({ field }) => field)).toContain("spec.ports[0].port");
        expect(error.message).toContain("must be between 1 and 65535, inclusive");
      });

      it("refuses an object in a namespace that there is not", async () => {
        const draft = serviceDraft(unique("service"));
        const metadata = { ...draft.metadata, namespace: "nowhere" };
        const error = await errorOf(source.create("Service", { ...draft, metadata }));
        expect(error).toMatchObject({ code: "object-not-found", status: 404 });
        expect(error.message).toContain('namespaces "nowhere" not found');
      });

      it("says what is not there", async () => {
        const error = await errorOf(source.get("Node", ofCluster("nobody")));
        expect(error).toMatchObject({ code: "object-not-found", status: 404, reason: "NotFound" });
        expect(error.message).toBe('nodes "nobody" not found');
      });
    });

    describe("list", () => {
      it("lists what a label selector means", async () => {
        const [first, second] = [await makeService(), await makeService()];
        const named = (selector: string): Promise<string[]> =>
          source
            .list("Service", { namespace: "default", labelSelector: selector })
            .then(({ items }) => items.map(({ metadata }) => metadata.name));
        const [a, b] = [first.metadata.name, second.metadata.name];
        expect(await named(`app=${a}`)).toEqual([a]);
        expect(await named(`app in (${a},${b})`)).toEqual([a, b].toSorted());
        const others = await named(`app!=${a},app`);
        expect(others).toContain(b);
        expect(others).not.toContain(a);
        expect(await named(`app=${a},!app`)).toEqual([]);
      });

      it("lists what a field selector means", async () => {
        const node = unique("node");
        const pod = await makePod(node);
        await makePod(unique("node"));
        const list = await source.list("Pod", { fieldSelector: `spec.nodeName=${node}` });
        expect(list.items.map(({ metadata }) => metadata.name)).toEqual([pod.metadata.name]);
        expect(list.items[0]).toMatchObject({ apiVersion: "v1", kind: "Pod" });
        const error = await errorOf(source.list("Pod", { fieldSelector: "spec.color=red" }));
        expect(error).toMatchObject({ code: "kubernetes-request-invalid", status: 400 });
      });
    });

    describe("update", () => {
      it("replaces an object and gives it a later version", async () => {
        const node = await makeNode();
        const changed = { ...node, metadata: { ...node.metadata, labels: { zone: "a" } } };
        const updated = await source.update("Node", changed);
        expect(updated.metadata.labels).toMatchObject({ zone: "a" });
        expect(updated.metadata.labels).not.toHaveProperty("mullion.test/contract");
        expect(updated.metadata.resourceVersion).not.toBe(node.metadata.resourceVersion);
        expect(updated.metadata.uid).toBe(node.metadata.uid);
      });

      it("refuses a change of an old version", async () => {
        const node = await makeNode();
        const change = (zone: string): Promise<Node> =>
          source.update("Node", { ...node, metadata: { ...node.metadata, labels: { zone } } });
        await change("a");
        const error = await errorOf(change("b"));
        expect(error).toMatchObject({ code: "object-changed-meanwhile", status: 409, reason: "Conflict" });
        expect(error.message).toContain("the object has been modified");
        const now = await source.get("Node", ofCluster(node.metadata.name));
        expect(now.metadata.labels).toMatchObject({ zone: "a" });
      });

      it("makes no version when nothing changes", async () => {
        const node = await makeNode();
        const again = await source.update("Node", await source.get("Node", ofCluster(node.metadata.name)));
        const got = await source.get("Node", ofCluster(node.metadata.name));
        expect(again.metadata.resourceVersion).toBe(got.metadata.resourceVersion);
      });

      it("leaves the status alone, and the status path leaves the spec alone", async () => {
        const node = await makeNode();
        const name = ofCluster(node.metadata.name);
        const status = { addresses: [{ type: "InternalIP", address: "10.0.0.9" }] };
        await source.update("Node", { ...node, status, spec: { ...node.spec, unschedulable: true } });
        const first = await source.get("Node", name);
        expect(first.spec?.unschedulable).toBe(true);
        expect(first.status?.addresses).toBeUndefined();
        const changed = { ...first, status, spec: { unschedulable: false } };
        const second = await source.update("Node", changed, { subresource: "status" });
        expect(second.spec?.unschedulable).toBe(true);
        expect(second.status?.addresses).toEqual(status.addresses);
      });

      it("keeps the cluster IP of a Service, and refuses another one", async () => {
        const service = await makeService();
        const { clusterIP: _, clusterIPs: _1, ...spec } = defined(service.spec, "a spec");
        const updated = await source.update("Service", { ...service, spec });
        expect(updated.spec?.clusterIP).toBe(service.spec?.clusterIP);
        const other = {
          ...updated,
          spec: { ...updated.spec, clusterIP: "10.96.200.200", clusterIPs: ["10.96.200.200"] },
        };
        const error = await errorOf(source.update("Service", other));
        expect(error).toMatchObject({ code: "object-refused", status: 422 });
        expect(error.message).toContain("spec.clusterIPs[0]");
      });
    });

    describe("patch", () => {
      it("merge: joins mappings, and null takes away", async () => {
        const node = await makeNode();
        const name = ofCluster(node.metadata.name);
        const annotate = (annotations: Record<string, string | null>): Promise<Node> =>
          source.patch("Node", name, { type: "merge", body: { metadata: { annotations } } });
        await annotate({ one: "1", two: "2" });
        const patched = await annotate({ one: null, three: "3" });
        expect(patched.metadata.annotations).toMatchObject({ two: "2", three: "3" });
        expect(patched.metadata.annotations).not.toHaveProperty("one");
      });

      it("strategic on status, as flanneld writes its lease: annotations change, the spec does not", async () => {
        const node = await makeNode();
        const body = {
          metadata: { annotations: { "flannel.alpha.coreos.com/public-ip": "10.0.0.11" } },
          spec: { unschedulable: true },
        };
        const patched = await source.patch(
          "Node",
          ofCluster(node.metadata.name),
          { type: "strategic", body },
          { subresource: "status" },
        );
        expect(patched.metadata.annotations).toMatchObject({
          "flannel.alpha.coreos.com/public-ip": "10.0.0.11",
        });
        expect(patched.spec?.unschedulable).toBeUndefined();
      });

      it("strategic: items of a list are joined by their key", async () => {
        const service = await makeService();
        const name = inDefault(service.metadata.name);
        const patch = (ports: readonly object[]): Promise<Service> =>
          source.patch("Service", name, { type: "strategic", body: { spec: { ports } } });
        const added = await patch([{ name: "https", port: 443 }]);
        expect(added.spec?.ports?.map(({ port }) => port).toSorted()).toEqual([443, 80]);
        const deleted = await patch([{ port: 443, $patch: "delete" }]);
        expect(deleted.spec?.ports?.map(({ port }) => port)).toEqual([80]);
        expect(deleted.spec?.ports?.[0]).toMatchObject({ name: "http", targetPort: 8080 });
      });

      it("strategic on status: conditions are joined by their type", async () => {
        const node = await makeNode();
        const patch = (type: string, status: string): Promise<Node> =>
          source.patch(
            "Node",
            ofCluster(node.metadata.name),
            { type: "strategic", body: { status: { conditions: [{ type, status }] } } },
            { subresource: "status" },
          );
        await patch("Ready", "False");
        await patch("NetworkUnavailable", "False");
        const last = await patch("Ready", "True");
        const reported = last.status?.conditions?.map(({ type, status }) => `${type}=${status}`);
        expect(reported?.toSorted()).toEqual(["NetworkUnavailable=False", "Ready=True"]);
      });

      it("json: operations at their places, all or none", async () => {
        const node = await makeNode();
        const name = ofCluster(node.metadata.name);
        const patched = await source.patch("Node", name, {
          type: "json",
          body: [
            { op: "test", path: "/metadata/labels/mullion.test~1contract", value: node.metadata.name },
            { op: "add", path: "/metadata/annotations", value: { "mullion.test/a": "1" } },
          ],
        });
        expect(patched.metadata.annotations).toMatchObject({ "mullion.test/a": "1" });
        const error = await errorOf(
          source.patch("Node", name, {
            type: "json",
            body: [
              { op: "replace", path: "/metadata/annotations/mullion.test~1a", value: "2" },
              { op: "test", path: "/metadata/labels/mullion.test~1contract", value: "other" },
            ],
          }),
        );
        expect(error.status).toBe(422);
        const now = await source.get("Node", name);
        expect(now.metadata.annotations).toMatchObject({ "mullion.test/a": "1" });
      });

      it("depends on a version when it names one", async () => {
        const node = await makeNode();
        const name = ofCluster(node.metadata.name);
        const patch = (resourceVersion: string, zone: string): Promise<Node> =>
          source.patch("Node", name, {
            type: "merge",
            body: { metadata: { resourceVersion, labels: { zone } } },
          });
        await source.patch("Node", name, { type: "merge", body: { metadata: { labels: { zone: "x" } } } });
        const error = await errorOf(patch(node.metadata.resourceVersion, "a"));
        expect(error).toMatchObject({ code: "object-changed-meanwhile", status: 409 });
        const present = await source.get("Node", name);
        expect((await patch(present.metadata.resourceVersion, "b")).metadata.labels).toMatchObject({
          zone: "b",
        });
      });

      it("says that there is nothing to patch, and refuses what it would break", async () => {
        const missing = source.patch("Node", ofCluster("nobody"), { type: "merge", body: {} });
        expect(await errorOf(missing)).toMatchObject({ code: "object-not-found", status: 404 });
        const service = await makeService();
        const broken = source.patch("Service", inDefault(service.metadata.name), {
          type: "merge",
          body: { spec: { sessionAffinity: "Sometimes" } },
        });
        expect(await errorOf(broken)).toMatchObject({ code: "object-refused", status: 422 });
      });
    });

    describe("a Service that changes its type", () => {
      it("gives up the node ports and the policy that only the old type has", async () => {
        const service = await makeService();
        const name = inDefault(service.metadata.name);
        const patched = await source.patch("Service", name, {
          type: "merge",
          body: { spec: { type: "NodePort" } },
        });
        expect(patched.spec?.ports?.[0]?.nodePort).toBeGreaterThanOrEqual(30_000);
        const back = await source.patch("Service", name, {
          type: "json",
          body: [{ op: "replace", path: "/spec/type", value: "ClusterIP" }],
        });
        expect(back.spec?.ports?.[0]).not.toHaveProperty("nodePort");
        expect(back.spec).not.toHaveProperty("externalTrafficPolicy");
        expect(back.spec?.clusterIP).toBe(service.spec?.clusterIP);
      });
    });

    describe("delete", () => {
      it("removes an object, once", async () => {
        const node = await makeNode();
        const name = ofCluster(node.metadata.name);
        await source.delete("Node", name);
        expect(await errorOf(source.get("Node", name))).toMatchObject({ status: 404 });
        expect(await errorOf(source.delete("Node", name))).toMatchObject({ code: "object-not-found" });
      });

      it("removes only the object that is meant", async () => {
        const node = await makeNode();
        const name = ofCluster(node.metadata.name);
        const other = "00000000-0000-4000-8000-000000000000";
        const error = await errorOf(source.delete("Node", name, { uid: other }));
        expect(error).toMatchObject({ code: "object-changed-meanwhile", status: 409 });
        await source.delete("Node", name, { uid: node.metadata.uid });
      });
    });

    describe("Leases, Events and EndpointSlices", () => {
      it("a Lease is taken and renewed", async () => {
        const name = unique("lease");
        made.push({ kind: "Lease", name: { namespace: "kube-node-lease", name } });
        const lease = await source.create("Lease", {
          metadata: { name, namespace: "kube-node-lease" },
          spec: {
            holderIdentity: "win-1",
            leaseDurationSeconds: 40,
            renewTime: "2026-01-01T00:00:00.000000Z",
          },
        });
        const renewed = await source.update("Lease", {
          ...lease,
          spec: { ...lease.spec, renewTime: "2026-01-01T00:00:10.000000Z" },
        });
        expect(renewed.spec).toMatchObject({
          holderIdentity: "win-1",
          renewTime: "2026-01-01T00:00:10.000000Z",
        });
      });

      it("an Event is told, and found by the object that it is about", async () => {
        const about = unique("about");
        const event = await source.create("Event", {
          metadata: { generateName: `${about}-`, namespace: "default" },
          involvedObject: { kind: "Pod", namespace: "default", name: about },
          reason: "Started",
          message: "it has started",
          type: "Normal",
        });
        made.push({ kind: "Event", name: inDefault(event.metadata.name) });
        const { items } = await source.list("Event", {
          namespace: "default",
          fieldSelector: `involvedObject.name=${about},involvedObject.kind=Pod`,
        });
        expect(items.map(({ reason }) => reason)).toEqual(["Started"]);
      });

      it("an EndpointSlice is written and changed", async () => {
        const name = unique("slice");
        made.push({ kind: "EndpointSlice", name: inDefault(name) });
        const slice = await source.create("EndpointSlice", {
          metadata: { name, namespace: "default", labels: { "kubernetes.io/service-name": name } },
          addressType: "IPv4",
          endpoints: [{ addresses: ["10.244.1.5"], conditions: { ready: true } }],
          ports: [{ name: "http", port: 8080 }],
        });
        expect(slice.ports?.[0]).toMatchObject({ protocol: "TCP" });
        const changed = await source.update("EndpointSlice", {
          ...slice,
          endpoints: [{ addresses: ["10.244.1.6"], conditions: { ready: false } }],
        });
        expect(changed.endpoints?.[0]?.addresses).toEqual(["10.244.1.6"]);
      });
    });

    describe("watch", () => {
      it("tells what follows a list, in order, and nothing when it was ended", async () => {
        const { resourceVersion } = await source.list("Node");
        const heard = hear("Node", resourceVersion);
        const node = await makeNode();
        const { name } = node.metadata;
        await source.patch("Node", ofCluster(name), {
          type: "merge",
          body: { metadata: { labels: { zone: "a" } } },
        });
        await source.delete("Node", ofCluster(name));
        const own = (): string[] => heard.events.filter((event) => event.endsWith(` ${name}`));
        await expect.poll(own).toEqual([`ADDED ${name}`, `MODIFIED ${name}`, `DELETED ${name}`]);
        heard.stop();
        const later = await makeNode();
        await source.get("Node", ofCluster(later.metadata.name));
        expect(heard.events).not.toContain(`ADDED ${later.metadata.name}`);
        expect(heard.ends).toEqual([]);
      });

      it("tells again what came after an old version", async () => {
        const node = await makeNode();
        const later = await makeNode();
        const heard = hear("Node", node.metadata.resourceVersion, {
          labelSelector: "mullion.test/contract",
        });
        await expect.poll(() => heard.events).toContain(`ADDED ${later.metadata.name}`);
        expect(heard.events).not.toContain(`ADDED ${node.metadata.name}`);
      });

      it("one with a selector tells an object that begins to be meant as added, and one that ceases as deleted", async () => {
        const service = await makeService();
        const { name, resourceVersion } = service.metadata;
        const mark = unique("mark");
        const heard = hear("Service", resourceVersion, {
          namespace: "default",
          labelSelector: `mark=${mark}`,
        });
        const label = (value: string | null): Promise<Service> =>
          source.patch("Service", inDefault(name), {
            type: "merge",
            body: { metadata: { labels: { mark: value } } },
          });
        await label(mark);
        await label(null);
        await expect.poll(() => heard.events).toEqual([`ADDED ${name}`, `DELETED ${name}`]);
      });

      it("one of NODE_NAME hears of its own node only", async () => {
        const own = unique("node");
        const { resourceVersion } = await source.list("Node");
        const heard = hear("Node", resourceVersion, { fieldSelector: `metadata.name=${own}` });
        await makeNode();
        await makeNode(own);
        await expect.poll(() => heard.events).toEqual([`ADDED ${own}`]);
      });

      it("ends with an error for a version that is none", async () => {
        const heard = hear("Node", "not-a-version");
        await expect.poll(() => heard.ends.length).toBe(1);
        expect(heard.ends[0]?.status).toBeGreaterThanOrEqual(400);
      });
    });

    describe("an informer", () => {
      it("knows all objects, and hears of changes with what was before", async () => {
        const mark = unique("mark");
        const labels = { mark };
        const first = await source.create("Node", { metadata: { name: unique("node"), labels } });
        made.push({ kind: "Node", name: ofCluster(first.metadata.name) });
        const reported: string[] = [];
        const informer = new Informer(
          source,
          "Node",
          {
            changed: (before, after) =>
              reported.push(
                `${before?.metadata.annotations?.["n"] ?? "-"} ${after?.metadata.annotations?.["n"] ?? "-"}`,
              ),
          },
          { clock: new VirtualClock(), selection: { labelSelector: `mark=${mark}` } },
        );
        stops.push(() => informer.stop());
        informer.start();
        await informer.synced;
        expect([...informer.all.keys()]).toEqual([first.metadata.name]);
        const annotate = (n: string): Promise<Node> =>
          source.patch("Node", ofCluster(first.metadata.name), {
            type: "merge",
            body: { metadata: { annotations: { n } } },
          });
        await annotate("1");
        await annotate("2");
        await source.delete("Node", ofCluster(first.metadata.name));
        await expect.poll(() => reported).toEqual(["- -", "- 1", "1 2", "2 -"]);
        expect(informer.all.size).toBe(0);
      });
    });
  });
}

/**
 * The state of a control plane: objects, who has which address, and what has changed since the controllers looked last.
 * Every change of an object goes through `put` and `remove`, which keep books and queues.
 */
import { type LabelSelector, SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import type { Prng } from "#core/base/prng.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import { type Origin, placeInOrigin } from "../load/manifests.ts";
import { withRuntimeClass } from "#contracts/kubernetes/runtime-class.ts";
import { controllerOf, isFinished, isTerminating } from "#contracts/kubernetes/pod.ts";
import type { KubeKind, KubeObject, Node, Pod, Service } from "#contracts/kubernetes/objects.ts";
import { KubeObjectStore, MultiMap, keyOf, referenceOf } from "./object-store.ts";
import { NodeRanges } from "./node-ranges.ts";
import { ServiceAllocators } from "./services/service-addresses.ts";
import type { Prefix } from "#core/net/ip.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { WantedChanges } from "../controllers/changes.ts";
import { MANAGED_BY_LABEL, MIRRORING_CONTROLLER, SLICE_CONTROLLER } from "../controllers/endpoint-slices.ts";
import { KUBE_KINDS } from "#contracts/kubernetes/kinds.ts";

/** What a cluster's control plane is started with. */
export interface MemoryKubeOptions {
  /** Where nodes without a pod range get one: one range, or one per family (`--cluster-cidr`). None: no node gets one. */
  readonly clusterCIDRs: readonly Prefix[];
  /** Length of a node's range (`--node-cidr-mask-size-ipv4`, `-ipv6`); 24 and 64 by default. */
  readonly nodeMaskSizes?: { readonly ipv4?: number; readonly ipv6?: number };
  /** Where cluster IPs come from: one range, or one per family (`--service-cluster-ip-range`). */
  readonly serviceCIDRs: readonly Prefix[];
  /** First and last node port; 30000 to 32767 by default (`--service-node-port-range`). */
  readonly nodePorts?: { readonly first: number; readonly last: number };
  /** With a pool, Services of type LoadBalancer get their ingress address from it, as from a cloud. */
  readonly loadBalancerPool?: Prefix;
}

export const NODE_PORTS_DEFAULT: { readonly first: number; readonly last: number } = Object.freeze({
  first: 30_000,
  last: 32_767,
});

const WORKLOADS: ReadonlySet<string> = new Set([
  "Deployment",
  "ReplicaSet",
  "StatefulSet",
  "DaemonSet",
  "Job",
]);
const ZONE_LABEL = "topology.kubernetes.io/zone";

function pairKey(namespace: string, label: string, value: string): string {
  return `${namespace}\n${label}\n${value}`;
}

/** One pair of a Service's selector: a pod without it cannot be the Service's. */
function firstPair(service: Service): string | undefined {
  const [pair] = Object.entries(service.spec?.selector ?? {});
  return pair === undefined ? undefined : pairKey(service.metadata.namespace, pair[0], pair[1]);
}

/** Names whose count is remembered. */
const BIRTHS_MAX = 65_536;

/** How often something of a name was made. */
export class Births {
  /** The name that was drawn for last stands last. */
  private readonly counts = new Map<string, number>();
  /** The highest count that was forgotten: a name that comes again goes on behind it, so that nothing is drawn twice. */
  private floor = 0;
  private readonly most: number;

  constructor(most: number = BIRTHS_MAX) {
    this.most = most;
  }

  /** Ascends with each call for a name. */
  next(name: string): number {
    const count = (this.counts.get(name) ?? this.floor) + 1;
    this.counts.delete(name);
    this.counts.set(name, count);
    if (this.counts.size > this.most) this.forgetOldest();
    return count;
  }

  private forgetOldest(): void {
    const oldest = this.counts.entries().next().value;
    if (oldest === undefined) return;
    this.floor = Math.max(this.floor, oldest[1]);
    this.counts.delete(oldest[0]);
  }
}

export class ControlPlane {
  readonly store: KubeObjectStore = new KubeObjectStore();
  readonly allocators: ServiceAllocators;
  readonly ranges: NodeRanges;
  readonly options: MemoryKubeOptions;
  readonly prng: Prng;
  /** Where applied objects come from, by reference. */
  readonly origins: Map<string, Origin> = new Map<string, Origin>();
  /** Workloads, and Services, of a dump that came with what their controller made of them: they are left as they are. */
  readonly settled: Set<string> = new Set<string>();
  /** What the controllers must look at. */
  readonly dueWorkloads: Set<string> = new Set<string>();
  readonly dueServices: Set<string> = new Set<string>();
  /** Pods without a node. */
  readonly pending: Set<string> = new Set<string>();
  /** Pods whose kubelet has not been asked. */
  readonly bound: Set<string> = new Set<string>();
  /** Nodes have changed, or room has become free: pods that wait may fit now. */
  isSchedulingDue: boolean = false;
  /** When what is made now is made, in RFC 3339. Undefined: objects do not say. */
  time: string | undefined = undefined;
  /** Namespaces in which a pod without a controller has come or gone. */
  private readonly namespacesOfOrphans: Set<string> = new Set();
  private readonly servicesByPair = new MultiMap();
  private readonly births = new Births();

  constructor(prng: Prng, options: MemoryKubeOptions) {
    this.prng = prng;
    this.options = options;
    const { first, last } = options.nodePorts ?? NODE_PORTS_DEFAULT;
    const { ipv4 = 24, ipv6 = 64 } = options.nodeMaskSizes ?? {};
    this.allocators = new ServiceAllocators(options.serviceCIDRs, first, last);
    this.ranges = new NodeRanges(options.clusterCIDRs, ipv4, ipv6);
  }

  /** A generator for one more thing of a name: what others draw does not shift it. */
  drawFor(name: string): Prng {
    return this.prng.derive(`${name} ${this.births.next(name)}`);
  }

  /** Stores an object, with a uid if it has none. */
  put(object: KubeObject): KubeObject {
    const { metadata } = object;
    const reference = referenceOf(object);
    const before = this.store.find(reference);
    const uid =
      metadata.uid === "" ? (before?.metadata.uid ?? this.drawFor(`uid ${reference}`).guid()) : metadata.uid;
    const complete =
      metadata.uid === uid
        ? object
        : ({ ...object, metadata: this.born(metadata, uid, before) } as KubeObject);
    const after = this.store.put(complete);
    this.changed(before, after);
    return after;
  }

  private born(
    metadata: KubeObject["metadata"],
    uid: string,
    before: KubeObject | undefined,
  ): KubeObject["metadata"] {
    const { time } = this;
    const isNew = before === undefined && time !== undefined;
    return isNew ? { ...metadata, uid, creationTimestamp: time } : { ...metadata, uid };
  }

  remove(reference: string): void {
    const space = reference.indexOf(" ");
    const before = this.store.remove(reference.slice(0, space) as KubeKind, reference.slice(space + 1));
    if (before === undefined) return;
    this.origins.delete(reference);
    this.settled.delete(reference);
    this.changed(before, undefined);
  }

  /** Deletes an object on request, with all that hangs on it. */
  delete(kind: KubeKind, key: string): void {
    const object = this.store.getByKey(kind, key);
    if (object?.kind === "Pod") this.release(object);
    if (object?.kind === "EndpointSlice")
      this.releaseService(object.metadata.labels?.[SERVICE_NAME_LABEL], key);
    for (const reference of cascadeOf(this.store, `${kind} ${key}`)) this.remove(reference);
  }

  /** A pod of a dump is taken away: from now on its workload and its Services live, too. */
  release(pod: Pod): void {
    for (const reference of this.controllersOf(pod)) {
      this.settled.delete(reference);
      this.dueWorkloads.add(reference);
    }
    for (const service of this.servicesFor(pod)) this.settled.delete(`Service ${service}`);
  }

  private releaseService(name: string | undefined, sliceKey: string): void {
    if (name === undefined) return;
    const namespace = sliceKey.slice(0, sliceKey.indexOf("/"));
    this.settled.delete(`Service ${keyOf(namespace, name)}`);
  }

  /** References to the controller of an object, its controller, and so on. */
  private controllersOf(object: KubeObject): string[] {
    const references: string[] = [];
    for (let at: KubeObject | undefined = object; at !== undefined && references.length < 8; ) {
      const controller = controllerOf(at);
      if (controller === undefined) break;
      const reference: string = `${controller.kind} ${keyOf(at.metadata.namespace, controller.name)}`;
      references.push(reference);
      at =
        WORKLOADS.has(controller.kind) || controller.kind === "CronJob"
          ? this.store.find(reference)
          : undefined;
    }
    return references;
  }

  /** The Services whose selector may match the pod: those that share a label with it. */
  private servicesFor({ metadata }: Pod): string[] {
    return Object.entries(metadata.labels ?? {}).flatMap(([label, value]) => [
      ...this.servicesByPair.get(pairKey(metadata.namespace, label, value)),
    ]);
  }

  private changed(before: KubeObject | undefined, after: KubeObject | undefined): void {
    const object = after ?? before;
    if (object === undefined) return;
    if (object.kind === "Pod") this.podChanged(before as Pod | undefined, after as Pod | undefined);
    else if (object.kind === "Node") this.nodeChanged(before as Node | undefined, after as Node | undefined);
    else if (object.kind === "Service")
      this.serviceChanged(before as Service | undefined, after as Service | undefined);
    else if (object.kind === "Endpoints")
      this.dueServices.add(keyOf(object.metadata.namespace, object.metadata.name));
    else if (object.kind === "EndpointSlice") {
      const service = object.metadata.labels?.[SERVICE_NAME_LABEL];
      if (service !== undefined) this.dueServices.add(keyOf(object.metadata.namespace, service));
    } else if (WORKLOADS.has(object.kind)) {
      this.dueWorkloads.add(referenceOf(object));
      for (const reference of this.controllersOf(object)) this.dueWorkloads.add(reference);
    }
  }

  private podChanged(before: Pod | undefined, after: Pod | undefined): void {
    for (const pod of [before, after]) {
      if (pod === undefined) continue;
      for (const service of this.servicesFor(pod)) this.dueServices.add(service);
    }
    const pod = after ?? before;
    if (pod === undefined) return;
    const key = keyOf(pod.metadata.namespace, pod.metadata.name);
    const controller = controllerOf(pod);
    if (controller !== undefined)
      this.dueWorkloads.add(`${controller.kind} ${keyOf(pod.metadata.namespace, controller.name)}`);
    else if (before === undefined || after === undefined)
      this.namespacesOfOrphans.add(pod.metadata.namespace);
    const isWaiting = after !== undefined && !isFinished(after) && !isTerminating(after);
    if (isWaiting && after.spec?.nodeName === undefined) this.pending.add(key);
    else this.pending.delete(key);
    if (after?.spec?.nodeName !== undefined && before?.spec?.nodeName === undefined) this.bound.add(key);
    if (after === undefined) this.bound.delete(key);
    if (before?.spec?.nodeName !== undefined && !isWaiting) this.isSchedulingDue = true;
    if (isWaiting && before === undefined) this.isSchedulingDue = true;
  }

  /** A pod without a controller may be adopted by any workload of its namespace. */
  adoptersAreDue(): void {
    if (this.namespacesOfOrphans.size === 0) return;
    for (const kind of ["ReplicaSet", "StatefulSet", "DaemonSet"] as const) {
      for (const object of this.store.all(kind))
        if (this.namespacesOfOrphans.has(object.metadata.namespace))
          this.dueWorkloads.add(referenceOf(object));
    }
    this.namespacesOfOrphans.clear();
  }

  private nodeChanged(before: Node | undefined, after: Node | undefined): void {
    this.ranges.changed(before, after);
    this.isSchedulingDue = true;
    for (const set of this.store.all("DaemonSet")) this.dueWorkloads.add(referenceOf(set));
    if (before?.metadata.labels?.[ZONE_LABEL] === after?.metadata.labels?.[ZONE_LABEL]) return;
    for (const { metadata } of this.store.all("Service"))
      this.dueServices.add(keyOf(metadata.namespace, metadata.name));
  }

  private serviceChanged(before: Service | undefined, after: Service | undefined): void {
    this.allocators.changed(before, after);
    const { namespace, name } = (after ?? before)?.metadata ?? { namespace: "", name: "" };
    const key = keyOf(namespace, name);
    this.dueServices.add(key);
    const [old, present] = [before, after].map((service) =>
      service === undefined ? undefined : firstPair(service),
    );
    if (old !== undefined) this.servicesByPair.delete(old, key);
    if (present !== undefined) this.servicesByPair.add(present, key);
  }

  /** The place in a file of a field of an object, or of the object that made it. */
  placeOf(reference: string, path: string): Pick<FileProblem, "file" | "line" | "column"> {
    const object = this.store.find(reference);
    const makers = object === undefined ? [] : this.controllersOf(object);
    for (const candidate of [reference, ...makers]) {
      const origin = this.origins.get(candidate);
      if (origin === undefined) continue;
      return { file: origin.file, ...placeInOrigin(origin, path) };
    }
    const [kind = "", key = ""] = reference.split(" ");
    return { file: `${kind.toLowerCase()}/${key.replace(/^\//, "")}`, line: 0, column: 0 };
  }
}

/** Does what a controller wants: removes, changes and creates, in this order; what is removed takes its dependents with it. */
export function perform(plane: ControlPlane, { create, update, remove }: WantedChanges): void {
  for (const object of remove)
    for (const reference of cascadeOf(plane.store, referenceOf(object))) plane.remove(reference);
  for (const object of update) {
    // What a controller changes is no record of a dump any more.
    plane.settled.delete(referenceOf(object));
    plane.put(object);
  }
  for (const object of create) {
    if (object.kind === "Pod" && plane.store.count("Pod") >= LIMITS.podsMax) return;
    plane.put(object.kind === "Pod" ? withClass(plane, object) : object);
  }
}

/** A new pod with what its RuntimeClass asks for. */
export function withClass(plane: ControlPlane, pod: Pod): Pod {
  const name = pod.spec?.runtimeClassName;
  if (pod.spec === undefined || name === undefined) return pod;
  return { ...pod, spec: withRuntimeClass(pod.spec, plane.store.get("RuntimeClass", "", name)) };
}

// What goes with an object that is deleted: garbage collection, and what controllers clear away after it.

/** Pods of a dump whose ReplicaSet was not dumped: they go with the Deployment that selects them. */
export function podsOfMissingControllers(store: KubeObjectStore, workload: KubeObject): readonly string[] {
  if (workload.kind !== "Deployment") return [];
  const selector: LabelSelector = workload.spec?.selector ?? {};
  const { namespace } = workload.metadata;
  return store
    .podsMatching(namespace, selector)
    .filter((pod) => {
      const controller = controllerOf(pod);
      if (controller?.kind !== "ReplicaSet") return false;
      return store.get("ReplicaSet", namespace, controller.name)?.metadata.uid !== controller.uid;
    })
    .map(referenceOf);
}

/** What an object takes with it at once. */
function dependentsOf(store: KubeObjectStore, object: KubeObject): readonly string[] {
  const { namespace, name, uid } = object.metadata;
  const owned = [...store.ownedBy(uid), ...podsOfMissingControllers(store, object)];
  if (object.kind === "Node") return [...owned, ...store.podsOnNode(name).map(referenceOf)];
  if (object.kind === "Namespace") {
    const inside = KUBE_KINDS.flatMap((kind) =>
      [...store.all(kind)].filter((one) => one.metadata.namespace === name),
    );
    return [...owned, ...inside.map(referenceOf)];
  }
  if (object.kind !== "Service") return owned;
  const controllers: readonly (string | undefined)[] = [SLICE_CONTROLLER, MIRRORING_CONTROLLER];
  const slices = store
    .slicesOf(namespace, name)
    .filter(({ metadata }) => controllers.includes(metadata.labels?.[MANAGED_BY_LABEL]));
  const endpoints = store.get("Endpoints", namespace, name);
  return [...owned, ...slices.map(referenceOf), ...(endpoints === undefined ? [] : [referenceOf(endpoints)])];
}

/** The object and all that goes with it, the object first. */
function cascadeOf(store: KubeObjectStore, reference: string): readonly string[] {
  const gone = new Set([reference]);
  for (const at of gone) {
    const object = store.find(at);
    if (object === undefined) continue;
    for (const dependent of dependentsOf(store, object)) gone.add(dependent);
  }
  return [...gone];
}

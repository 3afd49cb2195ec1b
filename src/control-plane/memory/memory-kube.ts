/**
 * A Kubernetes control plane in memory: the store of an API server with the controllers that matter for the network.
 * Nothing happens by itself: `apply`, `delete` and `setPodStatus` change objects, `reconcile` lets the controllers
 * run until they have nothing left to do. Time is not read, chance comes from a seed: the same calls give the same objects.
 *
 * It is plain data and is forked with the world. Who listens to a watch is no part of the world: a fork has no listeners.
 */
import { type KubeApplyReport, applyObjects } from "./admission/apply.ts";
import { KUBE_KINDS } from "#contracts/kubernetes/kinds.ts";
import type { Prng } from "#core/base/prng.ts";
import type { KubeKind, KubeObject, KubeObjects, Pod } from "#contracts/kubernetes/objects.ts";
import type { DeleteOptions, KubeList, KubeReader, WriteOptions } from "#contracts/kubernetes/source.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import type { LoadedObject } from "../load/manifests.ts";
import { ControlPlane, type MemoryKubeOptions } from "./control-plane.ts";
import { reconcileAll } from "./reconcile.ts";
import { findings, podsWithoutNode } from "./findings.ts";
import { mergeStatus, type PodStatusChange } from "./pod-status.ts";
import { type KubeObjectStore, type StoredEvent, keyOf, referenceOf } from "./object-store.ts";
import { createObject, deleteObject, notFound, replaceObject } from "./admission/write-object.ts";

type StoredListener<Kind extends KubeKind> = (event: StoredEvent<Kind>) => void;

interface Watcher {
  readonly kind: KubeKind;
  heard: number;
  readonly listener: StoredListener<KubeKind>;
}

export class MemoryKube implements KubeReader {
  private readonly plane: ControlPlane;
  /** Not enumerable, so that no fork has it: see `watchers`. */
  declare private readonly listening?: Set<Watcher>;

  /** `prng` draws uids, names, addresses and ports. */
  constructor(prng: Prng, options: MemoryKubeOptions) {
    this.plane = new ControlPlane(prng, options);
  }

  private get store(): KubeObjectStore {
    return this.plane.store;
  }

  private get watchers(): Set<Watcher> {
    if (this.listening !== undefined) return this.listening;
    const watchers = new Set<Watcher>();
    Object.defineProperty(this, "listening", { value: watchers, enumerable: false });
    return watchers;
  }

  /** The version of the latest change. */
  get resourceVersion(): string {
    return this.store.resourceVersion;
  }

  /** The `creationTimestamp` of what is made from now on, in RFC 3339; undefined: none, as long as it is not set. */
  set time(time: string | undefined) {
    this.plane.time = time;
  }

  /** What is there and does not say when it was made was made then, in RFC 3339: programs show ages. */
  dateObjects(time: string): void {
    for (const kind of KUBE_KINDS) {
      for (const object of this.store.list(kind)) {
        if (object.metadata.creationTimestamp !== undefined) continue;
        const metadata = { ...object.metadata, creationTimestamp: time };
        this.store.put({ ...object, metadata });
      }
    }
    this.publish();
  }

  /** Stores objects: new ones are created, others replaced by what is given, with what the server filled in kept. */
  apply(objects: readonly LoadedObject[]): KubeApplyReport {
    const report = applyObjects(this.plane, objects);
    this.publish();
    return report;
  }

  /**
   * Deletes an object and, as the garbage collector does, all that it owns.
   * @throws KubeError `object-not-found` (404).
   */
  delete(kind: KubeKind, namespace: string, name: string): void {
    this.remove(kind, namespace, name, {});
  }

  /** As `delete`, of this object only. @throws KubeError `object-changed-meanwhile` (409) when it is another one. */
  remove(kind: KubeKind, namespace: string, name: string, options: DeleteOptions): KubeObject {
    const removed = deleteObject(this.plane, kind, { namespace, name }, options);
    this.publish();
    return removed;
  }

  /**
   * Stores a new, checked object.
   * @throws KubeError `object-exists-already` (409), `object-refused` (422).
   */
  create(object: KubeObject): KubeObject {
    const stored = createObject(this.plane, object);
    this.publish();
    return stored;
  }

  /**
   * Replaces an object by a checked one: its spec, or its status.
   * @throws KubeError `object-not-found` (404), `object-changed-meanwhile` (409), `object-refused` (422).
   */
  replace(object: KubeObject, options: WriteOptions = {}): KubeObject {
    const stored = replaceObject(this.plane, object, options);
    this.publish();
    return stored;
  }

  /**
   * Lets the controllers run until nothing is left to do. Nothing changes when it is called again.
   * Call it after `apply` and `delete`, and after kubelets have set the status of pods.
   */
  reconcile(): void {
    reconcileAll(this.plane);
    this.publish();
  }

  /** What a kubelet tells about a pod. Endpoints follow at the next `reconcile`. */
  setPodStatus(namespace: string, name: string, change: PodStatusChange): Pod {
    const pod = this.store.get("Pod", namespace, name);
    if (pod === undefined) throw notFound("Pod", name);
    const stored = this.plane.put({ ...pod, status: mergeStatus(pod.status, change) }) as Pod;
    this.publish();
    return stored;
  }

  /**
   * Begins the graceful end of a pod: its endpoints are `terminating` until `delete` removes it. `time` is RFC 3339.
   */
  terminatePod(namespace: string, name: string, time: string): Pod {
    const pod = this.store.get("Pod", namespace, name);
    if (pod === undefined) throw notFound("Pod", name);
    const metadata = {
      ...pod.metadata,
      deletionTimestamp: time,
      deletionGracePeriodSeconds: pod.spec?.terminationGracePeriodSeconds ?? 30,
    };
    this.plane.release(pod);
    const stored = this.plane.put({ ...pod, metadata }) as Pod;
    this.publish();
    return stored;
  }

  get<Kind extends KubeKind>(kind: Kind, namespace: string, name: string): KubeObjects[Kind] | undefined {
    return this.store.get(kind, namespace, name);
  }

  /** All objects of a kind, by namespace and name, at once. */
  objects<Kind extends KubeKind>(kind: Kind): readonly KubeObjects[Kind][] {
    return this.store.list(kind);
  }

  /** The pods on a node. */
  podsOnNode(node: string): readonly Pod[] {
    return this.store.podsOnNode(node);
  }

  /** Whether a pod waits in the dump that brought it, and so waits here: for a node, or for its network. */
  isLeftWaiting(pod: Pod): boolean {
    return this.plane.settled.has(referenceOf(pod));
  }

  /** Pods for which there is no node here, one of each maker, with the reason; those that the input shows Pending are not among them. */
  podsWithoutNode(): ReturnType<typeof podsWithoutNode> {
    return podsWithoutNode(this.plane);
  }

  /** What is worth knowing about the cluster as it is: pods without a node, selectors without pods, and so on. */
  notes(): readonly FileProblem[] {
    return findings(this.plane);
  }

  /** Where an object, or what made it, stands in a file; kind and name when it stands in none. */
  placeOf(
    kind: KubeKind,
    namespace: string,
    name: string,
    path = "",
  ): Pick<FileProblem, "file" | "line" | "column"> {
    return this.plane.placeOf(`${kind} ${keyOf(namespace, name)}`, path);
  }

  list<Kind extends KubeKind>(kind: Kind): Promise<KubeList<Kind>> {
    return Promise.resolve({ items: this.store.list(kind), resourceVersion: this.store.resourceVersion });
  }

  /**
   * The changes of a kind after a version, for programs that ask instead of listening.
   * @throws KubeError `resource-version-expired` (410).
   */
  changesAfter<Kind extends KubeKind>(kind: Kind, resourceVersion: string): readonly StoredEvent<Kind>[] {
    return this.store.changesAfter(kind, parseVersion(resourceVersion));
  }

  /**
   * Tells the changes of a kind after a version: those that are remembered at once, later ones when the call that made
   * them ends.
   */
  watch<Kind extends KubeKind>(
    kind: Kind,
    resourceVersion: string,
    listener: StoredListener<Kind>,
  ): () => void {
    const heard = parseVersion(resourceVersion);
    this.store.changesAfter(kind, heard);
    const watcher: Watcher = { kind, heard, listener: listener as StoredListener<KubeKind> };
    this.watchers.add(watcher);
    this.report(watcher);
    return () => {
      this.watchers.delete(watcher);
    };
  }

  private report(watcher: Watcher): void {
    const events = this.store.changesAfter(watcher.kind, watcher.heard);
    for (const event of events) {
      const version = Number(event.object.metadata.resourceVersion);
      // A listener that changes objects is told of its own changes in between.
      if (version <= watcher.heard || !this.watchers.has(watcher)) continue;
      watcher.heard = version;
      watcher.listener(event);
    }
  }

  private publish(): void {
    for (const watcher of this.watchers) this.report(watcher);
    this.store.trim();
  }
}

/** A version as a number; what is none has expired, so that the caller lists again. */
function parseVersion(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

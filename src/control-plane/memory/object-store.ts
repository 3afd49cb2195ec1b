/**
 * All objects of a cluster with their versions, the latest changes of each kind, and the indexes that keep controllers
 * from looking at everything: by label, by owner, by node, by Service. Plain data: it is forked with the world.
 */
import { assert } from "#core/base/assert.ts";
import { LIMITS } from "#core/base/limits.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { KUBE_KINDS } from "#contracts/kubernetes/kinds.ts";
import { type LabelSelector, SERVICE_NAME_LABEL, matchesSelector } from "#contracts/kubernetes/labels.ts";
import type { WatchEvent } from "#contracts/kubernetes/source.ts";
import type { EndpointSlice, KubeKind, KubeObject, KubeObjects, Pod } from "#contracts/kubernetes/objects.ts";

/** A change, with the object as it was before: a watch with a selector needs both. */
export interface StoredEvent<Kind extends KubeKind> extends WatchEvent<Kind> {
  readonly previous: KubeObjects[Kind] | undefined;
}

/** One change, with the version that it made. */
interface Change {
  readonly version: number;
  readonly event: StoredEvent<KubeKind>;
}

interface History {
  changes: Change[];
  /** Changes up to this version are forgotten. */
  forgotten: number;
}

/** Freezes a JSON value with all it holds. What is frozen already is frozen throughout. */
function freezeJson<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) freezeJson(child);
  return Object.freeze(value);
}

/** Namespace and name in one text; `/name` for what has no namespace. */
export function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** A reference to an object of any kind. */
export function referenceOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${keyOf(metadata.namespace, metadata.name)}`;
}

function labelKey(namespace: string, label: string, value: string): string {
  return `${namespace}\n${label}\n${value}`;
}

function compareObjects(a: KubeObject, b: KubeObject): number {
  const [x, y] = [a.metadata, b.metadata];
  if (x.namespace !== y.namespace) return x.namespace < y.namespace ? -1 : 1;
  return x.name < y.name ? -1 : Number(x.name > y.name);
}

export class KubeObjectStore {
  private version = 0;
  private readonly objects = new Map<KubeKind, Map<string, KubeObject>>();
  private readonly histories = new Map<KubeKind, History>();
  private readonly sorted = new Map<KubeKind, readonly KubeObject[]>();
  private readonly podsByLabel = new MultiMap();
  private readonly podsByNamespace = new MultiMap();
  private readonly podsByNode = new MultiMap();
  private readonly slicesByService = new MultiMap();
  private readonly ownedByUid = new MultiMap();

  constructor() {
    for (const kind of KUBE_KINDS) {
      this.objects.set(kind, new Map());
      this.histories.set(kind, { changes: [], forgotten: 0 });
    }
  }

  /** The version of the latest change. */
  get resourceVersion(): string {
    return String(this.version);
  }

  private mapOf<Kind extends KubeKind>(kind: Kind): Map<string, KubeObjects[Kind]> {
    return this.objects.get(kind) as Map<string, KubeObjects[Kind]>;
  }

  get<Kind extends KubeKind>(kind: Kind, namespace: string, name: string): KubeObjects[Kind] | undefined {
    return this.mapOf(kind).get(keyOf(namespace, name));
  }

  getByKey<Kind extends KubeKind>(kind: Kind, key: string): KubeObjects[Kind] | undefined {
    return this.mapOf(kind).get(key);
  }

  /** In the order in which they were created. */
  all<Kind extends KubeKind>(kind: Kind): Iterable<KubeObjects[Kind]> {
    return this.mapOf(kind).values();
  }

  count(kind: KubeKind): number {
    return this.mapOf(kind).size;
  }

  /** By namespace and name. */
  list<Kind extends KubeKind>(kind: Kind): readonly KubeObjects[Kind][] {
    let list = this.sorted.get(kind);
    if (list === undefined) {
      list = Object.freeze([...this.mapOf(kind).values()].sort(compareObjects));
      this.sorted.set(kind, list);
    }
    return list as readonly KubeObjects[Kind][];
  }

  /** Stores an object under its name, with a new version. Returns what is stored. */
  put<Kind extends KubeKind>(object: KubeObjects[Kind]): KubeObjects[Kind] {
    const { kind, metadata } = object;
    assert(metadata.name !== "" && metadata.uid !== "", "a stored object has a name and a uid");
    const key = keyOf(metadata.namespace, metadata.name);
    const map = this.mapOf(kind) as Map<string, KubeObject>;
    const before = map.get(key);
    const resourceVersion = String(++this.version);
    const stored = freezeJson({ ...object, metadata: { ...metadata, resourceVersion } });
    map.set(key, stored);
    this.index(before, stored);
    this.remember({ type: before === undefined ? "ADDED" : "MODIFIED", object: stored, previous: before });
    return stored;
  }

  /** Removes an object; returns what was there. */
  remove(kind: KubeKind, key: string): KubeObject | undefined {
    const map = this.mapOf(kind) as Map<string, KubeObject>;
    const before = map.get(key);
    if (before === undefined) return undefined;
    map.delete(key);
    this.index(before, undefined);
    const resourceVersion = String(++this.version);
    // A deletion is told with the version that it made, so that a watch can go on behind it.
    const last = freezeJson({ ...before, metadata: { ...before.metadata, resourceVersion } });
    this.remember({ type: "DELETED", object: last, previous: before });
    return before;
  }

  private remember(event: StoredEvent<KubeKind>): void {
    const { kind } = event.object;
    this.sorted.delete(kind);
    this.histories.get(kind)?.changes.push({ version: this.version, event });
  }

  /** Forgets all but the latest changes. Called when everybody has heard them. */
  trim(): void {
    for (const history of this.histories.values()) {
      const excess = history.changes.length - LIMITS.watchHistoryMax;
      if (excess <= 0) continue;
      const forgotten = history.changes.splice(0, excess);
      history.forgotten = forgotten.at(-1)?.version ?? history.forgotten;
    }
  }

  /**
   * The changes of a kind after a version.
   * @throws KubeError `resource-version-expired` (410) when some of them are forgotten.
   */
  changesAfter<Kind extends KubeKind>(kind: Kind, version: number): readonly StoredEvent<Kind>[] {
    const history = this.histories.get(kind);
    if (history === undefined || !Number.isSafeInteger(version) || version < history.forgotten) {
      throw new KubeError(
        "resource-version-expired",
        410,
        `too old resource version: ${version} (${history?.forgotten ?? 0})`,
      );
    }
    // Versions ascend, so the first change to tell is found by halving.
    let [low, high] = [0, history.changes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((history.changes[middle]?.version ?? 0) <= version) low = middle + 1;
      else high = middle;
    }
    return history.changes.slice(low).map(({ event }) => event as StoredEvent<Kind>);
  }

  private index(before: KubeObject | undefined, after: KubeObject | undefined): void {
    const object = after ?? before;
    if (object?.kind === "Pod") this.indexPod(before as Pod | undefined, after as Pod | undefined);
    if (object?.kind === "EndpointSlice") {
      this.indexSlice(before as EndpointSlice | undefined, false);
      this.indexSlice(after as EndpointSlice | undefined, true);
    }
    if (before?.metadata.ownerReferences === after?.metadata.ownerReferences) return;
    for (const { uid } of before?.metadata.ownerReferences ?? [])
      this.ownedByUid.delete(uid, referenceOf(before as KubeObject));
    for (const { uid } of after?.metadata.ownerReferences ?? [])
      this.ownedByUid.add(uid, referenceOf(after as KubeObject));
  }

  private indexPod(before: Pod | undefined, after: Pod | undefined): void {
    const { namespace, name } = (after ?? before)?.metadata ?? { namespace: "", name: "" };
    const key = keyOf(namespace, name);
    if (before === undefined) this.podsByNamespace.add(namespace, key);
    if (after === undefined) this.podsByNamespace.delete(namespace, key);
    if (before?.spec?.nodeName !== after?.spec?.nodeName) {
      if (before?.spec?.nodeName !== undefined) this.podsByNode.delete(before.spec.nodeName, key);
      if (after?.spec?.nodeName !== undefined) this.podsByNode.add(after.spec.nodeName, key);
    }
    if (before?.metadata.labels === after?.metadata.labels) return;
    for (const [label, value] of Object.entries(before?.metadata.labels ?? {}))
      this.podsByLabel.delete(labelKey(namespace, label, value), key);
    for (const [label, value] of Object.entries(after?.metadata.labels ?? {}))
      this.podsByLabel.add(labelKey(namespace, label, value), key);
  }

  private indexSlice(slice: EndpointSlice | undefined, isThere: boolean): void {
    const service = slice?.metadata.labels?.[SERVICE_NAME_LABEL];
    if (slice === undefined || service === undefined) return;
    const { namespace, name } = slice.metadata;
    if (isThere) this.slicesByService.add(keyOf(namespace, service), keyOf(namespace, name));
    else this.slicesByService.delete(keyOf(namespace, service), keyOf(namespace, name));
  }

  private podsOf(keys: Iterable<string>): Pod[] {
    const pods: Pod[] = [];
    for (const key of keys) {
      const pod = this.getByKey("Pod", key);
      if (pod !== undefined) pods.push(pod);
    }
    return pods;
  }

  /** The pods of a namespace whose labels answer a selector. Looks only at those with its rarest label. */
  podsMatching(namespace: string, selector: LabelSelector): Pod[] {
    let candidates = this.podsByNamespace.get(namespace);
    for (const [label, value] of Object.entries<string>(selector.matchLabels ?? {})) {
      const keys = this.podsByLabel.get(labelKey(namespace, label, value));
      if (keys.size < candidates.size) candidates = keys;
    }
    return this.podsOf(candidates).filter(({ metadata }) => matchesSelector(selector, metadata.labels ?? {}));
  }

  podsOnNode(node: string): readonly Pod[] {
    return this.podsOf(this.podsByNode.get(node));
  }

  /** The slices that carry a Service's name. */
  slicesOf(namespace: string, service: string): readonly EndpointSlice[] {
    const slices: EndpointSlice[] = [];
    for (const key of this.slicesByService.get(keyOf(namespace, service))) {
      const slice = this.getByKey("EndpointSlice", key);
      if (slice !== undefined) slices.push(slice);
    }
    return slices;
  }

  /** References to all that names `uid` as an owner. */
  ownedBy(uid: string): readonly string[] {
    return [...this.ownedByUid.get(uid)];
  }

  /** The object of a reference such as `Pod default/web`. */
  find(reference: string): KubeObject | undefined {
    const space = reference.indexOf(" ");
    return this.getByKey(reference.slice(0, space) as KubeKind, reference.slice(space + 1));
  }
}

/** A map with a set of texts per key; a key without members is not there. Plain data, so that it can be forked. */
export class MultiMap {
  private readonly sets = new Map<string, Set<string>>();

  add(key: string, member: string): void {
    const set = this.sets.get(key);
    if (set === undefined) this.sets.set(key, new Set([member]));
    else set.add(member);
  }

  delete(key: string, member: string): void {
    const set = this.sets.get(key);
    if (set === undefined) return;
    set.delete(member);
    if (set.size === 0) this.sets.delete(key);
  }

  /** In the order in which they were added. */
  get(key: string): ReadonlySet<string> {
    return this.sets.get(key) ?? NONE;
  }
}

const NONE: ReadonlySet<string> = new Set<string>();

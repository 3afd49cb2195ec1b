/**
 * The embedded control plane as programs see it: everything is asked for, and comes later. What is written is followed
 * by what the controllers make of it.
 */
import { fork } from "#core/base/fork.ts";
import { checkedObject } from "../load/checked-object.ts";
import { KubeError, unreachable } from "#contracts/kubernetes/error.ts";
import type { KubeKind, KubeObject, KubeObjects } from "#contracts/kubernetes/objects.ts";
import type { Fields } from "#core/base/json.ts";
import { patchedObject } from "../patch/apply-patch.ts";
import { type Selector, selectorOf } from "#contracts/kubernetes/selection.ts";
import type {
  DeleteOptions,
  KubeDraft,
  KubeList,
  KubePatch,
  KubeSource,
  ObjectName,
  Selection,
  WatchEvent,
  WatchListener,
  WatchOptions,
  WriteOptions,
} from "#contracts/kubernetes/source.ts";
import type { MemoryKube } from "./memory-kube.ts";
import { withoutTypeDependentFields } from "./services/service-defaults.ts";
import type { StoredEvent } from "./object-store.ts";
import { notFound } from "./admission/write-object.ts";

export interface MemoryKubeSourceOptions {
  /** The time in RFC 3339, for `creationTimestamp`. Without it objects carry none. */
  readonly now?: () => string;
  /**
   * Runs a change together with what follows from it, one change after the other; by default the controllers run. A
   * cluster that runs also starts pods and programs nodes.
   */
  readonly change?: <T>(write: () => T) => Promise<T>;
}

/** A watch whose selection keeps events out tells its version after so many of them. */
const BOOKMARK_AFTER = 100;

/** What a watch with a selection tells: an object comes when it begins to be meant, and goes when it ceases to be. */
function seenThrough<Kind extends KubeKind>(
  selector: Selector,
  { type, object, previous }: StoredEvent<Kind>,
): WatchEvent<Kind> | undefined {
  const wasMeant = previous !== undefined && selector(previous);
  const isMeant = type !== "DELETED" && selector(object);
  if (!wasMeant && !isMeant) return undefined;
  if (!isMeant) return { type: "DELETED", object };
  return { type: wasMeant ? "MODIFIED" : "ADDED", object };
}

/** One watch. Tells nothing before `watch` has returned. */
class MemoryWatch<Kind extends KubeKind> {
  private readonly listener: WatchListener<Kind>;
  private readonly options: WatchOptions;
  private readonly selector: Selector;
  private waiting: StoredEvent<Kind>[] = [];
  private skipped = 0;
  private isOpen = true;
  stop: () => void = () => undefined;

  constructor(selector: Selector, listener: WatchListener<Kind>, options: WatchOptions) {
    this.selector = selector;
    this.listener = listener;
    this.options = options;
  }

  hear(event: StoredEvent<Kind>): void {
    if (this.waiting.push(event) === 1) queueMicrotask(() => this.notifyAll());
  }

  /** Ends it with an error, after what is waiting has been told. */
  fail(error: KubeError | undefined): void {
    queueMicrotask(() => {
      if (!this.isOpen) return;
      this.close();
      this.options.onEnd?.(error);
    });
  }

  close(): void {
    this.isOpen = false;
    this.waiting = [];
    this.stop();
  }

  private notifyAll(): void {
    for (let [event] = this.waiting; event !== undefined && this.isOpen; [event] = this.waiting) {
      this.waiting.shift();
      this.report(event);
    }
  }

  private report(event: StoredEvent<Kind>): void {
    const seen = seenThrough(this.selector, event);
    if (seen !== undefined) {
      this.skipped = 0;
      this.listener(seen);
    } else if (++this.skipped >= BOOKMARK_AFTER) {
      this.skipped = 0;
      this.options.onBookmark?.(event.object.metadata.resourceVersion);
    }
  }
}

export class MemoryKubeSource implements KubeSource {
  private readonly kube: MemoryKube;
  private readonly now: () => string | undefined;
  private readonly change: <T>(write: () => T) => Promise<T>;
  private readonly watches = new Set<MemoryWatch<KubeKind>>();
  private isClosed = false;

  constructor(kube: MemoryKube, options: MemoryKubeSourceOptions = {}) {
    this.kube = kube;
    this.now = options.now ?? ((): undefined => undefined);
    this.change =
      options.change ??
      (async (write) => {
        const result = write();
        kube.reconcile();
        return result;
      });
  }

  /** The same on a copy of the control plane: what is tried there changes nothing here. */
  dryRun(): MemoryKubeSource {
    const now = this.now();
    return new MemoryKubeSource(fork(this.kube), now === undefined ? {} : { now: () => now });
  }

  /** The version of the latest change. */
  get resourceVersion(): string {
    return this.kube.resourceVersion;
  }

  async list<Kind extends KubeKind>(kind: Kind, selection: Selection = {}): Promise<KubeList<Kind>> {
    this.checkOpen();
    const selector = selectorOf(kind, selection);
    const items = this.kube.objects(kind).filter((object) => selector(object));
    return { items, resourceVersion: this.kube.resourceVersion };
  }

  watch<Kind extends KubeKind>(
    kind: Kind,
    resourceVersion: string,
    listener: WatchListener<Kind>,
    options: WatchOptions = {},
  ): () => void {
    let watch: MemoryWatch<Kind>;
    try {
      this.checkOpen();
      watch = new MemoryWatch(selectorOf(kind, options), listener, options);
    } catch (error) {
      return failedWatch(error, options);
    }
    const known = watch as unknown as MemoryWatch<KubeKind>;
    this.watches.add(known);
    const stop = (): void => {
      this.watches.delete(known);
      watch.close();
    };
    try {
      watch.stop = this.kube.watch(kind, resourceVersion, (event) => watch.hear(event));
    } catch (error) {
      this.watches.delete(known);
      return failedWatch(error, options);
    }
    return stop;
  }

  async get<Kind extends KubeKind>(kind: Kind, { namespace, name }: ObjectName): Promise<KubeObjects[Kind]> {
    this.checkOpen();
    return this.find(kind, namespace, name);
  }

  async create<Kind extends KubeKind>(kind: Kind, draft: KubeDraft<Kind>): Promise<KubeObjects[Kind]> {
    this.checkOpen();
    const object: KubeObject = checkedObject(kind, draft);
    return this.write(() => this.kube.create(object) as KubeObjects[Kind]);
  }

  async update<Kind extends KubeKind>(
    kind: Kind,
    object: KubeObjects[Kind],
    options: WriteOptions = {},
  ): Promise<KubeObjects[Kind]> {
    this.checkOpen();
    return this.write(() => {
      const { metadata }: KubeObject = object;
      const before: KubeObject | undefined = this.kube.get(kind, metadata.namespace, metadata.name);
      const given =
        before === undefined ? object : withoutTypeDependentFields(before, object as unknown as Fields);
      const checked: KubeObject = checkedObject(kind, given);
      return this.kube.replace(checked, options) as KubeObjects[Kind];
    });
  }

  async patch<Kind extends KubeKind>(
    kind: Kind,
    { namespace, name }: ObjectName,
    patch: KubePatch,
    options: WriteOptions = {},
  ): Promise<KubeObjects[Kind]> {
    this.checkOpen();
    return this.write(() => {
      const object: KubeObject = patchedObject(this.find(kind, namespace, name), patch);
      return this.kube.replace(object, options) as KubeObjects[Kind];
    });
  }

  async delete(kind: KubeKind, { namespace, name }: ObjectName, options: DeleteOptions = {}): Promise<void> {
    this.checkOpen();
    await this.write(() => this.kube.remove(kind, namespace, name, options));
  }

  /** Ends all watches; whatever is asked afterwards fails. */
  close(): Promise<void> {
    this.isClosed = true;
    for (const watch of this.watches) watch.close();
    this.watches.clear();
    return Promise.resolve();
  }

  /**
   * Ends all watches as a server does that goes away, or that closes them after a while; whoever listens is told.
   */
  endWatches(error?: KubeError): void {
    for (const watch of this.watches) watch.fail(error);
    this.watches.clear();
  }

  /** What is made from now on is made at this time, by whoever writes or by a controller. */
  private write<T>(work: () => T): Promise<T> {
    return this.change(() => {
      this.kube.time = this.now();
      return work();
    });
  }

  private find<Kind extends KubeKind>(kind: Kind, namespace: string, name: string): KubeObjects[Kind] {
    const object = this.kube.get(kind, namespace, name);
    if (object === undefined) throw notFound(kind, name);
    return object;
  }

  private checkOpen(): void {
    if (this.isClosed) throw unreachable("the source was closed");
  }
}

/** A watch that has ended before it began, which its caller hears when it has returned. */
function failedWatch(error: unknown, options: WatchOptions): () => void {
  if (!(error instanceof KubeError)) throw error;
  let isWanted = true;
  queueMicrotask(() => {
    if (isWanted) options.onEnd?.(error);
  });
  return () => {
    isWanted = false;
  };
}

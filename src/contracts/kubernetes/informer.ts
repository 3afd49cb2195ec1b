/**
 * Follows all objects of a kind, through every interruption: lists, watches from there, goes on after a cut from the
 * last version heard, lists again when that is too old, and waits between attempts that fail. What is gone since is told
 * as gone. As client-go's reflector does it (`tools/cache/reflector.go`).
 */
import type { Clock, Task, Timer } from "#core/base/clock.ts";
import { type Log, SILENT_LOG } from "#core/base/log.ts";
import type { Prng } from "#core/base/prng.ts";
import { KubeError } from "./error.ts";
import type { KubeKind, KubeObject, KubeObjects } from "./objects.ts";
import type { KubeSource, Selection, WatchEvent } from "./source.ts";

/** client-go: 800 ms, doubled up to 30 s, each up to twice as long by chance. */
const BACKOFF_FIRST_MS = 800;
const BACKOFF_MAX_MS = 30_000;
/** After so long without a failure the wait begins anew. */
const BACKOFF_RESET_MS = 120_000;
const MS_PER_SECOND = 1_000;

export interface InformerHandler<Kind extends KubeKind> {
  /**
   * One object was added (no `before`), changed, or is gone (no `after`). `before` is what was told last; that of the
   * first list are told as added.
   */
  changed(before: KubeObjects[Kind] | undefined, after: KubeObjects[Kind] | undefined): void;
  /** All objects of a list have been told: the first one, and those after a gap. */
  listed?(objects: ReadonlyMap<string, KubeObjects[Kind]>): void;
  /** Listing or watching failed; it is tried again after `retryInMs`. */
  failed?(error: KubeError, retryInMs: number): void;
}

export interface InformerOptions {
  readonly clock: Clock;
  /** Spreads the attempts of many programs; without it waits are exact. */
  readonly prng?: Prng;
  readonly selection?: Selection;
  readonly log?: Log;
}

/** `namespace/name`, or the name alone where there is no namespace. */
export function informerKey({ metadata }: KubeObject): string {
  return metadata.namespace === "" ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}

/** Calls a method at its time. */
class Wake implements Task {
  private readonly informer: { wake: () => void };

  constructor(informer: { wake: () => void }) {
    this.informer = informer;
  }

  run(): void {
    this.informer.wake();
  }
}

/**
 * One kind, followed. It belongs to a program and is no part of a world that is forked.
 *
 * ```ts
 * const nodes = new Informer(source, "Node", { changed: (before, after) => … }, { clock });
 * nodes.start();
 * await nodes.synced;
 * ```
 */
export class Informer<Kind extends KubeKind> {
  /** Resolves when the first list has been told; stays open while there is no server. */
  readonly synced: Promise<void>;
  private readonly source: KubeSource;
  private readonly kind: Kind;
  private readonly handler: InformerHandler<Kind>;
  private readonly options: InformerOptions;
  private readonly log: Log;
  private objects = new Map<string, KubeObjects[Kind]>();
  private resolveSynced: () => void = () => undefined;
  /** Empty: list next. */
  private version = "";
  private isRunning = false;
  private isListed = false;
  private stopWatch: () => void = () => undefined;
  private timer: Timer | undefined;
  private failures = 0;
  private failedAtMs = Number.NEGATIVE_INFINITY;
  private quickEnds = 0;
  private heardInWatch = false;

  constructor(source: KubeSource, kind: Kind, handler: InformerHandler<Kind>, options: InformerOptions) {
    this.source = source;
    this.kind = kind;
    this.handler = handler;
    this.options = options;
    this.log = options.log ?? SILENT_LOG;
    this.synced = new Promise((resolve) => {
      this.resolveSynced = resolve;
    });
  }

  /** Whether the first list has been told. */
  get hasSynced(): boolean {
    return this.isListed;
  }

  /** What was told last, by `namespace/name`. */
  get all(): ReadonlyMap<string, KubeObjects[Kind]> {
    return this.objects;
  }

  start(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    this.goOn();
  }

  /** Ends it; nothing is told any more. */
  stop(): void {
    this.isRunning = false;
    this.stopWatch();
    this.stopWatch = (): void => undefined;
    if (this.timer !== undefined) this.options.clock.cancel(this.timer);
    this.timer = undefined;
  }

  private goOn(): void {
    if (!this.isRunning) return;
    if (this.version === "") void this.list();
    else this.watch();
  }

  private async list(): Promise<void> {
    let list: Awaited<ReturnType<KubeSource["list"]>>;
    try {
      list = await this.source.list(this.kind, this.options.selection);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (!this.isRunning) return;
    this.replaceAll(list.items as readonly KubeObjects[Kind][]);
    this.version = list.resourceVersion;
    this.isListed = true;
    this.handler.listed?.(this.objects);
    this.resolveSynced();
    this.goOn();
  }

  private replaceAll(items: readonly KubeObjects[Kind][]): void {
    const before = this.objects;
    const after = new Map(items.map((object) => [informerKey(object), object]));
    this.objects = after;
    for (const [key, object] of before) if (!after.has(key)) this.handler.changed(object, undefined);
    for (const [key, object] of after) {
      const old = before.get(key);
      if (old?.metadata.uid !== object.metadata.uid && old !== undefined) {
        // Another object of the same name: the first one is gone.
        this.handler.changed(old, undefined);
        this.handler.changed(undefined, object);
      } else if (old?.metadata.resourceVersion !== object.metadata.resourceVersion) {
        this.handler.changed(old, object);
      }
    }
  }

  private watch(): void {
    const beganAtMs = this.options.clock.nowMs;
    this.heardInWatch = false;
    this.stopWatch = this.source.watch(this.kind, this.version, (event) => this.hear(event), {
      ...this.options.selection,
      onBookmark: (version) => {
        this.heardInWatch = true;
        this.version = version;
      },
      onEnd: (error) => this.ended(error, beganAtMs),
    });
  }

  private hear({ type, object }: WatchEvent<Kind>): void {
    if (!this.isRunning) return;
    this.heardInWatch = true;
    const key = informerKey(object);
    const before = this.objects.get(key);
    this.version = object.metadata.resourceVersion;
    if (type === "DELETED") {
      this.objects.delete(key);
      if (before !== undefined) this.handler.changed(before, undefined);
      return;
    }
    this.objects.set(key, object);
    this.handler.changed(before, object);
  }

  private ended(error: KubeError | undefined, beganAtMs: number): void {
    if (!this.isRunning) return;
    if (error?.code === "resource-version-expired") {
      this.log.write("info", "watch expired, listing again", { kind: this.kind, version: this.version });
      this.version = "";
      // A server that forgets at once what it has just told must not be asked without pause.
      this.quickEnds++;
      if (this.quickEnds > 1 && !this.heardInWatch) this.fail(error);
      else this.goOn();
      return;
    }
    if (error !== undefined) {
      this.fail(error);
      return;
    }
    // client-go: a watch that ends within a second silently is a failure.
    const isQuick = this.options.clock.nowMs - beganAtMs < MS_PER_SECOND && !this.heardInWatch;
    if (isQuick)
      this.fail(new KubeError("kubernetes-unreachable", 503, "very short watch: it ended unasked"));
    else {
      this.quickEnds = 0;
      this.goOn();
    }
  }

  private fail(reason: unknown): void {
    if (!(reason instanceof KubeError)) throw reason;
    if (!this.isRunning) return;
    const { clock, prng } = this.options;
    if (clock.nowMs - this.failedAtMs > BACKOFF_RESET_MS) this.failures = 0;
    this.failedAtMs = clock.nowMs;
    const base = Math.min(BACKOFF_FIRST_MS * 2 ** this.failures, BACKOFF_MAX_MS);
    this.failures++;
    const asked = (reason.retryAfterSeconds ?? 0) * MS_PER_SECOND;
    const retryInMs = Math.max(asked, Math.round(base * (1 + (prng?.below(1_000) ?? 0) / 1_000)));
    this.log.write("warn", "Kubernetes cannot be read", {
      kind: this.kind,
      code: reason.code,
      error: reason.message,
      retryInMs,
    });
    // A version that the server calls wrong is of no use for the next attempt.
    if (reason.code === "kubernetes-request-invalid") this.version = "";
    this.handler.failed?.(reason, retryInMs);
    this.timer = clock.schedule(retryInMs, new Wake({ wake: () => this.wake() }));
  }

  private wake(): void {
    this.timer = undefined;
    this.goOn();
  }
}

/** The objects of a `KubeSource`, an API server above all, followed through every interruption; events are written there. */
import type { Clock } from "#core/base/clock.ts";
import type { Prng } from "#core/base/prng.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { Informer } from "#contracts/kubernetes/informer.ts";
import type { KubeDraft, KubeSource } from "#contracts/kubernetes/source.ts";
import type { EventSink, RecordedEvent } from "./event-recorder.ts";
import type { FollowHandler, FollowSelection, FollowedKind, ObjectFeed } from "./object-feed.ts";
import type { KubeKind, KubeObjects } from "#contracts/kubernetes/objects.ts";

export interface SourceFeedOptions {
  readonly source: KubeSource;
  readonly clock: Clock;
  /** Spreads attempts of many nodes. */
  readonly prng?: Prng;
  /** Of this node, for events. */
  readonly hostname: string;
}

const COMPONENT = "kube-proxy";

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

function draftOf(event: RecordedEvent, hostname: string): KubeDraft<"Event"> {
  const { name, namespace, regarding, reason, message, type, action, count, firstMs, lastMs } = event;
  return {
    kind: "Event",
    metadata: { name, namespace },
    involvedObject: {
      apiVersion: "v1",
      kind: regarding.kind,
      name: regarding.name,
      uid: regarding.uid,
      ...(regarding.namespace === "" ? {} : { namespace: regarding.namespace }),
    },
    reason,
    message,
    type,
    action,
    count,
    firstTimestamp: timeText(firstMs),
    lastTimestamp: timeText(lastMs),
    source: { component: COMPONENT, host: hostname },
    reportingComponent: COMPONENT,
    reportingInstance: hostname,
  };
}

export class SourceFeed implements ObjectFeed {
  readonly mayHaveNodesLater = true;
  private readonly options: SourceFeedOptions;

  constructor(options: SourceFeedOptions) {
    this.options = options;
  }

  follow<Kind extends FollowedKind>(
    kind: Kind,
    selection: FollowSelection,
    handler: FollowHandler<Kind>,
  ): () => void {
    const { source, clock, prng } = this.options;
    const informer = new Informer(
      source,
      kind,
      {
        changed: (before, after) => handler.changed(before, after),
        listed: () => handler.listed(),
        failed: (error, retryInMs) => handler.failed(error, retryInMs),
      },
      { clock, selection, ...(prng === undefined ? {} : { prng }) },
    );
    informer.start();
    return () => informer.stop();
  }

  readonly events: EventSink = async (event) => {
    const { source, hostname } = this.options;
    const { count, lastMs, namespace, name } = event;
    if (count > 1) {
      const body = { count, lastTimestamp: timeText(lastMs) };
      try {
        await source.patch("Event", { namespace, name }, { type: "merge", body });
        return;
      } catch (error) {
        // Events are forgotten after an hour.
        if (!(error instanceof KubeError) || error.code !== "object-not-found") throw error;
      }
    }
    await source.create("Event", draftOf(event, hostname));
  };

  close(): Promise<void> {
    return this.options.source.close();
  }
}

// A `KubeSource` that is asked no faster than `clientConnection.qps` and `burst` say (kube-proxy.md §1.1): client-go's
// bucket of tokens, full at the start. A list counts once, however many pages it has, and so does a watch.

export interface RequestRate {
  /** Requests a second; none is held back when it is negative. */
  readonly qps: number;
  readonly burst: number;
}

const SECOND_MS = 1_000;

/** Tokens that come at a rate, and who waits for one. */
class TokenBucket {
  private readonly clock: Clock;
  private readonly rate: RequestRate;
  /** Below zero: so many have been promised. */
  private tokens: number;
  private countedAtMs: number;

  constructor(clock: Clock, rate: RequestRate) {
    this.clock = clock;
    this.rate = rate;
    this.tokens = rate.burst;
    this.countedAtMs = clock.nowMs;
  }

  /** Takes a token. @returns how long until it is there. */
  take(): number {
    const { qps, burst } = this.rate;
    if (qps < 0) return 0;
    const { nowMs } = this.clock;
    this.tokens = Math.min(burst, this.tokens + ((nowMs - this.countedAtMs) * qps) / SECOND_MS);
    this.countedAtMs = nowMs;
    this.tokens -= 1;
    return this.tokens >= 0 ? 0 : (-this.tokens * SECOND_MS) / qps;
  }
}

/** @returns `source` behind a bucket of its own. */
export function limitRequests(source: KubeSource, clock: Clock, rate: RequestRate): KubeSource {
  const bucket = new TokenBucket(clock, rate);
  const turn = (): Promise<void> => {
    const waitMs = bucket.take();
    if (waitMs === 0) return Promise.resolve();
    return new Promise((resolve) => {
      clock.schedule(waitMs, { run: () => resolve() });
    });
  };
  const watch: KubeSource["watch"] = (kind, resourceVersion, listener, options) => {
    const waitMs = bucket.take();
    if (waitMs === 0) return source.watch(kind, resourceVersion, listener, options);
    let stop: (() => void) | undefined;
    const timer = clock.schedule(waitMs, {
      run: () => {
        stop = source.watch(kind, resourceVersion, listener, options);
      },
    });
    return () => {
      clock.cancel(timer);
      stop?.();
    };
  };
  return {
    watch,
    list: async (kind, selection) => turn().then(() => source.list(kind, selection)),
    get: async (kind, name) => turn().then(() => source.get(kind, name)),
    create: async (kind, draft) => turn().then(() => source.create(kind, draft)),
    update: async <Kind extends KubeKind>(
      kind: Kind,
      object: KubeObjects[Kind],
      options?: Parameters<KubeSource["update"]>[2],
    ) => turn().then(() => source.update(kind, object, options)),
    patch: async (kind, name, patch, options) => turn().then(() => source.patch(kind, name, patch, options)),
    delete: async (kind, name, options) => turn().then(() => source.delete(kind, name, options)),
    close: () => source.close(),
  };
}

/**
 * A `KubeSource` that is asked no faster than `clientConnection.qps` and `burst` say (kube-proxy.md §1.1): client-go's
 * bucket of tokens, full at the start. A list counts once, however many pages it has, and so does a watch.
 */
import type { Clock } from "#core/base/clock.ts";
import type { KubeKind, KubeObjects } from "#contracts/kubernetes/objects.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";

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

/**
 * What a Windows DNS client remembers, per compartment. Linux' glibc remembers nothing.
 *
 * Positive answers live as long as their records, at most a day (`MaxCacheTtl`); negative ones five minutes
 * (docs: dataplane.md §5.3, DT-160). Inferred: a shorter time in the SOA of a negative answer changes nothing, since the
 * five minutes were observed against servers that name less.
 */
import { LIMITS } from "#core/base/limits.ts";
import type { Ip } from "#core/net/ip.ts";

/** What is known about a name and a type. */
export interface CachedAnswer {
  readonly outcome: "answered" | "no-data" | "name-error";
  readonly addresses: readonly Ip[];
  readonly canonicalName: string;
  readonly expiresAtMs: number;
}

const POSITIVE_SECONDS_MAX = 86_400;
const NEGATIVE_SECONDS = 300;
const MS_PER_SECOND = 1_000;

/** How long an answer is remembered. */
export function cacheMs(outcome: CachedAnswer["outcome"], ttlSeconds: number): number {
  const seconds = outcome === "answered" ? Math.min(ttlSeconds, POSITIVE_SECONDS_MAX) : NEGATIVE_SECONDS;
  return seconds * MS_PER_SECOND;
}

function keyOf(name: string, type: string): string {
  return `${type} ${name.toLowerCase()}`;
}

export class NameCache {
  /** The oldest first. */
  private readonly answers = new Map<string, CachedAnswer>();

  get(name: string, type: string, nowMs: number): CachedAnswer | undefined {
    const key = keyOf(name, type);
    const answer = this.answers.get(key);
    if (answer === undefined || answer.expiresAtMs > nowMs) return answer;
    this.answers.delete(key);
    return undefined;
  }

  set(name: string, type: string, answer: CachedAnswer): void {
    const key = keyOf(name, type);
    this.answers.delete(key);
    this.answers.set(key, Object.freeze(answer));
    if (this.answers.size <= LIMITS.dnsCacheNamesMax) return;
    const oldest = this.answers.keys().next();
    if (oldest.done !== true) this.answers.delete(oldest.value);
  }

  /** `ipconfig /flushdns`. */
  clear(): void {
    this.answers.clear();
  }
}

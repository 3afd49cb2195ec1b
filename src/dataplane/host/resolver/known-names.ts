/**
 * Names that a resolver knows without asking: those of the hosts file, `etc\hosts` of Windows, `/etc/hosts` of Linux, which is
 * read before any server is asked (dataplane.md §5.3), and those that it remembers.
 */
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { AddressType } from "./name-result.ts";
import { LIMITS } from "#core/base/limits.ts";

/** Addresses by name in small letters, in the order of the file. */
export type HostsFile = ReadonlyMap<string, readonly Ip[]>;

export const NO_HOSTS: HostsFile = Object.freeze(new Map<string, readonly Ip[]>());

/** Reads a file: an address and its names per line, `#` begins a comment. A line without an address says nothing. */
export function parseHostsFile(text: string): HostsFile {
  const hosts = new Map<string, Ip[]>();
  for (const line of text.split(/\r?\n/)) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    const ip = parseIp(address);
    if (ip === undefined) continue;
    for (const name of names) {
      const key = keyOf(name);
      const known = hosts.get(key);
      if (known === undefined) hosts.set(key, [ip]);
      else if (!known.includes(ip)) known.push(ip);
    }
  }
  return Object.freeze(hosts);
}

/** The addresses of one family that the file has for `name`. */
export function lookUpHosts(hosts: HostsFile, name: string, type: AddressType): readonly Ip[] {
  return (hosts.get(keyOf(name)) ?? []).filter((ip) => (typeof ip === "number") === (type === "A"));
}

function keyOf(name: string): string {
  return name.replace(/\.$/, "").toLowerCase();
}

/** What is known about a name and a type. */
export interface CachedAnswer {
  readonly outcome: "answered" | "no-data" | "name-error";
  readonly addresses: readonly Ip[];
  readonly canonicalName: string;
  readonly expiresAtMs: number;
}

/** What the cache holds of one name and type. */
export interface KnownName {
  /** As it was asked for, with its final dot. */
  readonly name: string;
  readonly type: AddressType;
  readonly answer: CachedAnswer;
}

const POSITIVE_SECONDS_MAX = 86_400;
const NEGATIVE_SECONDS = 300;
const MS_PER_SECOND = 1_000;

/** How long an answer is remembered. */
export function cacheMs(outcome: CachedAnswer["outcome"], ttlSeconds: number): number {
  const seconds = outcome === "answered" ? Math.min(ttlSeconds, POSITIVE_SECONDS_MAX) : NEGATIVE_SECONDS;
  return seconds * MS_PER_SECOND;
}

function cacheKey(name: string, type: string): string {
  return `${type} ${name.toLowerCase()}`;
}

/**
 * What a Windows DNS client remembers, per compartment. Linux' glibc remembers nothing.
 *
 * Positive answers live as long as their records, at most a day (`MaxCacheTtl`); negative ones five minutes
 * (docs: dataplane.md §5.3). Inferred: a shorter time in the SOA of a negative answer changes nothing, since the
 * five minutes were observed against servers that name less.
 */
export class NameCache {
  /** The oldest first. */
  private readonly answers = new Map<string, KnownName>();

  get(name: string, type: AddressType, nowMs: number): CachedAnswer | undefined {
    const key = cacheKey(name, type);
    const answer = this.answers.get(key)?.answer;
    if (answer === undefined || answer.expiresAtMs > nowMs) return answer;
    this.answers.delete(key);
    return undefined;
  }

  set(name: string, type: AddressType, answer: CachedAnswer): void {
    const key = cacheKey(name, type);
    this.answers.delete(key);
    this.answers.set(key, Object.freeze({ name, type, answer: Object.freeze(answer) }));
    if (this.answers.size <= LIMITS.dnsCacheNamesMax) return;
    const oldest = this.answers.keys().next();
    if (oldest.done !== true) this.answers.delete(oldest.value);
  }

  /** What is still remembered, the oldest first. */
  list(nowMs: number): readonly KnownName[] {
    return [...this.answers.values()].filter(({ answer }) => answer.expiresAtMs > nowMs);
  }

  /** `ipconfig /flushdns`. */
  clear(): void {
    this.answers.clear();
  }
}

/**
 * Which server is asked when, as long as nobody answers.
 *
 * Windows: "DNS client resolution timeouts" (Microsoft, KB 2834226): the first server, after 1 s the second, after 2 s
 * the next, after 4 s and after 8 s all, after 10 s it gives up. Linux (glibc, resolv/res_send.c): each server in turn,
 * the whole list `attempts` times; the wait doubles with the place in the list and is shared among the servers.
 */
import type { OperatingSystem } from "../stack-profile.ts";
import type { ResolverOptions } from "./resolver-options.ts";

/** The servers that are asked at one moment, by their place in the list, and how long they are waited for. */
export interface QueryRound {
  readonly servers: readonly number[];
  readonly waitMs: number;
}

/** How long Windows waits after each question. */
const WINDOWS_WAITS_MS = [1_000, 1_000, 2_000, 4_000, 2_000] as const;
/** From this round on Windows asks all servers at once. */
const WINDOWS_ALL_FROM = 3;
const MS_PER_SECOND = 1_000;
/** More servers are not read: MAXNS of glibc, and what the kubelet lets through. */
const SERVERS_MAX = 3;

function roundsOnWindows(count: number): readonly QueryRound[] {
  const all = Array.from({ length: count }, (_, index) => index);
  return WINDOWS_WAITS_MS.map((waitMs, round) => ({
    servers: round < WINDOWS_ALL_FROM ? [Math.min(round, count - 1)] : all,
    waitMs,
  }));
}

function roundsOnLinux(count: number, options: ResolverOptions): readonly QueryRound[] {
  const rounds: QueryRound[] = [];
  const used = Math.min(count, SERVERS_MAX);
  for (let attempt = 0; attempt < options.attempts; attempt++) {
    for (let server = 0; server < used; server++) {
      const shared = (options.timeoutSeconds << server) / (server === 0 ? 1 : used);
      rounds.push({ servers: [server], waitMs: Math.max(1, Math.floor(shared)) * MS_PER_SECOND });
    }
  }
  return rounds;
}

/** `nslookup` asks its first server twice, for two seconds each (dataplane.md §5.3: "timeout was 2 seconds"). */
export const NSLOOKUP_ROUNDS: readonly QueryRound[] = Object.freeze(
  [0, 1].map(() => Object.freeze({ servers: [0], waitMs: 2_000 })),
);

/** The rounds for a list of `count` servers, at least one. */
export function queryRounds(
  os: OperatingSystem,
  count: number,
  options: ResolverOptions,
): readonly QueryRound[] {
  return os === "windows" ? roundsOnWindows(count) : roundsOnLinux(count, options);
}

/**
 * Which clients came to which back end, and when last: kube-proxy's session affinity is the `recent` match of
 * iptables, with one list per back end (net/netfilter/xt_recent.c; its `ip_list_tot` is 100: the client that was
 * away longest is forgotten for a new one).
 */
import { LIMITS } from "#core/base/limits.ts";
import type { Ip } from "#core/net/ip.ts";
import type { DnatBackEnd } from "./rule.ts";

const MS_PER_SECOND = 1_000;

export class AffinityTable {
  /** By the key of the back end; its clients with the time of their last new connection, the oldest first. */
  private readonly clients = new Map<string, Map<Ip, number>>();

  /** The first of `backEnds` that knows the client from the last `seconds`. */
  find(
    backEnds: readonly DnatBackEnd[],
    client: Ip,
    seconds: number,
    nowMs: number,
  ): DnatBackEnd | undefined {
    return backEnds.find((backEnd) => {
      const known = this.clients.get(backEnd.key);
      const seenAtMs = known?.get(client);
      if (known === undefined || seenAtMs === undefined) return false;
      if (nowMs - seenAtMs <= seconds * MS_PER_SECOND) return true;
      known.delete(client);
      return false;
    });
  }

  /** Remembers that `client` has a new connection to `backEnd`. */
  remember(backEnd: DnatBackEnd, client: Ip, nowMs: number): void {
    let known = this.clients.get(backEnd.key);
    if (known === undefined) this.clients.set(backEnd.key, (known = new Map<Ip, number>()));
    known.delete(client);
    if (known.size >= LIMITS.affinityClientsPerBackEndMax) {
      const oldest = known.keys().next();
      if (oldest.done !== true) known.delete(oldest.value);
    }
    known.set(client, nowMs);
  }
}

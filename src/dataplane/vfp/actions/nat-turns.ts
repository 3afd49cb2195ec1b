/**
 * Which of its free ports a NAT pool gives next: for who wants to meet every back end of a list, and not the same ones again
 * and again. Any free port may be the next one (dataplane.md §1.8 gives no order), so what it leads to stays possible.
 */
import type { Ip } from "#core/net/ip.ts";
import { BackEndForecast } from "./back-end.ts";

/** How many back ends an address and port have, by `keyOfTurns`. */
export type BackEndCounts = ReadonlyMap<string, number>;

export function keyOfTurns(protocol: number, destination: Ip, port: number): string {
  return `${protocol} ${destination} ${port}`;
}

/** Of one list: who was met in this round. */
interface Round {
  readonly forecast: BackEndForecast;
  readonly count: number;
  readonly met: Set<number>;
}

/** The turns of one pool. */
export class NatTurns {
  private readonly counts: BackEndCounts;
  private readonly source: Ip;
  private readonly protocol: number;
  private readonly rounds = new Map<string, Round>();

  constructor(counts: BackEndCounts, source: Ip, protocol: number) {
    this.counts = counts;
    this.source = source;
    this.protocol = protocol;
  }

  /** Undefined where nobody chooses among several. */
  roundOf(destination: Ip, destinationPort: number): Round | undefined {
    const { counts, source, protocol, rounds } = this;
    const key = keyOfTurns(protocol, destination, destinationPort);
    const known = rounds.get(key);
    if (known !== undefined) return known;
    const count = counts.get(key) ?? 0;
    if (count < 2) return undefined;
    const forecast = new BackEndForecast({ protocol, source, destination, destinationPort });
    const round = { forecast, count, met: new Set<number>() };
    rounds.set(key, round);
    return round;
  }
}

export function isWanted({ forecast, count, met }: Round, port: number): boolean {
  return !met.has(forecast.placeOf(port, count));
}

/** Counts the place that a port leads to; after the last one all are wanted again. */
export function takeTurn({ forecast, count, met }: Round, port: number): void {
  met.add(forecast.placeOf(port, count));
  if (met.size >= count) met.clear();
}

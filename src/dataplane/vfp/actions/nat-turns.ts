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

/** Who is asked, and by whom. */
export interface Asked {
  readonly by: Ip;
  readonly ip: Ip;
  readonly port: number;
}

/** Of one list and one who asks: who was met in this round. */
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

  /** Undefined where nobody chooses among several. Whoever else asks at the same time has rounds of their own. */
  roundOf({ by, ip: destination, port: destinationPort }: Asked): Round | undefined {
    const { counts, source, protocol, rounds } = this;
    const asked = keyOfTurns(protocol, destination, destinationPort);
    const key = `${asked} ${by}`;
    const known = rounds.get(key);
    if (known !== undefined) return known;
    const count = counts.get(asked) ?? 0;
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

/** What a chassis remembers while packets pass: connections, sessions that stay with a back end, hairpins. */
import type { Clock } from "#core/base/clock.ts";
import { LIMITS } from "#core/base/limits.ts";
import { ConnectionZones } from "./connection-tracking.ts";
import { MulticastSnooping, type SnoopedGroup } from "./multicast-snooping.ts";
import { NextHopMemory } from "./next-hop-memory.ts";

const MS_PER_SECOND = 1_000;

interface Session {
  readonly backEnd: string;
  readonly timeoutMs: number;
  expiresAtMs: number;
}

/** A connection to an address of a Service without back ends (ovn-sb(5), `trigger_event`). */
export interface EmptyBalancer {
  readonly vip: string;
  readonly protocol: string;
  readonly loadBalancer: string;
}

/** What a chassis has met that others are to know: rows of the southbound database. */
export interface ChassisReports {
  /** Virtual ports, each with the port that has answered for it. */
  readonly virtualPorts: ReadonlyMap<string, string>;
  readonly events: readonly EmptyBalancer[];
  readonly groups: readonly SnoopedGroup[];
}

/** Events that wait to be reported; further ones are not kept (controller/pinctrl.c, `event_table`). */
const EVENTS_MAX = 1_000;

export class Chassis {
  /** Grows with each change that a packet may meet which is no connection's: what was cached before holds no more. */
  revision = 0;
  /** Ports that this chassis has: bound here, or claimed, such as `cr-…`. */
  residents: ReadonlySet<string>;
  /** Its name in the southbound database; undefined for one that has every port. */
  readonly name: string | undefined;
  readonly zones: ConnectionZones = new ConnectionZones();
  readonly nextHops: NextHopMemory = new NextHopMemory();
  readonly multicast: MulticastSnooping = new MulticastSnooping();
  private readonly events = new Map<string, EmptyBalancer>();
  private readonly clock: Clock;
  /** By client and service: the back end that it stays with. */
  private readonly sessions = new Map<string, Session>();
  /** Answers of a back end to itself, which are known by what began them. */
  private readonly hairpins = new Set<string>();

  /** Virtual ports, each with the port that stands behind it now. */
  private readonly virtuals = new Map<string, string>();
  /** Of those the ones that the database knows of. */
  private readonly reported = new Set<string>();

  /** States that look-ups give instead of what they find, in their order (`--ct` of ovn-trace). */
  private readonly states: number[] = [];

  constructor(residents: ReadonlySet<string>, clock: Clock, name?: string) {
    this.name = name;
    this.residents = residents;
    this.clock = clock;
  }

  /**
   * Has these ports from now on. Connections and sessions stay, but for the zones of ports that have gone: ovn-controller frees
   * such a zone, and flushes it before another port gets it (ovn-controller(8)).
   */
  settle(residents: ReadonlySet<string>): void {
    for (const port of this.residents) if (!residents.has(port)) this.zones.flush(`port ${port}`);
    for (const [port, parent] of this.virtuals)
      if (!residents.has(parent)) {
        this.virtuals.delete(port);
        this.reported.delete(port);
      }
    const after = new Set([...residents, ...this.virtuals.keys()]);
    if (after.size === this.residents.size && [...after].every((port) => this.residents.has(port))) return;
    this.residents = after;
    this.revision += 1;
  }

  /** Virtual ports that are here, and the port behind each (ovn-sb(5), Port_Binding, `virtual_parent`). */
  get virtualPorts(): ReadonlyMap<string, string> {
    return this.virtuals;
  }

  /** A virtual port was met behind one of this chassis. */
  bindVirtual(port: string, parent: string): void {
    if (this.virtuals.get(port) !== parent) this.reported.delete(port);
    this.virtuals.set(port, parent);
    if (this.residents.has(port)) return;
    this.residents = new Set([...this.residents, port]);
    this.revision += 1;
  }

  /** Gives virtual ports up that another chassis has claimed since this one has reported them. */
  yieldVirtuals(chassisOf: (port: string) => string): void {
    for (const port of this.virtuals.keys()) {
      const owner = chassisOf(port);
      if (owner === "" || owner === this.name || !this.reported.has(port)) continue;
      this.virtuals.delete(port);
      this.reported.delete(port);
      this.residents = new Set([...this.residents].filter((each) => each !== port));
      this.revision += 1;
    }
  }

  /** An event is to be reported, once for all packets until then. */
  trigger(event: EmptyBalancer): void {
    const key = JSON.stringify(event);
    if (this.events.has(key) || this.events.size >= EVENTS_MAX) return;
    this.events.set(key, Object.freeze({ ...event }));
  }

  /** Something may be to be reported; memberships of groups end with time, too. */
  hasReports(): boolean {
    const isNew = [...this.virtuals.keys()].some((port) => !this.reported.has(port));
    return isNew || this.events.size > 0 || this.multicast.hasAny;
  }

  /** What is to be reported now; events and virtual ports are given once. */
  takeReports(snooped: Parameters<MulticastSnooping["list"]>[0]): ChassisReports {
    const events = [...this.events.values()];
    this.events.clear();
    const virtualPorts = new Map([...this.virtuals].filter(([port]) => !this.reported.has(port)));
    for (const port of virtualPorts.keys()) this.reported.add(port);
    return { virtualPorts, events, groups: this.multicast.list(snooped, this.nowMs) };
  }

  get nowMs(): number {
    return this.clock.nowMs;
  }

  /** The next look-ups give these states, whatever they find. */
  give(states: readonly number[]): void {
    this.states.push(...states);
  }

  nextState(): number | undefined {
    return this.states.shift();
  }

  /** Keeps a client at a back end until it was idle for so long. */
  keepSession(key: string, backEnd: string, timeoutSeconds: number): void {
    if (this.sessions.size >= LIMITS.trackedConnectionsMax) this.sessions.clear();
    const timeoutMs = timeoutSeconds * MS_PER_SECOND;
    this.sessions.set(key, { backEnd, timeoutMs, expiresAtMs: this.nowMs + timeoutMs });
  }

  /** The back end that a client stays with. */
  sessionOf(key: string): string | undefined {
    const session = this.sessions.get(key);
    if (session === undefined) return undefined;
    if (session.expiresAtMs <= this.nowMs) {
      this.sessions.delete(key);
      return undefined;
    }
    session.expiresAtMs = this.nowMs + session.timeoutMs;
    return session.backEnd;
  }

  expectHairpin(key: string): void {
    if (this.hairpins.has(key) || this.hairpins.size >= LIMITS.trackedConnectionsMax) return;
    this.hairpins.add(key);
    this.revision += 1;
  }

  isHairpin(key: string): boolean {
    return this.hairpins.has(key);
  }
}

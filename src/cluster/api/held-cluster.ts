/** A running cluster as the control API holds it: the session, its newest events, whose turn it is. */
import { assert } from "#core/base/assert.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { Log } from "#core/base/log.ts";
import type { FlowLimit } from "../session/flow-limit.ts";
import type {
  ClusterSession,
  InputRemarks,
  InputText,
  SessionEvent,
  SessionProblem,
} from "../session/session.ts";
import type { LiveView } from "../live/live-places.ts";
import type { VerifyReport } from "../verify/report.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import type { Identity } from "./documents.ts";
import { ApiError } from "./error-details.ts";

/** One thing after the other: what changes the cluster must not meet what reads it halfway. */
export class Turns {
  private last: Promise<unknown> = Promise.resolve();
  /** Turns that have not ended. */
  private count = 0;

  /** Runs `work` when everything asked before has ended, well or not. */
  take<T>(work: () => T | Promise<T>): Promise<T> {
    const end = (): void => {
      this.count--;
    };
    this.count++;
    const turn = this.last.then(work);
    this.last = turn.then(end, end);
    return turn;
  }

  /** Runs `work` at once, if nobody has a turn or waits for one. @returns false: it did not run. */
  takeNow(work: () => void): boolean {
    if (this.count > 0) return false;
    work();
    return true;
  }
}

/** What follows an id. */
export interface EventBatch {
  /** How many events after the id are forgotten already. */
  readonly missed: number;
  readonly events: readonly SessionEvent[];
}

/**
 * The newest events of a cluster, for streams that begin late, fall behind or come back. A stream has no queue of its
 * own: it remembers the last id that it sent, so that a listener who does not read costs nothing.
 */
export class EventHistory {
  private readonly capacity: number;
  private events: SessionEvent[] = [];
  private lastId = 0;
  /** Of the first event that was ever heard here; what came before was never here. */
  private firstId: number | undefined;
  private wakeUps: (() => void)[] = [];

  constructor(capacity: number = LIMITS.apiEventsKeptMax) {
    this.capacity = capacity;
  }

  /** The id of the newest event; 0 before the first. */
  get newestId(): number {
    return this.lastId;
  }

  add(event: SessionEvent): void {
    assert(event.id > this.lastId, "ids of events grow");
    this.lastId = event.id;
    this.firstId ??= event.id;
    this.events.push(event);
    // Cut in large pieces, so that an event costs no copy of the others.
    if (this.events.length >= this.capacity * 2) this.events = this.events.slice(-this.capacity);
    this.wake();
  }

  /** The events after `id`. An id from the future (of a cluster that is gone) counts as the newest. */
  after(id: number): EventBatch {
    if (id >= this.lastId) return { missed: 0, events: [] };
    const kept = this.events.slice(-this.capacity);
    const events = kept.filter((event) => event.id > id);
    const heardFrom = Math.max(id, (this.firstId ?? 1) - 1);
    const oldest = events[0]?.id ?? this.lastId;
    return { missed: oldest - heardFrom - 1, events };
  }

  /** Calls `wakeUp` once, with the next event or with `wake`. Returns a function that takes it back. */
  onNext(wakeUp: () => void): () => void {
    this.wakeUps.push(wakeUp);
    return () => {
      this.wakeUps = this.wakeUps.filter((each) => each !== wakeUp);
    };
  }

  /** Wakes all that wait. */
  wake(): void {
    const waiting = this.wakeUps;
    this.wakeUps = [];
    for (const wakeUp of waiting) wakeUp();
  }
}

/** Manifests as objects, and what is to be said about the rest. */
export interface ReadManifests {
  readonly objects: readonly LoadedObject[];
  readonly problems: readonly SessionProblem[];
  readonly notes: readonly SessionProblem[];
  /** What of the rest keeps flows from being judged. */
  readonly limits?: readonly FlowLimit[];
}

/** Reads manifests; `namespace` is for objects that name none. */
export type ManifestReader = (inputs: readonly InputText[], namespace: string) => ReadManifests;

/** Tries the flows of a cluster; those that nothing has touched since are kept, unless all are to be tried. */
export type Verifier = (
  session: ClusterSession,
  input: InputRemarks,
  isWhole: boolean,
) => VerifyReport | Promise<VerifyReport>;

export interface HeldClusterOptions {
  readonly session: ClusterSession;
  readonly readManifests: ManifestReader;
  readonly verify: Verifier;
  readonly identity: Identity;
  /** What was said about the texts that the cluster came up with. */
  readonly input: InputRemarks;
  /** Hears faults of Mullion's own. */
  readonly log: Log;
  /** Called once, when a request asks the cluster to end. */
  readonly onShutdown: () => void;
}

const UNAVAILABLE = 503;

export class HeldCluster {
  readonly identity: Identity;
  readonly readManifests: ManifestReader;
  readonly verify: Verifier;
  readonly log: Log;
  readonly events: EventHistory = new EventHistory();
  /** Streams of events that are open. */
  openStreams = 0;
  /** Called after each turn: what is due next may have changed. */
  afterTurn: (() => void) | undefined;
  /** What of it is on this machine; undefined: it is simulated. */
  live: LiveView | undefined;
  private remarks: InputRemarks;
  private readonly current: ClusterSession;
  private readonly turns: Turns = new Turns();
  private readonly onShutdown: () => void;
  private readonly unsubscribe: () => void;
  private isOver = false;

  constructor(options: HeldClusterOptions) {
    this.current = options.session;
    this.readManifests = options.readManifests;
    this.verify = options.verify;
    this.identity = options.identity;
    this.remarks = options.input;
    this.log = options.log;
    this.onShutdown = options.onShutdown;
    this.unsubscribe = this.current.subscribe((event) => this.events.add(event));
  }

  get isEnding(): boolean {
    return this.isOver;
  }

  /** @throws ApiError 503 when the cluster is ending. */
  get session(): ClusterSession {
    if (!this.isOver) return this.current;
    const { name } = this.identity;
    throw new ApiError(
      UNAVAILABLE,
      "cluster-unreachable",
      `the cluster ${JSON.stringify(name)} is ending`,
      "Bring it up again: mullion up -f FILE",
    );
  }

  /** What is said about the texts that the cluster has taken; its own notes are asked of the session. */
  get input(): InputRemarks {
    return this.remarks;
  }

  /** What keeps flows of the cluster, as it is, from being judged. */
  get limits(): readonly FlowLimit[] {
    return [...this.session.limits(), ...(this.remarks.limits ?? [])];
  }

  /** Adds what is said about texts that were applied; what was said about them before is out of date. */
  remark(texts: readonly string[], { problems, notes, limits = [] }: InputRemarks): void {
    const stays = ({ where }: Pick<SessionProblem, "where">): boolean =>
      where === undefined || !texts.includes(where.file);
    const known = this.remarks;
    this.remarks = {
      ...known,
      problems: [...known.problems.filter(stays), ...problems],
      notes: [...known.notes.filter(stays), ...notes],
      limits: [...(known.limits ?? []).filter(stays), ...limits],
    };
  }

  /** As the cluster file calls the cluster. */
  get clusterName(): string {
    return this.current.cluster.file.name;
  }

  /** Works on the session when everything asked before has ended. */
  inTurn<T>(work: (session: ClusterSession) => T | Promise<T>): Promise<T> {
    return this.turns.take(async () => {
      try {
        return await work(this.session);
      } finally {
        this.afterTurn?.();
      }
    });
  }

  /** The same at once, without a promise. @returns false: somebody else has a turn or waits for one, and nothing was done. */
  inTurnNow(work: (session: ClusterSession) => void): boolean {
    return this.turns.takeNow(() => {
      try {
        work(this.session);
      } finally {
        this.afterTurn?.();
      }
    });
  }

  /** Ends the cluster: streams end, nothing is taken any more. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.unsubscribe();
    this.events.wake();
    this.onShutdown();
  }
}

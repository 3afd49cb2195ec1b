/** A running cluster as the control API holds it: the session, its newest events, whose turn it is. */
import type { Log } from "../base/log.ts";
import type { ClusterSession, InputText, SessionProblem } from "../cluster/session/session.ts";
import type { VerifyReport } from "../cluster/verify/report.ts";
import type { LoadedObject } from "../kube/load/manifests.ts";
import type { Identity } from "./documents.ts";
import { ApiError } from "./error-details.ts";
import { EventHistory } from "./event-history.ts";
import { Turns } from "./turns.ts";

/** Manifests as objects, and what is to be said about the rest. */
export interface ReadManifests {
  readonly objects: readonly LoadedObject[];
  readonly problems: readonly SessionProblem[];
  readonly notes: readonly SessionProblem[];
}

/** Reads manifests; `namespace` is for objects that name none. */
export type ManifestReader = (inputs: readonly InputText[], namespace: string) => ReadManifests;

/** Tries the flows of a cluster. */
export type Verifier = (session: ClusterSession) => VerifyReport;

export interface HeldClusterOptions {
  readonly session: ClusterSession;
  readonly readManifests: ManifestReader;
  readonly verify: Verifier;
  readonly identity: Identity;
  /** Hears faults of Mullion's own. */
  readonly log: Log;
  /** Called once, when somebody asks the cluster to end. */
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

  /** As the cluster file calls the cluster. */
  get clusterName(): string {
    return this.current.cluster.file.name;
  }

  /** Works on the session when everything asked before has ended. */
  inTurn<T>(work: (session: ClusterSession) => T | Promise<T>): Promise<T> {
    return this.turns.take(() => work(this.session));
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

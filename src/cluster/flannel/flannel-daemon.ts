/** flanneld on one node, over all its restarts: a process that whoever looks after it starts, ends and starts again. */
import type { Clock } from "#core/base/clock.ts";
import { type FlannelFinding, KeptLog } from "#programs/flannel/reports.ts";
import type { FlannelHost } from "#programs/flannel/node/flannel-host.ts";
import type { Flanneld, FlanneldState } from "#programs/flannel/flanneld.ts";
import type { ClusterNode } from "../cluster.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** How often a new process asks an API server that does not answer (control-planes.md §1.1, step 2). */
const FIRST_LIST_MS = 1_000;

const NO_API_SERVER: FlannelFinding = {
  code: "flannel-store-unreachable",
  message: WORDS.flanneldApiServerSilent,
};

export interface FlannelDaemonParts {
  readonly node: ClusterNode;
  /** The machine as flanneld finds it; it outlives the process. */
  readonly host: FlannelHost;
  /** The world's. */
  readonly clock: Pick<Clock, "nowMs">;
  /** A new process. */
  readonly create: (daemon: FlannelDaemon) => Flanneld;
  readonly isApiReachable: () => boolean;
}

export class FlannelDaemon {
  readonly node: ClusterNode;
  readonly host: FlannelHost;
  readonly log: KeptLog = new KeptLog();
  /** When it wants to be called by the world's clock; undefined: only when something is told. */
  dueAtMs: number | undefined;
  /** How far the machine's clock is ahead of the world's. */
  aheadMs = 0;
  private readonly parts: FlannelDaemonParts;
  private flanneld: Flanneld | undefined;
  private current: FlanneldState | undefined;
  /** Ends its watch. */
  private stopFollowing: (() => void) | undefined;
  /** The process has listed the Nodes: it knows what it needs to begin. */
  private hasListed = false;

  constructor(parts: FlannelDaemonParts) {
    this.node = parts.node;
    this.host = parts.host;
    this.parts = parts;
  }

  /** The time as the machine has it. */
  get nowMs(): number {
    return this.parts.clock.nowMs + this.aheadMs;
  }

  /** Undefined while nobody has started it. */
  get state(): FlanneldState | undefined {
    return this.current;
  }

  get isStarted(): boolean {
    return this.flanneld !== undefined;
  }

  /** Somebody starts it again when it has ended. */
  get isRestarted(): boolean {
    return this.node.spec.flanneld.isRestarted;
  }

  /** A new process, whatever ran before. */
  start(): void {
    this.stop();
    this.flanneld = this.parts.create(this);
    this.dueAtMs = this.parts.clock.nowMs;
  }

  /** Ends the process as a signal or a power cut does: nothing of what it has made is taken away. */
  stop(): void {
    this.stopFollowing?.();
    this.stopFollowing = undefined;
    this.flanneld = undefined;
    this.current = undefined;
    this.dueAtMs = undefined;
    this.hasListed = false;
  }

  /** Sets the machine's clock; whoever sleeps looks at it. */
  moveClock(byMs: number): void {
    this.aheadMs += byMs;
    if (this.isStarted) this.dueAtMs = this.parts.clock.nowMs;
  }

  /** Lets it do what is due. */
  async advance(): Promise<void> {
    const { flanneld } = this;
    const { clock } = this.parts;
    this.dueAtMs = undefined;
    if (flanneld === undefined) return;
    if (!this.hasListed && !this.parts.isApiReachable()) {
      // The list of Nodes is shared by all nodes here; a real process has none before it has asked.
      this.current = { state: "waiting", retryAfterMs: FIRST_LIST_MS, finding: NO_API_SERVER };
      this.dueAtMs = clock.nowMs + FIRST_LIST_MS;
      return;
    }
    this.hasListed = true;
    const state = await flanneld.advance(this.nowMs);
    this.current = state;
    if (flanneld.needsFollowing) {
      this.stopFollowing?.();
      this.stopFollowing = await flanneld.follow(() => {
        this.dueAtMs = clock.nowMs;
      });
      this.dueAtMs = clock.nowMs;
      return;
    }
    const waitMs =
      state.state === "waiting" ? state.retryAfterMs : state.state === "running" ? state.nextMs : undefined;
    // What was told meanwhile is due already. At least a moment, so that the round ends.
    if (waitMs !== undefined) this.dueAtMs ??= clock.nowMs + Math.max(waitMs, 1);
  }

  /** What is wrong now. */
  findings(): readonly FlannelFinding[] {
    const waiting = this.current?.state === "waiting" ? [this.current.finding] : [];
    return [...waiting, ...(this.flanneld?.findings() ?? [])];
  }
}

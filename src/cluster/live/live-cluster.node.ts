/** A running cluster whose segment is real: its time is that of this machine, and frames come and go. */
import type { Log } from "#core/base/log.ts";
import {
  NoForeignCallsError,
  SystemCallError,
  SystemCalls,
} from "#dataplane/device/linux/system-calls.node.ts";
import { Readiness } from "#dataplane/device/linux/readiness.node.ts";
import { tapFailure } from "#dataplane/device/linux/tap.node.ts";
import { messageOf } from "#core/base/thrown.ts";
import { ApiError } from "../api/error-details.ts";
import type { HeldCluster } from "../api/held-cluster.ts";
import { LiveSegment, type LivePlace, removeLeftNamespace } from "./live-segment.node.ts";
import { RealTime } from "./real-time.node.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();
const REFUSED = 400;
/** Frames that are taken in at a time; then others have their turn. */
const BURST_FRAMES = 64;

/** Why this machine cannot carry real frames, in the words of the user. */
function refusal(error: unknown): unknown {
  const refuse = (code: "live-not-possible" | "live-name-taken", message: string, advice: string): ApiError =>
    new ApiError(REFUSED, code, message, advice);
  if (error instanceof NoForeignCallsError)
    return refuse("live-not-possible", messageOf(error), WORDS.adviceLiveKoffi);
  const reason = tapFailure(error);
  if (reason === undefined) return error;
  const said = messageOf(error);
  if (reason === "no-device") return refuse("live-not-possible", said, WORDS.adviceLiveDevice);
  if (reason === "not-permitted") return refuse("live-not-possible", said, WORDS.adviceLivePermission);
  return refuse("live-name-taken", said, WORDS.adviceLiveNameTaken);
}

function systemCalls(): SystemCalls {
  if (process.platform !== "linux")
    throw new ApiError(REFUSED, "live-not-possible", WORDS.liveNeedsLinux, WORDS.adviceLiveLinux);
  return new SystemCalls();
}

export interface LiveOptions {
  /** A bridge of this machine, on which the segment is to be; undefined: in a namespace of its own. */
  readonly bridge: string | undefined;
  /** The Linux node whose place this machine takes; undefined: it is a further machine. */
  readonly node: string | undefined;
}

export class LiveCluster {
  private readonly held: HeldCluster;
  private readonly segment: LiveSegment;
  private readonly readiness: Readiness;
  private readonly time: RealTime;
  private readonly carrying: Promise<void>;
  private readonly failed: (error: unknown) => void;
  private isOver = false;

  private constructor(held: HeldCluster, segment: LiveSegment, readiness: Readiness, log: Log) {
    this.held = held;
    this.segment = segment;
    this.readiness = readiness;
    this.failed = (error) => log.write("error", "live", { error: messageOf(error) });
    const { session } = held;
    session.followRealTime();
    this.time = new RealTime({
      clock: session.cluster.clock,
      inTurn: (work) => held.inTurn(work),
      failed: this.failed,
    });
    held.afterTurn = () => this.time.arm();
    this.time.arm();
    this.carrying = this.carry().catch(this.failed);
  }

  /** @throws ApiError with what this machine does not allow. */
  static open(held: HeldCluster, live: LiveOptions, log: Log): LiveCluster {
    try {
      const calls = systemCalls();
      const { cluster } = held.session;
      const segment = LiveSegment.open({ cluster, calls, name: held.identity.name, ...live });
      const readiness = new Readiness(calls);
      readiness.add(segment.tap.fd);
      return new LiveCluster(held, segment, readiness, log);
    } catch (error) {
      throw refusal(error);
    }
  }

  get place(): LivePlace {
    return this.segment.place;
  }

  /** Ends it; afterwards nothing of it is on this machine. */
  async close(): Promise<void> {
    this.isOver = true;
    this.held.afterTurn = undefined;
    this.time.stop();
    this.readiness.close();
    await this.carrying;
    this.segment.close();
  }

  /** While the cluster is busy with a question, frames wait in the kernel, and get lost when its queue is full. */
  private async carry(): Promise<void> {
    while ((await this.readiness.wait()) !== undefined) {
      try {
        await this.held.inTurn(() => this.takeBurst());
      } catch (error) {
        if (this.isOver) return;
        // Somebody took the TAP away: nothing will come any more. Anything else is one frame's fault.
        if (error instanceof SystemCallError) throw error;
        this.failed(error);
      }
    }
  }

  private takeBurst(): void {
    if (this.isOver) return;
    this.time.catchUp();
    this.segment.tap.readBurst(BURST_FRAMES);
    this.time.catchUp();
  }
}

/** Takes away what a live cluster left that was killed. */
export function removeLiveLeftovers(name: string): void {
  if (process.platform !== "linux") return;
  try {
    removeLeftNamespace(new SystemCalls(), name);
  } catch (error) {
    // Who may not do this could not have left anything.
    if (!(error instanceof NoForeignCallsError) && tapFailure(error) !== "not-permitted") throw error;
  }
}

/** A running cluster whose segment is real: its time is that of this machine, and frames come and go. */
import type { Log } from "#core/base/log.ts";
import { messageOf } from "#core/base/thrown.ts";
import { formatIp } from "#core/net/ip.ts";
import {
  NoForeignCallsError,
  SystemCallError,
  SystemCalls,
} from "#dataplane/device/linux/system-calls.node.ts";
import { Readiness } from "#dataplane/device/linux/readiness.node.ts";
import { type TapDevice, tapFailure } from "#dataplane/device/linux/tap.node.ts";
import { ApiError } from "../api/error-details.ts";
import type { HeldCluster } from "../api/held-cluster.ts";
import { LiveMachine, removeLeftMachines } from "./live-machine.node.ts";
import { openLivePod } from "./live-pod.node.ts";
import { LiveBridgePort, openLiveHost } from "./live-segment.node.ts";
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
  /** Pods that are to be namespaces of this machine. */
  readonly pods: readonly string[];
}

/** A machine of the cluster that is a namespace of this one. */
export interface LivePlace {
  /** Of a pod; absent: on the segment between the nodes. */
  readonly pod?: string;
  readonly address: string;
  /** As `ip netns` calls it; absent: it has no name. */
  readonly name?: string | undefined;
  /** Of the namespace, for `nsenter --net`. */
  readonly path: string;
}

/** What of a cluster is real, and where. */
export interface LivePlaces {
  /** The TAP on a bridge of the user's, and the bridge. */
  readonly bridge?: { readonly name: string; readonly device: string };
  readonly machines: readonly LivePlace[];
}

function placeOf(machine: LiveMachine, pod?: string): LivePlace {
  const { address, name, path } = machine;
  return { ...(pod === undefined ? {} : { pod }), address: formatIp(address), name, path };
}

type Part = LiveMachine | LiveBridgePort;

/** Everything that is to be real, or nothing of it. */
function openParts(
  held: HeldCluster,
  calls: SystemCalls,
  { bridge, node, pods }: LiveOptions,
): readonly Part[] {
  const { cluster } = held.session;
  const { name } = held.identity;
  const parts: Part[] = [];
  try {
    parts.push(
      bridge === undefined
        ? openLiveHost(cluster, calls, name, node)
        : LiveBridgePort.open(cluster, calls, name, bridge),
    );
    for (const pod of pods) parts.push(openLivePod(cluster, calls, name, pod));
    return parts;
  } catch (error) {
    for (const part of parts) part.close();
    throw error;
  }
}

export class LiveCluster {
  readonly places: LivePlaces;
  private readonly held: HeldCluster;
  private readonly parts: readonly Part[];
  private readonly taps: ReadonlyMap<number, TapDevice>;
  private readonly readiness: Readiness;
  private readonly time: RealTime;
  private readonly carrying: Promise<void>;
  private readonly failed: (error: unknown) => void;
  private isOver = false;

  private constructor(held: HeldCluster, calls: SystemCalls, options: LiveOptions, log: Log) {
    this.held = held;
    this.failed = (error) => log.write("error", "live", { error: messageOf(error) });
    this.parts = openParts(held, calls, options);
    const [first, ...others] = this.parts;
    this.places = {
      ...(options.bridge !== undefined &&
        first !== undefined && { bridge: { name: options.bridge, device: first.tap.name } }),
      machines: [
        ...(first instanceof LiveMachine ? [placeOf(first)] : []),
        ...others.flatMap((part, index) =>
          part instanceof LiveMachine ? placeOf(part, options.pods[index]) : [],
        ),
      ],
    };
    this.taps = new Map(this.parts.map(({ tap }) => [tap.fd, tap]));
    this.readiness = new Readiness(calls);
    for (const fd of this.taps.keys()) this.readiness.add(fd);
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
  static open(held: HeldCluster, options: LiveOptions, log: Log): LiveCluster {
    try {
      return new LiveCluster(held, systemCalls(), options, log);
    } catch (error) {
      throw refusal(error);
    }
  }

  /** Ends it; afterwards nothing of it is on this machine. */
  async close(): Promise<void> {
    this.isOver = true;
    this.held.afterTurn = undefined;
    this.time.stop();
    this.readiness.close();
    await this.carrying;
    for (const part of this.parts) part.close();
  }

  /** While the cluster is busy with a question, frames wait in the kernel, and get lost when its queue is full. */
  private async carry(): Promise<void> {
    for (let ready = await this.readiness.wait(); ready !== undefined; ready = await this.readiness.wait()) {
      const readable = ready;
      try {
        await this.held.inTurn(() => this.takeBursts(readable));
      } catch (error) {
        if (this.isOver) return;
        this.failed(error);
      }
    }
  }

  private takeBursts(readable: readonly number[]): void {
    if (this.isOver) return;
    this.time.catchUp();
    for (const fd of readable) this.takeBurst(fd);
    this.time.catchUp();
  }

  private takeBurst(fd: number): void {
    try {
      this.taps.get(fd)?.readBurst(BURST_FRAMES);
    } catch (error) {
      // Somebody took the TAP away: nothing will come from it any more.
      if (error instanceof SystemCallError) this.readiness.remove(fd);
      throw error;
    }
  }
}

/** Takes away what a live cluster left that was killed. */
export function removeLiveLeftovers(name: string): void {
  if (process.platform !== "linux") return;
  try {
    removeLeftMachines(new SystemCalls(), name);
  } catch (error) {
    // Who may not do this could not have left anything.
    if (!(error instanceof NoForeignCallsError) && tapFailure(error) !== "not-permitted") throw error;
  }
}

/** A running cluster whose segment is real: its time is that of this machine, and frames come and go. */
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { Log } from "#core/base/log.ts";
import { messageOf } from "#core/base/thrown.ts";
import { formatIp } from "#core/net/ip.ts";
import {
  NoForeignCallsError,
  type SystemCallError,
  SystemCalls,
} from "#dataplane/device/linux/system-calls.node.ts";
import { MemoryDevice } from "#dataplane/device/memory-pair.ts";
import { FrameMemory } from "#dataplane/device/linux/frame-memory.ts";
import { PolledExchange } from "#dataplane/device/linux/polled-exchange.node.ts";
import { RingExchange } from "#dataplane/device/linux/ring-exchange.node.ts";
import type { TapExchange, TapGone } from "#dataplane/device/linux/tap-exchange.node.ts";
import { type TapDevice, tapFailure } from "#dataplane/device/linux/tap.node.ts";
import { ApiError } from "../api/error-details.ts";
import type { HeldCluster } from "../api/held-cluster.ts";
import type { ClusterPod } from "../cluster.ts";
import { LiveMachine, resolverText } from "./live-machine.node.ts";
import type { LivePlace, LivePlaces, LiveView } from "./live-places.ts";
import { hcnClientOf } from "../machines/windows-node.ts";
import { findLivePod, nameOfPod, openLivePod } from "./live-pod.node.ts";
import { LiveBridgePort, openLiveHost } from "./live-segment.node.ts";
import { RealTime } from "./real-time.node.ts";
import { RuntimeNamespaces, type RuntimeTap, type TapReader } from "./runtime-namespaces.node.ts";
import type { Workload } from "./workload.node.ts";
import { type BuiltInServer, podsWithWorkloads, startWorkloads } from "./workloads.node.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();
const REFUSED = 400;
/** Why this machine cannot carry real frames, in the words of the user. */
function refusal(error: unknown): unknown {
  const refuse = (code: "live-not-possible" | "live-name-taken", message: string, advice: string): ApiError =>
    new ApiError(REFUSED, code, message, advice);
  if (error instanceof NoForeignCallsError)
    return refuse("live-not-possible", messageOf(error), WORDS.adviceLiveKoffi);
  const reason = tapFailure(error);
  if (reason === undefined) return error;
  const said = messageOf(error);
  if (reason === "no-ipv6") return refuse("live-not-possible", said, WORDS.adviceLiveIpv6);
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
  /** Windows nodes whose HNS serves container runtimes of this machine. */
  readonly runtimes: readonly LiveRuntime[];
}

/** The HNS of a node, and the socket on which plugins of a container runtime find it. */
export interface LiveRuntime {
  readonly node: string;
  readonly socket: string;
}

/** What the starter of a live cluster gives. */
export interface LiveParts extends LiveOptions {
  /** What answers in real pods that have no process of their own; undefined: nothing. */
  readonly server: BuiltInServer | undefined;
}

function placeOf(machine: LiveMachine, pod?: ClusterPod): LivePlace {
  const { addresses, name, path } = machine;
  const [address = "", address6] = addresses.map(formatIp);
  const dns = pod?.compartment.dns;
  return {
    address,
    path,
    ...(address6 === undefined ? {} : { address6 }),
    ...(pod === undefined ? {} : { pod: nameOfPod(pod) }),
    ...(name === undefined ? {} : { name }),
    ...(dns === undefined ? {} : { resolver: resolverText(dns) }),
  };
}

/** The best way to exchange frames that this kernel has. */
function openExchange(calls: SystemCalls, gone: TapGone): TapExchange {
  const memory = new FrameMemory();
  return RingExchange.open(calls, memory, gone) ?? new PolledExchange(calls, memory, gone);
}

/** A pod, and the namespace that it is. */
interface LivePod {
  readonly pod: ClusterPod;
  readonly machine: LiveMachine;
}

interface Opened {
  readonly segment: LiveMachine | LiveBridgePort;
  readonly pods: readonly LivePod[];
}

/** Everything that is to be real, or nothing of it. */
function openParts(held: HeldCluster, calls: SystemCalls, { bridge, node, pods }: LiveOptions): Opened {
  const { cluster } = held.session;
  const { name } = held.identity;
  const wanted = [...pods, ...podsWithWorkloads(cluster)].map((pod) => findLivePod(cluster, pod));
  const segment =
    bridge === undefined
      ? openLiveHost(cluster, calls, name, node)
      : LiveBridgePort.open(cluster, calls, name, bridge);
  const opened: LivePod[] = [];
  try {
    for (const pod of new Set(wanted)) opened.push({ pod, machine: openLivePod(cluster, calls, name, pod) });
    return { segment, pods: opened };
  } catch (error) {
    for (const part of [segment, ...opened.map(({ machine }) => machine)]) part.close();
    throw error;
  }
}

export class LiveCluster implements LiveView, TapReader {
  private readonly held: HeldCluster;
  private readonly opened: Opened;
  private readonly bridge: string | undefined;
  private readonly workloads: readonly Workload[];
  private readonly calls: SystemCalls;
  private readonly runtimes: RuntimeNamespaces[] = [];
  /** Of TAPs in namespaces of container runtimes: where they are. */
  private readonly runtimePaths = new Map<TapDevice, string>();
  private readonly taps: TapExchange;
  private readonly time: RealTime;
  private readonly carrying: Promise<void>;
  private readonly failed: (error: unknown) => void;
  private isOver = false;

  private constructor(held: HeldCluster, calls: SystemCalls, options: LiveParts, log: Log) {
    this.held = held;
    this.calls = calls;
    this.bridge = options.bridge;
    this.failed = (error) => log.write("error", "live", { error: messageOf(error) });
    this.opened = openParts(held, calls, options);
    this.taps = openExchange(calls, (tap, error) => this.failed(this.goneError(tap, error)));
    if (this.taps.cost === "thread") log.write("warn", "live", { text: WORDS.liveWaitsByThread });
    else if (this.taps.cost === "single") log.write("warn", "live", { text: WORDS.liveFramesOneByOne });
    for (const { tap } of this.parts) this.taps.add(tap);
    const { session } = held;
    for (const cable of session.cluster.underlay.segment.listDevices().values())
      if (cable instanceof MemoryDevice) cable.joinFrames();
    session.followRealTime();
    this.time = new RealTime({
      clock: session.cluster.clock,
      inTurn: (work) => held.inTurn(work),
      failed: this.failed,
    });
    held.afterTurn = () => this.time.arm();
    this.time.arm();
    this.carrying = new Promise((resolve) => {
      this.carry(resolve);
    });
    this.workloads = this.opened.pods.flatMap(({ pod, machine }) =>
      startWorkloads(session.cluster, pod, machine.path, options.server),
    );
    held.live = this;
  }

  /**
   * Makes it real; resolves when the servers of its pods serve, or have ended.
   * @throws ApiError with what this machine does not allow.
   */
  static async open(held: HeldCluster, options: LiveParts, log: Log): Promise<LiveCluster> {
    try {
      const live = new LiveCluster(held, systemCalls(), options, log);
      await Promise.all(live.workloads.map(({ ready }) => ready));
      return live;
    } catch (error) {
      throw refusal(error);
    }
  }

  get places(): LivePlaces {
    const { segment, pods } = this.opened;
    return {
      ...(this.bridge !== undefined && { bridge: { name: this.bridge, device: segment.tap.name } }),
      machines: [
        ...(segment instanceof LiveMachine ? [placeOf(segment)] : []),
        ...pods.map(({ pod, machine }) => placeOf(machine, pod)),
      ],
      workloads: this.workloads.map(({ state }) => state),
    };
  }

  /**
   * HNS of a Windows node for plugins: what they attach to a namespace of this machine is real.
   * @throws ApiError for a node that has no HNS.
   */
  runtimeOf(name: string): HcnClient {
    const { nodes } = this.held.session.cluster;
    const node = nodes.find(({ spec }) => spec.name === name);
    if (node?.hns === undefined) {
      const windows = nodes.filter(({ hns }) => hns !== undefined).map(({ spec }) => spec.name);
      const message = `${JSON.stringify(name)} is not a Windows node of the cluster`;
      throw new ApiError(REFUSED, "bad-usage", message, `Windows nodes: ${windows.join(", ") || "none"}.`);
    }
    const { held, calls } = this;
    const runtime = new RuntimeNamespaces({ held, calls, node, client: hcnClientOf(node), reader: this });
    this.runtimes.push(runtime);
    return runtime;
  }

  addTap({ tap, path }: RuntimeTap): void {
    this.runtimePaths.set(tap, path);
    this.taps.add(tap);
  }

  removeTap(tap: TapDevice): void {
    this.runtimePaths.delete(tap);
    this.taps.remove(tap);
  }

  logOf(pod: string): string | undefined {
    const logs = this.workloads.filter((workload) => workload.pod === pod).map(({ log }) => log);
    return logs.length === 0 ? undefined : logs.join("");
  }

  /** Ends it; afterwards nothing of it is on this machine. */
  async close(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.workloads.map((workload) => workload.close()));
    for (const runtime of this.runtimes) runtime.detachAll();
    this.held.live = undefined;
    this.held.afterTurn = undefined;
    this.time.stop();
    this.taps.close();
    await this.carrying;
    for (const part of this.parts) part.close();
  }

  private get parts(): readonly (LiveMachine | LiveBridgePort)[] {
    return [this.opened.segment, ...this.opened.pods.map(({ machine }) => machine)];
  }

  /** Carries one burst after the other until the exchange is closed. */
  private carry(ended: () => void): void {
    const goOn = (): void => this.carry(ended);
    const failed = (error: unknown): void => {
      if (!this.isOver) this.failed(error);
    };
    this.taps.wait((isOpen) => {
      if (!isOpen) return ended();
      if (this.exchangeNow(failed)) return goOn();
      // While the cluster is busy with a question, frames wait in the kernel, and get lost when its queue is full.
      void this.held
        .inTurn(() => this.exchange())
        .catch(failed)
        .then(goOn);
    });
  }

  /** A promise would be kept later by as much as a frame takes. @returns false: somebody else has a turn. */
  private exchangeNow(failed: (error: unknown) => void): boolean {
    try {
      return this.held.inTurnNow(() => this.exchange());
    } catch (error) {
      failed(error);
      return true;
    }
  }

  private exchange(): void {
    if (this.isOver) return;
    this.time.catchUp();
    this.taps.exchange(() => this.time.catchUp());
  }

  /** Somebody took a TAP away, or its namespace: nothing will come from it any more. */
  private goneError(tap: TapDevice, error: SystemCallError): Error {
    const pod = this.opened.pods.find(({ machine }) => machine.tap === tap)?.pod;
    const place = this.runtimePaths.get(tap) ?? this.opened.segment.tap.name;
    const name = pod === undefined ? place : `pod ${nameOfPod(pod)}`;
    return new Error(`${WORDS.liveInterfaceGone({ name })}: ${error.message}`, { cause: error });
  }
}

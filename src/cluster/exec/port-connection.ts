/**
 * A connection to a port of a pod as the container runtime makes it for `kubectl port-forward`. containerd 2 on Windows connects from the
 * node to the pod's address, so that the packets pass the pod's port (internal/cri/server/sandbox_portforward_windows.go;
 * containerd/containerd#9679); on Linux it connects to localhost inside the pod's network namespace
 * (sandbox_portforward_linux.go). Runtimes of before run `wincat.exe` of the
 * pause image in the pod, which connects to 127.0.0.1 there (build/pause/windows/wincat of kubernetes; windows-networking-documentation.md §9.11). A pod of the node's own network is reached at the node's localhost.
 */
import { type Ip, type Ipv4, formatIp } from "#core/net/ip.ts";
import { SOCKET_FAILURE_TEXTS } from "#dataplane/host/delivery-failure.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { TcpCloseReason, TcpConnection, TcpOwner } from "#dataplane/host/tcp/tcp-connection.ts";
import type { PodAnswer, PodConnection } from "#control-plane/http/pod-access.ts";
import type { Turns } from "../api/held-cluster.ts";
import type { Cluster, ClusterPod } from "../cluster.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const LOOPBACK = 0x7f00_0001 as Ipv4;
/** Longer than a stack tries to connect, or to have bytes acknowledged. */
const PATIENCE_MS = 300_000;
/** On the clock of the world: an answer that has not begun by then comes with the next bytes. Longer than an acknowledgement is held back. */
const QUIET_MS = 500;

/** What a port said, for who asks later. */
class Answers implements TcpOwner {
  isConnected = false;
  isFinished = false;
  reason: TcpCloseReason | undefined;
  private parts: Uint8Array[] = [];

  tcpConnected(): void {
    this.isConnected = true;
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    this.parts.push(bytes);
  }

  tcpPeerFinished(): void {
    this.isFinished = true;
  }

  tcpClosed(_connection: TcpConnection, reason: TcpCloseReason): void {
    this.isFinished = true;
    this.reason = reason;
  }

  get partCount(): number {
    return this.parts.length;
  }

  take(): readonly Uint8Array[] {
    const { parts } = this;
    this.parts = [];
    return parts;
  }
}

interface Place {
  readonly compartment: Compartment;
  readonly destination: Ip;
  /** What the runtime says in front of why it could not connect. */
  readonly attempt: (port: number) => string;
}

function placeOf(pod: ClusterPod): Place {
  const { spec, node, compartment, address } = pod;
  if (spec.network === "host")
    return { compartment: node.host.root, destination: LOOPBACK, attempt: (port) => `localhost:${port}` };
  if (compartment.profile.os === "linux")
    return { compartment, destination: LOOPBACK, attempt: (port) => `localhost:${port}` };
  if (node.spec.portForward !== "connect")
    return { compartment, destination: LOOPBACK, attempt: (port) => `127.0.0.1:${port}` };
  const text = formatIp(address);
  return { compartment: node.host.root, destination: address, attempt: (port) => `${text}:${port}` };
}

/** Inferred: the pod is named where containerd writes the id of its sandbox. Go's words for how a connection ended, on each system. */
function whyNot(place: Place, reason: TcpCloseReason | undefined): string {
  const isWindows = place.compartment.profile.os === "windows";
  if (reason === "refused") return isWindows ? WORDS.connectionRefusedWindows : "connect: connection refused";
  return isWindows ? WORDS.connectionTimedOutWindows : "connect: connection timed out";
}

class HeldConnection implements PodConnection {
  private readonly cluster: Cluster;
  private readonly turns: Turns;
  private readonly pod: ClusterPod;
  private readonly connection: TcpConnection;
  private readonly answers: Answers;

  constructor(options: {
    readonly cluster: Cluster;
    readonly turns: Turns;
    readonly pod: ClusterPod;
    readonly connection: TcpConnection;
    readonly answers: Answers;
  }) {
    this.cluster = options.cluster;
    this.turns = options.turns;
    this.pod = options.pod;
    this.connection = options.connection;
    this.answers = options.answers;
  }

  readonly exchange = async (bytes: Uint8Array, isLast: boolean): Promise<PodAnswer> =>
    this.turns.take(() => {
      // A compartment that goes takes its sockets along and tells nobody.
      if (!this.cluster.pods.includes(this.pod))
        return { bytes: this.answers.take(), isFinished: true, failure: WORDS.portForwardPodGone };
      if (bytes.length > 0) this.give(bytes);
      if (isLast) this.connection.close();
      if (bytes.length > 0 || isLast) this.settle();
      const { isFinished, reason } = this.answers;
      const isBroken = reason === "reset" || reason === "timed-out" || reason === "unreachable";
      const failure = isBroken ? WORDS.portForwardConnectionEnded({ reason }) : undefined;
      return { bytes: this.answers.take(), isFinished, failure };
    });

  readonly close = async (): Promise<void> =>
    this.turns.take(() => {
      if (!this.cluster.pods.includes(this.pod)) return;
      // A client that is gone reads no more.
      if (this.answers.isFinished) this.connection.close();
      else this.connection.abort();
      this.settle();
    });

  /** Bytes wait in the stack until the pod has taken them. */
  private give(bytes: Uint8Array): void {
    // The stack keeps what it is given, and these bytes stand in the client's message.
    if (!this.connection.send(bytes.slice())) return;
    const endMs = this.cluster.clock.nowMs + PATIENCE_MS;
    while (this.connection.pendingBytes > 0 && !this.isOver && this.cluster.clock.nowMs < endMs)
      if (!this.cluster.clock.step()) return;
  }

  private get isOver(): boolean {
    return this.answers.reason !== undefined;
  }

  /** Lets time pass while the pod answers. */
  private settle(): void {
    const { clock } = this.cluster;
    for (let count = -1; count !== this.answers.partCount; ) {
      count = this.answers.partCount;
      if (this.answers.isFinished) return;
      const endMs = clock.nowMs + QUIET_MS;
      for (let at = clock.nextAtMs(); at !== undefined && at <= endMs; at = clock.nextAtMs()) clock.step();
    }
  }
}

/** Connects in the cluster itself. @returns why it cannot, as containerd says it. */
export function connectToPod(
  cluster: Cluster,
  turns: Turns,
  pod: ClusterPod,
  port: number,
): PodConnection | string {
  const { os, portForward } = pod.node.spec;
  if (os === "windows" && portForward === "without-wincat") return WORDS.portForwardWithoutWincat;
  const answers = new Answers();
  const place = placeOf(pod);
  const { compartment, destination } = place;
  const to = place.attempt(port);
  const connection = compartment.tcp.connect({ destination, port, owner: answers });
  if (typeof connection === "string")
    return WORDS.portForwardRefused({ to, pod: pod.spec.name, why: SOCKET_FAILURE_TEXTS[connection] });
  const endMs = cluster.clock.nowMs + PATIENCE_MS;
  while (!answers.isConnected && answers.reason === undefined && cluster.clock.nowMs < endMs)
    if (!cluster.clock.step()) break;
  if (!answers.isConnected)
    return WORDS.portForwardRefused({ to, pod: pod.spec.name, why: whyNot(place, answers.reason) });
  return new HeldConnection({ cluster, turns, pod, connection, answers });
}

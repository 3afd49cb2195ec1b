/**
 * Clients that make one attempt and keep its result as a value: what the connectivity matrix and traces are made of.
 * A followed probe gives its first packet tag 1; what answers it has tag 2.
 */
import { assert } from "#core/base/assert.ts";
import type { Task, Timer } from "#core/base/clock.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { Compartment } from "../compartment.ts";
import {
  type DeliveryFailure,
  FAILURE_TEXTS,
  SOCKET_FAILURE_TEXTS,
  type SocketFailure,
} from "../delivery-failure.ts";
import type { EchoOwner, EchoReply, EchoRequest } from "./echo-request.ts";
import { decodeAscii, encodeAscii } from "../services/ascii.ts";
import type { TcpConnection, TcpCloseReason, TcpOwner } from "../tcp/tcp-connection.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../udp.ts";

/** How one attempt ended. */
export type ProbeResult =
  /** `rttMs`: from the start to the whole answer, on the clock of the world. */
  | { readonly outcome: "answered"; readonly answer: string; readonly rttMs: number }
  | {
      /**
       * `refused`: the host is there and nobody serves. `timed-out`: nobody said anything. `unreachable`: a router or
       * the own stack said why not.
       */
      readonly outcome: "refused" | "timed-out" | "unreachable";
      /** One clause without a full stop. */
      readonly detail: string;
    };

/** A client object that makes one attempt. */
export interface Probe {
  /** Undefined while the attempt runs. */
  readonly result: ProbeResult | undefined;
  /** Begins the attempt; call it once. */
  start(): void;
}

/** Is told when a probe has its result. */
export interface ProbeOwner {
  probeEnded(probe: Probe): void;
}

/** The result for a report about a packet of the probe. */
function failureResult(failure: DeliveryFailure): ProbeResult {
  const reporter = failure.reporter === undefined ? "this host" : formatIp(failure.reporter);
  const detail = `${FAILURE_TEXTS[failure.reason]}, says ${reporter}`;
  const isRefusal = failure.reason === "port-unreachable" || failure.reason === "protocol-unreachable";
  return { outcome: isRefusal ? "refused" : "unreachable", detail };
}

/** The result when the own stack refused to send. */
function socketResult(failure: SocketFailure): ProbeResult {
  return { outcome: "unreachable", detail: SOCKET_FAILURE_TEXTS[failure] };
}

export interface ProbeOptions {
  /** Who asks. */
  readonly compartment: Compartment;
  readonly destination: Ip;
  /** Default: chosen by the route. */
  readonly source?: Ip;
  /** How long the whole attempt may take. Defaults: TCP 10 000, UDP 5 000, echo 4 000 (as Windows' `ping`). */
  readonly timeoutMs?: number;
  /** Gives the first packet tag 1. Default false. */
  readonly isFollowed?: boolean;
  readonly owner?: ProbeOwner;
}

export interface PortProbeOptions extends ProbeOptions {
  readonly port: number;
  /** Default: a port of the system's ephemeral range. */
  readonly sourcePort?: number;
  /** What a TCP probe says. Default a line. */
  readonly question?: string;
  /** The SID of the user who connects; see `TcpConnectOptions.user`. */
  readonly user?: string;
}

const TCP_TIMEOUT_MS = 10_000;
/** Longer than ARP takes to give up, so that a missing host is named. */
const UDP_TIMEOUT_MS = 5_000;
const ECHO_TIMEOUT_MS = 4_000;
const UDP_INTERVAL_MS = 1_000;
/** What the identification server waits for; any server of lines takes it. */
const QUESTION = "hello\n";
const ANSWER_BYTES_MAX = 4_096;

/** The part that all attempts share: when they began, the deadline, the result. */
abstract class Attempt implements Probe, Task {
  result: ProbeResult | undefined;
  protected readonly options: ProbeOptions;
  protected startedAtMs = 0;
  private readonly timeoutMs: number;
  private deadline: Timer | undefined;

  constructor(options: ProbeOptions, timeoutMs: number) {
    this.options = options;
    this.timeoutMs = options.timeoutMs ?? timeoutMs;
  }

  start(): void {
    assert(this.deadline === undefined && this.result === undefined, "a probe starts once");
    this.startedAtMs = this.options.compartment.nowMs;
    this.deadline = this.options.compartment.env.clock.schedule(this.timeoutMs, this);
    this.begin();
  }

  /** The deadline passed. */
  run(): void {
    this.end(this.timeOutResult());
  }

  protected abstract begin(): void;

  /** Lets go of the socket. */
  protected abstract release(): void;

  protected timeOutResult(): ProbeResult {
    return { outcome: "timed-out", detail: `no answer within ${this.timeoutMs} ms` };
  }

  /** Keeps the first result; later ones are ignored. */
  protected end(result: ProbeResult): void {
    if (this.result !== undefined) return;
    this.result = result;
    if (this.deadline !== undefined) this.options.compartment.env.clock.cancel(this.deadline);
    this.deadline = undefined;
    this.release();
    this.options.owner?.probeEnded(this);
  }

  protected endAnswered(answer: string): void {
    this.end({ outcome: "answered", answer, rttMs: this.options.compartment.nowMs - this.startedAtMs });
  }
}

/** Connects, sends a line, reads until the server closes or ends its line, closes. */
export class TcpProbe extends Attempt implements TcpOwner {
  protected override readonly options: PortProbeOptions;
  private connection: TcpConnection | undefined;
  private answer = "";

  constructor(options: PortProbeOptions) {
    super(options, TCP_TIMEOUT_MS);
    this.options = options;
  }

  tcpConnected(connection: TcpConnection): void {
    connection.send(this.question());
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    const answer = this.readAnswer(bytes);
    if (answer !== undefined) this.endAnswered(answer);
  }

  /** What is sent. */
  protected question(): Uint8Array {
    return encodeAscii(this.options.question ?? QUESTION);
  }

  /** The answer in words, once it is whole. */
  protected readAnswer(bytes: Uint8Array): string | undefined {
    if (this.answer.length + bytes.length <= ANSWER_BYTES_MAX) this.answer += decodeAscii(bytes);
    return this.answer.includes("\n") ? this.answer : undefined;
  }

  tcpPeerFinished(connection: TcpConnection): void {
    if (this.answer !== "") this.endAnswered(this.answer);
    connection.close();
  }

  tcpClosed(connection: TcpConnection, reason: TcpCloseReason): void {
    const failure = connection.lastFailure;
    if (failure !== undefined && (reason === "unreachable" || reason === "refused")) {
      this.end(failureResult(failure));
      return;
    }
    const details: Readonly<Record<TcpCloseReason, string>> = {
      finished: "the peer closed the connection without an answer",
      refused: "connection refused: nothing listens on the port",
      "timed-out": "the connection timed out",
      reset: "the peer reset the connection",
      unreachable: "the destination cannot be reached",
      aborted: "the connection was ended here",
    };
    const isSilence = reason === "timed-out" || reason === "unreachable";
    this.end({ outcome: isSilence ? "timed-out" : "refused", detail: details[reason] });
  }

  protected begin(): void {
    const { compartment, destination, port, source, sourcePort, isFollowed, user } = this.options;
    const connection = compartment.tcp.connect({
      destination,
      port,
      owner: this,
      tag: isFollowed === true ? 1 : 0,
      ...(source === undefined ? {} : { source }),
      ...(sourcePort === undefined ? {} : { sourcePort }),
      ...(user === undefined ? {} : { user }),
    });
    if (typeof connection === "string") this.end(socketResult(connection));
    else this.connection = connection;
  }

  protected release(): void {
    if (this.result?.outcome === "answered") this.connection?.close();
    else this.connection?.abort();
  }

  /** What the network reported meanwhile explains the silence. */
  protected override timeOutResult(): ProbeResult {
    const failure = this.connection?.lastFailure;
    return failure === undefined ? super.timeOutResult() : failureResult(failure);
  }
}

/** Sends a datagram, again each second, and waits for the first answer. */
export class UdpProbe extends Attempt implements UdpOwner {
  protected override readonly options: PortProbeOptions;
  private socket: UdpSocket | undefined;
  private readonly repeat = new UdpRepeat(this);

  constructor(options: PortProbeOptions) {
    super(options, UDP_TIMEOUT_MS);
    this.options = options;
  }

  udpReceived(_socket: UdpSocket, datagram: UdpDatagram): void {
    // Only who was asked may answer, as with a connected socket.
    if (datagram.source !== this.options.destination || datagram.sourcePort !== this.options.port) return;
    const answer = this.readAnswer(datagram.bytes);
    if (answer !== undefined) this.endAnswered(answer);
  }

  /** What is sent. */
  protected question(): Uint8Array {
    return encodeAscii(QUESTION);
  }

  /** The answer in words; undefined for bytes that are none. */
  protected readAnswer(bytes: Uint8Array): string | undefined {
    return decodeAscii(bytes.subarray(0, ANSWER_BYTES_MAX));
  }

  udpFailed(_socket: UdpSocket, failure: DeliveryFailure): void {
    this.end(failureResult(failure));
  }

  /** Called by the timer: sends once more. */
  sendAgain(): void {
    this.send(false);
  }

  protected begin(): void {
    const { compartment, source, sourcePort } = this.options;
    const socket = compartment.udp.bind({
      owner: this,
      ...(source === undefined ? {} : { ip: source }),
      ...(sourcePort === undefined ? {} : { port: sourcePort }),
    });
    if (typeof socket === "string") {
      this.end(socketResult(socket));
      return;
    }
    this.socket = socket;
    this.send(this.options.isFollowed === true);
  }

  protected release(): void {
    this.repeat.stop(this.options.compartment);
    this.socket?.close();
  }

  private send(isFollowed: boolean): void {
    const { compartment, destination, port } = this.options;
    const failure = this.socket?.send({
      destination,
      port,
      bytes: this.question(),
      tag: isFollowed ? 1 : 0,
    });
    if (failure !== undefined) this.end(socketResult(failure));
    else this.repeat.schedule(compartment);
  }
}

/** The timer between two datagrams of a `UdpProbe`. */
class UdpRepeat implements Task {
  private readonly probe: UdpProbe;
  private timer: Timer | undefined;

  constructor(probe: UdpProbe) {
    this.probe = probe;
  }

  run(): void {
    this.timer = undefined;
    this.probe.sendAgain();
  }

  schedule(compartment: Compartment): void {
    this.timer = compartment.env.clock.schedule(UDP_INTERVAL_MS, this);
  }

  stop(compartment: Compartment): void {
    if (this.timer !== undefined) compartment.env.clock.cancel(this.timer);
    this.timer = undefined;
  }
}

/** Sends one ICMP echo request. */
export class EchoProbe extends Attempt implements EchoOwner {
  private request: EchoRequest | undefined;

  constructor(options: ProbeOptions) {
    super(options, ECHO_TIMEOUT_MS);
  }

  echoAnswered(_request: EchoRequest, reply: EchoReply): void {
    this.endAnswered(`echo reply from ${formatIp(reply.source)}, TTL ${reply.ttl}`);
  }

  echoFailed(_request: EchoRequest, failure: DeliveryFailure): void {
    this.end(failureResult(failure));
  }

  protected begin(): void {
    const { compartment, destination, source, isFollowed } = this.options;
    const request = compartment.icmp.echo({
      destination,
      owner: this,
      tag: isFollowed === true ? 1 : 0,
      ...(source === undefined ? {} : { source }),
    });
    if (typeof request === "string") this.end(socketResult(request));
    else this.request = request;
  }

  protected release(): void {
    this.request?.cancel();
  }
}

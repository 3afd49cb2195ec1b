/**
 * One TCP connection: the states of RFC 9293 §3.3.2 and what each does with a segment (§3.10.7). What is sent when is
 * `TcpSender`'s, the order of what arrives `ReceiveSequence`'s.
 */
import type { Task, Timer } from "#core/base/clock.ts";
import type { PacketTag } from "#core/base/recorder.ts";
import { type Ip, familyOf } from "#core/net/ip.ts";
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import type { DeliveryFailure } from "../delivery-failure.ts";
import { RoundTripEstimator, KeepAlive, type KeepAliveOwner } from "./tcp-timers.ts";
import type { TcpProfile } from "../stack-profile.ts";
import type { Stack } from "../stack.ts";
import { TcpNegotiation, sackOptionBytes } from "./tcp-negotiation.ts";
import {
  type Ends,
  type SegmentFields,
  type TcpSegment,
  ReceiveSequence,
  addSequence,
  isAfter,
  isBefore,
  sequenceDistance,
  hasFlag,
} from "./tcp-segment.ts";
import { type SegmentSink, TcpSender } from "./tcp-sender.ts";

/** How a connection ended. */
export type TcpCloseReason =
  /** Both sides finished. */
  | "finished"
  /** Nobody listens on the port. */
  | "refused"
  /** Nobody answered. */
  | "timed-out"
  /** The peer ended it in the middle. */
  | "reset"
  /** The network said that the peer cannot be reached; see `TcpConnection.lastFailure`. */
  | "unreachable"
  /** This side ended it in the middle. */
  | "aborted";

/** Gets what happens to a connection. */
export interface TcpOwner {
  /** The handshake is done; data may be sent (they may be given before, too). */
  tcpConnected(connection: TcpConnection): void;
  /** Bytes of the peer, in order and without gaps. The owner may keep them. */
  tcpData(connection: TcpConnection, bytes: Uint8Array): void;
  /** The peer sends no more. This side may go on, until it calls `close`. */
  tcpPeerFinished(connection: TcpConnection): void;
  /** Nothing follows. It is the only report of a connection attempt that failed. */
  tcpClosed(connection: TcpConnection, reason: TcpCloseReason): void;
}

/** Gets the connections of a listener, each when its handshake is done. */
export interface TcpAcceptor {
  /** @returns who owns the connection from now on; its `tcpConnected` follows at once. */
  tcpAccepted(connection: TcpConnection): TcpOwner;
}

/** The states of RFC 9293 §3.3.2; LISTEN is `TcpListener`'s. */
export type TcpState =
  | "syn-sent"
  | "syn-received"
  | "established"
  | "fin-wait-1"
  | "fin-wait-2"
  | "close-wait"
  | "closing"
  | "last-ack"
  | "time-wait"
  | "closed";

/** How long a side that finished waits for the peer to finish, too; both systems give up at some time. */
const FINISH_WAIT_MS = 60_000;
/** IP and TCP headers without options. */
const HEADERS_BYTES: Readonly<Record<4 | 6, number>> = Object.freeze({ 4: 40, 6: 60 });
/** Full segments that may arrive before one must be acknowledged (RFC 9293 §3.8.6.3). */
const SEGMENTS_PER_ACK = 2;
/** At most one answer to segments that fit nowhere in this time. */
const SPARING_INTERVAL_MS = 500;
const NO_BYTES = new Uint8Array(0);

/** What a new connection is given. */
export interface TcpConnectionOptions {
  readonly localIp: Ip;
  readonly localPort: number;
  readonly remoteIp: Ip;
  readonly remotePort: number;
  /** MTU of the interface towards the peer. */
  readonly mtuBytes: number;
  readonly initialSequence: number;
  /** Added to the clock in timestamps. */
  readonly timestampOffset: number;
  /** Of the first segment. */
  readonly tag: PacketTag;
}

/** Sends an acknowledgement that was held back. */
class DelayedAck implements Task {
  timer: Timer | undefined;
  private readonly connection: TcpConnection;

  constructor(connection: TcpConnection) {
    this.connection = connection;
  }

  run(): void {
    this.timer = undefined;
    this.connection.acknowledgeNow();
  }
}

/** The stack's TCP as a connection uses it. */
interface SegmentSender {
  readonly compartment: Stack;
  emit(ends: Ends, fields: SegmentFields, payload: Uint8Array, tag: PacketTag): boolean;
  pathMtu(ends: Ends): number;
  reset(segment: TcpSegment): void;
  forget(connection: TcpConnection): void;
}

/** The port that a connection is being taken on. */
export interface Handshakes {
  /** The handshake is done. @returns who owns the connection. */
  accept(connection: TcpConnection): TcpOwner;
  /** The handshake failed. */
  abandon(): void;
}

export class TcpConnection implements Task, SegmentSink, KeepAliveOwner {
  readonly localIp: Ip;
  readonly localPort: number;
  readonly remoteIp: Ip;
  readonly remotePort: number;
  /** The last thing that the network reported about packets of this connection. */
  lastFailure: DeliveryFailure | undefined;
  private currentState: TcpState = "closed";
  private owner: TcpOwner | undefined;
  private listener: Handshakes | undefined;
  private readonly tcp: SegmentSender;
  private readonly profile: TcpProfile;
  private readonly initialSequence: number;
  /** Of this end: payload and options that fit a packet of the interface. */
  private readonly ownMss: number;
  private readonly negotiation: TcpNegotiation;
  private readonly sender: TcpSender;
  private readonly estimator: RoundTripEstimator;
  private receive = new ReceiveSequence(0);
  private readonly delayedAck = new DelayedAck(this);
  private keepAlive: KeepAlive | undefined;
  private unacknowledgedSegments = 0;
  private sparedAtMs = Number.NEGATIVE_INFINITY;
  /** Of the handshake, of FIN-WAIT-2 and of TIME-WAIT; the sender has its own. */
  private timer: Timer | undefined;
  private handshakeTries = 0;
  private refusals = 0;
  /** The next SYN follows a refusal, not silence. */
  private isAskingAgain = false;
  private synSentAtMs = 0;
  private nextTag: PacketTag;
  private isCloseAsked = false;
  private isReported = false;
  /** It was taken with a SYN that a trace follows. */
  isFollowed = false;

  /** Made by `Tcp` only. */
  constructor(tcp: SegmentSender, options: TcpConnectionOptions) {
    this.tcp = tcp;
    this.profile = tcp.compartment.profile.tcp;
    this.localIp = options.localIp;
    this.localPort = options.localPort;
    this.remoteIp = options.remoteIp;
    this.remotePort = options.remotePort;
    this.ownMss = options.mtuBytes - HEADERS_BYTES[familyOf(options.remoteIp)];
    this.negotiation = new TcpNegotiation(this.profile, this.ownMss, options.timestampOffset);
    this.initialSequence = options.initialSequence;
    this.nextTag = options.tag;
    this.estimator = new RoundTripEstimator(this.profile);
    this.sender = this.newSender();
  }

  get state(): TcpState {
    return this.currentState;
  }

  /** The sequence number after the last one that the peer sent and that arrived in order. */
  get receivedEnd(): number {
    return this.receive.next;
  }

  /** Bytes that were given to `send` and are not acknowledged yet. */
  get pendingBytes(): number {
    return this.sender.pendingBytes;
  }

  /** Sends bytes; before the handshake they wait. @returns false when they do not fit the buffer or after `close`. */
  send(bytes: Uint8Array): boolean {
    if (this.isCloseAsked || this.currentState === "closed" || !this.sender.append(bytes)) return false;
    if (this.isSynchronized()) this.sender.pump();
    return true;
  }

  /** Ends this side's stream after what was sent; the peer's stream goes on until it ends, too. */
  close(): void {
    if (this.isCloseAsked) return;
    this.isCloseAsked = true;
    if (this.currentState === "syn-sent") this.end("aborted");
    else if (this.currentState === "established") this.startFinish("fin-wait-1");
    else if (this.currentState === "close-wait") this.startFinish("last-ack");
  }

  /** Ends the connection at once; the peer gets a reset. */
  abort(): void {
    if (this.currentState === "closed" || this.currentState === "time-wait") return;
    if (this.currentState !== "syn-sent") {
      const segment = {
        sequence: this.sender.next,
        acknowledgment: this.receive.next,
        flags: TcpFlag.rst | TcpFlag.ack,
      };
      this.tcp.emit(this, { ...segment, window: 0, options: [] }, NO_BYTES, this.takeTag());
    }
    this.end("aborted");
  }

  /** SO_KEEPALIVE. Off at first. */
  setKeepAlive(isOn: boolean): void {
    this.keepAlive?.stop();
    const { clock } = this.tcp.compartment.env;
    this.keepAlive =
      isOn && this.currentState !== "closed" ? new KeepAlive(this, clock, this.profile.keepAlive) : undefined;
  }

  /** A segment that the peer has had already: it answers where it is. */
  probe(): void {
    if (this.isSynchronized()) this.emitSegment(addSequence(this.sender.next, -1), 0, NO_BYTES);
  }

  peerIsSilent(): void {
    this.end("timed-out");
  }

  /** Formats both ends: `10.0.0.11:49152 to 10.0.0.12:80`. */
  describe(): string {
    const local = formatSocketAddress(this.localIp, this.localPort);
    return `${local} to ${formatSocketAddress(this.remoteIp, this.remotePort)}`;
  }

  /** Called by `Tcp.connect`: sends SYN. */
  open(owner: TcpOwner): void {
    this.owner = owner;
    this.currentState = "syn-sent";
    this.sendSyn();
  }

  /** Called by `TcpListener`: takes a SYN and answers it. */
  accept(listener: Handshakes, segment: TcpSegment): void {
    this.listener = listener;
    this.currentState = "syn-received";
    this.isFollowed = this.tcp.compartment.answerTag === 2;
    this.takeSyn(segment);
    this.sendSyn();
  }

  /** Called when the compartment goes: nothing is sent and nothing reported. */
  discard(): void {
    this.isReported = true;
    this.end("aborted");
  }

  /** Takes a segment that belongs to this connection. */
  take(segment: TcpSegment): void {
    this.keepAlive?.heard();
    if (this.currentState === "syn-sent") this.takeInSynSent(segment);
    else if (this.currentState !== "closed") this.takeSynchronized(segment);
  }

  /** A packet of this connection with that sequence number did not arrive. */
  fail(failure: DeliveryFailure, sequence: number): void {
    const isOurs = !isBefore(sequence, this.sender.unacknowledged) || sequence === this.initialSequence;
    if (!isOurs || isAfter(sequence, this.sender.highest)) return;
    if (failure.reason === "fragmentation-needed") {
      this.sender.limitSegment(this.pathSegmentBytes());
      return;
    }
    this.lastFailure = failure;
    if (this.isSynchronized()) return;
    const isRefusal = failure.reason === "port-unreachable" || failure.reason === "protocol-unreachable";
    if (isRefusal) this.end("refused");
    else if (this.profile.isUnreachableFinal) this.end("unreachable");
  }

  /** The timer of the current state ran out. */
  run(): void {
    this.timer = undefined;
    if (!this.isSynchronized()) this.retryHandshake();
    else this.end(this.currentState === "fin-wait-2" ? "timed-out" : "finished");
  }

  emitSegment(sequence: number, flags: number, payload: Uint8Array): void {
    const fields = {
      sequence,
      acknowledgment: this.receive.next,
      flags: flags | TcpFlag.ack | this.negotiation.segmentFlags(),
      window: this.negotiation.windowBytes >>> this.negotiation.receiveScale,
      options: this.negotiation.segmentOptions(
        this.tcp.compartment.nowMs,
        this.receive.takeSackBlocks(this.negotiation.sackBlocksMax),
      ),
    };
    this.unacknowledgedSegments = 0;
    this.stopDelayedAck();
    if (!this.tcp.emit(this, fields, payload, this.takeTag()))
      this.sender.limitSegment(this.pathSegmentBytes());
  }

  /** What the next segment says of what came out of order. */
  get extraOptionBytes(): number {
    return sackOptionBytes(Math.min(this.receive.sackCount, this.negotiation.sackBlocksMax));
  }

  retransmissionsFailed(): void {
    this.end(this.lastFailure === undefined ? "timed-out" : "unreachable");
  }

  /** Sends an empty acknowledgement. */
  acknowledgeNow(): void {
    this.emitSegment(this.sender.highest, 0, NO_BYTES);
  }

  private newSender(): TcpSender {
    return new TcpSender({
      sink: this,
      clock: this.tcp.compartment.env.clock,
      estimator: this.estimator,
      start: addSequence(this.initialSequence, 1),
      segmentBytes: this.ownMss,
      initialWindowSegments: this.profile.initialWindowSegments,
      retriesMax: this.profile.dataRetries,
      nagle: this.profile.nagle,
    });
  }

  // The handshake.

  private sendSyn(): void {
    const isAnswer = this.currentState === "syn-received";
    const flags =
      TcpFlag.syn |
      (isAnswer ? TcpFlag.ack : 0) |
      this.negotiation.synFlags(isAnswer, this.handshakeTries > 0);
    const acknowledgment = isAnswer ? this.receive.next : 0;
    const fields = { sequence: this.initialSequence, acknowledgment, flags };
    this.synSentAtMs = this.tcp.compartment.nowMs;
    this.timer = this.schedule(this.estimator.timeoutMs);
    const syn = this.negotiation.synFields(isAnswer, this.tcp.compartment.nowMs);
    this.tcp.emit(this, { ...fields, ...syn }, NO_BYTES, this.takeTag());
  }

  private retryHandshake(): void {
    const triesMax = this.currentState === "syn-sent" ? this.profile.synRetries : this.profile.synAckRetries;
    if (this.handshakeTries >= triesMax) {
      this.retransmissionsFailed();
      return;
    }
    if (!this.isAskingAgain) {
      this.handshakeTries++;
      this.estimator.backOffOnce();
    }
    this.isAskingAgain = false;
    this.sendSyn();
  }

  /** Takes what the peer's SYN says. */
  private takeSyn(segment: TcpSegment): void {
    const peerMss = this.negotiation.takeSyn(segment);
    this.receive = new ReceiveSequence(addSequence(segment.sequence, 1));
    const segmentBytes = Math.min(peerMss - this.negotiation.optionBytes, this.pathSegmentBytes());
    this.sender.begin(segmentBytes, this.negotiation.usesSack);
    this.sender.setWindow(segment.sequence, segment.acknowledgment, segment.window);
  }

  private takeInSynSent(segment: TcpSegment): void {
    const hasAck = hasFlag(segment, TcpFlag.ack);
    if (hasAck && segment.acknowledgment !== addSequence(this.initialSequence, 1)) {
      if (!hasFlag(segment, TcpFlag.rst)) this.tcp.reset(segment);
      return;
    }
    if (hasFlag(segment, TcpFlag.rst)) {
      if (hasAck) this.takeRefusal();
      return;
    }
    if (!hasFlag(segment, TcpFlag.syn)) return;
    this.takeSyn(segment);
    this.stopTimer();
    if (!hasAck) {
      // Both sides opened at once (RFC 9293 §3.5, figure 7).
      this.currentState = "syn-received";
      this.sendSyn();
      return;
    }
    if (this.handshakeTries === 0) this.estimator.measure(this.tcp.compartment.nowMs - this.synSentAtMs);
    this.establish();
  }

  /** Microsoft KB 175523: Windows asks again before it believes that no program listens. */
  private takeRefusal(): void {
    this.stopTimer();
    if (this.refusals >= this.profile.refusedRetries) {
      this.end("refused");
      return;
    }
    this.refusals++;
    this.isAskingAgain = true;
    this.timer = this.schedule(this.profile.refusedRetryMs);
  }

  private establish(): void {
    this.currentState = "established";
    if (this.listener === undefined) this.acknowledgeNow();
    else this.owner = this.listener.accept(this);
    this.owner?.tcpConnected(this);
    if (this.currentState !== "established") return;
    if (this.isCloseAsked) this.startFinish("fin-wait-1");
    else this.sender.pump();
  }

  // Segments of a synchronized connection, in the order of RFC 9293 §3.10.7.4.

  private takeSynchronized(segment: TcpSegment): void {
    if (!this.isAcceptable(segment)) {
      if (!hasFlag(segment, TcpFlag.rst)) this.acknowledgeUnacceptable(segment);
      else if (this.endsWithFinish(segment)) this.end("reset");
      return;
    }
    if (hasFlag(segment, TcpFlag.rst)) {
      this.takeReset(segment);
      return;
    }
    if (hasFlag(segment, TcpFlag.syn)) {
      this.takeLateSyn(segment);
      return;
    }
    if (this.currentState === "time-wait" && this.isLinux && segment.length > 0) {
      this.acknowledgeSparingly();
      if (hasFlag(segment, TcpFlag.ack)) this.startTimeWait();
      return;
    }
    if (!hasFlag(segment, TcpFlag.ack) || !this.takeAcknowledgment(segment)) return;
    this.negotiation.takeSegment(segment, this.receive.next);
    this.takePayload(segment);
    this.afterSegment();
  }

  private get isLinux(): boolean {
    return this.profile.lateSegments === "linux";
  }

  private takeLateSyn(segment: TcpSegment): void {
    if (this.currentState === "syn-received" && this.listener !== undefined) {
      // RFC 9293 §3.10.7.4: back to LISTEN.
      if (this.isLinux) this.tcp.reset(segment);
      this.end("refused");
      return;
    }
    // RFC 5961 §4: no host may end a connection with a guess; a real peer answers with a reset.
    this.acknowledgeSparingly();
  }

  /** Some systems send a FIN and then a reset with the same number. */
  private endsWithFinish({ sequence }: TcpSegment): boolean {
    const hasFinished = ["close-wait", "closing", "last-ack"].includes(this.currentState);
    return this.isLinux && hasFinished && addSequence(sequence, 1) === this.receive.next;
  }

  private isAcceptable(segment: TcpSegment): boolean {
    if (this.negotiation.isOldDuplicate(segment)) return false;
    const offset = sequenceDistance(segment.sequence, this.receive.next);
    const window = this.negotiation.windowBytes;
    const end = offset + segment.length - 1;
    if (segment.length === 0) return offset >= 0 && offset < window;
    return (offset >= 0 && offset < window) || (end >= 0 && end < window);
  }

  private acknowledgeUnacceptable(segment: TcpSegment): void {
    const isSyn = hasFlag(segment, TcpFlag.syn);
    const isFirst = !hasFlag(segment, TcpFlag.ack) && addSequence(segment.sequence, 1) === this.receive.next;
    if (this.currentState === "syn-received" && isSyn && isFirst) {
      // The peer did not get the SYN/ACK.
      this.stopTimer();
      this.sendSyn();
      return;
    }
    if (!isSyn) this.receive.noteOld(segment.sequence, segment.length);
    // Data that came again mean a lost acknowledgement; anything else is answered sparingly.
    if (segment.length > 0 && !isSyn) this.acknowledgeNow();
    else this.acknowledgeSparingly();
    // A FIN that comes again starts TIME-WAIT anew.
    if (this.currentState === "time-wait" && hasFlag(segment, TcpFlag.fin)) this.startTimeWait();
  }

  private takeReset(segment: TcpSegment): void {
    // RFC 5961 §3: only the exact number ends the connection.
    if (segment.sequence !== this.receive.next) {
      if (this.currentState !== "time-wait" || !this.isLinux) this.acknowledgeSparingly();
      return;
    }
    if (this.currentState === "syn-received") this.end("refused");
    else this.end(this.currentState === "time-wait" ? "finished" : "reset");
  }

  /** @returns false when the segment ends here. */
  private takeAcknowledgment(segment: TcpSegment): boolean {
    const { acknowledgment } = segment;
    if (this.currentState === "syn-received") {
      if (acknowledgment !== addSequence(this.initialSequence, 1)) {
        this.tcp.reset(segment);
        return false;
      }
      this.stopTimer();
      if (this.handshakeTries === 0) this.estimator.measure(this.tcp.compartment.nowMs - this.synSentAtMs);
      this.sender.setWindow(segment.sequence, acknowledgment, segment.window << this.negotiation.sendScale);
      this.establish();
      return this.isSynchronized();
    }
    if (isAfter(acknowledgment, this.sender.highest)) {
      this.acknowledgeSparingly();
      return false;
    }
    if (isBefore(acknowledgment, this.sender.unacknowledged)) {
      if (!this.sender.isTooOld(acknowledgment)) return true;
      this.acknowledgeSparingly();
      return false;
    }
    this.sender.acknowledge({
      acknowledgment,
      sequence: segment.sequence,
      windowBytes: segment.window << this.negotiation.sendScale,
      isPure: segment.length === 0,
      sacked: this.negotiation.sackedBy(segment),
    });
    return true;
  }

  private takePayload(segment: TcpSegment): void {
    if (!this.isReceiving()) return;
    if (segment.length === 0) return;
    const isFinal = hasFlag(segment, TcpFlag.fin);
    // RFC 5681 §4.2: also what fills a gap is acknowledged at once.
    const { hasGap } = this.receive;
    const ready = this.receive.accept(segment.sequence, segment.payload, isFinal);
    const { isFinished } = this.receive;
    if (!isFinished) this.oweAcknowledgement(hasGap || ready.length === 0 || this.receive.hasGap);
    // The owner may end the connection at any piece.
    for (const bytes of ready) if (this.isReceiving()) this.owner?.tcpData(this, bytes);
    if (isFinished && this.isReceiving()) this.takeFinish();
  }

  private takeFinish(): void {
    if (this.currentState === "established") this.currentState = "close-wait";
    this.acknowledgeNow();
    this.owner?.tcpPeerFinished(this);
    if (!this.isReceiving()) return;
    if (this.sender.isFinishAcknowledged) this.startTimeWait();
    else this.currentState = "closing";
  }

  /** Moves on when our FIN was acknowledged. */
  private afterSegment(): void {
    if (!this.sender.isFinishAcknowledged) return;
    if (this.currentState === "closing") this.startTimeWait();
    else if (this.currentState === "last-ack") this.end("finished");
    else if (this.currentState === "fin-wait-1") {
      this.currentState = "fin-wait-2";
      this.timer = this.schedule(FINISH_WAIT_MS);
    }
  }

  // The end.

  private startFinish(state: "fin-wait-1" | "last-ack"): void {
    this.currentState = state;
    this.sender.finish();
    this.sender.pump();
  }

  private startTimeWait(): void {
    this.currentState = "time-wait";
    this.stopTimer();
    this.sender.close();
    this.timer = this.schedule(this.profile.timeWaitMs);
    this.report("finished");
  }

  /** Leaves the table; reports `reason` unless the end was reported before. */
  private end(reason: TcpCloseReason): void {
    if (this.currentState === "closed") return;
    this.currentState = "closed";
    this.stopTimer();
    this.stopDelayedAck();
    this.keepAlive?.stop();
    this.keepAlive = undefined;
    this.sender.close();
    this.tcp.forget(this);
    this.report(reason);
  }

  private report(reason: TcpCloseReason): void {
    if (this.isReported) return;
    this.isReported = true;
    if (this.owner === undefined) this.listener?.abandon();
    else this.owner.tcpClosed(this, reason);
  }

  // Small things.

  /** Two ends that disagree would answer each other without end (RFC 5961 §7; Linux' tcp_invalid_ratelimit). */
  private acknowledgeSparingly(): void {
    const nowMs = this.tcp.compartment.nowMs;
    if (nowMs - this.sparedAtMs < SPARING_INTERVAL_MS) return;
    this.sparedAtMs = nowMs;
    this.acknowledgeNow();
  }

  private isSynchronized(): boolean {
    return !(
      this.currentState === "syn-sent" ||
      this.currentState === "syn-received" ||
      this.currentState === "closed"
    );
  }

  private isReceiving(): boolean {
    return (
      this.currentState === "established" ||
      this.currentState === "fin-wait-1" ||
      this.currentState === "fin-wait-2"
    );
  }

  private oweAcknowledgement(isUrgent: boolean): void {
    this.unacknowledgedSegments++;
    if (isUrgent || this.unacknowledgedSegments >= SEGMENTS_PER_ACK) this.acknowledgeNow();
    else
      this.delayedAck.timer ??= this.tcp.compartment.env.clock.schedule(
        this.profile.delayedAckMs,
        this.delayedAck,
      );
  }

  /** Payload of a segment that fits the path. */
  private pathSegmentBytes(): number {
    const mtuBytes = Math.min(this.tcp.pathMtu(this), this.ownMss + HEADERS_BYTES[familyOf(this.remoteIp)]);
    return mtuBytes - HEADERS_BYTES[familyOf(this.remoteIp)] - this.negotiation.optionBytes;
  }

  /** The tag of the next segment: the one that was asked for goes to the first. */
  private takeTag(): PacketTag {
    const tag = this.nextTag === 0 ? this.tcp.compartment.answerTag : this.nextTag;
    this.nextTag = 0;
    return tag;
  }

  private schedule(afterMs: number): Timer {
    this.stopTimer();
    return this.tcp.compartment.env.clock.schedule(afterMs, this);
  }

  private stopTimer(): void {
    if (this.timer !== undefined) this.tcp.compartment.env.clock.cancel(this.timer);
    this.timer = undefined;
  }

  private stopDelayedAck(): void {
    if (this.delayedAck.timer !== undefined) this.tcp.compartment.env.clock.cancel(this.delayedAck.timer);
    this.delayedAck.timer = undefined;
  }
}

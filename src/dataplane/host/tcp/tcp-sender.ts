/**
 * The sending half of an established TCP connection: what is under way, what may follow, what must be sent again
 * (RFC 9293 §3.8, RFC 5681, RFC 6298). The handshake is the connection's own.
 */
import type { Clock, Task, Timer } from "#core/base/clock.ts";
import { LIMITS } from "#core/base/limits.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import type { RoundTripEstimator } from "./tcp-timers.ts";
import type { SackBlock } from "#core/wire/tcp-options.ts";
import { Scoreboard } from "./tcp-scoreboard.ts";
import { addSequence, isAfter, isBefore, sequenceDistance } from "./tcp-segment.ts";
import { assert } from "#core/base/assert.ts";
import type { Nagle } from "../stack-profile.ts";

/** The connection, as its sending half sees it. */
export interface SegmentSink {
  /** Sends a segment with the flag ACK and the flags given. */
  emitSegment(sequence: number, flags: number, payload: Uint8Array): void;
  /** Bytes of options that the next segment has beside the usual ones. */
  readonly extraOptionBytes: number;
  /** Nothing was acknowledged after as many tries as the system makes. */
  retransmissionsFailed(): void;
}

export interface TcpSenderOptions {
  readonly sink: SegmentSink;
  readonly clock: Clock;
  readonly estimator: RoundTripEstimator;
  /** The first sequence number after the SYN. */
  readonly start: number;
  /** Payload of a full segment until `begin` says better. */
  readonly segmentBytes: number;
  readonly initialWindowSegments: number;
  readonly retriesMax: number;
  readonly nagle: Nagle;
}

/** What an acknowledgement says besides its number. */
export interface Acknowledgement {
  readonly acknowledgment: number;
  readonly sequence: number;
  /** The peer's window in bytes, scaled. */
  readonly windowBytes: number;
  /** Carries neither data nor FIN. */
  readonly isPure: boolean;
  /** What the peer has out of order. */
  readonly sacked: readonly SackBlock[];
}

const NO_BYTES = new Uint8Array(0);

export class TcpSender implements Task {
  /** The first sequence number that is not acknowledged. */
  unacknowledged: number;
  /** The next sequence number to send; it goes back when segments must be sent again. */
  next: number;
  /** One after the highest sequence number that was ever sent. */
  highest: number;
  private segmentBytes: number;
  private readonly sink: SegmentSink;
  private readonly clock: Clock;
  private readonly estimator: RoundTripEstimator;
  private readonly retriesMax: number;
  private readonly buffer = new SendBuffer();
  private readonly initialWindowSegments: number;
  private congestion: CongestionWindow;
  private isFinishing = false;
  private isFinishSent = false;
  private windowBytes = 0;
  /** Sequence and acknowledgement of the segment that last set the window (RFC 9293 §3.10.7.4). */
  private windowSequence = 0;
  private windowAcknowledgment = 0;
  /** The largest window that the peer has offered. */
  private windowMaxBytes = 0;
  /** Bytes that were acknowledged since the connection began. */
  private acknowledgedBytes = 0;
  private readonly nagle: Nagle;
  /** The end of the last small segment that was sent. */
  private smallEnd: number | undefined;
  private usesSack = false;
  private readonly scoreboard = new Scoreboard();
  private retries = 0;
  private timer: Timer | undefined;
  /** The segment whose round trip is measured: its end, and when it was sent. */
  private timedEnd: number | undefined;
  private timedAtMs = 0;

  constructor(options: TcpSenderOptions) {
    this.sink = options.sink;
    this.clock = options.clock;
    this.estimator = options.estimator;
    this.retriesMax = options.retriesMax;
    this.nagle = options.nagle;
    this.segmentBytes = options.segmentBytes;
    this.initialWindowSegments = options.initialWindowSegments;
    this.congestion = new CongestionWindow(options.segmentBytes, options.initialWindowSegments);
    this.unacknowledged = options.start;
    this.next = options.start;
    this.highest = options.start;
  }

  /** Bytes that are not acknowledged yet, sent or not. */
  get pendingBytes(): number {
    return this.buffer.length;
  }

  /** True when the FIN was sent and acknowledged. */
  get isFinishAcknowledged(): boolean {
    return this.isFinishSent && this.unacknowledged === this.highest;
  }

  /** Starts anew with the segment size that both ends agreed on. */
  begin(segmentBytes: number, usesSack: boolean): void {
    this.segmentBytes = segmentBytes;
    this.usesSack = usesSack;
    this.congestion = new CongestionWindow(segmentBytes, this.initialWindowSegments);
  }

  /** Takes the window of the peer's SYN or of the segment that ended the handshake. */
  setWindow(sequence: number, acknowledgment: number, windowBytes: number): void {
    this.windowBytes = windowBytes;
    this.windowMaxBytes = Math.max(this.windowMaxBytes, windowBytes);
    this.windowSequence = sequence;
    this.windowAcknowledgment = acknowledgment;
  }

  /** Takes bytes to send. @returns false when the buffer has no room; nothing was taken. */
  append(bytes: Uint8Array): boolean {
    if (this.isFinishing || this.buffer.length + bytes.length > LIMITS.tcpSendBufferBytesMax) return false;
    this.buffer.append(bytes);
    return true;
  }

  /** Sends FIN after everything that was appended. */
  finish(): void {
    this.isFinishing = true;
  }

  /**
   * True for an acknowledgement that no segment of the peer in flight can carry: somebody guesses (RFC 5961 §5). Older
   * than the connection is no real one, either (net/ipv4/tcp_input.c, tcp_ack).
   */
  isTooOld(acknowledgment: number): boolean {
    const window = Math.min(this.windowMaxBytes, this.acknowledgedBytes);
    return isBefore(acknowledgment, addSequence(this.unacknowledged, -window));
  }

  /** Sends what the windows allow. */
  pump(): void {
    if (this.isSelective) this.recover();
    else while (this.sendOne(this.congestion.bytes - this.flightAt(this.next)));
    this.updateTimer();
  }

  /** Takes an acknowledgement that lies between `unacknowledged` and `highest`. */
  acknowledge(segment: Acknowledgement): void {
    const { acknowledgment } = segment;
    const isNew = isAfter(acknowledgment, this.unacknowledged);
    const isDuplicate =
      acknowledgment === this.unacknowledged &&
      segment.isPure &&
      // The answer to a probe of a closed window is no sign of loss.
      segment.windowBytes > 0 &&
      segment.windowBytes === this.windowBytes &&
      this.unacknowledged !== this.highest;
    this.updateWindow(segment);
    const isNews = this.usesSack && this.scoreboard.take(segment.sacked, acknowledgment, this.highest);
    if (isNew) this.takeAcknowledged(acknowledgment);
    if (this.usesSack) this.findLoss(!isNew && (isDuplicate || isNews));
    else if (isDuplicate && this.congestion.duplicate(this.flightBytes(), this.highest)) this.resendFirst();
    // Any answer shows that the peer is there: a closed window is probed without end (RFC 9293 §3.8.6.1).
    this.retries = 0;
    this.pump();
  }

  /** A path takes only IP packets of `mtuBytes`: segments get smaller, and what is under way is sent again. */
  limitSegment(segmentBytes: number): void {
    if (segmentBytes >= this.segmentBytes || segmentBytes <= 0) return;
    this.segmentBytes = segmentBytes;
    if (this.unacknowledged === this.highest) return;
    this.next = this.unacknowledged;
    this.timedEnd = undefined;
    this.congestion.stopRecovery();
    this.pump();
  }

  /** Stops the timer for good. */
  close(): void {
    if (this.timer !== undefined) this.clock.cancel(this.timer);
    this.timer = undefined;
  }

  /** The retransmission timer ran out. */
  run(): void {
    this.timer = undefined;
    if (this.retries >= this.retriesMax) {
      this.sink.retransmissionsFailed();
      return;
    }
    this.retries++;
    this.estimator.backOffOnce();
    this.timedEnd = undefined;
    if (this.windowBytes === 0) {
      this.probeWindow();
    } else {
      this.congestion.timeOut(this.flightBytes(), this.highest);
      this.scoreboard.clear();
      this.next = this.unacknowledged;
    }
    this.pump();
  }

  /** Sends the next segment of at most `allowed` bytes. @returns false when there is none or no window for it. */
  private sendOne(allowed: number): boolean {
    if (this.isFinishAcknowledged) return false;
    const isRepeated = isBefore(this.next, this.highest);
    if (isRepeated && this.usesSack) this.next = this.scoreboard.skip(this.next);
    const flight = this.flightAt(this.next);
    const available = this.buffer.length - flight;
    const room = Math.min(this.windowBytes - flight, allowed);
    const fullBytes = Math.max(1, this.segmentBytes - this.sink.extraOptionBytes);
    const count = Math.min(available, fullBytes, room, isRepeated ? this.scoreboard.roomAt(this.next) : room);
    const isLast = count === available;
    if (available < 0 || count < 0) return false;
    if (count === 0) {
      if (!this.isFinishing || available !== 0 || room < 0) return false;
      this.emit(0, true);
      return true;
    }
    // Nagle and silly window avoidance: a small segment waits while others are under way.
    const isSmall = count < fullBytes;
    if (isSmall && !isRepeated && !(isLast && this.isFinishing) && this.isSmallHeld(isLast)) return false;
    if (isSmall && !isRepeated) this.smallEnd = addSequence(this.next, count);
    this.emit(count, isLast && this.isFinishing);
    return true;
  }

  /** `isLast`: it is small because nothing follows yet, not for want of a window. */
  private isSmallHeld(isLast: boolean): boolean {
    if (this.flightAt(this.next) === 0) return false;
    if (this.nagle === "any" || !isLast) return true;
    return this.smallEnd !== undefined && isAfter(this.smallEnd, this.unacknowledged);
  }

  private emit(count: number, isFinal: boolean): void {
    const offset = sequenceDistance(this.next, this.unacknowledged);
    const payload = count === 0 ? NO_BYTES : new Uint8Array(count);
    this.buffer.read(offset, payload);
    const sequence = this.next;
    const isLast = offset + count === this.buffer.length;
    const flags = (isLast && count > 0 ? TcpFlag.psh : 0) | (isFinal ? TcpFlag.fin : 0);
    this.next = addSequence(sequence, count + (isFinal ? 1 : 0));
    if (isFinal) this.isFinishSent = true;
    if (isAfter(this.next, this.highest)) {
      this.highest = this.next;
      if (this.timedEnd === undefined) {
        this.timedEnd = this.next;
        this.timedAtMs = this.clock.nowMs;
      }
    }
    this.sink.emitSegment(sequence, flags, payload);
  }

  /** Sends the first unacknowledged segment again, and nothing else. */
  private resendFirst(): void {
    this.resend(this.unacknowledged, this.segmentBytes);
  }

  /** Sends a segment of at most `bytesMax` again. @returns where it ends. */
  private resend(sequence: number, bytesMax: number): number {
    this.timedEnd = undefined;
    const { next } = this;
    const offset = this.flightAt(sequence);
    const fullBytes = Math.max(1, this.segmentBytes - this.sink.extraOptionBytes);
    const count = Math.min(this.buffer.length - offset, fullBytes, bytesMax);
    this.next = sequence;
    this.emit(count, this.isFinishSent && offset + count === this.buffer.length);
    const end = this.next;
    if (isAfter(next, end)) this.next = next;
    return end;
  }

  /** True while loss is repaired by what the peer reports. */
  private get isSelective(): boolean {
    return this.usesSack && this.congestion.isRecovering;
  }

  /** Begins a recovery when enough was reported behind the first hole (RFC 6675 §5). */
  private findLoss(isDuplicate: boolean): void {
    const { congestion, scoreboard, unacknowledged, highest } = this;
    if (isDuplicate) congestion.countDuplicate();
    if (unacknowledged === highest || !congestion.mayRecover(unacknowledged)) return;
    if (!congestion.hasEnoughDuplicates && !scoreboard.isLost(unacknowledged, this.segmentBytes)) return;
    congestion.recover(this.flightBytes(), highest);
    scoreboard.resentEnd = unacknowledged;
    scoreboard.resentEnd = this.resend(unacknowledged, scoreboard.roomAt(unacknowledged));
  }

  /** Fills what the congestion window has left: lost parts, then new ones, then those that may be lost. */
  private recover(): void {
    const { scoreboard, congestion } = this;
    for (;;) {
      const pipe = scoreboard.pipe(this.unacknowledged, this.highest, this.segmentBytes);
      if (congestion.bytes - pipe < this.segmentBytes) return;
      const lost = scoreboard.nextHole(this.unacknowledged, this.segmentBytes, true);
      if (lost === undefined && this.next === this.highest && this.sendOne(this.segmentBytes)) continue;
      const hole = lost ?? scoreboard.nextHole(this.unacknowledged, this.segmentBytes, false);
      if (hole === undefined) return;
      scoreboard.resentEnd = this.resend(hole.sequence, hole.length);
    }
  }

  /** One byte into a closed window makes the peer say whether it has opened. */
  private probeWindow(): void {
    if (this.buffer.length === 0) return;
    const next = this.next;
    this.next = this.unacknowledged;
    this.emit(1, false);
    this.next = next;
  }

  private takeAcknowledged(acknowledgment: number): void {
    const count = sequenceDistance(acknowledgment, this.unacknowledged);
    this.buffer.discard(Math.min(count, this.buffer.length));
    this.unacknowledged = acknowledgment;
    this.acknowledgedBytes += count;
    this.scoreboard.forget(acknowledgment);
    if (isBefore(this.next, acknowledgment)) this.next = acknowledgment;
    if (this.timedEnd !== undefined && !isBefore(acknowledgment, this.timedEnd)) {
      this.estimator.measure(this.clock.nowMs - this.timedAtMs);
      this.timedEnd = undefined;
    }
    this.estimator.resetBackOff();
    if (this.congestion.acknowledge(count, acknowledgment) && !this.usesSack) this.resendFirst();
    // The time-out counts from the last progress (RFC 6298 §5.3).
    this.close();
  }

  private updateWindow(segment: Acknowledgement): void {
    const isNewer =
      isBefore(this.windowSequence, segment.sequence) ||
      (this.windowSequence === segment.sequence &&
        !isAfter(this.windowAcknowledgment, segment.acknowledgment));
    if (isNewer) this.setWindow(segment.sequence, segment.acknowledgment, segment.windowBytes);
  }

  /** Bytes under way before `sequence`. */
  private flightAt(sequence: number): number {
    return sequenceDistance(sequence, this.unacknowledged);
  }

  private flightBytes(): number {
    return sequenceDistance(this.highest, this.unacknowledged);
  }

  private updateTimer(): void {
    const isWaiting = this.unacknowledged !== this.highest || this.buffer.length > 0;
    if (!isWaiting) this.close();
    else this.timer ??= this.clock.schedule(this.estimator.timeoutMs, this);
  }
}

/** Bytes that a TCP connection has been given and that the peer has not acknowledged. */
export class SendBuffer {
  private readonly chunks: Uint8Array[] = [];
  /** Bytes of the first chunk that are acknowledged already. */
  private skipped = 0;
  private count = 0;

  /** Bytes held. */
  get length(): number {
    return this.count;
  }

  /** Takes a copy of `bytes`. */
  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.chunks.push(bytes.slice());
    this.count += bytes.length;
  }

  /** Copies `target.length` bytes that begin `offset` bytes after the first one held. */
  read(offset: number, target: Uint8Array): void {
    assert(offset + target.length <= this.count, "a read stays inside the send buffer");
    let position = offset + this.skipped;
    let written = 0;
    for (const chunk of this.chunks) {
      if (written === target.length) return;
      if (position >= chunk.length) {
        position -= chunk.length;
        continue;
      }
      const piece = chunk.subarray(position, position + target.length - written);
      target.set(piece, written);
      written += piece.length;
      position = 0;
    }
  }

  /** Forgets the first `count` bytes: they are acknowledged. */
  discard(count: number): void {
    assert(count <= this.count, "only held bytes are discarded");
    this.count -= count;
    this.skipped += count;
    for (
      let first = this.chunks[0];
      first !== undefined && this.skipped >= first.length;
      first = this.chunks[0]
    ) {
      this.skipped -= first.length;
      this.chunks.shift();
    }
  }
}

const DUPLICATES_BEFORE_RETRANSMIT = 3;

/**
 * How much one TCP connection may have under way: slow start, congestion avoidance, fast retransmit and recovery
 * (RFC 5681, RFC 6582). Counts are in bytes. Neither system's own algorithm (CUBIC) is copied.
 */
export class CongestionWindow {
  bytes: number;
  private readonly segmentBytes: number;
  private thresholdBytes = Number.MAX_SAFE_INTEGER;
  private duplicates = 0;
  isRecovering = false;
  /** The highest sequence number that was sent when the last recovery began, or the timer ran out. */
  private recoveryEnd: number | undefined;

  constructor(segmentBytes: number, initialSegments: number) {
    this.segmentBytes = segmentBytes;
    this.bytes = segmentBytes * initialSegments;
  }

  /**
   * New data were acknowledged up to `acknowledged`, `count` bytes of them.
   * @returns true when the next missing segment must be sent again at once (a partial acknowledgement).
   */
  acknowledge(count: number, acknowledged: number): boolean {
    this.duplicates = 0;
    if (this.isRecovering) {
      if (!this.mayRecover(acknowledged)) return true;
      this.isRecovering = false;
      this.bytes = this.thresholdBytes;
      return false;
    }
    const step = this.bytes < this.thresholdBytes ? Math.min(count, this.segmentBytes) : this.avoidanceStep();
    this.bytes += step;
    return false;
  }

  /**
   * An acknowledgement said nothing new while data were under way.
   * @returns true when the first unacknowledged segment must be sent again at once.
   */
  duplicate(flightBytes: number, sendEnd: number): boolean {
    this.duplicates++;
    if (this.isRecovering) {
      this.bytes += this.segmentBytes;
      return false;
    }
    if (this.duplicates !== DUPLICATES_BEFORE_RETRANSMIT) return false;
    this.halve(flightBytes);
    this.bytes = this.thresholdBytes + DUPLICATES_BEFORE_RETRANSMIT * this.segmentBytes;
    this.isRecovering = true;
    this.recoveryEnd = sendEnd;
    return true;
  }

  /** With selective acknowledgements: one that says nothing new of the order. */
  countDuplicate(): void {
    this.duplicates++;
  }

  get hasEnoughDuplicates(): boolean {
    return this.duplicates >= DUPLICATES_BEFORE_RETRANSMIT;
  }

  /** True when all that was under way in the last recovery is acknowledged. */
  mayRecover(unacknowledged: number): boolean {
    return this.recoveryEnd === undefined || ((unacknowledged - this.recoveryEnd) | 0) >= 0;
  }

  /** With selective acknowledgements: something is lost (RFC 6675 §5, step 4). */
  recover(flightBytes: number, sendEnd: number): void {
    this.halve(flightBytes);
    this.bytes = this.thresholdBytes;
    this.isRecovering = true;
    this.recoveryEnd = sendEnd;
  }

  /** What was under way is sent again for another reason. */
  stopRecovery(): void {
    if (this.isRecovering) this.bytes = this.thresholdBytes;
    this.isRecovering = false;
  }

  /** The retransmission timer ran out: back to slow start. */
  timeOut(flightBytes: number, sendEnd: number): void {
    this.recoveryEnd = sendEnd;
    this.halve(flightBytes);
    this.bytes = this.segmentBytes;
    this.isRecovering = false;
    this.duplicates = 0;
  }

  private halve(flightBytes: number): void {
    this.thresholdBytes = Math.max(Math.floor(flightBytes / 2), 2 * this.segmentBytes);
  }

  private avoidanceStep(): number {
    return Math.max(1, Math.floor((this.segmentBytes * this.segmentBytes) / this.bytes));
  }
}

/**
 * The sending half of an established TCP connection: what is under way, what may follow, what must be sent again
 * (RFC 9293 §3.8, RFC 5681, RFC 6298). The handshake is the connection's own.
 */
import type { Clock, Task, Timer } from "#core/base/clock.ts";
import { LIMITS } from "#core/base/limits.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import type { RoundTripEstimator } from "./tcp-timers.ts";
import { addSequence, isAfter, isBefore, sequenceDistance } from "./tcp-sequence.ts";
import { assert } from "#core/base/assert.ts";

/** The connection, as its sending half sees it. */
export interface SegmentSink {
  /** Sends a segment with the flag ACK and the flags given. */
  emitSegment(sequence: number, flags: number, payload: Uint8Array): void;
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
}

/** What an acknowledgement says besides its number. */
export interface Acknowledgement {
  readonly acknowledgment: number;
  readonly sequence: number;
  /** The peer's window in bytes, scaled. */
  readonly windowBytes: number;
  /** Carries neither data nor FIN. */
  readonly isPure: boolean;
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
  begin(segmentBytes: number): void {
    this.segmentBytes = segmentBytes;
    this.congestion = new CongestionWindow(segmentBytes, this.initialWindowSegments);
  }

  /** Takes the window of the peer's SYN or of the segment that ended the handshake. */
  setWindow(sequence: number, acknowledgment: number, windowBytes: number): void {
    this.windowBytes = windowBytes;
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

  /** Sends what the windows allow. */
  pump(): void {
    while (this.sendOne());
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
    if (isNew) this.takeAcknowledged(acknowledgment);
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
      this.congestion.timeOut(this.flightBytes());
      this.next = this.unacknowledged;
    }
    this.pump();
  }

  /** Sends the next segment. @returns false when there is none or no window for it. */
  private sendOne(): boolean {
    if (this.isFinishAcknowledged) return false;
    const flight = sequenceDistance(this.next, this.unacknowledged);
    const available = this.buffer.length - flight;
    const room = Math.min(this.windowBytes, this.congestion.bytes) - flight;
    const count = Math.min(available, this.segmentBytes, room);
    const isLast = count === available;
    if (available < 0 || count < 0) return false;
    if (count === 0) {
      if (!this.isFinishing || available !== 0 || room < 0) return false;
      this.emit(0, true);
      return true;
    }
    const isRepeated = isBefore(this.next, this.highest);
    // Nagle (RFC 9293 §3.7.4) and silly window avoidance: a small segment waits while others are under way.
    if (count < this.segmentBytes && flight > 0 && !isRepeated && !(isLast && this.isFinishing)) return false;
    this.emit(count, isLast && this.isFinishing);
    return true;
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
    this.timedEnd = undefined;
    const next = this.next;
    this.next = this.unacknowledged;
    const count = Math.min(this.buffer.length, this.segmentBytes);
    this.emit(count, this.isFinishSent && count === this.buffer.length);
    if (isAfter(next, this.next)) this.next = next;
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
    if (isBefore(this.next, acknowledgment)) this.next = acknowledgment;
    if (this.timedEnd !== undefined && !isBefore(acknowledgment, this.timedEnd)) {
      this.estimator.measure(this.clock.nowMs - this.timedAtMs);
      this.timedEnd = undefined;
    }
    this.estimator.resetBackOff();
    if (this.congestion.acknowledge(count, acknowledgment)) this.resendFirst();
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
  private isRecovering = false;
  /** The highest sequence number that was sent when the recovery began. */
  private recoveryEnd = 0;

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
      if (((acknowledged - this.recoveryEnd) | 0) < 0) return true;
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

  /** The retransmission timer ran out: back to slow start. */
  timeOut(flightBytes: number): void {
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

/**
 * How much one TCP connection may have under way: slow start, congestion avoidance, fast retransmit and recovery
 * (RFC 5681, RFC 6582). Counts are in bytes. Neither system's own algorithm (CUBIC) is copied.
 */

const DUPLICATES_BEFORE_RETRANSMIT = 3;

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

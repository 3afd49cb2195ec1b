/** The retransmission time-out of one TCP connection (RFC 6298). All times in milliseconds. */

/** The part of the TCP profile that bounds the time-out. */
export interface RetransmissionBounds {
  readonly retransmissionInitialMs: number;
  readonly retransmissionMinMs: number;
  readonly retransmissionMaxMs: number;
}

export class RoundTripEstimator {
  private readonly bounds: RetransmissionBounds;
  private smoothedMs: number | undefined;
  private variationMs = 0;
  private baseMs: number;
  private backOff = 1;

  constructor(bounds: RetransmissionBounds) {
    this.bounds = bounds;
    this.baseMs = bounds.retransmissionInitialMs;
  }

  /** How long to wait for an acknowledgement now. */
  get timeoutMs(): number {
    return Math.min(this.baseMs * this.backOff, this.bounds.retransmissionMaxMs);
  }

  /** Takes the round trip of a segment that was sent once (Karn's rule: never of one that was sent again). */
  measure(roundTripMs: number): void {
    if (this.smoothedMs === undefined) {
      this.smoothedMs = roundTripMs;
      this.variationMs = roundTripMs / 2;
    } else {
      this.variationMs = 0.75 * this.variationMs + 0.25 * Math.abs(this.smoothedMs - roundTripMs);
      this.smoothedMs = 0.875 * this.smoothedMs + 0.125 * roundTripMs;
    }
    this.baseMs = Math.max(this.smoothedMs + 4 * this.variationMs, this.bounds.retransmissionMinMs);
    this.backOff = 1;
  }

  /** Doubles the time-out after it passed without an acknowledgement. */
  backOffOnce(): void {
    if (this.timeoutMs < this.bounds.retransmissionMaxMs) this.backOff *= 2;
  }

  /** Ends the back-off: new data were acknowledged. */
  resetBackOff(): void {
    this.backOff = 1;
  }
}

/** When one TCP connection sends unasked: its retransmission time-out, and its keep-alives. All times in milliseconds. */
import type { Clock, Task, Timer } from "#core/base/clock.ts";
import type { KeepAliveProfile } from "../stack-profile.ts";

/** The part of the TCP profile that bounds the time-out. */
export interface RetransmissionBounds {
  readonly retransmissionInitialMs: number;
  readonly retransmissionMinMs: number;
  readonly retransmissionMaxMs: number;
}

/** The retransmission time-out (RFC 6298). */
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

/** What a keep-alive does to its connection. */
export interface KeepAliveOwner {
  /** Sends a segment that the peer has to answer. */
  probe(): void;
  /** The peer is gone. */
  peerIsSilent(): void;
}

/**
 * Keep-alives (RFC 9293 §3.8.4). They are sent for a program that asks for them (SO_KEEPALIVE), and then only after two silent
 * hours, which is longer than VFP remembers a flow (dataplane.md §3.8).
 */
export class KeepAlive implements Task {
  private readonly owner: KeepAliveOwner;
  private readonly clock: Clock;
  private readonly profile: KeepAliveProfile;
  private timer: Timer | undefined;
  private probesSent = 0;

  constructor(owner: KeepAliveOwner, clock: Clock, profile: KeepAliveProfile) {
    this.owner = owner;
    this.clock = clock;
    this.profile = profile;
    this.heard();
  }

  /** The peer has said something, whatever it was. */
  heard(): void {
    this.stop();
    this.probesSent = 0;
    this.timer = this.clock.schedule(this.profile.idleMs, this);
  }

  stop(): void {
    if (this.timer !== undefined) this.clock.cancel(this.timer);
    this.timer = undefined;
  }

  run(): void {
    this.timer = undefined;
    if (this.probesSent >= this.profile.probes) {
      this.owner.peerIsSilent();
      return;
    }
    this.probesSent++;
    this.timer = this.clock.schedule(this.profile.intervalMs, this);
    this.owner.probe();
  }
}

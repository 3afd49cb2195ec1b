/**
 * Keep-alives of one connection (RFC 9293 §3.8.4). They are sent for a program that asks for them (SO_KEEPALIVE), and then
 * only after two hours silently, which is longer than VFP remembers a flow (dataplane.md §3.8, DT-165).
 */
import type { Clock, Task, Timer } from "#core/base/clock.ts";
import type { KeepAliveProfile } from "../stack-profile.ts";

/** What a keep-alive does to its connection. */
export interface KeepAliveOwner {
  /** Sends a segment that the peer has to answer. */
  probe(): void;
  /** The peer is gone. */
  peerIsSilent(): void;
}

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

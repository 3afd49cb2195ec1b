/** A device that loses, repeats and delays frames by chance, repeatably from a seed. */
import type { Clock, Task } from "#core/base/clock.ts";
import type { Prng } from "#core/base/prng.ts";
import type { Device, Receiver } from "#dataplane/device/device.ts";
import type { Packet } from "#core/wire/packet.ts";

export interface LossyOptions {
  /** Each from 0 to 1. Default 0. */
  readonly lossRatio?: number;
  readonly duplicateRatio?: number;
  /** How many frames are held back, so that later ones overtake them. */
  readonly delayRatio?: number;
  /** How long a frame is held back at most, in milliseconds. Default 20. */
  readonly delayMaxMs?: number;
}

class LateTransmission implements Task {
  private readonly inner: Device;
  private readonly packet: Packet;

  constructor(inner: Device, packet: Packet) {
    this.inner = inner;
    this.packet = packet;
  }

  run(): void {
    this.inner.transmit(this.packet);
  }
}

/** Frames that are sent through it suffer; those that arrive do not. */
export class LossyDevice implements Device {
  lostCount = 0;
  /** Lets this many of the next frames pass, whatever the ratios say. */
  passNext = 0;
  /** Loses this many of the frames after those, whatever the ratios say. */
  loseNext = 0;
  private readonly inner: Device;
  private readonly clock: Clock;
  private readonly prng: Prng;
  private readonly options: LossyOptions;

  constructor(clock: Clock, prng: Prng, inner: Device, options: LossyOptions = {}) {
    this.clock = clock;
    this.prng = prng;
    this.inner = inner;
    this.options = options;
  }

  get mtuBytes(): number {
    return this.inner.mtuBytes;
  }

  attach(receiver: Receiver): void {
    this.inner.attach(receiver);
  }

  transmit(packet: Packet): boolean {
    const { lossRatio = 0, duplicateRatio = 0, delayRatio = 0, delayMaxMs = 20 } = this.options;
    if (this.passNext > 0) {
      this.passNext--;
      return this.inner.transmit(packet);
    }
    if (this.loseNext > 0 || this.happens(lossRatio)) {
      if (this.loseNext > 0) this.loseNext--;
      this.lostCount++;
      return true;
    }
    if (this.happens(duplicateRatio)) this.inner.transmit(packet.copy());
    if (!this.happens(delayRatio)) return this.inner.transmit(packet);
    const delayMs = 1 + this.prng.below(delayMaxMs);
    this.clock.schedule(delayMs, new LateTransmission(this.inner, packet));
    return true;
  }

  private happens(ratio: number): boolean {
    return ratio > 0 && this.prng.below(1_000_000) < ratio * 1_000_000;
  }
}

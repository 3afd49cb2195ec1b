/** A cable in memory: two devices joined back to back, with a delay. */
import type { Clock } from "#core/base/clock.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { Device, Receiver } from "./device.ts";

/** A frame under way on a cable. */
class Delivery {
  private readonly to: MemoryDevice;
  private readonly packet: Packet;

  constructor(to: MemoryDevice, packet: Packet) {
    this.to = to;
    this.packet = packet;
  }

  run(): void {
    this.to.deliver(this.packet);
  }
}

/** One frame under way on many cables of one length: a task for all of them, and a copy for each when it arrives. */
class Flood {
  private readonly to: readonly MemoryDevice[];
  private readonly packet: Packet;

  constructor(to: readonly MemoryDevice[], packet: Packet) {
    this.to = to;
    this.packet = packet;
  }

  run(): void {
    for (const each of this.to) each.deliver(this.packet.copy());
  }
}

/** One end of a cable in memory. */
export class MemoryDevice implements Device {
  readonly mtuBytes: number;
  /** False when the cable is pulled: frames are lost silently, as on a cable. */
  isUp = true;
  private readonly clock: Clock;
  private readonly delayMs: number;
  private peer: MemoryDevice | undefined;
  private receiver: Receiver | undefined;

  constructor(clock: Clock, mtuBytes: number, delayMs: number) {
    this.clock = clock;
    this.mtuBytes = mtuBytes;
    this.delayMs = delayMs;
  }

  /** Joins two ends. */
  static join(a: MemoryDevice, b: MemoryDevice): void {
    a.peer = b;
    b.peer = a;
  }

  attach(receiver: Receiver): void {
    this.receiver = receiver;
  }

  /** False: a frame that is transmitted is lost at once. */
  get isReady(): boolean {
    return this.isUp && this.peer !== undefined;
  }

  transmit(packet: Packet): boolean {
    if (!this.isUp || this.peer === undefined) return false;
    this.clock.schedule(this.delayMs, new Delivery(this.peer, packet));
    return true;
  }

  /** Transmits a copy of `packet`, which the caller gives away, by `devices` that are ready; they arrive in this order. */
  static transmitAll(devices: readonly MemoryDevice[], packet: Packet): void {
    for (const [delayMs, group] of Map.groupBy(devices, (each) => each.delayMs)) {
      const peers = group.flatMap(({ peer }) => peer ?? []);
      group[0]?.clock.schedule(delayMs, new Flood(peers, packet));
    }
  }

  deliver(packet: Packet): void {
    if (this.isUp) this.receiver?.receive(packet);
  }
}

export interface CableOptions {
  /** Default 1500. */
  readonly mtuBytes?: number;
  /** One-way delay in milliseconds. */
  readonly delayMs: number;
}

/** Makes a cable. Frames arrive in the order in which they were sent. */
export function memoryPair(clock: Clock, options: CableOptions): readonly [MemoryDevice, MemoryDevice] {
  const mtuBytes = options.mtuBytes ?? 1500;
  const a = new MemoryDevice(clock, mtuBytes, options.delayMs);
  const b = new MemoryDevice(clock, mtuBytes, options.delayMs);
  MemoryDevice.join(a, b);
  return [a, b];
}

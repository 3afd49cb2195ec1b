/** A known defect: TCP comes out of a port much slower than it went in (dataplane.md §5.4, §9 F-28). */
import type { Task } from "#core/base/clock.ts";
import type { Device } from "../device/device.ts";
import type { Packet } from "#core/wire/packet.ts";

const MS_PER_SECOND = 1_000;
/** Inferred: how much waits before the switch drops. */
const WAITING_BYTES_MAX = 65_536;

/** Gives frames out one after the other at a rate. Plain data. */
export class ReceivePace {
  readonly bytesPerSecond: number;
  private freeAtMs = 0;

  constructor(bytesPerSecond: number) {
    this.bytesPerSecond = bytesPerSecond;
  }

  /** How long a frame waits; undefined: too many wait already. */
  admit(bytes: number, nowMs: number): number | undefined {
    const startMs = Math.max(this.freeAtMs, nowMs);
    const waitMs = startMs - nowMs;
    if ((waitMs * this.bytesPerSecond) / MS_PER_SECOND > WAITING_BYTES_MAX) return undefined;
    this.freeAtMs = startMs + (bytes * MS_PER_SECOND) / this.bytesPerSecond;
    return waitMs;
  }
}

/** A frame on its way out of a port. */
export class LateFrame implements Task {
  private readonly device: Device;
  private readonly packet: Packet;

  constructor(device: Device, packet: Packet) {
    this.device = device;
    this.packet = packet;
  }

  run(): void {
    this.device.transmit(this.packet);
  }
}

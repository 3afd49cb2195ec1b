/**
 * A device takes and gives Ethernet frames. A virtual cable, a TAP, a capture file and a fault injector all
 * have this shape, so what works on one works on all.
 */
import type { Packet } from "#core/wire/packet.ts";

/** Gets the frames that arrive at a device. The receiver owns the packet and may rewrite it. */
export interface Receiver {
  receive(packet: Packet): void;
}

/** One end of something that carries frames. */
export interface Device {
  /** The largest IP packet that fits into a frame of this device. */
  readonly mtuBytes: number;
  /** True when super frames stay whole on it; who sends to another one cuts them (`cutSuperFrame`). */
  readonly carriesSuperFrames?: boolean;
  /** Sends a frame; the device owns the packet from here. @returns false when the device is full or down. */
  transmit(packet: Packet): boolean;
  /** Names the one that gets arriving frames. */
  attach(receiver: Receiver): void;
}

/** Sees the frames of a device as they pass, and leaves them as they are. */
export interface FrameWatcher {
  /** `out`: the device transmits it; `in`: it arrived. The frame holds for the call alone. */
  watch(packet: Packet, direction: "in" | "out"): void;
}

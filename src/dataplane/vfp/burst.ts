/**
 * Frames that came together. A packet of a known flow waits for memory twice, for its entry of the index and for its
 * record, when there are more flows than the caches hold. A port that knows all frames of a burst asks for all entries, then
 * for all records, so that these waits overlap; after that the frames are processed one by one, as if each had come alone.
 * (DPDK's hash tables look up in bulk for the same reason.)
 */
import { assert } from "#core/base/assert.ts";
import { Headers } from "#core/wire/headers.ts";
import type { MalformedReason } from "#core/wire/malformed.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import { FlowKey } from "./flow-key.ts";
import type { PortParserSettings } from "./port-settings.ts";
import type { VfpDirection } from "./rule.ts";

/** As many as wait for memory side by side, and leave room for one another in the nearest cache. */
export const BURST_FRAMES_MAX = 32;

/** One frame of a burst, and what its port has read of it. */
export class BurstFrame {
  packet: Packet;
  readonly headers: Headers = new Headers();
  readonly key: FlowKey = new FlowKey();
  readonly tunnel: TunnelHeaders = new TunnelHeaders();
  /** False: its port has to read it when its turn comes. */
  isRead = false;

  constructor(packet: Packet) {
    this.packet = packet;
  }
}

/** A reusable burst. */
export class Burst {
  /** The hashes of the keys of all frames that were read, side by side. */
  readonly hashes: Int32Array = new Int32Array(BURST_FRAMES_MAX);
  /** Which way the frames go. */
  direction: VfpDirection = "out";
  /** By which its port has read them; undefined until it has. */
  settings: PortParserSettings | undefined;
  /** Made of what looking ahead came upon: a use for what is read for no other reason than to be near. */
  seen = 0;
  private readonly slots: BurstFrame[] = [];
  private count = 0;

  get length(): number {
    return this.count;
  }

  get isFull(): boolean {
    return this.count === BURST_FRAMES_MAX;
  }

  /** Adds a frame. @returns why it cannot be taken: then it is not in the burst. */
  add(packet: Packet): MalformedReason | undefined {
    assert(!this.isFull, "a burst that is full is processed before it takes more");
    const slot = this.slots[this.count];
    const frame = slot ?? new BurstFrame(packet);
    if (slot === undefined) this.slots.push(frame);
    frame.packet = packet;
    frame.isRead = false;
    const malformed = frame.headers.parse(packet);
    if (malformed === undefined) this.count++;
    return malformed;
  }

  frameAt(index: number): BurstFrame {
    const frame = this.slots[index];
    assert(frame !== undefined && index < this.count, "a burst has a frame of this number");
    return frame;
  }

  /** Forgets all frames. */
  clear(): void {
    this.count = 0;
  }
}

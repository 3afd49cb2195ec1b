/**
 * Frames as a device hands them over: in a ring of buffers that it has just written, each of another connection. What a row
 * measures is then the engine's own memory, and not that of frames which the benchmark keeps.
 */
import { defined } from "#core/base/assert.ts";
import { wordAt, writeU16, writeU32 } from "#core/base/bytes.ts";
import type { VfpDirection } from "#dataplane/vfp/rule.ts";
import { BURST_FRAMES_MAX, Burst } from "#dataplane/vfp/burst.ts";
import type { VfpPort } from "#dataplane/vfp/vfp-port.ts";
import { Headers } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";
import { connectionOf, segmentOf, tunnelledSegmentOf } from "./engine-fixture.ts";

/** Bytes of the outer headers of VXLAN over IPv4. */
const OUTER_BYTES = 50;

/** `made`: in the order in which the flows were made, whose records lie side by side. `random`: each at another place. */
export type Order = "made" | "random";

/** The numbers below `count`, each once; the same in each run. */
function numbers(count: number, order: Order): Int32Array {
  const all = Int32Array.from({ length: count }, (_, index) => index);
  if (order === "made") return all;
  for (let i = count - 1, state = 12_345; i > 0; i--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    const other = (state >>> 0) % (i + 1);
    const kept = all[i] ?? 0;
    all[i] = all[other] ?? 0;
    all[other] = kept;
  }
  return all;
}

export class Arrivals {
  private readonly ring: readonly Packet[];
  private readonly template: Uint8Array;
  private readonly direction: VfpDirection;
  /** Where the connection stands in a frame. */
  private readonly sourceAt: number;
  private readonly portAt: number;
  private readonly flows: number;
  private readonly start: number;
  private readonly end: number;
  private readonly sources: Int32Array;
  private readonly ports: Int32Array;
  private readonly headers = new Headers();
  private readonly burst = new Burst();
  private at = 0;

  /** `in`: frames come in VXLAN. */
  constructor(flows: number, order: Order, direction: VfpDirection = "out") {
    this.direction = direction;
    this.template = direction === "in" ? tunnelledSegmentOf(0) : segmentOf(0);
    this.ring = Array.from({ length: BURST_FRAMES_MAX }, () => Packet.ofLength(this.template.length));
    const { start, end } = Packet.ofLength(this.template.length);
    this.start = start;
    this.end = end;
    const inner = direction === "in" ? OUTER_BYTES : 0;
    this.sourceAt = inner + 26;
    this.portAt = inner + 34;
    this.flows = flows;
    const order32 = numbers(flows, order);
    this.sources = order32.map((index) => connectionOf(index).source);
    this.ports = order32.map((index) => connectionOf(index).port);
  }

  /** What the device does for frame number `arrived`. */
  private fill(arrived: number): Packet {
    const packet = defined(this.ring[arrived & (BURST_FRAMES_MAX - 1)], "the ring is full of buffers");
    const { at, start } = this;
    const { bytes } = packet;
    this.at = at + 1 === this.flows ? 0 : at + 1;
    packet.start = start;
    packet.end = this.end;
    packet.tni = 0;
    bytes.set(this.template, start);
    writeU32(bytes, start + this.sourceAt, wordAt(this.sources, at));
    writeU16(bytes, start + this.portAt, wordAt(this.ports, at));
    return packet;
  }

  /** The floor: frames come, and nothing is done with them. */
  take(count: number): number {
    let sum = 0;
    for (let i = 0; i < count; i++) sum ^= this.fill(i).end;
    return sum;
  }

  /** Each frame goes through `port` as it comes. @returns how many passed. */
  sendEach(port: VfpPort, count: number): number {
    const { headers, direction } = this;
    let passed = 0;
    for (let i = 0; i < count; i++) {
      const packet = this.fill(i);
      headers.parse(packet);
      if (port.process(direction, packet, headers, 1) === "pass") passed++;
    }
    return passed;
  }

  /** The same in full bursts; `count` is rounded up to whole ones. */
  sendBursts(port: VfpPort, count: number): number {
    const { burst, direction } = this;
    let passed = 0;
    for (let sent = 0; sent < count; sent += BURST_FRAMES_MAX) {
      burst.clear();
      for (let i = 0; i < BURST_FRAMES_MAX; i++) burst.add(this.fill(i));
      port.readAhead(direction, burst);
      for (let i = 0; i < BURST_FRAMES_MAX; i++) if (port.processRead(burst, i, 1) === "pass") passed++;
    }
    return passed;
  }
}

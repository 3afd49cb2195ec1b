/** A cable in memory: two devices joined back to back, with a delay. */
import type { Clock, Task, Timer } from "#core/base/clock.ts";
import type { Packet } from "#core/wire/packet.ts";
import { cutSuperFrame } from "#core/wire/segmentation.ts";
import { ArpRequests } from "./arp-requests.ts";
import type { Device, FrameWatcher, Receiver } from "./device.ts";

/**
 * One-way delays of cables, in milliseconds. They are powers of two, so that sums of them are exact and times of two
 * runs print alike. Nothing depends on their size but round-trip times; they are of the order of real ones.
 */
export const CABLE_DELAYS = {
  /** Node or router to the physical segment. */
  segmentMs: 0.0625,
  /** A virtual cable inside a machine. */
  virtualMs: 0.015_625,
  /** From the router to a host outside. */
  outsideMs: 4,
} as const;

/**
 * What becomes of ARP requests at a machine: `listens`, it has done nothing yet and takes each as a frame; a cable that they
 * go on by; or undefined, they end there. In the last two cases the machine has counted them, and nothing else of it changes.
 */
export type Hearing = "listens" | MemoryDevice | undefined;

/** Gets what arrives at the end of a cable. */
export interface Listener extends Receiver {
  /** Takes ARP requests to everybody that came over the cable `by` of the segment. Without it, each comes as a frame. */
  hear?(requests: ArpRequests, by: Device): Hearing;
}

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

/** Frames that were sent one right after the other: one task for all of them, which arrive one by one. */
class JoinedDelivery implements Task {
  private readonly to: MemoryDevice;
  private packets: Packet[] = [];

  constructor(to: MemoryDevice) {
    this.to = to;
  }

  add(packet: Packet): void {
    this.packets.push(packet);
  }

  run(): void {
    const { packets } = this;
    this.packets = [];
    for (const packet of packets) this.to.deliver(packet);
  }
}

/** The frames that are under way last, which others may join. */
interface Joined {
  readonly delivery: JoinedDelivery;
  readonly timer: Timer;
}

/** One end of a cable in memory. */
export class MemoryDevice implements Device {
  readonly mtuBytes: number;
  readonly carriesSuperFrames = true;
  /** False when the cable is pulled: frames are lost silently, as on a cable. */
  isUp = true;
  /** True: frames that come by the burst travel by the burst. Who steps from task to task sees them arrive as one. */
  private joinsFrames = false;
  private joined: Joined | undefined;
  private readonly clock: Clock;
  readonly delayMs: number;
  private peer: MemoryDevice | undefined;
  private receiver: Listener | undefined;
  /** Undefined: nobody watches, as mostly. */
  private watchers: readonly FrameWatcher[] | undefined;

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

  attach(receiver: Listener): void {
    this.receiver = receiver;
  }

  /** From now on frames that are sent one right after the other, either way, are one task. */
  joinFrames(): void {
    this.joinsFrames = true;
    if (this.peer !== undefined) this.peer.joinsFrames = true;
  }

  /** Shows a watcher all frames from now on. */
  addWatcher(watcher: FrameWatcher): void {
    this.watchers = [...(this.watchers ?? []), watcher];
  }

  /** One that does not watch is ignored. */
  removeWatcher(watcher: FrameWatcher): void {
    const others = this.watchers?.filter((each) => each !== watcher) ?? [];
    this.watchers = others.length === 0 ? undefined : others;
  }

  get isWatched(): boolean {
    return this.watchers !== undefined;
  }

  /** False: a frame that is transmitted is lost at once. */
  get isReady(): boolean {
    return this.isUp && this.peer !== undefined;
  }

  /** Where a frame arrives that is transmitted; undefined: it is lost. */
  get farEnd(): MemoryDevice | undefined {
    return this.isUp ? this.peer : undefined;
  }

  transmit(packet: Packet): boolean {
    if (!this.isUp || this.peer === undefined) return false;
    if (this.watchers !== undefined) this.show(packet, "out");
    if (this.joinsFrames) this.join(this.peer, packet);
    else this.clock.schedule(this.delayMs, new Delivery(this.peer, packet));
    return true;
  }

  private join(peer: MemoryDevice, packet: Packet): void {
    const { clock, delayMs } = this;
    if (this.joined === undefined || !clock.isLast(this.joined.timer, delayMs)) {
      const delivery = new JoinedDelivery(peer);
      this.joined = { delivery, timer: clock.schedule(delayMs, delivery) };
    }
    this.joined.delivery.add(packet);
  }

  /** Transmits a copy of `packet`, which the caller gives away, by `devices` that are ready; they arrive in this order. */
  static transmitAll(devices: readonly MemoryDevice[], packet: Packet): void {
    for (const [delayMs, group] of Map.groupBy(devices, (each) => each.delayMs)) {
      const peers = group.flatMap(({ peer }) => peer ?? []);
      group[0]?.clock.schedule(delayMs, new Flood(peers, packet));
    }
  }

  deliver(packet: Packet): void {
    if (!this.isUp) return;
    if (this.watchers !== undefined) this.show(packet, "in");
    this.receiver?.receive(packet);
  }

  /** Who watches sees a super frame as the segments that its sender meant, with their checksums. */
  private show(packet: Packet, direction: "in" | "out"): void {
    const frames = cutSuperFrame(packet) ?? [packet];
    for (const frame of frames) for (const each of this.watchers ?? []) each.watch(frame, direction);
  }

  /** Requests to everybody arrive. */
  hear(requests: ArpRequests, by: Device): Hearing {
    if (!this.isUp || this.receiver === undefined) return undefined;
    // What is watched takes each request as a frame.
    return this.isWatched || this.receiver.hear === undefined ? "listens" : this.receiver.hear(requests, by);
  }
}

/** Where requests arrive. */
interface Arrival {
  readonly end: MemoryDevice;
  /** The cable of the segment that leads there. */
  readonly by: Device;
}

/** Requests under way on many cables of one length. */
export class ArpFlood implements Task {
  readonly requests: ArpRequests;
  private readonly clock: Clock;
  private readonly arrivals: readonly Arrival[];

  private constructor(clock: Clock, requests: ArpRequests, arrivals: readonly Arrival[]) {
    this.clock = clock;
    this.requests = requests;
    this.arrivals = arrivals;
  }

  /** Out of `cables`, which are equally long; none yet. */
  static over(clock: Clock, cables: readonly MemoryDevice[]): ArpFlood {
    const arrivals = cables.flatMap((by) => (by.farEnd === undefined ? [] : [{ end: by.farEnd, by }]));
    return new ArpFlood(clock, new ArpRequests(), arrivals);
  }

  run(): void {
    const { requests, clock } = this;
    const listeners: Arrival[] = [];
    const onward = new Map<number, Arrival[]>();
    for (const arrival of this.arrivals) {
      const next = arrival.end.hear(requests, arrival.by);
      if (next === "listens") listeners.push(arrival);
      else if (next?.farEnd !== undefined) {
        const group = onward.get(next.delayMs) ?? [];
        onward.set(next.delayMs, group);
        group.push({ end: next.farEnd, by: arrival.by });
      }
    }
    for (const { packet, by } of requests)
      for (const listener of listeners) if (listener.by !== by) listener.end.deliver(packet.copy());
    for (const [delayMs, arrivals] of onward)
      clock.schedule(delayMs, new ArpFlood(clock, requests, arrivals));
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

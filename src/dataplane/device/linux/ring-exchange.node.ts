/**
 * Frames of TAPs by the burst: each TAP has one read in the ring that goes on by itself (IORING_OP_READ_MULTISHOT, Linux 6.7),
 * frames that are sent are written there too, and one system call makes and tells all of it. Between bursts this thread waits
 * in that call, beside what Node's event loop waits on: a frame wakes it once, and nothing else has to be asked for it.
 */
import { Socket } from "node:net";
import { defined } from "#core/base/assert.ts";
import { EventLoop } from "./event-loop.node.ts";
import { FRAME_AT, type FrameMemory, LARGE_BYTES, SMALL_BYTES } from "./frame-memory.ts";
import { ABSENT, type BufferRing, type CompletionReceiver, IoRing, SQE } from "./io-ring.node.ts";
import { SystemCallError, type SystemCalls } from "./system-calls.node.ts";
import type { TapExchange, TapGone } from "./tap-exchange.node.ts";
import { Place, type TapDevice } from "./tap.node.ts";
import { VIRTIO_HEADER_BYTES } from "./virtio-header.ts";

/** `enum io_uring_op`. */
const CALL = { poll: 6, cancel: 14, write: 23, read: 49 } as const;
/** Behind the number of the call. */
const CHOOSES_BUFFER = 0x20 << 8;
const SILENT = 0x40 << 8;
/** What a completion says. */
const HAS_BUFFER = 1;
const GOES_ON = 2;
const BUFFER_SHIFT = 16;
const READABLE = 1;
const CLOSE_ON_EXEC = 0o2_000_000;
const NON_BLOCKING = 0o4_000;
/** What a completion is of. */
const KIND = { read: 1, write: 2, loop: 3, other: 4 } as const;
/** Errors that end a read and are no fault: it was taken back, and there was no buffer. */
const CANCELLED = -125;
const NO_BUFFER = -105;
const GROUP = 1;
/** Frames that the kernel may give at a time: of long ones, no more than stay near the processor. */
const PLACES = 32;
/** So often it is read again before others have their turn. */
const ROUNDS_MAX = 16;
/** Of a round: all frames for which there are places, and some more. */
const COMPLETIONS_MAX = PLACES * 2;
const HEADER_AT = FRAME_AT - VIRTIO_HEADER_BYTES;

export class RingExchange implements TapExchange, CompletionReceiver {
  readonly cost = undefined;
  private readonly ring: IoRing;
  private readonly calls: SystemCalls;
  private readonly loop: EventLoop;
  private readonly memory: FrameMemory;
  private readonly gone: TapGone;
  private readonly buffers: BufferRing;
  private readonly places: Place[] = [];
  private readonly addresses = new WeakMap<Uint8Array, number>();
  private readonly taps = new Map<number, TapDevice>();
  private readonly numbers = new Map<TapDevice, number>();
  private lastNumber = 0;
  /** TAPs whose read ended. */
  private readonly ended: number[] = [];
  /** What is being written: it has to stay where it is until the kernel has it. */
  private readonly leaving: Uint8Array[] = [];
  /** Its one byte gives Node's loop a reason to come here again. */
  private readonly pipe: Socket;
  private readonly pipeEnd: number;
  private readonly byte = new Uint8Array(SMALL_BYTES);
  private readonly byteAddress: number;
  private came: ((isOpen: boolean) => void) | undefined;
  private isLoopWatched = false;
  private isCalled = false;
  private isExchanging = false;
  private isFlushDue = false;
  private isClosed = false;

  private constructor(
    calls: SystemCalls,
    ring: IoRing,
    buffers: BufferRing,
    parts: { readonly loop: EventLoop; readonly memory: FrameMemory; readonly gone: TapGone },
  ) {
    this.calls = calls;
    this.ring = ring;
    this.buffers = buffers;
    this.loop = parts.loop;
    this.memory = parts.memory;
    this.gone = parts.gone;
    for (let id = 0; id < PLACES; id++) this.renew(id);
    const ends = new Int32Array(2);
    calls.call("pipe2", "", new Uint8Array(ends.buffer), CLOSE_ON_EXEC | NON_BLOCKING);
    const [from = -1, to = -1] = ends;
    this.pipeEnd = to;
    this.byteAddress = calls.addressOf(this.byte);
    // A buffer of its own: else each byte would get new memory. Longer than what comes, so that it is not read twice.
    const onread = { buffer: new Uint8Array(8), callback: () => this.waitHere() };
    this.pipe = new Socket({ fd: from, readable: true, writable: false, onread });
  }

  /** @returns undefined where kernel or thread have no such way. */
  static open(calls: SystemCalls, memory: FrameMemory, gone: TapGone): RingExchange | undefined {
    const loop = EventLoop.find(calls);
    const ring = loop && IoRing.open(calls);
    if (loop === undefined || ring === undefined) return undefined;
    try {
      if (ring.supports(Object.values(CALL))) {
        const buffers = ring.provideBuffers(GROUP, PLACES);
        return new RingExchange(calls, ring, buffers, { loop, memory, gone });
      }
      ring.close();
      return undefined;
    } catch (error) {
      ring.close();
      if (error instanceof SystemCallError && ABSENT.includes(error.code)) return undefined;
      throw error;
    }
  }

  add(tap: TapDevice): void {
    const number = ++this.lastNumber;
    this.taps.set(number, tap);
    this.numbers.set(tap, number);
    tap.memory = this.memory;
    tap.outlet = { send: (bytes, start, end) => this.send(number, bytes, start, end) };
    this.read(number);
    this.flushSoon();
  }

  remove(tap: TapDevice): void {
    const number = this.numbers.get(tap);
    if (number === undefined) return;
    this.forget(number, tap);
    this.cancel(KIND.read, number);
    // The read has the TAP open.
    this.flush();
  }

  wait(came: (isOpen: boolean) => void): void {
    if (this.isClosed) {
      came(false);
      return;
    }
    this.came = came;
    this.callLoop();
    this.flush();
  }

  exchange(process: () => void): void {
    if (this.isClosed) return;
    this.isExchanging = true;
    try {
      for (let round = 0; round < ROUNDS_MAX; round++) {
        this.ring.drain(this, COMPLETIONS_MAX);
        process();
        this.flush();
        if (!this.ring.hasCompletionOf(KIND.read)) break;
      }
    } finally {
      this.isExchanging = false;
    }
  }

  close(): void {
    if (this.isClosed) return;
    this.flush();
    for (const tap of this.taps.values()) this.remove(tap);
    this.isClosed = true;
    this.calls.call("close", "pipe", this.pipeEnd);
    this.pipe.destroy();
    this.ring.close();
    this.came?.(false);
  }

  /** What a call in the ring returned. */
  complete(kind: number, id: number, result: number, flags: number): void {
    if (kind === KIND.read) this.completeRead(id, result, flags);
    else if (kind === KIND.loop) this.isLoopWatched = false;
    else if (kind === KIND.write && result < 0) this.taps.get(id)?.lose();
  }

  private completeRead(number: number, result: number, flags: number): void {
    const tap = this.taps.get(number);
    if (tap !== undefined && (flags & GOES_ON) === 0) this.ended.push(number);
    if ((flags & HAS_BUFFER) !== 0) this.take(tap, flags >>> BUFFER_SHIFT, result);
    else if (tap !== undefined && result < 0 && result !== CANCELLED && result !== NO_BUFFER) {
      this.forget(number, tap);
      this.gone(tap, new SystemCallError("read", tap.name, -result));
    }
  }

  /** Gives a frame to its TAP, and its place back to the kernel. */
  private take(tap: TapDevice | undefined, id: number, bytes: number): void {
    const place = defined(this.places[id], "a place that the kernel was given");
    if (tap?.arrive(place, bytes) === true) this.renew(id);
    else this.buffers.provide(id, place.address, place.length);
  }

  private renew(id: number): void {
    const bytes = this.memory.take("large");
    const place = new Place(bytes, this.addressOf(bytes) + HEADER_AT);
    this.places[id] = place;
    this.buffers.provide(id, place.address, place.length);
  }

  private read(number: number): void {
    const tap = this.taps.get(number);
    if (tap === undefined) return;
    const { ring } = this;
    const { entries } = ring;
    const at = ring.next();
    entries[at + SQE.call] = CALL.read | CHOOSES_BUFFER;
    entries[at + SQE.fd] = tap.fd;
    entries[at + SQE.offset] = -1;
    entries[at + SQE.offset + 1] = -1;
    entries[at + SQE.id] = number;
    entries[at + SQE.kind] = KIND.read;
    entries[at + SQE.group] = GROUP;
  }

  /** Takes over the bytes. Their frame goes out in the order of these calls. */
  private send(number: number, bytes: Uint8Array, start: number, end: number): void {
    const tap = this.taps.get(number);
    if (tap === undefined) return;
    this.write(tap.fd, this.addressOf(bytes) + start, end - start, KIND.write, number);
    this.leaving.push(bytes);
    if (!this.isExchanging) this.flushSoon();
  }

  private write(fd: number, address: number, length: number, kind: number, id: number): void {
    const { ring } = this;
    const { entries } = ring;
    const at = ring.next();
    entries[at + SQE.call] = CALL.write | SILENT;
    entries[at + SQE.fd] = fd;
    entries[at + SQE.offset] = -1;
    entries[at + SQE.offset + 1] = -1;
    ring.writeAddress(at, address);
    entries[at + SQE.length] = length;
    entries[at + SQE.id] = id;
    entries[at + SQE.kind] = kind;
  }

  private cancel(kind: number, id: number): void {
    const { ring } = this;
    const at = ring.next();
    ring.entries[at + SQE.call] = CALL.cancel | SILENT;
    ring.entries[at + SQE.address] = id;
    ring.entries[at + SQE.address + 1] = kind;
    ring.entries[at + SQE.kind] = KIND.other;
  }

  private addressOf(bytes: Uint8Array): number {
    const known = this.addresses.get(bytes);
    if (known !== undefined) return known;
    const address = this.calls.addressOf(bytes);
    if (bytes.length === SMALL_BYTES || bytes.length === LARGE_BYTES) this.addresses.set(bytes, address);
    return address;
  }

  /** Node's loop is called back to `waitHere` when it has done what else is due. */
  private callLoop(): void {
    if (this.isCalled) return;
    this.isCalled = true;
    if (this.isLoopWatched) this.cancel(KIND.loop, 0);
    this.write(this.pipeEnd, this.byteAddress, 1, KIND.other, 0);
  }

  /** In a callback of Node's loop, where nothing else is under way. @returns that further bytes are welcome. */
  private waitHere(): boolean {
    this.isCalled = false;
    const { ring, loop, came } = this;
    if (this.isClosed || came === undefined) return true;
    if (!ring.hasCompletionOf(KIND.read)) {
      ring.drain(this, COMPLETIONS_MAX);
      if (!this.isLoopWatched) this.watchLoop();
      ring.wait(loop.waitMs);
      this.releaseWritten();
    }
    if (ring.hasCompletionOf(KIND.read)) {
      this.came = undefined;
      came(true);
    } else {
      // Something of the loop is due, or a signal came.
      ring.drain(this, COMPLETIONS_MAX);
      this.callLoop();
      this.flush();
    }
    return true;
  }

  private watchLoop(): void {
    const { ring } = this;
    const at = ring.next();
    ring.entries[at + SQE.call] = CALL.poll;
    ring.entries[at + SQE.fd] = this.loop.fd;
    ring.entries[at + SQE.options] = READABLE;
    ring.entries[at + SQE.kind] = KIND.loop;
    this.isLoopWatched = true;
  }

  private flushSoon(): void {
    if (this.isFlushDue) return;
    this.isFlushDue = true;
    queueMicrotask(() => {
      this.isFlushDue = false;
      if (!this.isClosed) this.flush();
    });
  }

  private flush(): void {
    for (const number of this.ended.splice(0)) this.read(number);
    this.ring.enter();
    this.releaseWritten();
  }

  private releaseWritten(): void {
    if (this.ring.waiting > 0) return;
    for (const bytes of this.leaving) this.memory.giveBack(bytes);
    this.leaving.length = 0;
  }

  private forget(number: number, tap: TapDevice): void {
    this.taps.delete(number);
    this.numbers.delete(tap);
    tap.outlet = undefined;
  }
}

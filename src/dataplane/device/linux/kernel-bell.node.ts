/**
 * A wake-up by the kernel itself: when a descriptor can be read, the kernel (io_uring) writes a byte into a pipe, which Node's
 * loop waits on as on any other. Without it a thread has to wait and to wake this one, and a frame pays for two wake-ups.
 *
 * The ring holds one chain at a time: "the descriptor can be read", and linked to it "write a byte". Neither leaves a
 * completion when it goes well.
 */
import { Socket } from "node:net";
import { viewOf } from "#core/base/bytes.ts";
import { SystemCallError, type SystemCalls } from "./system-calls.node.ts";

const SETUP = 425;
const ENTER = 426;
const ENTRIES = 4;
/** `struct io_uring_params`, and where it says what lies in the ring. */
const PARAMETERS = { bytes: 120, features: 20, tail: 44, mask: 48, array: 64 } as const;
/** Without all three (Linux 5.17) there is another way: one mapping for both rings, no loss, and silent completions. */
const FEATURES = 0x1 | 0x2 | 0x800;
const RING_BYTES = 4_096;
const ENTRIES_AT = 0x1000_0000;
/** `struct io_uring_sqe`. */
const ENTRY = { bytes: 64, flags: 1, fd: 4, offset: 8, address: 16, length: 24, events: 28 } as const;
const LINK = 0x04;
const SILENT = 0x40;
const POLL = 6;
const WRITE = 23;
const READABLE = 1;
const CLOSE_ON_EXEC = 0o2_000_000;
const NON_BLOCKING = 0o4_000;
/** What this kernel says that has no io_uring, or lets nobody use it. */
const ABSENT: readonly string[] = ["ENOSYS", "EPERM", "EACCES", "ENOMEM", "EINVAL"];

export class KernelBell {
  private readonly calls: SystemCalls;
  private readonly ring: number;
  private readonly rings: DataView;
  private readonly tailAt: number;
  private readonly mask: number;
  private readonly arrayAt: number;
  private readonly pipe: Socket;
  private readonly pipeEnd: number;
  private rung: (() => void) | undefined;

  private constructor(calls: SystemCalls, ring: number, parameters: DataView, watched: number) {
    this.calls = calls;
    this.ring = ring;
    this.tailAt = parameters.getUint32(PARAMETERS.tail, true);
    this.arrayAt = parameters.getUint32(PARAMETERS.array, true);
    this.rings = viewOf(new Uint8Array(calls.map("io_uring", ring, 0, RING_BYTES).memory));
    this.mask = this.rings.getUint32(parameters.getUint32(PARAMETERS.mask, true), true);
    const ends = new Int32Array(2);
    calls.call("pipe2", "", new Uint8Array(ends.buffer), CLOSE_ON_EXEC | NON_BLOCKING);
    const [from = -1, to = -1] = ends;
    this.pipeEnd = to;
    this.writeChain(watched, calls.map("io_uring", ring, ENTRIES_AT, ENTRIES * ENTRY.bytes));
    // A buffer of its own: else each byte would get new memory. Longer than what comes, so that it is not read twice.
    const onread = { buffer: new Uint8Array(8), callback: () => this.ringOnce() };
    this.pipe = new Socket({ fd: from, readable: true, writable: false, onread });
  }

  /** @returns undefined where the kernel has no io_uring, or has forbidden it. */
  static open(calls: SystemCalls, watched: number): KernelBell | undefined {
    const parameters = viewOf(new Uint8Array(PARAMETERS.bytes));
    let ring: number;
    try {
      ring = calls.call("io_uring_setup", "", SETUP, ENTRIES, new Uint8Array(parameters.buffer));
    } catch (error) {
      if (error instanceof SystemCallError && ABSENT.includes(error.code)) return undefined;
      throw error;
    }
    if ((parameters.getUint32(PARAMETERS.features, true) & FEATURES) === FEATURES)
      return new KernelBell(calls, ring, parameters, watched);
    calls.call("close", "io_uring", ring);
    return undefined;
  }

  /** Resolves when the descriptor can be read, at once when it can already. One waits at a time. */
  nextRing(): Promise<void> {
    return new Promise((resolve) => {
      this.rung = resolve;
      const tail = this.rings.getUint32(this.tailAt, true);
      for (const index of [0, 1]) {
        const slot = (tail + index) & this.mask;
        this.rings.setUint32(this.arrayAt + slot * 4, index, true);
      }
      this.rings.setUint32(this.tailAt, tail + 2, true);
      this.calls.call("io_uring_enter", "", ENTER, this.ring, 2, 0, 0, null, 0);
    });
  }

  /** @returns that further bytes are welcome. */
  private ringOnce(): boolean {
    const { rung } = this;
    this.rung = undefined;
    rung?.();
    return true;
  }

  close(): void {
    this.calls.call("close", "io_uring", this.ring);
    this.calls.call("close", "pipe", this.pipeEnd);
    this.pipe.destroy();
  }

  /** The two entries are always the same. */
  private writeChain(
    watched: number,
    { memory, address }: { readonly memory: ArrayBuffer; readonly address: bigint },
  ): void {
    const entries = viewOf(new Uint8Array(memory));
    entries.setUint8(0, POLL);
    entries.setUint8(ENTRY.flags, LINK | SILENT);
    entries.setInt32(ENTRY.fd, watched, true);
    entries.setUint32(ENTRY.events, READABLE, true);
    entries.setUint8(ENTRY.bytes, WRITE);
    entries.setUint8(ENTRY.bytes + ENTRY.flags, SILENT);
    entries.setInt32(ENTRY.bytes + ENTRY.fd, this.pipeEnd, true);
    entries.setBigUint64(ENTRY.bytes + ENTRY.offset, 0xffff_ffff_ffff_ffffn, true);
    // Any byte will do.
    entries.setBigUint64(ENTRY.bytes + ENTRY.address, address, true);
    entries.setUint32(ENTRY.bytes + ENTRY.length, 1, true);
  }
}

/**
 * A ring of io_uring: system calls are written into memory that the kernel reads, and one call makes all of them. What they
 * returned is read from memory too. Nothing is done between two calls of `enter` (IORING_SETUP_DEFER_TASKRUN).
 */
import { assert } from "#core/base/assert.ts";
import { viewOf } from "#core/base/bytes.ts";
import { SystemCallError, type SystemCalls } from "./system-calls.node.ts";

const SETUP = 425;
const ENTER = 426;
const REGISTER = 427;
const ENTRIES = 512;
const COMPLETIONS = 2_048;
/** CQSIZE, SUBMIT_ALL, SINGLE_ISSUER, DEFER_TASKRUN and NO_SQARRAY (Linux 6.6). */
const FLAGS = 0x8 | 0x80 | 0x1000 | 0x2000 | 0x1_0000;
/** `struct io_uring_params`, and where it says what lies in the ring. */
const PARAMETERS = {
  bytes: 120,
  entries: 0,
  completions: 4,
  flags: 8,
  head: 40,
  tail: 44,
  completionHead: 80,
  completionTail: 84,
  firstCompletion: 100,
} as const;
const ENTRIES_AT = 0x1000_0000;
/** `struct io_uring_sqe` and `struct io_uring_cqe`, in words. */
const ENTRY_WORDS = 16;
const COMPLETION_WORDS = 4;
const GET_EVENTS = 1;
const EXTENDED = 8;
const ARGUMENT_BYTES = 24;
/** What `enter` may say that is no fault: a signal came, the time is over. */
const ENDED: readonly string[] = ["EINTR", "ETIME"];
const REGISTER_PROBE = 8;
/** `struct io_uring_probe`: a head, and for each call 8 bytes, of which the third says whether the kernel has it. */
const PROBE = { headBytes: 16, bytes: 8, flags: 2, callsMax: 256 } as const;
const REGISTER_BUFFERS = 22;
/** The kernel has the memory (IOU_PBUF_RING_MMAP), and this is where it can be had. */
const BUFFERS_IN_KERNEL = 1;
const BUFFERS_AT = 0x8000_0000;
const BUFFER_BYTES = 16;
const BUFFERS_TAIL_AT = 14;
/** What a kernel says that has no io_uring, too little of it, or lets nobody use it. */
export const ABSENT: readonly string[] = ["ENOSYS", "EPERM", "EACCES", "ENOMEM", "EINVAL"];

/** Words of an entry. */
export const SQE = {
  call: 0,
  fd: 1,
  offset: 2,
  address: 4,
  length: 6,
  options: 7,
  id: 8,
  kind: 9,
  group: 10,
} as const;
const WORD = 2 ** 32;

/** Gets what a call returned; negative: an error number. */
export interface CompletionReceiver {
  complete(kind: number, id: number, result: number, flags: number): void;
}

export class IoRing {
  readonly fd: number;
  /** Where entries are written, by words. */
  readonly entries: Int32Array;
  private readonly calls: SystemCalls;
  private readonly memory: Int32Array;
  private readonly tailAt: number;
  private readonly mask: number;
  private readonly completionHeadAt: number;
  private readonly completionTailAt: number;
  private readonly completionMask: number;
  private readonly firstCompletion: number;
  private readonly argument = new Uint8Array(ARGUMENT_BYTES);
  private readonly time = new BigInt64Array(2);
  private tail = 0;
  private submitted = 0;

  private constructor(calls: SystemCalls, fd: number, parameters: DataView) {
    const at = (field: number): number => parameters.getUint32(field, true);
    const completions = at(PARAMETERS.completions);
    this.fd = fd;
    this.calls = calls;
    const bytes = at(PARAMETERS.firstCompletion) + completions * COMPLETION_WORDS * 4;
    this.memory = new Int32Array(calls.map("io_uring", fd, 0, bytes).memory);
    this.mask = at(PARAMETERS.entries) - 1;
    this.tailAt = at(PARAMETERS.tail) / 4;
    this.completionHeadAt = at(PARAMETERS.completionHead) / 4;
    this.completionTailAt = at(PARAMETERS.completionTail) / 4;
    this.completionMask = completions - 1;
    this.firstCompletion = at(PARAMETERS.firstCompletion) / 4;
    const entryBytes = at(PARAMETERS.entries) * ENTRY_WORDS * 4;
    this.entries = new Int32Array(calls.map("io_uring", fd, ENTRIES_AT, entryBytes).memory);
    const time = calls.addressOf(new Uint8Array(this.time.buffer));
    viewOf(this.argument).setBigUint64(16, BigInt(time), true);
  }

  /** @returns undefined where the kernel has no io_uring, an older one, or has forbidden it. */
  static open(calls: SystemCalls): IoRing | undefined {
    const parameters = viewOf(new Uint8Array(PARAMETERS.bytes));
    parameters.setUint32(PARAMETERS.flags, FLAGS, true);
    parameters.setUint32(PARAMETERS.completions, COMPLETIONS, true);
    try {
      const fd = calls.call("io_uring_setup", "", SETUP, ENTRIES, new Uint8Array(parameters.buffer));
      return new IoRing(calls, fd, parameters);
    } catch (error) {
      if (error instanceof SystemCallError && ABSENT.includes(error.code)) return undefined;
      throw error;
    }
  }

  /** Whether the kernel has all these calls. */
  supports(calls: readonly number[]): boolean {
    const probe = new Uint8Array(PROBE.headBytes + PROBE.callsMax * PROBE.bytes);
    this.calls.call("io_uring_register", "probe", REGISTER, this.fd, REGISTER_PROBE, probe, PROBE.callsMax);
    return calls.every(
      (call) => ((probe[PROBE.headBytes + call * PROBE.bytes + PROBE.flags] ?? 0) & 1) !== 0,
    );
  }

  /** Calls that are written and not made. */
  get waiting(): number {
    return this.tail - this.submitted;
  }

  get hasCompletions(): boolean {
    return this.memory[this.completionHeadAt] !== this.memory[this.completionTailAt];
  }

  /** Whether something of this kind has returned. */
  hasCompletionOf(kind: number): boolean {
    const { memory, completionMask, firstCompletion } = this;
    const tail = memory[this.completionTailAt];
    for (let head = memory[this.completionHeadAt] ?? 0; head !== tail; head = (head + 1) | 0)
      if (memory[firstCompletion + (head & completionMask) * COMPLETION_WORDS + 1] === kind) return true;
    return false;
  }

  /** @returns where in `entries` the next call is to be written; all its words are 0. */
  next(): number {
    if (this.waiting > this.mask) this.enter();
    const at = (this.tail++ & this.mask) * ENTRY_WORDS;
    // As `fill` does, which costs more than the rest of the call.
    for (let word = at; word < at + ENTRY_WORDS; word++) this.entries[word] = 0;
    return at;
  }

  writeAddress(at: number, address: number): void {
    this.entries[at + SQE.address] = address | 0;
    this.entries[at + SQE.address + 1] = Math.floor(address / WORD);
  }

  /** Makes the calls that are written. */
  enter(): void {
    this.makeCalls(0, GET_EVENTS, null, 0);
  }

  /** The same, and waits until a call has returned, for at most `waitMs`; negative: as long as it takes. */
  wait(waitMs: number): void {
    if (this.hasCompletions || waitMs === 0) {
      this.enter();
      return;
    }
    if (waitMs < 0) {
      this.makeCalls(1, GET_EVENTS, null, 0);
      return;
    }
    this.time[0] = BigInt(Math.floor(waitMs / 1_000));
    this.time[1] = BigInt((waitMs % 1_000) * 1_000_000);
    this.makeCalls(1, GET_EVENTS | EXTENDED, this.argument, ARGUMENT_BYTES);
  }

  /** Hands on at most `max` of what calls have returned. @returns how many there were. */
  drain(receiver: CompletionReceiver, max: number): number {
    const { memory, completionHeadAt, completionTailAt, completionMask, firstCompletion } = this;
    let count = 0;
    for (; count < max && memory[completionHeadAt] !== memory[completionTailAt]; count++) {
      const head = memory[completionHeadAt] ?? 0;
      const at = firstCompletion + (head & completionMask) * COMPLETION_WORDS;
      const id = memory[at] ?? 0;
      const kind = memory[at + 1] ?? 0;
      const result = memory[at + 2] ?? 0;
      const flags = memory[at + 3] ?? 0;
      memory[completionHeadAt] = head + 1;
      receiver.complete(kind, id, result, flags);
    }
    return count;
  }

  /** @throws SystemCallError `EINVAL` where the kernel has no such memory. */
  provideBuffers(group: number, count: number): BufferRing {
    const request = viewOf(new Uint8Array(40));
    request.setUint32(8, count, true);
    request.setUint16(12, group, true);
    request.setUint16(14, BUFFERS_IN_KERNEL, true);
    const bytes = new Uint8Array(request.buffer);
    this.calls.call("io_uring_register", "buffers", REGISTER, this.fd, REGISTER_BUFFERS, bytes, 1);
    const at = BUFFERS_AT + group * 0x1_0000;
    return new BufferRing(this.calls.map("io_uring", this.fd, at, count * BUFFER_BYTES).memory, count);
  }

  close(): void {
    this.calls.call("close", "io_uring", this.fd);
  }

  private makeCalls(minimum: number, flags: number, argument: Uint8Array | null, bytes: number): void {
    this.memory[this.tailAt] = this.tail;
    try {
      // EAGAIN: no memory for them now. What was not made stays in the ring for the next time.
      const made = this.calls.tryCall(
        "io_uring_enter",
        "",
        ENTER,
        this.fd,
        this.waiting,
        minimum,
        flags,
        argument,
        bytes,
      );
      this.submitted += made ?? 0;
    } catch (error) {
      if (!(error instanceof SystemCallError) || !ENDED.includes(error.code)) throw error;
    }
  }
}

/** Memory that the kernel reads into, by number. */
export class BufferRing {
  private readonly words: Int32Array;
  private readonly shorts: Uint16Array;
  private readonly mask: number;
  private tail = 0;

  constructor(memory: ArrayBuffer, count: number) {
    this.words = new Int32Array(memory);
    this.shorts = new Uint16Array(memory);
    this.mask = count - 1;
    assert((count & this.mask) === 0, "a ring has a power of two");
  }

  /** The kernel may read into it from now on. */
  provide(id: number, address: number, bytes: number): void {
    const at = (this.tail & this.mask) * (BUFFER_BYTES / 4);
    this.words[at] = address | 0;
    this.words[at + 1] = Math.floor(address / WORD);
    this.words[at + 2] = bytes;
    this.shorts[at * 2 + 6] = id;
    this.tail = (this.tail + 1) & 0xffff;
    this.shorts[BUFFERS_TAIL_AT / 2] = this.tail;
  }
}

/**
 * Waits until one of several descriptors can be read, without a thread of its own and without asking again and again: the
 * kernel rings a bell of Node's loop (`KernelBell`). Where it cannot, `epoll_wait` waits on a thread of Node's pool. An
 * `eventfd` ends the wait.
 */
import { viewOf } from "#core/base/bytes.ts";
import { KernelBell } from "./kernel-bell.node.ts";
import type { SystemCalls } from "./system-calls.node.ts";

const CLOSE_ON_EXEC = 0o2_000_000;
const NON_BLOCKING = 0o4_000;
const CONTROL_ADD = 1;
const CONTROL_DELETE = 2;
const READABLE = 1;
/** `struct epoll_event` has no gap on x64 alone. */
const EVENT_BYTES = process.arch === "x64" ? 12 : 16;
const DATA_AT = EVENT_BYTES - 8;
const EVENTS_MAX = 64;
/** A process that ends waits for the threads of its pool: so long at most. */
const WAIT_MS = 1_000;

/** Ends when Node has done what else is due. */
const letOthersRun = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

export class Readiness {
  private readonly calls: SystemCalls;
  private readonly epoll: number;
  private readonly bell: number;
  private readonly events = new Uint8Array(EVENT_BYTES * EVENTS_MAX);
  private readonly kernelBell: KernelBell | undefined;
  private isWaiting = false;
  private isClosed = false;
  private isReleased = false;

  /** `hasRing` false: as on a kernel that has no io_uring. */
  constructor(calls: SystemCalls, hasRing = true) {
    this.calls = calls;
    this.epoll = calls.call("epoll_create1", "", CLOSE_ON_EXEC);
    this.bell = calls.call("eventfd", "", 0, CLOSE_ON_EXEC | NON_BLOCKING);
    this.add(this.bell);
    this.kernelBell = hasRing ? KernelBell.open(calls, this.epoll) : undefined;
  }

  /** False: each wait needs a thread, and two wake-ups where one would do. */
  get isDirect(): boolean {
    return this.kernelBell !== undefined;
  }

  add(fd: number): void {
    const event = viewOf(new Uint8Array(EVENT_BYTES));
    event.setUint32(0, READABLE, true);
    event.setInt32(DATA_AT, fd, true);
    this.calls.call("epoll_ctl", `fd ${fd}`, this.epoll, CONTROL_ADD, fd, new Uint8Array(event.buffer));
  }

  remove(fd: number): void {
    this.calls.call("epoll_ctl", `fd ${fd}`, this.epoll, CONTROL_DELETE, fd, null);
  }

  /** @returns the descriptors that can be read, at least one; undefined: closed. One waits at a time. */
  async wait(): Promise<readonly number[] | undefined> {
    this.isWaiting = true;
    while (!this.isClosed) {
      const count = await this.countReadable();
      // Negative: a signal came, or it is closed.
      if (count > 0 && !this.isClosed) {
        this.isWaiting = false;
        return this.readable(count);
      }
    }
    this.release();
    return undefined;
  }

  /** Ends the wait, and with it the descriptors that it has: at once where nobody waits, for one of them holds the process. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (this.isWaiting)
      this.calls.call("write", "eventfd", this.bell, new Uint8Array(BigUint64Array.of(1n).buffer), 8);
    else this.release();
  }

  private release(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    this.kernelBell?.close();
    this.calls.call("close", "epoll", this.epoll);
    this.calls.call("close", "eventfd", this.bell);
  }

  private async countReadable(): Promise<number> {
    const { kernelBell, calls, epoll, events } = this;
    if (kernelBell === undefined) return calls.callAside("epoll_wait", epoll, events, EVENTS_MAX, WAIT_MS);
    const look = (): number => calls.tryCall("epoll_wait", "", epoll, events, EVENTS_MAX, 0) ?? 0;
    // While frames come without end, others have their turn here.
    await letOthersRun();
    const count = look();
    if (count !== 0 || this.isClosed) return count;
    await kernelBell.nextRing();
    return look();
  }

  private readable(count: number): readonly number[] {
    const view = viewOf(this.events);
    return Array.from({ length: count }, (_, index) => view.getInt32(index * EVENT_BYTES + DATA_AT, true));
  }
}

/**
 * Node's own event loop, as libuv shows it to who puts it into another one (uv_backend_fd, uv_backend_timeout): what it waits
 * on, and for how long. Who waits on that beside something else of the kernel is woken by both, at once.
 */
import { isMainThread } from "node:worker_threads";
import type { SystemCalls } from "./system-calls.node.ts";

export class EventLoop {
  /** Can be read when something of the loop is due, but for its timers. */
  readonly fd: number;
  private readonly calls: SystemCalls;
  private readonly loop: unknown;

  private constructor(calls: SystemCalls, loop: unknown) {
    this.calls = calls;
    this.loop = loop;
    this.fd = calls.callLibuv("uv_backend_fd", loop) as number;
  }

  /** @returns undefined on a thread whose loop has no name, and in a Node that hides its libuv. */
  static find(calls: SystemCalls): EventLoop | undefined {
    if (!isMainThread || !calls.hasLibuv) return undefined;
    return new EventLoop(calls, calls.callLibuv("uv_default_loop"));
  }

  /** How long the loop would wait for its timers now; 0: something is due, -1: for ever. Not to be asked in `setImmediate`. */
  get waitMs(): number {
    return this.calls.callLibuv("uv_backend_timeout", this.loop) as number;
  }
}

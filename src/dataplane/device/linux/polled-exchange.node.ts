/** Frames of TAPs one by one, each with a system call of its own: for kernels whose io_uring does not do it by the burst. */
import type { FrameMemory } from "./frame-memory.ts";
import { Readiness } from "./readiness.node.ts";
import { SystemCallError, type SystemCalls } from "./system-calls.node.ts";
import type { TapExchange, TapGone } from "./tap-exchange.node.ts";
import type { TapDevice } from "./tap.node.ts";

/** Frames that are taken in at a time; then others have their turn. */
const BURST_FRAMES = 64;
/** So often the taps that got frames are read again before others have their turn. */
const ROUNDS_MAX = 16;

export class PolledExchange implements TapExchange {
  readonly cost: "thread" | "single";
  private readonly memory: FrameMemory;
  private readonly gone: TapGone;
  private readonly readiness: Readiness;
  private readonly taps = new Map<number, TapDevice>();
  private ready: readonly number[] = [];

  /** `hasRing` false: as on a kernel that has no io_uring. */
  constructor(calls: SystemCalls, memory: FrameMemory, gone: TapGone, hasRing = true) {
    this.memory = memory;
    this.gone = gone;
    this.readiness = new Readiness(calls, hasRing);
    this.cost = this.readiness.isDirect ? "single" : "thread";
  }

  add(tap: TapDevice): void {
    tap.memory = this.memory;
    this.taps.set(tap.fd, tap);
    this.readiness.add(tap.fd);
  }

  remove(tap: TapDevice): void {
    if (this.taps.delete(tap.fd)) this.readiness.remove(tap.fd);
  }

  wait(came: (isOpen: boolean) => void): void {
    void this.readable(came);
  }

  private async readable(came: (isOpen: boolean) => void): Promise<void> {
    const readable = await this.readiness.wait();
    this.ready = readable ?? [];
    came(readable !== undefined);
  }

  exchange(process: () => void): void {
    let asked = this.ready;
    for (let round = 0; round < ROUNDS_MAX && asked.length > 0; round++) {
      const busy = asked.filter((fd) => this.takeBurst(fd) > 0);
      process();
      // The kernel answers a frame while it takes it: waking up for that would take longer than all the rest.
      const answering = [...this.taps.values()].filter((tap) => tap.takeSent()).map(({ fd }) => fd);
      asked = [...new Set([...busy, ...answering])];
    }
  }

  close(): void {
    this.readiness.close();
  }

  /** @returns how many frames there were. */
  private takeBurst(fd: number): number {
    const tap = this.taps.get(fd);
    if (tap === undefined) return 0;
    try {
      return tap.readBurst(BURST_FRAMES);
    } catch (error) {
      if (!(error instanceof SystemCallError)) throw error;
      this.remove(tap);
      this.gone(tap, error);
      return 0;
    }
  }
}

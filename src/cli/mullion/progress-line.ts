/** How far long work is. */
import { formatDuration } from "#core/base/duration.ts";
import type { Terminal } from "./terminal.ts";

/** Below so many cells nothing is said: it is over at once. */
const CELLS_TOLD = 500;
const TOLD_EVERY_MS = 200;

/** Says how far the work is, in one line of the terminal that is written over and over. */
export class ProgressLine {
  private readonly terminal: Terminal;
  private lastMs = 0;
  private beganMs = performance.now();

  constructor(terminal: Terminal) {
    this.terminal = terminal;
  }

  raised(text: string, done: number, total: number): void {
    this.say(total, () => `Raising the cluster: ${text} (${done} of ${total}) …`);
  }

  /** Of files that are read one after the other. */
  reading(path: string, done: number, total: number): void {
    this.say(total, () => `Reading ${path} (${done} of ${total}) …`);
  }

  /** Of a file that is longer than the memory: how much of it was read. */
  streaming(path: string, bytes: number): void {
    this.say(CELLS_TOLD, () => `Reading ${path} (${Math.floor(bytes / 1_048_576)} MiB so far) …`);
  }

  /** The time that is left is counted from here. */
  begin(): void {
    this.beganMs = performance.now();
  }

  tried(done: number, total: number, attempts: number, workers: number): void {
    const takenMs = performance.now() - this.beganMs;
    const leftMs = done === 0 ? undefined : (takenMs / done) * (total - done);
    const left =
      leftMs === undefined ? "" : `, about ${formatDuration(Math.ceil(leftMs / 1_000) * 1_000)} left`;
    const where = workers === 1 ? "" : ` in ${workers} processes`;
    this.say(total, () => `Tried ${done} of ${total} cells${where}, ${attempts} attempts${left} …`);
  }

  end(): void {
    if (this.lastMs > 0) this.terminal.status("");
  }

  private say(total: number, text: () => string): void {
    const nowMs = performance.now();
    const takesTime = total >= CELLS_TOLD || nowMs - this.beganMs > 2_000;
    if (!this.terminal.isInteractive || !takesTime || nowMs - this.lastMs < TOLD_EVERY_MS) return;
    this.lastMs = nowMs;
    this.terminal.status(text());
  }
}

/** Waits of the start, which a change may cut short, and which end for good. */
import type { Clock } from "#core/base/clock.ts";

export class Waiter {
  private readonly clock: Clock;
  private isOver = false;
  private cut: () => void = () => undefined;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get isEnded(): boolean {
    return this.isOver;
  }

  /** Ends the present wait: there may be something new. */
  wake(): void {
    this.cut();
  }

  /** Ends all waits, also later ones. */
  end(): void {
    this.isOver = true;
    this.cut();
  }

  async sleep(ms: number): Promise<void> {
    if (this.isOver) return;
    await new Promise<void>((resolve) => {
      const timer = this.clock.schedule(ms, { run: () => resolve() });
      this.cut = (): void => {
        this.clock.cancel(timer);
        resolve();
      };
    });
    this.cut = (): void => undefined;
  }
}

/** One thing after the other: what changes the cluster must not meet what reads it halfway. */
export class Turns {
  private last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when everything asked before has ended, well or not. */
  take<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = this.last.then(work);
    this.last = turn.catch(() => undefined);
    return turn;
  }
}

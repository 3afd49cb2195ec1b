/**
 * Which names have changed, for many readers at their own pace: each reader remembers a position and asks what came
 * after it. The log is bounded; a reader that is further behind has to compare everything.
 */

/** Names that the log remembers at least. */
const REMEMBERED_MIN = 1_024;

export class ChangeLog {
  /** In order of the changes; a name may stand there more than once. */
  private names: string[] = [];
  /** The position of the first name that is remembered. */
  private start = 0;

  /** The position behind the newest change. */
  get end(): number {
    return this.start + this.names.length;
  }

  /** Notes a change. `known` is how many names there are: the log stays in proportion. */
  add(name: string, known: number): void {
    this.names.push(name);
    const remembered = Math.max(REMEMBERED_MIN, known);
    if (this.names.length < 2 * remembered) return;
    const forgotten = this.names.length - remembered;
    this.names = this.names.slice(forgotten);
    this.start += forgotten;
  }

  /** The names that changed since `position`, in order of name; undefined when the log does not reach back so far. */
  since(position: number): readonly string[] | undefined {
    if (position < this.start) return undefined;
    if (position === this.end) return [];
    return [...new Set(this.names.slice(position - this.start))].sort();
  }
}

/** Programs of the machine that flanneld calls, as a seam: the real ones, or recorded ones in tests. */

export interface CommandRunner {
  /** @returns what it prints. @throws Error with what it says when it fails. */
  run(program: string, words: readonly string[]): Promise<string>;
}

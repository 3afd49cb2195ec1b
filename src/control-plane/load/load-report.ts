/** Gathers what is told about manifests: bounded, and like notes counted instead of repeated. */
import { LIMITS } from "#core/base/limits.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";

export class LoadReport {
  private readonly problems: FileProblem[] = [];
  private problemCount = 0;
  private readonly notes = new Map<string, { readonly first: FileProblem; count: number }>();

  /** How many more problems are told; finding the place of one that is only counted would be for nothing. */
  get room(): number {
    return Math.max(0, LIMITS.manifestProblemsMax - this.problems.length);
  }

  /** Counts problems that are not told. */
  skip(count: number): void {
    this.problemCount += count;
  }

  problem(problem: FileProblem): void {
    this.problemCount++;
    if (this.problems.length < LIMITS.manifestProblemsMax) this.problems.push(Object.freeze(problem));
  }

  /** A note that is told once, with how often it holds. `make` is only called the first time. */
  count(key: string, make: () => FileProblem): void {
    const known = this.notes.get(key);
    if (known === undefined) this.notes.set(key, { first: make(), count: 1 });
    else known.count++;
  }

  finish(): { readonly notes: readonly FileProblem[]; readonly problems: readonly FileProblem[] } {
    const notes = [...this.notes.values()].map(({ first, count }) =>
      Object.freeze(count === 1 ? first : { ...first, message: `${first.message} (${count} times)` }),
    );
    const problems = [...this.problems];
    const last = problems.at(-1);
    const unreported = this.problemCount - problems.length;
    if (unreported > 0 && last !== undefined) {
      problems.push(
        Object.freeze({
          ...last,
          code: "manifest-too-large",
          path: "",
          message: `${unreported} further problems are not listed`,
          advice: "Correct those above first.",
        }),
      );
    }
    return { notes: Object.freeze(notes), problems: Object.freeze(problems) };
  }
}

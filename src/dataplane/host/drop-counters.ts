/** How many packets a stack dropped, by the code that explains it. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";

export class DropCounters {
  private readonly counts = new Map<KnowledgeCode, number>();

  add(code: KnowledgeCode): void {
    this.counts.set(code, this.get(code) + 1);
  }

  get(code: KnowledgeCode): number {
    return this.counts.get(code) ?? 0;
  }

  /** All codes that were met, in the order of their first drop. */
  list(): readonly { readonly code: KnowledgeCode; readonly count: number }[] {
    return [...this.counts].map(([code, count]) => ({ code, count }));
  }
}

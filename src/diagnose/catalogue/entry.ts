/** The shape of one entry of the catalogue. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";

/** Where a fact comes from: a public page, a thread, or a section of the project's reference. */
export interface Source {
  readonly text: string;
  readonly url?: string;
}

/** How much a lint finding weighs: `error` does not work, `warning` works otherwise than written, `info` is worth knowing. */
export type LintSeverity = "error" | "warning" | "info";

/** One "no" of the network of a Windows node, explained. */
export interface KnowledgeEntry {
  readonly code: KnowledgeCode;
  /** One line without a full stop. */
  readonly title: string;
  /** Why it happens, for a person who has never read about VFP. */
  readonly cause: string;
  /** How to see it on a Windows node: commands and what they print. */
  readonly onNode: string;
  /** What to do about it. */
  readonly remedy: string;
  readonly sources: readonly Source[];
  /** Windows profiles it holds for; `all` for every one. */
  readonly profiles: readonly string[];
  /** Set when `mullion lint` has a rule for it. */
  readonly severity?: LintSeverity;
}

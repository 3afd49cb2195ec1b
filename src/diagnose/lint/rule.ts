/** What a rule is. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { LintSeverity } from "../catalogue/entry.ts";
import type { LintContext } from "./context.ts";
import type { DocumentKind, LintDocument, LintPlace } from "./input/document.ts";

/** What a rule says about one place of a document. */
export interface RuleFinding {
  readonly at: LintPlace;
  /** What is wrong here: one sentence without a full stop, with the names and values of this file. */
  readonly message: string;
  /** What to write instead, when that is more than the entry's remedy: full sentences. */
  readonly fix?: string;
  /** When the Kubernetes page states otherwise what the finding is about: the reason, by its id (`page-sentences.ts`). */
  readonly differs?: string;
  /** When this case has a code of its own. */
  readonly code?: KnowledgeCode;
  /** When this case weighs otherwise than the rule does. */
  readonly severity?: LintSeverity;
}

/** One rule. Its severity, cause and remedy are those of its code's entry in the catalogue. */
export interface LintRule {
  readonly code: KnowledgeCode;
  readonly applies: readonly DocumentKind[];
  /** For `kubernetes`: the only kinds of objects that it looks at. Absent: all. */
  readonly objects?: readonly string[];
  /** Whoever reads the files as a cluster finds more under this code. Absent: the rule finds all of it. */
  readonly isPartial?: true;
  check(document: LintDocument, context: LintContext): Iterable<RuleFinding>;
}

/** A rule over documents of one kind or of several. */
export function rule(
  code: KnowledgeCode,
  kinds: DocumentKind | readonly DocumentKind[],
  check: LintRule["check"],
): LintRule {
  return { code, applies: typeof kinds === "string" ? [kinds] : kinds, check };
}

/** A rule over objects of Kubernetes of these kinds. */
export function objectRule(
  code: KnowledgeCode,
  objects: readonly string[],
  check: LintRule["check"],
): LintRule {
  return { code, applies: ["kubernetes"], objects, check };
}

/** The same over cluster files, which say it in other fields. */
export function andOfClusters(base: LintRule, check: LintRule["check"]): LintRule {
  return {
    ...base,
    applies: [...base.applies, "cluster"],
    *check(document, context) {
      if (document.kind === "cluster") yield* check(document, context);
      else yield* base.check(document, context);
    },
  };
}

/** The public face of lint. */
export { LintContext, type LintOptions, parseKubernetes } from "./context.ts";
export { DOCUMENT_KINDS, type DocumentKind, type LintDocument, type PassedBy } from "./input/document.ts";
export { type LintInput, lint } from "./lint.ts";
export type { LintFinding, LintReport } from "./report/report.ts";
export type { LintRule, RuleFinding } from "./rule.ts";
export { LINT_RULES } from "./rules/all-rules.ts";
export { SourceText, decodeSource } from "#core/base/source-text.ts";
export { CONFIGURATION_FILE, readConfiguration } from "./suppressions.ts";

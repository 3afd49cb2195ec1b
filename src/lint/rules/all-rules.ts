/** Every rule, and every example. A new file of rules is joined here, in both lists. */
import type { ExampleTable, LintRule } from "../rule.ts";
import { POD_EXAMPLES } from "./pods.examples.ts";
import { POD_RULES } from "./pods.ts";

export const LINT_RULES: readonly LintRule[] = Object.freeze([...POD_RULES]);

export const LINT_EXAMPLES: ExampleTable = Object.freeze({ ...POD_EXAMPLES });

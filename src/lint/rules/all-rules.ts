/** Every rule. A new file of rules is joined here, and its examples in `all-examples.ts`. */
import type { LintRule } from "../rule.ts";
import { NAME_RULES } from "./names.ts";
import { POD_RULES } from "./pods.ts";
import { SERVICE_RULES } from "./services.ts";

export const LINT_RULES: readonly LintRule[] = Object.freeze([...POD_RULES, ...NAME_RULES, ...SERVICE_RULES]);

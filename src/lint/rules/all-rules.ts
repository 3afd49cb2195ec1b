/** Every rule. A new file of rules is joined here, and its examples in `all-examples.ts`. */
import type { LintRule } from "../rule.ts";
import { MANIFEST_RULES } from "./manifests.ts";
import { NAME_RULES } from "./names.ts";
import { NETWORK_POLICY_RULES } from "./network-policies.ts";
import { NODE_RULES } from "./nodes.ts";
import { POD_RULES } from "./pods.ts";
import { PROVIDER_RULES } from "./providers.ts";
import { SERVICE_RULES } from "./services.ts";

export const LINT_RULES: readonly LintRule[] = Object.freeze([
  ...POD_RULES,
  ...NAME_RULES,
  ...SERVICE_RULES,
  ...NETWORK_POLICY_RULES,
  ...NODE_RULES,
  ...PROVIDER_RULES,
  ...MANIFEST_RULES,
]);

/** Rules over flannel's `subnet.env` (cni.md §3.2); those over its ranges stand in `providers.ts`. */
import { isPlaceholder, shown } from "../address-ranges.ts";
import { textAt } from "../fields.ts";
import type { LintRule } from "../rule.ts";

/** Exactly `true` counts (cni.md §3.2). */
const MASQUERADE: LintRule = {
  code: "subnet-env-ipmasq-not-true",
  applies: ["subnet-env"],
  *check({ value }) {
    const text = textAt(value, "FLANNEL_IPMASQ") ?? "";
    if (text === "" || text === "true" || text === "false" || isPlaceholder(text)) return;
    yield {
      at: { path: ["FLANNEL_IPMASQ"] },
      message: `FLANNEL_IPMASQ is true or false in small letters; ${shown(text)} counts as false`,
    };
  },
};

export const SUBNET_ENV_RULES: readonly LintRule[] = [MASQUERADE];

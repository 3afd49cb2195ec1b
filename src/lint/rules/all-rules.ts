/** Every rule, and every example. A new file of rules is joined here, in both lists. */
import type { ExampleTable, LintRule } from "../rule.ts";
import { CNI_FLANNEL_EXAMPLES } from "./cni-flannel.examples.ts";
import { CNI_FLANNEL_RULES } from "./cni-flannel.ts";
import { CNI_IPAM_EXAMPLES } from "./cni-ipam.examples.ts";
import { CNI_IPAM_RULES } from "./cni-ipam.ts";
import { CNI_POD_EXAMPLES } from "./cni-pods.examples.ts";
import { CNI_POD_RULES } from "./cni-pods.ts";
import { CNI_POLICY_EXAMPLES } from "./cni-policies.examples.ts";
import { CNI_POLICY_RULES } from "./cni-policies.ts";
import { CNI_RANGE_EXAMPLES } from "./cni-ranges.examples.ts";
import { CNI_RANGE_RULES } from "./cni-ranges.ts";
import { CNI_STRUCTURE_EXAMPLES } from "./cni-structure.examples.ts";
import { CNI_STRUCTURE_RULES } from "./cni-structure.ts";
import { FLANNEL_EXAMPLES } from "./flannel.examples.ts";
import { FLANNEL_RULES } from "./flannel.ts";
import { HNS_EXAMPLES } from "./hns.examples.ts";
import { HNS_POLICY_RULES } from "./hns-policies.ts";
import { HNS_RULES } from "./hns.ts";
import { JSON_FILE_EXAMPLES } from "./json-files.examples.ts";
import { JSON_FILE_RULES } from "./json-files.ts";
import { KUBE_PROXY_EXAMPLES } from "./kube-proxy.examples.ts";
import { KUBE_PROXY_OPTION_RULES } from "./kube-proxy-options.ts";
import { KUBE_PROXY_RULES } from "./kube-proxy.ts";
import { POD_EXAMPLES } from "./pods.examples.ts";
import { POD_RULES } from "./pods.ts";
import { SUBNET_ENV_RULES } from "./subnet-env.ts";

export const LINT_RULES: readonly LintRule[] = Object.freeze([
  ...POD_RULES,
  ...JSON_FILE_RULES,
  ...CNI_STRUCTURE_RULES,
  ...CNI_POD_RULES,
  ...CNI_FLANNEL_RULES,
  ...CNI_POLICY_RULES,
  ...CNI_RANGE_RULES,
  ...CNI_IPAM_RULES,
  ...FLANNEL_RULES,
  ...SUBNET_ENV_RULES,
  ...KUBE_PROXY_RULES,
  ...KUBE_PROXY_OPTION_RULES,
  ...HNS_RULES,
  ...HNS_POLICY_RULES,
]);

export const LINT_EXAMPLES: ExampleTable = Object.freeze({
  ...POD_EXAMPLES,
  ...JSON_FILE_EXAMPLES,
  ...CNI_STRUCTURE_EXAMPLES,
  ...CNI_POD_EXAMPLES,
  ...CNI_FLANNEL_EXAMPLES,
  ...CNI_POLICY_EXAMPLES,
  ...CNI_RANGE_EXAMPLES,
  ...CNI_IPAM_EXAMPLES,
  ...FLANNEL_EXAMPLES,
  ...KUBE_PROXY_EXAMPLES,
  ...HNS_EXAMPLES,
});

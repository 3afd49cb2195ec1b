/** Every rule. A new file of rules is joined here, and its examples in `all-examples.ts`. */
import type { LintRule } from "../rule.ts";
import { CNI_FLANNEL_RULES } from "./cni/cni-flannel.ts";
import { CNI_IPAM_RULES } from "./cni/cni-ipam.ts";
import { CNI_POD_RULES } from "./cni/cni-pods.ts";
import { CNI_POLICY_RULES } from "./cni/cni-policies.ts";
import { CNI_RANGE_RULES } from "./cni/cni-ranges.ts";
import { CNI_STRUCTURE_RULES } from "./cni/cni-structure.ts";
import { FLANNEL_RULES } from "./flannel.ts";
import { HNS_POLICY_RULES } from "./hns-policies.ts";
import { HNS_RULES } from "./hns.ts";
import { JSON_FILE_RULES } from "./json-files.ts";
import { KUBE_PROXY_OPTION_RULES } from "./kube-proxy-options.ts";
import { KUBE_PROXY_RULES } from "./kube-proxy.ts";
import { MANIFEST_RULES } from "./kubernetes/manifests.ts";
import { NAME_RULES } from "./kubernetes/names.ts";
import { NETWORK_POLICY_RULES } from "./kubernetes/network-policies.ts";
import { NODE_RULES } from "./kubernetes/nodes.ts";
import { OVN_RULES } from "./kubernetes/ovn.ts";
import { POD_RULES } from "./kubernetes/pods.ts";
import { PROVIDER_RULES } from "./kubernetes/providers.ts";
import { SCHEDULING_RULES } from "./kubernetes/scheduling.ts";
import { SERVICE_RULES } from "./kubernetes/services.ts";
import { NODE_SETTINGS_RULES } from "./node-settings.ts";
import { SUBNET_ENV_RULES } from "./subnet-env.ts";

export const LINT_RULES: readonly LintRule[] = Object.freeze([
  ...POD_RULES,
  ...SCHEDULING_RULES,
  ...NAME_RULES,
  ...SERVICE_RULES,
  ...NETWORK_POLICY_RULES,
  ...NODE_RULES,
  ...PROVIDER_RULES,
  ...OVN_RULES,
  ...MANIFEST_RULES,
  ...JSON_FILE_RULES,
  ...CNI_STRUCTURE_RULES,
  ...CNI_POD_RULES,
  ...CNI_FLANNEL_RULES,
  ...CNI_POLICY_RULES,
  ...CNI_RANGE_RULES,
  ...CNI_IPAM_RULES,
  ...FLANNEL_RULES,
  ...SUBNET_ENV_RULES,
  ...NODE_SETTINGS_RULES,
  ...KUBE_PROXY_RULES,
  ...KUBE_PROXY_OPTION_RULES,
  ...HNS_RULES,
  ...HNS_POLICY_RULES,
]);

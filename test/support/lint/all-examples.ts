/** The examples of all rules. They are no part of `all-rules.ts`, so that lint starts without them. */
import type { ExampleTable } from "./example-input.ts";
import { CNI_FLANNEL_EXAMPLES } from "./cni/cni-flannel.examples.ts";
import { CNI_IPAM_EXAMPLES } from "./cni/cni-ipam.examples.ts";
import { CNI_POD_EXAMPLES } from "./cni/cni-pods.examples.ts";
import { CNI_POLICY_EXAMPLES } from "./cni/cni-policies.examples.ts";
import { CNI_RANGE_EXAMPLES } from "./cni/cni-ranges.examples.ts";
import { CNI_STRUCTURE_EXAMPLES } from "./cni/cni-structure.examples.ts";
import { FLANNEL_EXAMPLES } from "./flannel.examples.ts";
import { HNS_EXAMPLES } from "./hns.examples.ts";
import { JSON_FILE_EXAMPLES } from "./json-files.examples.ts";
import { KUBE_PROXY_EXAMPLES } from "./kube-proxy.examples.ts";
import { MANIFEST_EXAMPLES } from "./kubernetes/manifests.examples.ts";
import { NAME_EXAMPLES } from "./kubernetes/names.examples.ts";
import { NETWORK_POLICY_EXAMPLES } from "./kubernetes/network-policies.examples.ts";
import { NODE_EXAMPLES } from "./kubernetes/nodes.examples.ts";
import { POD_EXAMPLES } from "./kubernetes/pods.examples.ts";
import { PROVIDER_EXAMPLES } from "./kubernetes/providers.examples.ts";
import { SERVICE_EXAMPLES } from "./kubernetes/services.examples.ts";
import { NODE_SETTINGS_EXAMPLES } from "./node-settings.examples.ts";

export const LINT_EXAMPLES: ExampleTable = Object.freeze({
  ...POD_EXAMPLES,
  ...NAME_EXAMPLES,
  ...SERVICE_EXAMPLES,
  ...NETWORK_POLICY_EXAMPLES,
  ...NODE_EXAMPLES,
  ...PROVIDER_EXAMPLES,
  ...MANIFEST_EXAMPLES,
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
  ...NODE_SETTINGS_EXAMPLES,
});

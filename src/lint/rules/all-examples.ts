/** The examples of all rules. They are no part of `all-rules.ts`, so that lint starts without them. */
import type { ExampleTable } from "../rule.ts";
import { CNI_FLANNEL_EXAMPLES } from "./cni-flannel.examples.ts";
import { CNI_IPAM_EXAMPLES } from "./cni-ipam.examples.ts";
import { CNI_POD_EXAMPLES } from "./cni-pods.examples.ts";
import { CNI_POLICY_EXAMPLES } from "./cni-policies.examples.ts";
import { CNI_RANGE_EXAMPLES } from "./cni-ranges.examples.ts";
import { CNI_STRUCTURE_EXAMPLES } from "./cni-structure.examples.ts";
import { FLANNEL_EXAMPLES } from "./flannel.examples.ts";
import { HNS_EXAMPLES } from "./hns.examples.ts";
import { JSON_FILE_EXAMPLES } from "./json-files.examples.ts";
import { KUBE_PROXY_EXAMPLES } from "./kube-proxy.examples.ts";
import { MANIFEST_EXAMPLES } from "./manifests.examples.ts";
import { NAME_EXAMPLES } from "./names.examples.ts";
import { NETWORK_POLICY_EXAMPLES } from "./network-policies.examples.ts";
import { NODE_EXAMPLES } from "./nodes.examples.ts";
import { POD_EXAMPLES } from "./pods.examples.ts";
import { PROVIDER_EXAMPLES } from "./providers.examples.ts";
import { SERVICE_EXAMPLES } from "./services.examples.ts";

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
});

/** The examples of all rules. They are no part of `all-rules.ts`, so that lint starts without them. */
import type { ExampleTable } from "../rule.ts";
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
});

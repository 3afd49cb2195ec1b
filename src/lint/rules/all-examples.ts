/** The examples of all rules. They are no part of `all-rules.ts`, so that lint starts without them. */
import type { ExampleTable } from "../rule.ts";
import { NAME_EXAMPLES } from "./names.examples.ts";
import { POD_EXAMPLES } from "./pods.examples.ts";
import { SERVICE_EXAMPLES } from "./services.examples.ts";

export const LINT_EXAMPLES: ExampleTable = Object.freeze({
  ...POD_EXAMPLES,
  ...NAME_EXAMPLES,
  ...SERVICE_EXAMPLES,
});

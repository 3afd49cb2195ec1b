/** All checks. */
import type { NodeCheck } from "../check.ts";
import { ENDPOINT_CHECKS } from "./endpoints.ts";
import { NETWORK_CHECKS } from "./networks.ts";
import { SERVICE_CHECKS } from "./services.ts";
import { WINDOWS_CHECKS } from "./windows.ts";

/** Of findings that are equally sure the first is told first: what others follow from stands above them. */
export const NODE_CHECKS: readonly NodeCheck[] = [
  ...WINDOWS_CHECKS,
  ...NETWORK_CHECKS,
  ...ENDPOINT_CHECKS,
  ...SERVICE_CHECKS,
];

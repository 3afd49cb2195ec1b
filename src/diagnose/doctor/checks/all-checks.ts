/** All checks. */
import type { NodeCheck } from "../check.ts";
import { ACL_CHECKS } from "./acl-rules.ts";
import { BRING_UP_CHECKS } from "./bring-up.ts";
import { CLOCK_CHECKS } from "./clocks.ts";
import { CLUSTER_CHECKS } from "./cluster.ts";
import { ENDPOINT_CHECKS } from "./endpoints.ts";
import { HOST_CHECKS } from "./host.ts";
import { LEASE_CHECKS } from "./leases.ts";
import { LOAD_BALANCER_CHECKS } from "./load-balancers.ts";
import { NETWORK_CHECKS } from "./networks.ts";
import { PLUGIN_POLICY_CHECKS } from "./plugin-policies.ts";
import { POLICY_CHECKS } from "./policies.ts";
import { PROGRAM_CHECKS, SYMPTOM_CHECKS } from "./programs.ts";
import { RULE_CHECKS } from "./rules.ts";
import { SERVICE_CHECKS } from "./services.ts";
import { SOURCE_CHECKS } from "./source-addresses.ts";
import { SYSTEM_CHECKS } from "./system.ts";
import { TUNNEL_CHECKS } from "./tunnels.ts";
import { UNDERLAY_CHECKS } from "./underlay.ts";
import { WINDOWS_CHECKS } from "./windows.ts";

/** Of findings that are equally sure the first is told first: what others follow from stands above them. */
export const NODE_CHECKS: readonly NodeCheck[] = [
  ...SYSTEM_CHECKS,
  ...CLOCK_CHECKS,
  ...BRING_UP_CHECKS,
  ...HOST_CHECKS,
  ...UNDERLAY_CHECKS,
  ...LEASE_CHECKS,
  ...WINDOWS_CHECKS,
  ...RULE_CHECKS,
  ...ACL_CHECKS,
  ...NETWORK_CHECKS,
  ...TUNNEL_CHECKS,
  ...PROGRAM_CHECKS,
  ...ENDPOINT_CHECKS,
  ...SOURCE_CHECKS,
  ...POLICY_CHECKS,
  ...PLUGIN_POLICY_CHECKS,
  ...SERVICE_CHECKS,
  ...LOAD_BALANCER_CHECKS,
  ...CLUSTER_CHECKS,
  ...SYMPTOM_CHECKS,
];

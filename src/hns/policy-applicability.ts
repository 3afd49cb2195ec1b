/** Which policies a type of network can do (hcn.md §3.1, §3.3, §6.1). */
import { HcnError } from "../hcn/error.ts";
import type { NetworkType } from "../hcn/network.ts";
import type { NetworkRecord } from "./network-record.ts";

/** Types whose ports VFP programs (hcn.md §4.1, table of types). */
const VFP_TYPES: readonly NetworkType[] = ["L2Bridge", "L2Tunnel", "Overlay"];

/**
 * Inferred: the networks that cannot do SDN routes are those without VFP, whose rules the routes are (hcn.md §6.1).
 * @throws HcnError HCN_E_INVALID_POLICY_TYPE. `what` names the route for the message.
 */
export function checkTakesSdnRoutes(network: NetworkRecord, what: string): void {
  if (VFP_TYPES.includes(network.type)) return;
  throw new HcnError("HCN_E_INVALID_POLICY_TYPE", {
    detail: `${what} needs a network of type ${VFP_TYPES.join(", ")}; ${network.name} is of type ${network.type}`,
  });
}

/** Which policies a type of network can do (hcn.md §3.1, §3.3, §6.1). */
import type { EndpointPolicy } from "../../hcn/endpoint-policy.ts";
import { HcnError } from "../../hcn/error.ts";
import type { NetworkType } from "../../hcn/network.ts";
import type { NetworkRecord } from "../network-record.ts";
import { traitsOf } from "../network/type-traits.ts";

/**
 * Inferred: the networks that cannot do SDN routes are those without VFP, whose rules the routes are (hcn.md §6.1).
 * @throws HcnError HCN_E_INVALID_POLICY_TYPE. `what` names the route for the message.
 */
export function checkTakesSdnRoutes(network: NetworkRecord, what: string): void {
  if (traitsOf(network.type).needsVfp) return;
  throw new HcnError("HCN_E_INVALID_POLICY_TYPE", {
    detail: `${what} needs a network of type L2Bridge, L2Tunnel or Overlay; ${network.name} is of type ${network.type}`,
  });
}

/** Types whose endpoints are behind addresses of the node: the host translates, or VFP does (hcn.md §4.1). */
const MAPPING_TYPES: readonly NetworkType[] = [
  "NAT",
  "ICS",
  "ConstrainedICS",
  "L2Bridge",
  "L2Tunnel",
  "Overlay",
];

/** Inferred: which types are those "without NAT" that refuse a mapping (hcn.md §6.1). */
function checkTakesMappings(network: NetworkRecord, where: string): void {
  if (MAPPING_TYPES.includes(network.type)) return;
  throw new HcnError("HCN_E_MAPPING_NOT_SUPPORTED", {
    detail: `${where} maps a port of the node; endpoints of ${network.type} networks such as ${network.name} are reached at their own addresses`,
  });
}

/** @throws HcnError when endpoints of `network` cannot have `policy`. */
export function checkApplies(network: NetworkRecord, policy: EndpointPolicy, where: string): void {
  if (policy.Type === "SDNRoute") checkTakesSdnRoutes(network, where);
  if (policy.Type === "PortMapping") checkTakesMappings(network, where);
}

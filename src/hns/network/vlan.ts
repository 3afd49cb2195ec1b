/** The VLAN that an endpoint's port is in: its own policy's, else that of its subnet (dataplane.md §2.6, walk T-7). */
import type { EndpointRecord } from "../endpoint-record.ts";
import type { NetworkRecord } from "../network-record.ts";
import { prefixContains } from "../../net/prefix.ts";
import { traitsOf } from "./type-traits.ts";

/** A subnet as far as its policies go; those of addresses that are an endpoint's own affair have no prefix. */
function subnetPoliciesOf(
  network: NetworkRecord,
  endpoint: EndpointRecord,
): NetworkRecord["bareSubnets"][number]["policies"] {
  const subnet = network.subnets.find(({ prefix }) =>
    endpoint.ipConfigs.some((config) => prefixContains(prefix, config.ip)),
  );
  return (subnet ?? network.subnets[0] ?? network.bareSubnets[0])?.policies ?? [];
}

/** True where ports are in access mode of a VLAN: Transparent and L2Bridge (hcn.md §3.2). */
export function hasVlans(network: NetworkRecord): boolean {
  const isPlain = traitsOf(network.type).isPlain && network.switchKind === "external";
  return isPlain || network.type === "L2Bridge";
}

/** 0: untagged. */
export function vlanOf(network: NetworkRecord, endpoint: EndpointRecord): number {
  if (!hasVlans(network)) return 0;
  for (const policy of [...endpoint.policies, ...subnetPoliciesOf(network, endpoint)])
    if (policy.Type === "VLAN") return policy.Settings.IsolationId;
  return 0;
}

/**
 * What appears some time after a switch was made: the node has its addresses on the switch then (hcn.md §4.1).
 * Worked out from the clock when somebody looks; nothing waits.
 */
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { formatIp } from "#core/net/ip.ts";
import { type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import { managementIpOf } from "../../compile/network-view.ts";
import type { NetworkRecord } from "./network-record.ts";
import type { ServiceContext } from "../service-context.ts";
import { traitsOf } from "./type-traits.ts";

/** True once the node has its addresses on the network's switch. */
export function isAddressed(context: ServiceContext, network: NetworkRecord): boolean {
  return context.nowMs >= network.addressedAtMs;
}

/** The address that other nodes and plugins know this node by; undefined: not yet, or the node has none there. */
export function managementAddress(context: ServiceContext, network: NetworkRecord): string | undefined {
  const adapter = network.switchKind === "external" ? context.adapterOf(network) : undefined;
  if (adapter === undefined || !isAddressed(context, network)) return undefined;
  const address = managementIpOf(context.nodeFacts(adapter));
  return address === undefined ? undefined : formatIp(address);
}

/** The MAC of the distributed router as v1 shows it: networks with VFP have one. */
export function routerMac(context: ServiceContext, network: NetworkRecord): string | undefined {
  return traitsOf(network.type).needsVfp && isAddressed(context, network)
    ? formatMac(network.drMac)
    : undefined;
}

/** The router's MAC that a request names. */
export function wantedRouterMac(policies: readonly NetworkPolicy[]): Mac | undefined {
  for (const policy of policies) if (policy.Type === "DrMacAddress") return parseMac(policy.Settings.Address);
  return undefined;
}

function has(network: NetworkRecord, type: NetworkPolicy["Type"]): boolean {
  return network.policies.some((policy) => policy.Type === type);
}

/** The entries that the service itself adds to an Overlay network (hcn.md §2.2). */
function ownPolicies(context: ServiceContext, network: NetworkRecord): readonly NetworkPolicy[] {
  if (network.type !== "Overlay") return [];
  const added: NetworkPolicy[] = [];
  const address = managementAddress(context, network);
  if (address !== undefined && !has(network, "ProviderAddress"))
    added.push({ Type: "ProviderAddress", Settings: { ProviderAddress: address } });
  const mac = routerMac(context, network);
  if (mac !== undefined && !has(network, "DrMacAddress"))
    added.push({ Type: "DrMacAddress", Settings: { Address: mac } });
  return added;
}

/** The policies as v2 results list them: the service's own stand behind the adapter's name (hcn.md §9.5). */
export function shownPolicies(context: ServiceContext, network: NetworkRecord): readonly NetworkPolicy[] {
  const added = ownPolicies(context, network);
  if (added.length === 0) return network.policies;
  const position = network.policies.findIndex((policy) => policy.Type === "NetAdapterName") + 1;
  return [...network.policies.slice(0, position), ...added, ...network.policies.slice(position)];
}

/** What is asked of a network that is there: its record, and what follows from it on this node. */
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { formatIp, prefixContains } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { managementIpOf } from "../../compile/network-view.ts";
import type { EndpointRecord, NetworkRecord } from "../records.ts";
import type { ServiceContext } from "../service-context.ts";
import { traitsOf } from "./type-traits.ts";
import { NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";

/** @throws HcnError HCN_E_NETWORK_NOT_FOUND. */
export function requireNetwork(context: ServiceContext, id: Guid): NetworkRecord {
  const network = context.state.networks.get(id);
  if (network !== undefined) return network;
  throw new HcnError("HCN_E_NETWORK_NOT_FOUND", { detail: `There is no network ${id}` });
}

// Its switch.

/** False where the node has no adapter of that name: the network was restored on another node. */
export function hasSwitch(context: ServiceContext, network: NetworkRecord): boolean {
  return network.switchKind !== "external" || context.adapterOf(network) !== undefined;
}

/** DisableHostPort, from the version on that knows it (hcn.md §2.2). */
export function hasHostPort(context: ServiceContext, network: NetworkRecord): boolean {
  return (network.flags & NETWORK_FLAGS.DisableHostPort) === 0 || !context.has("DisableHostPort");
}

// The VLAN that an endpoint's port is in: its own policy's, else that of its subnet (dataplane.md §2.6, walk T-7).

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

// What appears some time after a switch was made: the node has its addresses on the switch then (hcn.md §4.1). Worked out
// from the clock when it is asked for; nothing waits.

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

/** The entries that the service itself adds to an Overlay network (hcn.md §2.2). */
function ownPolicies(context: ServiceContext, network: NetworkRecord): readonly NetworkPolicy[] {
  if (network.type !== "Overlay") return [];
  const added: NetworkPolicy[] = [];
  // A network has a policy for each other node, and is read before each remote endpoint.
  const own = network.policies.filter(({ Type }) => Type !== "RemoteSubnetRoute");
  const has = (type: NetworkPolicy["Type"]): boolean => own.some(({ Type }) => Type === type);
  const address = managementAddress(context, network);
  if (address !== undefined && !has("ProviderAddress"))
    added.push({ Type: "ProviderAddress", Settings: { ProviderAddress: address } });
  const mac = routerMac(context, network);
  if (mac !== undefined && !has("DrMacAddress"))
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

/** Networks: create, change, delete (hcn.md §4.1, §4.6, §5.2, §5.3). */
import type { Dns } from "../hcn/base-document.ts";
import type { Guid, JsonObject } from "../hcn/client.ts";
import { HcnError } from "../hcn/error.ts";
import { JsonReader } from "../hcn/json-reader.ts";
import { type ModifyRequest, parseModifyRequest } from "../hcn/modify.ts";
import { readDns, readPolicies } from "../hcn/base-document.ts";
import { type HostComputeNetwork, NETWORK_FLAGS, readSubnet } from "../hcn/network.ts";
import type { NetworkPolicy } from "../hcn/network-policy.ts";
import { NOTIFICATION_TYPES } from "../hcn/notification.ts";
import { NETWORK_POLICY_TYPES } from "../hcn/policy-type.ts";
import { formatPrefix, prefixContains } from "../net/prefix.ts";
import { AddressPool } from "./address-pool.ts";
import type { SwitchDefinition } from "./datapath.ts";
import { removeEndpoint } from "./endpoints.ts";
import { removeLoadBalancer } from "./load-balancers.ts";
import { removeSdnRoute } from "./sdn-routes.ts";
import { chooseMac, chooseMacRange } from "./mac-pool.ts";
import type { NetworkRecord, SubnetRecord } from "./network-record.ts";
import { checkDisjoint, readMacRanges, readSubnetRecord } from "./network-validation.ts";
import { readAddressing } from "./network/addressing.ts";
import { type SwitchPlacement, hasSwitch, isSwitchShared, placeSwitch } from "./network/switch-placement.ts";
import { traitsOf } from "./network/type-traits.ts";
import type { PhysicalAdapter } from "./physical-adapter.ts";
import type { ServiceContext } from "./service-context.ts";
import { checkNetworkPolicies, combineNetworkPolicies } from "./policies/network-policies.ts";
import { aclsOf, checkSetPolicies } from "./policies/set-policies.ts";

/** @throws HcnError HCN_E_NETWORK_NOT_FOUND. */
export function requireNetwork(context: ServiceContext, id: Guid): NetworkRecord {
  const network = context.state.networks.get(id);
  if (network !== undefined) return network;
  throw new HcnError("HCN_E_NETWORK_NOT_FOUND", { detail: `There is no network ${id}` });
}

/** Names are compared exactly; Inferred (hcn.md §11.14). Networks without a name do not clash. */
function checkUnique(context: ServiceContext, id: Guid, name: string): void {
  for (const network of context.state.networks.values()) {
    if (network.id !== id && (network.name !== name || name === "")) continue;
    throw new HcnError("HCN_E_NETWORK_ALREADY_EXISTS", {
      detail: `Network ${network.name} has the id ${network.id}; delete it or choose another name`,
    });
  }
}

/** The service enters the adapter in use when the request names none (hcn.md §2.2). */
function withAdapterName(
  policies: readonly NetworkPolicy[],
  adapter: PhysicalAdapter | undefined,
): readonly NetworkPolicy[] {
  if (adapter === undefined || policies.some((policy) => policy.Type === "NetAdapterName")) return policies;
  const named: NetworkPolicy = {
    Type: "NetAdapterName",
    Settings: Object.freeze({ NetworkAdapterName: adapter.name }),
  };
  return Object.freeze([...policies, Object.freeze(named)]);
}

function makeRecord(
  context: ServiceContext,
  document: HostComputeNetwork,
  id: Guid,
  { switchId, layerId, adapter }: SwitchPlacement,
  policies: readonly NetworkPolicy[],
): NetworkRecord {
  const type = document.Type ?? "NAT";
  const { switchKind } = traitsOf(type);
  const addressing = readAddressing(context, document, type);
  const taken = [...context.state.networks.values()].flatMap((network) => network.macRanges);
  const macRanges = readMacRanges(document) ?? Object.freeze([chooseMacRange(taken, context.prng)]);
  return Object.freeze({
    ...context.baseOf(id, {
      owner: document.Owner ?? "",
      name: document.Name ?? "",
      additionalParams: document.AdditionalParams,
    }),
    ...((document.SchemaVersion?.Major ?? 0) >= 2 && { schemaVersion: document.SchemaVersion }),
    type,
    switchKind,
    adapterName: adapter?.name,
    switchId,
    layerId,
    policies: withAdapterName(policies, adapter),
    macRanges,
    dns: document.Dns,
    ...addressing,
    flags: knownFlags(context, document.Flags ?? 0),
    drMac: chooseMac(context.prng),
    hostMac: switchKind === "internal" ? chooseMac(context.prng) : undefined,
  });
}

/** Inferred: a service without DisableHostPort ignores the flag, as everything that it does not know (hcn.md §1.6, §7.1). */
function knownFlags(context: ServiceContext, flags: number): number {
  return context.has("DisableHostPort") ? flags : flags & ~NETWORK_FLAGS.DisableHostPort;
}

/** The switch that a network's record asks for; undefined: the node has no such adapter. */
function switchDefinitionOf(context: ServiceContext, network: NetworkRecord): SwitchDefinition | undefined {
  const { switchKind, switchId: id, name, hostMac } = network;
  const adapter = context.adapterOf(network);
  if (switchKind === "external") return adapter && { kind: "external", id, adapter };
  if (switchKind === "private" || hostMac === undefined) return { kind: "private", id, name };
  const hostAddresses = network.subnets.flatMap(({ gateway, prefix }) =>
    gateway === undefined ? [] : [{ ip: gateway, length: prefix.length }],
  );
  return { kind: "internal", id, name, hostMac, hostAddresses };
}

/**
 * Enters a network and makes its switch, unless another network has made it.
 * @returns false when the node has no such adapter: then the network has no switch.
 */
export function bringUpNetwork(context: ServiceContext, network: NetworkRecord): boolean {
  const definition = switchDefinitionOf(context, network);
  if (definition !== undefined && !isSwitchShared(context, network))
    context.datapath.createSwitch(definition);
  const adapter = context.adapterOf(network);
  const addresses = adapter === undefined ? [] : context.nodeFacts(adapter).addresses;
  context.state.addNetwork(network, new AddressPool(addresses));
  return definition !== undefined;
}

/** Creates a network from a checked document. @returns its id. */
export function createNetwork(
  context: ServiceContext,
  document: HostComputeNetwork,
  wantedId: Guid | undefined,
): Guid {
  const id = context.chooseId(wantedId ?? document.ID);
  checkUnique(context, id, document.Name ?? "");
  const policies = checkNetworkPolicies(context, document.Policies ?? []);
  checkSetPolicies([], policies, "Add");
  // A missing type means NAT (hcn.md §2.2).
  const placement = placeSwitch(context, document.Type ?? "NAT", id, policies);
  const network = makeRecord(context, document, id, placement, policies);
  context.notify(NOTIFICATION_TYPES.NetworkPreCreate, id, network.flags);
  bringUpNetwork(context, network);
  context.changed("Network", id);
  context.notify(NOTIFICATION_TYPES.NetworkCreate, id, network.flags);
  return id;
}

/**
 * Deletes a network with its endpoints, attached or not. Inferred (hcn.md §4.6): that endpoints, load balancers and
 * routes go with it. The switch goes with its last network, and the adapter gets its addresses back.
 */
export function deleteNetwork(context: ServiceContext, id: Guid): void {
  const network = requireNetwork(context, id);
  context.notify(NOTIFICATION_TYPES.NetworkPreDelete, id, network.flags);
  for (const loadBalancer of context.state.membersOf(id).loadBalancers.values())
    removeLoadBalancer(context, loadBalancer);
  for (const route of context.state.sdnRoutesOfNetwork(id)) removeSdnRoute(context, route);
  for (const endpoint of context.state.endpointsOf(id)) removeEndpoint(context, endpoint);
  // Its switch may carry other networks: what this one put into the host's port has to go.
  context.ports.reprogram(id);
  context.state.removeNetwork(id);
  context.ports.forget(id);
  context.cache.forget(id);
  if (hasSwitch(context, network) && !isSwitchShared(context, network))
    context.datapath.removeSwitch(network.switchId);
  context.changed("Network", id);
  context.notify(NOTIFICATION_TYPES.NetworkDelete, id, network.flags);
}

function replaceNetwork(
  context: ServiceContext,
  network: NetworkRecord,
  changes: Partial<NetworkRecord>,
): void {
  const updated: NetworkRecord = Object.freeze({ ...network, ...changes, changedAtMs: context.nowMs });
  context.state.networks.set(network.id, updated);
  context.changed("Network", network.id);
  context.ports.reprogram(network.id);
}

/** Settings of a `Policy` request. */
function modifyPolicies(
  context: ServiceContext,
  network: NetworkRecord,
  request: ModifyRequest<"Network">,
): void {
  const reader = new JsonReader(request.settings, "Settings", "HCN_E_INVALID_JSON");
  const documents = readPolicies(reader, NETWORK_POLICY_TYPES) ?? [];
  const isAddition = request.requestType === "Add";
  const given = checkNetworkPolicies(context, documents, isAddition ? network.policies : []);
  if (given.some((policy) => policy.Type === "NetAdapterName")) {
    throw new HcnError("HCN_E_SHARED_SWITCH_MODIFICATION", {
      detail:
        "The adapter of a network cannot be changed; delete the network and create it on the other adapter",
    });
  }
  checkSetPolicies(network.policies, given, request.requestType, () => aclsOf(context, network));
  const policies = Object.freeze(combineNetworkPolicies(network.policies, given, request.requestType));
  replaceNetwork(context, network, { policies });
}

function modifyDns(context: ServiceContext, network: NetworkRecord, request: ModifyRequest<"Network">): void {
  const dns = readDns(new JsonReader({ Dns: request.settings }, "Settings", "HCN_E_INVALID_JSON"));
  replaceNetwork(context, network, { dns: request.requestType === "Remove" ? undefined : dns });
}

/** @throws HcnError HCN_E_ENTITY_HAS_REFERENCES when an endpoint has an address of the subnet. */
function checkUnused(context: ServiceContext, network: NetworkRecord, subnet: SubnetRecord): void {
  const user = [...context.state.membersOf(network.id).local.values()].find((endpoint) =>
    endpoint.ipConfigs.some((config) => prefixContains(subnet.prefix, config.ip)),
  );
  if (user === undefined) return;
  throw new HcnError("HCN_E_ENTITY_HAS_REFERENCES", {
    detail: `Endpoint ${user.id} has an address of ${formatPrefix(subnet.prefix)}; delete it first`,
  });
}

function modifySubnets(
  context: ServiceContext,
  network: NetworkRecord,
  request: ModifyRequest<"Network">,
): void {
  const reader = new JsonReader(request.settings, "Settings", "HCN_E_INVALID_JSON");
  const given = reader.list("Subnets", readSubnet) ?? [];
  const records = given.map((subnet, index) =>
    readSubnetRecord(context, subnet, `Subnets[${index}]`, "HCN_E_INVALID_SUBNET"),
  );
  if (request.requestType === "Add") {
    const subnets = Object.freeze([...network.subnets, ...records]);
    checkDisjoint(subnets, "HCN_E_INVALID_SUBNET");
    replaceNetwork(context, network, { subnets });
    return;
  }
  const prefixes = new Set(records.map((record) => formatPrefix(record.prefix)));
  const leaving = network.subnets.filter((subnet) => prefixes.has(formatPrefix(subnet.prefix)));
  for (const subnet of leaving) checkUnused(context, network, subnet);
  const subnets = network.subnets.filter((subnet) => !leaving.includes(subnet));
  replaceNetwork(context, network, { subnets: Object.freeze(subnets) });
}

type NetworkChange = (
  context: ServiceContext,
  network: NetworkRecord,
  request: ModifyRequest<"Network">,
) => void;

/** What can be changed, and by which requests. */
const CHANGES: Readonly<
  Record<string, { readonly types: readonly string[]; readonly change: NetworkChange }>
> = {
  DNS: { types: ["Add", "Update", "Remove"], change: modifyDns },
  Policy: { types: ["Add", "Remove", "Update"], change: modifyPolicies },
  Subnet: { types: ["Add", "Remove"], change: modifySubnets },
};

/** Carries out a modify request. */
export function modifyNetwork(context: ServiceContext, id: Guid, settings: JsonObject): void {
  const network = requireNetwork(context, id);
  const request = parseModifyRequest("Network", settings);
  const row = CHANGES[request.resourceType ?? ""];
  if (row === undefined || !row.types.includes(request.requestType)) {
    throw new HcnError("HCN_E_REQUEST_UNSUPPORTED", {
      appendix: `${request.requestType} of ${request.resourceType ?? "nothing"} is not served for networks`,
    });
  }
  row.change(context, network, request);
}

/** The partial update of v1: policies and name resolution that the document names replace those of the network. */
export function updateNetworkV1(context: ServiceContext, id: Guid, document: HostComputeNetwork): void {
  const network = requireNetwork(context, id);
  const given = checkNetworkPolicies(context, document.Policies ?? []);
  const named = given.filter((policy) => policy.Type !== "NetAdapterName");
  const policies = combineNetworkPolicies(network.policies, named, "Update");
  const dns: Dns | undefined = document.Dns ?? network.dns;
  replaceNetwork(context, network, { policies: Object.freeze(policies), dns });
}

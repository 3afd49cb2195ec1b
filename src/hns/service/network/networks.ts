/** Networks: create, change, delete (hcn.md §4.1, §4.6, §5.2, §5.3). */
import type { Dns } from "#contracts/hcn/documents/base-document.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { JsonReader, present as presentFields } from "#contracts/hcn/description/json.ts";
import {
  type ModifyRequest,
  parseModifyRequest,
  requestUnsupported,
} from "#contracts/hcn/documents/request.ts";
import { readDns, readPolicies } from "#contracts/hcn/description/object-json.ts";
import { NETWORK_FLAGS, subnetsOf, type NetworkType } from "#contracts/hcn/documents/network.ts";
import { parseSubnetPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import { NETWORK_POLICY_TYPES } from "#contracts/hcn/documents/policy-type.ts";
import { AddressPool } from "../address-pool.ts";
import { followFilters } from "../endpoint/attachment.ts";
import { removeEndpoint } from "../endpoint/endpoints.ts";
import { removeLoadBalancer } from "../load-balancer/load-balancers.ts";
import { removeSdnRoute } from "../sdn-routes.ts";
import type { NetworkRecord } from "../records.ts";
import { changedExtensions, readExtensionSettings } from "./extensions.ts";
import {
  type NetworkRequest,
  hostAddressesOf,
  makeNetworkRecord,
  switchDefinitionOf,
} from "./make-record.ts";
import { changeIpSubnets, changeSubnets } from "./subnet-changes.ts";
import { isSwitchShared, placeSwitch } from "./switch-placement.ts";
import { hasSwitch, requireNetwork } from "./network-facts.ts";
import type { ServiceContext } from "../service-context.ts";
import { checkNetworkPolicies, combineNetworkPolicies } from "../policies/network-policies.ts";
import { aclsOf, checkSetPolicies } from "../policies/set-policies.ts";
import { traitsOf } from "./type-traits.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

// Which types of network a node can make (hcn.md §2.2, §4.1, §6.1).

/** Types that came later: with which minor of schema 2 (hcn.md §2.2). */
const SCHEMA_MINORS: Readonly<Partial<Record<NetworkType, number>>> = {
  Mirrored: 4,
  Infiniband: 4,
  ConstrainedICS: 10,
};

function checkKnown(context: ServiceContext, type: NetworkType): void {
  const { profile } = context.windows;
  const minor = SCHEMA_MINORS[type] ?? 0;
  if (profile.schemaMinor >= minor) return;
  throw new HcnError("HCN_E_INVALID_NETWORK_TYPE", {
    detail: `Type is ${type}, which came with schema 2.${minor}; ${profile.title} knows 2.${profile.schemaMinor}`,
  });
}

/**
 * Inferred (hcn.md §11.18): an Infiniband network finds no adapter where there is no RDMA hardware, and the nodes here
 * have none.
 * @throws HcnError HCN_E_INVALID_NETWORK_TYPE for a type that the build does not know, HCN_E_ADAPTER_NOT_FOUND,
 * HCN_E_VFP_NOT_ALLOWED without VFP, HCN_E_ICS_DISABLED without the service that ICS networks need.
 */
export function checkTypeAvailable(context: ServiceContext, type: NetworkType): void {
  checkKnown(context, type);
  const { hasVfp, hasIcs } = context.networking;
  if (type === "Infiniband") {
    throw new HcnError("HCN_E_ADAPTER_NOT_FOUND", {
      detail: WORDS.rdmaAdapterMissing,
    });
  }
  if (traitsOf(type).needsVfp && !hasVfp) throw new HcnError("HCN_E_VFP_NOT_ALLOWED");
  if (traitsOf(type).needsIcs && !hasIcs) throw new HcnError("HCN_E_ICS_DISABLED");
}

/** Names are compared exactly; Inferred (hcn.md §11.14). Networks without a name do not clash. */
function checkUnique(context: ServiceContext, id: Guid, name: string): void {
  for (const network of context.state.networks.values()) {
    if (network.id !== id && (network.name !== name || name === "")) continue;
    throw new HcnError("HCN_E_NETWORK_ALREADY_EXISTS", {
      detail: WORDS.networkAlreadyExists({ name: network.name, id: network.id }),
    });
  }
}

/** The host's vNIC on an internal switch has the gateways of all networks there; LayerConstraint can put several on one. */
function settleHostAddresses(context: ServiceContext, { switchKind, switchId }: NetworkRecord): void {
  if (switchKind !== "internal") return;
  const there = [...context.state.networks.values()].filter((network) => network.switchId === switchId);
  context.datapath.setHostAddresses(switchId, there.flatMap(hostAddressesOf));
}

/**
 * Enters a network and makes its switch, unless another network has made it.
 * @returns false when the node has no such adapter: then the network has no switch.
 */
export function bringUpNetwork(context: ServiceContext, network: NetworkRecord): boolean {
  const definition = switchDefinitionOf(context, network);
  const isNew = definition !== undefined && !isSwitchShared(context, network);
  if (isNew) context.datapath.createSwitch(definition);
  const adapter = context.adapterOf(network);
  const isExternal = network.switchKind === "external";
  const addresses = adapter === undefined || !isExternal ? [] : context.nodeFacts(adapter).addresses;
  context.state.addNetwork(network, new AddressPool(addresses, context.networking.allocationOrder));
  if (!isNew) settleHostAddresses(context, network);
  context.changesAt(network.addressedAtMs);
  // Its distributed router is there from the beginning.
  if (network.type === "Overlay") context.ports.reprogram(network.id);
  return definition !== undefined;
}

/** Creates a network from a checked document. @returns its id. */
export function createNetwork(
  context: ServiceContext,
  request: NetworkRequest,
  wantedId: Guid | undefined,
): Guid {
  // A missing type means NAT (hcn.md §2.2).
  const type = request.Type ?? "NAT";
  checkTypeAvailable(context, type);
  const id = context.chooseId(wantedId ?? request.ID);
  checkUnique(context, id, request.Name ?? "");
  const policies = checkNetworkPolicies(context, request.Policies ?? []);
  checkSetPolicies(context, [], policies, "Add");
  const isIsolated =
    request.isIsolated === true || ((request.Flags ?? 0) & NETWORK_FLAGS.IsolateVSwitch) !== 0;
  const placement = placeSwitch(context, { id, type, isIsolated, policies });
  const network = makeNetworkRecord(context, request, id, placement, policies);
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
  context.ports.forget(network);
  context.cache.forget(id);
  if (isSwitchShared(context, network)) settleHostAddresses(context, network);
  else if (hasSwitch(context, network)) context.datapath.removeSwitch(network.switchId);
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
  // Of policies, the routes to other nodes are no business of a pod's own firewall.
  const { policies } = context;
  if (policies.settingsOf(updated.policies) !== policies.settingsOf(network.policies))
    for (const endpoint of context.state.attachedOf(network.id)) followFilters(context, endpoint);
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
      detail: WORDS.networkAdapterImmutable,
    });
  }
  checkSetPolicies(context, network.policies, given, request.requestType, () => aclsOf(context, network));
  const policies = combineNetworkPolicies(context.policies, network.policies, given, request.requestType);
  replaceNetwork(context, network, { policies });
}

/** Both lists, each entry once. */
function joinLists(
  first: readonly string[] | undefined,
  second: readonly string[] | undefined,
): readonly string[] | undefined {
  if (first === undefined || second === undefined) return second ?? first;
  return Object.freeze([...new Set([...first, ...second])]);
}

/** Inferred (hcn.md §5.2): Add puts servers and suffixes behind those that are there; Update replaces all. */
function addDns(before: Dns | undefined, given: Dns | undefined): Dns {
  return presentFields<Dns>({
    Domain: given?.Domain ?? before?.Domain,
    Search: joinLists(before?.Search, given?.Search),
    ServerList: joinLists(before?.ServerList, given?.ServerList),
    Options: joinLists(before?.Options, given?.Options),
  });
}

function modifyDns(context: ServiceContext, network: NetworkRecord, request: ModifyRequest<"Network">): void {
  const given = readDns(new JsonReader({ Dns: request.settings }, "Settings", "HCN_E_INVALID_JSON"));
  const dns = { Add: addDns(network.dns, given), Update: given, Remove: undefined };
  replaceNetwork(context, network, { dns: dns[request.requestType as keyof typeof dns] });
}

function modifyExtension(
  context: ServiceContext,
  network: NetworkRecord,
  request: ModifyRequest<"Network">,
): void {
  const changes = [readExtensionSettings(request.settings)];
  replaceNetwork(context, network, { extensions: changedExtensions(context, network, changes) });
}

/** With `change`, which says what the subnets are then. */
function modifySubnets(change: typeof changeSubnets): NetworkChange {
  return (context, network, { requestType, settings }) => {
    const subnets = change(context, network, requestType, settings);
    replaceNetwork(context, network, { subnets, ipamType: network.ipamType ?? "Static" });
    settleHostAddresses(context, network);
  };
}

type NetworkChange = (
  context: ServiceContext,
  network: NetworkRecord,
  request: ModifyRequest<"Network">,
) => void;

/** What can be changed, by which requests, and with which minor of schema 2 it came. */
const CHANGES: Readonly<
  Record<
    string,
    { readonly types: readonly string[]; readonly schemaMinor?: number; readonly change: NetworkChange }
  >
> = {
  DNS: { types: ["Add", "Update", "Remove"], change: modifyDns },
  Extension: { types: ["Update"], change: modifyExtension },
  Policy: { types: ["Add", "Remove", "Update"], change: modifyPolicies },
  Subnet: { types: ["Add", "Remove"], schemaMinor: 6, change: modifySubnets(changeSubnets) },
  IPSubnet: { types: ["Add", "Remove"], schemaMinor: 6, change: modifySubnets(changeIpSubnets) },
};

/** Carries out a modify request. */
export function modifyNetwork(context: ServiceContext, id: Guid, settings: JsonObject): void {
  const network = requireNetwork(context, id);
  const request = parseModifyRequest("Network", settings);
  const row = CHANGES[request.resourceType ?? ""];
  const isKnown = (row?.schemaMinor ?? 0) <= context.windows.profile.schemaMinor;
  if (row === undefined || !isKnown || !row.types.includes(request.requestType))
    throw requestUnsupported(request, "networks");
  row.change(context, network, request);
}

/** Policies that v1 writes as fields of a network, which clients send back as they read them. */
const CREATE_FIELDS: readonly string[] = ["NetAdapterName", "ProviderAddress", "DrMacAddress"];

/** Inferred: a network keeps its VLAN or VSID; a document that names another one is refused. */
function checkIsolationStays(network: NetworkRecord, document: NetworkRequest): void {
  const present = [...network.subnets, ...network.bareSubnets].flatMap((subnet) => subnet.policies);
  const wanted = subnetsOf(document).flatMap((subnet) => subnet.Policies ?? []);
  for (const [index, each] of wanted.entries()) {
    const { Type, Settings } = parseSubnetPolicy(each, `Policies[${index}]`);
    const isThere = present.some(
      (policy) => policy.Type === Type && policy.Settings.IsolationId === Settings.IsolationId,
    );
    if (isThere) continue;
    throw new HcnError("HCN_E_REQUEST_UNSUPPORTED", {
      detail: WORDS.networkIsolationIdImmutable({
        name: network.name,
        type: Type,
        isolationId: Settings.IsolationId,
      }),
    });
  }
}

/** The partial update of v1: what the document names of policies, extensions and name resolution. */
export function updateNetworkV1(context: ServiceContext, id: Guid, document: NetworkRequest): void {
  const network = requireNetwork(context, id);
  checkIsolationStays(network, document);
  const given = checkNetworkPolicies(context, document.Policies ?? []);
  const named = given.filter((policy) => !CREATE_FIELDS.includes(policy.Type));
  const policies = combineNetworkPolicies(context.policies, network.policies, named, "Update");
  const extensions = changedExtensions(context, network, document.extensions ?? []);
  const dns: Dns | undefined = document.Dns ?? network.dns;
  replaceNetwork(context, network, { policies, dns, extensions });
}

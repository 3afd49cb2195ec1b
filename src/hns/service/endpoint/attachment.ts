/** Attaching and detaching an endpoint: making its vNIC and taking it away (hcn.md §4.4, §4.5). */
import { assert } from "#core/base/assert.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { ENDPOINT_FLAGS } from "#contracts/hcn/documents/endpoint.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import { NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import { asksDhcp } from "./endpoint-document.ts";
import { compileBandwidth } from "../../compile/endpoint-parts.ts";
import type { FilterProgram } from "#dataplane/host/windows-filtering/filter-program.ts";
import { hostFiltersOf } from "../../compile/host-filters.ts";
import { limitProxies } from "../../failures/defects/switch-defects.ts";
import type { DnsDefinition, PortProgram, RouteDefinition, VnicDefinition } from "../../ports/datapath.ts";
import {
  type EndpointAttachment,
  type EndpointRecord,
  type NetworkRecord,
  HOST_COMPARTMENT,
  interfaceNameOf,
  isRemoteEndpoint,
} from "../records.ts";
import { hasRules, traitsOf } from "../network/type-traits.ts";
import { vlanOf, hasSwitch } from "../network/network-facts.ts";
import { RemoteEndpointRecord } from "./remote-endpoint.ts";
import { ENCAP_OVERHEAD } from "../port-programming.ts";
import type { ServiceContext } from "../service-context.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

/** @throws HcnError HCN_E_ENDPOINT_NOT_FOUND. */
export function requireEndpoint(context: ServiceContext, id: Guid): EndpointRecord {
  const endpoint = context.state.endpoints.get(id);
  if (endpoint !== undefined) return endpoint;
  throw new HcnError("HCN_E_ENDPOINT_NOT_FOUND", { detail: `There is no endpoint ${id}` });
}

/** MTU of a vNIC on a switch without an adapter. */
const MTU_DEFAULT = 1_500;
/** Metric of an endpoint's routes when the request names none: what Windows gives a gateway. */
const ROUTE_METRIC = 256;
/**
 * The default route of an endpoint in the host's compartment. That it gets one is observed (flannel-io/flannel#1763:
 * two default gateways on the node); Inferred: it loses against the node's own, or no node would keep its connection.
 */
const HOST_DEFAULT_ROUTE_METRIC = 4_096;

/** Replaces an endpoint's record and notes it for the store. */
export function updateEndpoint(
  context: ServiceContext,
  endpoint: EndpointRecord,
  changes: Partial<EndpointRecord>,
): EndpointRecord {
  const fields = endpoint instanceof RemoteEndpointRecord ? endpoint.fields() : endpoint;
  const updated: EndpointRecord = Object.freeze({ ...fields, ...changes, changedAtMs: context.nowMs });
  context.state.replaceEndpoint(updated);
  context.changed("Endpoint", updated.id);
  return updated;
}

function routesOf(endpoint: EndpointRecord): readonly RouteDefinition[] {
  const isOnHost = endpoint.attachment?.kind === "host";
  return endpoint.routes
    .filter((route) => route.nextHop !== undefined)
    .map((route) => {
      const isDefault = route.destination.length === 0;
      const metric = route.metric ?? (isOnHost && isDefault ? HOST_DEFAULT_ROUTE_METRIC : ROUTE_METRIC);
      return { destination: route.destination, nextHop: route.nextHop, metric };
    });
}

/**
 * With OverrideDNSServerOrder, EnableInternalDNS of v1, the gateway comes before the servers of the settings.
 * Inferred (hcn.md §2.3): containers of Docker, which sets the flag and answers on the gateway, show that order.
 */
function firstServersOf(endpoint: EndpointRecord): readonly Ip[] {
  if ((endpoint.flags & ENDPOINT_FLAGS.OverrideDNSServerOrder) === 0) return [];
  return endpoint.routes.flatMap(({ destination, nextHop }) =>
    destination.length === 0 && nextHop !== undefined ? [nextHop] : [],
  );
}

/** With AutomaticDNS endpoints that name no servers have those of the host (hcn.md §3.1). */
function automaticServersOf(context: ServiceContext, network: NetworkRecord): readonly Ip[] {
  const isAutomatic = network.policies.some(
    (policy) => policy.Type === "AutomaticDNS" && policy.Settings.Enable === true,
  );
  return isAutomatic ? context.datapath.hostDnsServers() : [];
}

/** The endpoint's own settings, field by field, else the network's. The host's resolver is left alone. */
function dnsOf(
  context: ServiceContext,
  network: NetworkRecord,
  endpoint: EndpointRecord,
): DnsDefinition | undefined {
  if (endpoint.attachment?.kind === "host") return undefined;
  const dns = endpoint.dns ?? network.dns;
  const first = firstServersOf(endpoint);
  const listed = (dns?.ServerList ?? []).map(parseIp).filter((ip): ip is Ip => ip !== undefined);
  const named = listed.length > 0 ? listed : automaticServersOf(context, network);
  if (dns === undefined && first.length + named.length === 0) return undefined;
  const servers = [...first, ...named.filter((ip) => !first.includes(ip))];
  return { domain: dns?.Domain ?? "", search: dns?.Search ?? [], servers };
}

/** What EnableLowInterfaceMetric gives. Inferred: the number; Windows gives its fastest adapters 5. */
const LOW_INTERFACE_METRIC = 5;

function interfaceMetricOf(endpoint: EndpointRecord): number | undefined {
  return (endpoint.flags & ENDPOINT_FLAGS.EnableLowInterfaceMetric) === 0 ? undefined : LOW_INTERFACE_METRIC;
}

/** Every link that carries IPv4 takes this much (RFC 791 §3.2). */
const MTU_MIN = 68;

/**
 * The MTU that policies ask for: InterfaceParameters, less EncapOverhead, which is 50 on overlay networks (observed,
 * dataplane.md §2.3). Undefined: they ask for none.
 */
function mtuOf(context: ServiceContext, endpoint: EndpointRecord): number | undefined {
  const network = context.state.networks.get(endpoint.networkId);
  const adapter = network === undefined ? undefined : context.adapterOf(network);
  const mtuBytes = adapter?.device.mtuBytes ?? MTU_DEFAULT;
  let mtu: number | undefined;
  let overhead = network?.type === "Overlay" ? ENCAP_OVERHEAD : 0;
  for (const policy of endpoint.policies) {
    if (policy.Type === "InterfaceParameters") mtu = policy.Settings.Mtu ?? mtu;
    if (policy.Type === "EncapOverhead") overhead = policy.Settings.Overhead ?? overhead;
  }
  if (context.quirks.strikes("encap-overhead-ignored", endpoint.id)) overhead = 0;
  if (mtu === undefined && overhead === 0) return undefined;
  return Math.max(MTU_MIN, Math.min(mtu ?? mtuBytes, mtuBytes) - overhead);
}

/** Gives an attached endpoint's interface the MTU of its policies. */
export function followMtu(context: ServiceContext, endpoint: EndpointRecord): void {
  const portId = endpoint.attachment?.portId;
  if (portId !== undefined) context.datapath.setMtu(portId, mtuOf(context, endpoint));
}

/** Brings the compartment's own firewall in line with an attached endpoint's policies and those of its network. */
export function followFilters(context: ServiceContext, endpoint: EndpointRecord): void {
  const network = context.state.networks.get(endpoint.networkId);
  const portId = endpoint.attachment?.portId;
  if (network === undefined || portId === undefined) return;
  context.datapath.setFilters(portId, filtersOf(context, network, endpoint));
}

/** What WFP does for an endpoint on this node. */
function filtersOf(
  context: ServiceContext,
  network: NetworkRecord,
  endpoint: EndpointRecord,
): FilterProgram | undefined {
  const program = hostFiltersOf(context.cache, context.policies.frameOf(network), endpoint);
  if (program === undefined || program.redirections.length === 0) return program;
  return limitProxies(context, endpoint, program);
}

/** Where ports have rules, the rate is one of them. */
function bandwidthOf(network: NetworkRecord, endpoint: EndpointRecord): readonly Group[] {
  return hasRules(network) ? [] : compileBandwidth(endpoint);
}

/** Brings an attached endpoint's port in line with policies that are no rules: its VLAN, and its rate where it has none. */
export function followPort(context: ServiceContext, endpoint: EndpointRecord): void {
  const network = context.state.networks.get(endpoint.networkId);
  const portId = endpoint.attachment?.portId;
  if (network === undefined || portId === undefined) return;
  context.datapath.setVlan(portId, vlanOf(network, endpoint));
  if (!hasRules(network)) context.datapath.setBandwidth(portId, bandwidthOf(network, endpoint));
}

function vnicOf(
  context: ServiceContext,
  endpoint: EndpointRecord,
  compartmentId: number,
  program: PortProgram | undefined,
): VnicDefinition {
  const network = context.state.networks.get(endpoint.networkId);
  const portId = endpoint.attachment?.portId;
  assert(network !== undefined && portId !== undefined, "an attached endpoint has a network and a port");
  const interfaceName = interfaceNameOf(endpoint);
  // Inferred for L2Bridge: WS2022 was seen to name ports of overlay networks so (dataplane.md §2.8).
  const containerName = `Container NIC ${endpoint.id.slice(0, 8)}`;
  const isOnHost = endpoint.attachment?.kind === "host";
  return {
    switchId: network.switchId,
    portId,
    portName: isOnHost ? interfaceName : containerName,
    portDescription: isOnHost ? interfaceName : `${containerName} (${endpoint.name})`,
    interfaceName,
    compartmentId,
    mac: endpoint.mac,
    addresses: endpoint.ipConfigs.map(({ ip, length }) => ({ ip, length })),
    routes: routesOf(endpoint),
    dns: dnsOf(context, network, endpoint),
    mtuBytes: mtuOf(context, endpoint),
    interfaceMetric: interfaceMetricOf(endpoint),
    vlan: vlanOf(network, endpoint),
    asksDhcp: !isOnHost && asksDhcp(network, endpoint),
    // "Self-assigned" there (dataplane.md §2.6, §2.11); HNS gives out IPv6 on networks of other types, or no one does.
    discoversRouters: !isOnHost && network.type === "Transparent",
    filters: filtersOf(context, network, endpoint),
    bandwidth: bandwidthOf(network, endpoint),
    sendsToFabric: traitsOf(network.type).isTunnelled && !isOnHost,
    program,
  };
}

/**
 * Remote endpoints stay where they are: a namespace takes local ones only, and any other attach or detach is no
 * operation for them (hcn.md §4.4, §6.1).
 * @throws HcnError HCN_E_ENDPOINT_NOT_LOCAL, HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION.
 */
export function checkLocal(endpoint: EndpointRecord, isNamespace: boolean): void {
  if (!isRemoteEndpoint(endpoint)) return;
  throw new HcnError(isNamespace ? "HCN_E_ENDPOINT_NOT_LOCAL" : "HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION", {
    detail: WORDS.attachRemoteEndpoint({ id: endpoint.id }),
  });
}

/** @throws HcnError HCN_E_DEGRADED_OPERATION (hcn.md §4.5). */
export function checkHealthy(endpoint: EndpointRecord): void {
  if (endpoint.degraded === undefined) return;
  throw new HcnError("HCN_E_DEGRADED_OPERATION", {
    detail: WORDS.attachDegradedEndpoint({ id: endpoint.id, degraded: endpoint.degraded }),
    explanation: "hns-object-degraded",
  });
}

/** @throws HcnError HCN_E_ENDPOINT_ALREADY_ATTACHED, HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS, and as `checkLocal` and `checkHealthy`. */
export function checkUnattached(endpoint: EndpointRecord, isNamespace: boolean): void {
  checkLocal(endpoint, isNamespace);
  checkHealthy(endpoint);
  if (endpoint.attachment === undefined) return;
  const inNamespace = endpoint.attachment.namespaceId;
  const elsewhere = endpoint.attachment.kind === "host" ? "the host" : "a container";
  const place = inNamespace === undefined ? elsewhere : `namespace ${inNamespace}`;
  const code =
    isNamespace && inNamespace !== undefined
      ? "HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS"
      : "HCN_E_ENDPOINT_ALREADY_ATTACHED";
  throw new HcnError(code, { detail: `Endpoint ${endpoint.id} is attached to ${place}; detach it first` });
}

/** @throws HcnError HCN_E_ENDPOINT_SHARING_DISABLED for a second container. */
export function checkSharing(context: ServiceContext, endpoint: EndpointRecord, users: number): void {
  const flags = context.state.networks.get(endpoint.networkId)?.flags ?? 0;
  if (users === 0 || (flags & NETWORK_FLAGS.DisableSharing) === 0) return;
  throw new HcnError("HCN_E_ENDPOINT_SHARING_DISABLED", {
    detail: WORDS.endpointSharingDisabled({ id: endpoint.id }),
  });
}

/** Tells those who registered with the endpoint's network; the flags are the network's (hcn.md §1.4). */
export function notifyNetwork(context: ServiceContext, endpoint: EndpointRecord, type: number): void {
  const flags = context.state.networks.get(endpoint.networkId)?.flags;
  context.notify(type, endpoint.id, flags, undefined, endpoint.networkId);
}

/** Undefined: there is no compartment on this machine, or not any more. */
function compartmentOf(context: ServiceContext, attachment: EndpointAttachment): number | undefined {
  if (attachment.kind === "host") return HOST_COMPARTMENT;
  if (attachment.kind === "container") return attachment.compartmentId;
  return context.state.namespaces.get(attachment.namespaceId)?.compartmentId;
}

/** Makes the vNIC of an endpoint whose record says already where it is. Its network is to be programmed anew. */
export function plugIn(context: ServiceContext, endpoint: EndpointRecord): void {
  const { attachment } = endpoint;
  const network = context.state.networks.get(endpoint.networkId);
  const compartmentId = attachment && compartmentOf(context, attachment);
  if (network === undefined || !hasSwitch(context, network)) return;
  if (attachment?.portId === undefined || compartmentId === undefined) return;
  const program = context.ports.programOf(network, endpoint.id);
  context.datapath.attach(vnicOf(context, endpoint, compartmentId, program));
}

/** Makes the vNIC of an attached endpoint anew, with the port that it had; any other endpoint is left as it is. */
export function renewVnic(context: ServiceContext, endpoint: EndpointRecord): void {
  const network = context.state.networks.get(endpoint.networkId);
  const portId = endpoint.attachment?.portId;
  if (network === undefined || portId === undefined) return;
  context.datapath.detach(network.switchId, portId);
  plugIn(context, endpoint);
}

/** Defects that strike when an endpoint is attached. */
function checkAttachDefects(
  context: ServiceContext,
  endpoint: EndpointRecord,
  { kind }: EndpointAttachment,
): void {
  const { id } = endpoint;
  if (endpoint.version !== context.objectVersion && context.hasQuirk("stored-object-incompatible")) {
    throw new HcnError("ERROR_WRONG_DISK", {
      detail: WORDS.endpointVersionIncompatible({ id }),
      explanation: "hns-stored-object-incompatible",
    });
  }
  if (context.hasQuirk("parallel-attach-not-found")) {
    throw new HcnError("ERROR_NOT_FOUND", {
      detail: `Endpoint ${id} is there; the defect parallel-attach-not-found strikes. Try again`,
      explanation: "hns-attach-fails",
    });
  }
  // Inferred: on networks of every type; the documentation speaks of containers (control-planes.md §8.1).
  if (kind !== "host" && context.hasQuirk("ipv6-stack-off")) {
    throw new HcnError("ERROR_NOT_FOUND", {
      detail: "IPv6 is switched off on the host (registry value DisabledComponents)",
      explanation: "windows-ipv6-switched-off",
    });
  }
}

/** Puts the endpoint's vNIC where `attachment` says. The endpoint must be unattached. */
export function attachEndpoint(
  context: ServiceContext,
  endpoint: EndpointRecord,
  attachment: EndpointAttachment,
): EndpointRecord {
  checkAttachDefects(context, endpoint, attachment);
  const attached = updateEndpoint(context, endpoint, { attachment, isPortGone: false });
  plugIn(context, attached);
  context.ports.reprogram(endpoint.networkId);
  notifyNetwork(context, endpoint, NOTIFICATION_TYPES.NetworkEndpointAttached);
  return attached;
}

/** Takes the endpoint's vNIC away; an unattached endpoint is left as it is. */
export function detachEndpoint(context: ServiceContext, endpoint: EndpointRecord): EndpointRecord {
  const { attachment } = endpoint;
  if (attachment === undefined) return endpoint;
  const detached = updateEndpoint(context, endpoint, {
    attachment: undefined,
    isPortGone: attachment.portId !== undefined,
    containers: Object.freeze([]),
    wasUsed: endpoint.wasUsed || endpoint.containers.length > 0,
  });
  const network = context.state.networks.get(endpoint.networkId);
  if (attachment.portId !== undefined && network !== undefined) {
    context.datapath.detach(network.switchId, attachment.portId);
    context.ports.reprogram(network.id);
  }
  if (attachment.kind === "container") releaseCompartment(context, attachment.compartmentId);
  notifyNetwork(context, endpoint, NOTIFICATION_TYPES.NetworkEndpointDetached);
  return detached;
}

/** Gives the host a leg in the endpoint's network (v1 attach with SystemType Host). */
export function attachToHost(
  context: ServiceContext,
  endpoint: EndpointRecord,
  namespaceId: Guid | undefined,
): EndpointRecord {
  const attachment: EndpointAttachment = { kind: "host", namespaceId, portId: context.prng.guid() };
  return attachEndpoint(context, endpoint, Object.freeze(attachment));
}

// Compartments of containers that are in no namespace.

/** The compartment of a container without a namespace. */
export function ownCompartmentOf(context: ServiceContext, containerId: string): number {
  const system = context.computeSystems.require(containerId);
  if (system.compartmentId !== undefined) return system.compartmentId;
  const compartmentId = context.datapath.createCompartment(`container ${containerId.slice(0, 12)}`);
  context.computeSystems.set({ ...system, compartmentId });
  return compartmentId;
}

/** Removes the compartment of containers that are gone when nothing is in it any more. */
export function releaseCompartment(context: ServiceContext, compartmentId: number): void {
  const isOwned = context.computeSystems.list().some((system) => system.compartmentId === compartmentId);
  if (isOwned) return;
  for (const endpoint of context.state.localEndpoints()) {
    const { attachment } = endpoint;
    if (attachment?.kind === "container" && attachment.compartmentId === compartmentId) return;
  }
  context.datapath.removeCompartment(compartmentId);
}

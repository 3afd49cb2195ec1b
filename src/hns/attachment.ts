/** Attaching and detaching an endpoint: making its vNIC and taking it away (hcn.md §4.4, §4.5). */
import { assert } from "../base/assert.ts";
import type { Guid } from "../hcn/client.ts";
import { HcnError } from "../hcn/error.ts";
import { NOTIFICATION_TYPES } from "../hcn/notification.ts";
import { type Ip, parseIp } from "../net/ip.ts";
import type { DnsDefinition, PortProgram, RouteDefinition, VnicDefinition } from "./datapath.ts";
import {
  type Attachment,
  type EndpointRecord,
  interfaceNameOf,
  isRemoteEndpoint,
} from "./endpoint-record.ts";
import { HOST_COMPARTMENT } from "./namespace-record.ts";
import type { NetworkRecord } from "./network-record.ts";
import { hasSwitch } from "./network/switch-placement.ts";
import { RemoteEndpointRecord } from "./remote-endpoint.ts";
import type { ServiceContext } from "./service-context.ts";

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

/** The endpoint's own settings, field by field, else the network's. The host's resolver is left alone. */
function dnsOf(network: NetworkRecord, endpoint: EndpointRecord): DnsDefinition | undefined {
  if (endpoint.attachment?.kind === "host") return undefined;
  const dns = endpoint.dns ?? network.dns;
  if (dns === undefined) return undefined;
  const servers = (dns.ServerList ?? []).map(parseIp).filter((ip): ip is Ip => ip !== undefined);
  return { domain: dns.Domain ?? "", search: dns.Search ?? [], servers };
}

/** The MTU that policies ask for: InterfaceParameters, less EncapOverhead. */
function mtuOf(endpoint: EndpointRecord, mtuBytes: number): number | undefined {
  let mtu: number | undefined;
  let overhead = 0;
  for (const policy of endpoint.policies) {
    if (policy.Type === "InterfaceParameters") mtu = policy.Settings.Mtu ?? mtu;
    if (policy.Type === "EncapOverhead") overhead = policy.Settings.Overhead ?? 0;
  }
  return mtu === undefined && overhead === 0 ? undefined : Math.min(mtu ?? mtuBytes, mtuBytes) - overhead;
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
  const mtuBytes = context.adapterOf(network)?.device.mtuBytes ?? MTU_DEFAULT;
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
    dns: dnsOf(network, endpoint),
    mtuBytes: mtuOf(endpoint, mtuBytes),
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
    detail: `Endpoint ${endpoint.id} stands for one on another machine (Flags 1) and has no vNIC to attach`,
  });
}

/** @throws HcnError HCN_E_ENDPOINT_ALREADY_ATTACHED, HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS, and as `checkLocal`. */
export function checkUnattached(endpoint: EndpointRecord, isNamespace: boolean): void {
  checkLocal(endpoint, isNamespace);
  if (endpoint.degraded !== undefined) {
    throw new HcnError("HCN_E_DEGRADED_OPERATION", {
      detail: `Endpoint ${endpoint.id} is degraded: ${endpoint.degraded}; delete it and create it anew`,
    });
  }
  if (endpoint.attachment === undefined) return;
  const inNamespace = endpoint.attachment.namespaceId;
  const place = inNamespace === undefined ? "the host" : `namespace ${inNamespace}`;
  const code =
    isNamespace && inNamespace !== undefined
      ? "HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS"
      : "HCN_E_ENDPOINT_ALREADY_ATTACHED";
  throw new HcnError(code, { detail: `Endpoint ${endpoint.id} is attached to ${place}; detach it first` });
}

/** Tells those who registered with the endpoint's network; the flags are the network's (hcn.md §1.4). */
function notifyNetwork(context: ServiceContext, endpoint: EndpointRecord, type: number): void {
  const flags = context.state.networks.get(endpoint.networkId)?.flags;
  context.notify(type, endpoint.id, flags, undefined, endpoint.networkId);
}

/** Makes the vNIC of an endpoint whose record says already where it is. Its network is to be programmed anew. */
export function plugIn(
  context: ServiceContext,
  endpoint: EndpointRecord,
  compartmentId: number | undefined,
): void {
  const network = context.state.networks.get(endpoint.networkId);
  if (network === undefined || !hasSwitch(context, network)) return;
  const program = context.ports.programOf(network, endpoint.id);
  if (endpoint.attachment?.portId !== undefined && compartmentId !== undefined)
    context.datapath.attach(vnicOf(context, endpoint, compartmentId, program));
}

/** Puts the endpoint's vNIC where `attachment` says. The endpoint must be unattached. */
export function attachEndpoint(
  context: ServiceContext,
  endpoint: EndpointRecord,
  attachment: Attachment,
  compartmentId: number | undefined,
): EndpointRecord {
  const attached = updateEndpoint(context, endpoint, { attachment, isPortGone: false });
  plugIn(context, attached, compartmentId);
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
  });
  const network = context.state.networks.get(endpoint.networkId);
  if (attachment.portId !== undefined && network !== undefined) {
    context.datapath.detach(network.switchId, attachment.portId);
    context.ports.reprogram(network.id);
  }
  notifyNetwork(context, endpoint, NOTIFICATION_TYPES.NetworkEndpointDetached);
  return detached;
}

/** Gives the host a leg in the endpoint's network (v1 attach with SystemType Host). */
export function attachToHost(
  context: ServiceContext,
  endpoint: EndpointRecord,
  namespaceId: Guid | undefined,
): EndpointRecord {
  const attachment: Attachment = { kind: "host", namespaceId, portId: context.prng.guid() };
  return attachEndpoint(context, endpoint, Object.freeze(attachment), HOST_COMPARTMENT);
}

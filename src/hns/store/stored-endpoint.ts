/** Endpoints in stored form. */
import {
  ENDPOINT_FLAGS,
  ENDPOINT_READER,
  ENDPOINT_STATES,
  parseEndpoint,
} from "#contracts/hcn/documents/endpoint.ts";
import { parseEndpointPolicy } from "#contracts/hcn/documents/endpoint-policy.ts";
import { type JsonValue, isJsonObject } from "#core/base/json.ts";
import { type Guid, ZERO_GUID, parseGuid } from "#contracts/hcn/guid.ts";
import { ENDPOINT_POLICY_TYPES } from "#contracts/hcn/documents/policy-type.ts";
import { bitsOf, familyOf, formatIp, parseIp } from "#core/net/ip.ts";
import { type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import type {
  EndpointAttachment,
  EndpointRecord,
  IpConfigRecord,
  VirtualMachinePort,
} from "../service/records.ts";
import { isOfHost, ownerOfMac } from "../service/endpoint/endpoint-document.ts";
import { isGuest } from "../service/namespace/namespaces.ts";
import { RemoteEndpointRecord } from "../service/endpoint/remote-endpoint.ts";
import { ownCompartmentOf } from "../service/endpoint/attachment.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { endpointDocument, endpointDocumentV1 } from "../view/endpoint-view.ts";
import { type LenientReader, type Report, readBaseFields, readPolicyRecords } from "./lenient-reader.ts";
import { type StoredKindRow, storedKind } from "./stored-kind.ts";

const NO_MAC = 0 as Mac;
/** An attached endpoint whose document does not name its port. */
const UNKNOWN_PORT = "";

function readIpConfigs(reader: LenientReader): readonly IpConfigRecord[] {
  const list = reader.document["IpConfigurations"];
  const parsed = reader.attempt(() => parseEndpoint({ IpConfigurations: list ?? null }));
  const records: IpConfigRecord[] = [];
  for (const { IpAddress, PrefixLength, IpSubnetId } of parsed?.IpConfigurations ?? []) {
    const ip = parseIp(IpAddress ?? "");
    if (ip === undefined) {
      reader.note(`${JSON.stringify(IpAddress ?? "")} is not an address; left out`);
      continue;
    }
    const length = Math.min(PrefixLength ?? 0, bitsOf(familyOf(ip)));
    records.push(Object.freeze({ ip, length, ipSubnetId: IpSubnetId }));
  }
  return Object.freeze(records);
}

function portIdOf(reader: LenientReader): Guid | undefined {
  const allocators: JsonValue | undefined = reader.at("Health", "Extra", "Resources", "Allocators");
  if (!Array.isArray(allocators)) return undefined;
  for (const allocator of allocators as readonly JsonValue[]) {
    const port = isJsonObject(allocator) ? allocator["EndpointPortGuid"] : undefined;
    const id = typeof port === "string" ? parseGuid(port) : undefined;
    if (id !== undefined && id !== ZERO_GUID) return id;
  }
  return undefined;
}

/** Where the document says that the endpoint's vNIC is; which kind of namespace it is shows when it is entered. */
function readAttachment(reader: LenientReader): EndpointAttachment | undefined {
  const namespaceId = reader.field(ENDPOINT_READER, "HostComputeNamespace");
  const portId = portIdOf(reader);
  if (namespaceId !== undefined && namespaceId !== ZERO_GUID)
    return Object.freeze({ kind: "namespace", namespaceId, portId: portId ?? UNKNOWN_PORT });
  const isAttached = reader.field(ENDPOINT_READER, "State") === ENDPOINT_STATES.Attached;
  if (!isAttached || portId === undefined || readVirtualMachine(reader) !== undefined) return undefined;
  return Object.freeze({ kind: "host", namespaceId: undefined, portId });
}

function readVirtualMachine(reader: LenientReader): VirtualMachinePort | undefined {
  const machine = reader.at("Health", "Extra", "VirtualMachine");
  const virtualMachineId = typeof machine === "string" ? parseGuid(machine) : undefined;
  const portId = portIdOf(reader);
  if (virtualMachineId === undefined || virtualMachineId === ZERO_GUID || portId === undefined)
    return undefined;
  return Object.freeze({ virtualMachineId, portId, nicName: `${virtualMachineId}--${portId}` });
}

function readContainers(reader: LenientReader): readonly string[] {
  const shared = reader.at("Health", "Extra", "SharedContainers");
  const ids = Array.isArray(shared) ? (shared as readonly JsonValue[]) : [];
  return Object.freeze(ids.filter((id) => typeof id === "string"));
}

function read(context: ServiceContext, reader: LenientReader): EndpointRecord {
  const macText = reader.field(ENDPOINT_READER, "MacAddress") ?? "";
  return {
    ...readBaseFields(context, reader),
    networkId: reader.field(ENDPOINT_READER, "HostComputeNetwork") ?? "",
    policies: readPolicyRecords(reader, ENDPOINT_POLICY_TYPES, parseEndpointPolicy),
    ipConfigs: readIpConfigs(reader),
    dns: reader.field(ENDPOINT_READER, "Dns"),
    routes: reader.routes(),
    mac: parseMac(macText) ?? NO_MAC,
    macText,
    flags: reader.field(ENDPOINT_READER, "Flags") ?? 0,
    attachment: readAttachment(reader),
    isPortGone: false,
    containers: readContainers(reader),
    virtualMachine: readVirtualMachine(reader),
    wasUsed: false,
    errorCode: 0,
  };
}

/** In the compartment of a container that is there still; its number may be another. */
function containerAttachment(
  context: ServiceContext,
  endpoint: EndpointRecord,
  report: Report,
): EndpointAttachment | undefined {
  const owner = endpoint.containers.find((id) => context.computeSystems.get(id) !== undefined);
  const portId = endpoint.attachment?.portId;
  if (owner !== undefined && portId !== undefined)
    return Object.freeze({
      kind: "container",
      namespaceId: undefined,
      compartmentId: ownCompartmentOf(context, owner),
      portId,
    });
  report(`There is no container ${endpoint.containers.join(", ")}; the endpoint is not attached`);
  return undefined;
}

/** The attachment as the namespace that is there makes it; undefined when there is none. */
function attachmentOf(
  context: ServiceContext,
  endpoint: EndpointRecord,
  report: Report,
): EndpointAttachment | undefined {
  const { attachment } = endpoint;
  if (attachment?.kind === "container") return containerAttachment(context, endpoint, report);
  if (attachment === undefined || attachment.namespaceId === undefined) return attachment;
  const { namespaceId } = attachment;
  const namespace = context.state.namespaces.get(namespaceId);
  if (namespace === undefined) {
    report(`There is no namespace ${namespaceId}; the endpoint is not attached`);
    return undefined;
  }
  if (isGuest(namespace)) return Object.freeze({ kind: "guest", namespaceId, portId: undefined });
  const known = attachment.portId ?? UNKNOWN_PORT;
  const portId = known === UNKNOWN_PORT ? context.prng.guid() : known;
  const kind = namespace.type === "HostDefault" ? "host" : "namespace";
  return Object.freeze({ kind, namespaceId, portId });
}

/** Why an endpoint cannot be in use, whatever it says. */
function faultOf(context: ServiceContext, endpoint: EndpointRecord): string | undefined {
  const { state } = context;
  const network = state.networks.get(endpoint.networkId);
  if (network === undefined) return `there is no network ${endpoint.networkId}`;
  if ((endpoint.flags & ENDPOINT_FLAGS.RemoteEndpoint) !== 0) return undefined;
  for (const { ip } of endpoint.ipConfigs) {
    const owner = state.poolOf(endpoint.networkId).ownerOf(ip);
    // Where two may have one address when they are made, they may have it here.
    const isAllowed = context.hasQuirk("duplicate-local-address") && !isOfHost(context, owner);
    if (owner !== undefined && !isAllowed) return `endpoint ${owner} has the address ${formatIp(ip)} already`;
  }
  const owner = ownerOfMac(context, network, endpoint.mac);
  return owner === undefined ? undefined : `${owner} has the MAC address ${endpoint.macText} already`;
}

function completeMac(
  context: ServiceContext,
  endpoint: EndpointRecord,
): Pick<EndpointRecord, "mac" | "macText"> {
  if (endpoint.mac !== NO_MAC) return { mac: endpoint.mac, macText: endpoint.macText };
  const ranges = context.state.networks.get(endpoint.networkId)?.macRanges ?? [];
  if (ranges.length === 0) return { mac: NO_MAC, macText: endpoint.macText };
  const mac = context.state.macs.allocate(ranges, context.prng);
  return { mac, macText: formatMac(mac) };
}

function enter(context: ServiceContext, given: EndpointRecord, report: Report): void {
  const endpoint = { ...given, ...completeMac(context, given) };
  const fault = faultOf(context, endpoint);
  if (fault !== undefined) report(`The endpoint is degraded: ${fault}`);
  const isRemote = (endpoint.flags & ENDPOINT_FLAGS.RemoteEndpoint) !== 0;
  const attachment = fault !== undefined || isRemote ? undefined : attachmentOf(context, endpoint, report);
  // Containers that are gone share nothing.
  const isDropped = endpoint.attachment?.kind === "container" && attachment === undefined;
  const containers = isDropped ? Object.freeze([]) : endpoint.containers;
  // What broke while it was in use still is.
  const degraded = fault ?? (endpoint.errorCode === 0 ? undefined : endpoint.degraded);
  context.state.addEndpoint(Object.freeze({ ...endpoint, attachment, containers, degraded }));
}

export const STORED_ENDPOINT: StoredKindRow = storedKind<EndpointRecord>({
  kind: "Endpoint",
  records: (state) => state.endpoints,
  document: endpointDocument,
  documentV1: endpointDocumentV1,
  replace: (state, endpoint) => state.replaceEndpoint(endpoint),
  fieldsOf: (endpoint) => (endpoint instanceof RemoteEndpointRecord ? endpoint.fields() : endpoint),
  read,
  enter,
});

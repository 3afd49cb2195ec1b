/**
 * What azure-vnet remembers of networks and endpoints, and the text of `azure-vnet.json`: that of upstream, so that either
 * can go on where the other stopped (cni.md §5.8).
 */
import type { CniRoute } from "#contracts/cni/result.ts";
import { type InterfaceAddress, type Ip, familyOf, formatIp, parseIp, maskIp } from "#core/net/ip.ts";
import {
  decodeBase64,
  encodeBase64,
  formatGoAddress,
  readGoAddress,
  readGoIp,
} from "#contracts/cni/go-json.ts";
import { type SealMarks, isSealBroken, seal } from "#core/base/seal.ts";
import { StructReader, readStruct, parseJson } from "#contracts/cni/json.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import type { NicType } from "../cns/documents.ts";

/** Name resolution; the search list is one text. */
export interface AzureDns {
  readonly suffix: string;
  readonly servers: readonly string[];
  readonly options: readonly string[];
}

export interface AzureEndpointRecord {
  /** The endpoint's name in HNS. */
  readonly id: string;
  readonly hnsId: string;
  readonly ifName: string;
  /** As HNS writes it. */
  readonly mac: string;
  readonly addresses: readonly InterfaceAddress[];
  readonly gateways: readonly Ip[];
  readonly dns: AzureDns;
  readonly routes: readonly CniRoute[];
  readonly containerId: string;
  readonly netns: string;
  readonly podName: string;
  readonly podNamespace: string;
  readonly nicType: NicType;
  readonly vlanId: number;
  /** The network's in HNS; the file has it for interfaces of their own alone. */
  readonly hnsNetworkId: string;
  readonly networkContainerId: string;
  readonly allowsHostToContainer: boolean;
  readonly allowsContainerToHost: boolean;
}

export interface AzureSubnet {
  /** The network's address with its length. */
  readonly prefix: InterfaceAddress;
  readonly gateway: Ip | undefined;
}

/** Mutable: a call works on its own copy, which is written at the end. */
export interface AzureNetworkRecord {
  readonly id: string;
  hnsId: string;
  readonly mode: string;
  readonly vlanId: number;
  readonly enablesSnatOnHost: boolean;
  readonly subnets: readonly AzureSubnet[];
  readonly netns: string;
  readonly endpoints: Map<string, AzureEndpointRecord>;
}

export interface AzureInterfaceRecord {
  readonly name: string;
  readonly mac: string;
  readonly subnets: readonly string[];
  readonly networks: Map<string, AzureNetworkRecord>;
}

export type AzureState = Map<string, AzureInterfaceRecord>;

export interface FoundEndpoint {
  readonly external: AzureInterfaceRecord;
  readonly network: AzureNetworkRecord;
  readonly endpoint: AzureEndpointRecord;
}

export function findNetwork(state: AzureState, id: string): AzureNetworkRecord | undefined {
  for (const { networks } of state.values()) {
    const network = networks.get(id);
    if (network !== undefined) return network;
  }
  return undefined;
}

/** Every endpoint, on whatever network. */
export function allEndpoints(state: AzureState): readonly FoundEndpoint[] {
  return [...state.values()].flatMap((external) =>
    [...external.networks.values()].flatMap((network) =>
      [...network.endpoints.values()].map((endpoint) => ({ external, network, endpoint })),
    ),
  );
}

export function endpointsOfContainer(state: AzureState, containerId: string): readonly FoundEndpoint[] {
  return allEndpoints(state).filter(({ endpoint }) => endpoint.containerId === containerId);
}

/** The endpoint of that name, on whatever network. */
export function endpointOf(state: AzureState, id: string): AzureEndpointRecord | undefined {
  return allEndpoints(state).find(({ endpoint }) => endpoint.id === id)?.endpoint;
}

/** Windows' numbers of address families. */
const FAMILIES = { 4: 2, 6: 23 } as const;
const MAC_BYTES = 6;
const NO_ADDRESS: JsonObject = { IP: "", Mask: null };

// Writing

function formatMacBytes(text: string): JsonValue {
  const mac = parseMac(text);
  if (mac === undefined) return null;
  const bytes = Array.from(
    { length: MAC_BYTES },
    (_, index) => Math.floor(mac / 256 ** (MAC_BYTES - 1 - index)) & 0xff,
  );
  return encodeBase64(bytes);
}

function orNull(list: readonly JsonValue[]): JsonValue {
  return list.length === 0 ? null : list;
}

function formatRoute({ destination, gateway }: CniRoute): JsonObject {
  return {
    Dst: formatGoAddress({ ip: maskIp(destination.ip, destination.length), length: destination.length }),
    Src: "",
    Gw: gateway === undefined ? "" : formatIp(gateway),
    Protocol: 0,
    DevName: "",
    Scope: 0,
    Priority: 0,
    Table: 0,
  };
}

function formatEndpoint(endpoint: AzureEndpointRecord): JsonObject {
  return {
    Id: endpoint.id,
    ...(endpoint.hnsId !== "" && { HnsId: endpoint.hnsId }),
    ...(endpoint.hnsNetworkId !== "" && { HNSNetworkID: endpoint.hnsNetworkId }),
    SandboxKey: endpoint.containerId,
    IfName: endpoint.ifName,
    HostIfName: "",
    MacAddress: formatMacBytes(endpoint.mac),
    InfraVnetIP: NO_ADDRESS,
    LocalIP: "",
    IPAddresses: orNull(endpoint.addresses.map(formatGoAddress)),
    Gateways: orNull(endpoint.gateways.map(formatIp)),
    DNS: {
      Suffix: endpoint.dns.suffix,
      Servers: orNull(endpoint.dns.servers),
      Options: orNull(endpoint.dns.options),
    },
    Routes: orNull(endpoint.routes.map(formatRoute)),
    VlanID: endpoint.vlanId,
    EnableSnatOnHost: false,
    EnableInfraVnet: false,
    EnableMultitenancy: false,
    AllowInboundFromHostToNC: endpoint.allowsHostToContainer,
    AllowInboundFromNCToHost: endpoint.allowsContainerToHost,
    NetworkContainerID: endpoint.networkContainerId,
    ContainerID: endpoint.containerId,
    PODName: endpoint.podName,
    PODNameSpace: endpoint.podNamespace,
    NetNs: endpoint.netns,
    SecondaryInterfaces: null,
    NICType: endpoint.nicType,
  };
}

function formatSubnet({ prefix, gateway }: AzureSubnet): JsonObject {
  return {
    Family: FAMILIES[familyOf(prefix.ip)],
    Prefix: formatGoAddress(prefix),
    Gateway: gateway === undefined ? "" : formatIp(gateway),
    PrimaryIP: "",
  };
}

function fromMap<T>(map: ReadonlyMap<string, T>, format: (value: T) => JsonObject): JsonObject {
  return Object.fromEntries([...map].map(([key, value]) => [key, format(value)]));
}

function formatNetwork(network: AzureNetworkRecord): JsonObject {
  return {
    Id: network.id,
    ...(network.hnsId !== "" && { HnsId: network.hnsId }),
    Mode: network.mode,
    VlanId: network.vlanId,
    Subnets: orNull(network.subnets.map(formatSubnet)),
    Endpoints: fromMap(network.endpoints, formatEndpoint),
    DNS: { Suffix: "", Servers: null, Options: null },
    EnableSnatOnHost: network.enablesSnatOnHost,
    NetNs: network.netns,
    SnatBridgeIP: "",
  };
}

function formatInterface(external: AzureInterfaceRecord): JsonObject {
  return {
    Name: external.name,
    Networks: fromMap(external.networks, formatNetwork),
    Subnets: orNull(external.subnets),
    BridgeName: "",
    DNSInfo: { Suffix: "", Servers: null, Options: null },
    MacAddress: formatMacBytes(external.mac),
    IPAddresses: null,
    Routes: null,
    IPv4Gateway: "0.0.0.0",
    IPv6Gateway: "::",
  };
}

/** The last member of the file, beside "Network" or "IPAM". What another program writes does not end so. */
const SEAL: SealMarks = { before: ',\n\t"MullionChecksum": "', after: '"\n}' };

/** A state file of either plugin: indented with tabs; `isSealed`: with a checksum. */
export function formatStateFile(document: JsonObject, isSealed: boolean): string {
  const text = JSON.stringify(document, undefined, "\t");
  return isSealed ? seal(text.slice(0, -"\n}".length), SEAL) : text;
}

/** @throws DamagedStateError */
export function checkSeal(text: string): void {
  if (isSealBroken(text, SEAL)) throw new DamagedStateError("its checksum is wrong: it is damaged");
}

export function formatState(
  state: AzureState,
  stamp: { readonly version: string; readonly time: string; readonly isSealed?: boolean },
): string {
  const document = {
    Network: {
      Version: stamp.version,
      TimeStamp: stamp.time,
      ExternalInterfaces: fromMap(state, formatInterface),
    },
  };
  return formatStateFile(document, stamp.isSealed === true);
}

// Reading

function readMacBytes(reader: StructReader): string {
  const bytes = decodeBase64(reader.text("MacAddress")) ?? [];
  if (bytes.length !== MAC_BYTES) return "";
  return formatMac(bytes.reduce((mac, byte) => mac * 256 + byte, 0) as Mac);
}

function readRoute(reader: StructReader): CniRoute {
  const destination = readGoAddress(reader.struct("Dst") ?? new StructReader({}, reader.pathOf("Dst")));
  const gateway = readGoIp(reader, "Gw");
  return gateway === undefined ? { destination } : { destination, gateway };
}

const NIC_TYPES: readonly string[] = ["FrontendNIC", "BackendNIC", "ApipaNIC"];

/** What has no type, or an unknown one, is the interface of the cluster's network. */
function readNicType(reader: StructReader): NicType {
  const text = reader.text("NICType");
  return NIC_TYPES.includes(text) ? (text as NicType) : "InfraNIC";
}

function readEndpoint(reader: StructReader): AzureEndpointRecord {
  const dns = reader.struct("DNS");
  return {
    id: reader.text("Id"),
    hnsId: reader.text("HnsId"),
    ifName: reader.text("IfName"),
    mac: readMacBytes(reader),
    addresses: reader.structs("IPAddresses").map(readGoAddress),
    gateways: reader.texts("Gateways").flatMap((text) => parseIp(text) ?? []),
    dns: {
      suffix: dns?.text("Suffix") ?? "",
      servers: dns?.texts("Servers") ?? [],
      options: dns?.texts("Options") ?? [],
    },
    routes: reader.structs("Routes").map(readRoute),
    containerId: reader.text("ContainerID"),
    netns: reader.text("NetNs"),
    podName: reader.text("PODName"),
    podNamespace: reader.text("PODNameSpace"),
    nicType: readNicType(reader),
    vlanId: reader.integer("VlanID") ?? 0,
    hnsNetworkId: reader.text("HNSNetworkID"),
    networkContainerId: reader.text("NetworkContainerID"),
    allowsHostToContainer: reader.boolean("AllowInboundFromHostToNC"),
    allowsContainerToHost: reader.boolean("AllowInboundFromNCToHost"),
  };
}

/** The members of a map, whose keys are data. */
function readMap<T>(reader: StructReader, name: string, read: (reader: StructReader) => T): Map<string, T> {
  const entries = Object.entries(reader.object(name) ?? {});
  return new Map(entries.map(([key, value]) => [key, read(readStruct(value ?? {}, reader.pathOf(name)))]));
}

function readNetwork(reader: StructReader): AzureNetworkRecord {
  return {
    id: reader.text("Id"),
    hnsId: reader.text("HnsId"),
    mode: reader.text("Mode"),
    vlanId: reader.integer("VlanId") ?? 0,
    enablesSnatOnHost: reader.boolean("EnableSnatOnHost"),
    subnets: reader.structs("Subnets").map((subnet) => ({
      prefix: readGoAddress(subnet.struct("Prefix") ?? new StructReader({}, subnet.pathOf("Prefix"))),
      gateway: readGoIp(subnet, "Gateway"),
    })),
    netns: reader.text("NetNs"),
    endpoints: readMap(reader, "Endpoints", readEndpoint),
  };
}

function readInterface(reader: StructReader): AzureInterfaceRecord {
  return {
    name: reader.text("Name"),
    mac: readMacBytes(reader),
    subnets: reader.texts("Subnets"),
    networks: readMap(reader, "Networks", readNetwork),
  };
}

/** The file is not as it was written. */
export class DamagedStateError extends Error {
  override readonly name = "DamagedStateError";
}

/** Reads the file; one that is empty or missing is no state (row 135). @throws JsonError, DecodeError, DamagedStateError */
export function parseState(text: string | undefined, checksSeal = false): AzureState {
  if (text === undefined || text === "") return new Map();
  if (checksSeal) checkSeal(text);
  const network = readStruct(parseJson(text), "").struct("Network");
  return network === undefined ? new Map() : readMap(network, "ExternalInterfaces", readInterface);
}

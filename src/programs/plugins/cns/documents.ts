/** Documents of CNS, the node agent of Azure that knows addresses and network containers, as they are on the wire (cni.md §5.7). */
import { DecodeError, type StructReader, readStruct } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue } from "#core/base/json.ts";
import { formatGoAddress } from "#contracts/cni/go-json.ts";
import { type StructOf, readGoStruct } from "#contracts/cni/go-struct.ts";

/** Return codes (cni.md §5.7). */
export const CNS_CODES = {
  success: 0,
  notFound: 14,
  addressUnavailable: 15,
  unknownContainer: 18,
  invalidRequest: 23,
  failedToAllocate: 32,
  unsupportedApi: 43,
  connectionError: 45,
  unexpected: 99,
} as const;

export const CNS_PATHS = {
  requestIps: "/network/requestipconfigs",
  requestIp: "/network/requestipconfig",
  releaseIps: "/network/releaseipconfigs",
  releaseIp: "/network/releaseipconfig",
  allNetworkContainers: "/network/getAllNetworkContainers",
  networkContainer: "/network/getnetworkcontainerbyorchestratorcontext",
  createApipaEndpoint: "/network/createhostncapipaendpoint",
  deleteApipaEndpoint: "/network/deletehostncapipaendpoint",
  /** Followed by the container's ID. */
  endpoints: "/network/endpoints/",
  addresses: "/debug/ipaddresses",
} as const;

/** Kinds of network interfaces of a pod; empty: that of the cluster's network, from an older CNS. */
export type NicType = "InfraNIC" | "FrontendNIC" | "BackendNIC" | "ApipaNIC";

export const POD_CONTEXT = { podName: "text", podNamespace: "text" } as const;
export type PodContext = StructOf<typeof POD_CONTEXT>;

export interface IpConfigsRequest {
  readonly desiredIPAddresses: readonly string[] | null;
  readonly podInterfaceID: string;
  readonly infraContainerID: string;
  readonly orchestratorContext: PodContext | null;
  readonly ifname: string;
}

/** The whole body: members that only CNS itself sets are empty. */
export function formatIpConfigsRequest(request: IpConfigsRequest): JsonObject {
  const { desiredIPAddresses, podInterfaceID, infraContainerID, orchestratorContext, ifname } = request;
  return {
    desiredIPAddresses,
    podInterfaceID,
    infraContainerID,
    orchestratorContext: formatContext(orchestratorContext),
    ifname,
    secondaryInterfacesExist: false,
    BackendInterfaceExist: false,
    BacknendInterfaceMacAddress: null,
  };
}

/** The body of the older calls, which know one address. */
export function formatIpConfigRequest(request: IpConfigsRequest): JsonObject {
  return {
    DesiredIPAddress: "",
    PodInterfaceID: request.podInterfaceID,
    InfraContainerID: request.infraContainerID,
    OrchestratorContext: formatContext(request.orchestratorContext),
    Ifname: request.ifname,
  };
}

export function formatContext(context: PodContext | null): JsonValue {
  return context === null ? null : { podName: context.podName, podNamespace: context.podNamespace };
}

const SUBNET = { IPAddress: "text", PrefixLength: "integer" } as const;

const IP_CONFIGURATION = {
  IPSubnet: (): typeof SUBNET => SUBNET,
  IPSubnetV6: (): typeof SUBNET => SUBNET,
  DNSServers: "texts",
  GatewayIPAddress: "text",
  GatewayIPv6Address: "text",
} as const;
export type IpConfiguration = StructOf<typeof IP_CONFIGURATION>;

const HOST = { Gateway: "text", PrimaryIP: "text", Subnet: "text" } as const;
const ROUTE = { IPAddress: "text", GatewayIPAddress: "text" } as const;
export type CnsRoute = StructOf<typeof ROUTE>;
const POLICY = { Type: "text", Data: "json" } as const;

const POD_IP_INFO = {
  PodIPConfig: (): typeof SUBNET => SUBNET,
  NetworkContainerPrimaryIPConfig: (): typeof IP_CONFIGURATION => IP_CONFIGURATION,
  NetworkContainerIPv6Config: (): typeof IP_CONFIGURATION => IP_CONFIGURATION,
  HostPrimaryIPInfo: (): typeof HOST => HOST,
  NICType: "text",
  MacAddress: "text",
  SkipDefaultRoutes: "boolean",
  Routes: { list: (): typeof ROUTE => ROUTE },
  PnPID: "text",
  EndpointPolicies: { list: (): typeof POLICY => POLICY },
  AllowHostToNCCommunication: "boolean",
  AllowNCToHostCommunication: "boolean",
  NetworkContainerID: "text",
} as const;
/** What a pod gets: an address of the cluster's network, or an interface of its own. */
export type PodIpInfo = StructOf<typeof POD_IP_INFO>;
export type HostIpInfo = PodIpInfo["HostPrimaryIPInfo"];

const TENANCY = { EncapType: "text", ID: "integer" } as const;
const NETWORK_CONTAINER = {
  NetworkContainerID: "text",
  IPConfiguration: (): typeof IP_CONFIGURATION => IP_CONFIGURATION,
  IPv6Configuration: (): typeof IP_CONFIGURATION => IP_CONFIGURATION,
  Routes: { list: (): typeof ROUTE => ROUTE },
  CnetAddressSpace: { list: (): typeof SUBNET => SUBNET },
  MultiTenancyInfo: (): typeof TENANCY => TENANCY,
  PrimaryInterfaceIdentifier: "text",
  LocalIPConfiguration: (): typeof IP_CONFIGURATION => IP_CONFIGURATION,
  AllowHostToNCCommunication: "boolean",
  AllowNCToHostCommunication: "boolean",
  SkipDefaultRoutes: "boolean",
} as const;
/** A network container: the network of one tenant on this node. */
export type NetworkContainer = StructOf<typeof NETWORK_CONTAINER>;

const ENDPOINT_IP_INFO = {
  IPv4: "addresses",
  IPv6: "addresses",
  HnsEndpointID: "text",
  HnsNetworkID: "text",
  HostVethName: "text",
  MacAddress: "text",
  NetworkContainerID: "text",
  NICType: "text",
} as const;
/** What CNS keeps of one interface of a stateless plugin. */
export type EndpointIpInfo = StructOf<typeof ENDPOINT_IP_INFO>;

export interface EndpointState {
  readonly PodName: string;
  readonly PodNamespace: string;
  /** By the interface's name. */
  readonly IfnameToIPMap: ReadonlyMap<string, EndpointIpInfo>;
}

/** An address of the pool with who has it. */
export interface AddressStatus {
  readonly address: string;
  readonly state: string;
  readonly containerId: string;
  readonly interfaceId: string;
}

// Reading

/** @throws DecodeError */
export function readPodIpInfo(reader: StructReader): PodIpInfo {
  return readGoStruct(reader, POD_IP_INFO);
}

/** @throws DecodeError */
export function readNetworkContainer(reader: StructReader): NetworkContainer {
  return readGoStruct(reader, NETWORK_CONTAINER);
}

/** Interfaces by their names, which are data. @throws DecodeError */
export function readIpInfos(members: JsonObject, path: string): ReadonlyMap<string, EndpointIpInfo> {
  return new Map(
    Object.entries(members).map(([name, value]) => [
      name,
      readGoStruct(readStruct(value ?? {}, `${path}.${name}`), ENDPOINT_IP_INFO),
    ]),
  );
}

function present(members: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== ""));
}

/** Empty members are left out, as in Go. */
export function formatIpInfo(info: EndpointIpInfo): JsonObject {
  const { IPv4, IPv6, HnsEndpointID, HnsNetworkID, HostVethName, MacAddress, NetworkContainerID, NICType } =
    info;
  return {
    IPv4: IPv4.length === 0 ? null : IPv4.map(formatGoAddress),
    ...(IPv6.length > 0 && { IPv6: IPv6.map(formatGoAddress) }),
    ...present({ HnsEndpointID, HnsNetworkID, HostVethName, MacAddress, NetworkContainerID }),
    NICType,
  };
}

/** @throws DecodeError */
export function readAddressStatus(reader: StructReader): AddressStatus {
  const pod = reader.struct("PodInfo");
  return {
    address: reader.text("IPAddress"),
    state: reader.text("state"),
    containerId: pod?.text("PodInfraContainerID") ?? "",
    interfaceId: pod?.text("PodInterfaceID") ?? "",
  };
}

/** The return code and message of an answer. @throws DecodeError when it has none. */
export function readResponse(reader: StructReader | undefined): {
  readonly code: number;
  readonly message: string;
} {
  if (reader === undefined) throw new DecodeError("Response", "an object", null);
  return { code: reader.integer("ReturnCode") ?? 0, message: reader.text("Message") };
}

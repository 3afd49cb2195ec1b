/** Documents of CNS, the node agent of Azure that knows addresses and network containers, as they are on the wire (cni.md §5.7). */
import { DecodeError, type StructReader, readStruct } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue } from "#core/base/json.ts";
import { formatGoAddress, readGoAddress } from "#contracts/cni/go-json.ts";
import type { InterfaceAddress } from "#core/net/ip.ts";

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

export interface PodContext {
  readonly podName: string;
  readonly podNamespace: string;
}

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

export interface IpSubnet {
  readonly IPAddress: string;
  readonly PrefixLength: number;
}

export interface IpConfiguration {
  readonly IPSubnet: IpSubnet;
  readonly IPSubnetV6: IpSubnet;
  readonly DNSServers: readonly string[];
  readonly GatewayIPAddress: string;
  readonly GatewayIPv6Address: string;
}

export interface HostIpInfo {
  readonly Gateway: string;
  readonly PrimaryIP: string;
  readonly Subnet: string;
}

export interface CnsRoute {
  readonly IPAddress: string;
  readonly GatewayIPAddress: string;
}

/** What a pod gets: an address of the cluster's network, or an interface of its own. */
export interface PodIpInfo {
  readonly PodIPConfig: IpSubnet;
  readonly NetworkContainerPrimaryIPConfig: IpConfiguration;
  readonly NetworkContainerIPv6Config: IpConfiguration;
  readonly HostPrimaryIPInfo: HostIpInfo;
  readonly NICType: string;
  readonly MacAddress: string;
  readonly SkipDefaultRoutes: boolean;
  readonly Routes: readonly CnsRoute[];
  readonly PnPID: string;
  readonly EndpointPolicies: readonly { readonly Type: string; readonly Data: JsonValue }[];
  readonly AllowHostToNCCommunication: boolean;
  readonly AllowNCToHostCommunication: boolean;
  readonly NetworkContainerID: string;
}

/** A network container: the network of one tenant on this node. */
export interface NetworkContainer {
  readonly NetworkContainerID: string;
  readonly IPConfiguration: IpConfiguration;
  readonly IPv6Configuration: IpConfiguration;
  readonly Routes: readonly CnsRoute[];
  readonly CnetAddressSpace: readonly IpSubnet[];
  readonly MultiTenancyInfo: { readonly EncapType: string; readonly ID: number };
  readonly PrimaryInterfaceIdentifier: string;
  readonly LocalIPConfiguration: IpConfiguration;
  readonly AllowHostToNCCommunication: boolean;
  readonly AllowNCToHostCommunication: boolean;
  readonly SkipDefaultRoutes: boolean;
}

/** What CNS keeps of one interface of a stateless plugin. */
export interface EndpointIpInfo {
  readonly IPv4: readonly InterfaceAddress[];
  readonly IPv6: readonly InterfaceAddress[];
  readonly HnsEndpointID: string;
  readonly HnsNetworkID: string;
  readonly HostVethName: string;
  readonly MacAddress: string;
  readonly NetworkContainerID: string;
  readonly NICType: string;
}

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

function readSubnet(reader: StructReader | undefined): IpSubnet {
  return { IPAddress: reader?.text("IPAddress") ?? "", PrefixLength: reader?.integer("PrefixLength") ?? 0 };
}

function readConfiguration(reader: StructReader | undefined): IpConfiguration {
  return {
    IPSubnet: readSubnet(reader?.struct("IPSubnet")),
    IPSubnetV6: readSubnet(reader?.struct("IPSubnetV6")),
    DNSServers: reader?.texts("DNSServers") ?? [],
    GatewayIPAddress: reader?.text("GatewayIPAddress") ?? "",
    GatewayIPv6Address: reader?.text("GatewayIPv6Address") ?? "",
  };
}

function readRoutes(reader: StructReader): readonly CnsRoute[] {
  return reader.structs("Routes").map((route) => ({
    IPAddress: route.text("IPAddress"),
    GatewayIPAddress: route.text("GatewayIPAddress"),
  }));
}

/** @throws DecodeError */
export function readPodIpInfo(reader: StructReader): PodIpInfo {
  const host = reader.struct("HostPrimaryIPInfo");
  return {
    PodIPConfig: readSubnet(reader.struct("PodIPConfig")),
    NetworkContainerPrimaryIPConfig: readConfiguration(reader.struct("NetworkContainerPrimaryIPConfig")),
    NetworkContainerIPv6Config: readConfiguration(reader.struct("NetworkContainerIPv6Config")),
    HostPrimaryIPInfo: {
      Gateway: host?.text("Gateway") ?? "",
      PrimaryIP: host?.text("PrimaryIP") ?? "",
      Subnet: host?.text("Subnet") ?? "",
    },
    NICType: reader.text("NICType"),
    MacAddress: reader.text("MacAddress"),
    SkipDefaultRoutes: reader.boolean("SkipDefaultRoutes"),
    Routes: readRoutes(reader),
    PnPID: reader.text("PnPID"),
    EndpointPolicies: reader
      .structs("EndpointPolicies")
      .map((policy) => ({ Type: policy.text("Type"), Data: policy.raw("Data") ?? null })),
    AllowHostToNCCommunication: reader.boolean("AllowHostToNCCommunication"),
    AllowNCToHostCommunication: reader.boolean("AllowNCToHostCommunication"),
    NetworkContainerID: reader.text("NetworkContainerID"),
  };
}

/** @throws DecodeError */
export function readNetworkContainer(reader: StructReader): NetworkContainer {
  const tenancy = reader.struct("MultiTenancyInfo");
  return {
    NetworkContainerID: reader.text("NetworkContainerID"),
    IPConfiguration: readConfiguration(reader.struct("IPConfiguration")),
    IPv6Configuration: readConfiguration(reader.struct("IPv6Configuration")),
    Routes: readRoutes(reader),
    CnetAddressSpace: reader.structs("CnetAddressSpace").map(readSubnet),
    MultiTenancyInfo: { EncapType: tenancy?.text("EncapType") ?? "", ID: tenancy?.integer("ID") ?? 0 },
    PrimaryInterfaceIdentifier: reader.text("PrimaryInterfaceIdentifier"),
    LocalIPConfiguration: readConfiguration(reader.struct("LocalIPConfiguration")),
    AllowHostToNCCommunication: reader.boolean("AllowHostToNCCommunication"),
    AllowNCToHostCommunication: reader.boolean("AllowNCToHostCommunication"),
    SkipDefaultRoutes: reader.boolean("SkipDefaultRoutes"),
  };
}

function readIpInfo(reader: StructReader): EndpointIpInfo {
  return {
    IPv4: reader.structs("IPv4").map(readGoAddress),
    IPv6: reader.structs("IPv6").map(readGoAddress),
    HnsEndpointID: reader.text("HnsEndpointID"),
    HnsNetworkID: reader.text("HnsNetworkID"),
    HostVethName: reader.text("HostVethName"),
    MacAddress: reader.text("MacAddress"),
    NetworkContainerID: reader.text("NetworkContainerID"),
    NICType: reader.text("NICType"),
  };
}

/** Interfaces by their names, which are data. @throws DecodeError */
export function readIpInfos(members: JsonObject, path: string): ReadonlyMap<string, EndpointIpInfo> {
  return new Map(
    Object.entries(members).map(([name, value]) => [
      name,
      readIpInfo(readStruct(value ?? {}, `${path}.${name}`)),
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

/** What azure-vnet remembers of networks and endpoints, as it is worked with (cni.md §5.8). */
import type { CniRoute } from "#contracts/cni/result.ts";
import type { InterfaceAddress, Ip } from "#core/net/ip.ts";
import type { NicType } from "../cns/documents.ts";
import type { AzureDns } from "./name-resolution.ts";

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

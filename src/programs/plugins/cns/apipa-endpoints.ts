/** Endpoints between containers and their host, which CNS makes in HNS (cns/hnsclient/hnsclient_windows.go). */
import { type HostComputeNetwork, NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import { type PolicyDocument, CLIENT_MEMBERS } from "#contracts/hcn/documents/base-document.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import {
  createEndpoint,
  createNetwork,
  deleteEndpoint,
  getEndpointByName,
  getNetworkByName,
} from "#contracts/hcn/operations.ts";
import { formatPrefix, parseInterfaceAddress, prefixOf } from "#core/net/ip.ts";
import { unlessMissing } from "../windows-endpoint/hns-caller.ts";
import type { NetworkContainer } from "./documents.ts";

const NETWORK = "HostNCApipaNetwork";
const ADAPTER = "LoopbackAdapterHostNCConnectivity";
/** The host's own address there. */
const HOST_ADDRESS = "169.254.128.1";
/** In its place for HNS, which would take the host's for its gateway. */
const GATEWAY = "169.254.128.2";
const PROTOCOLS = ["1", "6", "17"] as const;
const PRIORITIES = { block: 2000, allow: 1000 } as const;

function nameOf({ NetworkContainerID }: NetworkContainer): string {
  return `HostNCApipaEndpoint-${NetworkContainerID}`;
}

/** Nothing but what was asked for, between these two addresses. */
function accessPolicies(container: NetworkContainer, own: string): readonly PolicyDocument[] {
  const { AllowHostToNCCommunication: isIn, AllowNCToHostCommunication: isOut } = container;
  const rule = (Protocols: string, Direction: string, isAllowed: boolean): PolicyDocument => ({
    Type: "ACL",
    Settings: {
      Protocols,
      Action: isAllowed ? "Allow" : "Block",
      Direction,
      LocalAddresses: own,
      ...(isAllowed && { RemoteAddresses: HOST_ADDRESS }),
      RuleType: "Switch",
      Priority: isAllowed ? PRIORITIES.allow : PRIORITIES.block,
    },
  });
  return PROTOCOLS.flatMap((protocol) => [
    rule(protocol, "Out", false),
    ...(isOut ? [rule(protocol, "Out", true)] : []),
    rule(protocol, "In", false),
    ...(isIn ? [rule(protocol, "In", true)] : []),
  ]);
}

function networkDocument({ LocalIPConfiguration: local }: NetworkContainer): HostComputeNetwork {
  const text = `${local.IPSubnet.IPAddress}/${local.IPSubnet.PrefixLength}`;
  const address = parseInterfaceAddress(text);
  if (address === undefined) throw new Error(`Failed get subnet prefix for localIPConfiguration: ${text}`);
  const gateway = local.GatewayIPAddress === HOST_ADDRESS ? GATEWAY : local.GatewayIPAddress;
  return {
    Name: NETWORK,
    Type: "L2Bridge",
    Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: ADAPTER } }],
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: formatPrefix(prefixOf(address.ip, address.length)),
            Routes: [{ NextHop: gateway, DestinationPrefix: "0.0.0.0/0" }],
          },
        ],
      },
    ],
    Flags: NETWORK_FLAGS.EnableNonPersistent,
    MacPool: {},
    Dns: {},
    ...CLIENT_MEMBERS,
  };
}

/** The endpoint of a network container, made when there is none. @returns its ID */
export async function ensureApipaEndpoint(client: HcnClient, container: NetworkContainer): Promise<string> {
  const known = await unlessMissing(() => getEndpointByName(client, nameOf(container)));
  if (known !== undefined) return known.ID;
  const network =
    (await unlessMissing(() => getNetworkByName(client, NETWORK))) ??
    (await createNetwork(client, networkDocument(container)));
  const { IPAddress, PrefixLength } = container.LocalIPConfiguration.IPSubnet;
  const { ID } = network;
  const endpoint = await createEndpoint(client, ID, {
    Name: nameOf(container),
    HostComputeNetwork: ID,
    Policies: [...accessPolicies(container, IPAddress)],
    IpConfigurations: [{ IpAddress: IPAddress, PrefixLength }],
    Routes: [{ NextHop: HOST_ADDRESS, DestinationPrefix: "0.0.0.0/0" }],
    Dns: {},
    ...CLIENT_MEMBERS,
  });
  return endpoint.ID;
}

/** What is gone already is no error. */
export async function removeApipaEndpoint(client: HcnClient, container: NetworkContainer): Promise<void> {
  const known = await unlessMissing(() => getEndpointByName(client, nameOf(container)));
  if (known !== undefined) await deleteEndpoint(client, known.ID);
}

/** The HNS network of the back end vxlan: as flanneld asks for it, and what it reads of it (control-planes.md §1.8). */
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { type JsonObject, textOf } from "#core/base/json.ts";
import { type HostComputeNetwork, NETWORK_FLAGS, subnetsOf } from "#contracts/hcn/documents/network.ts";
import { type Prefix, addToIp, formatIp, formatPrefix } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { formatMacWithColons } from "../backends/vxlan-data.ts";

export interface OverlayDefinition {
  readonly name: string;
  readonly vni: number;
  readonly subnet: Prefix;
  /** Friendly name of the adapter. */
  readonly adapterName: string;
}

export function overlayDocument({ name, vni, subnet, adapterName }: OverlayDefinition): HostComputeNetwork {
  const gateway = addToIp(subnet.address, 1) ?? subnet.address;
  return {
    Type: "Overlay",
    Name: name,
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: formatPrefix(subnet),
            Routes: [{ NextHop: formatIp(gateway), DestinationPrefix: "0.0.0.0/0" }],
            Policies: [{ Type: "VSID", Settings: { IsolationId: vni } }],
          },
        ],
      },
    ],
    Flags: NETWORK_FLAGS.EnableNonPersistent,
    SchemaVersion: { Major: 2, Minor: 0 },
    ...(adapterName !== "" && {
      Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: adapterName } }],
    }),
  };
}

/** Whether a network can be kept. Upstream does not look at the VNI. */
export function isSameOverlay(
  network: HostComputeNetwork,
  definition: OverlayDefinition,
  comparesVni: boolean,
): boolean {
  const [first] = subnetsOf(network);
  if (network.Type !== "Overlay" || first?.IpAddressPrefix !== formatPrefix(definition.subnet)) return false;
  if (!comparesVni) return true;
  const vsid = first.Policies?.find(({ Type }) => Type === "VSID");
  return vsid?.Settings?.["IsolationId"] === definition.vni;
}

function policyText(network: HostComputeNetwork, type: string, field: string): string {
  return textOf(network.Policies?.find(({ Type }) => Type === type)?.Settings?.[field]);
}

/** The address at which others reach the node's tunnels; empty while HNS does not know it. */
export function managementIpOf(network: HostComputeNetwork): string {
  return policyText(network, "ProviderAddress", "ProviderAddress");
}

export function routerMacTextOf(network: HostComputeNetwork): string {
  return policyText(network, "DrMacAddress", "Address");
}

export function routerMacOf(network: HostComputeNetwork): Mac | undefined {
  return parseMac(routerMacTextOf(network));
}

/** The way to another node's pods. */
export interface RemoteSubnet {
  readonly destinationPrefix: string;
  readonly vni: number;
  readonly providerAddress: string;
  /** Undefined: the other node has published none. */
  readonly mac: Mac | undefined;
}

export function remoteSubnetPolicy(remote: RemoteSubnet): PolicyDocument {
  return {
    Type: "RemoteSubnetRoute",
    Settings: {
      DestinationPrefix: remote.destinationPrefix,
      IsolationId: remote.vni,
      ProviderAddress: remote.providerAddress,
      DistributedRouterMacAddress: remote.mac === undefined ? "" : formatMacWithColons(remote.mac),
    },
  };
}

function textIn(settings: JsonObject | undefined, field: string): string {
  return textOf(settings?.[field]);
}

/** The prefix of a policy that leads to another node; undefined for other policies. */
export function destinationOf(policy: PolicyDocument): string | undefined {
  return policy.Type === "RemoteSubnetRoute" ? textIn(policy.Settings, "DestinationPrefix") : undefined;
}

/** True when the policy leads where `remote` says. */
export function leadsTo(policy: PolicyDocument, remote: RemoteSubnet): boolean {
  const { Settings: settings } = policy;
  return (
    settings?.["IsolationId"] === remote.vni &&
    textIn(settings, "ProviderAddress") === remote.providerAddress &&
    parseMac(textIn(settings, "DistributedRouterMacAddress")) === remote.mac
  );
}

/** One change of the network's policies. */
export function changePolicy(
  client: HcnClient,
  network: string,
  requestType: "Add" | "Remove",
  policy: PolicyDocument,
): Promise<void> {
  const { Type, Settings } = policy;
  return client.modify("Network", network, {
    ResourceType: "Policy",
    RequestType: requestType,
    Settings: { Policies: [{ Type, Settings: Settings ?? {} }] },
  });
}

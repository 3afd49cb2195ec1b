/** The network's document for HCN and for HNS v1 (cni.md §5.4 step 5). */
import type { Compat } from "#core/base/compat.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { type PolicyDocument, SCHEMA_V2_0 } from "#contracts/hcn/documents/base-document.ts";
import { type HostComputeNetwork, NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import type { HnsNetwork } from "#contracts/hcn/documents/v1-documents.ts";
import type { HnsPolicy } from "#contracts/hcn/description/description.ts";
import { familyOf, formatIp, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { type AzureCall, type AzurePlan, formatNetwork } from "./plan.ts";
import { plainPolicyOptions, toAzureHnsPolicies } from "./policies.ts";

/** An adapter that is part of a switch already cannot be named to HNS. */
const SWITCH_ADAPTER_PREFIX = "vEthernet";

function nextHopOf(subnet: AzurePlan["subnets"][number]): string {
  if (subnet.gateway !== undefined) return formatIp(subnet.gateway);
  throw new CniError(
    CNI_CODES.internal,
    `failed to create endpoint: IPAM gave no gateway for ${formatNetwork(subnet.prefix)}, and HNS makes no network without one`,
  );
}

/** With several tenants and a switch already there, HNS finds the adapter by an address. */
function providerAddress({ configuration }: AzureCall, { nic }: AzurePlan): string {
  if (!configuration.isMultiTenant) return "";
  const text = nic.container?.PrimaryInterfaceIdentifier ?? "";
  const ip = parseInterfaceAddress(text)?.ip ?? parseIp(text);
  return ip === undefined ? "" : formatIp(ip);
}

function networkPolicies(call: AzureCall, plan: AzurePlan): readonly PolicyDocument[] {
  const { adapterName } = call.configuration;
  if (adapterName !== "" || !plan.master.startsWith(SWITCH_ADAPTER_PREFIX)) {
    const name = adapterName === "" ? plan.master : adapterName;
    return [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: name } }];
  }
  const address = providerAddress(call, plan);
  return address === "" ? [] : [{ Type: "ProviderAddress", Settings: { ProviderAddress: address } }];
}

/** The document for HCN; never an L2Tunnel network, whatever the mode (row 145). */
export function azureNetworkDocument(call: AzureCall, plan: AzurePlan): HostComputeNetwork {
  const policies = networkPolicies(call, plan);
  const isOwn = plan.nic.type === "FrontendNIC";
  const vlan = { Type: "VLAN", Settings: { IsolationId: plan.vlanId } };
  return {
    Name: plan.networkId,
    Type: isOwn ? "Transparent" : "L2Bridge",
    ...(policies.length > 0 && { Policies: [...policies] }),
    Ipams: [
      {
        Type: "Static",
        Subnets: plan.subnets.map((subnet) => ({
          IpAddressPrefix: formatNetwork(subnet.prefix),
          Routes: [
            {
              NextHop: nextHopOf(subnet),
              DestinationPrefix: familyOf(subnet.prefix.ip) === 4 ? "0.0.0.0/0" : "::/0",
            },
          ],
          ...(plan.vlanId > 0 && { Policies: [vlan] }),
        })),
      },
    ],
    Flags:
      NETWORK_FLAGS.EnableNonPersistent |
      (isOwn ? NETWORK_FLAGS.DisableHostPort | NETWORK_FLAGS.EnableIov : 0),
    SchemaVersion: SCHEMA_V2_0,
  };
}

/** The document for HNS v1. */
export function azureHnsNetworkDocument(
  { configuration }: AzureCall,
  { master, subnets, networkId, vlanId }: AzurePlan,
  compat: Compat,
): HnsNetwork {
  const named = configuration.adapterName === "" ? master : configuration.adapterName;
  const adapter = named.startsWith(SWITCH_ADAPTER_PREFIX) ? "" : named;
  const own = toAzureHnsPolicies(configuration.policies, "NetworkPolicy", plainPolicyOptions(compat));
  const vlan = vlanId > 0 ? [{ Type: "VLAN", VLAN: vlanId }] : [];
  const policies = [...(own as readonly HnsPolicy[]), ...vlan];
  return {
    Name: networkId,
    Type: "l2bridge",
    ...(adapter !== "" && { NetworkAdapterName: adapter }),
    ...(policies.length > 0 && { Policies: policies }),
    Subnets: subnets.map((subnet) => ({
      AddressPrefix: formatNetwork(subnet.prefix),
      GatewayAddress: nextHopOf(subnet),
    })),
  };
}

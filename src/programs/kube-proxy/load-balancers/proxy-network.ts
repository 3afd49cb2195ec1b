/** The HNS network that a kube-proxy works on (kube-proxy.md §2.3). */
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { parseNetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { getNetworkByName } from "#contracts/hcn/operations.ts";
import { type JsonObject, equalJson } from "#core/base/json.ts";
import { type Prefix, parseInterfaceAddress, parseIp, prefixContains, prefixOf } from "#core/net/ip.ts";

/** A subnet of another node, and the address of that node. */
interface RemoteSubnet {
  readonly prefix: Prefix | undefined;
  readonly providerAddress: string;
  /** As HNS writes it. */
  readonly settings: JsonObject | undefined;
}

export interface ProxyNetwork {
  readonly id: Guid;
  readonly name: string;
  /** Everything else is treated like L2Bridge. */
  readonly isOverlay: boolean;
  readonly remoteSubnets: readonly RemoteSubnet[];
}

/** @throws HcnError when it cannot be read. */
function readRemoteSubnet(policy: PolicyDocument, where: string): RemoteSubnet | undefined {
  const parsed = parseNetworkPolicy(policy, where);
  if (parsed.Type !== "RemoteSubnetRoute") return undefined;
  const range = parseInterfaceAddress(parsed.Settings.DestinationPrefix);
  return {
    prefix: range && prefixOf(range.ip, range.length),
    providerAddress: parsed.Settings.ProviderAddress ?? "",
    settings: policy.Settings,
  };
}

/**
 * Reads the network of that name. Letter case of its type does not show: HNS has one spelling, and the one version that
 * compared exactly (1.20) saw no other.
 * @param before what was read last: a subnet that is written as it was is not read anew. Networks are read before each remote
 * endpoint, and have a subnet for each other node.
 * @throws HcnError or HcnNotFoundError, also when one of its remote subnets cannot be read.
 */
export async function readProxyNetwork(
  client: HcnClient,
  name: string,
  before?: ProxyNetwork,
): Promise<ProxyNetwork> {
  const document = await getNetworkByName(client, name);
  const remoteSubnets: RemoteSubnet[] = [];
  for (const [index, policy] of (document.Policies ?? []).entries()) {
    if (policy.Type !== "RemoteSubnetRoute") continue;
    const known = before?.remoteSubnets[remoteSubnets.length];
    const isKnown = known?.settings !== undefined && equalJson(known.settings, policy.Settings);
    const subnet = isKnown ? known : readRemoteSubnet(policy, `Policies[${index}]`);
    if (subnet !== undefined) remoteSubnets.push(subnet);
  }
  return { id: document.ID, name, isOverlay: document.Type === "Overlay", remoteSubnets };
}

/**
 * The node that an address is on, or is: the last subnet that says so. Empty for addresses of no node, which upstream
 * calls public.
 */
export function providerAddressOf(network: ProxyNetwork, address: string): string {
  const ip = parseIp(address);
  const found = network.remoteSubnets.findLast(
    ({ prefix, providerAddress }) =>
      providerAddress === address || (ip !== undefined && prefix !== undefined && prefixContains(prefix, ip)),
  );
  return found?.providerAddress ?? "";
}

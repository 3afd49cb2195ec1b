/** Makes the networks of a Windows node by HCN calls, as the agent of each driver does before its first pod. */
import { defined } from "../../base/assert.ts";
import type { PolicyDocument } from "../../hcn/base-document.ts";
import type { HcnClient } from "../../hcn/client.ts";
import {
  createEndpoint,
  createNetwork,
  getNetworkByName,
  modifyNetworkPolicies,
} from "../../hcn/operations.ts";
import { formatIp } from "../../net/ip.ts";
import { formatPrefix } from "../../net/prefix.ts";
import type { ClusterNode } from "../cluster.ts";
import type { ClusterFile, PodNetworkSpec } from "../file/cluster-file.ts";
import { hcnClientOf } from "../windows-node.ts";
import { networkDocument } from "./network-document.ts";
import { bridgeAddress, networksOf, rangeOn } from "./networks-of-node.ts";

/** All networks of the node. @throws HcnError when HNS refuses one. */
export async function makeNetworks(file: ClusterFile, node: ClusterNode): Promise<void> {
  const client = hcnClientOf(node);
  for (const network of networksOf(file, node.spec)) {
    const created = await createNetwork(client, networkDocument(file, network, node.spec));
    await makeBridgeEndpoint(client, network, node, defined(created.ID, "a network has an id"));
  }
}

/**
 * The host's leg in an L2Bridge network: `<network>_ep` at `.2` in compartment 1, with forwarding on it and on the host's
 * vNIC, as flanneld's host-gw backend arranges it (dataplane.md §2.4, cni.md §2.2).
 */
async function makeBridgeEndpoint(
  client: HcnClient,
  network: PodNetworkSpec,
  node: ClusterNode,
  id: string,
): Promise<void> {
  const address = bridgeAddress(network, node.spec);
  if (address === undefined) return;
  const endpoint = await createEndpoint(client, id, {
    Name: `${network.name}_ep`,
    IpConfigurations: [{ IpAddress: formatIp(address) }],
  });
  const attach = JSON.stringify({ SystemType: "Host", CompartmentId: 1 });
  const answer = await client.call("POST", `/endpoints/${endpoint.ID ?? ""}/attach`, attach);
  if (answer["Success"] !== true)
    throw new Error(`the bridge endpoint cannot be attached: ${JSON.stringify(answer)}`);
  for (const each of node.host.root.listInterfaces()) each.isForwarding = true;
}

/** The MAC of a node's distributed router, which the others send to. */
async function routerMacOf(network: PodNetworkSpec, node: ClusterNode): Promise<string> {
  const { Policies = [] } = await getNetworkByName(hcnClientOf(node), network.name);
  const policy = Policies.find(({ Type }) => Type === "DrMacAddress");
  const mac = (policy?.Settings as { readonly Address?: unknown } | undefined)?.Address;
  return defined(typeof mac === "string" ? mac : undefined, "HNS tells the MAC of a distributed router");
}

/**
 * Tells every Windows node of an overlay network of the others: a RemoteSubnetRoute for each, as flanneld does when it sees
 * their leases (dataplane.md O-2).
 */
export async function joinOverlay(network: PodNetworkSpec, nodes: readonly ClusterNode[]): Promise<void> {
  const members = nodes.filter(({ hns, spec }) => hns !== undefined && spec.name in network.ranges);
  const routes = new Map<ClusterNode, PolicyDocument>();
  for (const node of members) {
    routes.set(node, {
      Type: "RemoteSubnetRoute",
      Settings: {
        DestinationPrefix: formatPrefix(rangeOn(network, node.spec)),
        IsolationId: network.vni,
        ProviderAddress: formatIp(node.spec.address),
        DistributedRouterMacAddress: await routerMacOf(network, node),
      },
    });
  }
  for (const node of members) {
    const client = hcnClientOf(node);
    const { ID = "" } = await getNetworkByName(client, network.name);
    const others = [...routes].flatMap(([each, route]) => (each === node ? [] : [route]));
    if (others.length > 0) await modifyNetworkPolicies(client, ID, "Add", others);
  }
}

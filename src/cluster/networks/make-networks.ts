/** Makes the networks of a Windows node by HCN calls, as the agent of each driver does before its first pod. */
import { textOf } from "#core/base/json.ts";
import { defined } from "#core/base/assert.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import {
  createEndpoint,
  createNetwork,
  getNetworkByName,
  modifyNetworkPolicies,
} from "#contracts/hcn/operations.ts";
import { LinuxVxlan, type VxlanPeer } from "#dataplane/fabric/linux-vxlan.ts";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import type { ClusterNode } from "../cluster.ts";
import type { ClusterFile, PodNetworkSpec } from "../file/cluster-file.ts";
import { isMadeByDaemon } from "../file/driver-traits.ts";
import { hcnClientOf } from "../machines/windows-node.ts";
import { networkDocument } from "./network-document.ts";
import { bridgeAddress, networksOf, rangeOn, secondFamily } from "./networks-of-node.ts";

/** A node of an overlay network as the others see it. */
interface OverlayPeer extends VxlanPeer {
  readonly member: ClusterNode;
}

/** All networks of the node but those of daemons and Docker's. @throws HcnError when HNS refuses one. */
export async function makeNetworks(file: ClusterFile, node: ClusterNode): Promise<void> {
  const client = hcnClientOf(node);
  for (const network of networksOf(file, node.spec)) {
    if (isMadeByDaemon(file, network)) continue;
    const created = await createNetwork(client, networkDocument(file, network, node.spec));
    await makeBridgeEndpoint(client, file, network, node, defined(created.ID, "a network has an id"));
  }
}

/**
 * The host's leg in an L2Bridge network: `<network>_ep` at `.2` in compartment 1, with forwarding on it and on the host's
 * vNIC, as flanneld's host-gw backend arranges it (dataplane.md §2.4, cni.md §2.2).
 */
async function makeBridgeEndpoint(
  client: HcnClient,
  file: ClusterFile,
  network: PodNetworkSpec,
  node: ClusterNode,
  id: string,
): Promise<void> {
  const address = bridgeAddress(network, node.spec);
  if (address === undefined) return;
  const second = secondFamily(file, network, node.spec)?.bridge;
  const addresses = second === undefined ? [address] : [address, second];
  const endpoint = await createEndpoint(client, id, {
    Name: `${network.name}_ep`,
    IpConfigurations: addresses.map((each) => ({ IpAddress: formatIp(each) })),
  });
  const attach = JSON.stringify({ SystemType: "Host", CompartmentId: 1 });
  const answer = await client.call("POST", `/endpoints/${endpoint.ID}/attach`, attach);
  if (answer["Success"] !== true)
    throw new Error(`the bridge endpoint cannot be attached: ${JSON.stringify(answer)}`);
  for (const each of node.host.root.listInterfaces()) each.isForwarding = true;
}

/** MACs of Linux nodes' VXLAN devices: random ones on a real node, here `66-00-` and the node's address. */
function linuxMac(node: ClusterNode): Mac {
  return (0x6600_0000_0000 + Number(node.spec.address)) as Mac;
}

/** `flannel.<VNI>` with the first address of the node's range, as flanneld makes it (control-planes.md §10.2). */
function makeLinuxDevice(network: PodNetworkSpec, { spec, host }: ClusterNode, mac: Mac): LinuxVxlan {
  const adapter = defined(host.root.interfaceOf(spec.address), "a node keeps its address");
  return new LinuxVxlan({
    name: `flannel.${network.vni}`,
    compartment: host.root,
    mac,
    address: rangeOn(network, spec).address,
    local: spec.address,
    vni: network.vni,
    port: network.vxlanPort,
    mtuBytes: adapter.mtuBytes,
  });
}

/** The MAC of a node's distributed router, which the others send to. */
async function routerMacOf(network: PodNetworkSpec, node: ClusterNode): Promise<Mac> {
  const { Policies = [] } = await getNetworkByName(hcnClientOf(node), network.name);
  const policy = Policies.find(({ Type }) => Type === "DrMacAddress");
  const mac = (policy?.Settings as { readonly Address?: unknown } | undefined)?.Address;
  return defined(parseMac(textOf(mac)), "HNS reports the MAC of a distributed router");
}

/**
 * Tells every node of an overlay network of the others, as flanneld does when it sees their leases (dataplane.md O-2, O-3):
 * Windows nodes get a RemoteSubnetRoute for each, Linux nodes a route over their VXLAN device.
 */
export async function joinOverlay(network: PodNetworkSpec, nodes: readonly ClusterNode[]): Promise<void> {
  const members = nodes.filter(({ spec }) => spec.name in network.ranges);
  const peers: OverlayPeer[] = [];
  for (const node of members) {
    const mac = node.hns === undefined ? linuxMac(node) : await routerMacOf(network, node);
    peers.push({ member: node, prefix: rangeOn(network, node.spec), mac, node: node.spec.address });
  }
  for (const { member, mac } of peers) {
    const others = peers.filter((peer) => peer.member !== member);
    if (member.hns === undefined) {
      const device = makeLinuxDevice(network, member, mac);
      for (const peer of others) device.addPeer(peer);
    } else if (others.length > 0) {
      const client = hcnClientOf(member);
      const { ID } = await getNetworkByName(client, network.name);
      await modifyNetworkPolicies(
        client,
        ID,
        "Add",
        others.map((peer) => remoteSubnetRoute(network, peer)),
      );
    }
  }
}

function remoteSubnetRoute({ vni }: PodNetworkSpec, { prefix, mac, node }: OverlayPeer): PolicyDocument {
  return {
    Type: "RemoteSubnetRoute",
    Settings: {
      DestinationPrefix: formatPrefix(prefix),
      IsolationId: vni,
      ProviderAddress: formatIp(node),
      DistributedRouterMacAddress: formatMac(mac),
    },
  };
}

/**
 * The node's own port in its logical switch, `k8s-<node>`: an endpoint in the host's compartment, with the second address of the
 * node's subnet and routes to pods and Services through the router (control-planes.md §4.5, "Management port").
 */
import { defined } from "#core/base/assert.ts";
import { createEndpoint, getNetworkByName } from "#contracts/hcn/operations.ts";
import { parseIpv4, prefixContains } from "#core/net/ip.ts";
import { addressAt, macOfAddress } from "#programs/ovn/kube/input.ts";
import type { BridgePort } from "#programs/ovn/node/cni-server.ts";
import type { ClusterNode } from "../cluster.ts";
import type { ClusterFile } from "../file/cluster-file.ts";
import { hcnClientOf } from "../machines/windows-node.ts";

/** As ovn-kubernetes calls the interface. */
const NAME = "ovn-k8s-mp0";

/** The port of the integration bridge that it is. */
export function managementPort({ spec }: ClusterNode): BridgePort {
  const address = addressAt(spec.podCIDR, 2);
  return { id: `k8s-${spec.name}`, version: "", mac: macOfAddress(address), address, sandbox: "" };
}

/** @throws HcnError when HNS refuses it. */
export async function makeManagementPort({ network }: ClusterFile, node: ClusterNode): Promise<void> {
  const client = hcnClientOf(node);
  const { ID } = await getNetworkByName(client, network.name);
  const { address, mac } = managementPort(node);
  const { length } = node.spec.podCIDR;
  const endpoint = await createEndpoint(client, ID, {
    Name: NAME,
    MacAddress: mac.replaceAll(":", "-").toUpperCase(),
    IpConfigurations: [{ IpAddress: address, PrefixLength: length }],
  });
  const attach = JSON.stringify({ SystemType: "Host", CompartmentId: 1 });
  const answer = await client.call("POST", `/endpoints/${endpoint.ID}/attach`, attach);
  if (answer["Success"] !== true) throw new Error(`${NAME} cannot be attached: ${JSON.stringify(answer)}`);
  const { root } = node.host;
  // Pods reach the node's own address through this interface.
  for (const each of root.listInterfaces()) each.isForwarding = true;
  const own = defined(
    root.interfaceOf(defined(parseIpv4(address), "an address")),
    "the endpoint is in the host",
  );
  const router = defined(parseIpv4(addressAt(node.spec.podCIDR, 1)), "an address");
  for (const prefix of [network.clusterCIDR, network.serviceCIDR])
    if (!prefixContains(prefix, node.spec.address))
      root.addRoute({ prefix, nextHop: router, interface: own, metric: 2 });
}

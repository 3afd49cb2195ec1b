/**
 * A Windows node of Azure Container Service in 2017, before CNI (control-planes.md §9; Azure/acs-engine,
 * parts/kuberneteswindowssetup.ps1 of April 2017): its start script gives the host a leg in the transparent network of the
 * pods, and its kubelet connects each container to Docker's NAT as well and settles the container's routes.
 */
import { defined } from "#core/base/assert.ts";
import type { Environment } from "#core/base/environment.ts";
import { type Ipv4, ANY_IPV4, formatIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { addNamespaceEndpoint } from "#contracts/hcn/operations.ts";
import { memoryPair } from "#dataplane/device/memory-pair.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import { PLAIN_STACK } from "#hns/compile/layers.ts";
import type { DockerContainerRequest } from "#programs/docker/engine.ts";
import type { ClusterNode } from "../cluster.ts";
import type { ClusterFile } from "../file/cluster-file.ts";
import { ACS_POD_LEG } from "../file/driver-traits.ts";
import { networkGateway, rangeOn } from "../networks/networks-of-node.ts";
import { type DockerNode, DEFAULT_NETWORK } from "./docker-node.ts";

const FORWARDER = "forwarder";
/** What Windows gives a gateway. */
const GATEWAY_METRIC = 256;

/** `.1` of the node's range: the gateway of its pods is the node itself. */
function gatewayOf(file: ClusterFile, node: ClusterNode): Ipv4 {
  return networkGateway(file, file.network, node.spec) as Ipv4;
}

/**
 * `Add-VMNetworkAdapter -ManagementOS -Name forwarder`, an address on it and forwarding, on the switch that the transparent
 * network has made. HNS knows nothing of it.
 */
export function addForwarder(env: Environment, file: ClusterFile, node: ClusterNode): void {
  const { host, hns, spec, uplink } = node;
  const external = defined(
    hns?.listSwitches().find((each) => each.listPorts().some(({ kind }) => kind === "external")),
    "a transparent network has an external switch",
  );
  const prng = env.prng.derive(`forwarder/${spec.name}`);
  const mac = (0x0015_5d00_0000 + (prng.nextU32() & 0xff_ffff)) as Mac;
  const [switchEnd, stackEnd] = memoryPair(env.clock, { delayMs: 0, mtuBytes: uplink.mtuBytes });
  const port = external.addPort({
    id: prng.guid(),
    name: FORWARDER,
    kind: "container",
    mac,
    device: switchEnd,
    layers: PLAIN_STACK.definitions,
    nextHopResolver: host.root,
    leadsToHost: true,
  });
  port.deliversByAddress = true;
  const forwarder = host.root.addInterface({
    name: `vEthernet (${FORWARDER})`,
    mac,
    device: stackEnd,
    isForwarding: true,
  });
  const address = gatewayOf(file, node);
  external.setAddresses(port, [address]);
  host.root.addAddress(forwarder, { ip: address, length: rangeOn(file.network, spec).length });
  const uplinkInterface = defined(host.root.interfaceOf(spec.address), "a node keeps its address");
  uplinkInterface.isForwarding = true;
  node.forwarder = forwarder;
}

function interfaceTo(compartment: Compartment, gateway: Ipv4): Interface {
  const route = compartment.routesTo(ANY_IPV4).find(({ nextHop }) => nextHop === gateway);
  return defined(route, `an endpoint has a default route to ${formatIp(gateway)}`).interface as Interface;
}

/**
 * What kubelet runs inside of the container after it has started: the default route stays with the NAT, 10.0.0.0/8 leads to the
 * node, and names are asked on that side alone.
 */
function settle(compartment: Compartment, gateway: Ipv4, dns: DnsSettings | undefined): void {
  const leg = interfaceTo(compartment, gateway);
  compartment.removeRoute({ prefix: ANY_IPV4, nextHop: gateway, interface: leg });
  compartment.addRoute({ prefix: ACS_POD_LEG, nextHop: gateway, interface: leg, metric: GATEWAY_METRIC });
  for (const each of compartment.listInterfaces()) {
    const servers = each === leg ? (dns?.servers ?? []) : [];
    each.names = { configured: { domain: "", search: [], servers }, learned: [] };
  }
  // Its resolver completes no name: kube-proxy does.
  compartment.dns = { ...compartment.namesOfMachine, asksSingleLabels: true };
}

/** Gives a container its two endpoints. @returns its address in the network of pods, which is the pod's. */
export async function connectTwice(
  {
    docker,
    node,
    file,
  }: { readonly docker: DockerNode; readonly node: ClusterNode; readonly file: ClusterFile },
  client: HcnClient,
  container: DockerContainerRequest,
  sandbox: {
    readonly namespaceId: string;
    readonly compartment: Compartment;
    readonly dns: DnsSettings | undefined;
  },
): Promise<Ipv4> {
  const { namespaceId, compartment, dns } = sandbox;
  // Inferred: a published port has no effect in a transparent network, and Docker starts the container all the same.
  const own = await docker.engine.connect(client, file.network.name, { ...container, ports: [] });
  await addNamespaceEndpoint(client, namespaceId, own.hnsId);
  const { name } = container;
  const nat = await docker.engine.connect(client, DEFAULT_NETWORK.name, {
    name,
    address: undefined,
    mac: undefined,
    ports: [],
  });
  await addNamespaceEndpoint(client, namespaceId, nat.hnsId);
  settle(compartment, gatewayOf(file, node), dns);
  return defined(own.address, "HNS chooses an address in the node's range");
}

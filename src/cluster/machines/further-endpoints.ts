/**
 * Endpoints that a pod has besides that of its network, and the static routes of its own (windows-networking-documentation.md
 * §10): what is put into a container after it has started.
 */
import { defined } from "#core/base/assert.ts";
import { ANY_IPV4, type Ipv4, prefixContains, prefixOf } from "#core/net/ip.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { addNamespaceEndpoint, createEndpoint, getNetworkByName } from "#contracts/hcn/operations.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { ClusterNode } from "../cluster.ts";
import type { ClusterFile, FilePodSpec, RouteSpec } from "../file/cluster-file.ts";
import { endpointDocument } from "../networks/network-document.ts";
import { networkNamed } from "../networks/networks-of-node.ts";
import type { PodAddresses } from "../pods/pod-addresses.ts";
import { type DockerNode, containerName } from "./docker-node.ts";

/** What Windows gives a gateway. */
const GATEWAY_METRIC = 256;

interface Sandbox {
  readonly pod: FilePodSpec;
  readonly namespaceId: string;
  readonly compartment: Compartment;
}

/** A static route that names its gateway leads over the interface that has the gateway on its link; the file checks that one has. */
function addRoute(compartment: Compartment, { to, via }: RouteSpec): void {
  const leg = compartment
    .listInterfaces()
    .find(({ addresses }) =>
      addresses.some(({ ip, length }) => typeof ip === "number" && prefixContains(prefixOf(ip, length), via)),
    );
  if (leg === undefined) return;
  // A default route of the pod's own takes the place of those that its networks gave it.
  if (to.length === 0) for (const route of compartment.routesTo(ANY_IPV4)) compartment.removeRoute(route);
  compartment.addRoute({ prefix: to, nextHop: via, interface: leg, metric: GATEWAY_METRIC });
}

/** Further endpoints of the pods of one node. */
export class FurtherEndpoints {
  private readonly client: HcnClient;
  private readonly node: ClusterNode;
  /** By namespace. */
  private readonly taken = new Map<string, (readonly [network: string, address: Ipv4])[]>();

  constructor(client: HcnClient, node: ClusterNode) {
    this.client = client;
    this.node = node;
  }

  /** @throws HcnError or CniError; what was taken until then goes with `release`. */
  async attach(
    file: ClusterFile,
    { pod, namespaceId, compartment }: Sandbox,
    {
      docker,
      books,
    }: { readonly docker: DockerNode | undefined; readonly books: ReadonlyMap<string, PodAddresses> },
  ): Promise<void> {
    for (const name of pod.furtherNetworks ?? [])
      await (docker === undefined
        ? this.attachByHcn(file, { pod, namespaceId, compartment }, name, books.get(name))
        : this.connect(docker, pod, namespaceId, name));
    for (const route of pod.routes ?? []) addRoute(compartment, route);
  }

  /** The addresses of a pod that is gone are free. */
  release(namespaceId: string, books: ReadonlyMap<string, PodAddresses>): void {
    for (const [network, address] of this.taken.get(namespaceId) ?? []) books.get(network)?.release(address);
    this.taken.delete(namespaceId);
  }

  private async attachByHcn(
    file: ClusterFile,
    { pod, namespaceId }: Sandbox,
    name: string,
    book: PodAddresses | undefined,
  ): Promise<void> {
    const network = networkNamed(file, name);
    const address = defined(book, "the file checks that the node has the network").take(undefined);
    const held = this.taken.get(namespaceId) ?? [];
    this.taken.set(namespaceId, [...held, [name, address]]);
    const { ID } = await getNetworkByName(this.client, name);
    const endpoint = await createEndpoint(
      this.client,
      defined(ID, "a network has an id"),
      endpointDocument(file, network, this.node.spec, {
        name: `${pod.namespace}_${pod.name}_${name}`,
        spec: { ...pod, ports: [], policies: [], mac: undefined, address6: undefined },
        address,
        dns: undefined,
      }),
    );
    await addNamespaceEndpoint(this.client, namespaceId, defined(endpoint.ID, "an endpoint has an id"));
  }

  /** `docker network connect`. */
  private async connect(
    docker: DockerNode,
    pod: FilePodSpec,
    namespaceId: string,
    name: string,
  ): Promise<void> {
    const container = { name: containerName(pod), address: undefined, mac: undefined, ports: [] };
    const { hnsId } = await docker.engine.connect(this.client, name, container);
    await addNamespaceEndpoint(this.client, namespaceId, hnsId);
  }
}

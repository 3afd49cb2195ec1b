/**
 * The server of ovn-kubernetes' program on a Windows node, which does the work of the CNI plugin (control-planes.md §4.5, "CNI per
 * pod"): an endpoint of the Transparent network with the addresses of the pod's annotation, and a port of the integration bridge
 * with its name.
 */
import type { HcnClient } from "#contracts/hcn/client.ts";
import { type StoredEndpoint, parseEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  deleteEndpoint,
  getNetworkById,
  getNetworkByName,
  listEndpoints,
  listNetworks,
  namespaceOf,
  type StoredNetwork,
  queryBy,
} from "#contracts/hcn/operations.ts";
import { gatewayOf, subnetsOf } from "#contracts/hcn/documents/network.ts";
import { formatIp, parseIp } from "#core/net/ip.ts";
import type { BoundInterface } from "../controller.ts";
import { POD_NETWORKS, type PodNetwork, readPodNetworks } from "../kube/pod-networks.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** What the plugin hands on. */
export interface CniServerRequest {
  readonly namespace: string;
  readonly name: string;
  /** UID of the pod, where the runtime tells it. */
  readonly uid: string | undefined;
  /** The sandbox: id of its HCN namespace. */
  readonly netns: string;
  readonly dns: { readonly servers: readonly string[]; readonly search: readonly string[] };
}

/** Why a request was refused. */
export class CniServerRefused extends Error {
  override readonly name = "CniServerRefused";
  /** The annotation may come yet: the runtime asks again. */
  readonly mayComeYet: boolean;

  constructor(message: string, mayComeYet: boolean) {
    super(message);
    this.mayComeYet = mayComeYet;
  }
}

/** What a node's program knows of a pod's object. */
export interface AnnotatedPod {
  readonly uid: string;
  /** Text of the annotation; undefined: the controller has not written it. */
  readonly networks: string | undefined;
}

/** A port of the integration bridge (`ovs-vsctl add-port br-int …`). */
export interface BridgePort extends BoundInterface {
  readonly mac: string;
  readonly address: string;
  readonly sandbox: string;
}

/** Which network pods are attached to: by its name, by its id, or the one that has the gateway of the pod's annotation. */
export type PodNetworkChoice = { readonly name: string } | { readonly id: string } | "by-gateway";

/** What is known of a pod; undefined: nothing. A program that waits for the annotation says it later. */
export type FindPod = (
  namespace: string,
  name: string,
) => AnnotatedPod | undefined | Promise<AnnotatedPod | undefined>;

interface MadePort extends BridgePort {
  /** What its endpoint was made with; the annotation may have changed since. */
  readonly made: PodNetwork;
}

/** @throws CniServerRefused when no network has this gateway, or several have. */
async function findByGateway(client: HcnClient, gateway: string): Promise<StoredNetwork> {
  const found = (await listNetworks(client)).filter((network) =>
    subnetsOf(network).some((subnet) => gatewayOf(subnet) === gateway),
  );
  const [only] = found;
  if (only === undefined) throw new CniServerRefused(WORDS.cniServerNoNetwork({ gateway }), false);
  if (found.length > 1) throw new CniServerRefused(WORDS.cniServerManyNetworks({ gateway }), false);
  return only;
}

/** What an endpoint was made with; undefined where it was not made by this server. */
function madeWith(endpoint: StoredEndpoint): PodNetwork | undefined {
  const [configuration] = endpoint.IpConfigurations ?? [];
  const address = parseIp(configuration?.IpAddress ?? "");
  const gateway = endpoint.Routes?.[0]?.NextHop;
  if (typeof address !== "number" || gateway === undefined || endpoint.MacAddress === undefined)
    return undefined;
  const mac = endpoint.MacAddress.replaceAll("-", ":").toLowerCase();
  return { address, length: configuration?.PrefixLength ?? 0, mac, gateway };
}

export class OvnCniServer {
  private readonly client: HcnClient;
  private readonly network: PodNetworkChoice;
  private readonly findPod: FindPod;
  private readonly ports = new Map<string, MadePort>();

  /** `network`: the Transparent network. */
  constructor(client: HcnClient, network: PodNetworkChoice, findPod: FindPod) {
    this.client = client;
    this.network = network;
    this.findPod = findPod;
  }

  /** Interfaces of the integration bridge. */
  listPorts(): readonly BridgePort[] {
    return [...this.ports.values()];
  }

  /** Asked again it changes nothing, since kubelets call ADD for each container. @throws CniServerRefused, HcnError */
  async add(request: CniServerRequest): Promise<PodNetwork> {
    const { namespace, name, netns } = request;
    const id = `${namespace}_${name}`;
    // A running pod keeps what it has: nobody changes an endpoint after an annotation.
    const known = this.ports.get(id);
    if (known?.sandbox === netns) return known.made;
    const pod = await this.podOf(request);
    const found = readPodNetworks(pod.networks);
    if (found === undefined)
      throw new CniServerRefused(
        `failed to unmarshal annotation ${POD_NETWORKS} of ${namespace}/${name}: ${pod.networks}`,
        false,
      );
    const made = (await this.adopt(id, netns)) ?? (await this.make(id, found, request));
    this.ports.set(id, {
      id,
      version: pod.uid,
      mac: made.mac,
      address: formatIp(made.address),
      sandbox: netns,
      made,
    });
    return made;
  }

  /** The pod, with its annotation. @throws CniServerRefused */
  private async podOf({
    namespace,
    name,
    uid,
  }: CniServerRequest): Promise<{ readonly uid: string; readonly networks: string }> {
    const pod = await this.findPod(namespace, name);
    if (pod !== undefined && uid !== undefined && pod.uid !== uid)
      throw new CniServerRefused(WORDS.cniServerOtherPod({ uid, known: pod.uid }), false);
    if (pod?.networks === undefined)
      throw new CniServerRefused(
        `timed out waiting for pod annotation ${POD_NETWORKS} of ${namespace}/${name}`,
        true,
      );
    return { uid: pod.uid, networks: pod.networks };
  }

  private async endpointsOf(id: string): Promise<readonly StoredEndpoint[]> {
    return listEndpoints(this.client, queryBy({ Name: id }));
  }

  /** What this sandbox has already: a server that was started anew remembers nothing. One of another sandbox is left over. */
  private async adopt(id: string, netns: string): Promise<PodNetwork | undefined> {
    let own: PodNetwork | undefined;
    for (const endpoint of await this.endpointsOf(id)) {
      if (namespaceOf(endpoint) === netns) own = madeWith(endpoint);
      else await deleteEndpoint(this.client, endpoint.ID);
    }
    return own;
  }

  private async make(id: string, found: PodNetwork, { netns, dns }: CniServerRequest): Promise<PodNetwork> {
    const network = await this.networkOf(found);
    const endpoint = await createEndpoint(
      this.client,
      network.ID,
      parseEndpoint({
        Name: id,
        MacAddress: found.mac.replaceAll(":", "-").toUpperCase(),
        IpConfigurations: [{ IpAddress: formatIp(found.address), PrefixLength: found.length }],
        Routes: [{ NextHop: found.gateway, DestinationPrefix: "0.0.0.0/0" }],
        Dns: { ServerList: [...dns.servers], Search: [...dns.search] },
      }),
    );
    try {
      await addNamespaceEndpoint(this.client, netns, endpoint.ID);
    } catch (error) {
      await deleteEndpoint(this.client, endpoint.ID);
      throw error;
    }
    return found;
  }

  private networkOf({ gateway }: PodNetwork): Promise<StoredNetwork> {
    const { client, network } = this;
    if (network === "by-gateway") return findByGateway(client, gateway);
    return "name" in network ? getNetworkByName(client, network.name) : getNetworkById(client, network.id);
  }

  /** @throws CniServerRefused when the endpoint of the pod is not there, or not in this sandbox. */
  async check({ namespace, name, netns }: CniServerRequest): Promise<void> {
    const id = `${namespace}_${name}`;
    const endpoints = await this.endpointsOf(id);
    if (endpoints.some((endpoint) => namespaceOf(endpoint) === netns)) return;
    throw new CniServerRefused(WORDS.cniServerEndpointGone({ id, netns }), false);
  }

  /** Takes the port and the endpoint away; what is gone already is no error. */
  async del({ namespace, name, netns }: CniServerRequest): Promise<void> {
    const id = `${namespace}_${name}`;
    // A sandbox of before may go when the pod has another one: that keeps what it has.
    const isOwn = (sandbox: string | undefined): boolean =>
      netns === "" || sandbox === undefined || sandbox === netns;
    if (isOwn(this.ports.get(id)?.sandbox)) this.ports.delete(id);
    for (const endpoint of await this.endpointsOf(id))
      if (isOwn(namespaceOf(endpoint))) await deleteEndpoint(this.client, endpoint.ID);
  }
}

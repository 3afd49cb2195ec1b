/**
 * The server of ovn-kubernetes' program on a Windows node, which does the work of the CNI plugin (control-planes.md §4.5, "CNI per
 * pod"): an endpoint of the Transparent network with the addresses of the pod's annotation, and a port of the integration bridge
 * with its name.
 */
import type { HcnClient } from "#contracts/hcn/client.ts";
import { parseEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  deleteEndpoint,
  getNamespaceEndpointIds,
  getNetworkByName,
} from "#contracts/hcn/operations.ts";
import { formatIp } from "#core/net/ip.ts";
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

interface MadePort extends BridgePort {
  /** What its endpoint was made with; the annotation may have changed since. */
  readonly made: PodNetwork;
}

export class OvnCniServer {
  private readonly client: HcnClient;
  private readonly network: string;
  private readonly podOf: (namespace: string, name: string) => AnnotatedPod | undefined;
  private readonly ports = new Map<string, MadePort>();

  /** `network`: name of the Transparent network. */
  constructor(
    client: HcnClient,
    network: string,
    podOf: (namespace: string, name: string) => AnnotatedPod | undefined,
  ) {
    this.client = client;
    this.network = network;
    this.podOf = podOf;
  }

  /** Interfaces of the integration bridge. */
  listPorts(): readonly BridgePort[] {
    return [...this.ports.values()];
  }

  /** Asked again it changes nothing, since kubelets call ADD for each container. @throws CniServerRefused, HcnError */
  async add({ namespace, name, uid, netns, dns }: CniServerRequest): Promise<PodNetwork> {
    const id = `${namespace}_${name}`;
    // A running pod keeps what it has: nobody changes an endpoint after an annotation.
    const known = this.ports.get(id);
    if (known?.sandbox === netns) return known.made;
    const pod = this.podOf(namespace, name);
    if (pod !== undefined && uid !== undefined && pod.uid !== uid)
      throw new CniServerRefused(WORDS.cniServerOtherPod({ uid, known: pod.uid ?? "" }), false);
    if (pod?.networks === undefined)
      throw new CniServerRefused(
        `timed out waiting for pod annotation ${POD_NETWORKS} of ${namespace}/${name}`,
        true,
      );
    const found = readPodNetworks(pod.networks);
    if (found === undefined)
      throw new CniServerRefused(
        `failed to unmarshal annotation ${POD_NETWORKS} of ${namespace}/${name}: ${pod.networks}`,
        false,
      );
    const made = await getNetworkByName(this.client, this.network);
    const endpoint = await createEndpoint(
      this.client,
      made.ID,
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
    this.ports.set(id, {
      id,
      version: pod.uid,
      mac: found.mac,
      address: formatIp(found.address),
      sandbox: netns,
      made: found,
    });
    return found;
  }

  /** Takes the port and the endpoint away; what is gone already is no error. */
  async del({ namespace, name, netns }: CniServerRequest): Promise<void> {
    const id = `${namespace}_${name}`;
    if (this.ports.get(id)?.sandbox === netns) this.ports.delete(id);
    for (const endpoint of await getNamespaceEndpointIds(this.client, netns))
      await deleteEndpoint(this.client, endpoint);
  }
}

/** What the kubelets of both systems share: the calls, and pods that live in the node's own compartment. */
import type { Ipv4 } from "#core/net/ip.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import { IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import type { ClusterNode, ClusterPod } from "../cluster.ts";
import type { OvnNodeParts } from "../ovn/ovn-node.ts";
import type { ClusterFile, FilePodSpec } from "../file/cluster-file.ts";

/** What a pod starts with. */
export interface PodStart {
  /** What its resolver is told. */
  readonly dns?: DnsSettings | undefined;
  /** The names of the containers that run. */
  readonly containers: readonly string[];
}

/** Decides for the pods of one node in the order in which they start, in networks of IPv4 alone. */
export interface PodForesight {
  /**
   * The address that the next pod will be given; undefined where the books do not say.
   * @throws CniError where its plugins will refuse.
   */
  next(pod: FilePodSpec, dns: DnsSettings): Promise<Ipv4 | undefined>;
}

/** Where the pods of one node are made and taken away. */
export interface Kubelet {
  /**
   * Gives the pod a sandbox and a network, and starts its containers.
   * @throws HcnError or CniError when HNS, HCS or a plugin refuses; nothing of the pod is left then.
   */
  addPod(pod: FilePodSpec, start?: PodStart): Promise<ClusterPod>;
  removePod(pod: ClusterPod): Promise<void>;
  /** Decides what pods will be given that start next; undefined where they have to be asked. */
  foresight?(): PodForesight | undefined;
  /** The node's part of ovn-kubernetes, with that plugin. */
  readonly ovn?: OvnNodeParts | undefined;
  /** The address for kube-proxy's `--source-vip`; undefined where it needs none, or where there is none. */
  reserveSourceVip(): Promise<Ipv4 | undefined>;
  /** The node has joined again, with other ranges for its pods; it has none now. */
  joined(file: ClusterFile): void;
  /** The machine has come up again. */
  rebooted(): void;
  /** Docker's engine starts, where it makes the networks of the node. @throws HcnError. */
  startNetworks(): Promise<void>;
}

/** `namespace/name`, as the pod's built-in server calls itself. */
export function podReference(pod: FilePodSpec): string {
  return pod.namespace === "default" ? pod.name : `${pod.namespace}/${pod.name}`;
}

/** A pod of the node's own network: `hostNetwork` on Linux, HostProcess on Windows. */
export function addHostPod(file: ClusterFile, node: ClusterNode, pod: FilePodSpec): ClusterPod {
  const compartment = node.host.root;
  const server = new IdentificationServer(compartment, podReference(pod));
  const { name, address } = node.spec;
  const address6 = file.ipv6?.nodes[name]?.address;
  return { spec: pod, node, compartment, address, address6, namespaceId: undefined, server };
}

/**
 * How often a kubelet tries a sandbox that its network refuses, for as long as the next one may go otherwise. With flannel
 * the first pod of a node fails on host-gw: host-local gives it `.2`, which the node's own leg has (kubernetes/kubernetes
 * issue 74766). Its kubelet tries again with a new sandbox, and host-local goes on behind it.
 */
export function sandboxTries({ network }: ClusterFile): number {
  return network.plugin === "flannel" ? 3 : 1;
}

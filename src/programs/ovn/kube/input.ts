/** What the controller computes northbound objects from. */
import type { EndpointSlice, Namespace, NetworkPolicy, Service } from "#contracts/kubernetes/objects.ts";
import type { Labels } from "#contracts/kubernetes/labels.ts";
import { type Ipv4, type Prefix, addToIp, formatIp } from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";

/** A node as its annotations and its own program describe it. */
export interface OvnNode {
  readonly name: string;
  /** `k8s.ovn.org/node-id`: its place in the join network. */
  readonly id: number;
  /** `k8s.ovn.org/node-subnets`. */
  readonly subnet: Prefix;
  /** `k8s.ovn.org/node-chassis-id`. */
  readonly chassis: string;
  /** `k8s.ovn.org/l3-gateway-config`: the shared gateway. */
  readonly gateway: {
    readonly address: string;
    readonly length: number;
    readonly mac: string;
    readonly nextHop: string;
    /** Machines of the wire that are known before anybody asks for them: MACs by address. */
    readonly neighbours: ReadonlyMap<string, string>;
  };
}

/** A pod with a network: `k8s.ovn.org/pod-networks`. */
export interface OvnPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  readonly ip: string;
  readonly labels: Labels;
  readonly ports: readonly {
    readonly name: string | undefined;
    readonly protocol: string;
    readonly port: number;
  }[];
}

export interface OvnInput {
  readonly clusterCIDR: Prefix;
  readonly nodes: readonly OvnNode[];
  readonly pods: readonly OvnPod[];
  readonly namespaces: readonly Namespace[];
  readonly services: readonly Service[];
  readonly slices: readonly EndpointSlice[];
  readonly policies: readonly NetworkPolicy[];
}

/** `0a:58` and the address (control-planes.md §4.2, "MAC and address rules"). */
export function macOfAddress(text: string): string {
  const bytes = text.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
  return ["0a", "58", ...bytes].join(":");
}

/** The address at a place of a node's subnet: 1 the router, 2 the node itself, pods behind them. */
export function addressAt(subnet: Prefix, place: number): string {
  return formatIp(defined(addToIp(subnet.address, place), "a subnet of pods has places") as Ipv4);
}

/** The name of a pod's port, which is the `iface-id` of its interface, too. */
export function portName({ namespace, name }: Pick<OvnPod, "namespace" | "name">): string {
  return `${namespace}_${name}`;
}

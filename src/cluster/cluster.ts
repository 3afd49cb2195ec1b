/**
 * A whole cluster as one value: machines, cables, pods, and the clock that moves them.
 * It is data, so `forkCluster` copies it, and whatever runs on the copy leaves the original as it was.
 */
import type { VirtualClock } from "#core/base/clock.ts";
import type { Environment } from "#core/base/environment.ts";
import { fork } from "#core/base/fork.ts";
import type { Recorder } from "#core/base/recorder.ts";
import type { FrameWatcher, Receiver } from "#dataplane/device/device.ts";
import type { MemoryDevice } from "#dataplane/device/memory-pair.ts";
import type { OutsideHost } from "#dataplane/fabric/outside-host.ts";
import type { Underlay } from "#dataplane/fabric/underlay.ts";
import type { HnsService } from "#hns/service/hns-service.ts";
import type { ActiveFault } from "#hns/failures/faults/active-faults.ts";
import type { DockerEngine } from "#programs/docker/engine.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Host } from "#dataplane/host/host.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import type { OvsdbTables } from "#dataplane/ovs/ovsdb-tables.ts";
import type { Ipv4, Ipv6 } from "#core/net/ip.ts";
import type { ClusterObjects } from "./cluster-objects.ts";
import type { Enforcement } from "./policies/enforcement.ts";
import { NOWHERE } from "./live/outlet.ts";
import type { ClusterFile, NodeSpec, FilePodSpec } from "./file/cluster-file.ts";

/** A node that is up. */
export interface ClusterNode {
  /** Another one when the node has joined again with another range for its pods. */
  spec: NodeSpec;
  readonly host: Host;
  /** The Host Networking Service; undefined on Linux. */
  readonly hns: HnsService | undefined;
  /** Windows: faults that its programs' calls of HNS meet, by id. */
  readonly faults?: Map<string, ActiveFault>;
  /** A fault was in force: no other node stands for it. */
  isApart?: true;
  /** Docker's engine, where it makes the networks. */
  docker?: DockerEngine;
  /** Of plugin acs-2017: the node's leg in the network of its pods, which has the addresses of Services as well. */
  forwarder?: Interface;
  /** The node's end of its cable; pulled while the machine is off. */
  readonly uplink: MemoryDevice;
}

/** A pod that has its network. */
export interface ClusterPod {
  readonly spec: FilePodSpec;
  readonly node: ClusterNode;
  /** True: its sandbox is made when somebody asks for its node; who reads the stack before does ask. */
  readonly isAtRest?: boolean;
  readonly compartment: Compartment;
  readonly address: Ipv4;
  /** Its second address; undefined in a cluster of IPv4 alone. */
  readonly address6?: Ipv6 | undefined;
  /** Windows: the HCN namespace of the sandbox. */
  readonly namespaceId: string | undefined;
  /** Answers on the pod's ports. */
  readonly server: IdentificationServer;
}

/** Nodes, by name, whose machines were asked for more than they have been given yet. */
export interface Demand {
  readonly nodes: Set<string>;
}

/** Those nodes of a cluster that its copies hold; the others are looked at and never run. */
export interface CopiedPart {
  has(node: string): boolean;
  /** Those of `nodes` alone that it has. */
  only(nodes: Iterable<string>): CopiedPart;
  /** Ends an attempt that needs a node which is not there. */
  require(node: string): void;
  /** What takes the place of what is not copied. */
  standIns(cluster: Cluster): ReadonlyMap<object, object>;
}

/** Both databases of OVN as they are, for who prints them. Frozen. */
export interface OvnTables {
  readonly northbound: OvsdbTables;
  readonly southbound: OvsdbTables;
}

export interface Cluster {
  /** As its nodes are now. */
  file: ClusterFile;
  readonly env: Environment;
  readonly clock: VirtualClock;
  readonly underlay: Underlay;
  readonly nodes: readonly ClusterNode[];
  readonly outside: readonly OutsideHost[];
  /** Machines on which API servers run that are no nodes of the cluster. */
  readonly apiServers: OutsideHost[];
  /** The input does not bring Service `kubernetes`: the cluster has it of its own. */
  isApiServiceAdded: boolean;
  /** Frozen, so that copies share it: what is asked of one is asked of the cluster. */
  readonly demand: Demand;
  /** The nodes that copies hold; absent: all. */
  readonly part?: CopiedPart;
  /** What takes frames out of the simulation, where the segment is real, and who captures; in copies `NOWHERE` has its place. */
  readonly outlets: Set<Receiver | FrameWatcher>;
  /** By order of creation. */
  readonly pods: ClusterPod[];
  /** Kubernetes' objects, as they were when the cluster last settled. */
  objects: ClusterObjects;
  /** OVN's databases; absent with another plugin. Frozen. */
  ovn?: OvnTables;
  /** Absent where nothing is said about an engine of NetworkPolicies. */
  enforcement?: Enforcement;
}

/** The pod whose stack this is, the first of those that share a node's; undefined for the stack of no pod. */
export function podAt({ pods }: Cluster, compartment: Compartment | undefined): ClusterPod | undefined {
  if (compartment === undefined) return undefined;
  return pods.find((pod) => pod.isAtRest !== true && pod.compartment === compartment);
}

/** An independent copy of `cluster`; `recorder` hears the packets that are followed in the copy. */
export function forkCluster(cluster: Cluster, recorder?: Recorder): Cluster {
  const { part } = cluster;
  for (const { spec, hns } of cluster.nodes) if (part?.has(spec.name) !== false) hns?.settle();
  const standIns = new Map<object, object>(part?.standIns(cluster));
  for (const outlet of cluster.outlets) standIns.set(outlet, NOWHERE);
  const copy = fork(cluster, standIns);
  copy.env.recorder = recorder;
  return copy;
}

/** A parsed cluster file → the cluster, up and quiet. */
import { assert, defined } from "../base/assert.ts";
import { VirtualClock } from "../base/clock.ts";
import type { Environment } from "../base/environment.ts";
import { Prng } from "../base/prng.ts";
import { Underlay } from "../fabric/underlay.ts";
import { IdentificationServer } from "../host/services/identification-server.ts";
import type { Compartment } from "../host/compartment.ts";
import type { Mac } from "../net/mac.ts";
import type { Cluster, ClusterNode, ClusterPod } from "./cluster.ts";
import type { ClusterFile, NodeSpec, PortSpec } from "./file/cluster-file.ts";
import { LinuxKubelet, bootLinuxNode } from "./linux-node.ts";
import { addPodRoutes, bootWindowsNode, createL2Bridge } from "./windows-node.ts";
import { WindowsKubelet } from "./windows-pods.ts";

/** MACs of the nodes' adapters count up from here, so that the first node has 00-15-5D-00-00-11. */
const FIRST_NODE_MAC = 0x0015_5d00_0011;
/** Events of the bring-up (announcements, first ARP) have settled after this time. */
const SETTLE_MS = 5_000;

/** Told of each step of the bring-up. */
export interface OpenProgress {
  nodeReady(node: NodeSpec): void;
}

function serve(compartment: Compartment, name: string, ports: readonly PortSpec[]): void {
  const server = new IdentificationServer(compartment, name);
  for (const { port, protocol } of ports) {
    const failure = protocol === "TCP" ? server.listenTcp(port) : server.listenUdp(port);
    if (failure !== undefined) throw new Error(`${name} cannot serve ${protocol} port ${port}: ${failure}`);
  }
}

/** Where the pods of one node are made. */
interface Kubelet {
  addPod(pod: ClusterFile["pods"][number]): ClusterPod | Promise<ClusterPod>;
}

async function bringUpNode(env: Environment, file: ClusterFile, node: ClusterNode): Promise<Kubelet> {
  if (node.spec.os === "linux") {
    addPodRoutes(file, node);
    return new LinuxKubelet(env, file, node);
  }
  await createL2Bridge(file, node);
  addPodRoutes(file, node);
  return new WindowsKubelet(file, node);
}

/**
 * Builds the cluster that `file` describes and lets it settle. Same file, same cluster, byte for byte.
 * @throws HcnError or CniError when the file asks for something that HNS or a plugin refuses.
 */
export async function openCluster(file: ClusterFile, progress?: OpenProgress): Promise<Cluster> {
  const clock = new VirtualClock();
  const env: Environment = { clock, prng: new Prng(file.seed), recorder: undefined };
  const underlay = new Underlay(env, {
    subnet: file.underlay.subnet,
    routerIp: file.underlay.router,
    outside: [],
  });
  for (const { to, via } of file.underlay.routes) {
    assert(underlay.router.addRoute({ prefix: to, nextHop: via }), "a route's next hop lies in the underlay");
  }
  const outside = file.outside.map((spec) => {
    const host = underlay.addOutsideHost({ name: spec.name, ip: spec.address });
    serve(host.compartment, spec.name, spec.ports);
    return host;
  });
  const nodes = file.nodes.map((spec, index) => {
    const uplink = { device: underlay.connect(spec.name), mac: (FIRST_NODE_MAC + index) as Mac };
    const boot = spec.os === "windows" ? bootWindowsNode : bootLinuxNode;
    return boot(env, file, spec, uplink);
  });
  const kubelets = new Map<string, Kubelet>();
  for (const node of nodes) {
    kubelets.set(node.spec.name, await bringUpNode(env, file, node));
    progress?.nodeReady(node.spec);
  }
  const pods: ClusterPod[] = [];
  for (const spec of file.pods) {
    const kubelet = defined(kubelets.get(spec.node), "the cluster file checks that a pod's node exists");
    const pod = await kubelet.addPod(spec);
    serve(pod.compartment, spec.name, spec.ports);
    pods.push(pod);
  }
  clock.runUntilIdle(SETTLE_MS);
  return { file, env, clock, underlay, nodes, outside, pods };
}

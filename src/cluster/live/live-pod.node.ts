/**
 * Makes a pod real: a namespace with what the pod's compartment has (MAC, address, gateway, MTU, name servers) takes its place
 * on the port of the switch. HNS and VFP do with its frames what they do with those of any pod.
 */
import { defined } from "#core/base/assert.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import type { SystemCalls } from "#dataplane/device/linux/system-calls.node.ts";
import { ApiError } from "../api/error-details.ts";
import type { Cluster, ClusterPod } from "../cluster.ts";
import { podOfWorkload } from "../trace/workload-pods.ts";
import { portBefore } from "../views/vfp-ports.ts";
import { LiveMachine, namespaceOf } from "./live-machine.node.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();
const REFUSED = 400;
const DEFAULT_NAMESPACE = "default";

/** `web`, or `shop/web` outside of the namespace `default`. */
export function nameOfPod({ spec }: ClusterPod): string {
  return spec.namespace === DEFAULT_NAMESPACE ? spec.name : `${spec.namespace}/${spec.name}`;
}

/** The namespace of this machine that is the pod `name` of a running cluster. */
function namespaceOfPod(cluster: string, name: string): string {
  return namespaceOf(cluster, name.replace(/^default\//, "").replace("/", "_"));
}

/** @throws ApiError for a pod that there is not, or that has no network of its own. */
export function findLivePod(cluster: Cluster, wanted: string): ClusterPod {
  const pod = findPod(cluster, wanted);
  if (pod.spec.network !== "host") return pod;
  const message = `${nameOfPod(pod)} has the network of its node`;
  throw new ApiError(REFUSED, "live-not-possible", message, WORDS.adviceLivePods);
}

function findPod(cluster: Cluster, wanted: string): ClusterPod {
  const { pods } = cluster;
  const name = wanted.replace(/^(?:pods?\/)?(?:default\/)?/, "");
  const found = pods.find((pod) => nameOfPod(pod) === name) ?? podOfWorkload(cluster, wanted);
  if (found !== undefined) return found;
  const [near] = nearestNames(name, pods.map(nameOfPod), 1);
  const advice = near === undefined ? WORDS.adviceLivePods : `Did you mean ${JSON.stringify(near)}?`;
  throw new ApiError(REFUSED, "unknown-object", `the cluster has no pod ${JSON.stringify(wanted)}`, advice);
}

/** @throws what `LiveMachine.open` throws. */
export function openLivePod(
  cluster: Cluster,
  calls: SystemCalls,
  name: string,
  pod: ClusterPod,
): LiveMachine {
  const { compartment, address, address6 } = pod;
  const simulated = defined(compartment.interfaceOf(address), "a pod has its address");
  const gateways = compartment
    .listRoutes()
    .flatMap(({ prefix, nextHop }) => (prefix.length === 0 ? (nextHop ?? []) : []));
  const port = portBefore(pod.node, simulated.device);
  return LiveMachine.open(cluster, calls, {
    name: namespaceOfPod(name, nameOfPod(pod)),
    addresses: simulated.addresses.filter(({ ip }) => ip === address || ip === address6),
    mac: simulated.mac,
    mtuBytes: simulated.mtuBytes,
    gateways,
    dns: compartment.dns,
    device: simulated.device,
    simulated,
    lost: () => port?.countDrop("in", "switch", "interface-down"),
  });
}

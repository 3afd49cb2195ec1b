/** Pods of the cluster file as Kubernetes objects, and Kubernetes' pods as what a kubelet starts. */
import type { JsonObject } from "#core/base/json.ts";
import {
  isHostNetwork,
  isHostProcess,
  isSidecar,
  isWithoutProcess,
  lastingContainers,
  podAddresses,
  stoppedContainers,
} from "#contracts/kubernetes/pod.ts";
import { portsOfImages } from "#contracts/kubernetes/image-ports.ts";
import type { Pod, Service } from "#contracts/kubernetes/objects.ts";
import { type Ipv4, type Ipv6, formatIp, parseIpv4, parseIpv6 } from "#core/net/ip.ts";
import type { NodeOs, PodPortSpec, FilePodSpec, PortSpec } from "../file/cluster-file.ts";

/**
 * A pod that declares no port and that no Service leads to still answers here, so that it can be asked. Not in the node's
 * own network, where pods would quarrel about the port.
 */
const DEFAULT_POD_PORT: PodPortSpec = Object.freeze({
  port: 8080,
  protocol: "TCP",
  hostPort: undefined,
});

/** The Pod object of a pod that stands in the cluster file. */
export function podManifest(spec: FilePodSpec): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: spec.name, namespace: spec.namespace, labels: spec.labels },
    spec: {
      nodeName: spec.node,
      containers: [
        {
          name: "server",
          image: "mullion/server",
          ports: spec.ports.map(({ port, protocol, hostPort }) => ({
            containerPort: port,
            protocol,
            ...(hostPort === undefined ? {} : { hostPort }),
          })),
        },
      ],
    },
    ...(spec.address === undefined ? {} : { status: { podIP: formatIp(spec.address) } }),
  };
}

/**
 * Whether the pod lives in the node's own network. On Windows `hostNetwork` does that for HostProcess pods only
 * (windows-networking-documentation.md §8); others get a network of their own all the same.
 */
export function networkOf(pod: Pod, os: NodeOs): FilePodSpec["network"] {
  if (os === "windows") return isHostProcess(pod) ? "host" : "pod";
  return isHostNetwork(pod) ? "host" : "pod";
}

/** A sidecar's port is open as another's; the kubelet maps host ports of `containers` alone (`generatePodSandboxConfig`). */
function declaredPorts(
  pod: Pod,
  counts: (container: string) => boolean = () => true,
): readonly PodPortSpec[] {
  const ports: PodPortSpec[] = [];
  for (const container of lastingContainers(pod.spec)) {
    if (!counts(container.name)) continue;
    for (const { containerPort, protocol = "TCP", hostPort } of container.ports ?? []) {
      if (protocol !== "TCP" && protocol !== "UDP") continue;
      if (ports.some((other) => other.port === containerPort && other.protocol === protocol)) continue;
      ports.push({ port: containerPort, protocol, hostPort: isSidecar(container) ? undefined : hostPort });
    }
  }
  return ports;
}

/** The ports of `services` that lead to a number of the pod's ports; names are declared by the pod itself. */
function targetPorts(services: readonly Service[]): readonly PortSpec[] {
  return services.flatMap((service) =>
    (service.spec?.ports ?? []).flatMap(({ port, targetPort, protocol = "TCP" }) => {
      const target = typeof targetPort === "string" ? Number.NaN : (targetPort ?? port);
      return Number.isInteger(target) && (protocol === "TCP" || protocol === "UDP")
        ? [{ port: target, protocol }]
        : [];
    }),
  );
}

/**
 * Where the pod answers. What a container really listens on is not in a manifest: the declared ports are taken, and
 * those that Services lead to, for a server that nobody can reach would show nothing. Where all images are known, their own
 * ports are all that may be asked besides. Ports of containers that do not run are closed.
 * @param services those that select the pod.
 */
export function servedPorts(
  pod: Pod,
  network: FilePodSpec["network"],
  services: readonly Service[],
): readonly PortSpec[] {
  if (isWithoutProcess(pod)) return [];
  const stopped = stoppedContainers(pod);
  const ports: PortSpec[] = [...declaredPorts(pod, (container) => !stopped.has(container))];
  const closed = declaredPorts(pod, (container) => stopped.has(container));
  const certain = portsOfImages(lastingContainers(pod.spec));
  for (const target of targetPorts(services)) {
    if (certain !== undefined && !(target.protocol === "TCP" && certain.includes(target.port))) continue;
    const isKnown = [...ports, ...closed].some(
      (other) => other.port === target.port && other.protocol === target.protocol,
    );
    if (!isKnown) ports.push(target);
  }
  // What is left of a pod whose other containers do not run is not asked for a port that it has not.
  if (closed.length > 0) return ports;
  if (ports.length > 0 || network !== "pod") return ports;
  return certain?.map((port) => ({ port, protocol: "TCP" })) ?? [DEFAULT_POD_PORT];
}

function fixedAddress(pod: Pod): Ipv4 | undefined {
  return podAddresses(pod).flatMap((text) => parseIpv4(text) ?? [])[0];
}

function fixedSecondAddress(pod: Pod): Ipv6 | undefined {
  return podAddresses(pod).flatMap((text) => parseIpv6(text) ?? [])[0];
}

/** Names one of the cluster file's `networks` in a manifest: pods have no field for it. */
export const NETWORK_ANNOTATION = "mullion/network";

/**
 * What the kubelet of `node` starts for a pod. `own` is the pod's entry in the cluster file, which knows policies that
 * no manifest can say. Pods that name no network are in the node's first one.
 */
export function sandboxOf(
  pod: Pod,
  node: { readonly name: string; readonly os: NodeOs; readonly podNetwork: string },
  own: FilePodSpec | undefined,
): FilePodSpec {
  const network = networkOf(pod, node.os);
  const { name, namespace, labels = {} } = pod.metadata;
  const ports = declaredPorts(pod);
  return {
    name,
    namespace,
    node: node.name,
    labels,
    ports,
    address: network === "host" ? undefined : (own?.address ?? fixedAddress(pod)),
    address6: network === "host" ? undefined : fixedSecondAddress(pod),
    mac: network === "host" ? undefined : own?.mac,
    policies: own?.policies ?? [],
    network,
    ...(network === "pod" && { furtherNetworks: own?.furtherNetworks ?? [], routes: own?.routes ?? [] }),
    podNetwork: own?.podNetwork ?? pod.metadata.annotations?.[NETWORK_ANNOTATION] ?? node.podNetwork,
  };
}

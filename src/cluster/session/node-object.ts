/** A node of the cluster file as Kubernetes sees it. */
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import type { JsonObject } from "#core/base/json.ts";
import {
  KUBERNETES_MINORS_BEFORE_CNI,
  KUBERNETES_MINOR_MAX,
  KUBERNETES_MINOR_MIN,
} from "../file/description.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import type { ClusterFile, KubernetesRelease, NodeSpec } from "../file/cluster-file.ts";

export function formatKubernetesVersion({ major, minor, patch }: KubernetesRelease): string {
  return `v${major}.${minor}.${patch ?? 0}`;
}

/** `v1.30.4+k3s1`, as nodes report their programs, within what Mullion knows; undefined for what is no version. */
export function parseReportedVersion(text: string): KubernetesRelease | undefined {
  const match = /^v?1\.(\d{1,3})(?:\.(\d{1,3}))?/.exec(text);
  if (match === null) return undefined;
  const isEarly = KUBERNETES_MINORS_BEFORE_CNI.includes(Number(match[1]));
  const nearest = Math.min(Math.max(Number(match[1]), KUBERNETES_MINOR_MIN), KUBERNETES_MINOR_MAX);
  const minor = isEarly ? Number(match[1]) : nearest;
  const isKnown = minor === Number(match[1]);
  return { major: 1, minor, patch: isKnown && match[2] !== undefined ? Number(match[2]) : undefined };
}

/** `10.0.20348.2582`: what a Windows node reports as its kernel; without a revision when the file names none. */
export function kernelVersionOf(build: WindowsBuild | undefined): string {
  if (build === undefined) return "6.1.0";
  const { profile, revision } = build;
  return `10.0.${profile.build}${revision === undefined ? "" : `.${revision}`}`;
}

/** Its own labels, and those that kubelet gives its node, the deprecated pair included (well-known labels of Kubernetes). */
function labelsOf(spec: NodeSpec): Readonly<Record<string, string>> {
  return {
    ...spec.labels,
    "kubernetes.io/os": spec.os,
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/hostname": spec.name,
    "beta.kubernetes.io/os": spec.os,
    "beta.kubernetes.io/arch": "amd64",
    ...(spec.build === undefined
      ? {}
      : { "node.kubernetes.io/windows-build": `10.0.${spec.build.profile.build}` }),
  };
}

/** What every kubelet gives its Node; the second is the control plane's (well-known annotations of Kubernetes). */
const ANNOTATIONS: JsonObject = Object.freeze({
  "volumes.kubernetes.io/controller-managed-attach-detach": "true",
  "node.alpha.kubernetes.io/ttl": "0",
});

/**
 * What the programs of its network write of a node. Open vSwitch on Windows compares no packet with an MTU, so that its nodes
 * keep `gateway_mtu` off the gateway routers (control-planes.md §4.5).
 */
function annotationsOf(file: ClusterFile, spec: NodeSpec): JsonObject {
  const isOfOvn = file.network.plugin === "ovn-kubernetes" && spec.os === "windows";
  return isOfOvn ? { ...ANNOTATIONS, "k8s.ovn.org/gateway-mtu-support": "false" } : ANNOTATIONS;
}

/** The Node object of one node, as a manifest; `kubernetes` is the version of its kubelet and kube-proxy. */
export function nodeManifest(file: ClusterFile, spec: NodeSpec): JsonObject {
  const version = formatKubernetesVersion(file.kubernetes.version);
  const { shape, routes } = file.network;
  const podCIDR = formatPrefix(spec.podCIDR);
  const second = file.ipv6?.nodes[spec.name];
  const podCIDRs = second === undefined ? [podCIDR] : [podCIDR, formatPrefix(second.podRange)];
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: spec.name, labels: labelsOf(spec), annotations: annotationsOf(file, spec) },
    // Ranges of Azure CNI Overlay are known to CNS alone.
    spec: shape === "own-subnet" && routes !== "fabric" && spec.isRangeInNode ? { podCIDR, podCIDRs } : {},
    status: {
      addresses: [
        { type: "InternalIP", address: formatIp(spec.address) },
        ...(second === undefined ? [] : [{ type: "InternalIP", address: formatIp(second.address) }]),
        { type: "Hostname", address: spec.name },
      ],
      conditions: [{ type: "Ready", status: "True", reason: "KubeletReady" }],
      allocatable: { pods: "110" },
      capacity: { pods: "110" },
      nodeInfo: {
        operatingSystem: spec.os,
        architecture: "amd64",
        kernelVersion: kernelVersionOf(spec.build),
        osImage: spec.build?.profile.title ?? "Linux",
        kubeletVersion: version,
        kubeProxyVersion: version,
        containerRuntimeVersion: "containerd://2.0",
        // On Windows kubelet takes the machine's name; hybrid-overlay-node knows its own Node by it.
        machineID: routes === "hybrid-overlay" ? spec.hostname : "",
        systemUUID: "",
        bootID: "",
      },
    },
  };
}

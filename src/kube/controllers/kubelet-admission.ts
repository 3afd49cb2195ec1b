/** What a kubelet asks before it starts a pod that stands on its node (k8s.io/kubernetes, `pkg/kubelet/lifecycle`). */
import type { Node, Pod } from "../types.ts";
import { matchesNode } from "./node-fit.ts";

export interface KubeletRefusal {
  readonly reason: string;
  readonly message: string;
}

/** The operating system of a node; undefined when nothing says it. */
export function nodeOs(node: Node): string | undefined {
  const labels = node.metadata.labels ?? {};
  const texts = [
    node.status?.nodeInfo?.operatingSystem,
    labels["kubernetes.io/os"],
    labels["beta.kubernetes.io/os"],
  ];
  return texts.find((text) => text !== undefined && text !== "");
}

/** Why the kubelet of `node` lets the pod fail; undefined when it starts it. */
export function kubeletRefusal(pod: Pod, node: Node): KubeletRefusal | undefined {
  const wanted = pod.spec?.os?.name;
  const os = nodeOs(node);
  if (wanted !== undefined && os !== undefined && wanted !== os) {
    return {
      reason: "PodOSNotSupported",
      message: "Failed to admit pod as the OS field doesn't match node OS",
    };
  }
  if (pod.spec !== undefined && !matchesNode(pod.spec, node)) {
    return {
      reason: "NodeAffinity",
      message:
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    };
  }
  return undefined;
}

/** What a kubelet asks before it starts a pod that stands on its node (k8s.io/kubernetes, `pkg/kubelet/lifecycle`). */
import type { Node, Pod } from "#contracts/kubernetes/objects.ts";
import { matchesNode } from "./scheduler.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

/** The reasons that a refused pod shows. */
export const KUBELET_REFUSALS: readonly string[] = Object.freeze([
  "PodOSSelectorNodeLabelDoesNotMatch",
  "PodOSNotSupported",
  "NodeAffinity",
]);

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
  const label = pod.metadata.labels?.["kubernetes.io/os"];
  if (label !== undefined && nodeOs(node) !== undefined && label !== nodeOs(node)) {
    return {
      reason: "PodOSSelectorNodeLabelDoesNotMatch",
      message: WORDS.podOsLabelMismatch,
    };
  }
  const wanted = pod.spec?.os?.name;
  const os = nodeOs(node);
  if (wanted !== undefined && os !== undefined && wanted !== os) {
    return {
      reason: "PodOSNotSupported",
      message: WORDS.podOsMismatch,
    };
  }
  if (pod.spec !== undefined && !matchesNode(pod.spec, node)) {
    return {
      reason: "NodeAffinity",
      message: WORDS.podNodeAffinityMismatch,
    };
  }
  return undefined;
}

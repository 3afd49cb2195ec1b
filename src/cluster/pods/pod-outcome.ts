/** What became of pods. */
import type { Pod } from "#contracts/kubernetes/objects.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { ClusterPod } from "../cluster.ts";
import type { ContainerObstacle } from "./container-starts.ts";

/** What a kubelet has to say about a pod. */
export interface PodRemark {
  readonly code: KnowledgeCode;
  /** One sentence without a full stop; it names neither pod nor node. */
  readonly text: string;
  /** A pod that has its network does not work as it is written, and the input does not say so itself. */
  readonly isTrouble?: boolean;
}

/** What became of a pod. */
export interface PodOutcome {
  readonly pod: Pod;
  /** Undefined when the pod has no network. */
  readonly running: ClusterPod | undefined;
  /** Why it has none, or what is special about it. */
  readonly remarks: readonly PodRemark[];
  /** What keeps its containers from starting. */
  readonly obstacles: readonly ContainerObstacle[];
}

/** What one sync did. */
export interface PodSync {
  /** Pods that were started, or could not be. */
  readonly started: readonly PodOutcome[];
  /** Pods that are gone, and whose network is not. */
  readonly leftBehind: readonly PodOutcome[];
}

/** What flanneld asks of Kubernetes: a part of `KubeSource`, for Nodes. */
import type { KubeError } from "../../kube/error.ts";
import type { Node } from "../../kube/objects.ts";

interface NodeName {
  readonly namespace: string;
  readonly name: string;
}

export interface NodeEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Node;
}

export interface NodeWatchOptions {
  readonly onBookmark?: (resourceVersion: string) => void;
  /** Nothing follows. Without an error: watch again from the last version. */
  readonly onEnd?: (error: KubeError | undefined) => void;
}

/** Every `KubeSource` is one. */
export interface NodeSource {
  list(kind: "Node"): Promise<{ readonly items: readonly Node[]; readonly resourceVersion: string }>;
  watch(
    kind: "Node",
    resourceVersion: string,
    listener: (event: NodeEvent) => void,
    options?: NodeWatchOptions,
  ): () => void;
  get(kind: "Node", name: NodeName): Promise<Node>;
  patch(
    kind: "Node",
    name: NodeName,
    patch: { readonly type: "strategic"; readonly body: Readonly<Record<string, unknown>> },
    options?: { readonly subresource?: "status" },
  ): Promise<Node>;
}

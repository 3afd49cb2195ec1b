/**
 * Where Kubernetes objects come from. Programs (kube-proxy, DNS, agents) list once and then watch; they never know
 * whether files, the embedded control plane or a real API server stand behind it.
 */
import type { KubeKind, KubeObjects } from "./objects.ts";

export interface KubeList<Kind extends KubeKind> {
  readonly items: readonly KubeObjects[Kind][];
  /** Where a watch goes on from. */
  readonly resourceVersion: string;
}

export interface WatchEvent<Kind extends KubeKind> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObjects[Kind];
}

/** Hears the changes of one kind, in order. */
export type WatchListener<Kind extends KubeKind> = (event: WatchEvent<Kind>) => void;

export interface KubeSource {
  /** All objects of a kind, by namespace and name. */
  list<Kind extends KubeKind>(kind: Kind): Promise<KubeList<Kind>>;
  /**
   * Tells the changes after `resourceVersion` until the returned function is called.
   * @throws KubeError `resource-version-expired` (HTTP 410) when they are not remembered any more: list again.
   */
  watch<Kind extends KubeKind>(
    kind: Kind,
    resourceVersion: string,
    listener: WatchListener<Kind>,
  ): () => void;
}

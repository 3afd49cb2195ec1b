/** What a controller wants done. Controllers are functions: they look at the store and change nothing. */
import type { KubeObject, Pod } from "#contracts/kubernetes/objects.ts";

export interface WantedChanges {
  /** Without a uid. */
  readonly create: readonly KubeObject[];
  readonly update: readonly KubeObject[];
  readonly remove: readonly KubeObject[];
}

export const NO_CHANGES: WantedChanges = Object.freeze({
  create: Object.freeze([]),
  update: Object.freeze([]),
  remove: Object.freeze([]),
});

/** Gives a name that no pod of the owner has had. */
export type NamePods = (base: string) => string;

/** Pods that a workload may call its own. */
export interface OwnPods {
  readonly own: readonly Pod[];
  /** Matching pods without a controller: the workload adopts them. */
  readonly orphans: readonly Pod[];
}

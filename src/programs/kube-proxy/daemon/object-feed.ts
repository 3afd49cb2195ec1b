/** What the running kube-proxy needs of Kubernetes: three kinds of objects, followed, and a place for events. */
import type { Behaviour } from "../behaviour.ts";
import type { KubeObjects } from "#contracts/kubernetes/objects.ts";
import type { EventSink } from "./event-recorder.ts";

export type FollowedKind = "Service" | "EndpointSlice" | "Node";

export interface FollowHandler<Kind extends FollowedKind> {
  /** One object was added (no `before`), changed, or is gone (no `after`). */
  changed(before: KubeObjects[Kind] | undefined, after: KubeObjects[Kind] | undefined): void;
  /** Everything there is has been reported. */
  listed(): void;
  /** It cannot be read; it is tried again after `retryInMs`. */
  failed(error: Error, retryInMs: number): void;
}

export interface FollowSelection {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ObjectFeed {
  /** Follows a kind until the returned function is called. */
  follow<Kind extends FollowedKind>(
    kind: Kind,
    selection: FollowSelection,
    handler: FollowHandler<Kind>,
  ): () => void;
  readonly events: EventSink;
  /** False: everything is listed at once, and a Node that is missing does not come by waiting. */
  readonly mayHaveNodesLater: boolean;
  /** Ends everything. */
  close(): Promise<void>;
}

/** First minor that leaves headless Services to the server's filter. */
const FIELD_SELECTOR_SINCE = 32;

/** The selections of a version: what it does not look at, the server need not send (kube-proxy.md §2.5). */
export function selectionOf(
  kind: FollowedKind,
  { minor, labelFilters }: Pick<Behaviour, "minor" | "labelFilters">,
  nodeName: string,
): FollowSelection {
  if (kind === "Node") return { fieldSelector: `metadata.name=${nodeName}` };
  const hidden = kind === "Service" ? labelFilters.service : labelFilters.slice;
  const labelSelector = hidden.map((label) => `!${label}`).join(",");
  const hasFieldSelector = kind === "Service" && minor >= FIELD_SELECTOR_SINCE;
  return hasFieldSelector ? { labelSelector, fieldSelector: "spec.clusterIP!=None" } : { labelSelector };
}

/**
 * Where Kubernetes objects come from, and where programs write what they have to say. Programs (kube-proxy, flanneld,
 * DNS, agents) see this seam only; they never know whether files, the embedded control plane or a real API server
 * stand behind it. All implementations pass one suite: `source-contract.suite.ts`. Most programs follow a kind through
 * `Informer`, which lists, watches and comes back after every interruption.
 */
import type { KubeError } from "./error.ts";
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

/** Which objects of a kind; all of them when nothing is said. */
export interface Selection {
  readonly namespace?: string;
  /** As on kubectl's command line: `app=web,!service.kubernetes.io/headless`. */
  readonly labelSelector?: string;
  /** `metadata.name=win-1`, `spec.nodeName=win-1`; what may be asked for depends on the kind, as with Kubernetes. */
  readonly fieldSelector?: string;
}

export interface WatchOptions extends Selection {
  /** Hears, from time to time, the version up to which everything has been told. */
  readonly onBookmark?: (resourceVersion: string) => void;
  /**
   * The watch has ended, and not because its caller ended it: nothing follows. Without an error the server has closed
   * it, as it does every few minutes: watch again from the last version. `resource-version-expired` (410): list again.
   */
  readonly onEnd?: (error: KubeError | undefined) => void;
}

/** The name of an object; the namespace is empty for what has none. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** An object as it is given to `create`: the server fills in the rest. */
export type KubeDraft<Kind extends KubeKind> = Omit<KubeObjects[Kind], "apiVersion" | "kind" | "metadata"> & {
  readonly apiVersion?: string;
  readonly kind?: Kind;
  readonly metadata: Partial<KubeObjects[Kind]["metadata"]>;
};

/** One operation of a JSON patch (RFC 6902). */
export interface JsonPatchOperation {
  readonly op: "add" | "remove" | "replace" | "move" | "copy" | "test";
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

export type PatchBody = Readonly<Record<string, unknown>>;

/**
 * A change of some fields. `merge` is RFC 7386; `strategic` is Kubernetes' own, which knows lists whose items have
 * keys. A `metadata.resourceVersion` in it makes the change depend on that version.
 */
export type KubePatch =
  | { readonly type: "merge" | "strategic"; readonly body: PatchBody }
  | { readonly type: "json"; readonly body: readonly JsonPatchOperation[] };

export interface WriteOptions {
  /** Changes the status and nothing of the spec. Without it the status stays as it is. */
  readonly subresource?: "status";
}

export interface DeleteOptions {
  /** Deletes only this object, not a later one of its name. */
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** What tells of objects: enough for a program that reads a control plane of its own process. */
export interface KubeReader {
  /** All objects of a kind, by namespace and name. */
  list<Kind extends KubeKind>(kind: Kind): Promise<KubeList<Kind>>;
  /**
   * Tells the changes after `resourceVersion` until the returned function is called.
   * @throws KubeError `resource-version-expired` (410) when they are not remembered any more: list again. A `KubeSource`
   * tells that to `onEnd`.
   */
  watch<Kind extends KubeKind>(
    kind: Kind,
    resourceVersion: string,
    listener: WatchListener<Kind>,
  ): () => void;
}

/**
 * Everything that fails does so with a `KubeError`: `object-not-found` (404), `object-exists-already` and
 * `object-changed-meanwhile` (409), `object-refused` (422), `resource-version-expired` (410),
 * `kubernetes-access-denied` (401, 403), `kubernetes-request-invalid` (other 4xx), `kubernetes-unreachable` (503, and
 * whatever keeps a request from its answer). Only the last one is worth another try of the same call.
 */
export interface KubeSource extends KubeReader {
  /** All objects of a kind, by namespace and name. */
  list<Kind extends KubeKind>(kind: Kind, selection?: Selection): Promise<KubeList<Kind>>;

  /**
   * Tells the changes after `resourceVersion` until the returned function is called. Never throws: what keeps it from
   * watching is told to `onEnd`, and never before `watch` has returned.
   */
  watch<Kind extends KubeKind>(
    kind: Kind,
    resourceVersion: string,
    listener: WatchListener<Kind>,
    options?: WatchOptions,
  ): () => void;

  get<Kind extends KubeKind>(kind: Kind, name: ObjectName): Promise<KubeObjects[Kind]>;

  /** Stores a new object; `metadata.generateName` asks for a name. */
  create<Kind extends KubeKind>(kind: Kind, draft: KubeDraft<Kind>): Promise<KubeObjects[Kind]>;

  /**
   * Replaces an object by what is given.
   * @throws KubeError `object-changed-meanwhile` when its `metadata.resourceVersion` is not the present one; an empty
   * one replaces whatever is there.
   */
  update<Kind extends KubeKind>(
    kind: Kind,
    object: KubeObjects[Kind],
    options?: WriteOptions,
  ): Promise<KubeObjects[Kind]>;

  patch<Kind extends KubeKind>(
    kind: Kind,
    name: ObjectName,
    patch: KubePatch,
    options?: WriteOptions,
  ): Promise<KubeObjects[Kind]>;

  delete(kind: KubeKind, name: ObjectName, options?: DeleteOptions): Promise<void>;

  /** Ends all watches and connections. */
  close(): Promise<void>;
}

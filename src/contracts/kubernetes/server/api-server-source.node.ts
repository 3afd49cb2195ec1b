/** A real API server as a `KubeSource`. */
import { randomInt } from "node:crypto";
import { isFields, mappingOf, textOf } from "#core/base/json.ts";
import { LIMITS } from "#core/base/limits.ts";
import { KubeError, errorOfStatus, unreachable } from "../error.ts";
import { KINDS } from "../kinds.ts";
import type { KubeKind, KubeObjects } from "../objects.ts";
import type {
  DeleteOptions,
  KubeDraft,
  KubeList,
  KubePatch,
  KubeSource,
  ObjectName,
  Selection,
  WatchListener,
  WatchOptions,
  WriteOptions,
} from "../source.ts";
import { ApiConnection } from "./api-connection.node.ts";
import type { ApiServerPlace } from "./kubeconfig.node.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

/** As client-go's pager has it. */
const PAGE_SIZE = "500";
/** client-go asks for five to ten minutes; then the watch goes on with a new request. */
const WATCH_SECONDS = 300;
const WATCH_SECONDS_SPREAD = 300;

const PATCH_TYPES: Readonly<Record<KubePatch["type"], string>> = Object.freeze({
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json",
});

/** An object as this project has it: identity complete, without the long list of who set which field. */
function objectOf<Kind extends KubeKind>(kind: Kind, value: unknown): KubeObjects[Kind] {
  if (!isFields(value) || !isFields(value["metadata"]))
    throw unreachable(`the server answers with something that is not of kind ${kind}`);
  const { managedFields: _, ...metadata } = value["metadata"];
  const { apiVersion } = KINDS[kind];
  const identity = { namespace: "", ...metadata };
  return { ...value, apiVersion, kind, metadata: identity } as unknown as KubeObjects[Kind];
}

function versionOf(value: unknown): string {
  return textOf(mappingOf(mappingOf(value)["metadata"])["resourceVersion"]);
}

/** `/api/v1`, `/apis/discovery.k8s.io/v1` */
function rootOf(kind: KubeKind): string {
  const { apiVersion } = KINDS[kind];
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

/** All objects of a kind, or those of a namespace. */
function collectionPath(kind: KubeKind, namespace = ""): string {
  const { isNamespaced, plural } = KINDS[kind];
  const inside = isNamespaced && namespace !== "" ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${rootOf(kind)}${inside}/${plural}`;
}

/** Where a server has an object: `/api/v1/namespaces/shop/services/web`. */
export function objectPath(kind: KubeKind, { namespace, name }: ObjectName, subresource?: string): string {
  const path = `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** The parameters of a list or a watch. */
function queryOf(
  { labelSelector = "", fieldSelector = "" }: Selection,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams(more);
  if (labelSelector !== "") query.set("labelSelector", labelSelector);
  if (fieldSelector !== "") query.set("fieldSelector", fieldSelector);
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

export class ApiServerSource implements KubeSource {
  private readonly connection: ApiConnection;

  constructor(connection: ApiConnection) {
    this.connection = connection;
  }

  /** `https://10.0.0.1:6443`: for messages. */
  get address(): string {
    return this.connection.address;
  }

  /** `v1.34.4` @throws KubeError. */
  async serverVersion(): Promise<string> {
    const answer = await this.connection.call({ method: "GET", path: "/version" });
    return textOf(mappingOf(answer)["gitVersion"]);
  }

  async list<Kind extends KubeKind>(kind: Kind, selection: Selection = {}): Promise<KubeList<Kind>> {
    try {
      return await this.listPages(kind, selection, PAGE_SIZE);
    } catch (error) {
      // The pages have expired while they were read: take all at once.
      if (error instanceof KubeError && error.code === "resource-version-expired")
        return this.listPages(kind, selection, undefined);
      throw error;
    }
  }

  private async listPages<Kind extends KubeKind>(
    kind: Kind,
    selection: Selection,
    limit: string | undefined,
  ): Promise<KubeList<Kind>> {
    const items: KubeObjects[Kind][] = [];
    let next: string | undefined;
    for (;;) {
      const page: Record<string, string> = limit === undefined ? {} : { limit };
      if (next !== undefined) page["continue"] = next;
      const path = `${collectionPath(kind, selection.namespace)}${queryOf(selection, page)}`;
      const answer = await this.connection.call({ method: "GET", path });
      if (!isFields(answer) || !isFields(answer["metadata"]))
        throw unreachable(WORDS.listInvalid({ plural: KINDS[kind].plural }));
      for (const item of (answer["items"] ?? []) as readonly unknown[]) items.push(objectOf(kind, item));
      const token: unknown = answer["metadata"]["continue"];
      if (typeof token !== "string" || token === "") return { items, resourceVersion: versionOf(answer) };
      if (items.length > LIMITS.manifestObjectsMax)
        throw unreachable(`there are more than ${LIMITS.manifestObjectsMax} ${KINDS[kind].plural}`);
      next = token;
    }
  }

  watch<Kind extends KubeKind>(
    kind: Kind,
    resourceVersion: string,
    listener: WatchListener<Kind>,
    options: WatchOptions = {},
  ): () => void {
    const seconds = WATCH_SECONDS + randomInt(WATCH_SECONDS_SPREAD);
    const query = queryOf(options, {
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion,
      timeoutSeconds: String(seconds),
    });
    let failure: KubeError | undefined;
    const stop = this.connection.stream(`${collectionPath(kind, options.namespace)}${query}`, {
      onLine: (line) => {
        if (failure !== undefined) return;
        failure = report(kind, line, listener, options);
        if (failure === undefined) return;
        stop();
        options.onEnd?.(failure);
      },
      onEnd: (error) => options.onEnd?.(error),
    });
    return stop;
  }

  async get<Kind extends KubeKind>(kind: Kind, name: ObjectName): Promise<KubeObjects[Kind]> {
    return objectOf(kind, await this.connection.call({ method: "GET", path: objectPath(kind, name) }));
  }

  async create<Kind extends KubeKind>(kind: Kind, draft: KubeDraft<Kind>): Promise<KubeObjects[Kind]> {
    const { apiVersion, isNamespaced } = KINDS[kind];
    const { namespace = "" } = draft.metadata as { readonly namespace?: string };
    const path = collectionPath(kind, isNamespaced && namespace === "" ? "default" : namespace);
    const body = { ...draft, apiVersion, kind };
    return objectOf(kind, await this.connection.call({ method: "POST", path, body }));
  }

  async update<Kind extends KubeKind>(
    kind: Kind,
    object: KubeObjects[Kind],
    { subresource }: WriteOptions = {},
  ): Promise<KubeObjects[Kind]> {
    const path = objectPath(kind, object.metadata, subresource);
    return objectOf(kind, await this.connection.call({ method: "PUT", path, body: object }));
  }

  async patch<Kind extends KubeKind>(
    kind: Kind,
    name: ObjectName,
    { type, body }: KubePatch,
    { subresource }: WriteOptions = {},
  ): Promise<KubeObjects[Kind]> {
    const path = objectPath(kind, name, subresource);
    const contentType = PATCH_TYPES[type];
    return objectOf(kind, await this.connection.call({ method: "PATCH", path, body, contentType }));
  }

  async delete(kind: KubeKind, name: ObjectName, options: DeleteOptions = {}): Promise<void> {
    const { uid = "", resourceVersion = "" } = options;
    const preconditions = {
      ...(uid === "" ? {} : { uid }),
      ...(resourceVersion === "" ? {} : { resourceVersion }),
    };
    const isConditional = uid !== "" || resourceVersion !== "";
    const body = { apiVersion: "v1", kind: "DeleteOptions", ...(isConditional ? { preconditions } : {}) };
    await this.connection.call({ method: "DELETE", path: objectPath(kind, name), body });
  }

  close(): Promise<void> {
    this.connection.close();
    return Promise.resolve();
  }
}

/** Tells what one line of a watch says; returns what ends the watch. */
function report<Kind extends KubeKind>(
  kind: Kind,
  line: string,
  listener: WatchListener<Kind>,
  { onBookmark }: WatchOptions,
): KubeError | undefined {
  let event: unknown;
  try {
    event = JSON.parse(line) as unknown;
  } catch (cause) {
    return unreachable(WORDS.watchLineNotJson, cause);
  }
  if (!isFields(event)) return unreachable(WORDS.watchLineNotEvent);
  const { type, object } = event;
  if (type === "BOOKMARK") {
    onBookmark?.(versionOf(object));
    return undefined;
  }
  if (type === "ERROR")
    return errorOfStatus(object, 500) ?? unreachable("the server ends the watch without a reason");
  if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED")
    return unreachable(`the server sends an event of the unknown type ${JSON.stringify(type)}`);
  listener({ type, object: objectOf(kind, object) });
  return undefined;
}

/**
 * The API server of a kubeconfig, or of the cluster that this process is a pod of. Nothing is sent yet.
 *
 * ```ts
 * const source = await openApiServerSource({ kubeconfig: "C:\\k\\config" }, "kube-proxy");
 * ```
 * @throws KubeError `kubeconfig-unusable`.
 */
export async function openApiServerSource(
  place: ApiServerPlace,
  userAgent = "mullion",
): Promise<ApiServerSource> {
  return new ApiServerSource(await ApiConnection.open(place, userAgent));
}

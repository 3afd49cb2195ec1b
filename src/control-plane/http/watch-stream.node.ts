/** Watches over HTTP: one line of JSON per event, until the client goes, its time is over, or it does not read. */
import type { ServerResponse } from "node:http";
import { LIMITS } from "#core/base/limits.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { KubeObject } from "#contracts/kubernetes/objects.ts";
import type { KubeSource, Selection, WatchEvent } from "#contracts/kubernetes/source.ts";
import type { ServedResource } from "./served-resources.ts";
import { statusOf } from "./requests.ts";
import { type IncludeObject, tableOf } from "./table.ts";

/** About once a minute, as kube-apiserver. */
const BOOKMARK_MS = 60_000;
/** kube-apiserver closes watches that name no time after half an hour to an hour. */
const WATCH_SECONDS_DEFAULT = 1_800;
const WATCH_SECONDS_MAX = 86_400;
const MS_PER_SECOND = 1_000;

/** Marks the bookmark behind what was there when the watch began. */
const INITIAL_END = "k8s.io/initial-events-end";

export interface WatchRequest {
  readonly resource: ServedResource;
  readonly selection: Selection;
  /** Empty and `0`: what is there comes first, as added. */
  readonly resourceVersion: string;
  readonly allowsBookmarks: boolean;
  /** What is there comes first, then a bookmark that says so. */
  readonly sendsInitialEvents: boolean;
  readonly timeoutSeconds: number | undefined;
  readonly table: IncludeObject | undefined;
}

/** A source whose version is at hand, for bookmarks. */
export interface ServedSource extends KubeSource {
  readonly resourceVersion: string;
  /** A copy on which changes are tried. */
  dryRun(): KubeSource;
}

interface OpenWatch {
  readonly end: () => void;
}

/** All watches that are open. */
export class WatchStreams {
  private readonly source: ServedSource;
  private readonly nowMs: () => number;
  private readonly open = new Set<OpenWatch>();
  private readonly bookmarkMs: number;

  constructor(source: ServedSource, nowMs: () => number, bookmarkMs: number = BOOKMARK_MS) {
    this.source = source;
    this.nowMs = nowMs;
    this.bookmarkMs = bookmarkMs;
  }

  get size(): number {
    return this.open.size;
  }

  /**
   * Answers a request with a watch.
   * @throws KubeError before anything is sent: too many watches, or a selection that cannot be read.
   */
  async begin(response: ServerResponse, request: WatchRequest): Promise<void> {
    if (this.open.size >= LIMITS.kubeWatchesMax) {
      throw new KubeError("kubernetes-unreachable", 429, "too many watches are open", {
        retryAfterSeconds: 5,
      });
    }
    const { resource, selection, resourceVersion, sendsInitialEvents } = request;
    const beginsNow = resourceVersion === "" || resourceVersion === "0" || sendsInitialEvents;
    // Also checks the selection, which a watch would only tell in its stream.
    const list = await this.source.list(resource.kind, selection);
    const stream = new WatchStream(response, request, this.nowMs);
    if (beginsNow) {
      for (const object of list.items) stream.send({ type: "ADDED", object });
      if (sendsInitialEvents) stream.bookmark(list.resourceVersion, true);
    }
    this.follow(response, request, stream, beginsNow ? list.resourceVersion : resourceVersion);
  }

  private follow(
    response: ServerResponse,
    request: WatchRequest,
    stream: WatchStream,
    version: string,
  ): void {
    const { resource, selection, allowsBookmarks, timeoutSeconds = WATCH_SECONDS_DEFAULT } = request;
    const stop = this.source.watch(resource.kind, version, (event) => stream.send(event), {
      ...selection,
      onEnd: (error) => {
        if (error !== undefined) stream.fail(error);
        response.end();
      },
    });
    const bookmarks = setInterval(() => {
      if (allowsBookmarks) stream.bookmark(this.source.resourceVersion);
    }, this.bookmarkMs);
    const seconds = Math.min(Math.max(timeoutSeconds, 1), WATCH_SECONDS_MAX);
    const timeout = setTimeout(() => response.end(), seconds * MS_PER_SECOND);
    const watch: OpenWatch = { end: () => response.end() };
    this.open.add(watch);
    response.on("close", () => {
      stop();
      clearInterval(bookmarks);
      clearTimeout(timeout);
      this.open.delete(watch);
    });
  }

  /** Ends all watches in good order. */
  close(): void {
    for (const watch of this.open) watch.end();
  }
}

/** One answer, line by line. */
class WatchStream {
  private readonly response: ServerResponse;
  private readonly request: WatchRequest;
  private readonly nowMs: () => number;
  private hasSentColumns = false;

  constructor(response: ServerResponse, request: WatchRequest, nowMs: () => number) {
    this.response = response;
    this.request = request;
    this.nowMs = nowMs;
    response.writeHead(200, { "content-type": "application/json", "cache-control": "no-cache, private" });
    response.flushHeaders();
  }

  send({ type, object }: Pick<WatchEvent<never>, "type"> & { readonly object: KubeObject }): void {
    this.write({ type, object: this.shown(object) });
  }

  bookmark(resourceVersion: string, isInitialEnd = false): void {
    const { resource } = this.request;
    const { apiVersion, kind } = resource.toServed({
      apiVersion: resource.group === "" ? resource.version : `${resource.group}/${resource.version}`,
      kind: resource.kind,
      metadata: { name: "", namespace: "", uid: "", resourceVersion },
    } as unknown as KubeObject) as { readonly apiVersion: string; readonly kind: string };
    const annotations = isInitialEnd ? { annotations: { [INITIAL_END]: "true" } } : {};
    const object = { kind, apiVersion, metadata: { resourceVersion, ...annotations } };
    this.write({ type: "BOOKMARK", object });
  }

  fail(error: KubeError): void {
    this.write({ type: "ERROR", object: statusOf(error) });
  }

  private shown(object: KubeObject): object {
    const { table, resource } = this.request;
    if (table === undefined) return resource.toServed(object);
    const { resourceVersion } = object.metadata;
    const options = { include: table, resourceVersion, nowMs: this.nowMs() };
    const withColumns = !this.hasSentColumns;
    this.hasSentColumns = true;
    return tableOf(resource, [object], options, withColumns);
  }

  private write(event: object): void {
    if (this.response.writableEnded || this.response.destroyed) return;
    this.response.write(`${JSON.stringify(event)}\n`);
    if (this.response.writableLength > LIMITS.kubeWatchBytesWaitingMax) this.response.destroy();
  }
}

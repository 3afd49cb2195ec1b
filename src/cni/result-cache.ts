/** What a runtime remembers of its attachments between ADD and DEL (cni.md §1.7, cache file). */
import type { JsonObject } from "./json.ts";

/** Names one attachment. */
export interface AttachmentKey {
  readonly networkName: string;
  readonly containerId: string;
  readonly ifName: string;
}

/** One attachment with the final result of its ADD. */
export interface CachedAttachment extends AttachmentKey {
  readonly netns: string;
  readonly args: readonly (readonly [name: string, value: string])[];
  readonly capabilityArgs: JsonObject;
  /** The list as it was used. */
  readonly listText: string;
  readonly result: JsonObject;
}

/** Keeps attachments; ordered by network, container and interface. */
export interface ResultCache {
  get(key: AttachmentKey): Promise<CachedAttachment | undefined>;
  put(attachment: CachedAttachment): Promise<void>;
  /** Forgetting what is not there is no error. */
  delete(key: AttachmentKey): Promise<void>;
  list(): Promise<readonly CachedAttachment[]>;
}

/** The name of an attachment's file in the client library's cache. */
export function keyText(key: AttachmentKey): string {
  return `${key.networkName}-${key.containerId}-${key.ifName}`;
}

/** A cache in memory: plain data, so that a world that holds it can be forked. */
export class MemoryResultCache implements ResultCache {
  private readonly attachments = new Map<string, CachedAttachment>();

  get(key: AttachmentKey): Promise<CachedAttachment | undefined> {
    return Promise.resolve(this.attachments.get(keyText(key)));
  }

  put(attachment: CachedAttachment): Promise<void> {
    this.attachments.set(keyText(attachment), attachment);
    return Promise.resolve();
  }

  delete(key: AttachmentKey): Promise<void> {
    this.attachments.delete(keyText(key));
    return Promise.resolve();
  }

  list(): Promise<readonly CachedAttachment[]> {
    const keys = [...this.attachments.keys()].toSorted();
    return Promise.resolve(keys.flatMap((key) => this.attachments.get(key) ?? []));
  }
}

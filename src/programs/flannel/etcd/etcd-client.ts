/** What flanneld asks of etcd v3. Implementations: over etcd's JSON gateway (`gateway-client.node.ts`), in memory for tests. */

export interface EtcdValue {
  readonly key: string;
  readonly value: string;
  /** The grant that ends with it; `"0"`: none. A 64-bit number as text. */
  readonly grant: string;
}

export interface EtcdRange {
  /** Of the whole store when it was read. */
  readonly revision: number;
  readonly values: readonly EtcdValue[];
}

export interface EtcdEvent {
  readonly type: "put" | "delete";
  readonly value: EtcdValue;
}

export interface EtcdGrant {
  readonly id: string;
  readonly seconds: number;
}

/** Calls end with a call of `ended`, and nothing follows it. */
export interface EtcdWatcher {
  changed(events: readonly EtcdEvent[], revision: number): void;
  /** Changes after the revision that was asked for are forgotten: read everything again. */
  compacted(revision: number): void;
  /** The connection is gone: watch again from the last revision. */
  ended(message: string): void;
}

/** Failing calls reject with `FlannelError` `flannel-store-unreachable`, or `flannel-store-refused`. */
export interface EtcdClient {
  get(key: string): Promise<EtcdRange>;
  /** All keys that begin with `prefix`. */
  list(prefix: string): Promise<EtcdRange>;
  put(key: string, value: string, grant: string): Promise<void>;
  /** Puts a key that is not there. @returns false when it is. */
  create(key: string, value: string, grant: string): Promise<boolean>;
  delete(key: string): Promise<void>;
  grant(seconds: number): Promise<EtcdGrant>;
  revoke(grant: string): Promise<void>;
  /** Seconds that are left; -1 when there is no such grant. */
  timeToLive(grant: string): Promise<number>;
  watch(prefix: string, fromRevision: number, watcher: EtcdWatcher): () => void;
  close(): Promise<void>;
}

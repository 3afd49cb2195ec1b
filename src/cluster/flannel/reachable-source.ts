/** The API server as the programs of the nodes reach it, or do not: its outage ends watches and refuses whatever is asked. */
import { unreachable } from "#contracts/kubernetes/error.ts";
import type { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import type { KubeKind, KubeObjects } from "#contracts/kubernetes/objects.ts";
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
} from "#contracts/kubernetes/source.ts";

export class ReachableSource implements KubeSource {
  private readonly server: MemoryKubeSource;
  private isAnswering = true;

  constructor(server: MemoryKubeSource) {
    this.server = server;
  }

  get isReachable(): boolean {
    return this.isAnswering;
  }

  set isReachable(isReachable: boolean) {
    if (this.isAnswering && !isReachable) this.server.endWatches(refusal());
    this.isAnswering = isReachable;
  }

  get resourceVersion(): string {
    return this.server.resourceVersion;
  }

  async list<Kind extends KubeKind>(kind: Kind, selection?: Selection): Promise<KubeList<Kind>> {
    this.check();
    return this.server.list(kind, selection);
  }

  watch<Kind extends KubeKind>(
    kind: Kind,
    resourceVersion: string,
    listener: WatchListener<Kind>,
    options: WatchOptions = {},
  ): () => void {
    if (this.isAnswering) return this.server.watch(kind, resourceVersion, listener, options);
    let isWanted = true;
    queueMicrotask(() => {
      if (isWanted) options.onEnd?.(refusal());
    });
    return () => {
      isWanted = false;
    };
  }

  async get<Kind extends KubeKind>(kind: Kind, name: ObjectName): Promise<KubeObjects[Kind]> {
    this.check();
    return this.server.get(kind, name);
  }

  async create<Kind extends KubeKind>(kind: Kind, draft: KubeDraft<Kind>): Promise<KubeObjects[Kind]> {
    this.check();
    return this.server.create(kind, draft);
  }

  async update<Kind extends KubeKind>(
    kind: Kind,
    object: KubeObjects[Kind],
    options?: WriteOptions,
  ): Promise<KubeObjects[Kind]> {
    this.check();
    return this.server.update(kind, object, options);
  }

  async patch<Kind extends KubeKind>(
    kind: Kind,
    name: ObjectName,
    patch: KubePatch,
    options?: WriteOptions,
  ): Promise<KubeObjects[Kind]> {
    this.check();
    return this.server.patch(kind, name, patch, options);
  }

  async delete(kind: KubeKind, name: ObjectName, options?: DeleteOptions): Promise<void> {
    this.check();
    return this.server.delete(kind, name, options);
  }

  close(): Promise<void> {
    return this.server.close();
  }

  private check(): void {
    if (!this.isAnswering) throw refusal();
  }
}

function refusal(): ReturnType<typeof unreachable> {
  return unreachable("connect: connection refused");
}

/** Nodes of a Kubernetes in memory for tests of flanneld: an API server that can be gone, slow or forgetful. */
import { type KubeError, kubeErrorOf, unreachable } from "#contracts/kubernetes/error.ts";
import type { KubeKind, KubeObjects } from "#contracts/kubernetes/objects.ts";
import type {
  KubeList,
  KubePatch,
  KubeSource,
  ObjectName,
  WatchEvent,
  WatchListener,
  WatchOptions,
  WriteOptions,
} from "#contracts/kubernetes/source.ts";

type Node = KubeObjects["Node"];
type NodeEvent = WatchEvent<"Node">;

interface Watcher {
  readonly listener: (event: NodeEvent) => void;
  readonly options: WatchOptions;
}

/** What a kubelet gives its Node. */
const KUBELET_ANNOTATIONS: Readonly<Record<string, string>> = Object.freeze({
  "volumes.kubernetes.io/controller-managed-attach-detach": "true",
});

export interface NodeSketch {
  readonly podCIDR?: string;
  readonly podCIDRs?: readonly string[];
  /** Beside that of every kubelet. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** No kubelet has written it: it has no annotation at all. */
  readonly isBare?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

/** One patch that was asked for. */
export interface NotedPatch {
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly subresource: string | undefined;
}

export class MemoryNodes implements KubeSource {
  readonly patches: NotedPatch[] = [];
  /** Every call fails while it is set. */
  isGone = false;
  /** The calls for one Node that fail, by their number from now on. */
  private failing: { first: number; last: number } | undefined;
  private readonly nodes = new Map<string, Node>();
  private readonly watchers = new Set<Watcher>();
  private readonly history: { readonly version: number; readonly event: NodeEvent }[] = [];
  private version = 1;

  /** Stores a Node, new or in place of the one of that name. */
  put(name: string, sketch: NodeSketch): void {
    const { podCIDR, podCIDRs, labels = {}, isBare = false } = sketch;
    const annotations = isBare ? {} : { ...KUBELET_ANNOTATIONS, ...sketch.annotations };
    const type = this.nodes.has(name) ? "MODIFIED" : "ADDED";
    const ranges = podCIDRs ?? (podCIDR === undefined ? [] : [podCIDR]);
    const spec = { ...(ranges[0] !== undefined && { podCIDR: ranges[0], podCIDRs: ranges }) };
    const metadata = { name, namespace: "", uid: `uid-${name}`, annotations, labels };
    this.store(type, { apiVersion: "v1", kind: "Node", metadata, spec } as unknown as Node);
  }

  /** Changes annotations of a Node: undefined takes one away. */
  annotate(name: string, changes: Readonly<Record<string, string | undefined>>): void {
    const node = this.read(name);
    const annotations = { ...this.annotations(name), ...changes };
    const kept = Object.fromEntries(Object.entries(annotations).filter(([, value]) => value !== undefined));
    this.store("MODIFIED", { ...node, metadata: { ...node.metadata, annotations: kept } } as Node);
  }

  remove(name: string): void {
    const node = this.read(name);
    this.nodes.delete(name);
    this.version++;
    const metadata = { ...node.metadata, resourceVersion: String(this.version) };
    this.report("DELETED", { ...node, metadata });
  }

  annotations(name: string): Readonly<Record<string, string>> {
    return (this.read(name).metadata as { annotations?: Record<string, string> }).annotations ?? {};
  }

  /** Ends all watches, as an API server does. */
  endWatches(error?: KubeError): void {
    const watchers = [...this.watchers];
    this.watchers.clear();
    for (const { options } of watchers) options.onEnd?.(error);
  }

  async list<Kind extends KubeKind>(): Promise<KubeList<Kind>> {
    this.check();
    const items = [...this.nodes.values()] as unknown as readonly KubeObjects[Kind][];
    return { items, resourceVersion: String(this.version) };
  }

  watch<Kind extends KubeKind>(
    _kind: Kind,
    resourceVersion: string,
    listener: WatchListener<Kind>,
    options: WatchOptions = {},
  ): () => void {
    const watcher = { listener: listener as unknown as Watcher["listener"], options };
    void this.begin(watcher, Number(resourceVersion));
    return () => this.watchers.delete(watcher);
  }

  /** After `passing` calls for one Node the next `count` ones fail. */
  failGets(passing: number, count: number): void {
    this.failing = { first: passing, last: passing + count };
  }

  async get<Kind extends KubeKind>(_kind: Kind, { name }: ObjectName): Promise<KubeObjects[Kind]> {
    this.check();
    if (this.failing !== undefined) {
      const isFailing = this.failing.first <= 0 && this.failing.last > 0;
      this.failing = { first: this.failing.first - 1, last: this.failing.last - 1 };
      if (isFailing) throw unreachable("connection refused");
    }
    return this.read(name) as unknown as KubeObjects[Kind];
  }

  async patch<Kind extends KubeKind>(
    _kind: Kind,
    { name }: ObjectName,
    { body }: KubePatch,
    options: WriteOptions = {},
  ): Promise<KubeObjects[Kind]> {
    this.check();
    const node = this.read(name);
    const fields = body as Readonly<Record<string, unknown>>;
    this.patches.push({ name, body: fields, subresource: options.subresource });
    const { annotations } = (fields["metadata"] ?? {}) as { annotations?: Record<string, string> };
    const { conditions } = (fields["status"] ?? {}) as { conditions?: readonly unknown[] };
    const metadata = { ...node.metadata, annotations: { ...this.annotations(name), ...annotations } };
    const status = { ...node.status, ...(conditions !== undefined && { conditions }) };
    return this.store("MODIFIED", { ...node, metadata, status } as Node) as unknown as KubeObjects[Kind];
  }

  create(): Promise<never> {
    return Promise.reject(new Error("flanneld creates nothing"));
  }

  update(): Promise<never> {
    return Promise.reject(new Error("flanneld replaces nothing"));
  }

  delete(): Promise<never> {
    return Promise.reject(new Error("flanneld deletes nothing"));
  }

  close(): Promise<void> {
    this.watchers.clear();
    return Promise.resolve();
  }

  /** Nothing is told before the call that asks has returned. */
  private async begin(watcher: Watcher, fromVersion: number): Promise<void> {
    if (this.isGone) {
      await Promise.resolve();
      watcher.options.onEnd?.(unreachable("connection refused"));
      return;
    }
    this.watchers.add(watcher);
    await Promise.resolve();
    for (const { version, event } of this.history) if (version > fromVersion) watcher.listener(event);
  }

  private check(): void {
    if (this.isGone) throw unreachable("connection refused");
  }

  private read(name: string): Node {
    const node = this.nodes.get(name);
    if (node === undefined) throw kubeErrorOf(404, `nodes "${name}" not found`);
    return node;
  }

  private store(type: NodeEvent["type"], node: Node): Node {
    this.version++;
    const metadata = { ...node.metadata, resourceVersion: String(this.version) };
    const stored = Object.freeze({ ...node, metadata }) as Node;
    this.nodes.set(node.metadata.name, stored);
    this.report(type, stored);
    return stored;
  }

  private report(type: NodeEvent["type"], object: Node): void {
    this.history.push({ version: this.version, event: { type, object } });
    if (this.isGone) return;
    for (const { listener } of this.watchers) listener({ type, object });
  }
}

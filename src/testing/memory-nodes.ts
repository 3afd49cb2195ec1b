/** Nodes of a Kubernetes in memory for tests of flanneld: an API server that can be gone, slow or forgetful. */
import { KubeError } from "../kube/error.ts";
import type { Node } from "../kube/objects.ts";
import type { NodeEvent, NodeSource, NodeWatchOptions } from "../flannel/kube/node-source.ts";

interface Watcher {
  readonly listener: (event: NodeEvent) => void;
  readonly options: NodeWatchOptions;
}

export interface NodeSketch {
  readonly podCIDR?: string;
  readonly podCIDRs?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** One patch that was asked for. */
export interface NotedPatch {
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly subresource: string | undefined;
}

export class MemoryNodes implements NodeSource {
  readonly patches: NotedPatch[] = [];
  /** Every call fails while it is set. */
  isGone = false;
  private readonly nodes = new Map<string, Node>();
  private readonly watchers = new Set<Watcher>();
  private version = 1;

  /** Stores a Node, new or in place of the one of that name. */
  put(name: string, { podCIDR, podCIDRs, annotations = {}, labels = {} }: NodeSketch): void {
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
    this.tell("DELETED", node);
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

  async list(): Promise<{ readonly items: readonly Node[]; readonly resourceVersion: string }> {
    this.check();
    return { items: [...this.nodes.values()], resourceVersion: String(this.version) };
  }

  watch(
    _kind: "Node",
    _resourceVersion: string,
    listener: (event: NodeEvent) => void,
    options: NodeWatchOptions = {},
  ): () => void {
    const watcher = { listener, options };
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  async get(_kind: "Node", { name }: { readonly name: string }): Promise<Node> {
    this.check();
    return this.read(name);
  }

  async patch(
    _kind: "Node",
    { name }: { readonly name: string },
    { body }: { readonly body: Readonly<Record<string, unknown>> },
    options: { readonly subresource?: "status" } = {},
  ): Promise<Node> {
    this.check();
    const node = this.read(name);
    this.patches.push({ name, body, subresource: options.subresource });
    const { annotations } = (body["metadata"] ?? {}) as { annotations?: Record<string, string> };
    const { conditions } = (body["status"] ?? {}) as { conditions?: readonly unknown[] };
    const metadata = { ...node.metadata, annotations: { ...this.annotations(name), ...annotations } };
    const status = { ...node.status, ...(conditions !== undefined && { conditions }) };
    return this.store("MODIFIED", { ...node, metadata, status } as Node);
  }

  private check(): void {
    if (this.isGone) throw new KubeError("resource-version-expired", 503, "connection refused");
  }

  private read(name: string): Node {
    const node = this.nodes.get(name);
    if (node === undefined) throw new KubeError("resource-version-expired", 404, `nodes "${name}" not found`);
    return node;
  }

  private store(type: NodeEvent["type"], node: Node): Node {
    this.version++;
    const metadata = { ...node.metadata, resourceVersion: String(this.version) };
    const stored = Object.freeze({ ...node, metadata }) as Node;
    this.nodes.set(node.metadata.name, stored);
    this.tell(type, stored);
    return stored;
  }

  private tell(type: NodeEvent["type"], object: Node): void {
    if (this.isGone) return;
    for (const { listener } of this.watchers) listener({ type, object });
  }
}

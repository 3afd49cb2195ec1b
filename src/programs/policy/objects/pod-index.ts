/**
 * The pods of a cluster by what selectors ask of them. A changed pod costs the selectors that there are, a changed
 * selector the pods: nothing is looked at twice.
 */
import { type LabelSelector, type Labels, matchesSelector } from "#contracts/kubernetes/labels.ts";
import type { Namespace, Pod } from "#contracts/kubernetes/objects.ts";
import { isFinished, isHostNetwork, isHostProcess } from "#contracts/kubernetes/pod.ts";

/** A pod with an address of its own. */
export interface IndexedPod {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly labels: Labels;
  /** Its first IPv4 address, which is all that engines on Windows look at. */
  readonly address: string;
}

/** Which pods are meant. Both selectors have to hold; `namespace` is that of a policy whose peer names none. */
export interface PodQuery {
  readonly namespace?: string;
  readonly namespaces?: LabelSelector;
  readonly pods: LabelSelector;
}

/** The pods that a query selects. */
export class PodGroup {
  readonly query: PodQuery;
  readonly members: Map<string, IndexedPod> = new Map();
  /** Goes up when the members or their addresses change. */
  version = 0;

  constructor(query: PodQuery) {
    this.query = query;
  }

  /** By key, so that two runs say the same. */
  addresses(): readonly string[] {
    return [...this.members.values()]
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ address }) => address);
  }
}

/** A pod that came into a group, or left it. */
export interface GroupChange {
  readonly group: PodGroup;
  readonly pod: string;
}

/** Engines pass by pods in their node's network and pods that have ended (npm/pkg/controlplane/controllers/v1/podController.go). */
function indexedPod(pod: Pod): IndexedPod | undefined {
  const { metadata, status } = pod;
  const ips = [status?.podIP, ...(status?.podIPs ?? []).map(({ ip }) => ip)];
  const address = ips.find((ip) => ip?.includes(".") === true);
  if (address === undefined || isFinished(pod) || isHostNetwork(pod) || isHostProcess(pod)) return undefined;
  const { namespace, name, labels = {} } = metadata;
  return { key: `${namespace}/${name}`, namespace, labels, address };
}

/** Every namespace has its own name as a label; the API server sees to it. */
const NAME_LABEL = "kubernetes.io/metadata.name";

export class PodIndex {
  private readonly groups = new Map<string, PodGroup>();
  private readonly objects = new Map<string, Pod>();
  private readonly byKey = new Map<string, IndexedPod>();
  private readonly namespaceObjects = new Map<string, Namespace>();
  private readonly labelsByNamespace = new Map<string, Labels>();
  private changes: GroupChange[] = [];

  /** Takes over what there is now; objects that are the same value as before cost a comparison. */
  update(pods: readonly Pod[], namespaces: readonly Namespace[]): void {
    const moved = this.updateNamespaces(namespaces);
    const seen = new Set<string>();
    for (const pod of pods) {
      const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
      seen.add(key);
      if (this.objects.get(key) === pod && !moved.has(pod.metadata.namespace)) continue;
      this.objects.set(key, pod);
      this.place(key, indexedPod(pod));
    }
    for (const key of this.objects.keys()) {
      if (seen.has(key)) continue;
      this.objects.delete(key);
      this.place(key, undefined);
    }
  }

  /** The pods of a query, kept from now on. */
  group(query: PodQuery): PodGroup {
    const key = JSON.stringify([query.namespace, query.namespaces, query.pods]);
    const known = this.groups.get(key);
    if (known !== undefined) return known;
    const group = new PodGroup(query);
    this.groups.set(key, group);
    for (const pod of this.byKey.values()) if (this.isMember(query, pod)) group.members.set(pod.key, pod);
    return group;
  }

  /** Who came and went since this was last asked. */
  takeChanges(): readonly GroupChange[] {
    const taken = this.changes;
    this.changes = [];
    return taken;
  }

  pods(): Iterable<IndexedPod> {
    return this.byKey.values();
  }

  namespaces(): ReadonlyMap<string, Labels> {
    return this.labelsByNamespace;
  }

  private updateNamespaces(namespaces: readonly Namespace[]): ReadonlySet<string> {
    const moved = new Set<string>();
    const seen = new Set<string>();
    for (const namespace of namespaces) {
      const { name, labels } = namespace.metadata;
      seen.add(name);
      if (this.namespaceObjects.get(name) === namespace) continue;
      this.namespaceObjects.set(name, namespace);
      this.labelsByNamespace.set(name, { ...labels, [NAME_LABEL]: name });
      moved.add(name);
    }
    for (const name of this.namespaceObjects.keys()) {
      if (seen.has(name)) continue;
      this.namespaceObjects.delete(name);
      this.labelsByNamespace.delete(name);
      moved.add(name);
    }
    return moved;
  }

  private place(key: string, pod: IndexedPod | undefined): void {
    const before = this.byKey.get(key);
    if (pod === undefined) this.byKey.delete(key);
    else this.byKey.set(key, pod);
    for (const group of this.groups.values()) {
      const was = group.members.has(key);
      const is = pod !== undefined && this.isMember(group.query, pod);
      if (pod !== undefined && is) group.members.set(key, pod);
      else group.members.delete(key);
      const isMoved = is && was && before?.address !== pod?.address;
      if (was === is && !isMoved) continue;
      group.version++;
      this.changes.push({ group, pod: key });
    }
  }

  private isMember({ namespace, namespaces, pods }: PodQuery, pod: IndexedPod): boolean {
    if (namespace !== undefined && namespace !== pod.namespace) return false;
    const labels = this.labelsByNamespace.get(pod.namespace) ?? { [NAME_LABEL]: pod.namespace };
    if (namespaces !== undefined && !matchesSelector(namespaces, labels)) return false;
    return matchesSelector(pods, pod.labels);
  }
}

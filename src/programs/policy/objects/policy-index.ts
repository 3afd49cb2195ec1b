/**
 * The policies of a cluster, each compiled once by an engine for all nodes, and which of them select a pod. A changed policy
 * costs the pods that it selects.
 */
import type { NetworkPolicy } from "#contracts/kubernetes/objects.ts";
import type { PodGroup, PodIndex } from "./pod-index.ts";
import { type StoredPolicy, storedPolicy } from "./stored-policy.ts";

/** A policy as an engine compiled it. */
export interface CompiledPolicy {
  readonly stored: StoredPolicy;
  /** Groups of pods whose addresses stand in it: it is compiled again when one of them changes. */
  readonly uses: readonly PodGroup[];
}

/** Is told of each policy that comes and goes, in the form in which it was compiled. */
export interface PolicyWatcher<Compiled> {
  changed(compiled: Compiled, by: 1 | -1): void;
}

interface Entry<Compiled> {
  readonly object: NetworkPolicy;
  readonly stored: StoredPolicy;
  readonly subjects: PodGroup;
  compiled: Compiled;
}

const NONE: readonly never[] = Object.freeze([]);

/** `Compiled` values are kept until the policy, or a group that it uses, changes: equal references, equal rules. */
export class PolicyIndex<Compiled extends CompiledPolicy> {
  private readonly pods: PodIndex;
  private readonly compile: (stored: StoredPolicy, pods: PodIndex) => Compiled;
  private readonly entries = new Map<string, Entry<Compiled>>();
  private readonly bySubjects = new Map<PodGroup, Set<string>>();
  private readonly byUse = new Map<PodGroup, Set<string>>();
  private readonly lists = new Map<string, readonly Compiled[]>();

  private readonly watcher: PolicyWatcher<Compiled> | undefined;

  constructor(
    pods: PodIndex,
    compile: (stored: StoredPolicy, pods: PodIndex) => Compiled,
    watcher?: PolicyWatcher<Compiled>,
  ) {
    this.pods = pods;
    this.compile = compile;
    this.watcher = watcher;
  }

  /** Takes over the policies as they are now, after the pods. */
  update(policies: readonly NetworkPolicy[]): void {
    const stale = new Set<string>();
    for (const { group, pod } of this.pods.takeChanges()) {
      if (this.bySubjects.has(group)) this.lists.delete(pod);
      for (const key of this.byUse.get(group) ?? NONE) stale.add(key);
    }
    const seen = new Set<string>();
    for (const object of policies) {
      const key = `${object.metadata.namespace}/${object.metadata.name}`;
      seen.add(key);
      if (this.entries.get(key)?.object === object) continue;
      stale.delete(key);
      this.remove(key);
      this.add(object);
    }
    for (const key of this.entries.keys()) if (!seen.has(key)) this.remove(key);
    for (const key of stale) this.compileAgain(key);
  }

  /** The policies that select a pod, by name: the same list until one of them changes. */
  of(pod: string): readonly Compiled[] {
    const known = this.lists.get(pod);
    if (known !== undefined) return known;
    const found: Compiled[] = [];
    for (const [group, keys] of this.bySubjects) {
      if (!group.members.has(pod)) continue;
      for (const key of keys) {
        const entry = this.entries.get(key);
        if (entry !== undefined) found.push(entry.compiled);
      }
    }
    const list = Object.freeze(found.toSorted((a, b) => (a.stored.key < b.stored.key ? -1 : 1)));
    this.lists.set(pod, list);
    return list;
  }

  /** True for a policy as it is now. */
  has(compiled: Compiled): boolean {
    return this.entries.get(compiled.stored.key)?.compiled === compiled;
  }

  private add(object: NetworkPolicy): void {
    const stored = storedPolicy(object);
    const subjects = this.pods.group({ namespace: stored.namespace, pods: stored.pods });
    const compiled = this.compile(stored, this.pods);
    this.entries.set(stored.key, { object, stored, subjects, compiled });
    this.watcher?.changed(compiled, 1);
    link(this.bySubjects, subjects, stored.key);
    for (const group of compiled.uses) link(this.byUse, group, stored.key);
    this.forgetListsOf(subjects);
  }

  private remove(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.watcher?.changed(entry.compiled, -1);
    this.entries.delete(key);
    unlink(this.bySubjects, entry.subjects, key);
    for (const group of entry.compiled.uses) unlink(this.byUse, group, key);
    this.forgetListsOf(entry.subjects);
  }

  private compileAgain(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.watcher?.changed(entry.compiled, -1);
    entry.compiled = this.compile(entry.stored, this.pods);
    this.watcher?.changed(entry.compiled, 1);
    this.forgetListsOf(entry.subjects);
  }

  private forgetListsOf({ members }: PodGroup): void {
    for (const pod of members.keys()) this.lists.delete(pod);
  }
}

function link(map: Map<PodGroup, Set<string>>, group: PodGroup, key: string): void {
  const known = map.get(group);
  if (known === undefined) map.set(group, new Set([key]));
  else known.add(key);
}

function unlink(map: Map<PodGroup, Set<string>>, group: PodGroup, key: string): void {
  const known = map.get(group);
  known?.delete(key);
  if (known?.size === 0) map.delete(group);
}

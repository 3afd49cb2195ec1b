/** The pods that selectors of policies stand for, kept while pods and labels of namespaces change. */
import { type LabelSelector, matchesSelector } from "#contracts/kubernetes/labels.ts";
import type { OvnInput, OvnPod } from "./input.ts";

/** Which pods: of one namespace by name, or of those whose labels are selected. */
export interface PodChoice {
  readonly namespace: string;
  readonly namespaceSelector?: LabelSelector | null | undefined;
  readonly podSelector?: LabelSelector | null | undefined;
}

/** Pods that one choice stands for. Choices that say the same share it. */
export interface PodSet {
  readonly key: string;
  /** By `namespace/name`. */
  readonly members: ReadonlyMap<string, OvnPod>;
}

interface KeptSet extends PodSet {
  readonly choice: PodChoice;
  readonly members: Map<string, OvnPod>;
  users: number;
}

/** What has changed since the last time. */
export interface PodChanges {
  /** Keys of sets that have other members now, or members that are not as they were. */
  readonly sets: ReadonlySet<string>;
  readonly hasAny: boolean;
}

function podKey({ namespace, name }: OvnPod): string {
  return `${namespace}/${name}`;
}

function keyOf({ namespace, namespaceSelector, podSelector }: PodChoice): string {
  const where = namespaceSelector ?? namespace;
  return JSON.stringify([where, podSelector ?? {}]);
}

export class PodSets {
  private readonly pods = new Map<string, OvnPod>();
  /** What a pod was when it was met last, with the labels of its namespace. */
  private readonly texts = new Map<string, string>();
  private namespaces: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map();
  private readonly sets = new Map<string, KeptSet>();

  get all(): readonly OvnPod[] {
    return [...this.pods.values()];
  }

  /** The set of a choice, for one more user. */
  use(choice: PodChoice): PodSet {
    const key = keyOf(choice);
    const known = this.sets.get(key);
    if (known !== undefined) {
      known.users += 1;
      return known;
    }
    const made: KeptSet = { key, choice, members: new Map(), users: 1 };
    for (const [name, pod] of this.pods) if (this.matches(choice, pod)) made.members.set(name, pod);
    this.sets.set(key, made);
    return made;
  }

  /** A set that somebody uses. */
  membersOf(key: string): ReadonlyMap<string, OvnPod> {
    return this.sets.get(key)?.members ?? new Map<string, OvnPod>();
  }

  /** One user less; a set without any is forgotten. */
  release(key: string): void {
    const set = this.sets.get(key);
    if (set === undefined) return;
    set.users -= 1;
    if (set.users === 0) this.sets.delete(key);
  }

  private matches({ namespace, namespaceSelector, podSelector }: PodChoice, pod: OvnPod): boolean {
    const isThere =
      namespaceSelector === undefined || namespaceSelector === null
        ? pod.namespace === namespace
        : matchesSelector(namespaceSelector, this.namespaces.get(pod.namespace) ?? {});
    return isThere && matchesSelector(podSelector ?? {}, pod.labels);
  }

  /** These are the pods and namespaces now. */
  update({ pods, namespaces }: Pick<OvnInput, "pods" | "namespaces">): PodChanges {
    this.namespaces = new Map(namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
    const labels = new Map([...this.namespaces].map(([name, each]) => [name, JSON.stringify(each)]));
    const gone = new Set(this.pods.keys());
    const changed: string[] = [];
    for (const pod of pods) {
      const key = podKey(pod);
      gone.delete(key);
      const text = `${JSON.stringify(pod)} ${labels.get(pod.namespace) ?? ""}`;
      if (this.texts.get(key) === text) continue;
      changed.push(key);
      this.texts.set(key, text);
      this.pods.set(key, pod);
    }
    for (const key of gone) {
      this.texts.delete(key);
      this.pods.delete(key);
    }
    const all = [...changed, ...gone];
    if (all.length === 0) return { sets: new Set(), hasAny: false };
    const sets = new Set<string>();
    for (const set of this.sets.values()) for (const key of all) if (this.place(set, key)) sets.add(set.key);
    return { sets, hasAny: true };
  }

  /** Puts a pod that has changed into a set, or takes it out. @returns whether the set is another one now */
  private place({ choice, members }: KeptSet, key: string): boolean {
    const pod = this.pods.get(key);
    if (pod === undefined || !this.matches(choice, pod)) return members.delete(key);
    members.set(key, pod);
    return true;
  }
}

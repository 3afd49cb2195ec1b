/**
 * All sets that NPM keeps in HNS: those of pods and namespaces, whether a policy names them or not (`ApplyIPSetsOnNeed` is
 * off), and those that policies bring. Worked out once for all nodes.
 */
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { PodIndex } from "../objects/pod-index.ts";
import {
  ALL_NAMESPACES,
  EMPTY_SET,
  type NpmSet,
  hashedName,
  namespaceLabelSet,
  namespaceSet,
  podLabelSet,
} from "./ip-sets.ts";
import type { NpmPolicy } from "./npm-policy.ts";

/** A set as HNS has it: values as its comma list has them. */
export interface SetEntry {
  readonly set: NpmSet;
  readonly values: string;
}

/** Sets by their names with the members, of which each may come more than once. */
class Members {
  private readonly sets = new Map<string, { readonly set: NpmSet; readonly members: Set<string> }>();

  add(set: NpmSet, member?: string): void {
    const known = this.sets.get(set.name) ?? { set, members: new Set<string>() };
    this.sets.set(set.name, known);
    if (member !== undefined) known.members.add(member);
  }

  entries(): ReadonlyMap<string, SetEntry> {
    const sorted = [...this.sets.values()].toSorted((a, b) => (a.set.name < b.set.name ? -1 : 1));
    return new Map(
      sorted.map(({ set, members }) => {
        const values = [...members].toSorted().join(",");
        return [
          set.name,
          { set, values: values === "" && set.isNested ? hashedName(EMPTY_SET.name) : values },
        ];
      }),
    );
  }
}

export function setTable(pods: PodIndex, policies: Iterable<NpmPolicy>): ReadonlyMap<string, SetEntry> {
  const members = new Members();
  members.add(EMPTY_SET);
  for (const [name, labels] of pods.namespaces()) {
    const own = namespaceSet(name);
    members.add(own);
    members.add(namespaceLabelSet(ALL_NAMESPACES), hashedName(own.name));
    for (const [key, value] of Object.entries(labels)) {
      members.add(namespaceLabelSet(key), hashedName(own.name));
      members.add(namespaceLabelSet(key, value), hashedName(own.name));
    }
  }
  for (const { namespace, labels, address } of pods.pods()) {
    members.add(namespaceSet(namespace), address);
    for (const [key, value] of Object.entries(labels)) {
      members.add(podLabelSet(key), address);
      members.add(podLabelSet(key, value), address);
    }
  }
  for (const { named, ownSets } of policies) {
    for (const set of named) members.add(set);
    for (const { set, members: values } of ownSets)
      for (const value of values) members.add(set, set.isNested ? hashedName(value) : value);
  }
  return members.entries();
}

/** The policy of a network that is the set. */
export function setPolicy({ set, values }: SetEntry): PolicyDocument {
  return {
    Type: "SetPolicy",
    Settings: {
      Id: hashedName(set.name),
      Name: set.name,
      PolicyType: set.isNested ? "NESTEDIPSET" : "IPSET",
      Values: values,
    },
  };
}

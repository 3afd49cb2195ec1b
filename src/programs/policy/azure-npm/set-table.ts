/**
 * All sets that NPM keeps in HNS: those of pods and namespaces, whether a policy names them or not (`ApplyIPSetsOnNeed` is
 * off), and those that policies bring.
 */
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { PodIndex } from "../objects/pod-index.ts";
import type { PolicyWatcher } from "../objects/policy-index.ts";
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

/** A set of policies, how many name it, and how many bring each of its members. */
interface CountedSet {
  readonly set: NpmSet;
  uses: number;
  readonly members: Map<string, number>;
}

/** The sets that policies name and bring: one that comes or goes costs its own. */
export class PolicySets implements PolicyWatcher<NpmPolicy> {
  private readonly sets = new Map<string, CountedSet>();

  changed({ named, ownSets }: NpmPolicy, by: 1 | -1): void {
    for (const set of named) this.count(set, [], by);
    for (const { set, members } of ownSets)
      if (members.length > 0)
        this.count(
          set,
          members.map((value) => (set.isNested ? hashedName(value) : value)),
          by,
        );
  }

  addTo(members: Members): void {
    for (const { set, members: values } of this.sets.values()) {
      members.add(set);
      for (const value of values.keys()) members.add(set, value);
    }
  }

  private count(set: NpmSet, values: readonly string[], by: 1 | -1): void {
    const counted = this.sets.get(set.name) ?? { set, uses: 0, members: new Map<string, number>() };
    counted.uses += by;
    for (const value of values) {
      const uses = (counted.members.get(value) ?? 0) + by;
      if (uses === 0) counted.members.delete(value);
      else counted.members.set(value, uses);
    }
    if (counted.uses === 0) this.sets.delete(set.name);
    else this.sets.set(set.name, counted);
  }
}

export function setTable(pods: PodIndex, policies: PolicySets): ReadonlyMap<string, SetEntry> {
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
  policies.addTo(members);
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

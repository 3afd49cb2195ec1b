/** Address sets of a network (`SetPolicy`) as prefixes, for the ACLs that name them (hcn.md §3.1, §3.5). */
import type { SetPolicySetting } from "#contracts/hcn/documents/acl-policy.ts";
import { splitList, prefixesIn } from "#contracts/hcn/documents/address-list.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { type Prefix, maskIp, prefixFamily } from "#core/net/ip.ts";
import type { CompileCache } from "./compile-cache.ts";
import type { NetworkFrame } from "../service/network/policy-index.ts";

/**
 * The sets of a network. Rules that name the same sets get the same list, so that the engine searches one set for all of
 * them (`condition-matcher.ts`). Plain data.
 */
export class AddressSets {
  private readonly members: ReadonlyMap<string, readonly Prefix[]>;
  private readonly asked = new Map<string, readonly Prefix[]>();

  constructor(members: ReadonlyMap<string, readonly Prefix[]>) {
    this.members = members;
  }

  /** Prefixes by the id of the set. */
  entries(): Iterable<[string, readonly Prefix[]]> {
    return this.members.entries();
  }

  /**
   * The addresses of a family that are in all of the sets. Inferred: a list of sets means all of them at once. NPM
   * translates two selectors that both have to hold to such a list (hcn.md §9.17). A set that is not there has no address.
   */
  inAll(ids: readonly string[], family: 4 | 6): readonly Prefix[] {
    const key = [family, ...ids].join(",");
    const known = this.asked.get(key);
    if (known !== undefined) return known;
    const [first = [], ...others] = ids.map((id) => this.members.get(id) ?? []);
    const shared = others.reduce(intersectPrefixes, first);
    const prefixes = Object.freeze(shared.filter((prefix) => prefixFamily(prefix) === family));
    this.asked.set(key, prefixes);
    return prefixes;
  }
}

/** Of a network without sets. */
export const NO_SETS: AddressSets = new AddressSets(new Map());

/** All sets of a network. A set of sets has the addresses of each of its members; a circle ends where it began. */
export function resolveAddressSets(policies: readonly NetworkPolicy[]): AddressSets {
  const settings = new Map<string, SetPolicySetting>();
  for (const policy of policies)
    if (policy.Type === "SetPolicy") settings.set(policy.Settings.Id, policy.Settings);
  const collect = (id: string, seen: Set<string>): readonly Prefix[] => {
    const set = settings.get(id);
    if (set === undefined || seen.has(id)) return [];
    seen.add(id);
    const values = splitList(set.Values ?? "");
    if (set.PolicyType === "IPSET") return prefixesIn(values);
    return values.flatMap((member) => collect(member, seen));
  };
  return new AddressSets(
    new Map([...settings.keys()].map((id) => [id, Object.freeze(collect(id, new Set()))])),
  );
}

/** The sets of a network, worked out once for each list of its settings. */
export function addressSetsOf(cache: CompileCache, network: NetworkFrame): AddressSets {
  return cache.get(network.id, "address-sets", [network.settings], () =>
    resolveAddressSets(network.settings.map(({ policy }) => policy)),
  );
}

function keyOf(prefix: Prefix, length: number): string {
  return `${prefixFamily(prefix)}|${maskIp(prefix.address, length)}|${length}`;
}

/** The prefixes of `list` that lie in one of `others`. Costs one look-up per prefix and length. */
function coveredBy(list: readonly Prefix[], others: readonly Prefix[]): readonly Prefix[] {
  const known = new Set(others.map((prefix) => keyOf(prefix, prefix.length)));
  const lengths = [...new Set(others.map((prefix) => prefix.length))];
  return list.filter((prefix) =>
    lengths.some((length) => length <= prefix.length && known.has(keyOf(prefix, length))),
  );
}

/** The addresses that both have. */
export function intersectPrefixes(a: readonly Prefix[], b: readonly Prefix[]): readonly Prefix[] {
  const shared = new Map<string, Prefix>();
  for (const prefix of [...coveredBy(a, b), ...coveredBy(b, a)])
    shared.set(keyOf(prefix, prefix.length), prefix);
  return [...shared.values()];
}

/**
 * What load balancers put on the port of an endpoint that serves them. SLB_NAT_LAYER: their rules and those of the
 * endpoint's own policies, in one group per direction as on a node (dataplane.md §2.2.3). VNET_ENCAP_LAYER: which answers
 * stay out of tunnels.
 */
import type { Guid } from "../../hcn/client.ts";
import { type Group, createGroup } from "../../vfp/group.ts";
import type { Direction, Rule } from "../../vfp/rule.ts";
import type { BackEndRules } from "./load-balancer-rules.ts";

const GROUP_PRIORITY = 100;
const NONE: readonly Group[] = Object.freeze([]);
/** In the order in which they are listed. */
const PLACES = [
  { family: 4, direction: "out" },
  { family: 4, direction: "in" },
  { family: 6, direction: "out" },
  { family: 6, direction: "in" },
] as const satisfies readonly { readonly family: 4 | 6; readonly direction: Direction }[];
type Place = (typeof PLACES)[number];

function rulesAt(rules: BackEndRules | undefined, { family, direction }: Place): readonly Rule[] {
  return rules?.family === family ? rules[direction] : [];
}

/** Asked before all routes into tunnels. */
const NO_PLAIN_ANSWERS: Group = createGroup({
  name: "VNET_GROUP_NO_ENCAP_SERVICES_IPV4_OUT",
  direction: "out",
  family: 4,
  priority: 50,
  match: "priority",
  rules: [],
});

export class EndpointNatGroups {
  private plain: Group = NO_PLAIN_ANSWERS;
  private plainGroups: readonly Group[] = NONE;
  private readonly services = new Map<Guid, BackEndRules>();
  private base: readonly Group[] | undefined;
  private groups: readonly Group[] = [];

  get isEmpty(): boolean {
    return this.services.size === 0;
  }

  /** Replaces what one load balancer has here; undefined takes it away. */
  set(loadBalancerId: Guid, rules: BackEndRules | undefined): void {
    const before = this.services.get(loadBalancerId);
    if (rules === undefined) this.services.delete(loadBalancerId);
    else this.services.set(loadBalancerId, rules);
    const groups = PLACES.flatMap((place) =>
      this.changed(place, rulesAt(before, place), rulesAt(rules, place)),
    );
    this.groups = Object.freeze(groups);
    const plain = this.plain.replaceRules(before?.plain ?? [], rules?.plain ?? []);
    if (plain === this.plain) return;
    this.plain = plain;
    this.plainGroups = plain.size === 0 ? NONE : Object.freeze([plain]);
  }

  /** For VNET_ENCAP_LAYER: what stays out of tunnels, though a route may lead into one. */
  get plainAnswers(): readonly Group[] {
    return this.plainGroups;
  }

  /** What a load balancer has here is known by another id from here on. */
  rename(from: Guid, to: Guid): void {
    const rules = this.services.get(from);
    if (rules === undefined) return;
    this.services.delete(from);
    this.services.set(to, rules);
  }

  /** The groups; `base` are those of the endpoint's own policies. */
  over(base: readonly Group[]): readonly Group[] {
    if (this.base !== base) {
      this.base = base;
      this.groups = base;
      const all = [...this.services.values()];
      const groups = PLACES.flatMap((place) =>
        this.changed(
          place,
          [],
          all.flatMap((rules) => rulesAt(rules, place)),
        ),
      );
      this.groups = Object.freeze(groups);
    }
    return this.groups;
  }

  private changed(place: Place, removed: readonly Rule[], added: readonly Rule[]): readonly Group[] {
    const { family, direction } = place;
    const known = this.groups.find((group) => group.direction === direction && group.family === family);
    if (known === undefined && added.length === 0) return [];
    const group = known ?? emptyGroup(place);
    return [group.replaceRules(removed, added)];
  }
}

function emptyGroup({ family, direction }: Place): Group {
  const name = `SLB_GROUP_NAT_IPv${family}_${direction.toUpperCase()}`;
  return createGroup({ name, direction, family, priority: GROUP_PRIORITY, match: "priority", rules: [] });
}

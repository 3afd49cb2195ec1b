/**
 * The compiled load balancers of one network, changed one by one: what a load balancer adds to shared groups is taken
 * out and put in again when it changes, and nothing else is touched. Plain data: a fork copies the table and shares
 * the groups, which are frozen.
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import { type Prefix, formatPrefix, prefixFamily } from "#core/net/ip.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { VfpDirection, MissNote, Rule } from "#dataplane/vfp/rule.ts";
import type {
  HostPoolDefinition,
  HostProgram,
  PortClaimDefinition,
  StaticBindingDefinition,
  TunnelSettings,
  Changes,
} from "../../ports/datapath.ts";
import type { LoadBalancerRecord } from "../../service/records.ts";
import {
  type CompiledLoadBalancer,
  HOST_GROUP_NAMES,
  type HostGroupName,
  type HostParts,
  compileLoadBalancer,
  type BackEndRules,
} from "./load-balancer.ts";
import type { EndpointTable, LoadBalancerFacts } from "./load-balancer-plan.ts";
import { makeGroup } from "../layers.ts";

// Entries that several load balancers may have in common, and what came and went since the last question.

interface Counted<T> {
  readonly entry: T;
  readonly count: number;
}

export class SharedEntries<T extends object> {
  private readonly entries = new Map<string, Counted<T>>();
  private readonly added = new Map<string, T>();
  private readonly removed = new Map<string, T>();

  /** One owner's entries change; equal entries have equal keys. */
  replace(before: readonly T[], after: readonly T[], keyOf: (entry: T) => string): void {
    for (const entry of after) this.add(keyOf(entry), entry);
    for (const entry of before) this.remove(keyOf(entry));
  }

  takeChanges(): Changes<T> {
    const changes = { added: [...this.added.values()], removed: [...this.removed.values()] };
    this.added.clear();
    this.removed.clear();
    return changes;
  }

  private add(key: string, entry: T): void {
    const known = this.entries.get(key);
    this.entries.set(key, { entry, count: (known?.count ?? 0) + 1 });
    if (known !== undefined) return;
    // Gone and back between two questions: nothing changed.
    if (!this.removed.delete(key)) this.added.set(key, entry);
  }

  private remove(key: string): void {
    const known = this.entries.get(key);
    if (known === undefined) return;
    if (known.count > 1) {
      this.entries.set(key, { ...known, count: known.count - 1 });
      return;
    }
    this.entries.delete(key);
    if (!this.added.delete(key)) this.removed.set(key, known.entry);
  }
}

// What load balancers put on the port of an endpoint that serves them. SLB_NAT_LAYER: their rules and those of the
// endpoint's own policies, in one group per direction as on a node (dataplane.md §2.2.3). VNET_ENCAP_LAYER: which answers
// stay out of tunnels.

const NONE: readonly Group[] = Object.freeze([]);
/** In the order in which they are listed. */
const PLACES = [
  { family: 4, direction: "out" },
  { family: 4, direction: "in" },
  { family: 6, direction: "out" },
  { family: 6, direction: "in" },
] as const satisfies readonly { readonly family: 4 | 6; readonly direction: VfpDirection }[];
type Place = (typeof PLACES)[number];

function rulesAt(rules: BackEndRules | undefined, { family, direction }: Place): readonly Rule[] {
  return rules?.family === family ? rules[direction] : [];
}

/** Asked before all routes into tunnels. */
const NO_PLAIN_ANSWERS: Group = makeGroup(
  { name: "VNET_GROUP_NO_ENCAP_SERVICES_IPV4_OUT", direction: "out", family: 4, priority: 50 },
  [],
);

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
    const group = known ?? emptyTranslationGroup(place);
    return [group.replaceRules(removed, added)];
  }
}

function emptyTranslationGroup({ family, direction }: Place): Group {
  const name = `SLB_GROUP_NAT_IPv${family}_${direction.toUpperCase()}`;
  return emptyGroup(name, direction, family);
}

/** What an overlay network puts into the host's port, besides its load balancers. */
export interface HostTunnel {
  readonly encap: readonly Group[];
  readonly decap: readonly Group[];
  readonly paRoute: readonly Group[];
  readonly settings: TunnelSettings;
}

const NO_GROUPS: readonly Group[] = Object.freeze([]);
/** Ids of what has no owner any more begin so. */
const LEFT_PREFIX = "left/";

function emptyGroup(name: string, direction: VfpDirection, family: 4 | 6): Group {
  return makeGroup({ name, direction, family }, []);
}

/** Names are observed for IPv4 (dataplane.md §2.2.3); that of the source NAT group is the one of the pods' ports. */
function emptyHostGroups(family: 4 | 6): HostParts<Group>[4] {
  return Object.freeze({
    hairpin: emptyGroup(`SLB_GROUP_HAIRPIN_IPv${family}_IN`, "in", family),
    sourceNat: emptyGroup(`SLB_GROUP_NAT_IPv${family}_OUT`, "out", family),
    balance: emptyGroup(family === 4 ? "LB_OUT" : "LB_IPv6_OUT", "out", family),
    balanceLocally: emptyGroup(`SLB_GROUP_LB_IPv${family}_OUT`, "out", family),
    toNode: emptyGroup(`SLB_GROUP_NAT_IPv${family}_IN`, "in", family),
  });
}

const EMPTY_HOST_GROUPS: HostParts<Group> = Object.freeze({ 4: emptyHostGroups(4), 6: emptyHostGroups(6) });

const EMPTY_POD_GROUPS: Readonly<Record<4 | 6, Group>> = Object.freeze({
  4: emptyGroup("LB_DSR_IPv4_OUT", "out", 4),
  6: emptyGroup("LB_DSR_IPv6_OUT", "out", 6),
});

/** What a load balancer depends on besides itself. */
export interface LoadBalancerSurroundings {
  readonly endpoints: EndpointTable;
  readonly facts: LoadBalancerFacts;
  /** Where services have their addresses, as far as endpoints' policies tell: for the words of traces. */
  readonly serviceRanges: readonly Prefix[];
  /** For translated packets. */
  readonly paRoute: readonly Group[];
  /** Undefined: the network has no tunnels. */
  readonly tunnel: HostTunnel | undefined;
}

function noteFor(range: Prefix): MissNote {
  return {
    condition: { destination: [range] },
    code: "service-without-back-ends",
    text: `no load balancer has this address of the service range ${formatPrefix(range)}`,
  };
}

function areSameFacts(a: LoadBalancerFacts | undefined, b: LoadBalancerFacts): boolean {
  if (a === b) return true;
  return (
    a?.managementIp === b.managementIp &&
    a?.managementIp6 === b.managementIp6 &&
    a?.hasPods === b.hasPods &&
    a?.traits === b.traits &&
    a.overhead === b.overhead &&
    a.nodeIps.length === b.nodeIps.length &&
    a.nodeIps.every((ip, index) => ip === b.nodeIps[index])
  );
}

export class LoadBalancerTable {
  private readonly compiled = new Map<Guid, CompiledLoadBalancer>();
  private readonly endpointGroups = new Map<Guid, EndpointNatGroups>();
  private readonly pools = new SharedEntries<HostPoolDefinition>();
  private readonly bindings = new SharedEntries<StaticBindingDefinition>();
  private readonly claims = new SharedEntries<PortClaimDefinition>();
  private podByFamily = EMPTY_POD_GROUPS;
  private host = EMPTY_HOST_GROUPS;
  private pod: readonly Group[] = Object.freeze([]);
  private facts: LoadBalancerFacts | undefined;
  /** Endpoints whose groups changed since `takeTouched`. */
  private touched = new Set<Guid>();
  private notesKey = "";
  private dsrCount = 0;
  private leftCount = 0;

  /** The groups of LB_DSR: the same on every pod's port. */
  get podGroups(): readonly Group[] {
    return this.pod;
  }

  /** Pods are balanced at their own ports: DSR is on. */
  get hasDsr(): boolean {
    return this.dsrCount > 0;
  }

  /** The groups of an endpoint's SLB_NAT_LAYER; `base` are those of its own policies. */
  natGroupsOf(endpointId: Guid, base: readonly Group[]): readonly Group[] {
    const groups = this.endpointGroups.get(endpointId);
    return groups === undefined ? base : groups.over(base);
  }

  /** What of an endpoint's VNET_ENCAP_LAYER is for the load balancers that it serves. */
  encapGroupsOf(endpointId: Guid): readonly Group[] {
    return this.endpointGroups.get(endpointId)?.plainAnswers ?? NO_GROUPS;
  }

  /** Endpoints whose groups changed since the last call. */
  takeTouched(): ReadonlySet<Guid> {
    const { touched } = this;
    if (touched.size > 0) this.touched = new Set();
    return touched;
  }

  /**
   * Compiles what changed and says what the host's port is programmed with.
   * `all` is asked only when everything has to be compiled anew: the node itself changed.
   */
  update(
    surroundings: LoadBalancerSurroundings,
    changed: ReadonlyMap<Guid, LoadBalancerRecord | undefined>,
    all: ReadonlyMap<Guid, LoadBalancerRecord>,
  ): HostProgram {
    const isNodeNew = this.compiled.size > 0 && !areSameFacts(this.facts, surroundings.facts);
    this.facts = surroundings.facts;
    const work = new Map(changed);
    if (isNodeNew) for (const [id, each] of all) work.set(id, each);
    for (const [id, record] of work) this.replace(id, record, surroundings);
    this.updateNotes(surroundings.serviceRanges);
    return {
      groups: this.hostGroups(surroundings),
      pools: this.pools.takeChanges(),
      bindings: this.bindings.takeChanges(),
      claims: this.claims.takeChanges(),
      tunnel: surroundings.tunnel?.settings,
    };
  }

  /**
   * Leaves what is compiled of a load balancer where it is, without an owner: what comes or goes under its id does not touch
   * it. Known defects of HNS (dataplane.md §9, F-16 and F-22).
   */
  leave(id: Guid): void {
    const compiled = this.compiled.get(id);
    if (compiled === undefined) return;
    const leftId = `${LEFT_PREFIX}${this.leftCount++}/${id}`;
    this.compiled.delete(id);
    this.compiled.set(leftId, compiled);
    for (const endpointId of compiled.backEnds.keys())
      this.endpointGroups.get(endpointId)?.rename(id, leftId);
  }

  /** Whatever was left goes with the next update. @returns the ids to update. */
  get left(): readonly Guid[] {
    return [...this.compiled.keys()].filter((id) => id.startsWith(LEFT_PREFIX));
  }

  private replace(
    id: Guid,
    record: LoadBalancerRecord | undefined,
    { endpoints, facts }: LoadBalancerSurroundings,
  ): void {
    const before = this.compiled.get(id);
    const after = record === undefined ? undefined : compileLoadBalancer(record, endpoints, facts);
    if (after === undefined) this.compiled.delete(id);
    else this.compiled.set(id, after);
    this.dsrCount += Number(after?.isDsrForPods === true) - Number(before?.isDsrForPods === true);
    this.replacePodRules(before, after);
    const changed = (family: 4 | 6): HostParts<Group>[4] => {
      const host: Record<HostGroupName, Group> = { ...this.host[family] };
      for (const name of HOST_GROUP_NAMES)
        host[name] = host[name].replaceRules(
          before?.host[family][name] ?? [],
          after?.host[family][name] ?? [],
        );
      return Object.freeze(host);
    };
    this.host = Object.freeze({ 4: changed(4), 6: changed(6) });
    this.replaceBackEnds(id, before, after);
    this.pools.replace(before?.pools ?? [], after?.pools ?? [], (pool) => pool.name);
    this.bindings.replace(
      before?.bindings ?? [],
      after?.bindings ?? [],
      ({ ip, protocol, port }) => `${ip}|${protocol}|${port}`,
    );
    this.claims.replace(
      before?.claims ?? [],
      after?.claims ?? [],
      ({ family, protocol, port, code }) => `${family}|${protocol}|${port}|${code ?? ""}`,
    );
  }

  private replacePodRules(
    before: CompiledLoadBalancer | undefined,
    after: CompiledLoadBalancer | undefined,
  ): void {
    const replaced = (family: 4 | 6): Group =>
      this.podByFamily[family].replaceRules(before?.podRules[family] ?? [], after?.podRules[family] ?? []);
    const groups = { 4: replaced(4), 6: replaced(6) };
    if (groups[4] === this.podByFamily[4] && groups[6] === this.podByFamily[6]) return;
    this.podByFamily = Object.freeze(groups);
    this.pod = Object.freeze([groups[4], groups[6]].filter((group) => group.size > 0));
  }

  private replaceBackEnds(
    id: Guid,
    before: CompiledLoadBalancer | undefined,
    after: CompiledLoadBalancer | undefined,
  ): void {
    const concerned = new Set([...(before?.backEnds.keys() ?? []), ...(after?.backEnds.keys() ?? [])]);
    for (const endpointId of concerned) {
      this.touched.add(endpointId);
      const groups = this.endpointGroups.get(endpointId) ?? new EndpointNatGroups();
      groups.set(id, after?.backEnds.get(endpointId));
      if (groups.isEmpty) this.endpointGroups.delete(endpointId);
      else this.endpointGroups.set(endpointId, groups);
    }
  }

  private updateNotes(ranges: readonly Prefix[]): void {
    const key = ranges.map(formatPrefix).join();
    if (key === this.notesKey) return;
    this.notesKey = key;
    const noted = (family: 4 | 6): HostParts<Group>[4] => {
      const notes = Object.freeze(ranges.filter((range) => prefixFamily(range) === family).map(noteFor));
      const { hairpin, balance } = this.host[family];
      return Object.freeze({
        ...this.host[family],
        hairpin: hairpin.withMissNotes(notes),
        balance: balance.withMissNotes(notes),
      });
    };
    this.host = Object.freeze({ 4: noted(4), 6: noted(6) });
  }

  private hostGroups({ paRoute, tunnel }: LoadBalancerSurroundings): HostProgram["groups"] {
    const { 4: four, 6: six } = this.host;
    const used = (name: HostGroupName): readonly Group[] =>
      [four[name], six[name]].filter((group) => group.size > 0 || group.missNotes.length > 0);
    const isTranslating = four.sourceNat.size + six.sourceNat.size > 0;
    return {
      SLB_HAIRPIN_LAYER: used("hairpin"),
      SNAT: used("sourceNat"),
      LB: used("balance"),
      ENCAP: tunnel?.encap ?? [],
      DECAP_IN: tunnel?.decap ?? [],
      SLB_LB_LAYER: [...used("balanceLocally"), ...used("toNode")],
      VNET_PA_ROUTE_LAYER: tunnel?.paRoute ?? (isTranslating ? paRoute : []),
    };
  }
}

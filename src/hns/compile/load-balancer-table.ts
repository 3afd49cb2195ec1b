/**
 * The compiled load balancers of one network, changed one by one: what a load balancer adds to shared groups is taken
 * out and put in again when it changes, and nothing else is touched. Plain data: a fork copies the table and shares
 * the groups, which are frozen.
 */
import type { Guid } from "../../hcn/client.ts";
import { formatPrefix, prefixFamily, type Prefix } from "../../net/prefix.ts";
import { type Group, createGroup } from "../../vfp/group.ts";
import type { Direction, MissNote } from "../../vfp/rule.ts";
import type {
  HostPoolDefinition,
  HostProgram,
  PortClaimDefinition,
  StaticBindingDefinition,
  TunnelSettings,
} from "../datapath.ts";
import type { LoadBalancerRecord } from "../load-balancer-record.ts";
import { EndpointNatGroups } from "./endpoint-nat-groups.ts";
import {
  type CompiledLoadBalancer,
  HOST_GROUP_NAMES,
  type HostGroupName,
  type HostParts,
  compileLoadBalancer,
} from "./load-balancer.ts";
import type { EndpointTable, LoadBalancerFacts } from "./load-balancer-plan.ts";
import { SharedEntries } from "./shared-entries.ts";

/** What an overlay network puts into the host's port, besides its load balancers. */
export interface HostTunnel {
  readonly encap: readonly Group[];
  readonly decap: readonly Group[];
  readonly paRoute: readonly Group[];
  readonly settings: TunnelSettings;
}

const GROUP_PRIORITY = 100;
const NO_GROUPS: readonly Group[] = Object.freeze([]);
/** Ids of what nobody owns any more begin so. */
const LEFT_PREFIX = "left/";

function emptyGroup(name: string, direction: Direction, family: 4 | 6): Group {
  return createGroup({ name, direction, family, priority: GROUP_PRIORITY, match: "priority", rules: [] });
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
   * Leaves what is compiled of a load balancer where it is, as nobody's: what comes or goes under its id does not touch
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

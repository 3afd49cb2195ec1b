/**
 * What a machine holds of Services, taken out of its state: rules of load balancers on switch ports, rules of netfilter, and
 * names. It is the only state of which a change may leave answers of the same machine as they were, because each piece
 * says itself what it can touch: a rule that asks for one address touches no packet without one of the addresses that it
 * names, and a name no question that does not hold it. A rule that asks for no address is state like any other.
 */
import { Digest, type FrozenDigests, type StateReaders, type StateWalk } from "#core/base/state-digest.ts";
import { type Ip, type Prefix, bitsOf, familyOf } from "#core/net/ip.ts";
import { ClusterZone } from "#control-plane/dns/cluster-zone.ts";
import { RuleSet } from "#dataplane/host/netfilter/rule-set.ts";
import { VirtualSwitch } from "#dataplane/switch/virtual-switch.ts";
import { Group } from "#dataplane/vfp/group.ts";
import type { MissNote, Rule } from "#dataplane/vfp/rule.ts";
import { VfpPort } from "#dataplane/vfp/vfp-port.ts";

/** Numbers below are no addresses: ports, priorities, lengths. */
const ADDRESS_MIN = 0x0100_0000;

/** One Service's piece of a machine's state. */
export interface ServicePart {
  readonly digest: Digest;
  /** The rules or records that it is made of, which are frozen. */
  readonly sources: object[];
  /** The name of a Service that names lead to; undefined for rules. */
  readonly label: string | undefined;
}

/** What a frozen rule adds to the part that it belongs to. */
interface Piece {
  readonly key: string;
  readonly digest: Digest;
  readonly source: object;
}

interface GroupPieces {
  /** Rules and notes that are state like any other. */
  readonly rest: readonly object[];
  readonly pieces: readonly Piece[];
}

/** What stays the same from one look at a cluster to the next, because it is frozen. */
export class FrozenState {
  readonly digests: FrozenDigests = new WeakMap();
  readonly groups: WeakMap<Group, GroupPieces> = new WeakMap();
}

/** What a rule does, without what it is called: a load balancer that is made anew is called otherwise. */
function effectOf(rule: Rule | MissNote): object {
  if (!("provenance" in rule)) return rule;
  const { id: _id, name: _name, listedId: _listedId, provenance: _provenance, ...effect } = rule;
  return Object.freeze(effect);
}

/** Adds each address in `value` and in what it holds. */
function collectAddresses(value: unknown, found: Set<Ip>): void {
  if (typeof value === "bigint" || (typeof value === "number" && value >= ADDRESS_MIN))
    found.add(value as Ip);
  else if (typeof value === "object" && value !== null)
    for (const each of Object.values(value)) collectAddresses(each, found);
}

/** Every address that a part names. It is asked of parts that differ alone, and kept of none. */
export function addressesIn({ sources }: ServicePart): ReadonlySet<Ip> {
  const found = new Set<Ip>();
  for (const source of sources) collectAddresses(source, found);
  return found;
}

function isOneAddress({ address, length }: Prefix): boolean {
  return length === bitsOf(familyOf(address));
}

function asksForAddresses({ condition }: Pick<Rule | MissNote, "condition">): boolean {
  const { source = [], destination = [] } = condition;
  const isSource = source.length > 0 && condition.sourceSets === undefined && source.every(isOneAddress);
  const isDestination =
    destination.length > 0 && condition.destinationSets === undefined && destination.every(isOneAddress);
  return isSource || isDestination;
}

/** The machine's parts, while it is walked. */
export class ServiceParts {
  readonly parts: Map<string, ServicePart> = new Map();
  /** The machine answers names of the cluster. */
  servesNames = false;
  private readonly frozen: FrozenState;

  constructor(frozen: FrozenState) {
    this.frozen = frozen;
  }

  /** How a walk reads what holds parts. */
  readers(): StateReaders {
    return {
      readers: new Map<object, (value: object, walk: StateWalk) => void>([
        [Group.prototype, (group, walk) => this.readGroup(group as Group, walk)],
        [RuleSet.prototype, (rules, walk) => this.readRuleSet(rules as RuleSet, walk)],
        [ClusterZone.prototype, (zone, walk) => this.readZone(zone as ClusterZone, walk)],
      ]),
      leftOut: new Map<object, ReadonlySet<string>>([
        // A number of the port's programming, by which flows know that they are out of date: a copy begins without flows.
        [VfpPort.prototype, new Set(["generation"])],
        // When idle flows are looked for next.
        [VirtualSwitch.prototype, new Set(["nextSweepMs"])],
      ]),
    };
  }

  private readGroup(group: Group, walk: StateWalk): void {
    const { name, direction, family, priority, match, condition } = group;
    for (const each of [name, direction, family, priority, match, condition]) walk.add(each);
    const { rest, pieces } = this.piecesOf(group, walk);
    for (const each of rest) walk.add(each);
    for (const { key, digest, source } of pieces) this.add(key, digest, source);
  }

  private piecesOf(group: Group, walk: StateWalk): GroupPieces {
    const known = this.frozen.groups.get(group);
    if (known !== undefined) return known;
    const rest: object[] = [];
    const pieces: Piece[] = [];
    const take = (each: Rule | MissNote, key: string | undefined): void => {
      if (key === undefined || !asksForAddresses(each)) rest.push(each);
      else pieces.push({ key, digest: walk.ofFrozen(effectOf(each)), source: each });
    };
    for (const rule of group.rules) {
      const { object, name: frontEnd } = rule.provenance;
      take(rule, object === "HostComputeLoadBalancer" ? `load balancer ${frontEnd}` : undefined);
    }
    for (const note of group.missNotes) take(note, "notes");
    const found = { rest, pieces };
    this.frozen.groups.set(group, found);
    return found;
  }

  private readRuleSet(rules: RuleSet, walk: StateWalk): void {
    for (const owner of rules.listOwners()) {
      for (const [hook, list] of Object.entries(rules.get(owner) ?? {}))
        for (const rule of list) {
          const { destination, source } = rule.match;
          const isOfOne = [destination, source].some(
            (prefix) => prefix !== undefined && isOneAddress(prefix),
          );
          if (rule.provenance.object === "Service" && isOfOne)
            this.add(`netfilter ${owner} ${hook}`, walk.ofFrozen(rule), rule);
          else {
            walk.add(owner);
            walk.add(hook);
            walk.add(rule);
          }
        }
    }
  }

  private readZone(zone: ClusterZone, walk: StateWalk): void {
    this.servesNames = true;
    walk.add(zone.zone);
    walk.add(zone.ttlSeconds);
    for (const namespace of zone.listNamespaces()) walk.add(namespace);
    for (const service of zone.listServices()) {
      const records = [service, ...zone.listSlices(service)];
      const key = `name ${service.namespace}/${service.name}`;
      for (const record of records) this.add(key, walk.ofFrozen(record), record, service.name);
    }
  }

  private add(key: string, digest: Digest, source: object, label?: string): void {
    let part = this.parts.get(key);
    if (part === undefined) this.parts.set(key, (part = { digest: new Digest(), sources: [], label }));
    part.digest.addDigest(digest);
    part.sources.push(source);
  }
}

/**
 * What a machine holds of Services, taken out of its state: rules of load balancers on switch ports, rules of netfilter, ports
 * that a switch serves, and names. It is the only state of which a change may leave answers of the same machine as they were,
 * because each piece says itself what it can touch: a rule that asks for one address touches no packet without one of the
 * addresses that it names, one that asks for a port no packet without the port, and a name no question that does not hold it.
 * A rule that asks for neither is state like any other.
 */
import { Digest, type FrozenDigests, type StateReaders, type StateWalk } from "#core/base/state-digest.ts";
import { type Ip, type Prefix, bitsOf, familyOf } from "#core/net/ip.ts";
import { ClusterZone } from "#control-plane/dns/cluster-zone.ts";
import { PortClaims } from "#dataplane/host/local-ports.ts";
import { type Rule as NetfilterRule, RuleSet } from "#dataplane/host/netfilter/rule-set.ts";
import { NatBindings } from "#dataplane/switch/nat-bindings.ts";
import { VirtualSwitch } from "#dataplane/switch/virtual-switch.ts";
import { Group } from "#dataplane/vfp/group.ts";
import type { MissNote, Rule } from "#dataplane/vfp/rule.ts";
import { VfpPort } from "#dataplane/vfp/vfp-port.ts";
import { isClientPort } from "../cells/source-ports.ts";

/** Numbers below are no addresses: ports, priorities, lengths. */
const ADDRESS_MIN = 0x0100_0000;

/** What a rule or record asks of a packet that it touches, as far as it can be told. */
interface Asked {
  /** What names the addresses; undefined: the packet may have any. */
  readonly names: object | undefined;
  /** The packet is for one of these ports, or from it; undefined: it may have any. */
  readonly ports: readonly number[] | undefined;
}

/** One Service's piece of a machine's state. */
export interface ServicePart {
  readonly digest: Digest;
  /** Of the rules or records that it is made of. */
  readonly asked: Asked[];
  /** The name of a Service that names lead to; undefined for rules. */
  readonly label: string | undefined;
}

/** What a frozen rule adds to the part that it belongs to. */
interface Piece extends Asked {
  readonly key: string;
  readonly digest: Digest;
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
  /** Of rules, which a group that takes another one's place has as well; undefined: state like any other. */
  readonly pieces: WeakMap<Rule | MissNote, { readonly piece: Piece | undefined }> = new WeakMap();
}

/** The part that a rule belongs to; undefined for one of no Service. */
function keyOf(rule: Rule | MissNote): string | undefined {
  if (!("provenance" in rule)) return "notes";
  const { object, name: frontEnd } = rule.provenance;
  return object === "HostComputeLoadBalancer" ? `load balancer ${frontEnd}` : undefined;
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

/** Packets that something can touch. */
export interface TouchedPackets {
  /** Those with one of these addresses; undefined: with any. */
  readonly addresses: ReadonlySet<Ip> | undefined;
  /** And with one of these ports; undefined: with any. */
  readonly ports: readonly number[] | undefined;
}

/** What a part can touch. It is asked of parts that differ alone, and kept of none. */
export function packetsTouchedBy({ asked }: ServicePart): readonly TouchedPackets[] {
  const byPorts = new Map<string, { readonly addresses: Set<Ip>; readonly ports: Asked["ports"] }>();
  const touched: TouchedPackets[] = [];
  for (const { names, ports } of asked) {
    if (names === undefined) {
      touched.push({ addresses: undefined, ports });
      continue;
    }
    const key = ports?.join() ?? "";
    let found = byPorts.get(key);
    if (found === undefined) byPorts.set(key, (found = { addresses: new Set(), ports }));
    collectAddresses(names, found.addresses);
  }
  return [...touched, ...byPorts.values()];
}

/** Ports that are asked for, where nobody sends from one of them: answers are for the ports of clients. */
function servedPorts(ports: readonly number[]): readonly number[] | undefined {
  return ports.length === 0 || ports.some(isClientPort) ? undefined : ports;
}

function portsOf({ condition }: Pick<Rule | MissNote, "condition">): readonly number[] | undefined {
  const { destinationPorts = [] } = condition;
  if (destinationPorts.some(({ first, last }) => first !== last)) return undefined;
  return servedPorts(destinationPorts.map(({ first }) => first));
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

/** What a rule of a Service asks for; undefined when that is neither an address nor a port. */
function askedBy(rule: NetfilterRule): Asked | undefined {
  const { destination, source, destinationPort, isToLocal } = rule.match;
  const ports = destinationPort === undefined ? undefined : servedPorts([destinationPort]);
  const isOfOne = [destination, source].some((prefix) => prefix !== undefined && isOneAddress(prefix));
  if (isOfOne) return { names: rule, ports };
  return isToLocal === true && ports !== undefined ? { names: undefined, ports } : undefined;
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
        [NatBindings.prototype, (bindings, walk) => this.readBindings(bindings as NatBindings, walk)],
        [PortClaims.prototype, (claims, walk) => this.readClaims(claims as PortClaims, walk)],
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
    for (const piece of pieces) this.add(piece.key, piece.digest, piece);
  }

  private piecesOf(group: Group, walk: StateWalk): GroupPieces {
    const known = this.frozen.groups.get(group);
    if (known !== undefined) return known;
    const rest: object[] = [];
    const pieces: Piece[] = [];
    for (const each of [...group.rules, ...group.missNotes]) {
      const piece = this.pieceOf(each, walk);
      if (piece === undefined) rest.push(each);
      else pieces.push(piece);
    }
    const found = { rest, pieces };
    this.frozen.groups.set(group, found);
    return found;
  }

  /** Undefined for state like any other. */
  private pieceOf(each: Rule | MissNote, walk: StateWalk): Piece | undefined {
    const { pieces } = this.frozen;
    const known = pieces.get(each);
    if (known !== undefined) return known.piece;
    const key = keyOf(each);
    const piece =
      key === undefined || !asksForAddresses(each)
        ? undefined
        : { key, digest: walk.ofFrozen(effectOf(each)), names: each, ports: portsOf(each) };
    if (Object.isFrozen(each)) pieces.set(each, { piece });
    return piece;
  }

  /** As packets find the rules, and not as their owners have put them. */
  private readRuleSet(rules: RuleSet, walk: StateWalk): void {
    for (const { hook, key, rule } of rules.list()) {
      const asked = rule.provenance.object === "Service" ? askedBy(rule) : undefined;
      if (asked !== undefined) {
        this.add(`netfilter ${hook} ${key} ${rule.name}`, walk.ofFrozen(rule), asked);
        continue;
      }
      walk.add(hook);
      walk.add(key);
      walk.add(rule);
    }
  }

  /** Node ports, which the host's stack leaves to the switch. */
  private readClaims(claims: PortClaims, walk: StateWalk): void {
    for (const { family, protocol, port, claim } of claims.list()) {
      const ports = servedPorts([port]);
      const key = `port ${family} ${protocol} ${port}`;
      if (ports === undefined) {
        walk.add(key);
        walk.add(claim);
        continue;
      }
      const digest = new Digest();
      digest.addPlain(claim);
      this.add(key, digest, { names: undefined, ports });
    }
  }

  /** Node ports, whose frames the switch gives to the node's port. */
  private readBindings(bindings: NatBindings, walk: StateWalk): void {
    for (const each of bindings.rest) walk.add(each);
    for (const { ip, protocol, port, owner, holders } of bindings.listStatic()) {
      const ports = servedPorts([port]);
      const key = `binding ${ip} ${protocol} ${port}`;
      const said = `${key} ${owner} ${holders.join()}`;
      if (ports === undefined) {
        walk.add(said);
        continue;
      }
      const digest = new Digest();
      digest.addPlain(said);
      this.add(key, digest, { names: { ip }, ports });
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
      for (const record of records)
        this.add(key, walk.ofFrozen(record), { names: record, ports: undefined }, service.name);
    }
  }

  private add(key: string, digest: Digest, asked: Asked, label?: string): void {
    let part = this.parts.get(key);
    if (part === undefined) this.parts.set(key, (part = { digest: new Digest(), asked: [], label }));
    part.digest.addDigest(digest);
    part.asked.push(asked);
  }
}

/**
 * Translates packets: asks the rules once for each connection, remembers the choice in its tuples, and writes it into
 * each packet (net/netfilter/nf_nat_core.c).
 */
import type { Stack, StackInterface } from "../stack.ts";
import { assert } from "#core/base/assert.ts";
import type { Prng } from "#core/base/prng.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import { type Ip, type Prefix, familyOf, formatIp, prefixContains } from "#core/net/ip.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { isLinkLocal, isLoopback } from "../ip/address-scope.ts";
import { type Connection, type TrackedPacket, type ConnectionTable, opposite } from "./connection-table.ts";
import { rewriteError, rewriteSide } from "./rewrite.ts";
import type { DnatBackEnd, DnatTarget, Hook, Rule, RuleSet, Match, Target } from "./rule-set.ts";
import { type Side, formatEnd, readTuple, hasPorts } from "./tuple.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { PortRange } from "#core/net/port-range.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { dataPlane } from "#data/words.js";

const WORDS = dataPlane();

// Asking rules about one packet.

/** Targets that end the way through a table. */
export type FinalTarget = Exclude<Target, { readonly kind: "jump" | "mark" | "return" }>;

/** The rule that decided, and what it says. */
export interface Verdict {
  readonly rule: Rule;
  readonly target: FinalTarget;
}

/** What rules see of a packet. */
export interface Candidate {
  readonly tuple: FiveTuple;
  readonly tracked: TrackedPacket;
  /** The machine: it knows which addresses are its own. */
  readonly compartment: Stack;
}

function isIn(prefix: Prefix, ip: FiveTuple["source"]): boolean {
  return familyOf(prefix.address) === familyOf(ip) && prefixContains(prefix, ip);
}

export function isMatching(match: Match, { tuple, tracked, compartment }: Candidate): boolean {
  const { source, destination } = tuple;
  if (match.protocol !== undefined && match.protocol !== tuple.protocol) return false;
  if (match.family !== undefined && match.family !== familyOf(destination)) return false;
  if (match.destinationPort !== undefined && match.destinationPort !== tuple.destinationPort) return false;
  if (match.source !== undefined && !isIn(match.source, source)) return false;
  if (match.notSource !== undefined && isIn(match.notSource, source)) return false;
  if (match.destination !== undefined && !isIn(match.destination, destination)) return false;
  if (match.notDestination !== undefined && isIn(match.notDestination, destination)) return false;
  if (match.mark !== undefined && (tracked.mark & match.mark) === 0) return false;
  if (match.state !== undefined && match.state !== tracked.state) return false;
  if (match.isFromLocal !== undefined && match.isFromLocal !== compartment.isLocal(source)) return false;
  return match.isToLocal === undefined || match.isToLocal === compartment.isLocal(destination);
}

/** Asks `rules` in their order; "return" when one says so, undefined when none decides. */
function ask(rules: readonly Rule[], candidate: Candidate): Verdict | "return" | undefined {
  for (const rule of rules) {
    if (!isMatching(rule.match, candidate)) continue;
    const { target } = rule;
    if (target.kind === "return") return "return";
    if (target.kind === "mark") {
      candidate.tracked.mark |= target.bits;
    } else if (target.kind === "jump") {
      const verdict = ask(target.chain.rules, candidate);
      if (verdict !== undefined && verdict !== "return") return verdict;
    } else {
      return { rule, target };
    }
  }
  return undefined;
}

/**
 * What the rules of a hook say: those for the packet's very destination first, those for ports of the machine next
 * (kube-proxy has its NodePorts last in KUBE-SERVICES), then all others. Sets are asked in their order.
 */
export function evaluate(sets: readonly RuleSet[], hook: Hook, candidate: Candidate): Verdict | undefined {
  for (const set of sets) {
    const verdict = ask(set.forDestination(hook, candidate.tuple), candidate);
    if (verdict !== undefined && verdict !== "return") return verdict;
  }
  for (const set of sets) {
    const verdict = ask(set.forLocalPort(hook, candidate.tuple), candidate);
    if (verdict !== undefined && verdict !== "return") return verdict;
  }
  for (const set of sets) {
    const verdict = ask(set.others(hook), candidate);
    if (verdict !== undefined && verdict !== "return") return verdict;
  }
  return undefined;
}

/** Where destinations are translated. */
export type DestinationHook = "PREROUTING" | "OUTPUT";
/** Where sources are translated. */
export type SourceHook = "INPUT" | "POSTROUTING";

/** Chance without repetition, list by list: for who wants to meet every back end. */
class BackEndTurns {
  private readonly waiting = new Map<readonly DnatBackEnd[], readonly DnatBackEnd[]>();

  /** Those whose turn is still to come. */
  left(backEnds: readonly DnatBackEnd[]): readonly DnatBackEnd[] {
    return this.waiting.get(backEnds) ?? backEnds;
  }

  take(backEnds: readonly DnatBackEnd[], chosen: DnatBackEnd): void {
    const others = this.left(backEnds).filter((each) => each !== chosen);
    if (others.length > 0) this.waiting.set(backEnds, others);
    else this.waiting.delete(backEnds);
  }
}

export class Translator {
  private readonly compartment: Stack;
  private readonly table: ConnectionTable;
  private readonly sets: readonly RuleSet[];
  private readonly prng: Prng;
  private readonly affinity = new AffinityTable();
  /** Undefined: each choice is a new one. */
  private turns: BackEndTurns | undefined;

  /** `sets` are asked in their order; the list may grow. */
  constructor(compartment: Stack, table: ConnectionTable, sets: readonly RuleSet[]) {
    this.compartment = compartment;
    this.table = table;
    this.sets = sets;
    this.prng = compartment.prng.derive("netfilter");
  }

  /** From now on no back end of a list is chosen again before all others of it were. */
  chooseInTurn(): void {
    this.turns ??= new BackEndTurns();
  }

  /** Decides about the destination of a new connection, then translates that of the packet. */
  destination(hook: DestinationHook, packet: Packet, headers: Headers, tracked: TrackedPacket): void {
    const { connection } = tracked;
    if (connection === undefined) return;
    if (tracked.state === "new" && !connection.isDestinationSettled) {
      connection.isDestinationSettled = true;
      const at = hook === "PREROUTING" ? "nat-prerouting" : "nat-output";
      const verdict = this.ask(at, connection.original, tracked);
      if (verdict?.target.kind === "dnat")
        this.bindDestination(connection, verdict.rule, verdict.target, tracked);
    }
    this.translate(hook, "destination", packet, headers, tracked);
  }

  private bindDestination(
    connection: Connection,
    rule: Rule,
    target: DnatTarget,
    tracked: TrackedPacket,
  ): void {
    const backEnd = this.chooseBackEnd(target, connection.original.source);
    if (target.hairpinMark !== undefined && backEnd.ip === connection.original.source)
      tracked.mark |= target.hairpinMark;
    connection.reply = { ...connection.reply, source: backEnd.ip, sourcePort: backEnd.port };
    connection.destinationRule = rule;
  }

  private chooseBackEnd(target: DnatTarget, client: Ip): DnatBackEnd {
    const { backEnds, affinitySeconds } = target;
    const { nowMs } = this.compartment;
    const known =
      affinitySeconds === undefined
        ? undefined
        : this.affinity.find(backEnds, client, affinitySeconds, nowMs);
    const choices = this.turns?.left(backEnds) ?? backEnds;
    const chosen = known ?? choices[this.prng.below(choices.length)];
    assert(chosen !== undefined, "a translation of destinations has a back end");
    if (known === undefined) this.turns?.take(backEnds, chosen);
    if (affinitySeconds !== undefined) this.affinity.remember(chosen, client, nowMs);
    return chosen;
  }

  /** Decides about the source of a new connection, then translates the source of the packet. */
  source(
    hook: SourceHook,
    packet: Packet,
    headers: Headers,
    tracked: TrackedPacket,
    address: Ip | undefined,
  ): boolean {
    const { connection } = tracked;
    if (connection === undefined) return true;
    if (tracked.state === "new" && !connection.isSourceSettled) {
      connection.isSourceSettled = true;
      if (!this.bindSource(hook, packet, headers, tracked, connection, address)) return false;
    }
    this.translate(hook, "source", packet, headers, tracked);
    return true;
  }

  /** Without a rule the source stays; only a port that another connection has already is changed. */
  private bindSource(
    hook: SourceHook,
    packet: Packet,
    headers: Headers,
    tracked: TrackedPacket,
    connection: Connection,
    address: Ip | undefined,
  ): boolean {
    const tuple = readTuple(packet.bytes, headers) ?? connection.original;
    const verdict = hook === "INPUT" ? undefined : this.ask("nat-postrouting", tuple, tracked);
    const isMasqueraded = verdict?.target.kind === "masquerade";
    const source = isMasqueraded ? address : connection.original.source;
    if (source === undefined) {
      this.compartment.drop(packet, "no-route", WORDS.noAddressToMasqueradeWith);
      return false;
    }
    const reply = claimSource(this.table, connection.reply, source, this.compartment.nowMs);
    if (reply === undefined) {
      const text = `every source port of ${formatIp(source)} towards ${formatEnd(tuple, "destination")} is taken`;
      this.compartment.drop(packet, "masquerade-ports-exhausted", text, verdict?.rule.provenance);
      return false;
    }
    connection.reply = reply;
    if (isMasqueraded) connection.sourceRule = verdict?.rule;
    return true;
  }

  /**
   * `nf_nat_masquerade_ipv4`: the address of the interface; on the loopback interface, and on one without addresses, the
   * machine's first one (`inet_select_addr`, net/ipv4/devinet.c).
   */
  masqueradeAddress(out: StackInterface | undefined, destination: Ip, nextHop: Ip): Ip | undefined {
    const own = out && this.compartment.sourceFor(out, destination, nextHop);
    if (own !== undefined) return own;
    for (const each of this.compartment.listInterfaces())
      for (const { ip } of each.addresses)
        if (familyOf(ip) === familyOf(destination) && !isLoopback(ip) && !isLinkLocal(ip)) return ip;
    return undefined;
  }

  private translate(
    hook: DestinationHook | SourceHook,
    side: Side,
    packet: Packet,
    headers: Headers,
    tracked: TrackedPacket,
  ): void {
    const { connection, direction } = tracked;
    if (connection?.isTranslated(direction, side) !== true) return;
    const target = connection.targetOf(direction);
    const before = packet.tag === 0 ? undefined : readTuple(packet.bytes, headers);
    if (tracked.state === "related")
      rewriteError(packet.bytes, headers, side, target, connection.tupleOf(opposite(direction)));
    else rewriteSide(packet.bytes, headers, side, target);
    if (packet.tag !== 0) this.report(hook, side, packet, tracked, before, target);
  }

  private report(
    hook: DestinationHook | SourceHook,
    side: Side,
    packet: Packet,
    { connection, direction, state }: TrackedPacket,
    before: FiveTuple | undefined,
    target: FiveTuple,
  ): void {
    // Of an original packet its own side is translated, of an answer the other one is put back.
    const isSourceRule = (side === "source") === (direction === "original");
    const rule = isSourceRule ? connection?.sourceRule : connection?.destinationRule;
    const what = isSourceRule ? "masquerade" : "DNAT";
    const by = rule === undefined ? "the source port is taken" : rule.name;
    const now = formatEnd(target, side);
    const text =
      state === "related"
        ? `ICMP error about a translated packet (${what}: ${by})`
        : direction === "original"
          ? `${what} by ${by}: ${before === undefined ? "" : formatEnd(before, side)} → ${now}`
          : `answer, back to ${side} ${now} (${what}: ${by})`;
    this.compartment.recordTranslation(packet, hook, text, rule?.provenance);
  }

  private ask(hook: Hook, tuple: FiveTuple, tracked: TrackedPacket): Verdict | undefined {
    return evaluate(this.sets, hook, { tuple, tracked, compartment: this.compartment });
  }
}

const MS_PER_SECOND = 1_000;

/**
 * Which clients came to which back end, and when last: kube-proxy's session affinity is the `recent` match of
 * iptables, with one list per back end (net/netfilter/xt_recent.c; its `ip_list_tot` is 100: the client that was
 * away longest is forgotten for a new one).
 */
export class AffinityTable {
  /** By the key of the back end; its clients with the time of their last new connection, the oldest first. */
  private readonly clients = new Map<string, Map<Ip, number>>();

  /** The first of `backEnds` that knows the client from the last `seconds`. */
  find(
    backEnds: readonly DnatBackEnd[],
    client: Ip,
    seconds: number,
    nowMs: number,
  ): DnatBackEnd | undefined {
    return backEnds.find((backEnd) => {
      const known = this.clients.get(backEnd.key);
      const seenAtMs = known?.get(client);
      if (known === undefined || seenAtMs === undefined) return false;
      if (nowMs - seenAtMs <= seconds * MS_PER_SECOND) return true;
      known.delete(client);
      return false;
    });
  }

  /** Remembers that `client` has a new connection to `backEnd`. */
  remember(backEnd: DnatBackEnd, client: Ip, nowMs: number): void {
    let known = this.clients.get(backEnd.key);
    if (known === undefined) this.clients.set(backEnd.key, (known = new Map<Ip, number>()));
    known.delete(client);
    if (known.size >= LIMITS.affinityClientsPerBackEndMax) {
      const oldest = known.keys().next();
      if (oldest.done !== true) known.delete(oldest.value);
    }
    known.set(client, nowMs);
  }
}

const ANY_IDENTIFIER: PortRange = { first: 0, last: 65_535 };

/** Ports that may stand in for `port`: privileged ones only for privileged ones. */
function rangeOf(port: number): PortRange {
  if (port < 512) return { first: 1, last: 511 };
  return port < 1_024 ? { first: 600, last: 1_023 } : { first: 1_024, last: 65_535 };
}

function isEchoProtocol(protocol: number): boolean {
  return protocol === IpProtocol.icmp || protocol === IpProtocol.icmpv6;
}

function withSource(reply: FiveTuple, source: Ip, port: number): FiveTuple {
  return isEchoProtocol(reply.protocol)
    ? { ...reply, destination: source, sourcePort: port }
    : { ...reply, destination: source, destinationPort: port };
}

/**
 * The reply tuple of a connection that gets `source` as its source address; undefined when all ports are taken.
 * It keeps its source port while that is free, else it gets another of the same class (net/netfilter/nf_nat_core.c,
 * `nf_nat_l4proto_unique_tuple`). The kernel begins to search at a random port, here it begins behind the own one. For an echo
 * the identifier is the port.
 */
export function claimSource(
  table: ConnectionTable,
  reply: FiveTuple,
  source: Ip,
  nowMs: number,
): FiveTuple | undefined {
  const isEcho = isEchoProtocol(reply.protocol);
  const wanted = isEcho ? reply.sourcePort : reply.destinationPort;
  const kept = withSource(reply, source, wanted);
  if (table.isFree(kept, nowMs)) return kept;
  if (!isEcho && !hasPorts(reply.protocol)) return undefined;
  const { first, last } = isEcho ? ANY_IDENTIFIER : rangeOf(wanted);
  const count = last - first + 1;
  for (let step = 1; step <= count; step++) {
    const port = first + ((wanted - first + step + count) % count);
    const tuple = withSource(reply, source, port);
    if (table.isFree(tuple, nowMs)) return tuple;
  }
  return undefined;
}

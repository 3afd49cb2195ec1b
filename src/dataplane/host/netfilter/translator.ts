/**
 * Translates packets: asks the rules once for each connection, remembers the choice in its tuples, and writes it into
 * each packet (net/netfilter/nf_nat_core.c).
 */
import type { Stack, StackInterface } from "../stack.ts";
import { assert } from "#core/base/assert.ts";
import type { Prng } from "#core/base/prng.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import { type Ip, familyOf, formatIp } from "#core/net/ip.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { isLinkLocal } from "../ip/address-scope.ts";
import { isLoopback } from "../loopback.ts";
import { AffinityTable } from "./affinity.ts";
import { type Connection, type TrackedPacket, opposite } from "./connection.ts";
import type { ConnectionTable } from "./connection-table.ts";
import { type Verdict, evaluate } from "./match.ts";
import { rewriteError, rewriteSide } from "./rewrite.ts";
import type { DnatBackEnd, DnatTarget, Hook, Rule } from "./rule.ts";
import type { RuleSet } from "./rule-set.ts";
import { claimSource } from "./source-ports.ts";
import { type Side, formatEnd, readTuple } from "./tuple.ts";

/** Where destinations are translated. */
export type DestinationHook = "PREROUTING" | "OUTPUT";
/** Where sources are translated. */
export type SourceHook = "INPUT" | "POSTROUTING";

export class Translator {
  private readonly compartment: Stack;
  private readonly table: ConnectionTable;
  private readonly sets: readonly RuleSet[];
  private readonly prng: Prng;
  private readonly affinity = new AffinityTable();

  /** `sets` are asked in their order; the list may grow. */
  constructor(compartment: Stack, table: ConnectionTable, sets: readonly RuleSet[]) {
    this.compartment = compartment;
    this.table = table;
    this.sets = sets;
    this.prng = compartment.prng.derive("netfilter");
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
    const chosen = known ?? backEnds[this.prng.below(backEnds.length)];
    assert(chosen !== undefined, "a translation of destinations has a back end");
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
      this.compartment.drop(
        packet,
        "no-route",
        "the interface that it leaves by has no address to masquerade with",
      );
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

  /** `masquerade_ipv4`: the address of the interface; on the loopback interface the machine's first one. */
  masqueradeAddress(out: StackInterface | undefined, destination: Ip, nextHop: Ip): Ip | undefined {
    if (out !== undefined) return this.compartment.sourceFor(out, destination, nextHop);
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

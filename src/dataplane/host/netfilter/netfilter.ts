/**
 * The hooks of a Linux stack: connection tracking, translation, filters. `IpInput`, `IpOutput` and the forwarding call
 * them where the kernel does (net/ipv4/ip_input.c, ip_output.c, ip_forward.c; include/uapi/linux/netfilter_ipv4.h for
 * the order at each hook).
 */
import { assert } from "#core/base/assert.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { type IpView, ipViewOf } from "#core/wire/ip-view.ts";
import type { Packet } from "#core/wire/packet.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import type { Path, Stack, StackInterface } from "../stack.ts";
import { Reassembly } from "../ip/fragmentation.ts";
import { type ConnectionTable, TrackedPacket } from "./connection-table.ts";
import { evaluate, Translator } from "./translator.ts";
import type { Hook, RuleSet } from "./rule-set.ts";
import { type HandledPacket, Tracker } from "./tracker.ts";
import { readTuple } from "./tuple.ts";

type FilterHook = Extract<Hook, `filter-${string}`>;

/** What traces call the hooks. */
const FILTER_NAMES = {
  "filter-input": "INPUT",
  "filter-forward": "FORWARD",
  "filter-output": "OUTPUT",
} as const satisfies Record<FilterHook, string>;

/** A packet that passed PREROUTING, whole. */
export interface Admitted {
  readonly packet: Packet;
  readonly headers: Headers;
  readonly view: IpView;
  readonly tracked: TrackedPacket;
  /** It came in fragments, so it may leave in fragments, of IPv6 too. */
  readonly isReassembled?: boolean;
}

export class Netfilter {
  private readonly compartment: Stack;
  private readonly tracker = new Tracker();
  private readonly sets: RuleSet[] = [];
  private readonly translator: Translator;
  private readonly reassembly: Reassembly;
  /** The packet whose handling is under way: an ICMP error that is sent meanwhile may be about it. */
  private current: Admitted | undefined;

  /** Made by `Compartment.enableNetfilter` only. */
  constructor(compartment: Stack) {
    this.compartment = compartment;
    this.translator = new Translator(compartment, this.tracker.table, this.sets);
    this.reassembly = new Reassembly(compartment, "silent");
  }

  get connections(): ConnectionTable {
    return this.tracker.table;
  }

  /** Who has rules here, in the order in which they are asked. */
  listRuleOwners(): readonly string[] {
    return this.sets.flatMap((set) => set.listOwners());
  }

  /** From now on no back end of a list is chosen again before all others of it were: for who wants to meet them all. */
  chooseInTurn(): void {
    this.translator.chooseInTurn();
  }

  /** Asks the rules of `set` from now on, behind those of the sets that were given before or in front of them. */
  use(set: RuleSet, place: "first" | "last" = "last"): void {
    assert(!this.sets.includes(set), "a rule set is used once");
    if (place === "first") this.sets.unshift(set);
    else this.sets.push(set);
  }

  /**
   * PREROUTING: puts fragments together, finds the connection, translates the destination. The packet is the one being
   * handled until `leave` gets what was handled before.
   * @returns undefined when the packet waits for further fragments, or ended.
   */
  enter(packet: Packet, headers: Headers, view: IpView): Admitted | undefined {
    const admitted = this.prerouting(packet, headers, view);
    this.current = admitted;
    return admitted;
  }

  /** The same for a packet that this machine sent to itself: it is translated already. */
  enterOwn(packet: Packet, headers: Headers, view: IpView): Admitted {
    const tracked = this.tracker.trackOwn(packet.bytes, headers, this.compartment.nowMs);
    this.current = { packet, headers, view, tracked };
    return this.current;
  }

  /** The packet being handled, to be given back to `leave`. */
  get handled(): Admitted | undefined {
    return this.current;
  }

  leave(before: Admitted | undefined): void {
    this.current = before;
  }

  /** PREROUTING by itself: for frames that a bridge carries. */
  prerouting(packet: Packet, headers: Headers, view: IpView): Admitted | undefined {
    const whole = headers.isFragment ? this.defragment(packet, view) : { packet, headers, view };
    if (whole === undefined) return undefined;
    // nf_conntrack_checksum is 1; who sent a super frame left its checksum to a device.
    const isBroken =
      whole.packet.segmentBytes === 0 && verifyChecksums(whole.packet.bytes, whole.headers) !== undefined;
    const tracked = isBroken
      ? new TrackedPacket("invalid")
      : this.tracker.track(whole.packet.bytes, whole.headers, this.compartment.nowMs);
    this.translator.destination("PREROUTING", whole.packet, whole.headers, tracked);
    return { ...whole, tracked };
  }

  /** True when PREROUTING changes, or may change, the destination of such a packet. */
  isRedirecting(packet: Packet, headers: Headers): boolean {
    const tuple = readTuple(packet.bytes, headers);
    if (tuple === undefined) return false;
    const found = this.tracker.table.find(tuple, this.compartment.nowMs);
    if (found !== undefined) return found.connection.isTranslated(found.direction, "destination");
    const tracked = new TrackedPacket("new");
    const verdict = evaluate(this.sets, "nat-prerouting", { tuple, tracked, compartment: this.compartment });
    return verdict?.target.kind === "dnat";
  }

  /** INPUT: the packet is for this machine. @returns false when it ended. */
  input(packet: Packet, headers: Headers): boolean {
    const tracked = this.current?.tracked;
    if (tracked === undefined) return true;
    if (!this.filter("filter-input", packet, headers, tracked)) return false;
    return (
      this.translator.source("INPUT", packet, headers, tracked, undefined) && this.confirm(packet, tracked)
    );
  }

  /** FORWARD: the packet is routed on. @returns false when it ended. */
  forward(packet: Packet, headers: Headers, tracked: TrackedPacket): boolean {
    return this.filter("filter-forward", packet, headers, tracked);
  }

  /** POSTROUTING: the packet leaves over `out` to `nextHop`. @returns false when it ended. */
  postrouting(
    packet: Packet,
    headers: Headers,
    tracked: TrackedPacket,
    out: StackInterface | undefined,
    nextHop: Ip,
  ): boolean {
    const tuple = readTuple(packet.bytes, headers);
    const address =
      tuple === undefined ? undefined : this.translator.masqueradeAddress(out, tuple.destination, nextHop);
    return (
      this.translator.source("POSTROUTING", packet, headers, tracked, address) &&
      this.confirm(packet, tracked)
    );
  }

  /**
   * OUTPUT and POSTROUTING: a packet that was made here.
   * @returns the path that it takes now; undefined when it ended.
   */
  send(packet: Packet, path: Path): Path | undefined {
    const headers = new Headers();
    assert(headers.parse(packet) === undefined, "a packet that is sent is well formed");
    const cause = this.causeOf();
    const tracked = this.tracker.track(packet.bytes, headers, this.compartment.nowMs, cause);
    const before = path.destination;
    this.translator.destination("OUTPUT", packet, headers, tracked);
    const view = ipViewOf(packet.bytes, headers);
    assert(view !== undefined, "a packet that is sent has an IP header");
    const way = view.destination === before ? path : this.reroute(packet, view);
    if (way === undefined || !this.filter("filter-output", packet, headers, tracked)) return undefined;
    const isPassed = this.postrouting(packet, headers, tracked, way.route?.interface, way.nextHop);
    return isPassed ? way : undefined;
  }

  /** ip_route_me_harder: the translated destination may lie elsewhere; the source stays. */
  private reroute(packet: Packet, view: IpView): Path | undefined {
    const source = this.compartment.isLocal(view.source) ? view.source : undefined;
    const path = this.compartment.output.findPath(view.destination, source);
    if (path === undefined)
      this.compartment.drop(
        packet,
        "no-route",
        `${this.compartment.name} has no route to ${formatIp(view.destination)}`,
      );
    return path;
  }

  private causeOf(): HandledPacket | undefined {
    const { current } = this;
    const tuple = current === undefined ? undefined : readTuple(current.packet.bytes, current.headers);
    return current === undefined || tuple === undefined ? undefined : { tracked: current.tracked, tuple };
  }

  private defragment(packet: Packet, view: IpView): Omit<Admitted, "tracked"> | undefined {
    const whole = this.reassembly.accept(packet, view);
    if (whole === undefined) return undefined;
    const headers = new Headers();
    const reason = headers.parse(whole);
    const wholeView = reason === undefined ? ipViewOf(whole.bytes, headers) : undefined;
    if (wholeView !== undefined) return { packet: whole, headers, view: wholeView, isReassembled: true };
    this.compartment.dropMalformed(whole, reason ?? "ipv4-truncated");
    return undefined;
  }

  private confirm(packet: Packet, { connection }: TrackedPacket): boolean {
    if (connection === undefined || connection.isConfirmed) return true;
    if (this.tracker.table.add(connection, this.compartment.nowMs)) return true;
    this.compartment.drop(packet, "connection-table-full", "no connection can be tracked any more");
    return false;
  }

  /** @returns false when a rule ended the packet. */
  private filter(hook: FilterHook, packet: Packet, headers: Headers, tracked: TrackedPacket): boolean {
    // Filters see packets that are no part of a connection, too; only what rules could name is read.
    const tuple = readTuple(packet.bytes, headers) ?? tupleOfAddresses(packet, headers);
    const verdict = evaluate(this.sets, hook, { tuple, tracked, compartment: this.compartment });
    if (verdict === undefined) return true;
    const { rule, target } = verdict;
    if (target.kind !== "drop" && target.kind !== "reject") return true;
    const text = `${target.text} (${target.kind.toUpperCase()} in ${FILTER_NAMES[hook]}, ${rule.name})`;
    this.compartment.drop(packet, target.code, text, rule.provenance);
    if (target.kind === "reject") this.compartment.icmp.sendError(packet, "port-unreachable");
    return false;
  }
}

function tupleOfAddresses(packet: Packet, headers: Headers): FiveTuple {
  const source = sourceIp(packet.bytes, headers);
  const destination = destinationIp(packet.bytes, headers);
  return { protocol: headers.protocol, source, sourcePort: 0, destination, destinationPort: 0 };
}

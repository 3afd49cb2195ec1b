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
import {
  Connection,
  ConnectionTable,
  TrackedPacket,
  isStream,
  opposite,
  timeoutOf,
} from "./connection-table.ts";
import { evaluate } from "./match.ts";
import type { Hook, RuleSet } from "./rule-set.ts";
import { Translator } from "./translator.ts";
import { invertTuple, isEchoReply, readTuple, tupleKey } from "./tuple.ts";
import { readU8 } from "#core/base/bytes.ts";
import { ICMP_HEADER_BYTES } from "#core/wire/icmp.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { isDiscoveryAt, isIcmpErrorAt } from "../ip/icmp-messages.ts";
import { type ConntrackDirection, nextTcpState } from "./tcp-tracking.ts";

// Finds the connection of each packet and keeps its state (net/netfilter/nf_conntrack_core.c, `nf_conntrack_in`).

const TCP_FLAGS_OFFSET = 13;
const INVALID: TrackedPacket["state"] = "invalid";

/** A packet that is being handled, and the tuple that it has at the moment. */
interface HandledPacket {
  readonly tracked: TrackedPacket;
  readonly tuple: FiveTuple;
}

class Tracker {
  readonly table: ConnectionTable = new ConnectionTable();

  /**
   * What is known of a packet that arrives or is sent. `cause` is the packet in whose handling it is sent: an ICMP
   * error about that one belongs to its connection, although half of it may be translated already.
   */
  track(bytes: Uint8Array, headers: Headers, nowMs: number, cause?: HandledPacket): TrackedPacket {
    // nf_conntrack_proto_icmpv6.c: neighbour discovery is no connection's.
    if (isDiscoveryAt(bytes, headers)) return new TrackedPacket("untracked");
    if (isIcmpErrorAt(bytes, headers)) return this.trackError(bytes, headers, nowMs, cause);
    const tuple = readTuple(bytes, headers);
    if (tuple === undefined) return new TrackedPacket(INVALID);
    const found = this.table.find(tuple, nowMs);
    if (found === undefined) return this.begin(bytes, headers, tuple, nowMs);
    const { connection, direction } = found;
    if (headers.protocol === IpProtocol.tcp) {
      const flags = readU8(bytes, headers.transport + TCP_FLAGS_OFFSET);
      const step = nextTcpState(connection.tcpState, direction, flags);
      if (step === "invalid") return new TrackedPacket(INVALID);
      const isReopened = connection.tcpState === "time-wait" || connection.tcpState === "close";
      if (step === "syn-sent" && isReopened) {
        // A new SYN on the remains of a connection: everything is decided anew.
        this.table.remove(connection);
        return this.begin(bytes, headers, tuple, nowMs);
      }
      if (step !== "ignored") connection.tcpState = step;
    }
    return this.pass(connection, direction, nowMs);
  }

  /** What is known of a packet that this machine sent to itself: it is translated already. */
  trackOwn(bytes: Uint8Array, headers: Headers, nowMs: number): TrackedPacket {
    const tuple = readTuple(bytes, headers);
    const found = tuple === undefined ? undefined : this.table.find(invertTuple(tuple), nowMs);
    if (found === undefined) return new TrackedPacket("untracked");
    const direction = opposite(found.direction);
    const isNew = direction === "original" && !found.connection.isReplied;
    return new TrackedPacket(isNew ? "new" : "established", found.connection, direction);
  }

  private begin(bytes: Uint8Array, headers: Headers, tuple: FiveTuple, nowMs: number): TrackedPacket {
    const connection = new Connection(tuple, nowMs);
    if (headers.protocol === IpProtocol.tcp) {
      const step = nextTcpState("none", "original", readU8(bytes, headers.transport + TCP_FLAGS_OFFSET));
      if (step === "invalid" || step === "ignored") return new TrackedPacket(INVALID);
      connection.tcpState = step;
    }
    if (isEchoReply(tuple)) return new TrackedPacket(INVALID);
    connection.expiresAtMs = nowMs + timeoutOf(connection, nowMs);
    return new TrackedPacket("new", connection);
  }

  private pass(connection: Connection, direction: ConntrackDirection, nowMs: number): TrackedPacket {
    const isFirstAnswer = direction === "reply" && !connection.isReplied;
    const isTcp = connection.original.protocol === IpProtocol.tcp;
    // A connection that is answered by a reset never was one.
    if (isFirstAnswer && isTcp && connection.tcpState === "close") this.table.remove(connection);
    if (direction === "reply") connection.isReplied = true;
    if (connection.isReplied && (isTcp ? connection.tcpState === "established" : isStream(connection, nowMs)))
      connection.isAssured = true;
    connection.expiresAtMs = nowMs + timeoutOf(connection, nowMs);
    const isNew = direction === "original" && !connection.isReplied;
    return new TrackedPacket(isNew ? "new" : "established", connection, direction);
  }

  private trackError(
    bytes: Uint8Array,
    headers: Headers,
    nowMs: number,
    cause: HandledPacket | undefined,
  ): TrackedPacket {
    const inner = new Headers();
    const start = headers.transport + ICMP_HEADER_BYTES;
    if (inner.parseEmbedded(bytes, start, headers.end) !== undefined) return new TrackedPacket(INVALID);
    const quoted = readTuple(bytes, inner);
    if (quoted === undefined) return new TrackedPacket(INVALID);
    if (cause?.tracked.connection !== undefined && tupleKey(cause.tuple) === tupleKey(quoted)) {
      const { connection, direction } = cause.tracked;
      return new TrackedPacket("related", connection, opposite(direction));
    }
    const found = this.table.find(invertTuple(quoted), nowMs);
    if (found === undefined) return new TrackedPacket(INVALID);
    return new TrackedPacket("related", found.connection, found.direction);
  }
}

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
    // nf_conntrack_checksum is 1.
    const isBroken = verifyChecksums(whole.packet.bytes, whole.headers) !== undefined;
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

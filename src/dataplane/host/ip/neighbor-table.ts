/**
 * The neighbours of one interface, of both families, and ARP (RFC 826), with the states of RFC 4861 as Windows and Linux
 * keep them for IPv4, too: an unknown neighbour is asked for 3 times, 1 s apart; a known one is believed for 30 s, then used on
 * while it is asked again.
 *
 * Inferred: reachable times are not randomised, progress of TCP confirms nobody, and a neighbour that asked for us
 * counts as confirmed. Both systems differ there in ways that only show in how often they ask.
 */
import { readU128, readU8 } from "#core/base/bytes.ts";
import type { Task, Timer } from "#core/base/clock.ts";
import { LIMITS } from "#core/base/limits.ts";
import { type Ip, type Ipv4, type Ipv6, formatIp } from "#core/net/ip.ts";
import { BROADCAST_MAC, type Mac, isGroupMac } from "#core/net/mac.ts";
import type { NextHopWaiter } from "../../vfp/actions/next-hop.ts";
import { type ArpRepr, ArpView } from "#core/wire/arp.ts";
import { buildArpFrame } from "#core/wire/build-frame.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { OutgoingPacket, Stack, StackInterface } from "../stack.ts";
import { emitSolicitation } from "./neighbor-discovery.ts";

/** Of a frame, and of an IPv6 header (RFC 8200). */
const IP_HEADER = 14;
const IPV6_SOURCE = 8;
const REQUESTS_MAX = 3;
const REQUEST_INTERVAL_MS = 1_000;
const REACHABLE_MS = 30_000;
/** RFC 4861 DELAY_FIRST_PROBE_TIME: how long an old answer is used before the neighbour is asked again. */
const DELAY_BEFORE_PROBE_MS = 5_000;
/**
 * A full table makes room as Linux does (dataplane.md §5.5): who did not answer goes, and who was heard of this long ago; at
 * most half of the table, the oldest first. Who is being asked or was set by hand stays.
 *
 * Inferred: Windows does the same, each interface has a table of its own, and who answered within REACHABLE_MS stays, so that
 * a flood takes no neighbour away that is in use. Linux looks at the age alone; Windows' choice is not documented.
 */
const EVICTABLE_AFTER_MS = 5_000;
/** How long `resolve` says "unreachable" after nobody answered. */
const FAILURE_REMEMBERED_MS = 1_000;

/**
 * `incomplete`: asked, no answer yet. `reachable`: answered. `probe`: answered long ago, being asked again.
 * `failed`: nobody answered. `permanent`: set by hand.
 */
export type NeighborState = "incomplete" | "reachable" | "probe" | "failed" | "permanent";

/** A line of the neighbour table. */
export interface Neighbor {
  readonly ip: Ip;
  /** Undefined in the states `incomplete` and `failed`. */
  readonly mac: Mac | undefined;
  readonly state: NeighborState;
}

class Entry implements Task {
  readonly ip: Ip;
  mac: Mac | undefined;
  state: NeighborState = "incomplete";
  /** When `reachable` or `failed` ends. */
  untilMs = 0;
  /** When it was made, or heard of last. */
  updatedMs = 0;
  /** The neighbour answered a question of ours; others told of themselves. */
  isConfirmed = false;
  requests = 0;
  timer: Timer | undefined;
  /** Of IPv6: the own address that packets for the neighbour come from. */
  askFrom: Ipv6 | undefined;
  readonly packets: OutgoingPacket[] = [];
  readonly waiters: NextHopWaiter[] = [];
  private readonly table: NeighborTable;

  constructor(table: NeighborTable, ip: Ip) {
    this.table = table;
    this.ip = ip;
  }

  run(): void {
    this.timer = undefined;
    this.table.retry(this);
  }
}

/** When a full table may forget it, if nobody is asking for it then. */
function evictableAt({ state, isConfirmed, updatedMs, untilMs }: Entry): number {
  if (state === "failed") return 0;
  return isConfirmed ? untilMs : updatedMs + EVICTABLE_AFTER_MS;
}

export class NeighborTable {
  private readonly compartment: Stack;
  private readonly netInterface: StackInterface;
  private readonly entries = new Map<Ip, Entry>();
  /** Entries set by hand: they do not count against the limit. */
  private permanents = 0;
  /** No entry can go before: a flood costs no search per packet. */
  private fullUntilMs = 0;

  constructor(compartment: Stack, netInterface: StackInterface) {
    this.compartment = compartment;
    this.netInterface = netInterface;
  }

  /** Sends a packet to the neighbour `ip`, at once or when its MAC is known. */
  send(ip: Ip, outgoing: OutgoingPacket): void {
    const mac = this.lookup(ip);
    if (mac !== undefined) {
      this.netInterface.transmit(outgoing, mac);
      return;
    }
    const entry = this.pendingEntry(ip, this.ownSourceOf(outgoing));
    if (entry === undefined) {
      this.compartment.drop(
        outgoing.packet,
        "neighbor-unresolved",
        `the neighbour table of ${this.netInterface.name} is full`,
      );
      return;
    }
    if (entry.packets.length >= LIMITS.packetsPerNeighborMax) {
      // The oldest goes, as in Linux' unres_qlen: what was asked last is what somebody still waits for.
      const oldest = entry.packets.shift();
      const text = `${LIMITS.packetsPerNeighborMax} packets wait for ${formatIp(ip)} already`;
      if (oldest !== undefined) this.compartment.drop(oldest.packet, "neighbor-unresolved", text);
    }
    entry.packets.push(outgoing);
  }

  /** The neighbour's MAC; `pending` while it is asked for, then `waiter` is told once. */
  resolve(ip: Ip, waiter: NextHopWaiter): Mac | "pending" | "unreachable" {
    const mac = this.lookup(ip);
    if (mac !== undefined) return mac;
    const known = this.entries.get(ip);
    if (known?.state === "failed" && this.compartment.nowMs < known.untilMs) return "unreachable";
    const entry = this.pendingEntry(ip);
    if (entry === undefined) return "unreachable";
    // Each frame that waits asks anew when another one may go on; whoever is told looks at all of its frames.
    if (!entry.waiters.includes(waiter)) entry.waiters.push(waiter);
    return "pending";
  }

  /** Sets a neighbour by hand. It never changes by itself. */
  setPermanent(ip: Ip, mac: Mac): void {
    const entry = this.entries.get(ip) ?? this.add(ip);
    if (entry.state !== "permanent") this.permanents++;
    this.settle(entry, mac, "permanent");
  }

  /** The MAC of a neighbour that is known, whatever its age; nobody is asked. */
  macOf(ip: Ip): Mac | undefined {
    return this.entries.get(ip)?.mac;
  }

  /** How many entries it has. */
  get size(): number {
    return this.entries.size;
  }

  /** True where it has an entry, in any state. */
  has(ip: Ip): boolean {
    return this.entries.has(ip);
  }

  /** Of whom it has an entry, in any state. */
  addresses(): Iterable<Ip> {
    return this.entries.keys();
  }

  /** Forgets a neighbour; packets that wait for it are dropped. */
  remove(ip: Ip): void {
    const entry = this.entries.get(ip);
    if (entry !== undefined) this.discard(entry);
  }

  /** Forgets all neighbours: the interface goes. */
  clear(): void {
    for (const entry of this.entries.values()) this.discard(entry);
  }

  /** In the order in which they became known. */
  list(): readonly Neighbor[] {
    return [...this.entries.values()].map((entry) => ({ ip: entry.ip, mac: entry.mac, state: entry.state }));
  }

  /** Asks everybody whether they know `ip`, which is ours: they learn our MAC, switches our port (RFC 5227 §3). */
  announce(ip: Ipv4): void {
    const senderMac = this.netInterface.mac;
    this.emit({ operation: "request", senderMac, senderIp: ip, targetIp: ip }, BROADCAST_MAC);
  }

  /** Takes an ARP message that arrived on the interface. */
  receive(packet: Packet, start: number): void {
    const view = ArpView.parse(packet.bytes, start, packet.end);
    if (typeof view === "string") {
      this.compartment.dropMalformed(packet, view);
      return;
    }
    const { senderIp, senderMac, targetIp } = view;
    // Somebody else claims an address of ours: both systems keep theirs and log a conflict.
    const isConflict = this.compartment.isLocal(senderIp);
    if (isConflict || isGroupMac(senderMac)) return;
    const isForUs = this.answersFor(targetIp);
    if (senderIp !== 0) this.learn(senderIp, senderMac, isForUs && view.operation === 1);
    if (isForUs && view.operation === 1) {
      const reply: ArpRepr = {
        operation: "reply",
        senderMac: this.netInterface.mac,
        senderIp: targetIp,
        targetMac: senderMac,
        targetIp: senderIp,
      };
      this.emit(reply, senderMac);
    }
  }

  /** Own addresses, and those that this stack leads to over another interface (ip-sysctl.txt: proxy_arp). */
  answersFor(ip: Ip): boolean {
    if (this.compartment.servesAddress(this.netInterface, ip)) return true;
    if (!this.netInterface.isProxyArp) return false;
    const route = this.compartment.output.routeFor(ip);
    return route !== undefined && route.interface !== this.netInterface;
  }

  /** Called by the timer of an entry: asks again or gives up. */
  retry(entry: Entry): void {
    if (entry.requests < REQUESTS_MAX) {
      this.ask(entry);
      return;
    }
    if (entry.state === "probe") this.entries.delete(entry.ip);
    else this.fail(entry);
  }

  /** The MAC to use now; starts to ask again when the answer is old. */
  private lookup(ip: Ip): Mac | undefined {
    const entry = this.entries.get(ip);
    if (entry?.mac === undefined) return undefined;
    if (entry.state === "reachable" && this.compartment.nowMs >= entry.untilMs) {
      entry.state = "probe";
      entry.requests = 0;
      entry.timer = this.compartment.env.clock.schedule(DELAY_BEFORE_PROBE_MS, entry);
    }
    return entry.mac;
  }

  /** The entry of a neighbour whose MAC is being asked for; undefined when the table is full. */
  private pendingEntry(ip: Ip, askFrom?: Ipv6): Entry | undefined {
    const entry = this.entries.get(ip) ?? this.create(ip);
    if (entry === undefined || entry.timer !== undefined) return entry;
    entry.askFrom = askFrom ?? entry.askFrom;
    entry.state = "incomplete";
    entry.requests = 0;
    this.ask(entry);
    return entry;
  }

  private create(ip: Ip): Entry | undefined {
    const isFull = this.entries.size - this.permanents >= LIMITS.neighborsPerInterfaceMax;
    return isFull && !this.evict() ? undefined : this.add(ip);
  }

  private add(ip: Ip): Entry {
    const entry = new Entry(this, ip);
    entry.updatedMs = this.compartment.nowMs;
    this.entries.set(ip, entry);
    return entry;
  }

  /** False when all entries are in use. */
  private evict(): boolean {
    const { nowMs } = this.compartment;
    if (nowMs < this.fullUntilMs) return false;
    let left = LIMITS.neighborsPerInterfaceMax / 2;
    let nextMs = Infinity;
    for (const entry of this.entries.values()) {
      if (entry.state === "permanent" || entry.timer !== undefined) continue;
      const evictableMs = evictableAt(entry);
      if (evictableMs > nowMs) nextMs = Math.min(nextMs, evictableMs);
      else if (left-- > 0) this.entries.delete(entry.ip);
      else return true;
    }
    const isRoom = left < LIMITS.neighborsPerInterfaceMax / 2;
    if (!isRoom) this.fullUntilMs = nextMs;
    return isRoom;
  }

  /** The address of this interface that a packet of IPv6 comes from; undefined for all others. */
  private ownSourceOf({ packet: { bytes, start } }: OutgoingPacket): Ipv6 | undefined {
    if (readU8(bytes, start + IP_HEADER) >>> 4 !== 6) return undefined;
    const source = readU128(bytes, start + IP_HEADER + IPV6_SOURCE) as Ipv6;
    return this.isUsable(source) ? source : undefined;
  }

  private isUsable(ip: Ipv6): boolean {
    return this.netInterface.usableAddresses.some((own) => own.ip === ip);
  }

  /** RFC 4861 §7.2.2: with the source of the packet that waits, where it is one of the interface. */
  private ask(entry: Entry): void {
    entry.requests++;
    entry.timer = this.compartment.env.clock.schedule(REQUEST_INTERVAL_MS, entry);
    const { askFrom } = entry;
    if (typeof entry.ip === "bigint" && askFrom !== undefined && this.isUsable(askFrom)) {
      this.solicit(entry.ip, entry.mac, askFrom);
      return;
    }
    const senderIp = this.compartment.sourceFor(this.netInterface, entry.ip, entry.ip);
    if (typeof entry.ip === "number") this.askByArp(entry.ip, entry.mac, senderIp ?? (0 as Ipv4));
    else this.solicit(entry.ip, entry.mac, senderIp);
  }

  private askByArp(targetIp: Ipv4, mac: Mac | undefined, senderIp: Ip): void {
    const request: ArpRepr = {
      operation: "request",
      senderMac: this.netInterface.mac,
      senderIp: senderIp as Ipv4,
      targetIp,
    };
    // A neighbour that was known is asked directly first (RFC 1122 §2.3.2.1).
    this.emit(request, mac ?? BROADCAST_MAC);
  }

  /** RFC 4861 §7.2.2; an interface whose addresses are all unchecked yet asks from its link-local one. */
  private solicit(target: Ipv6, mac: Mac | undefined, senderIp: Ip | undefined): void {
    const source = typeof senderIp === "bigint" ? senderIp : this.netInterface.linkLocal();
    emitSolicitation(this.netInterface, target, { source, mac });
  }

  /** What a neighbour says of itself; `isNewTaken`: it asked for us, so it is kept though nobody here asked for it. */
  learn(ip: Ip, mac: Mac, isNewTaken: boolean): void {
    const entry = this.entries.get(ip) ?? (isNewTaken ? this.create(ip) : undefined);
    if (entry !== undefined && entry.state !== "permanent") this.settle(entry, mac, "reachable");
  }

  private settle(entry: Entry, mac: Mac, state: "reachable" | "permanent"): void {
    entry.isConfirmed = entry.timer !== undefined || (entry.isConfirmed && entry.mac === mac);
    this.stopTimer(entry);
    entry.mac = mac;
    entry.state = state;
    entry.updatedMs = this.compartment.nowMs;
    entry.untilMs = this.compartment.nowMs + REACHABLE_MS;
    this.fullUntilMs = Math.min(this.fullUntilMs, evictableAt(entry));
    for (const outgoing of entry.packets.splice(0)) this.netInterface.transmit(outgoing, mac);
    for (const waiter of entry.waiters.splice(0)) waiter.nextHopSettled();
  }

  private fail(entry: Entry): void {
    entry.state = "failed";
    entry.mac = undefined;
    this.fullUntilMs = 0;
    entry.untilMs = this.compartment.nowMs + FAILURE_REMEMBERED_MS;
    const question = typeof entry.ip === "number" ? "ARP" : "neighbour discovery";
    const text = `nothing answers ${question} for ${formatIp(entry.ip)} on ${this.netInterface.name}`;
    for (const outgoing of entry.packets.splice(0)) this.compartment.neighborFailed(outgoing, text);
    for (const waiter of entry.waiters.splice(0)) waiter.nextHopSettled();
  }

  private discard(entry: Entry): void {
    this.stopTimer(entry);
    this.entries.delete(entry.ip);
    if (entry.state === "permanent") this.permanents--;
    for (const outgoing of entry.packets.splice(0))
      this.compartment.drop(
        outgoing.packet,
        "neighbor-unresolved",
        `${formatIp(entry.ip)} was removed from the neighbour table`,
      );
    for (const waiter of entry.waiters.splice(0)) waiter.nextHopSettled();
  }

  private stopTimer(entry: Entry): void {
    if (entry.timer !== undefined) this.compartment.env.clock.cancel(entry.timer);
    entry.timer = undefined;
  }

  private emit(arp: ArpRepr, destinationMac: Mac): void {
    const link = { destinationMac, sourceMac: this.netInterface.mac };
    this.netInterface.transmitFrame(buildArpFrame({ link, arp }));
  }
}

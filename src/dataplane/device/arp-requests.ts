/**
 * ARP requests on a segment. Each reaches all machines, so they grow with the square of the machines, and nearly all of them
 * change nothing but counters: only who is asked answers, and who sent is noted only by who knows it (RFC 826). What went out at
 * one moment is therefore offered to each machine once, as a whole. Whoever would do something with one of them gets all of
 * them as frames, in their order. When machines come up, all announce themselves at one moment.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { readU16, readU48 } from "#core/base/bytes.ts";
import type { Ip } from "#core/net/ip.ts";
import { BROADCAST_MAC } from "#core/net/mac.ts";
import { ArpOperation, ArpView } from "#core/wire/arp.ts";
import { ETHERNET_HEADER_BYTES, EtherType } from "#core/wire/ethernet.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { Device } from "./device.ts";

const ETHER_TYPE_AT = 12;

/** What a request says. */
export interface Asked {
  readonly senderIp: Ip;
  readonly targetIp: Ip;
}

/** What a request to everybody says that no trace follows; undefined: the frame is something else. */
export function requestIn({ bytes, start, end, tag }: Packet): Asked | undefined {
  if (tag !== 0 || readU48(bytes, start) !== BROADCAST_MAC) return undefined;
  if (readU16(bytes, start + ETHER_TYPE_AT) !== EtherType.arp) return undefined;
  const arp = ArpView.parse(bytes, start + ETHERNET_HEADER_BYTES, end);
  if (typeof arp === "string" || arp.operation !== ArpOperation.request) return undefined;
  const { senderIp, targetIp } = arp;
  return { senderIp, targetIp };
}

interface Request {
  readonly packet: Packet;
  /** The end of the cable that it came by, and does not leave by; undefined: it leaves by all. */
  readonly by: Device | undefined;
}

/** Addresses of which a machine knows who has them. */
export interface KnownAddresses {
  readonly size: number;
  has(ip: Ip): boolean;
  addresses(): Iterable<Ip>;
}

/** How much of it reaches a machine. */
interface Heard {
  readonly frames: number;
  readonly bytes: number;
}

/** Requests of one moment, in their order. */
export class ArpRequests {
  private readonly sent: Request[] = [];
  private bytes = 0;
  private readonly bySender = new Map<Ip, Request[]>();
  private readonly byTarget = new Map<Ip, Request[]>();
  private readonly byCable = new Map<Device, Request[]>();

  add({ senderIp, targetIp }: Asked, packet: Packet, by: Device | undefined): void {
    const request = { packet, by };
    this.sent.push(request);
    this.bytes += packet.length;
    addToList(this.bySender, senderIp, request);
    addToList(this.byTarget, targetIp, request);
    if (by !== undefined) addToList(this.byCable, by, request);
  }

  /** What reaches the machine behind the cable `by`. */
  reaching(by: Device): Heard {
    let [frames, { bytes }] = [this.sent.length, this];
    for (const { packet } of this.byCable.get(by) ?? []) {
      frames--;
      bytes -= packet.length;
    }
    return { frames, bytes };
  }

  /**
   * True when one that reaches the machine behind the cable `by` was sent from one of these addresses. A machine of a large
   * cluster knows thousands, and what goes out at one moment is mostly one request: the fewer are looked up among the others.
   */
  areFrom(known: KnownAddresses, by: Device): boolean {
    const { bySender } = this;
    if (known.size < bySender.size) return someOf(bySender, known.addresses(), by);
    for (const [ip, requests] of bySender) if (known.has(ip) && doSomeReach(requests, by)) return true;
    return false;
  }

  /** True when one that reaches the machine behind the cable `by` asks for one of these addresses. */
  askFor(ips: Iterable<Ip>, by: Device): boolean {
    return someOf(this.byTarget, ips, by);
  }

  /** The addresses that are asked for. */
  targets(): Iterable<Ip> {
    return this.byTarget.keys();
  }

  [Symbol.iterator](): Iterator<Request> {
    return this.sent[Symbol.iterator]();
  }
}

function someOf(lists: ReadonlyMap<Ip, readonly Request[]>, ips: Iterable<Ip>, by: Device): boolean {
  for (const ip of ips) {
    const requests = lists.get(ip);
    if (requests !== undefined && doSomeReach(requests, by)) return true;
  }
  return false;
}

/** True when one of them reaches the machine behind the cable `by`. */
function doSomeReach(requests: readonly Request[], by: Device): boolean {
  return requests.some((request) => request.by !== by);
}

/**
 * IPv4 datagrams that come in fragments: they are whole in the tables, since connections are told apart by ports, which the
 * first fragment alone has, and leave in fragments that are no longer than those that came (datapath/conntrack.c of Open
 * vSwitch, `handle_fragments`; datapath/actions.c, `ovs_fragment`).
 *
 * Inferred: so it is with datagrams that meet no connection tracking, too, which the receiver cannot tell.
 */
import type { Clock } from "#core/base/clock.ts";
import { ETHERNET_HEADER_BYTES } from "#core/wire/ethernet.ts";
import type { Headers } from "#core/wire/headers.ts";
import { Ipv4View } from "#core/wire/ipv4.ts";
import type { Packet } from "#core/wire/packet.ts";
import { type FragmentOwner, Reassembly, fragmentIpv4 } from "../host/ip/fragmentation.ts";

/** As Linux' and OVS' own (lib/ipf.c, 15 s in user space; net.ipv4.ipfrag_time, 30 s). */
const REASSEMBLY_TIMEOUT_MS = 30_000;
/** Datagrams whose longest fragment is remembered. */
const SIZES_MAX = 1_024;

/** A datagram that is whole now, and how long its longest fragment was, in bytes from the IP header on. */
export interface WholeDatagram {
  readonly kind: "whole";
  readonly packet: Packet;
  readonly longestBytes: number;
}

export type Arrival =
  | WholeDatagram
  | { readonly kind: "waits" }
  | { readonly kind: "failed"; readonly text: string };

export class Datagrams implements FragmentOwner {
  readonly env: { readonly clock: Clock };
  readonly profile: { readonly reassemblyTimeoutMs: number } = { reassemblyTimeoutMs: REASSEMBLY_TIMEOUT_MS };
  private readonly reassembly: Reassembly;
  /** By sender, receiver, protocol and identification. */
  private readonly longest = new Map<string, number>();
  private failure: string | undefined;

  constructor(clock: Clock) {
    this.env = { clock };
    this.reassembly = new Reassembly(this, "silent");
  }

  /** Nobody hears of a datagram that stays incomplete. */
  get drops(): FragmentOwner["drops"] {
    return { add: () => undefined };
  }

  get icmp(): FragmentOwner["icmp"] {
    return { sendError: () => undefined };
  }

  drop(_packet: Packet, _code: string, text: string): void {
    this.failure = text;
  }

  /** Takes a fragment of IPv4; undefined for any other frame. */
  take(packet: Packet, headers: Headers): Arrival | undefined {
    if (headers.family !== 4 || !headers.isFragment) return undefined;
    // Kept until the last one comes, and the caller's frame goes on.
    const own = packet.copy();
    const view = Ipv4View.parse(own.bytes, own.start + (headers.network - packet.start), own.end);
    if (typeof view === "string") return undefined;
    const key = `${view.source}/${view.destination}/${view.protocol}/${view.identification}`;
    const longestBytes = Math.max(this.longest.get(key) ?? 0, view.payloadEnd - view.start);
    this.remember(key, longestBytes);
    this.failure = undefined;
    const whole = this.reassembly.accept(own, view);
    const { failure } = this;
    if (whole === undefined && failure === undefined) return { kind: "waits" };
    this.longest.delete(key);
    return whole === undefined
      ? { kind: "failed", text: failure ?? "" }
      : { kind: "whole", packet: whole, longestBytes };
  }

  private remember(key: string, bytes: number): void {
    this.longest.delete(key);
    this.longest.set(key, bytes);
    const [oldest] = this.longest.size > SIZES_MAX ? this.longest.keys() : [];
    if (oldest !== undefined) this.longest.delete(oldest);
  }
}

/** The frame, or its fragments where it is longer than what came. */
export function cutTo(packet: Packet, longestBytes: number | undefined): readonly Packet[] {
  if (longestBytes === undefined) return [packet];
  const view = Ipv4View.parse(packet.bytes, packet.start + ETHERNET_HEADER_BYTES, packet.end);
  if (typeof view === "string" || view.payloadEnd - view.start <= longestBytes) return [packet];
  return fragmentIpv4(packet, view, longestBytes);
}

/**
 * Why a stack does not take a packet, or does not route it on: decisions from the packet's headers and what the stack knows of
 * its addresses and routes. They change nothing; `ip-input.ts` drops the packet and tells its sender.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type Ip, formatIp, isMulticastIp } from "#core/net/ip.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { IpView } from "#core/wire/ip-view.ts";
import type { FailureReason } from "../delivery-failure.ts";
import type { Route, StackInterface } from "../stack.ts";
import { UNSPECIFIED, isLinkLocal, isLoopback } from "./address-scope.ts";

/** The packet ends here. */
export interface Refusal {
  readonly code: KnowledgeCode;
  readonly text: string;
  /** The ICMP error that the sender gets; undefined: none. */
  readonly reason?: FailureReason;
  /** With `fragmentation-needed`: the largest IP packet that passes, in bytes. */
  readonly mtuBytes?: number;
}

const BROADCAST = 0xffff_ffff;

/**
 * Of a packet that came over an interface; undefined: it may go on. `isOwnSource`: its source is an address of this stack, and
 * nothing below the stack sends from it.
 */
export function findArrivalRefusal(
  view: IpView,
  link: Pick<StackInterface, "name">,
  isOwnSource: boolean,
): Refusal | undefined {
  const { source, destination } = view;
  // RFC 1122 §3.2.1.3: such a source or destination never comes from a network.
  const isMartian =
    isMulticastIp(source) ||
    source === BROADCAST ||
    isNoAddress(source, destination, view.protocol) ||
    isLoopback(source) ||
    isLoopback(destination) ||
    isOwnSource;
  if (!isMartian) return undefined;
  const text = `a packet from ${formatIp(source)} to ${formatIp(destination)} cannot come over ${link.name}`;
  return { code: "martian-source", text };
}

/**
 * True for a source that says nothing, where it may not: DHCP clients alone have none, and those who ask whether an address is
 * free (RFC 1122 §3.2.1.3 a and b; net/ipv4/route.c, ip_route_input_slow; RFC 4862 §5.4.2).
 */
function isNoAddress(source: Ip, destination: Ip, protocol: number): boolean {
  if (typeof source === "number") return source >>> 24 === 0 && destination !== BROADCAST;
  return source === UNSPECIFIED && protocol !== IpProtocol.icmpv6;
}

/** What a packet that is to be routed on meets. */
export interface Hop {
  /** The stack, as texts name it. */
  readonly router: string;
  readonly from: Pick<StackInterface, "name">;
  readonly route: { readonly interface: Pick<Route["interface"], "name" | "mtuBytes"> } | undefined;
  /** It will be cut as its sender cut it, so its length does not matter. */
  readonly isCut: boolean;
  /** Of a super frame: the length of what it is cut into; absent: that of the packet. */
  readonly lengthBytes?: number;
}

/** What a TTL is called in the packet's family. */
export function nameOfLimit(ip: Ip): string {
  return typeof ip === "number" ? "TTL" : "hop limit";
}

/** Of a packet that a router has to pass on (RFC 1812 §5.2, §5.3; RFC 8200 §3); undefined: it goes on. */
export function findForwardingRefusal(view: IpView, hop: Hop): Refusal | undefined {
  const { ttl, source, destination } = view;
  const { router, from, route, isCut, lengthBytes: totalLength = view.totalLength } = hop;
  if (isLinkLocal(source) || isLinkLocal(destination)) {
    // RFC 4291 §2.5.6. No ICMP error: both ends live on the link.
    const text = `${formatIp(source)} to ${formatIp(destination)}: link-local addresses end at ${from.name}`;
    return { code: "destination-not-local", text };
  }
  if (ttl <= 1) {
    const text = `the ${nameOfLimit(destination)} ran out before ${formatIp(destination)} was reached`;
    return { code: "ttl-expired", text, reason: "ttl-expired" };
  }
  if (route === undefined) {
    const text = `${router} has no route to ${formatIp(destination)}`;
    return { code: "no-route", text, reason: "net-unreachable" };
  }
  const { name, mtuBytes } = route.interface;
  if (totalLength <= mtuBytes || !view.isDontFragment || isCut) return undefined;
  const kind = typeof destination === "number" ? " with DF" : " of IPv6";
  const text = `${totalLength} bytes${kind} do not fit ${name} (MTU ${mtuBytes})`;
  return { code: "mtu-exceeded", text, reason: "fragmentation-needed", mtuBytes };
}

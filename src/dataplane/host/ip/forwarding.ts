/** A router's part: a packet that arrived for somebody else goes on by the routes (RFC 1812 §5.2, §5.3; RFC 8200 §3). */
import type { StackInterface } from "../stack.ts";
import type { HookedStack } from "../hooked-stack.ts";
import { formatIp } from "#core/net/ip.ts";
import { type IpView, decrementIpTtl } from "#core/wire/ip-view.ts";
import type { Packet } from "#core/wire/packet.ts";
import { isLinkLocal } from "./address-scope.ts";
import { formatRoute } from "./route-table.ts";

/**
 * Routes a packet on that arrived on `from`; it stays the same object. Who cannot be served hears it by ICMP.
 * Inferred: no redirect is sent when the packet leaves where it came from; hosts that took one would route around
 * the next packets' first hop, and nothing is known of pods that do.
 */
export function forwardPacket(
  compartment: HookedStack,
  from: StackInterface,
  packet: Packet,
  view: IpView,
): void {
  const { ttl, source, destination } = view;
  const limit = typeof destination === "number" ? "TTL" : "hop limit";
  if (isLinkLocal(source) || isLinkLocal(destination)) {
    // RFC 4291 §2.5.6; nobody is told: both ends live on the link.
    const text = `${formatIp(source)} to ${formatIp(destination)}: link-local addresses end at ${from.name}`;
    compartment.drop(packet, "destination-not-local", text);
    return;
  }
  if (ttl <= 1) {
    compartment.drop(
      packet,
      "ttl-expired",
      `the ${limit} ran out before ${formatIp(destination)} was reached`,
    );
    compartment.icmp.sendError(packet, "ttl-expired");
    return;
  }
  const route = compartment.output.routeFor(destination);
  const nextHop = route?.nextHop ?? destination;
  if (route === undefined) {
    compartment.drop(packet, "no-route", `${compartment.name} has no route to ${formatIp(destination)}`);
    compartment.icmp.sendError(packet, "net-unreachable");
    return;
  }
  const mtuBytes = route.interface.mtuBytes;
  // What connection tracking put together is cut as its sender cut it (net/ipv6/ip6_output.c, frag_max_size).
  const isCut = typeof destination === "bigint" && compartment.netfilter?.handled?.isReassembled === true;
  if (view.totalLength > mtuBytes && view.isDontFragment && !isCut) {
    const kind = typeof destination === "number" ? " with DF" : " of IPv6";
    const text = `${view.totalLength} bytes${kind} do not fit ${route.interface.name} (MTU ${mtuBytes})`;
    compartment.drop(packet, "mtu-exceeded", text);
    compartment.icmp.sendError(packet, "fragmentation-needed", mtuBytes);
    return;
  }
  decrementIpTtl(packet.bytes, view.start);
  if (!compartment.passHooks(packet, route.interface, nextHop)) return;
  const text =
    packet.tag === 0 ? "" : `from ${from.name} by route ${formatRoute(route)}, ${limit} ${ttl} to ${ttl - 1}`;
  compartment.output.emit({ packet, kind: "forward", text }, route.interface, nextHop, mtuBytes);
}

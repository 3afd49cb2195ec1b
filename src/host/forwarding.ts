/** A router's part: a packet that arrived for somebody else goes on by the routes (RFC 1812 §5.2, §5.3). */
import { formatIp } from "../net/ip.ts";
import type { Ipv4View } from "../wire/ipv4.ts";
import type { Packet } from "../wire/packet.ts";
import { decrementIpv4Ttl } from "../wire/ttl.ts";
import type { Compartment } from "./compartment.ts";
import type { Interface } from "./interface.ts";
import { formatRoute } from "./route-table.ts";

/**
 * Routes a packet on that arrived on `from`; it stays the same object. Who cannot be served hears it by ICMP.
 * Inferred: no redirect is sent when the packet leaves where it came from; hosts that took one would route around
 * the next packets' first hop, and nothing is known of pods that do.
 */
export function forwardPacket(
  compartment: Compartment,
  from: Interface,
  packet: Packet,
  view: Ipv4View,
): void {
  const { ttl, destination } = view;
  if (ttl <= 1) {
    compartment.drop(packet, "ttl-expired", `the TTL ran out before ${formatIp(destination)} was reached`);
    compartment.icmp.sendError(packet, "ttl-expired");
    return;
  }
  const route = compartment.output.routeFor(destination);
  const nextHop = route?.nextHop ?? destination;
  if (route === undefined || typeof nextHop !== "number") {
    compartment.drop(packet, "no-route", `${compartment.name} has no route to ${formatIp(destination)}`);
    compartment.icmp.sendError(packet, "net-unreachable");
    return;
  }
  const mtuBytes = route.interface.mtuBytes;
  if (view.totalLength > mtuBytes && view.isDontFragment) {
    const text = `${view.totalLength} bytes with DF do not fit ${route.interface.name} (MTU ${mtuBytes})`;
    compartment.drop(packet, "mtu-exceeded", text);
    compartment.icmp.sendError(packet, "fragmentation-needed", mtuBytes);
    return;
  }
  decrementIpv4Ttl(packet.bytes, view.start);
  if (!compartment.passHooks(packet, route.interface, nextHop)) return;
  const text =
    packet.tag === 0 ? "" : `from ${from.name} by route ${formatRoute(route)}, TTL ${ttl} to ${ttl - 1}`;
  compartment.output.emit({ packet, kind: "forward", text }, route.interface, nextHop, mtuBytes);
}

/** A DHCP message on its way: by broadcast, since one side has no address (RFC 2131 §4.1). */
import { type Ipv4, parseIp } from "#core/net/ip.ts";
import { BROADCAST_MAC } from "#core/net/mac.ts";
import { defined } from "#core/base/assert.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import { DHCP_CLIENT_PORT, DHCP_SERVER_PORT, type DhcpMessage, buildDhcp } from "#core/wire/dhcp.ts";
import type { Compartment } from "../compartment.ts";
import type { Interface } from "../interface.ts";

const EVERYBODY: Ipv4 = defined(parseIp("255.255.255.255"), "an address") as Ipv4;

export function broadcastDhcp(
  compartment: Compartment,
  netInterface: Interface,
  source: Ipv4,
  message: DhcpMessage,
): void {
  const isAsking = message.type === "discover" || message.type === "request";
  const [sourcePort, destinationPort] = isAsking
    ? [DHCP_CLIENT_PORT, DHCP_SERVER_PORT]
    : [DHCP_SERVER_PORT, DHCP_CLIENT_PORT];
  const packet = buildUdpFrame({
    link: { sourceMac: netInterface.mac, destinationMac: BROADCAST_MAC },
    ip: {
      source,
      destination: EVERYBODY,
      ttl: compartment.profile.ttl,
      identification: message.transaction & 0xffff,
      isDontFragment: false,
    },
    udp: { sourcePort, destinationPort },
    payload: buildDhcp(message),
  });
  netInterface.transmitFrame(packet);
}

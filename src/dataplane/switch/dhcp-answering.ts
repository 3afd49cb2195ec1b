/**
 * DHCP of endpoints of an overlay network. Their ports have the flag "process client DHCP" (observed, dataplane.md §1.2).
 * Inferred (§2.12): so the switch answers a client behind such a port from what HNS knows of the endpoint, in the gateway's
 * name and with its MAC, and no other address is to be had. Nothing of it reaches the wire.
 */
import { readU16 } from "#core/base/bytes.ts";
import type { Ipv4 } from "#core/net/ip.ts";
import { BROADCAST_MAC } from "#core/net/mac.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import {
  DHCP_CLIENT_PORT,
  DHCP_SERVER_PORT,
  type DhcpMessage,
  buildDhcp,
  parseDhcp,
} from "#core/wire/dhcp.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { type Decision, drop } from "./decision.ts";
import type { DhcpLease, SwitchPort } from "./switch-port.ts";

/** Of a port's address info (dataplane.md §1.2). */
const PROCESS_CLIENT_DHCP = 256;
const EVERYBODY = 0xffff_ffff as Ipv4;
const NOBODY = 0 as Ipv4;
const SERVER_TTL = 128;
/** Inferred: a day; the address is the endpoint's as long as it lives. */
const LEASE_SECONDS = 86_400;

/** True for a message that a DHCP client sends to whoever serves. */
function isFromClient(packet: Packet, { family, protocol, transport }: Headers): boolean {
  if (family !== 4 || protocol !== IpProtocol.udp || transport < 0) return false;
  return (
    readU16(packet.bytes, transport) === DHCP_CLIENT_PORT &&
    readU16(packet.bytes, transport + 2) === DHCP_SERVER_PORT
  );
}

/** Undefined: nothing is to be said. */
function answerTo(
  { type, transaction, clientMac, requestedIp, serverId }: DhcpMessage,
  lease: DhcpLease,
): DhcpMessage | undefined {
  const { ip, router, subnetMask, dnsServers } = lease;
  const base = { transaction, clientMac, serverId: router };
  const granted = { ...base, yourIp: ip, leaseSeconds: LEASE_SECONDS, subnetMask, router, dnsServers };
  if (type === "discover") return { ...granted, type: "offer" };
  // A request that names another server refuses what was offered here.
  if (type !== "request" || (serverId !== undefined && serverId !== router)) return undefined;
  if (requestedIp !== undefined && requestedIp !== ip) return { ...base, yourIp: NOBODY, type: "nak" };
  return { ...granted, type: "ack" };
}

/** What the client gets, in the gateway's name. Most clients have no address to be reached at yet. */
function frameOf(answer: DhcpMessage, { router, routerMac }: DhcpLease): Packet {
  return buildUdpFrame({
    link: { sourceMac: routerMac, destinationMac: BROADCAST_MAC },
    ip: {
      source: router,
      destination: EVERYBODY,
      ttl: SERVER_TTL,
      identification: answer.transaction & 0xffff,
      isDontFragment: false,
    },
    udp: { sourcePort: DHCP_SERVER_PORT, destinationPort: DHCP_CLIENT_PORT },
    payload: buildDhcp(answer),
  });
}

/** DHCP of a client behind the port of an endpoint, which ends here. */
export function answerDhcp(source: SwitchPort, packet: Packet, headers: Headers): Decision | undefined {
  const { lease } = source;
  if (lease === undefined || (source.vfp.address.flags & PROCESS_CLIENT_DHCP) === 0) return undefined;
  if (!isFromClient(packet, headers)) return undefined;
  const message = parseDhcp(packet.bytes.subarray(headers.payload, headers.end));
  const answer = message && answerTo(message, lease);
  if (answer === undefined)
    return drop("broadcast-not-delivered", "no DHCP server but this switch is in reach");
  const frame = frameOf(answer, lease);
  frame.tag = packet.tag;
  return { kind: "reply", frame, reason: "DHCP answered by the switch", isFromPort: true };
}

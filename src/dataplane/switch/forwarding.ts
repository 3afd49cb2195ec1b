/**
 * The order in which a switch with VFP decides where a frame goes that has passed the pipeline of a port: dataplane.md §2.17
 * (inferred there; each rule names what it rests on). Rules read the switch's tables and change nothing.
 */
import { readU16, readU32, readU48 } from "#core/base/bytes.ts";
import { BROADCAST_MAC, type Mac, formatMac } from "#core/net/mac.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { answerArp, forwardArp } from "./arp-forwarding.ts";
import { CONSUMED, type Decision, type Drop, drop, toPort } from "./decision.ts";
import { admitToPlainVlan, admitToVlan, forwardByMac, forwardPlain, hasLeft } from "./mac-forwarding.ts";
import { forwardNeighborDiscovery } from "./nd-forwarding.ts";
import type { DhcpLease, SwitchPort } from "./switch-port.ts";
import type { SwitchTables } from "./switch-tables.ts";
import type { Ipv4 } from "#core/net/ip.ts";
import { buildArpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import {
  DHCP_CLIENT_PORT,
  DHCP_SERVER_PORT,
  type DhcpMessage,
  buildDhcp,
  parseDhcp,
} from "#core/wire/dhcp.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { EtherType } from "#core/wire/ethernet.ts";
import { dataPlane } from "#data/words.js";

const WORDS = dataPlane();

// DHCP of endpoints of an overlay network. Their ports have the flag "process client DHCP" (observed, dataplane.md §1.2).
// Inferred (§2.12): so the switch answers a client behind such a port from what HNS knows of the endpoint, in the gateway's
// name and with its MAC, and no other address is to be had. Nothing of it reaches the wire.

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
function answerDhcp(source: SwitchPort, packet: Packet, headers: Headers): Decision | undefined {
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

/** What a port made of a frame's headers. */
export interface TunnelHistory {
  /** It came to the port in a tunnel. */
  readonly cameInTunnel: boolean;
  /** Its length when it came to the port. */
  readonly arrivedBytes: number;
}

/** How a switch decides about a frame that came from behind `source` and has passed its pipeline. */
export interface ForwardingMode {
  /** The VLAN of the frame, or why it ends. */
  readonly admit: (tables: SwitchTables, source: SwitchPort, headers: Headers) => number | Drop;
  /** Where a frame goes whose VLAN is known. `headers` are those of the frame. */
  readonly forward: (
    tables: SwitchTables,
    source: SwitchPort,
    packet: Packet,
    headers: Headers,
    history: TunnelHistory,
  ) => Decision;
}

/** Ports have no VFP. */
export const PLAIN_FORWARDING: ForwardingMode = Object.freeze({
  admit: admitToPlainVlan,
  forward: forwardPlain,
});

export const VFP_FORWARDING: ForwardingMode = Object.freeze({ admit: admitToVlan, forward });

function forward(
  tables: SwitchTables,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
  history: TunnelHistory,
): Decision {
  return (
    forwardTunnelled(tables, source, packet, headers) ??
    answerArp(tables, source, packet, headers) ??
    forwardArp(tables, source, packet, headers) ??
    answerDhcp(source, packet, headers) ??
    forwardNeighborDiscovery(tables, source, packet, headers) ??
    // What an endpoint puts into a tunnel by itself is its own business: the switch does not look inside.
    (history.cameInTunnel
      ? refuseForged(tables, source, packet, history)
      : forwardInner(tables, source, packet, headers)) ??
    forwardByMac(tables, source, packet, headers)
  );
}

/** A frame that the port turned round: it goes on as if it had come from behind it. */
export function forwardTurned(
  tables: SwitchTables,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): Decision {
  return forwardInner(tables, source, packet, headers) ?? forwardByMac(tables, source, packet, headers);
}

/**
 * Ends a tunnel that an endpoint of an overlay network made itself and that leaves the node as it is: the receiver
 * could not tell it from a tunnel of this node, and it would reach whatever network it names. In a tunnel of its own
 * network it is payload. Inferred: the sender's port stops it, since virtual networks never exchange a packet
 * (windows-networking-documentation.md §2) and the wire has no other mark of who sent (dataplane.md §6.1).
 */
export function refuseForged(
  tables: SwitchTables,
  source: SwitchPort,
  packet: Packet,
  { arrivedBytes }: TunnelHistory,
): Decision | undefined {
  const isWrapped = packet.length > arrivedBytes;
  if (source.virtualSubnets.length === 0 || isWrapped || !hasLeft(tables.hostPort, packet)) return undefined;
  return drop("tunnel-refused", "an endpoint sends into the tunnels between the nodes");
}

/**
 * Step 2: a frame in a tunnel goes by the MAC inside (`innerMacFwd`). A MAC that no port has is looked for outside, so that
 * the frame goes by its outer header.
 * Inferred (dataplane.md §10): a tunnel of a network that is not on this node ends here.
 */
export function forwardInner(
  tables: SwitchTables,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): Decision | undefined {
  // A router has taken the tunnel off; what is inside now is a tunnel of the sender's own.
  const inner = source.kind === "router" ? undefined : tables.virtualSubnets.lookInside(packet, headers);
  if (inner === undefined) return undefined;
  const { port, mac, virtualSubnet, isKnown } = inner;
  if (port !== undefined) {
    const why = packet.tag === 0 ? "" : `by MAC ${formatMac(mac)} inside the tunnel, VNI ${virtualSubnet}`;
    return toPort(port, packet, why);
  }
  const isForHost = readU48(packet.bytes, packet.start) === tables.hostPort?.mac;
  if (isKnown || !isForHost) return undefined;
  return drop("virtual-subnet-unknown", `no network of this node has VNI ${virtualSubnet}`);
}

/**
 * What came to the host's port in a tunnel of the node to itself may be for a port of the node that an endpoint owns, as
 * any other packet to the node's address (step 4). Otherwise it is the host's.
 */
export function steerUnwrapped(
  tables: SwitchTables,
  target: SwitchPort,
  packet: Packet,
  headers: Headers,
): Decision | undefined {
  const binding = tables.bindings.findOwner(packet, headers);
  if (binding === undefined || binding === target) return undefined;
  return toPort(binding, packet, "by NAT binding of destination address and port");
}

// Ports of L2Tunnel networks (dataplane.md §2.5, §2.17 step 7): every frame of a pod goes out to the physical host's
// switch, also when it is for a pod of the same node, so that the fabric's rules apply. HNS answers ARP with the MAC of
// the fabric's gateway (`SDNRemoteArpMacAddress`), for the gateway and for everybody else.
// Inferred: for everybody else, since a pod that knew another pod's MAC would address it past the fabric's routing.

/** `SDNRemoteArpMacAddress` (dataplane.md §2.5, Appendix C). */
export const FABRIC_GATEWAY_MAC: Mac = 0x1234_5678_9abc as Mac;

/** Offsets in the ARP body (RFC 826, Ethernet and IPv4). */
const ARP = { operation: 6, senderIp: 14, targetIp: 24 } as const;
const REQUEST = 1;

/** Frames of an L2Tunnel pod. */
function forwardTunnelled(
  tables: SwitchTables,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): Decision | undefined {
  const uplink = tables.externalPort;
  if (!source.sendsToFabric || uplink === undefined) return undefined;
  if (headers.etherType === EtherType.arp) {
    // The pod answers whoever asked it over this switch: the host.
    if (readU16(packet.bytes, headers.network + ARP.operation) !== REQUEST) return undefined;
    return answerForFabric(packet, headers);
  }
  // The port's rules gave it the node's MAC: it is for a Service, which the node's own port translates.
  const destination = readU48(packet.bytes, packet.start) as Mac;
  if (destination === tables.hostPort?.mac) return undefined;
  return toPort(uplink, packet, packet.tag === 0 ? "" : WORDS.toPhysicalHost);
}

function answerForFabric(packet: Packet, headers: Headers): Decision {
  const { bytes } = packet;
  const at = headers.network;
  const senderIp = readU32(bytes, at + ARP.senderIp) as Ipv4;
  const targetIp = readU32(bytes, at + ARP.targetIp) as Ipv4;
  // An announcement stays on its port (dataplane.md §2.10).
  if (senderIp === targetIp) return CONSUMED;
  const senderMac = readU48(bytes, packet.start + 6) as Mac;
  const frame = buildArpFrame({
    link: { sourceMac: FABRIC_GATEWAY_MAC, destinationMac: senderMac },
    arp: {
      operation: "reply",
      senderMac: FABRIC_GATEWAY_MAC,
      senderIp: targetIp,
      targetMac: senderMac,
      targetIp: senderIp,
    },
  });
  return { kind: "reply", frame, reason: "HNS answers for the fabric", isFromPort: false };
}

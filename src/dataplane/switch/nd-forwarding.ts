/**
 * Neighbour discovery of IPv6 on a switch whose endpoints share the host's MAC on the wire: as ARP is moved
 * (`arp-forwarding.ts`), so are solicitations and advertisements, which are group frames and would end otherwise.
 * Inferred: from the MAC rewrite (dataplane.md §2.10, §2.13, §2.16), that the option with the sender's MAC follows the
 * frame's own, and that endpoints of overlay networks are answered where the port's flag for it is set (walk 6-6).
 */
import { assert } from "#core/base/assert.ts";
import { readU128, readU48, readU8, writeU128, writeU48, writeU8 } from "#core/base/bytes.ts";
import type { Ipv6 } from "#core/net/ip.ts";
import { formatIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { AddressFlag } from "../vfp/port-settings.ts";
import { Headers } from "#core/wire/headers.ts";
import { Icmpv6Type } from "#core/wire/icmpv6/icmpv6.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { NdOptionType } from "#core/wire/icmpv6/nd-options.ts";
import { NdView } from "#core/wire/icmpv6/nd.ts";
import type { Packet } from "#core/wire/packet.ts";
import { fillChecksums } from "#core/wire/transport-checksum.ts";
import { CONSUMED, type Decision, drop, toPort, toPortAs } from "./decision.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { SwitchTables } from "./switch-tables.ts";

/** Of an ICMPv6 message (RFC 4443, RFC 4861). */
const MESSAGE = { flags: 4, target: 8, options: 24 } as const;
/** Of an IPv6 header (RFC 8200). */
const HEADER = { source: 8, destination: 24 } as const;
const SOLICITED_AND_OVERRIDE = 0x60;
const UNSPECIFIED = 0n;

/** True for solicitations and advertisements of neighbours; those of routers go as any other group frame. */
function isNeighborDiscovery(packet: Packet, headers: Headers): boolean {
  if (headers.family !== 6 || headers.protocol !== IpProtocol.icmpv6 || headers.transport < 0) return false;
  const type = readU8(packet.bytes, headers.transport);
  return type === Icmpv6Type.neighborSolicitation || type === Icmpv6Type.neighborAdvertisement;
}

/** Moves a message of neighbour discovery of a port in no virtual subnet. */
export function forwardNeighborDiscovery(
  tables: SwitchTables,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): Decision | undefined {
  if (source.virtualSubnets.length > 0 || !isNeighborDiscovery(packet, headers)) return undefined;
  const view = NdView.parse(packet.bytes, headers.transport, packet.end);
  if (typeof view === "string") return drop("malformed-frame", `refused: ${view}`);
  return source.kind === "external"
    ? fromWire(tables, source, packet, headers)
    : fromInside(tables, source, packet, headers);
}

function isSolicitation(packet: Packet, headers: Headers): boolean {
  return readU8(packet.bytes, headers.transport) === Icmpv6Type.neighborSolicitation;
}

function targetOf(packet: Packet, headers: Headers): Ipv6 {
  return readU128(packet.bytes, headers.transport + MESSAGE.target) as Ipv6;
}

/** Whose the message is: who is asked for, or who is answered. */
function receiverOf(packet: Packet, headers: Headers): Ipv6 {
  if (isSolicitation(packet, headers)) return targetOf(packet, headers);
  return readU128(packet.bytes, headers.network + HEADER.destination) as Ipv6;
}

function fromInside(tables: SwitchTables, source: SwitchPort, packet: Packet, headers: Headers): Decision {
  // Whether an address is free is asked without one; the port absorbs the question (dataplane.md §2.10).
  const asksForItself = readU128(packet.bytes, headers.network + HEADER.source) === UNSPECIFIED;
  const owner = tables.findPortByIp(receiverOf(packet, headers));
  if (source.kind === "container" && (asksForItself || owner === source)) return CONSUMED;
  // The host's own question whether its address is free is for the wire.
  if (owner !== undefined && owner !== source) {
    const reason = "neighbour discovery for an address behind this port";
    // A group is nobody's address here, so the rewrite for the wire has taken it for one outside.
    if (source.kind === "container") return toPortAs(owner, fromMac(packet, source.mac), reason);
    return toPort(owner, packet, reason);
  }
  const { externalPort, hostPort } = tables;
  if (externalPort === undefined) return CONSUMED;
  const reason = "neighbour discovery to the wire";
  if (!source.usesHostMac || hostPort === undefined) return toPort(externalPort, packet, reason);
  const frame = fromMac(packet, hostPort.mac);
  rewriteOption(frame, hostPort.mac);
  return toPortAs(externalPort, frame, reason);
}

function fromMac(packet: Packet, mac: Mac): Packet {
  const frame = packet.copy();
  writeU48(frame.bytes, frame.start + 6, mac);
  return frame;
}

/** Writes the MAC of the message's own option anew, with the checksum. */
function rewriteOption(frame: Packet, mac: Mac): void {
  const headers = headersOf(frame);
  const view = NdView.parse(frame.bytes, headers.transport, frame.end);
  assert(typeof view !== "string", "a copy of a message reads as the message did");
  for (const type of [NdOptionType.sourceLinkLayer, NdOptionType.targetLinkLayer]) {
    const at = view.findOption(type);
    if (at >= 0 && readU8(frame.bytes, at + 1) === 1) writeU48(frame.bytes, at + 2, mac);
  }
  fillChecksums(frame.bytes, headers);
}

/** The headers of a copy, which stand elsewhere in its bytes. */
function headersOf(frame: Packet): Headers {
  const headers = new Headers();
  headers.parse(frame);
  return headers;
}

function fromWire(tables: SwitchTables, source: SwitchPort, packet: Packet, headers: Headers): Decision {
  const { hostPort } = tables;
  const owner = tables.findPortByIp(receiverOf(packet, headers));
  const target = owner?.deliversByAddress === true ? owner : hostPort;
  if (target === undefined || target === source) return CONSUMED;
  const reason = "neighbour discovery from the wire";
  if (target === hostPort || readU48(packet.bytes, packet.start) !== hostPort?.mac)
    return toPort(target, packet, reason);
  const frame = packet.copy();
  writeU48(frame.bytes, frame.start, target.mac);
  return toPortAs(target, frame, reason);
}

/**
 * Overlay: a port whose flag says so answers solicitations before its layers see them, from what HNS knows (walk 6-6).
 * All other frames go through the layers, which carry IPv4 alone.
 */
export function answerNeighborDiscovery(
  tables: SwitchTables,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): Decision | undefined {
  const isAnswering = ((source.vfp.address.flags ?? 0) & AddressFlag.ndp) !== 0;
  if (!isAnswering || source.virtualSubnets.length === 0 || !isNeighborDiscovery(packet, headers))
    return undefined;
  const view = NdView.parse(packet.bytes, headers.transport, packet.end);
  if (typeof view === "string" || !isSolicitation(packet, headers)) return undefined;
  const target = targetOf(packet, headers);
  if (source.ips.includes(target)) return CONSUMED;
  const mac = tables.virtualSubnets.neighbor(source.virtualSubnets, target);
  if (mac === undefined) {
    const text = packet.tag === 0 ? "" : `no endpoint answers for ${formatIp(target)}`;
    return drop("broadcast-not-delivered", text);
  }
  const reason = "neighbour discovery answered by the port";
  return { kind: "reply", frame: advertisementOf(packet, mac, target), reason, isFromPort: true };
}

/** The solicitation's bytes become its answer: the option with the asker's MAC becomes one with the target's. */
function advertisementOf(packet: Packet, mac: Mac, target: Ipv6): Packet {
  const answer = packet.copy();
  const headers = headersOf(answer);
  const { bytes, start } = answer;
  const { network, transport } = headers;
  const asker = readU48(bytes, start + 6) as Mac;
  writeU48(bytes, start, asker);
  writeU48(bytes, start + 6, mac);
  writeU128(bytes, network + HEADER.destination, readU128(bytes, network + HEADER.source));
  writeU128(bytes, network + HEADER.source, target);
  writeU8(bytes, transport, Icmpv6Type.neighborAdvertisement);
  writeU8(bytes, transport + MESSAGE.flags, SOLICITED_AND_OVERRIDE);
  const at = transport + MESSAGE.options;
  if (at + 8 <= answer.end) {
    writeU8(bytes, at, NdOptionType.targetLinkLayer);
    writeU48(bytes, at + 2, mac);
  }
  fillChecksums(bytes, headers);
  return answer;
}

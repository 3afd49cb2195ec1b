/**
 * Neighbour discovery of IPv6 on a switch whose endpoints share the host's MAC on the wire: as ARP is moved
 * (`arp-forwarding.ts`), so are solicitations and advertisements, which are group frames and would end otherwise.
 * Inferred: from the MAC rewrite (dataplane.md §2.10, §2.13, §2.16), that the option with the sender's MAC follows the
 * frame's own, and that endpoints of overlay networks are answered where the port's flag for it is set (walk 6-6).
 */
import { readU128, readU48, readU8, writeU128, writeU48, writeU8 } from "#core/base/bytes.ts";
import type { Ipv6 } from "#core/net/ip.ts";
import { formatIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { AddressFlag } from "../vfp/port-settings.ts";
import type { Headers } from "#core/wire/headers.ts";
import { Icmpv6Type } from "#core/wire/icmpv6/icmpv6.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { NdOptionType } from "#core/wire/icmpv6/nd-options.ts";
import { NdView } from "#core/wire/icmpv6/nd.ts";
import type { Packet } from "#core/wire/packet.ts";
import { fillChecksums } from "#core/wire/transport-checksum.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { ForwardingSwitch } from "./switch-extension.ts";

/** Of an ICMPv6 message (RFC 4443, RFC 4861). */
const MESSAGE = { flags: 4, target: 8, options: 24 } as const;
/** Of an IPv6 header (RFC 8200). */
const HEADER = { source: 8, destination: 24 } as const;
const SOLICITED_AND_OVERRIDE = 0x60;
const UNSPECIFIED = 0n;

/** True for solicitations and advertisements of neighbours; those of routers go as any other group frame. */
export function isNeighborDiscovery(packet: Packet, headers: Headers): boolean {
  if (headers.family !== 6 || headers.protocol !== IpProtocol.icmpv6 || headers.transport < 0) return false;
  const type = readU8(packet.bytes, headers.transport);
  return type === Icmpv6Type.neighborSolicitation || type === Icmpv6Type.neighborAdvertisement;
}

/** Writes the MAC of the message's own option anew, with the checksum. */
function rewriteOption(packet: Packet, headers: Headers, view: NdView, mac: Mac): void {
  for (const type of [NdOptionType.sourceLinkLayer, NdOptionType.targetLinkLayer]) {
    const at = view.findOption(type);
    if (at >= 0 && readU8(packet.bytes, at + 1) === 1) writeU48(packet.bytes, at + 2, mac);
  }
  fillChecksums(packet.bytes, headers);
}

/** Moves a message of neighbour discovery that passed its source port. */
export function forwardNeighborDiscovery(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): void {
  const view = NdView.parse(packet.bytes, headers.transport, packet.end);
  if (typeof view === "string") {
    virtualSwitch.drop(source, packet, "malformed-frame", `refused: ${view}`);
  } else if (source.kind === "external") {
    fromWire(virtualSwitch, source, packet, headers);
  } else {
    fromInside(virtualSwitch, source, packet, headers, view);
  }
}

function isSolicitation(packet: Packet, headers: Headers): boolean {
  return readU8(packet.bytes, headers.transport) === Icmpv6Type.neighborSolicitation;
}

function targetOf(packet: Packet, headers: Headers): Ipv6 {
  return readU128(packet.bytes, headers.transport + MESSAGE.target) as Ipv6;
}

function fromInside(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
  view: NdView,
): void {
  const { bytes } = packet;
  // Whether an address is free is asked without one; the port absorbs the question (dataplane.md §2.10).
  const asksForItself = readU128(bytes, headers.network + HEADER.source) === UNSPECIFIED;
  const isAsking = isSolicitation(packet, headers);
  const receiver = isAsking
    ? targetOf(packet, headers)
    : (readU128(bytes, headers.network + HEADER.destination) as Ipv6);
  const owner = virtualSwitch.findPortByIp(receiver);
  if (source.kind === "container" && (asksForItself || owner === source)) return;
  // The host's own question whether its address is free is for the wire.
  if (owner !== undefined && owner !== source) {
    // A group is nobody's address here, so the rewrite for the wire has taken it for one outside.
    if (source.kind === "container") writeU48(bytes, packet.start + 6, source.mac);
    virtualSwitch.deliver(owner, packet, "neighbour discovery for an address behind this port");
    return;
  }
  const { externalPort, hostPort } = virtualSwitch;
  if (externalPort === undefined) return;
  if (source.usesHostMac && hostPort !== undefined) {
    writeU48(bytes, packet.start + 6, hostPort.mac);
    rewriteOption(packet, headers, view, hostPort.mac);
  }
  virtualSwitch.deliver(externalPort, packet, "neighbour discovery to the wire");
}

function fromWire(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): void {
  const { hostPort } = virtualSwitch;
  const receiver = isSolicitation(packet, headers)
    ? targetOf(packet, headers)
    : (readU128(packet.bytes, headers.network + HEADER.destination) as Ipv6);
  const owner = virtualSwitch.findPortByIp(receiver);
  const target = owner?.deliversByAddress === true ? owner : hostPort;
  if (target === undefined || target === source) return;
  if (target !== hostPort && readU48(packet.bytes, packet.start) === hostPort?.mac)
    writeU48(packet.bytes, packet.start, target.mac);
  virtualSwitch.deliver(target, packet, "neighbour discovery from the wire");
}

/**
 * Overlay: a port whose flag says so answers solicitations before its layers see them, from what HNS knows (walk 6-6).
 * @returns false for all other frames: they go through the layers, which carry IPv4 alone.
 */
export function answersNeighborDiscovery(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): boolean {
  const isAnswering = ((source.vfp.address.flags ?? 0) & AddressFlag.ndp) !== 0;
  if (!isAnswering || source.virtualSubnets.length === 0 || !isNeighborDiscovery(packet, headers))
    return false;
  const view = NdView.parse(packet.bytes, headers.transport, packet.end);
  if (typeof view === "string" || !isSolicitation(packet, headers)) return false;
  const target = targetOf(packet, headers);
  if (source.ips.includes(target)) return true;
  const mac = virtualSwitch.virtualSubnets.neighbor(source.virtualSubnets, target);
  if (mac === undefined) {
    const text = packet.tag === 0 ? "" : `no endpoint answers for ${formatIp(target)}`;
    virtualSwitch.drop(source, packet, "broadcast-not-delivered", text);
    return true;
  }
  turnIntoAdvertisement(packet, headers, mac, target);
  virtualSwitch.sendBack(source, packet, "neighbour discovery answered by the port");
  return true;
}

/** The solicitation's own bytes become its answer: the option with the asker's MAC becomes one with the target's. */
function turnIntoAdvertisement(packet: Packet, headers: Headers, mac: Mac, target: Ipv6): void {
  const { bytes, start } = packet;
  const { network, transport } = headers;
  const asker = readU48(bytes, start + 6) as Mac;
  writeU48(bytes, start, asker);
  writeU48(bytes, start + 6, mac);
  writeU128(bytes, network + HEADER.destination, readU128(bytes, network + HEADER.source));
  writeU128(bytes, network + HEADER.source, target);
  writeU8(bytes, transport, Icmpv6Type.neighborAdvertisement);
  writeU8(bytes, transport + MESSAGE.flags, SOLICITED_AND_OVERRIDE);
  const at = transport + MESSAGE.options;
  if (at + 8 <= packet.end) {
    writeU8(bytes, at, NdOptionType.targetLinkLayer);
    writeU48(bytes, at + 2, mac);
  }
  fillChecksums(bytes, headers);
}

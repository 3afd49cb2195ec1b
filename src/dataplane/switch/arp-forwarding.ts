/**
 * ARP on a switch: forwarded where endpoints share the host's MAC on the wire, answered for endpoints of overlay networks.
 *
 * Forwarded: inside, a request goes only to the port that has the address. Towards the wire, the sender's MAC in
 * the frame and in the ARP body becomes the host's; what comes back for a pod's address gets the pod's MAC again.
 * Inferred from the MAC rewrite (dataplane.md §2.10, §2.13): external peers must learn the host's MAC.
 */
import { readU16, readU32, readU48, writeU48, writeU16, writeU32 } from "#core/base/bytes.ts";
import { type Ipv4, formatIp } from "#core/net/ip.ts";
import { BROADCAST_MAC, type Mac } from "#core/net/mac.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { ForwardingSwitch } from "./switch-extension.ts";

/** Offsets in an ARP body (RFC 826, Ethernet and IPv4). */
const ARP = { operation: 6, senderMac: 8, senderIp: 14, targetMac: 18, targetIp: 24 } as const;
const REQUEST = 1;
const REPLY = 2;

interface ArpFrame {
  readonly packet: Packet;
  /** Start of the ARP body. */
  readonly at: number;
  readonly isRequest: boolean;
  readonly senderIp: Ipv4;
  readonly targetIp: Ipv4;
}

/** Moves an ARP frame that passed its source port. */
export function forwardArp(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): void {
  const at = headers.network;
  const frame: ArpFrame = {
    packet,
    at,
    isRequest: readU16(packet.bytes, at + ARP.operation) === REQUEST,
    senderIp: readU32(packet.bytes, at + ARP.senderIp) as Ipv4,
    targetIp: readU32(packet.bytes, at + ARP.targetIp) as Ipv4,
  };
  if (source.kind === "external") forwardFromWire(virtualSwitch, source, frame);
  else forwardFromInside(virtualSwitch, source, frame);
}

function forwardFromInside(virtualSwitch: ForwardingSwitch, source: SwitchPort, frame: ArpFrame): void {
  const { packet } = frame;
  // A pod's announcement of its own address is absorbed by its port (dataplane.md §2.10, inferred).
  if (source.kind === "container" && frame.senderIp === frame.targetIp) return;
  const owner = findOwner(virtualSwitch, frame);
  if (owner === source) return;
  if (owner !== undefined) {
    virtualSwitch.deliver(owner, packet, "ARP for an address behind this port");
    return;
  }
  const { externalPort, hostPort } = virtualSwitch;
  if (externalPort === undefined) return;
  if (source.usesHostMac && hostPort !== undefined) {
    writeU48(packet.bytes, packet.start + 6, hostPort.mac);
    writeU48(packet.bytes, frame.at + ARP.senderMac, hostPort.mac);
  }
  virtualSwitch.deliver(externalPort, packet, "ARP to the wire");
}

/** The port inside that the frame is for: by address when asked, by MAC when answered. */
function findOwner(virtualSwitch: ForwardingSwitch, frame: ArpFrame): SwitchPort | undefined {
  const byIp = virtualSwitch.findPortByIp(frame.targetIp);
  if (frame.isRequest) return byIp;
  const destination = readU48(frame.packet.bytes, frame.packet.start) as Mac;
  return virtualSwitch.findPortByMac(destination) ?? byIp;
}

function forwardFromWire(virtualSwitch: ForwardingSwitch, source: SwitchPort, frame: ArpFrame): void {
  const { packet } = frame;
  const { hostPort } = virtualSwitch;
  const owner = virtualSwitch.findPortByIp(frame.targetIp);
  const target = owner !== undefined && owner.deliversByAddress ? owner : hostPort;
  if (target === undefined || target === source) return;
  const destination = readU48(packet.bytes, packet.start) as Mac;
  const isForUs =
    destination === BROADCAST_MAC || destination === hostPort?.mac || destination === target.mac;
  if (!isForUs) return;
  if (target !== hostPort && destination !== BROADCAST_MAC) {
    writeU48(packet.bytes, packet.start, target.mac);
    if (!frame.isRequest) writeU48(packet.bytes, frame.at + ARP.targetMac, target.mac);
  }
  virtualSwitch.deliver(target, packet, "ARP from the wire");
}

/**
 * Takes an ARP frame of an overlay network's endpoint that passed its source port. The switch answers by itself from what HNS
 * knows: for gateways with the MAC of the distributed router, for endpoints here and elsewhere with theirs; nothing is flooded
 * (dataplane.md §2.10).
 * Inferred there, who answers. A question about an own address (duplicate address detection) stays without answer.
 */
export function answerArp(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): void {
  const at = headers.network;
  const { bytes } = packet;
  const target = readU32(bytes, at + ARP.targetIp) as Ipv4;
  const isAnnouncement = readU32(bytes, at + ARP.senderIp) === target;
  if (readU16(bytes, at + ARP.operation) !== REQUEST || isAnnouncement || source.ips.includes(target)) return;
  const mac = virtualSwitch.virtualSubnets.neighbor(source.virtualSubnets, target);
  if (mac === undefined) {
    const text = packet.tag === 0 ? "" : `no endpoint of the virtual subnet has ${formatIp(target)}`;
    virtualSwitch.drop(source, packet, "broadcast-not-delivered", text);
    return;
  }
  turnIntoAnswer(packet, at, mac, target);
  virtualSwitch.deliver(source, packet, "ARP answered by the switch");
}

function turnIntoAnswer(packet: Packet, at: number, mac: Mac, target: Ipv4): void {
  const { bytes, start } = packet;
  const asker = readU48(bytes, at + ARP.senderMac) as Mac;
  bytes.copyWithin(at + ARP.targetMac, at + ARP.senderMac, at + ARP.targetMac);
  writeU48(bytes, at + ARP.senderMac, mac);
  writeU32(bytes, at + ARP.senderIp, target);
  writeU16(bytes, at + ARP.operation, REPLY);
  writeU48(bytes, start, asker);
  writeU48(bytes, start + 6, mac);
}

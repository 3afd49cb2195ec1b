/**
 * ARP on a switch whose endpoints share the host's MAC on the wire.
 *
 * Inside, a request goes to the port that has the address and to nobody else. Towards the wire, the sender's MAC in
 * the frame and in the ARP body becomes the host's; what comes back for a pod's address gets the pod's MAC again.
 * Inferred from the MAC rewrite (dataplane.md §2.10, §2.13): external peers must learn the host's MAC.
 */
import { readU16, readU32, readU48, writeU48 } from "#core/base/bytes.ts";
import type { Ipv4 } from "#core/net/ip.ts";
import { BROADCAST_MAC, type Mac } from "#core/net/mac.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { ARP, REQUEST } from "./arp-body.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { ForwardingSwitch } from "./switch-extension.ts";

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

/**
 * ARP of endpoints of an overlay network. The switch answers by itself from what HNS knows: for gateways with the MAC of
 * the distributed router, for endpoints here and elsewhere with theirs; nothing is flooded (dataplane.md §2.10).
 * Inferred there, who answers. A question about an own address (duplicate address detection) stays without answer.
 */
import { readU16, readU32, readU48, writeU16, writeU32, writeU48 } from "#core/base/bytes.ts";
import { type Ipv4, formatIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { ARP, REPLY, REQUEST } from "./arp-body.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { ForwardingSwitch } from "./switch-extension.ts";

/** Takes an ARP frame that passed its source port, and answers it if it asks for somebody. */
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

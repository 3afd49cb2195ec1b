/**
 * Ports of L2Tunnel networks (dataplane.md §2.5, §2.17 step 7): every frame of a pod goes out to the physical host's
 * switch, also when it is for a pod of the same node, so that the fabric's rules apply. HNS answers ARP with the MAC of
 * the fabric's gateway (`SDNRemoteArpMacAddress`), for the gateway and for everybody else.
 * Inferred: for everybody else, since a pod that knew another pod's MAC would address it past the fabric's routing.
 */
import { readU16, readU32, readU48 } from "#core/base/bytes.ts";
import type { Ipv4 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { buildArpFrame } from "#core/wire/build-frame.ts";
import { EtherType } from "#core/wire/ethernet.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { CONSUMED, type Decision, toPort } from "./decision.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { SwitchTables } from "./switch-tables.ts";
import { dataPlane } from "#data/words.js";

const WORDS = dataPlane();

/** `SDNRemoteArpMacAddress` (dataplane.md §2.5, Appendix C). */
export const FABRIC_GATEWAY_MAC: Mac = 0x1234_5678_9abc as Mac;

/** Offsets in the ARP body (RFC 826, Ethernet and IPv4). */
const ARP = { operation: 6, senderIp: 14, targetIp: 24 } as const;
const REQUEST = 1;

/** Frames of an L2Tunnel pod. */
export function forwardTunnelled(
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
    return answerArp(packet, headers);
  }
  // The port's rules gave it the node's MAC: it is for a Service, which the node's own port translates.
  const destination = readU48(packet.bytes, packet.start) as Mac;
  if (destination === tables.hostPort?.mac) return undefined;
  return toPort(uplink, packet, packet.tag === 0 ? "" : WORDS.toPhysicalHost);
}

function answerArp(packet: Packet, headers: Headers): Decision {
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

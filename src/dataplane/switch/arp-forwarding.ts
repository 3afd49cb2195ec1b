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
import { EtherType } from "#core/wire/ethernet.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { CONSUMED, type Decision, drop, toPort, toPortAs } from "./decision.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { SwitchTables } from "./switch-tables.ts";

/** Offsets in an ARP body (RFC 826, Ethernet and IPv4). */
const ARP = { operation: 6, senderMac: 8, senderIp: 14, targetMac: 18, targetIp: 24 } as const;
const REQUEST = 1;
const REPLY = 2;

/** What the body of an ARP frame says. */
interface ArpBody {
  /** Where it starts. */
  readonly at: number;
  readonly isRequest: boolean;
  readonly senderIp: Ipv4;
  readonly targetIp: Ipv4;
}

function readBody({ bytes }: Packet, { network: at }: Headers): ArpBody {
  return {
    at,
    isRequest: readU16(bytes, at + ARP.operation) === REQUEST,
    senderIp: readU32(bytes, at + ARP.senderIp) as Ipv4,
    targetIp: readU32(bytes, at + ARP.targetIp) as Ipv4,
  };
}

/** ARP of ports in no virtual subnet. */
export function forwardArp(
  tables: SwitchTables,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): Decision | undefined {
  if (headers.etherType !== EtherType.arp || source.virtualSubnets.length > 0) return undefined;
  const body = readBody(packet, headers);
  return source.kind === "external"
    ? forwardFromWire(tables, source, packet, body)
    : forwardFromInside(tables, source, packet, body);
}

function forwardFromInside(
  tables: SwitchTables,
  source: SwitchPort,
  packet: Packet,
  body: ArpBody,
): Decision {
  // A pod's announcement of its own address is absorbed by its port (dataplane.md §2.10, inferred).
  if (source.kind === "container" && body.senderIp === body.targetIp) return CONSUMED;
  const owner = findOwner(tables, packet, body);
  if (owner === source) return CONSUMED;
  if (owner !== undefined) return toPort(owner, packet, "ARP for an address behind this port");
  const { externalPort, hostPort } = tables;
  if (externalPort === undefined) return CONSUMED;
  const reason = "ARP to the wire";
  if (!source.usesHostMac || hostPort === undefined) return toPort(externalPort, packet, reason);
  const frame = packet.copy();
  writeU48(frame.bytes, frame.start + 6, hostPort.mac);
  writeU48(frame.bytes, bodyOf(frame, packet, body) + ARP.senderMac, hostPort.mac);
  return toPortAs(externalPort, frame, reason);
}

/** Where the body is in a copy of the frame. */
function bodyOf(copy: Packet, packet: Packet, { at }: ArpBody): number {
  return copy.start + at - packet.start;
}

/** The port inside that the frame is for: by address when asked, by MAC when answered. */
function findOwner(tables: SwitchTables, packet: Packet, body: ArpBody): SwitchPort | undefined {
  const byIp = tables.findPortByIp(body.targetIp);
  if (body.isRequest) return byIp;
  const destination = readU48(packet.bytes, packet.start) as Mac;
  return tables.findPortByMac(destination) ?? byIp;
}

function forwardFromWire(tables: SwitchTables, source: SwitchPort, packet: Packet, body: ArpBody): Decision {
  const { hostPort } = tables;
  const owner = tables.findPortByIp(body.targetIp);
  const target = owner !== undefined && owner.deliversByAddress ? owner : hostPort;
  if (target === undefined || target === source) return CONSUMED;
  const destination = readU48(packet.bytes, packet.start) as Mac;
  const isForUs =
    destination === BROADCAST_MAC || destination === hostPort?.mac || destination === target.mac;
  if (!isForUs) return CONSUMED;
  const reason = "ARP from the wire";
  if (target === hostPort || destination === BROADCAST_MAC) return toPort(target, packet, reason);
  const frame = packet.copy();
  writeU48(frame.bytes, frame.start, target.mac);
  if (!body.isRequest) writeU48(frame.bytes, bodyOf(frame, packet, body) + ARP.targetMac, target.mac);
  return toPortAs(target, frame, reason);
}

/**
 * ARP of an overlay network's endpoint. The switch answers by itself from what HNS knows: for gateways with the MAC of the
 * distributed router, for endpoints here and elsewhere with theirs; nothing is flooded (dataplane.md §2.10).
 * Inferred there, who answers. A question about an own address (duplicate address detection) stays without answer.
 */
export function answerArp(
  tables: SwitchTables,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): Decision | undefined {
  if (headers.etherType !== EtherType.arp || source.virtualSubnets.length === 0) return undefined;
  const body = readBody(packet, headers);
  const { isRequest, senderIp, targetIp } = body;
  if (!isRequest || senderIp === targetIp || source.ips.includes(targetIp)) return CONSUMED;
  const mac = tables.virtualSubnets.neighbor(source.virtualSubnets, targetIp);
  if (mac === undefined) {
    const text = packet.tag === 0 ? "" : `no endpoint of the virtual subnet has ${formatIp(targetIp)}`;
    return drop("broadcast-not-delivered", text);
  }
  const reason = "ARP answered by the switch";
  return { kind: "reply", frame: answerOf(packet, body, mac), reason, isFromPort: false };
}

function answerOf(packet: Packet, body: ArpBody, mac: Mac): Packet {
  const answer = packet.copy();
  const { bytes, start } = answer;
  const at = bodyOf(answer, packet, body);
  const asker = readU48(bytes, at + ARP.senderMac) as Mac;
  bytes.copyWithin(at + ARP.targetMac, at + ARP.senderMac, at + ARP.targetMac);
  writeU48(bytes, at + ARP.senderMac, mac);
  writeU32(bytes, at + ARP.senderIp, body.targetIp);
  writeU16(bytes, at + ARP.operation, REPLY);
  writeU48(bytes, start, asker);
  writeU48(bytes, start + 6, mac);
  return answer;
}

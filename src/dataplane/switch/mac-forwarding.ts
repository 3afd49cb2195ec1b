/**
 * Where a frame goes on a switch with VFP, once its tunnel is not what decides: by MAC, by NAT binding, by address, to the
 * host, to the uplink (dataplane.md §2.17 steps 3 to 6); and what VLANs allow.
 */
import { defined } from "#core/base/assert.ts";
import { readU48 } from "#core/base/bytes.ts";
import { type Mac, formatMac, isGroupMac } from "#core/net/mac.ts";
import { type Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { type Decision, type Drop, drop, toPort, toPorts } from "./decision.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { SwitchTables } from "./switch-tables.ts";
import { dataPlane } from "#data/words.js";

const WORDS = dataPlane();

/** Steps 3 to 6: a frame that is in no tunnel, or goes by its outer header. */
export function forwardByMac(
  tables: SwitchTables,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): Decision {
  const destination = readU48(packet.bytes, packet.start) as Mac;
  if (isGroupMac(destination)) return forwardGroup(tables, source, packet);
  const inSubnet = tables.virtualSubnets.find(source.virtualSubnets, destination);
  if (inSubnet !== undefined && inSubnet !== source) return forwardToPort(tables, inSubnet, packet, headers);
  if (destination === tables.hostPort?.mac) return forwardToHostMac(tables, source, packet, headers);
  const known = inSubnet ?? findOutside(tables, source, destination);
  if (known === source) return forwardToSelf(source, packet, headers);
  if (known !== undefined) return forwardToPort(tables, known, packet, headers);
  return forwardUnknown(tables, source, packet);
}

/** Step 6: unknown unicast. */
function forwardUnknown(
  { externalPort, hostPort }: SwitchTables,
  source: SwitchPort,
  packet: Packet,
): Decision {
  if (source.kind === "external" || externalPort === undefined)
    return drop("mac-not-local", `unknown destination MAC ${destinationOf(packet)}`);
  if (source.virtualSubnets.length > 0 && !hasLeft(hostPort, packet))
    return drop("mac-not-local", `unknown destination MAC ${destinationOf(packet)} in the virtual subnet`);
  const why = packet.tag === 0 ? "" : `MAC ${destinationOf(packet)} is not on this switch`;
  return toPort(externalPort, packet, why);
}

function destinationOf({ bytes, start }: Packet): string {
  return formatMac(readU48(bytes, start) as Mac);
}

/**
 * The port that has a MAC, for who is not in its virtual subnet: from there only the host is in reach, and the host
 * reaches an endpoint whose MAC nobody else has.
 */
function findOutside(tables: SwitchTables, source: SwitchPort, mac: Mac): SwitchPort | undefined {
  const port = tables.findPortByMac(mac);
  if (source.virtualSubnets.length > 0) return port?.leadsToHost === true ? port : undefined;
  return port ?? (source.kind === "host" ? tables.virtualSubnets.findAnywhere(mac) : undefined);
}

/** True when a rule has sent the frame to a next hop of the node, whose MAC it has then. */
export function hasLeft(hostPort: SwitchPort | undefined, packet: Packet): boolean {
  return readU48(packet.bytes, packet.start + 6) === hostPort?.mac;
}

/**
 * By MAC. Inferred: a frame to another leg of the host is looked up in the NAT bindings as one to the host's own MAC
 * is, since pods behind a bridge endpoint answer to translated addresses over it (dataplane.md §2.17 step 4, Q-5).
 */
function forwardToPort(tables: SwitchTables, target: SwitchPort, packet: Packet, headers: Headers): Decision {
  const binding = target.leadsToHost ? tables.bindings.findOwner(packet, headers) : undefined;
  if (binding !== undefined) return toPort(binding, packet, "by NAT binding of destination address and port");
  const why = packet.tag === 0 ? "" : `by destination MAC ${formatMac(target.mac)}`;
  return toPort(target, packet, why);
}

/**
 * A frame to the MAC of its own port. Inferred: one that VFP gave another sender comes back (a pod that reaches itself
 * through its service behind a source NAT, dataplane.md §2.4 B-5, and §1.9 names a setting that forbids it); one with
 * both MACs the same goes nowhere.
 */
function forwardToSelf(source: SwitchPort, packet: Packet, headers: Headers): Decision {
  if (readU48(packet.bytes, packet.start + 6) !== source.mac)
    return toPort(source, packet, "back to the port it came from: another sender's MAC");
  const isOwnAddress =
    headers.family !== 0 && sourceIp(packet.bytes, headers) === destinationIp(packet.bytes, headers);
  return isOwnAddress
    ? drop("hairpin-under-dsr", "a pod sent to itself: source and destination are the same")
    : drop("mac-not-local", "sent to its own MAC");
}

/** Step 4: NAT bindings, then endpoints by address, then the host itself. */
function forwardToHostMac(
  tables: SwitchTables,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): Decision {
  const binding = tables.bindings.findOwner(packet, headers);
  if (binding !== undefined && (binding !== source || source.kind === "container"))
    return toPort(binding, packet, "by NAT binding of destination address and port");
  const owner = findByAddress(tables, packet, headers);
  if (owner !== undefined && owner !== source)
    return toPort(owner, packet, packet.tag === 0 ? "" : WORDS.podsShareHostMac);
  const host = defined(tables.hostPort, "a frame to the host's MAC needs a host vNIC");
  if (host === source) return drop("mac-not-local", "the host sent a frame to itself");
  return toPort(host, packet, "to the host: its MAC");
}

/**
 * Step 5: subnet broadcast is off for L2Bridge endpoints (dataplane.md §2.10), so groups join the host and the
 * wire only.
 */
function forwardGroup(
  { externalPort, hostPort }: SwitchTables,
  source: SwitchPort,
  packet: Packet,
): Decision {
  const target = source.kind === "external" ? hostPort : externalPort;
  const isInside = source.kind === "container" || source.kind === "router";
  if (isInside || target === undefined)
    return drop("broadcast-not-delivered", "broadcast and multicast are off here");
  return toPort(target, packet, "broadcast or multicast");
}

/** The port whose endpoint has the destination address and takes frames by address. */
function findByAddress(tables: SwitchTables, packet: Packet, headers: Headers): SwitchPort | undefined {
  if (headers.family === 0) return undefined;
  const port = tables.findPortByIp(destinationIp(packet.bytes, headers));
  return port?.deliversByAddress === true ? port : undefined;
}

// VLANs. Ports of endpoints are in access mode: the pod's frames carry no tag, and those of its VLAN have one on the uplink,
// which is a trunk.
//
// On a switch with VFP (hcn.md §3.2: Transparent and L2Bridge) a frame inside has no tag and the switch knows its VLAN.
// Inferred: the node's vNIC is in no VLAN, so that endpoints in one reach it over the wire alone, as on Transparent
// networks; and a frame for a port of another VLAN ends here.
//
// A switch whose ports have no VFP (Transparent, NAT, Internal, Private: dataplane.md §2.2.5, §2.6, §2.17 steps 3, 5, 6) goes by
// VLAN and MAC and looks no further. It knows the MACs of its ports and learns none.

/**
 * The VLAN of a frame that came in at `source`; 0: none. The switch takes off a tag that names it. A switch with VFP leaves
 * tags of VLANs that it does not know.
 */
export function admitToVlan(tables: SwitchTables, source: SwitchPort, headers: Headers): number | Drop {
  const tag = headers.vlan;
  if (tag === 0) return source.vlan;
  if (source.vlan !== 0) return refused(tag);
  return source.kind === "external" && tables.hasVlan(tag) ? tag : 0;
}

/** The same on a switch without VFP, which passes on no tag that it does not know. */
export function admitToPlainVlan(tables: SwitchTables, source: SwitchPort, headers: Headers): number | Drop {
  const tag = headers.vlan;
  if (source.kind !== "external") return tag === 0 ? source.vlan : refused(tag);
  if (tag === 0 || tables.hasVlan(tag)) return tag;
  return drop("vlan-not-allowed", `no port here is in VLAN ${tag}`);
}

function refused(tag: number): Drop {
  return drop("vlan-not-allowed", `a frame of VLAN ${tag} from a port in access mode`);
}

/** Why a frame that goes to `target` ends in front of it; undefined: it may go on. */
export function findVlanDrop(target: SwitchPort, packet: Packet): Drop | undefined {
  if (target.vlan === packet.vlan || target.kind === "external") return undefined;
  const text = packet.tag === 0 ? "" : `the frame is in VLAN ${packet.vlan}, the port in ${target.vlan}`;
  return drop("vlan-not-allowed", text);
}

/** Where a frame goes on a switch without VFP. */
export function forwardPlain(tables: SwitchTables, source: SwitchPort, packet: Packet): Decision {
  const destination = readU48(packet.bytes, packet.start) as Mac;
  if (isGroupMac(destination))
    return toPorts(listMembers(tables, source, packet.vlan), "broadcast or multicast");
  const known = tables.findPortByMac(destination);
  const target = known?.vlan === packet.vlan ? known : undefined;
  if (target !== undefined && target !== source) {
    const why = packet.tag === 0 ? "" : `by destination MAC ${formatMac(destination)}`;
    return toPort(target, packet, why);
  }
  const uplink = tables.externalPort;
  if (target === source || source.kind === "external" || uplink === undefined)
    return drop("mac-not-local", `unknown destination MAC ${formatMac(destination)}`);
  return toPort(
    uplink,
    packet,
    packet.tag === 0 ? "" : `MAC ${formatMac(destination)} is not on this switch`,
  );
}

/** Step 5: broadcast and multicast reach everybody in the VLAN, and the wire. */
function listMembers({ ports }: SwitchTables, source: SwitchPort, vlan: number): readonly SwitchPort[] {
  return ports.filter((port) => port !== source && (port.kind === "external" || port.vlan === vlan));
}

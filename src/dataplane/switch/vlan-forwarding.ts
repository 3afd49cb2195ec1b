/**
 * VLANs. Ports of endpoints are in access mode: the pod's frames carry no tag, and those of its VLAN have one on the uplink,
 * which is a trunk.
 *
 * On a switch with VFP (hcn.md §3.2: Transparent and L2Bridge) a frame inside has no tag and the switch knows its VLAN.
 * Inferred: the node's vNIC is in no VLAN, so that endpoints in one reach it over the wire alone, as on Transparent
 * networks; and a frame for a port of another VLAN ends here.
 *
 * A switch whose ports have no VFP (Transparent, NAT, Internal, Private: dataplane.md §2.2.5, §2.6, §2.17 steps 3, 5, 6) goes by
 * VLAN and MAC and looks no further. It knows the MACs of its ports and learns none.
 */
import { readU48 } from "#core/base/bytes.ts";
import { type Mac, formatMac, isGroupMac } from "#core/net/mac.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { type Decision, type Drop, drop, toPort, toPorts } from "./decision.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { SwitchTables } from "./switch-tables.ts";

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

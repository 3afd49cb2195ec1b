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
import { popVlan, pushVlan } from "#core/wire/vlan.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { ForwardingSwitch } from "./switch-extension.ts";

/** Notes the VLAN of a frame that came in at `source`, and takes its tag off. @returns false when it ended. */
export function admitToVlan(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): boolean {
  packet.vlan = source.vlan;
  if (headers.vlan === 0) return true;
  if (source.vlan !== 0) {
    const text = `a frame of VLAN ${headers.vlan} from a port in access mode`;
    virtualSwitch.drop(source, packet, "vlan-not-allowed", text);
    return false;
  }
  const isOurs = virtualSwitch.listPorts().some((port) => port.vlan === headers.vlan);
  if (source.kind !== "external" || !isOurs) return true;
  packet.vlan = headers.vlan;
  popVlan(packet);
  headers.parse(packet);
  return true;
}

/** Ends a frame of another VLAN in front of `target`. @returns false when it ended. */
export function mayReach(virtualSwitch: ForwardingSwitch, target: SwitchPort, packet: Packet): boolean {
  if (target.kind === "external" || target.vlan === packet.vlan) return true;
  const text = packet.tag === 0 ? "" : `the frame is in VLAN ${packet.vlan}, the port in ${target.vlan}`;
  virtualSwitch.drop(target, packet, "vlan-not-allowed", text, "in");
  return false;
}

/** Puts the tag on that the wire needs. */
export function tagForWire(packet: Packet, headers: Headers): void {
  if (packet.vlan === 0) return;
  pushVlan(packet, { id: packet.vlan });
  packet.vlan = 0;
  headers.parse(packet);
}

/** Moves a frame on a switch without VFP that passed its source port. `headers` are the switch's own, and of this frame. */
export function forwardPlain(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): void {
  const vlan = admit(virtualSwitch, source, packet, headers);
  if (vlan === undefined) return;
  const destination = readU48(packet.bytes, packet.start) as Mac;
  if (isGroupMac(destination)) {
    flood(virtualSwitch, source, packet, headers, vlan);
    return;
  }
  const known = virtualSwitch.findPortByMac(destination);
  const target = known?.vlan === vlan ? known : undefined;
  if (target !== undefined && target !== source) {
    send(virtualSwitch, target, packet, headers, vlan, `by destination MAC ${formatMac(destination)}`);
    return;
  }
  const uplink = virtualSwitch.externalPort;
  if (target === source || source.kind === "external" || uplink === undefined) {
    virtualSwitch.drop(source, packet, "mac-not-local", `unknown destination MAC ${formatMac(destination)}`);
    return;
  }
  send(virtualSwitch, uplink, packet, headers, vlan, `MAC ${formatMac(destination)} is not on this switch`);
}

/** The VLAN that a frame belongs to, its tag taken off. Undefined: it ended. */
function admit(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): number | undefined {
  const tag = headers.vlan;
  if (source.kind !== "external") {
    if (tag === 0) return source.vlan;
    const text = `a frame of VLAN ${tag} from a port in access mode`;
    virtualSwitch.drop(source, packet, "vlan-not-allowed", text);
    return undefined;
  }
  if (tag === 0) return 0;
  if (!virtualSwitch.listPorts().some((port) => port.vlan === tag)) {
    virtualSwitch.drop(source, packet, "vlan-not-allowed", `no port here is in VLAN ${tag}`);
    return undefined;
  }
  popVlan(packet);
  headers.parse(packet);
  return tag;
}

/** Step 5: broadcast and multicast reach everybody in the VLAN, and the wire. */
function flood(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
  vlan: number,
): void {
  for (const port of virtualSwitch.listPorts()) {
    if (port === source || (port.kind !== "external" && port.vlan !== vlan)) continue;
    send(virtualSwitch, port, packet.copy(), headers, vlan, "broadcast or multicast");
  }
}

function send(
  virtualSwitch: ForwardingSwitch,
  target: SwitchPort,
  packet: Packet,
  headers: Headers,
  vlan: number,
  why: string,
): void {
  if (target.kind === "external" && vlan !== 0) pushVlan(packet, { id: vlan });
  headers.parse(packet);
  virtualSwitch.deliver(target, packet, packet.tag === 0 ? "" : why);
}

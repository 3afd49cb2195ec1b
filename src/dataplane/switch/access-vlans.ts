/**
 * VLANs on a switch with VFP (hcn.md §3.2: Transparent and L2Bridge; plain switches are in plain-forwarding.ts). Ports of
 * endpoints are in access mode, the uplink is a trunk: inside, a frame has no tag and the switch knows its VLAN.
 *
 * Inferred: the node's vNIC is in no VLAN, so that endpoints in one reach it over the wire alone, as on Transparent
 * networks; and a frame for a port of another VLAN ends here.
 */
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

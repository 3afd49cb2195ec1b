/**
 * Where a frame goes on a switch with VFP, once its tunnel is not what decides: by MAC, by NAT binding, by address, to the
 * host, to the uplink (dataplane.md §2.17 steps 3 to 6).
 */
import { defined } from "#core/base/assert.ts";
import { readU48 } from "#core/base/bytes.ts";
import { type Mac, formatMac, isGroupMac } from "#core/net/mac.ts";
import { type Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { Passage } from "./delayed-frame.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { ForwardingSwitch } from "./switch-extension.ts";

/**
 * True for a tunnel that an endpoint of an overlay network made itself and that leaves the node as it is: the receiver
 * could not tell it from a tunnel of this node, and it would reach whatever network it names. In a tunnel of its own
 * network it is payload. Inferred: the sender's port stops it, since virtual networks never exchange a packet
 * (windows-networking-documentation.md §2) and the wire has no other mark of who sent (dataplane.md §6.1).
 */
export function isForged(virtualSwitch: ForwardingSwitch, { port, packet, arrivedBytes }: Passage): boolean {
  const isWrapped = packet.length > arrivedBytes;
  return port.virtualSubnets.length > 0 && !isWrapped && hasLeft(virtualSwitch, packet);
}

/** Steps 3 to 6: a frame that is in no tunnel, or goes by its outer header. `headers` are those of the frame. */
export function forwardByMac(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): void {
  const destination = readU48(packet.bytes, packet.start) as Mac;
  if (isGroupMac(destination)) {
    forwardGroup(virtualSwitch, source, packet);
    return;
  }
  const inSubnet = virtualSwitch.virtualSubnets.find(source.virtualSubnets, destination);
  if (inSubnet !== undefined && inSubnet !== source) {
    forwardToPort(virtualSwitch, inSubnet, packet, headers);
    return;
  }
  if (destination === virtualSwitch.hostPort?.mac) {
    forwardToHostMac(virtualSwitch, source, packet, headers);
    return;
  }
  const known = inSubnet ?? findOutside(virtualSwitch, source, destination);
  if (known === source) {
    forwardToSelf(virtualSwitch, source, packet, headers);
    return;
  }
  if (known !== undefined) {
    forwardToPort(virtualSwitch, known, packet, headers);
    return;
  }
  if (source.kind === "external" || virtualSwitch.externalPort === undefined) {
    virtualSwitch.drop(source, packet, "mac-not-local", `unknown destination MAC ${formatMac(destination)}`);
    return;
  }
  if (source.virtualSubnets.length > 0 && !hasLeft(virtualSwitch, packet)) {
    const text = `unknown destination MAC ${formatMac(destination)} in the virtual subnet`;
    virtualSwitch.drop(source, packet, "mac-not-local", text);
    return;
  }
  const why = packet.tag === 0 ? "" : `MAC ${formatMac(destination)} is not on this switch`;
  virtualSwitch.deliver(virtualSwitch.externalPort, packet, why);
}

/**
 * The port that has a MAC, for who is not in its virtual subnet: from there only the host is in reach, and the host
 * reaches an endpoint whose MAC nobody else has.
 */
function findOutside(virtualSwitch: ForwardingSwitch, source: SwitchPort, mac: Mac): SwitchPort | undefined {
  const port = virtualSwitch.findPortByMac(mac);
  if (source.virtualSubnets.length > 0) return port?.leadsToHost === true ? port : undefined;
  return port ?? (source.kind === "host" ? virtualSwitch.virtualSubnets.findAnywhere(mac) : undefined);
}

/** True when a rule has sent the frame to a next hop of the node, whose MAC it has then. */
function hasLeft(virtualSwitch: ForwardingSwitch, packet: Packet): boolean {
  return readU48(packet.bytes, packet.start + 6) === virtualSwitch.hostPort?.mac;
}

/**
 * By MAC. Inferred: a frame to another leg of the host is looked up in the NAT bindings as one to the host's own MAC
 * is, since pods behind a bridge endpoint answer to translated addresses over it (dataplane.md §2.17 step 4, Q-5).
 */
function forwardToPort(
  virtualSwitch: ForwardingSwitch,
  target: SwitchPort,
  packet: Packet,
  headers: Headers,
): void {
  const binding = target.leadsToHost ? virtualSwitch.findBindingOwner(packet, headers) : undefined;
  if (binding !== undefined) {
    virtualSwitch.deliver(binding, packet, "by NAT binding of destination address and port");
    return;
  }
  // Only packets that are followed have readers.
  const why = packet.tag === 0 ? "" : `by destination MAC ${formatMac(target.mac)}`;
  virtualSwitch.deliver(target, packet, why);
}

/**
 * A frame to the MAC of its own port. Inferred: one that VFP gave another sender comes back (a pod that reaches itself
 * through its service behind a source NAT, dataplane.md §2.4 B-5, and §1.9 names a setting that forbids it); one with
 * both MACs the same goes nowhere.
 */
function forwardToSelf(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): void {
  if (readU48(packet.bytes, packet.start + 6) !== source.mac) {
    virtualSwitch.deliver(source, packet, "back to the port it came from: another sender's MAC");
    return;
  }
  const isOwnAddress =
    headers.family !== 0 && sourceIp(packet.bytes, headers) === destinationIp(packet.bytes, headers);
  virtualSwitch.drop(
    source,
    packet,
    isOwnAddress ? "hairpin-under-dsr" : "mac-not-local",
    isOwnAddress ? "a pod sent to itself: source and destination are the same" : "sent to its own MAC",
  );
}

/** Step 4: NAT bindings, then endpoints by address, then the host itself. */
function forwardToHostMac(
  virtualSwitch: ForwardingSwitch,
  source: SwitchPort,
  packet: Packet,
  headers: Headers,
): void {
  const binding = virtualSwitch.findBindingOwner(packet, headers);
  if (binding !== undefined && (binding !== source || source.kind === "container")) {
    virtualSwitch.deliver(binding, packet, "by NAT binding of destination address and port");
    return;
  }
  const owner = findByAddress(virtualSwitch, packet, headers);
  if (owner !== undefined && owner !== source) {
    virtualSwitch.deliver(owner, packet, "by destination address: its pods share the host's MAC on the wire");
    return;
  }
  const host = defined(virtualSwitch.hostPort, "a frame to the host's MAC needs a host vNIC");
  if (host === source) {
    virtualSwitch.drop(source, packet, "mac-not-local", "the host sent a frame to itself");
    return;
  }
  virtualSwitch.deliver(host, packet, "to the host: its MAC");
}

/**
 * Step 5: subnet broadcast is off for L2Bridge endpoints (dataplane.md §2.10), so groups join the host and the
 * wire only.
 */
function forwardGroup(virtualSwitch: ForwardingSwitch, source: SwitchPort, packet: Packet): void {
  const target = source.kind === "external" ? virtualSwitch.hostPort : virtualSwitch.externalPort;
  const isInside = source.kind === "container" || source.kind === "router";
  if (isInside || target === undefined || target === source) {
    virtualSwitch.drop(source, packet, "broadcast-not-delivered", "broadcast and multicast are off here");
    return;
  }
  virtualSwitch.deliver(target, packet, "broadcast or multicast");
}

/** The port whose endpoint has the destination address and takes frames by address. */
function findByAddress(
  virtualSwitch: ForwardingSwitch,
  packet: Packet,
  headers: Headers,
): SwitchPort | undefined {
  if (headers.family === 0) return undefined;
  const port = virtualSwitch.findPortByIp(destinationIp(packet.bytes, headers));
  return port?.deliversByAddress === true ? port : undefined;
}

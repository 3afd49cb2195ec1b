/**
 * Neighbour discovery of a stack (RFC 4861): solicitations and advertisements. It does for IPv6 what ARP does for IPv4;
 * who is known as what is the neighbour table's, for both.
 */
import { type Ipv6, formatIp, isMulticastIp } from "#core/net/ip.ts";
import { type Mac, isGroupMac } from "#core/net/mac.ts";
import { buildNdFrame } from "#core/wire/build-frame.ts";
import { multicastMac } from "#core/wire/ethernet.ts";
import { readU8 } from "#core/base/bytes.ts";
import { Icmpv6Type } from "#core/wire/icmpv6/icmpv6.ts";
import { ND_HOP_LIMIT, type NdRepr, NdView, solicitedNodeMulticast } from "#core/wire/icmpv6/nd.ts";
import { readTtl } from "#core/wire/ip-view.ts";
import { ALL_NODES, UNSPECIFIED, isLinkLocal } from "./address-scope.ts";
import type { LocalPacket, Stack, StackInterface } from "../stack.ts";
import { dataPlane } from "#data/words.js";

const WORDS = dataPlane();

/** Who asks, and whom. */
interface Solicitation {
  /** `::` asks whether somebody has an address that is about to be used. */
  readonly source: Ipv6;
  /** The neighbour's MAC as it was last known: it is asked directly. Undefined: whoever has the address. */
  readonly mac: Mac | undefined;
}

/** Asks for the MAC of `target`. */
export function emitSolicitation(netInterface: StackInterface, target: Ipv6, asked: Solicitation): void {
  const { source, mac } = asked;
  const destination = mac === undefined ? solicitedNodeMulticast(target) : target;
  const options =
    source === UNSPECIFIED ? [] : [{ kind: "source-link-layer", mac: netInterface.mac } as const];
  const nd: NdRepr = { type: "neighbor-solicitation", target, options };
  emit(netInterface, nd, source, destination, mac ?? multicastMac(destination));
}

/** Takes a message of neighbour discovery that arrived whole and with a right checksum. */
export function receiveDiscovery(compartment: Stack, local: LocalPacket): void {
  const { packet, headers, netInterface } = local;
  const view = NdView.parse(packet.bytes, headers.transport, headers.end);
  if (typeof view === "string") {
    compartment.dropMalformed(packet, view);
    return;
  }
  // RFC 4861 §6.1, §7.1: a router cannot have passed it on.
  const hopLimit = readTtl(packet.bytes, headers);
  if (hopLimit !== ND_HOP_LIMIT || readU8(packet.bytes, headers.transport + 1) !== 0) {
    const text = WORDS.discoveryInvalid({ hopLimit });
    compartment.drop(packet, "malformed-frame", text);
    return;
  }
  if (netInterface === undefined) return;
  switch (view.type) {
    case Icmpv6Type.neighborSolicitation:
      compartment.record(packet, "deliver", `neighbour solicitation for ${formatIp(view.target)}`);
      answerSolicitation(compartment, netInterface, local, view);
      return;
    case Icmpv6Type.neighborAdvertisement:
      compartment.record(packet, "deliver", `neighbour advertisement of ${formatIp(view.target)}`);
      takeAdvertisement(compartment, netInterface, local, view);
      return;
    case Icmpv6Type.routerSolicitation:
      takeRouterSolicitation(compartment, netInterface, local, view);
      return;
    default:
      takeRouterAdvertisement(compartment, netInterface, local, view);
  }
}

function takeRouterSolicitation(
  compartment: Stack,
  netInterface: StackInterface,
  { packet, source }: LocalPacket,
  { sourceMac }: NdView,
): void {
  const { advertiser } = netInterface.ipv6;
  // RFC 4861 §6.1.1, §6.2.6.
  if (source === UNSPECIFIED && sourceMac !== undefined) {
    compartment.drop(packet, "malformed-frame", "a solicitation without a source link-layer address");
    return;
  }
  if (advertiser === undefined) return;
  compartment.record(packet, "deliver", `router solicitation of ${formatIp(source)}`);
  if (sourceMac !== undefined && !isGroupMac(sourceMac))
    netInterface.neighbors.learn(source, sourceMac, true);
  advertiser.answer();
}

/** A router listens to nobody, and who was given addresses and routes has them (Linux: accept_ra). */
function takeRouterAdvertisement(
  compartment: Stack,
  netInterface: StackInterface,
  { packet, source }: LocalPacket,
  view: NdView,
): void {
  // RFC 4861 §6.1.2.
  if (typeof source !== "bigint" || !isLinkLocal(source)) {
    compartment.drop(packet, "malformed-frame", `a router advertisement from ${formatIp(source)}`);
    return;
  }
  if (!netInterface.isForwarding) netInterface.ipv6.discovery?.receive(packet, source, view);
}

function answerSolicitation(
  compartment: Stack,
  netInterface: StackInterface,
  { packet, source, destination }: LocalPacket,
  view: NdView,
): void {
  const { target, sourceMac } = view;
  if (typeof source !== "bigint" || isMulticastIp(target)) {
    compartment.drop(packet, "malformed-frame", `a solicitation for ${formatIp(target)}, a group`);
    return;
  }
  const isCheck = source === UNSPECIFIED;
  // RFC 4861 §7.1.1: who has no address asks the group and tells no MAC.
  if (isCheck && (sourceMac !== undefined || !isMulticastIp(destination))) {
    compartment.drop(packet, "malformed-frame", "a solicitation without a source link-layer address");
    return;
  }
  if (isCheck && netInterface.ipv6.contest(target)) return;
  const isForUs = netInterface.neighbors.answersFor(target);
  if (!isCheck && sourceMac !== undefined && !isGroupMac(sourceMac) && !compartment.isLocal(source))
    netInterface.neighbors.learn(source, sourceMac, isForUs);
  if (!isForUs) return;
  const receiver = isCheck ? ALL_NODES : source;
  const mac = isCheck ? multicastMac(ALL_NODES) : (sourceMac ?? netInterface.neighbors.macOf(source));
  if (mac === undefined) return;
  const isOwn = compartment.servesAddress(netInterface, target);
  const nd: NdRepr = {
    type: "neighbor-advertisement",
    target,
    isRouter: netInterface.isForwarding,
    isSolicited: !isCheck,
    // RFC 4861 §7.2.8: who answers for others does not take their place.
    isOverride: isOwn,
    options: [{ kind: "target-link-layer", mac: netInterface.mac }],
  };
  emit(netInterface, nd, isOwn ? target : netInterface.linkLocal(), receiver, mac);
}

function takeAdvertisement(
  compartment: Stack,
  netInterface: StackInterface,
  { packet, destination }: LocalPacket,
  view: NdView,
): void {
  const { target, targetMac } = view;
  if (isMulticastIp(target) || (isMulticastIp(destination) && view.isSolicited)) {
    compartment.drop(packet, "malformed-frame", `an advertisement of ${formatIp(target)} to a group`);
    return;
  }
  // Somebody else claims an address of ours: while it is checked that ends it, later both systems keep theirs.
  if (netInterface.ipv6.contest(target) || compartment.isLocal(target)) return;
  if (targetMac === undefined || isGroupMac(targetMac)) return;
  const known = netInterface.neighbors.macOf(target);
  if (known !== undefined && known !== targetMac && !view.isOverride) return;
  netInterface.neighbors.learn(target, targetMac, false);
}

function emit(
  netInterface: StackInterface,
  nd: NdRepr,
  source: Ipv6,
  destination: Ipv6,
  destinationMac: Mac,
): void {
  const link = { destinationMac, sourceMac: netInterface.mac };
  const ip = { source, destination, ttl: ND_HOP_LIMIT, identification: 0, isDontFragment: false };
  netInterface.transmitFrame(buildNdFrame({ link, ip, nd }));
}

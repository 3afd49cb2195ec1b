/**
 * Guards: what a port refuses before any layer is asked. The names of the flags are public (dataplane.md §1.2), what they
 * do is not. Inferred: they mean what the settings of a Hyper-V network adapter with these names mean (MAC address
 * spoofing, DHCP guard, router advertisement guard), in the direction in which a vNIC could do harm.
 */
import { readU16, readU48, readU8 } from "#core/base/bytes.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type Mac, isGroupMac } from "#core/net/mac.ts";
import { ArpView } from "#core/wire/arp.ts";
import { EtherType } from "#core/wire/ethernet.ts";
import { type Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { Icmpv6Type } from "#core/wire/icmpv6/icmpv6.ts";
import { NdView } from "#core/wire/icmpv6/nd.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { PortAddressInfo, PortGuards } from "./port-settings.ts";
import type { VfpDirection } from "./rule.ts";
import { writeDscp } from "./actions/transposition.ts";

const BROADCAST_MAC = 0xffff_ffff_ffff as Mac;
const REDIRECT = 137;
const DHCP = { server: 67, client: 68, serverV6: 547, clientV6: 546 } as const;
/** What is limited by the second. */
type Limited = "arpPerSecond" | "dhcpPerSecond" | "icmpv6PerSecond" | "broadcastsPerSecond";

function isFromDhcpServer(bytes: Uint8Array, headers: Headers): boolean {
  if (headers.protocol !== IpProtocol.udp || headers.transport < 0) return false;
  const source = readU16(bytes, headers.transport);
  const destination = readU16(bytes, headers.transport + 2);
  return (
    (source === DHCP.server && destination === DHCP.client) ||
    (source === DHCP.serverV6 && destination === DHCP.clientV6)
  );
}

function isDhcp(bytes: Uint8Array, headers: Headers): boolean {
  if (headers.protocol !== IpProtocol.udp || headers.transport < 0) return false;
  const destination = readU16(bytes, headers.transport + 2);
  return destination === DHCP.server || destination === DHCP.serverV6 || isFromDhcpServer(bytes, headers);
}

/** Judges frames by a port's guards. Plain data: counts of the running second. */
export class GuardPost {
  readonly guards: PortGuards;
  private readonly seen: Partial<Record<Limited, number>> = {};
  private second = -1;

  constructor(guards: PortGuards) {
    this.guards = Object.freeze({ ...guards });
  }

  /** Why the frame is refused; undefined when it may pass. Clears DSCP where the guards say so. */
  evaluate(
    direction: VfpDirection,
    packet: Packet,
    headers: Headers,
    address: PortAddressInfo,
    nowMs: number,
  ): KnowledgeCode | undefined {
    const { guards } = this;
    const { bytes } = packet;
    const destination = readU48(bytes, headers.ethernet) as Mac;
    if (destination === BROADCAST_MAC && guards.broadcast === true) return "broadcast-not-delivered";
    const isArp = headers.etherType === EtherType.arp;
    if (headers.family === 0 && !isArp && guards.nonIp === true) return "non-ip-frame-refused";
    const refusal =
      direction === "out"
        ? this.checkSender(packet, headers, address)
        : this.checkReceiver(packet, headers, address);
    if (refusal !== undefined) return refusal;
    if (direction === "out" && this.exceedsLimit(bytes, headers, destination, nowMs))
      return "rate-limit-exceeded";
    const zeroesDscp = direction === "out" ? guards.zeroDscpOut : guards.zeroDscpIn;
    if (zeroesDscp === true && headers.family !== 0) writeDscp(bytes, headers, 0);
    return undefined;
  }

  private checkSender(packet: Packet, headers: Headers, address: PortAddressInfo): KnowledgeCode | undefined {
    const { guards } = this;
    const { bytes } = packet;
    if (guards.mac === true && readU48(bytes, headers.ethernet + 6) !== address.mac)
      return "mac-spoofing-refused";
    if (headers.etherType === EtherType.arp)
      return guards.arp === true && !speaksForItself(bytes, headers, address)
        ? "arp-spoofing-refused"
        : undefined;
    if (headers.family === 0) return undefined;
    if (guards.dhcp === true && isFromDhcpServer(bytes, headers)) return "dhcp-server-refused";
    if (guards.ndp === true && isForeignDiscovery(bytes, headers, address))
      return "router-advertisement-refused";
    const isGuarded = headers.family === 4 ? guards.ipv4 : guards.ipv6;
    if (isGuarded === true && !mayBeSource(bytes, headers, address)) return "address-spoofing-refused";
    return undefined;
  }

  private checkReceiver(
    packet: Packet,
    headers: Headers,
    address: PortAddressInfo,
  ): KnowledgeCode | undefined {
    if (this.guards.arpFilter !== true || headers.etherType !== EtherType.arp) return undefined;
    const arp = ArpView.parse(packet.bytes, headers.network, headers.end);
    const isForOthers = typeof arp !== "string" && !address.customerAddresses.includes(arp.targetIp);
    return isForOthers ? "broadcast-not-delivered" : undefined;
  }

  private exceedsLimit(bytes: Uint8Array, headers: Headers, destination: Mac, nowMs: number): boolean {
    if (isGroupMac(destination) && this.isOver("broadcastsPerSecond", nowMs)) return true;
    if (headers.etherType === EtherType.arp) return this.isOver("arpPerSecond", nowMs);
    if (headers.family === 6 && headers.protocol === IpProtocol.icmpv6)
      return this.isOver("icmpv6PerSecond", nowMs);
    return isDhcp(bytes, headers) && this.isOver("dhcpPerSecond", nowMs);
  }

  private isOver(limited: Limited, nowMs: number): boolean {
    const limit = this.guards[limited];
    if (limit === undefined) return false;
    const second = Math.floor(nowMs / 1_000);
    if (second !== this.second) {
      for (const name of Object.keys(this.seen) as Limited[]) this.seen[name] = 0;
      this.second = second;
    }
    const count = (this.seen[limited] ?? 0) + 1;
    this.seen[limited] = count;
    return count > limit;
  }
}

/** True when an ARP message names the port's MAC and one of its addresses as sender, or none: a probe. */
function speaksForItself(bytes: Uint8Array, headers: Headers, address: PortAddressInfo): boolean {
  const arp = ArpView.parse(bytes, headers.network, headers.end);
  if (typeof arp === "string") return false;
  if (address.mac !== undefined && arp.senderMac !== address.mac) return false;
  return arp.senderIp === 0 || address.customerAddresses.includes(arp.senderIp);
}

/** True when a message of neighbour discovery is one that only a router, or somebody else, may send. */
function isForeignDiscovery(bytes: Uint8Array, headers: Headers, address: PortAddressInfo): boolean {
  if (headers.family !== 6 || headers.protocol !== IpProtocol.icmpv6 || headers.transport < 0) return false;
  const type = readU8(bytes, headers.transport);
  if (type === Icmpv6Type.routerAdvertisement || type === REDIRECT) return true;
  if (type !== Icmpv6Type.neighborAdvertisement) return false;
  const view = NdView.parse(bytes, headers.transport, headers.end);
  return typeof view === "string" || !isOwn(view.target, address);
}

/** The unspecified address and an interface's link-local one are everybody's. */
function mayBeSource(bytes: Uint8Array, headers: Headers, address: PortAddressInfo): boolean {
  return isOwn(sourceIp(bytes, headers), address) || isDhcpOfClient(bytes, headers);
}

function isOwn(ip: ReturnType<typeof sourceIp>, address: PortAddressInfo): boolean {
  if (address.customerAddresses.includes(ip)) return true;
  return typeof ip === "bigint" && (ip === 0n || ip >> 118n === 0x3fan);
}

/** A client without an address asks for one. */
function isDhcpOfClient(bytes: Uint8Array, headers: Headers): boolean {
  return (
    sourceIp(bytes, headers) === 0 &&
    destinationIp(bytes, headers) === 0xffff_ffff &&
    isDhcp(bytes, headers) &&
    !isFromDhcpServer(bytes, headers)
  );
}

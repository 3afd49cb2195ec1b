/** The sending side of IP: route, source address, next hop, fragmentation, and the way back to oneself. */
import type { HookedStack } from "../hooked-stack.ts";
import { cutSuperFrame, segmentLength } from "#core/wire/segmentation.ts";
import { assert } from "#core/base/assert.ts";
import type { Task } from "#core/base/clock.ts";
import { LIMITS } from "#core/base/limits.ts";
import { type Ip, type Ipv4, type Ipv6, familyOf, formatIp, isMulticastIp } from "#core/net/ip.ts";
import { BROADCAST_MAC, type Mac } from "#core/net/mac.ts";
import type { IpFields, LinkFields } from "#core/wire/build-frame.ts";
import { multicastMac } from "#core/wire/ethernet.ts";
import { Headers } from "#core/wire/headers.ts";
import { type IpView, ipViewOf } from "#core/wire/ip-view.ts";
import { Ipv4View } from "#core/wire/ipv4.ts";
import type { Packet } from "#core/wire/packet.ts";
import { fragmentIpv4, fragmentIpv6 } from "./fragmentation.ts";
import type { OutgoingPacket, Route, Path, HeaderOptions, StackInterface } from "../stack.ts";
import { isLinkLocal, isLoopback } from "./address-scope.ts";
import { type RouteTable, formatRoute } from "./route-table.ts";
import { dataPlane } from "#data/words.js";

const WORDS = dataPlane();

const LIMITED_BROADCAST = 0xffff_ffff as Ipv4;
const LOOPBACK_ADDRESSES = Object.freeze({ 4: 0x7f00_0001 as Ipv4, 6: 1n as Ipv6 });
/** RFC 791: no IPv4 packet is longer. RFC 8200 would allow 40 bytes more. */
const IP_LENGTH_MAX = 65_535;
/** How long a path MTU is believed that a router reported; 10 minutes in both systems (RFC 1191 §6.3). */
const PATH_MTU_LIFETIME_MS = 600_000;
/** RFC 791, RFC 8200 §5: every path carries this; a smaller report is a lie or an attack. */
const PATH_MTU_MIN: Readonly<Record<4 | 6, number>> = Object.freeze({ 4: 576, 6: 1_280 });

const CHOICE_SECTION = "dataplane.md §2.4 B-8";
const NODE_PORT_SECTION = "dataplane.md §2.4 B-8";

/** The MACs are known when a packet leaves; a packet to oneself keeps zeros. */
export const NO_LINK: LinkFields = Object.freeze({ destinationMac: 0 as Mac, sourceMac: 0 as Mac });

/** A packet of this compartment on its way back into it. */
class LoopbackDelivery implements Task {
  private readonly compartment: HookedStack;
  private readonly packet: Packet;

  constructor(compartment: HookedStack, packet: Packet) {
    this.compartment = compartment;
    this.packet = packet;
  }

  run(): void {
    this.compartment.receiveLoopback(this.packet);
  }
}

interface PathMtu {
  readonly mtuBytes: number;
  readonly untilMs: number;
}

export class IpOutput {
  private readonly compartment: HookedStack;
  private readonly routes: RouteTable;
  private readonly pathMtus = new Map<Ip, PathMtu>();
  private nextIdentification: number;
  private nextFragmentIdentification: number | undefined;

  constructor(compartment: HookedStack, routes: RouteTable) {
    this.compartment = compartment;
    this.routes = routes;
    this.nextIdentification = compartment.prng.below(0x1_0000);
  }

  /**
   * The path to `destination`; undefined without a route, or when the route's interface has no address to send from.
   * `source` binds the source address; `link` is the link of a link-local destination, which every link has.
   */
  findPath(destination: Ip, source?: Ip, link?: StackInterface): Path | undefined {
    if (source !== undefined && familyOf(source) !== familyOf(destination)) return undefined;
    if (this.compartment.isLocal(destination)) return this.localPath(destination, source);
    const route = this.lookup(destination, source, isLinkLocal(destination) ? link : undefined);
    if (route === undefined) return undefined;
    const nextHop = route.nextHop ?? destination;
    const chosen = source ?? route.source ?? this.chooseSource(route.interface, destination, nextHop);
    if (chosen === undefined) return undefined;
    const mtuBytes = Math.min(linkMtu(route.interface, destination), this.pathMtu(destination));
    const path = { source: chosen, destination, route, nextHop, mtuBytes };
    return source === undefined && this.isChoiceInferred(route)
      ? { ...path, inferred: CHOICE_SECTION }
      : path;
  }

  /** The route for a packet that is forwarded. */
  routeFor(destination: Ip): Route | undefined {
    return this.routes.lookup(destination);
  }

  /** The IP header of a packet along `path`, for the frame builders. */
  header(path: Path, options: HeaderOptions): IpFields {
    return {
      source: path.source,
      destination: path.destination,
      ttl: options.ttl ?? this.ttlOf(path),
      identification: familyOf(path.source) === 4 ? this.identification() : 0,
      isDontFragment: options.isDontFragment,
      dscp: options.dscp ?? 0,
      ecn: options.ecn ?? 0,
    };
  }

  /** TTL or hop limit of what is sent along `path`: of IPv6 what a router has said, else the system's. */
  ttlOf({ route, destination }: Path): number {
    const reported = familyOf(destination) === 6 ? route?.interface.ipv6.hopLimit : undefined;
    return reported ?? this.compartment.profile.ttl;
  }

  /**
   * Sends a finished IP packet along the path `chosen`, in fragments when it is too long; rules of the machine may
   * give it another. `isWhole` forbids to cut an IPv6 packet, whose header cannot say so.
   * @returns false when it is too long and may not be fragmented.
   */
  send(packet: Packet, chosen: Path, isWhole = false): boolean {
    const { netfilter, winNat } = this.compartment;
    if (typeof chosen.destination === "number") winNat?.restoreQuoted(packet);
    const path = netfilter === undefined ? chosen : netfilter.send(packet, chosen);
    // What a rule ended was sent, as far as its sender can see; an answer tells it, if the rule gives one.
    if (path === undefined) return true;
    const route = path.route;
    if (route === undefined) {
      if (this.sendToSwitch(packet, path.destination)) return true;
      const text =
        packet.tag === 0 ? "" : `${formatIp(path.destination)} is an own address: delivered locally`;
      this.compartment.record(packet, "send", text);
      this.compartment.env.clock.schedule(0, new LoopbackDelivery(this.compartment, packet));
      return true;
    }
    // What a filter ended was sent, too, as far as its sender can see.
    if (this.compartment.filtering?.send(packet, route.interface) === false) return true;
    const text = packet.tag === 0 ? "" : `sent by route ${formatRoute(route)}`;
    const outgoing = { packet, kind: "send", text, isWhole } as const;
    const marked = path.inferred === undefined ? outgoing : { ...outgoing, inferred: path.inferred };
    return this.emit(marked, route.interface, path.nextHop, path.mtuBytes);
  }

  /** Gives a packet to an own address to the switch when the switch serves its port. */
  private sendToSwitch(packet: Packet, destination: Ip): boolean {
    const own = this.compartment.interfaceOf(destination);
    if (own === undefined) return false;
    const view = viewOfSent(packet);
    if (this.compartment.portClaims.ofDestination(packet.bytes, view) !== "switched") return false;
    const text = packet.tag === 0 ? "" : WORDS.sentToSwitch;
    own.transmit({ packet, kind: "send", text, inferred: NODE_PORT_SECTION }, own.mac);
    return true;
  }

  /**
   * Hands a packet whose headers are finished to the next hop, in fragments when it is too long; a super frame in the segments
   * that its sender left to a device to cut.
   * @returns false when it is too long and may not be fragmented.
   */
  emit(outgoing: OutgoingPacket, netInterface: StackInterface, nextHop: Ip, mtuBytes: number): boolean {
    const packet = outgoing.packet;
    const view = viewOfSent(packet);
    const isWhole =
      netInterface.carriesSuperFrames &&
      packet.segmentBytes > 0 &&
      segmentLength(packet, view.totalLength) <= mtuBytes;
    if (isWhole || view.totalLength <= mtuBytes) {
      this.emitWhole(outgoing, netInterface, nextHop);
      return true;
    }
    const segments = cutSuperFrame(packet);
    if (segments !== undefined)
      return segments.every((each) =>
        this.emit({ ...outgoing, packet: each }, netInterface, nextHop, mtuBytes),
      );
    if (view instanceof Ipv4View ? view.isDontFragment : outgoing.isWhole === true) return false;
    for (const fragment of this.fragment(packet, view, mtuBytes))
      this.emitWhole({ ...outgoing, packet: fragment }, netInterface, nextHop);
    return true;
  }

  /** The fragments of a packet that is longer than `mtuBytes`. */
  fragment(packet: Packet, view: IpView, mtuBytes: number): readonly Packet[] {
    if (view instanceof Ipv4View) return fragmentIpv4(packet, view, mtuBytes);
    return fragmentIpv6(packet, view, Math.max(mtuBytes, PATH_MTU_MIN[6]), this.fragmentIdentification());
  }

  /** Believes a router that packets to `destination` must not be longer; 0 means that it did not say. */
  learnPathMtu(destination: Ip, mtuBytes: number): void {
    const known = Math.max(mtuBytes, PATH_MTU_MIN[familyOf(destination)]);
    if (!this.pathMtus.has(destination) && this.pathMtus.size >= LIMITS.pathMtusMax) {
      const oldest = this.pathMtus.keys().next();
      if (oldest.done !== true) this.pathMtus.delete(oldest.value);
    }
    this.pathMtus.delete(destination);
    this.pathMtus.set(destination, {
      mtuBytes: known,
      untilMs: this.compartment.nowMs + PATH_MTU_LIFETIME_MS,
    });
  }

  /** True for 255.255.255.255 and for the all-ones address of a subnet of `netInterface`. */
  isBroadcast(netInterface: StackInterface, ip: Ip): boolean {
    return ip === LIMITED_BROADCAST || netInterface.isSubnetBroadcast(ip);
  }

  private emitWhole(outgoing: OutgoingPacket, netInterface: StackInterface, nextHop: Ip): void {
    if (this.isBroadcast(netInterface, nextHop)) netInterface.transmit(outgoing, BROADCAST_MAC);
    else if (isMulticastIp(nextHop)) netInterface.transmit(outgoing, multicastMac(nextHop));
    else netInterface.neighbors.send(nextHop, outgoing);
  }

  private localPath(destination: Ip, source: Ip | undefined): Path {
    const chosen =
      source ?? (isLoopback(destination) ? LOOPBACK_ADDRESSES[familyOf(destination)] : destination);
    return { source: chosen, destination, route: undefined, nextHop: destination, mtuBytes: IP_LENGTH_MAX };
  }

  /**
   * A strong host sends from an address over that address's interface only (RFC 1122 §3.3.4.2), but a router may
   * send over any. Inferred: forwarding on the source's interface ends the constraint on Windows.
   * Inferred: networks behind WinNAT are reached from any address of the host (dataplane.md §2.7, A → node IP).
   */
  private lookup(
    destination: Ip,
    source: Ip | undefined,
    link: StackInterface | undefined,
  ): Route | undefined {
    const owner = source === undefined ? undefined : this.compartment.interfaceOf(source);
    const only = link ?? (source !== undefined && isLinkLocal(source) ? owner : undefined);
    if (only !== undefined) return this.routes.lookup(destination, only);
    const isConstrained =
      this.compartment.profile.hostModel === "strong" &&
      owner !== undefined &&
      !owner.isForwarding &&
      this.compartment.winNat?.isInternal(destination) !== true;
    return this.routes.lookup(destination, isConstrained ? owner : undefined);
  }

  /** Which address a Windows host with several sends from is inferred (docs: dataplane.md §2.4, B-8). */
  private isChoiceInferred(route: Route): boolean {
    if (this.compartment.profile.os !== "windows" || route.source !== undefined) return false;
    const count = this.compartment.listInterfaces().reduce((sum, each) => sum + each.addresses.length, 0);
    return count > 1;
  }

  /** A router may have interfaces without addresses of their own: then any address of the compartment serves. */
  private chooseSource(netInterface: StackInterface, destination: Ip, nextHop: Ip): Ip | undefined {
    const chosen = this.compartment.sourceFor(netInterface, destination, nextHop);
    if (chosen !== undefined || this.compartment.profile.hostModel === "strong") return chosen;
    for (const other of this.compartment.listInterfaces()) {
      const address = this.compartment.sourceFor(other, destination, nextHop);
      if (address !== undefined) return address;
    }
    return undefined;
  }

  private pathMtu(destination: Ip): number {
    const known = this.pathMtus.get(destination);
    if (known === undefined) return IP_LENGTH_MAX;
    if (this.compartment.nowMs < known.untilMs) return known.mtuBytes;
    this.pathMtus.delete(destination);
    return IP_LENGTH_MAX;
  }

  /** Inferred: one counter per compartment for both systems; only uniqueness matters (RFC 6864). */
  private identification(): number {
    const identification = this.nextIdentification;
    this.nextIdentification = (identification + 1) & 0xffff;
    return identification;
  }

  /** Of the fragments of one IPv6 packet. Inferred: counted, although RFC 7739 would have it unpredictable. */
  private fragmentIdentification(): number {
    this.nextFragmentIdentification ??= this.compartment.prng.derive("ipv6-fragments").nextU32();
    const identification = this.nextFragmentIdentification;
    this.nextFragmentIdentification = (identification + 1) >>> 0;
    return identification;
  }
}

/** The largest packet that the link takes; a router may have told less for IPv6. */
function linkMtu({ mtuBytes, ipv6 }: StackInterface, destination: Ip): number {
  return familyOf(destination) === 6 ? Math.min(mtuBytes, ipv6.mtuBytes ?? mtuBytes) : mtuBytes;
}

/** The IP packet of a frame that is being sent. */
function viewOfSent(packet: Packet): IpView {
  const headers = new Headers();
  const reason = headers.parse(packet);
  const view = reason === undefined ? ipViewOf(packet.bytes, headers) : undefined;
  assert(view !== undefined, "a packet that is sent has an IP header");
  return view;
}

/** The receiving side of IP: checks, local or not, reassembly, hand-over to the transports, forwarding of the rest. */
import { cutSuperFrame, segmentLength } from "#core/wire/segmentation.ts";
import { assert, defined } from "#core/base/assert.ts";
import type { HookedStack } from "../hooked-stack.ts";
import { type Ip, familyOf, formatIp, isMulticastIp } from "#core/net/ip.ts";
import { isGroupMac } from "#core/net/mac.ts";
import { EthernetView } from "#core/wire/ethernet.ts";
import { Headers, sourceIp } from "#core/wire/headers.ts";
import { type IpView, ipViewOf, decrementIpTtl } from "#core/wire/ip-view.ts";
import { IpProtocol, ipProtocolName } from "#core/wire/ip-protocol.ts";
import { Ipv4View } from "#core/wire/ipv4.ts";
import type { Packet } from "#core/wire/packet.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { isLinkLocal } from "./address-scope.ts";
import { isDiscoveryAt } from "./icmp-messages.ts";
import { passBridge } from "../netfilter/bridge-hooks.ts";
import type { Admitted } from "../netfilter/netfilter.ts";
import { findHeaderProblem } from "./extension-headers.ts";
import { Reassembly } from "./fragmentation.ts";
import { type Refusal, findArrivalRefusal, findForwardingRefusal, nameOfLimit } from "./refusals.ts";
import type { WindowsFiltering } from "../windows-filtering/windows-filtering.ts";
import type { LocalPacket, StackInterface } from "../stack.ts";
import { formatRoute } from "./route-table.ts";
import { dataPlane } from "#data/words.js";

const WORDS = dataPlane();

/** Who a packet is for. */
type Audience = "us" | "broadcast" | "multicast" | "others";

export class IpInput {
  readonly reassembly: Reassembly;
  private readonly compartment: HookedStack;

  constructor(compartment: HookedStack) {
    this.compartment = compartment;
    this.reassembly = new Reassembly(compartment);
  }

  /** Takes an IP packet; `netInterface` is undefined when this compartment sent it to itself. */
  receive(netInterface: StackInterface | undefined, packet: Packet): void {
    const headers = new Headers();
    const reason = headers.parse(packet);
    if (reason !== undefined) {
      this.compartment.dropMalformed(packet, reason);
      return;
    }
    const view = ipViewOf(packet.bytes, headers);
    if (view === undefined) {
      this.compartment.drop(packet, "protocol-unknown", "no IP packet");
      return;
    }
    const refusal = this.findRefusal(netInterface, packet, view);
    if (refusal !== undefined) {
      refuse(this.compartment, packet, refusal);
      return;
    }
    if (headers.family === 6 && !this.passesHeaders(netInterface, packet, headers, "hop-by-hop")) return;
    const { netfilter, winNat } = this.compartment;
    if (winNat !== undefined && netInterface !== undefined && view instanceof Ipv4View) {
      const admitted = winNat.receive(netInterface, packet, headers, view);
      if (admitted?.isRouted === true)
        forwardPacket(this.compartment, netInterface, admitted.packet, admitted.view);
      else if (admitted !== undefined)
        this.deliver(netInterface, admitted.packet, admitted.view, admitted.headers);
      return;
    }
    if (netfilter === undefined) {
      this.deliver(netInterface, packet, view, headers);
      return;
    }
    const outer = netfilter.handled;
    const before = view.destination;
    const admitted =
      netInterface === undefined
        ? netfilter.enterOwn(packet, headers, view)
        : netfilter.enter(packet, headers, view);
    if (admitted !== undefined && !this.isBridged(netInterface, before, admitted))
      this.deliver(netInterface, admitted.packet, admitted.view, admitted.headers);
    netfilter.leave(outer);
  }

  /** Gives a packet to whom it is for. */
  private deliver(
    netInterface: StackInterface | undefined,
    packet: Packet,
    view: IpView,
    headers: Headers,
  ): void {
    const audience = this.audienceOf(netInterface, view.destination);
    if (audience === "us" && this.isClaimed(packet, view)) return;
    // RFC 2464 §7: an adapter takes the frames of groups that were joined; the others are not counted.
    if (audience === "multicast" && familyOf(view.destination) === 6 && packet.tag === 0) return;
    if (audience === "us" || audience === "broadcast") {
      this.deliverLocally(netInterface, packet, view, headers, audience === "broadcast");
    } else if (netInterface !== undefined && audience === "others" && mayForward(netInterface, packet)) {
      forwardPacket(this.compartment, netInterface, packet, view);
    } else {
      const place = netInterface === undefined ? "" : `, and ${netInterface.name} does not forward`;
      this.compartment.drop(
        packet,
        "destination-not-local",
        `${formatIp(view.destination)} is not an address of ${this.compartment.name}${place}`,
      );
    }
  }

  /**
   * A packet that came over a bridge, and whose new destination hangs on the same bridge, is not routed: it goes back
   * into the bridge (net/bridge/br_netfilter_hooks.c, "bridged DNAT"), with its sender's MAC and its TTL.
   */
  private isBridged(netInterface: StackInterface | undefined, before: Ip, admitted: Admitted): boolean {
    const { destination } = admitted.view;
    const bridge = netInterface?.bridge;
    if (netInterface === undefined || bridge === undefined || destination === before) return false;
    const route = this.compartment.output.routeFor(destination);
    const isOwn = this.compartment.isLocal(destination);
    if (isOwn || route?.interface !== netInterface || route.nextHop !== undefined) return false;
    for (const packet of passBridge(this.compartment, netInterface, admitted))
      netInterface.neighbors.send(destination, { packet, kind: "forward", text: "", isBridged: true });
    return true;
  }

  /** Why the packet is not taken; undefined: it may go on. */
  private findRefusal(
    netInterface: StackInterface | undefined,
    packet: Packet,
    view: IpView,
  ): Refusal | undefined {
    if (!view.isChecksumValid) return { code: "checksum-invalid", text: "the IPv4 header checksum is wrong" };
    if (netInterface === undefined) return undefined;
    const isOwnSource =
      this.compartment.isLocal(view.source) &&
      this.compartment.portClaims.ofSource(packet.bytes, view) !== "switched";
    return findArrivalRefusal(view, netInterface, isOwnSource);
  }

  /** Ends a packet to a port that something below the stack has, but does not serve here. */
  private isClaimed(packet: Packet, view: IpView): boolean {
    const claim = this.compartment.portClaims.ofDestination(packet.bytes, view);
    if (claim === undefined || claim === "switched") return false;
    const text = WORDS.portNotServed({ address: formatIp(view.destination) });
    this.compartment.drop(packet, claim, text);
    return true;
  }

  private audienceOf(netInterface: StackInterface | undefined, destination: Ip): Audience {
    if (netInterface === undefined) return "us";
    if (netInterface.hasAddress(destination)) return "us";
    // Inferred: on Windows forwarding on the incoming interface ends strong host receive, as for any router.
    const isWeak =
      (this.compartment.profile.hostModel === "weak" || netInterface.isForwarding) &&
      !isLinkLocal(destination);
    if (isWeak && this.compartment.isLocal(destination)) return "us";
    if (this.compartment.output.isBroadcast(netInterface, destination)) return "broadcast";
    if (netInterface.ipv6.listensTo(destination)) return "broadcast";
    return isMulticastIp(destination) ? "multicast" : "others";
  }

  private deliverLocally(
    netInterface: StackInterface | undefined,
    packet: Packet,
    view: IpView,
    headers: Headers,
    isBroadcast: boolean,
  ): void {
    const { source, destination } = view;
    if (headers.family === 6 && !this.passesHeaders(netInterface, packet, headers, "all")) return;
    if (!headers.isFragment) {
      this.dispatch({ packet, headers, source, destination, isBroadcast, netInterface });
      return;
    }
    const whole = this.reassembly.accept(packet, view);
    if (whole === undefined) return;
    const wholeHeaders = new Headers();
    const reason = wholeHeaders.parse(whole);
    if (reason !== undefined) this.compartment.dropMalformed(whole, reason);
    // Headers behind that of the fragments are read now.
    else if (wholeHeaders.family !== 6 || this.passesHeaders(netInterface, whole, wholeHeaders, "all"))
      this.dispatch({
        packet: whole,
        headers: wholeHeaders,
        source,
        destination,
        isBroadcast,
        netInterface,
      });
  }

  /** @returns false when an extension header of IPv6 has ended the packet. */
  private passesHeaders(
    netInterface: StackInterface | undefined,
    packet: Packet,
    headers: Headers,
    scope: "hop-by-hop" | "all",
  ): boolean {
    const problem = findHeaderProblem(packet.bytes, headers, scope, this.compartment.profile);
    if (problem === undefined) return true;
    this.compartment.drop(packet, "malformed-frame", problem.text);
    if (problem.report !== undefined) this.compartment.icmp.sendProblem(packet, problem.report, netInterface);
    return false;
  }

  private dispatch(arrived: LocalPacket): void {
    const { packet, headers } = arrived;
    const { netfilter, filtering } = this.compartment;
    if (netfilter?.input(packet, headers) === false) return;
    if (filtering !== undefined && this.isFiltered(filtering, arrived)) return;
    const local = netfilter === undefined ? arrived : { ...arrived, source: sourceOf(arrived) };
    // Who sent a super frame left its checksum to a device.
    const problem = packet.segmentBytes > 0 ? undefined : verifyChecksums(packet.bytes, headers);
    if (problem !== undefined) {
      this.compartment.drop(packet, "checksum-invalid", `the ${problem.header} checksum is wrong`);
      return;
    }
    switch (headers.protocol) {
      case IpProtocol.icmp:
      case IpProtocol.icmpv6:
        // Each belongs to its own family (RFC 8200 §8.1).
        if ((headers.protocol === IpProtocol.icmp) === (headers.family === 4))
          this.compartment.icmp.receive(local);
        else this.refuseProtocol(local);
        return;
      case IpProtocol.udp:
        this.receiveDatagrams(local);
        return;
      case IpProtocol.tcp:
        this.compartment.tcp.receive(local);
        return;
      default:
        this.refuseProtocol(local);
    }
  }

  /** A super frame has several: a stream has no bounds to keep, they do. */
  private receiveDatagrams(local: LocalPacket): void {
    const datagrams = cutSuperFrame(local.packet);
    if (datagrams === undefined) this.compartment.udp.receive(local);
    else
      for (const packet of datagrams) {
        const headers = new Headers();
        assert(headers.parse(packet) === undefined, "what is cut from a sound packet is sound");
        this.compartment.udp.receive({ ...local, packet, headers });
      }
  }

  /**
   * What the compartment sends to itself meets no filter. Inferred: nor does neighbour discovery, as ARP meets none;
   * otherwise a rule that blocks everything would make the address disappear.
   */
  private isFiltered(
    filtering: WindowsFiltering,
    { packet, headers, source, destination }: LocalPacket,
  ): boolean {
    const netInterface = this.compartment.interfaceOf(destination);
    if (netInterface === undefined || this.compartment.isLocal(source)) return false;
    if (isDiscoveryAt(packet.bytes, headers)) return false;
    return !filtering.receive(packet, headers, netInterface);
  }

  private refuseProtocol(local: LocalPacket): void {
    const { protocol } = local.headers;
    const { filters } = this.compartment.interfaceOf(local.destination) ?? {};
    if (filters !== undefined && !filters.allowedProtocols.includes(protocol)) {
      const text = `the firewall lets no ${ipProtocolName(protocol)} in`;
      this.compartment.drop(local.packet, "host-firewall-protocol-denied", text);
      return;
    }
    this.compartment.drop(
      local.packet,
      "protocol-unknown",
      `nothing takes IP protocol ${ipProtocolName(protocol)}`,
    );
    this.compartment.icmp.sendError(local.packet, "protocol-unreachable");
  }
}

/** The source as it stands in the packet: INPUT may have put back what it was before a translation. */
function sourceOf({ packet, headers }: LocalPacket): Ip {
  return sourceIp(packet.bytes, headers);
}

/**
 * Forwarding is a property of the interface that a packet comes in by (docs: dataplane.md §5.2). A packet that came as
 * an Ethernet broadcast is not routed on (RFC 1812 §5.3.4).
 */
function mayForward(netInterface: StackInterface, packet: Packet): boolean {
  if (!netInterface.isForwarding || netInterface.refusesRouting) return false;
  const ethernet = EthernetView.parse(packet.bytes, packet.start, packet.end);
  return typeof ethernet !== "string" && !isGroupMac(ethernet.destinationMac);
}

/** Ends a packet, and tells its sender where that is due. */
function refuse(compartment: HookedStack, packet: Packet, { code, text, reason, mtuBytes }: Refusal): void {
  compartment.drop(packet, code, text);
  if (reason !== undefined) compartment.icmp.sendError(packet, reason, mtuBytes);
}

/**
 * A router's part: routes a packet on that arrived on `from`; it stays the same object. A sender that cannot be served gets
 * an ICMP error.
 * Inferred: no redirect is sent when the packet leaves where it came from; hosts that took one would route around
 * the next packets' first hop, and nothing is known of pods that do.
 */
function forwardPacket(compartment: HookedStack, from: StackInterface, packet: Packet, view: IpView): void {
  const { ttl, destination } = view;
  const route = compartment.output.routeFor(destination);
  // What connection tracking put together is cut as its sender cut it (net/ipv6/ip6_output.c, frag_max_size).
  const isCut = typeof destination === "bigint" && compartment.netfilter?.handled?.isReassembled === true;
  const refusal = findForwardingRefusal(view, {
    router: compartment.name,
    from,
    route,
    isCut,
    lengthBytes: segmentLength(packet, view.totalLength),
  });
  if (refusal !== undefined) {
    refuse(compartment, packet, refusal);
    return;
  }
  const way = defined(route, "a packet without a route is refused");
  const nextHop = way.nextHop ?? destination;
  decrementIpTtl(packet.bytes, view.start);
  if (!compartment.passHooks(packet, way.interface, nextHop)) return;
  const limit = nameOfLimit(destination);
  const text =
    packet.tag === 0 ? "" : `from ${from.name} by route ${formatRoute(way)}, ${limit} ${ttl} to ${ttl - 1}`;
  const outgoing = { packet, kind: "forward", text } as const;
  compartment.output.emit(outgoing, way.interface, nextHop, way.interface.mtuBytes);
}

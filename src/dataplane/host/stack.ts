/**
 * An IP stack as its own parts see it: `Compartment` and `Interface` are these, and the parts, which they own, know no
 * more of them.
 */
import type { Environment } from "#core/base/environment.ts";
import type { Prng } from "#core/base/prng.ts";
import type { PacketTag, Provenance } from "#core/base/recorder.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { InterfaceAddress, Ip, Ipv6, Prefix } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { NextHopWaiter } from "../vfp/actions/next-hop.ts";
import type { IpFields } from "#core/wire/build-frame.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { IpView } from "#core/wire/ip-view.ts";
import type { MalformedReason } from "#core/wire/malformed.ts";
import type { NdView } from "#core/wire/icmpv6/nd.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { SentPacket, DeliveryFailure, FailureReason } from "./delivery-failure.ts";
import type { DropCounters } from "./drop-counters.ts";
import type { ProblemReport } from "./ip/extension-headers.ts";
import type { LocalPorts, PortClaims } from "./local-ports.ts";
import type { StackProfile } from "./stack-profile.ts";
import type { FilterProgram } from "./windows-filtering/filter-program.ts";

/** What the resolver of a compartment is told (HNS `Dns`, CNI `dns`). */
export interface DnsSettings {
  readonly domain: string;
  readonly search: readonly string[];
  readonly servers: readonly Ip[];
  /** Words of resolv.conf's `options`, as `ndots:5`. Windows reads none of them. */
  readonly options?: readonly string[];
  /** Windows asks for a single label as it is: AllowUnqualifiedDNSQuery of a container's document. Default false. */
  readonly asksSingleLabels?: boolean;
}

/** A packet whose next hop is known, with what a trace says about it when it leaves. */
export interface OutgoingPacket {
  readonly packet: Packet;
  /** `send`: made here. `forward`: routed. */
  readonly kind: "send" | "forward";
  /** Empty unless the packet is followed. */
  readonly text: string;
  /** The section of the reference that says that this step is inferred. */
  readonly inferred?: string;
  /** Of IPv6: it is not cut; its sender wants to hear that it is too long. */
  readonly isWhole?: boolean;
  /** Goes back into the bridge that it came over: its sender's MAC stays. */
  readonly isBridged?: boolean;
}

/** A bridge that an interface of the machine hangs on: takes a frame as if the sender's own port had brought it. */
export interface BridgeSegment {
  inject(packet: Packet): void;
}

/** A route as an administrator gives it. */
export interface RouteOptions {
  readonly prefix: Prefix;
  /** The router to ask; absent: the destinations are neighbours on the interface. */
  readonly nextHop?: Ip;
  readonly interface: StackInterface;
  /** The interface's own metric is added when routes compete. */
  readonly metric: number;
  /** Source address for what is sent along this route; absent: chosen among the interface's addresses. */
  readonly source?: Ip;
  /** Windows: it stands in the registry as well (`route -p add`). */
  readonly isPersistent?: boolean;
}

/** A route in the table. */
export interface Route extends RouteOptions {
  /** `address`: implied by an address of the interface; it leaves with the address. */
  readonly origin: "static" | "address";
}

/** The way of packets from here to one destination. */
export interface Path {
  readonly source: Ip;
  readonly destination: Ip;
  /** Undefined for destinations of this compartment itself. */
  readonly route: Route | undefined;
  readonly nextHop: Ip;
  /** The largest IP packet that is known to pass. */
  readonly mtuBytes: number;
  /** The section of the reference that says that this choice of the source address is inferred. */
  readonly inferred?: string;
}

/** What a transport asks of the IP header. */
export interface HeaderOptions {
  readonly isDontFragment: boolean;
  /** Default: the system's. */
  readonly ttl?: number;
  /** Default 0. */
  readonly dscp?: number;
  /** Default 0. */
  readonly ecn?: number;
}

/** A packet for this stack: whole, with its headers and addresses. */
export interface LocalPacket {
  readonly packet: Packet;
  readonly headers: Headers;
  readonly source: Ip;
  readonly destination: Ip;
  /** Sent to all hosts on the subnet, or to a group: nothing may be answered with an ICMP error. */
  readonly isBroadcast: boolean;
  /** Undefined when this compartment sent it to itself. */
  readonly netInterface: StackInterface | undefined;
}

/** Who is on an interface's link. */
export interface LinkNeighbors {
  send(ip: Ip, outgoing: OutgoingPacket): void;
  resolve(ip: Ip, waiter: NextHopWaiter): Mac | "pending" | "unreachable";
  macOf(ip: Ip): Mac | undefined;
  answersFor(ip: Ip): boolean;
  learn(ip: Ip, mac: Mac, isNewTaken: boolean): void;
}

/** IPv6 on an interface's link. */
export interface LinkIpv6 {
  hopLimit: number | undefined;
  mtuBytes: number | undefined;
  readonly answers: { ask(group: Ipv6, maxResponseMs: number): void };
  readonly advertiser: { answer(): void } | undefined;
  readonly discovery: { receive(packet: Packet, source: Ipv6, view: NdView): void } | undefined;
  stateOf(ip: Ip): "tentative" | "optimistic" | "duplicate" | undefined;
  makeAddress(prefix: Ipv6): Ipv6;
  contest(ip: Ipv6): boolean;
  listensTo(group: Ip): boolean;
  isDeprecated(ip: Ip): boolean;
}

/** An interface of the stack. */
export interface StackInterface {
  readonly name: string;
  readonly mac: Mac;
  readonly metric: number;
  readonly mtuBytes: number;
  /** As of its device. */
  readonly carriesSuperFrames: boolean;
  readonly isForwarding: boolean;
  readonly refusesRouting: boolean;
  readonly isProxyArp: boolean;
  readonly bridge: BridgeSegment | undefined;
  readonly filters: FilterProgram | undefined;
  readonly neighbors: LinkNeighbors;
  readonly ipv6: LinkIpv6;
  readonly addresses: readonly InterfaceAddress[];
  readonly usableAddresses: readonly InterfaceAddress[];
  hasAddress(ip: Ip): boolean;
  isAssigned(ip: Ip): boolean;
  linkLocal(): Ipv6;
  isSubnetBroadcast(ip: Ip): boolean;
  transmit(outgoing: OutgoingPacket, destinationMac: Mac): void;
  transmitFrame(packet: Packet): void;
  describe(): string;
}

/** The sending side of IP. */
export interface StackOutput {
  findPath(destination: Ip, source?: Ip, link?: StackInterface): Path | undefined;
  routeFor(destination: Ip): Route | undefined;
  header(path: Path, options: HeaderOptions): IpFields;
  ttlOf(path: Path): number;
  send(packet: Packet, chosen: Path, isWhole?: boolean): boolean;
  emit(outgoing: OutgoingPacket, netInterface: StackInterface, nextHop: Ip, mtuBytes: number): boolean;
  fragment(packet: Packet, view: IpView, mtuBytes: number): readonly Packet[];
  learnPathMtu(destination: Ip, mtuBytes: number): void;
  isBroadcast(netInterface: StackInterface, ip: Ip): boolean;
}

/** TCP or UDP. */
export interface StackTransport {
  readonly ports: LocalPorts;
  receive(local: LocalPacket): void;
  fail(sent: SentPacket, failure: DeliveryFailure): void;
}

export interface StackIcmp {
  receive(local: LocalPacket): void;
  sendError(packet: Packet, reason: FailureReason, mtuBytes?: number): void;
  sendProblem(packet: Packet, report: ProblemReport, link: StackInterface | undefined): void;
}

/** The stack as a whole. What its members mean stands at `Compartment`. */
export interface Stack {
  readonly id: number;
  readonly node: string;
  readonly env: Environment;
  readonly name: string;
  readonly profile: StackProfile;
  readonly prng: Prng;
  readonly drops: DropCounters;
  readonly output: StackOutput;
  readonly icmp: StackIcmp;
  readonly udp: StackTransport;
  readonly tcp: StackTransport;
  readonly portClaims: PortClaims;
  readonly dns: DnsSettings;
  readonly refusesSockets: boolean;
  readonly nowMs: number;
  readonly answerTag: PacketTag;
  /** The tag of a packet that a program sends of its own accord; `given`: what the program asks for. */
  requestTag(given?: PacketTag): PacketTag;
  listInterfaces(): readonly StackInterface[];
  interfaceOf(ip: Ip): StackInterface | undefined;
  addAddress(netInterface: StackInterface, address: InterfaceAddress): void;
  removeAddress(netInterface: StackInterface, ip: Ip): void;
  addRoute(options: RouteOptions): void;
  removeRoute(options: Pick<RouteOptions, "prefix" | "nextHop" | "interface">): boolean;
  learnServers(netInterface: StackInterface, servers: readonly Ip[]): void;
  isLocal(ip: Ip): boolean;
  servesAddress(netInterface: StackInterface, ip: Ip): boolean;
  sourceFor(netInterface: StackInterface, destination: Ip, nextHop: Ip): Ip | undefined;
  receive(netInterface: StackInterface, packet: Packet): void;
  receiveLoopback(packet: Packet): void;
  record(packet: Packet, kind: "send" | "forward" | "deliver", text: string, inferred?: string): void;
  drop(packet: Packet, code: KnowledgeCode, text: string, provenance?: Provenance): void;
  recordTranslation(
    packet: Packet,
    hook: string,
    text: string,
    provenance: Provenance | undefined,
    inferred?: string,
  ): void;
  dropMalformed(packet: Packet, reason: MalformedReason): void;
  neighborFailed(outgoing: OutgoingPacket, text: string): void;
}

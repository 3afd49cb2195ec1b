/**
 * One IP stack of a host: a Windows network compartment, or a Linux network namespace, which is the same thing
 * (docs: dataplane.md §5.1). It owns interfaces, routes, neighbours and sockets; nothing is shared with others.
 */
import { assert } from "#core/base/assert.ts";
import type { Environment } from "#core/base/environment.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { Prng } from "#core/base/prng.ts";
import type { PacketTag, Provenance, TraceEvent } from "#core/base/recorder.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type InterfaceAddress, type Ip, type Prefix, bitsOf, familyOf, prefixOf } from "#core/net/ip.ts";
import { isGroupMac } from "#core/net/mac.ts";
import type { NextHop, NextHopResolver, NextHopWaiter } from "../vfp/actions/next-hop.ts";
import { EtherType, EthernetView } from "#core/wire/ethernet.ts";
import { Headers } from "#core/wire/headers.ts";
import { type MalformedReason, describeMalformed } from "#core/wire/malformed.ts";
import type { Packet } from "#core/wire/packet.ts";
import { VLAN_TAG_BYTES } from "#core/wire/vlan.ts";
import { LINK_LOCAL_PREFIX, isLinkLocal, isLoopback, selectSource } from "./ip/address-scope.ts";
import { type AdvertiserOptions, RouterAdvertiser } from "./autoconfiguration/router-advertiser.ts";
import { RouterDiscovery } from "./autoconfiguration/router-discovery.ts";
import { DropCounters } from "./drop-counters.ts";
import { Icmp } from "./ip/icmp.ts";
import { Interface, type InterfaceOptions } from "./interface.ts";
import type { OutgoingPacket, Route, RouteOptions, DnsSettings, StackInterface } from "./stack.ts";
import { IpInput } from "./ip/ip-input.ts";
import { IpOutput } from "./ip/ip-output.ts";
import { Netfilter } from "./netfilter/netfilter.ts";
import { PortClaims } from "./local-ports.ts";
import { type HostsFile, NO_HOSTS, NameCache } from "./resolver/known-names.ts";
import { resolverSettings } from "./resolver/candidate-names.ts";
import { RouteTable, type SharedRoutes } from "./ip/route-table.ts";
import type { HookedStack } from "./hooked-stack.ts";
import type { StackProfile } from "./stack-profile.ts";
import { Tcp } from "./tcp/tcp.ts";
import { Udp } from "./udp.ts";
import type { FilterProgram } from "./windows-filtering/filter-program.ts";
import { WindowsFiltering } from "./windows-filtering/windows-filtering.ts";
import { WinNat } from "./winnat/win-nat.ts";

const NO_DNS: DnsSettings = Object.freeze({
  domain: "",
  search: Object.freeze([]),
  servers: Object.freeze([]),
});

/** What `Host` gives a new compartment. */
export interface CompartmentOptions {
  readonly id: number;
  readonly name: string;
  /** The host's name. */
  readonly node: string;
  readonly profile: StackProfile;
  readonly prng: Prng;
}

export class Compartment implements HookedStack, NextHopResolver {
  /** 1 for the host itself. */
  readonly id: number;
  /** What a trace calls it: `host`, `pod default/web`. */
  name: string;
  readonly node: string;
  readonly env: Environment;
  readonly profile: StackProfile;
  /** Chance of this compartment alone. */
  readonly prng: Prng;
  readonly drops: DropCounters = new DropCounters();
  readonly output: IpOutput;
  readonly icmp: Icmp;
  readonly udp: Udp;
  readonly tcp: Tcp;
  /** Ports of own addresses that are served below the stack. */
  readonly portClaims: PortClaims = new PortClaims();
  /** A known defect: programs get no sockets (docs: dataplane.md §9, F-27). */
  refusesSockets = false;
  /** A known defect: the resolver answers no program until then, by the clock (docs: dataplane.md §9, F-45). */
  namesFailUntilMs = 0;
  /** What the resolver remembers. */
  readonly nameCache: NameCache = new NameCache();
  /** What `etc\\hosts`, or `/etc/hosts`, says. */
  hosts: HostsFile = NO_HOSTS;
  /** Sends a gratuitous ARP request for each address that is added. Default: what the system does. */
  isAddressAnnounced: boolean;
  /** Connection tracking, translation and filters; undefined while the machine has none. */
  netfilter: Netfilter | undefined;
  /** Address translation of a Windows host; undefined while no network is behind it. */
  winNat: WinNat | undefined;
  /** Filters and redirections of Windows; undefined while no interface has any. */
  filtering: WindowsFiltering | undefined;
  /** Of the whole machine: `/etc/resolv.conf`, or on Windows `Tcpip\\Parameters`. */
  private machineNames: DnsSettings = NO_DNS;
  private readonly interfaces: Interface[] = [];
  private readonly routes = new RouteTable();
  private readonly input: IpInput;
  private isForwardingByDefault = false;
  /** Tag of the packet that is being handled: what is sent meanwhile answers it. */
  private cause: PacketTag = 0;
  /** A trace follows what its programs send: the first packet of each connection, each datagram, each echo request. */
  isFollowed = false;

  /** Made by `Host` only. */
  constructor(env: Environment, options: CompartmentOptions) {
    this.env = env;
    this.id = options.id;
    this.name = options.name;
    this.node = options.node;
    this.profile = options.profile;
    this.isAddressAnnounced = options.profile.isAddressAnnounced;
    this.prng = options.prng;
    this.output = new IpOutput(this, this.routes);
    this.input = new IpInput(this);
    this.icmp = new Icmp(this);
    this.udp = new Udp(this);
    this.tcp = new Tcp(this);
  }

  get nowMs(): number {
    return this.env.clock.nowMs;
  }

  /** What the resolver is told. On Windows the registry says it: keys of the interfaces, and that of the machine. */
  get dns(): DnsSettings {
    return this.profile.os === "windows"
      ? resolverSettings(this.machineNames, this.interfaces)
      : this.machineNames;
  }

  /** The part of it that belongs to no interface. */
  get namesOfMachine(): DnsSettings {
    return this.machineNames;
  }

  /** Replaces the part that belongs to no interface. */
  set dns(settings: DnsSettings) {
    this.machineNames = settings;
  }

  /** Servers that a DHCP server or a router told of; what was configured comes first, and here nothing else is asked then. */
  learnServers(netInterface: Interface, servers: readonly Ip[]): void {
    if (servers.length === 0 || this.dns.servers.length > 0) return;
    if (this.profile.os === "windows")
      netInterface.names = { configured: netInterface.names?.configured, learned: servers };
    else this.dns = { ...this.machineNames, servers };
  }

  /** The tag of an answer that is sent now: 2 while a packet with tag 1 is handled. */
  get answerTag(): PacketTag {
    return this.cause === 1 ? 2 : 0;
  }

  requestTag(given: PacketTag = 0): PacketTag {
    return given === 0 && this.isFollowed && this.cause !== 1 ? 1 : given;
  }

  /** Connection tracking with its rules, switched on when first asked for. Linux only. */
  enableNetfilter(): Netfilter {
    assert(this.profile.os === "linux", "netfilter is a part of Linux");
    this.netfilter ??= new Netfilter(this);
    return this.netfilter;
  }

  /** Address translation for networks behind the host, switched on when first asked for. Windows only. */
  enableWinNat(): WinNat {
    assert(this.profile.os === "windows", "WinNAT is a part of Windows");
    this.winNat ??= new WinNat(this);
    return this.winNat;
  }

  /** What WFP does with an interface's packets and connections from now on. Windows only. */
  setFilters(netInterface: Interface, program: FilterProgram | undefined): void {
    assert(this.profile.os === "windows", "the Windows Filtering Platform is a part of Windows");
    netInterface.filters = program;
    const isActive = program !== undefined && program.groups.length + program.redirections.length > 0;
    if (isActive) this.filtering ??= new WindowsFiltering(this);
    if (program === undefined) this.filtering?.forget(netInterface);
    else this.filtering?.setFilters(netInterface, program);
  }

  addInterface(options: InterfaceOptions): Interface {
    assert(!isGroupMac(options.mac), "an interface has a unicast MAC");
    const netInterface = new Interface(this, options, options.isForwarding ?? this.isForwardingByDefault);
    this.interfaces.push(netInterface);
    return netInterface;
  }

  /** Takes the interface away with its addresses, routes and neighbours. */
  removeInterface(netInterface: Interface): void {
    const index = this.interfaces.indexOf(netInterface);
    assert(index >= 0, "a removed interface belongs to the compartment");
    this.interfaces.splice(index, 1);
    this.routes.removeInterface(netInterface);
    this.filtering?.forget(netInterface);
    netInterface.neighbors.clear();
    netInterface.ipv6.clear();
    netInterface.isAttached = false;
  }

  listInterfaces(): readonly Interface[] {
    return this.interfaces;
  }

  /** The interface of that name; undefined when there is none. */
  getInterface(name: string): Interface | undefined {
    return this.interfaces.find((netInterface) => netInterface.name === name);
  }

  /** Turns forwarding on or off on all interfaces, and on those to come (Linux' `net.ipv4.ip_forward`). */
  setForwarding(isEnabled: boolean): void {
    this.isForwardingByDefault = isEnabled;
    for (const netInterface of this.interfaces) netInterface.isForwarding = isEnabled;
  }

  /** Adds an address and the on-link route of its prefix. An address that is there already is left as it is. */
  addAddress(netInterface: Interface, address: InterfaceAddress): void {
    if (netInterface.isAssigned(address.ip)) return;
    if (typeof address.ip === "bigint") this.enableIpv6(netInterface);
    netInterface.assign(address);
    if (address.length < bitsOf(familyOf(address.ip)))
      this.routes.add(this.impliedRoute(netInterface, address));
    if (typeof address.ip === "bigint") netInterface.ipv6.check(address.ip);
    else if (this.isAddressAnnounced) netInterface.neighbors.announce(address.ip);
  }

  /** The first IPv6 address of an interface brings its link-local one. */
  private enableIpv6(netInterface: Interface): void {
    if (netInterface.ipv6.isEnabled) return;
    netInterface.ipv6.isEnabled = true;
    this.addAddress(netInterface, {
      ip: netInterface.ipv6.makeLinkLocal(),
      length: LINK_LOCAL_PREFIX.length,
    });
  }

  /** Finds routers on the interface's link, and makes addresses of what they advertise (RFC 4861, RFC 4862). */
  discoverRouters(netInterface: Interface): void {
    if (netInterface.ipv6.discovery !== undefined) return;
    netInterface.ipv6.discovery = new RouterDiscovery(this, netInterface);
    this.enableIpv6(netInterface);
    netInterface.ipv6.discovery.start();
  }

  /** Tells the interface's link that this is a router, and which prefixes there are. It forwards, and has an address. */
  advertiseRouter(netInterface: Interface, options: AdvertiserOptions): void {
    assert(netInterface.ipv6.isEnabled && netInterface.isForwarding, "a router of IPv6 advertises itself");
    netInterface.ipv6.advertiser?.stop();
    netInterface.ipv6.advertiser = new RouterAdvertiser(this, netInterface, options);
    netInterface.ipv6.advertiser.start();
  }

  /** Removes an address; its on-link route stays as long as another address of the interface implies it. */
  removeAddress(netInterface: Interface, ip: Ip): void {
    const address = netInterface.unassign(ip);
    if (address === undefined) return;
    netInterface.ipv6.forget(ip);
    const route = this.impliedRoute(netInterface, address);
    this.routes.remove(route, "address");
    for (const other of netInterface.addresses)
      if (other.length < bitsOf(familyOf(other.ip))) this.routes.add(this.impliedRoute(netInterface, other));
  }

  /** Adds a static route; one with the same prefix, next hop and interface is replaced. */
  addRoute(options: RouteOptions): void {
    this.routes.add({ ...options, origin: "static" });
  }

  /** Adds static routes that other machines have, too; none leads over the machine itself, which is `self`. */
  addSharedRoutes(routes: SharedRoutes, over: { interface: Interface; metric: number; self: Ip }): void {
    this.routes.addShared({ routes, ...over });
  }

  /** @returns false when there is no such static route. */
  removeRoute(options: Pick<RouteOptions, "prefix" | "nextHop" | "interface">): boolean {
    return this.routes.remove(options, "static");
  }

  /** Changes the metric of an interface, which is added to that of each route over it. */
  setMetric(netInterface: Interface, metric: number): void {
    netInterface.metric = metric;
    for (const route of this.routes.list()) if (route.interface === netInterface) this.routes.add(route);
  }

  /** Static routes and those that addresses imply, most specific first. */
  listRoutes(): readonly Route[] {
    return this.routes.list();
  }

  /** The routes with exactly this prefix, the best first. */
  routesTo(prefix: Prefix): readonly Route[] {
    return this.routes.to(prefix);
  }

  /** True for the addresses of all interfaces and for 127.0.0.0/8 and ::1. */
  isLocal(ip: Ip): boolean {
    return isLoopback(ip) || this.interfaces.some((netInterface) => netInterface.hasAddress(ip));
  }

  /** True when packets to `ip` that arrive on `netInterface` are for this stack: see `StackProfile.hostModel`. */
  servesAddress(netInterface: StackInterface, ip: Ip): boolean {
    if (netInterface.hasAddress(ip)) return true;
    return this.profile.hostModel === "weak" && !isLoopback(ip) && !isLinkLocal(ip) && this.isLocal(ip);
  }

  /** The source address for packets over `netInterface`. */
  sourceFor(netInterface: StackInterface, destination: Ip, nextHop: Ip): Ip | undefined {
    return selectSource(this.profile.os, netInterface.usableAddresses, {
      destination,
      nextHop,
      isDeprecated: (ip) => netInterface.ipv6.isDeprecated(ip),
    });
  }

  /** The interface that carries `ip`; undefined when none does. */
  interfaceOf(ip: Ip): Interface | undefined {
    return this.interfaces.find((netInterface) => netInterface.hasAddress(ip));
  }

  /**
   * The next hop towards `destination` by this compartment's routes and neighbours. An own address is its own next
   * hop: the frame goes to the interface that has it.
   */
  resolve(destination: Ip, waiter: NextHopWaiter): NextHop | "pending" | "unreachable" {
    const own = this.interfaceOf(destination);
    if (own !== undefined) return { sourceMac: own.mac, destinationMac: own.mac };
    const route = this.routes.lookup(destination);
    if (route === undefined) return "unreachable";
    const nextHop = route.nextHop ?? destination;
    const mac = route.interface.neighbors.resolve(nextHop, waiter);
    return typeof mac === "string" ? mac : { sourceMac: route.interface.mac, destinationMac: mac };
  }

  /** Takes a frame from an interface. */
  receive(netInterface: Interface, packet: Packet): void {
    const before = this.cause;
    this.cause = packet.tag;
    this.classify(netInterface, packet);
    this.cause = before;
  }

  /** Takes a packet that this compartment sent to itself. */
  receiveLoopback(packet: Packet): void {
    const before = this.cause;
    this.cause = packet.tag;
    this.input.receive(undefined, packet);
    this.cause = before;
  }

  private classify(netInterface: Interface, packet: Packet): void {
    if (packet.length > LIMITS.frameBytesMax) {
      this.drop(
        packet,
        "malformed-frame",
        `a frame of ${packet.length} bytes is longer than ${LIMITS.frameBytesMax}`,
      );
      return;
    }
    const headers = new Headers();
    const reason = headers.parse(packet);
    if (reason !== undefined) {
      this.dropMalformed(packet, reason);
      return;
    }
    const ethernet = EthernetView.parse(packet.bytes, packet.start, packet.end);
    assert(typeof ethernet !== "string", "a parsed frame has an Ethernet header");
    const destinationMac = ethernet.destinationMac;
    if (destinationMac !== netInterface.mac && !isGroupMac(destinationMac)) {
      this.drop(packet, "mac-not-local", `the frame is not for ${netInterface.describe()}`);
      return;
    }
    if (headers.vlan !== 0) {
      this.drop(packet, "mac-not-local", `${netInterface.name} takes no frames of VLAN ${headers.vlan}`);
      return;
    }
    // Behind a priority may stand another tag, which says a VLAN, or nothing that this stack could take.
    if (headers.isTagged && headers.etherType === EtherType.vlan) {
      this.drop(packet, "mac-not-local", `${netInterface.name} takes no frames with two tags`);
      return;
    }
    if (headers.isTagged) removeTag(packet, headers);
    switch (headers.etherType) {
      case EtherType.arp:
        netInterface.neighbors.receive(packet, headers.network);
        return;
      case EtherType.ipv4:
        this.input.receive(netInterface, packet);
        return;
      case EtherType.ipv6:
        if (netInterface.ipv6.isEnabled) this.input.receive(netInterface, packet);
        else this.drop(packet, "ipv6-not-carried", `${netInterface.name} has no IPv6 address`);
        return;
      default:
        this.drop(packet, "protocol-unknown", `nothing takes ethertype 0x${headers.etherType.toString(16)}`);
    }
  }

  /** Ends everything: sockets silently to their peers, then the interfaces. */
  close(): void {
    this.tcp.close();
    for (const netInterface of this.interfaces.slice()) this.removeInterface(netInterface);
  }

  /** Tells a trace what this stack did with a followed packet. */
  record(packet: Packet, kind: "send" | "forward" | "deliver", text: string, inferred?: string): void {
    if (packet.tag === 0) return;
    const event = { kind, node: this.node, place: this.name, compartment: this.id, text };
    this.tell(packet, inferred === undefined ? event : { ...event, inferred });
  }

  /** Counts a packet that ends here, and tells a trace; `provenance` is that of the rule that ended it. */
  drop(packet: Packet, code: KnowledgeCode, text: string, provenance?: Provenance): void {
    this.drops.add(code);
    if (packet.tag === 0) return;
    const event = { kind: "drop", node: this.node, place: this.name, code, text } as const;
    this.tell(packet, provenance === undefined ? event : { ...event, provenance });
  }

  /** Tells a trace that an address or port of a followed packet was changed. */
  recordTranslation(
    packet: Packet,
    hook: string,
    text: string,
    provenance: Provenance | undefined,
    inferred?: string,
  ): void {
    const { node, name: place, id: compartment } = this;
    const bare = { kind: "translate", node, place, compartment, hook, text } as const;
    const event = inferred === undefined ? bare : { ...bare, inferred };
    this.tell(packet, provenance === undefined ? event : { ...event, provenance });
  }

  private tell(packet: Packet, event: TraceEvent): void {
    this.env.recorder?.record(packet.tag, event, packet.frame, this.nowMs);
  }

  dropMalformed(packet: Packet, reason: MalformedReason): void {
    this.drop(packet, "malformed-frame", describeMalformed(reason));
  }

  /** A next hop did not answer: the sender hears of it, here or over the network. */
  neighborFailed(outgoing: OutgoingPacket, text: string): void {
    this.drop(outgoing.packet, "neighbor-unresolved", text);
    if (outgoing.kind === "forward") this.icmp.sendError(outgoing.packet, "host-unreachable");
    else this.icmp.reportOwnPacket(outgoing.packet, "host-unreachable");
  }

  /** FORWARD and POSTROUTING, or WinNAT, for the packet that is being routed. @returns false when a rule ended it. */
  passHooks(packet: Packet, out: StackInterface, nextHop: Ip): boolean {
    const { netfilter } = this;
    if (typeof nextHop === "number" && this.winNat?.forward(packet, out, nextHop) === false) return false;
    const handled = netfilter?.handled;
    if (netfilter === undefined || handled === undefined) return true;
    const { headers, tracked } = handled;
    return (
      netfilter.forward(packet, headers, tracked) &&
      netfilter.postrouting(packet, headers, tracked, out, nextHop)
    );
  }

  private impliedRoute(netInterface: Interface, address: InterfaceAddress): Route {
    const prefix = prefixOf(address.ip, address.length);
    return { prefix, interface: netInterface, metric: this.profile.onLinkMetric, origin: "address" };
  }
}

/** Takes the 802.1Q tag of VLAN 0 out, which says a priority only. */
function removeTag(packet: Packet, headers: Headers): void {
  packet.bytes.copyWithin(packet.start + VLAN_TAG_BYTES, packet.start, packet.start + 12);
  packet.start += VLAN_TAG_BYTES;
  if (packet.outerBytes > 0) packet.outerBytes -= VLAN_TAG_BYTES;
  assert(headers.parse(packet) === undefined, "a frame stays well formed without its tag");
}

/**
 * A host finds its routers and makes itself addresses (RFC 4861 §6.3, RFC 4862 §5.5). Both systems do the same; Windows
 * makes the last 64 bits of an address at random where Linux takes the MAC. Inferred: on Windows they are the same bits for
 * all prefixes of an interface, as for its link-local address.
 */
import type { Stack, StackInterface } from "../stack.ts";
import type { Task, Timer } from "#core/base/clock.ts";
import type { Prng } from "#core/base/prng.ts";
import {
  ANY_IPV6,
  type Ip,
  type Ipv6,
  type Prefix,
  formatIp,
  formatPrefix,
  isMulticastIp,
} from "#core/net/ip.ts";
import { buildNdFrame } from "#core/wire/build-frame.ts";
import { multicastMac } from "#core/wire/ethernet.ts";
import type { NdOption } from "#core/wire/icmpv6/nd-options.ts";
import { ND_HOP_LIMIT, type NdView } from "#core/wire/icmpv6/nd.ts";
import type { Packet } from "#core/wire/packet.ts";
import { ALL_ROUTERS, UNSPECIFIED, isLinkLocal } from "../ip/address-scope.ts";

/** MAX_RTR_SOLICITATION_DELAY, RTR_SOLICITATION_INTERVAL, MAX_RTR_SOLICITATIONS. */
const FIRST_DELAY_MAX_MS = 1_000;
const INTERVAL_MS = 4_000;
const TRIES_MAX = 3;
/** The 64 bits that a host adds (RFC 4291 §2.5.1). */
const PREFIX_LENGTH = 64;
const FOR_EVER = 0xffff_ffff;
/** RFC 4862 §5.5.3 e: nobody shortens a lifetime below two hours. */
const TWO_HOURS_MS = 7_200_000;
const MTU_MIN = 1_280;
/** Linux' `max_addresses`; more would only come from somebody who floods the link. */
const PREFIXES_MAX = 16;
const ROUTERS_MAX = 16;
/** Windows: what it gives a gateway; Linux: IP6_RT_PRIO_USER. */
const ROUTE_METRICS = Object.freeze({ windows: 256, linux: 1_024 });

type PrefixInformation = Extract<NdOption, { kind: "prefix-information" }>;

interface KnownPrefix {
  readonly prefix: Prefix;
  /** Undefined: its neighbours are reached, and no address was made. */
  readonly ip: Ipv6 | undefined;
  /** It has a route of its own: no address implies one. */
  readonly isRouted: boolean;
  validUntilMs: number;
  preferredUntilMs: number;
}

/** Looks at what has run out. */
class Expiry implements Task {
  private readonly discovery: RouterDiscovery;

  constructor(discovery: RouterDiscovery) {
    this.discovery = discovery;
  }

  run(): void {
    this.discovery.expire();
  }
}

export class RouterDiscovery implements Task {
  private readonly compartment: Stack;
  private readonly netInterface: StackInterface;
  private readonly prng: Prng;
  /** Until when a router is a way out. */
  private readonly routers = new Map<Ipv6, number>();
  private readonly prefixes = new Map<string, KnownPrefix>();
  private tries = 0;
  private timer: Timer | undefined;
  private expiry: Timer | undefined;

  /** Made by `Compartment.discoverRouters` only. */
  constructor(compartment: Stack, netInterface: StackInterface) {
    this.compartment = compartment;
    this.netInterface = netInterface;
    this.prng = compartment.prng.derive(`router-discovery/${netInterface.name}`);
  }

  /** Begins to ask. */
  start(): void {
    this.timer = this.compartment.env.clock.schedule(this.prng.below(FIRST_DELAY_MAX_MS), this);
  }

  /** Asks, again where nobody answered. */
  run(): void {
    this.timer = undefined;
    this.tries++;
    this.solicit();
    if (this.tries < TRIES_MAX) this.timer = this.compartment.env.clock.schedule(INTERVAL_MS, this);
  }

  /** Asks no more and forgets; addresses and routes go with the interface. */
  stop(): void {
    for (const timer of [this.timer, this.expiry])
      if (timer !== undefined) this.compartment.env.clock.cancel(timer);
    this.timer = undefined;
    this.expiry = undefined;
  }

  /** True for an address that is only for what uses it already. */
  isDeprecated(ip: Ip): boolean {
    const { nowMs } = this.compartment;
    for (const known of this.prefixes.values()) if (known.ip === ip) return known.preferredUntilMs <= nowMs;
    return false;
  }

  /** Takes an advertisement of the router `source`. */
  receive(packet: Packet, source: Ipv6, view: NdView): void {
    const { compartment, netInterface } = this;
    if (view.lifetimeSeconds > 0) {
      if (!this.routers.has(source) && this.routers.size >= ROUTERS_MAX) {
        this.refuse(packet, `${ROUTERS_MAX} routers are known`);
        return;
      }
      if (this.timer !== undefined) compartment.env.clock.cancel(this.timer);
      this.timer = undefined;
    }
    compartment.record(packet, "deliver", `router advertisement of ${formatIp(source)}`);
    if (view.sourceMac !== undefined) netInterface.neighbors.learn(source, view.sourceMac, true);
    if (view.hopLimit !== 0) netInterface.ipv6.hopLimit = view.hopLimit;
    this.setRouter(source, view.lifetimeSeconds);
    for (const option of view.options) {
      if (option.kind === "prefix-information") this.takePrefix(packet, option);
      else if (option.kind === "mtu") this.takeMtu(option.mtuBytes);
      else if (option.kind === "recursive-dns-servers") this.takeServers(option.servers);
    }
    this.watch();
  }

  /** Called by the timer: what nobody renewed goes. */
  expire(): void {
    this.expiry = undefined;
    const { nowMs } = this.compartment;
    for (const [router, untilMs] of this.routers) if (untilMs <= nowMs) this.dropRouter(router);
    for (const [key, known] of this.prefixes) if (known.validUntilMs <= nowMs) this.dropPrefix(key, known);
    this.watch();
  }

  private solicit(): void {
    const { netInterface } = this;
    const own = netInterface.linkLocal();
    const isOwn = netInterface.ipv6.stateOf(own) === undefined;
    netInterface.transmitFrame(
      buildNdFrame({
        link: { sourceMac: netInterface.mac, destinationMac: multicastMac(ALL_ROUTERS) },
        ip: {
          source: isOwn ? own : UNSPECIFIED,
          destination: ALL_ROUTERS,
          ttl: ND_HOP_LIMIT,
          identification: 0,
          isDontFragment: false,
        },
        nd: {
          type: "router-solicitation",
          options: isOwn ? [{ kind: "source-link-layer", mac: netInterface.mac }] : [],
        },
      }),
    );
  }

  private refuse(packet: Packet, why: string): void {
    this.compartment.drop(packet, "router-advertisement-refused", `more than this host takes: ${why}`);
  }

  private untilMs(seconds: number): number {
    return seconds === FOR_EVER ? Number.POSITIVE_INFINITY : this.compartment.nowMs + seconds * 1_000;
  }

  private get metric(): number {
    return ROUTE_METRICS[this.compartment.profile.os];
  }

  private setRouter(router: Ipv6, seconds: number): void {
    if (seconds === 0) {
      this.dropRouter(router);
      return;
    }
    if (!this.routers.has(router))
      this.compartment.addRoute({
        prefix: ANY_IPV6,
        nextHop: router,
        interface: this.netInterface,
        metric: this.metric,
      });
    this.routers.set(router, this.untilMs(seconds));
  }

  private dropRouter(router: Ipv6): void {
    if (!this.routers.delete(router)) return;
    this.compartment.removeRoute({ prefix: ANY_IPV6, nextHop: router, interface: this.netInterface });
  }

  private takePrefix(packet: Packet, option: PrefixInformation): void {
    const { prefix, isOnLink, validSeconds, preferredSeconds } = option;
    const isAutonomous = option.isAutonomous && prefix.length === PREFIX_LENGTH;
    // Linux refuses those of groups as well (net/ipv6/addrconf.c, addrconf_prefix_rcv).
    const isStrange = isLinkLocal(prefix.address) || isMulticastIp(prefix.address);
    if (isStrange || preferredSeconds > validSeconds || !(isOnLink || isAutonomous)) return;
    const key = formatPrefix(prefix);
    const known = this.prefixes.get(key);
    if (known === undefined) {
      if (validSeconds === 0) return;
      if (this.prefixes.size >= PREFIXES_MAX) this.refuse(packet, `${PREFIXES_MAX} prefixes are known`);
      else this.addPrefix(key, option, isAutonomous);
      return;
    }
    known.preferredUntilMs = this.untilMs(preferredSeconds);
    known.validUntilMs = this.lifetimeAfter(known, validSeconds);
    if (known.validUntilMs <= this.compartment.nowMs) this.dropPrefix(key, known);
  }

  private addPrefix(key: string, option: PrefixInformation, isAutonomous: boolean): void {
    const { prefix, isOnLink, validSeconds, preferredSeconds } = option;
    const { netInterface } = this;
    const isRouted = isOnLink && !isAutonomous;
    const ip = isAutonomous ? netInterface.ipv6.makeAddress(prefix.address as Ipv6) : undefined;
    this.prefixes.set(key, {
      prefix,
      // One that was given by hand stays what it is.
      ip: ip === undefined || netInterface.isAssigned(ip) ? undefined : ip,
      isRouted,
      validUntilMs: this.untilMs(validSeconds),
      preferredUntilMs: this.untilMs(preferredSeconds),
    });
    // RFC 4861 §6.3.4: only the flag says that neighbours are on the link.
    if (isRouted) this.compartment.addRoute({ prefix, interface: netInterface, metric: this.metric });
    if (ip !== undefined)
      this.compartment.addAddress(netInterface, { ip, length: isOnLink ? PREFIX_LENGTH : 128 });
  }

  /** RFC 4862 §5.5.3 e: an address does not lose its life to one forged message; a prefix without one may. */
  private lifetimeAfter(known: KnownPrefix, seconds: number): number {
    const wanted = this.untilMs(seconds);
    if (known.ip === undefined) return wanted;
    const { nowMs } = this.compartment;
    const remaining = known.validUntilMs - nowMs;
    if (wanted > nowMs + TWO_HOURS_MS || wanted > known.validUntilMs) return wanted;
    return remaining <= TWO_HOURS_MS ? known.validUntilMs : nowMs + TWO_HOURS_MS;
  }

  private dropPrefix(key: string, known: KnownPrefix): void {
    this.prefixes.delete(key);
    const { netInterface, compartment } = this;
    if (known.isRouted) compartment.removeRoute({ prefix: known.prefix, interface: netInterface });
    if (known.ip !== undefined) compartment.removeAddress(netInterface, known.ip);
  }

  private takeMtu(mtuBytes: number): void {
    if (mtuBytes >= MTU_MIN && mtuBytes <= this.netInterface.mtuBytes)
      this.netInterface.ipv6.mtuBytes = mtuBytes;
  }

  /** RFC 8106; Windows 10 1703 and later. */
  private takeServers(servers: readonly Ipv6[]): void {
    this.compartment.learnServers(this.netInterface, servers);
  }

  /** One timer for whatever runs out first. */
  private watch(): void {
    const { clock } = this.compartment.env;
    if (this.expiry !== undefined) clock.cancel(this.expiry);
    this.expiry = undefined;
    const ends = [...this.routers.values(), ...[...this.prefixes.values()].map((each) => each.validUntilMs)];
    const first = Math.min(...ends);
    if (Number.isFinite(first)) this.expiry = clock.schedule(first - clock.nowMs, new Expiry(this));
  }
}

/**
 * What IPv6 adds to an interface: a link-local address, the groups it listens to, and the question whether an address
 * is somebody else's already (RFC 4862).
 *
 * IPv6 begins on an interface with its first address, or when it is told to look for routers. Both systems have it on every interface from the start; an
 * interface of a cluster without IPv6 would only send what nobody answers.
 */
import type { Stack, StackInterface } from "../stack.ts";
import type { Task, Timer } from "#core/base/clock.ts";
import { type Ip, type Ipv6, isMulticastIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Prng } from "#core/base/prng.ts";
import { solicitedNodeMulticast } from "#core/wire/icmpv6/nd.ts";
import { ALL_NODES, ALL_ROUTERS, LINK_LOCAL_PREFIX, UNSPECIFIED, isLinkLocal } from "./address-scope.ts";
import {
  ListenerAnswers,
  reportAll,
  reportJoined,
  reportLeft,
} from "../autoconfiguration/listener-reports.ts";
import type { RouterAdvertiser } from "../autoconfiguration/router-advertiser.ts";
import type { RouterDiscovery } from "../autoconfiguration/router-discovery.ts";
import { emitSolicitation } from "./neighbor-discovery.ts";
import type { OperatingSystem } from "../stack-profile.ts";

/** RFC 4862 §5.1, RFC 4861 RetransTimer; DadTransmits is 1 for IPv6 on Windows (`Get-NetIPInterface`) and on Linux. */
const CHECK_MS = 1_000;

/** Of an address that was not there a moment ago. One without a state is in use. */
export type AddressState = "tentative" | "optimistic" | "duplicate";

/** Waits for somebody who has the address already. */
class AddressCheck implements Task {
  timer: Timer | undefined;
  private readonly link: Ipv6Link;
  private readonly ip: Ipv6;

  constructor(link: Ipv6Link, ip: Ipv6) {
    this.link = link;
    this.ip = ip;
  }

  run(): void {
    this.timer = undefined;
    this.link.accept(this.ip);
  }
}

export class Ipv6Link {
  /** Set by the first IPv6 address, or by router discovery. */
  isEnabled = false;
  /** What a router advertised; undefined: the system's own. */
  hopLimit: number | undefined;
  /** What a router advertised; undefined: the interface's. */
  mtuBytes: number | undefined;
  /** The host's side of router discovery; undefined: addresses and routes are given. */
  discovery: RouterDiscovery | undefined;
  /** The router's side; undefined: it tells nobody. */
  advertiser: RouterAdvertiser | undefined;
  private readonly compartment: Stack;
  private readonly netInterface: StackInterface;
  /** Linux' `accept_dad`: asks whether a new address is somebody else's. */
  private readonly isChecking: boolean;
  private readonly states = new Map<Ip, AddressState>();
  private readonly checks = new Map<Ip, AddressCheck>();
  private listenerAnswers: ListenerAnswers | undefined;

  /** Made by `Interface` only. */
  constructor(compartment: Stack, netInterface: StackInterface, isChecking: boolean) {
    this.compartment = compartment;
    this.netInterface = netInterface;
    this.isChecking = isChecking;
  }

  /** Undefined for an address in use and for one that the interface does not have. */
  stateOf(ip: Ip): AddressState | undefined {
    return this.states.get(ip);
  }

  /** True for an address that may be served and sent from (RFC 4429: an optimistic one may). */
  isUsable(ip: Ip): boolean {
    const state = this.states.get(ip);
    return state === undefined || state === "optimistic";
  }

  /** The address that the interface gives itself. */
  makeLinkLocal(): Ipv6 {
    return this.makeAddress(LINK_LOCAL_PREFIX.address as Ipv6);
  }

  /** The address that the interface gives itself behind a prefix of 64 bits. */
  makeAddress(prefix: Ipv6): Ipv6 {
    const { profile, prng } = this.compartment;
    const { mac, name } = this.netInterface;
    return (prefix | interfaceIdentifier(profile.os, mac, prng, name)) as Ipv6;
  }

  /** What routers that ask for groups are answered with. */
  get answers(): ListenerAnswers {
    return (this.listenerAnswers ??= new ListenerAnswers(this.compartment, this.netInterface));
  }

  /** True for an address that is a source only where there is no other (RFC 4862 §5.5.4). */
  isDeprecated(ip: Ip): boolean {
    return this.discovery?.isDeprecated(ip) === true;
  }

  /** Joins the group of `ip`, which was just added, and asks whether somebody has it. Windows uses it meanwhile. */
  check(ip: Ipv6): void {
    if (this.isChecking)
      this.states.set(ip, this.compartment.profile.isNewAddressUsed ? "optimistic" : "tentative");
    reportJoined(this.netInterface, ip);
    if (!this.isChecking) return;
    const check = new AddressCheck(this, ip);
    this.checks.set(ip, check);
    check.timer = this.compartment.env.clock.schedule(CHECK_MS, check);
    emitSolicitation(this.netInterface, ip, { source: UNSPECIFIED, mac: undefined });
  }

  /** Nobody objected. */
  accept(ip: Ipv6): void {
    this.states.delete(ip);
    this.checks.delete(ip);
    if (isLinkLocal(ip)) reportAll(this.netInterface);
  }

  /** Somebody else claims `ip`. @returns true when that ends its use here. */
  contest(ip: Ipv6): boolean {
    if (!this.checks.has(ip)) return false;
    this.stop(ip);
    this.states.set(ip, "duplicate");
    this.compartment.drops.add("ipv6-address-duplicate");
    return true;
  }

  /** The address went. */
  forget(ip: Ip): void {
    this.stop(ip);
    this.states.delete(ip);
    reportLeft(this.netInterface, ip);
  }

  /** The interface goes. */
  clear(): void {
    for (const ip of this.checks.keys()) this.stop(ip);
    this.discovery?.stop();
    this.advertiser?.stop();
    this.listenerAnswers?.stop();
  }

  /** True for groups that the interface listens to (RFC 4291 §2.8). */
  listensTo(group: Ip): boolean {
    if (typeof group !== "bigint" || !isMulticastIp(group) || !this.isEnabled) return false;
    if (group === ALL_NODES || (group === ALL_ROUTERS && this.netInterface.isForwarding)) return true;
    // Who answers for others hears whoever asks for them (net/ipv6/ndisc.c, proxy_ndp).
    if (this.netInterface.isProxyArp && solicitedNodeMulticast(group) === group) return true;
    return this.netInterface.addresses.some(
      ({ ip }) => typeof ip === "bigint" && solicitedNodeMulticast(ip) === group,
    );
  }

  private stop(ip: Ip): void {
    const timer = this.checks.get(ip)?.timer;
    if (timer !== undefined) this.compartment.env.clock.cancel(timer);
    this.checks.delete(ip);
  }
}

/**
 * The last 64 bits of an address that a host makes itself: Linux takes the MAC (RFC 4291 appendix A; addr_gen_mode is
 * 0), Windows random ones (`RandomizeIdentifiers`), the same as long as the interface is there.
 */
function interfaceIdentifier(os: OperatingSystem, mac: Mac, prng: Prng, name: string): Ipv6 {
  if (os === "windows") {
    const random = prng.derive(`interface-identifier/${name}`);
    return ((BigInt(random.nextU32()) << 32n) | BigInt(random.nextU32())) as Ipv6;
  }
  const bits = BigInt(mac) ^ 0x0200_0000_0000n;
  return (((bits >> 24n) << 40n) | 0xff_fe00_0000n | (bits & 0xff_ffffn)) as Ipv6;
}

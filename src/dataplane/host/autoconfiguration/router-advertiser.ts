/**
 * A router tells its link of itself (RFC 4861 §6.2): which prefixes there are, and that it is a way out. Numbers are the
 * defaults of RFC 4861 §6.2.1 and of radvd, which has the hop limit 64.
 */
import type { Stack, StackInterface } from "../stack.ts";
import type { Task, Timer } from "#core/base/clock.ts";
import type { Prng } from "#core/base/prng.ts";
import type { Ipv6, Prefix } from "#core/net/ip.ts";
import { buildNdFrame } from "#core/wire/build-frame.ts";
import { multicastMac } from "#core/wire/ethernet.ts";
import type { NdOption } from "#core/wire/icmpv6/nd-options.ts";
import { ND_HOP_LIMIT } from "#core/wire/icmpv6/nd.ts";
import { ALL_NODES } from "../ip/address-scope.ts";

const INTERVAL_MAX_MS = 600_000;
const INTERVAL_MIN_MS = 198_000;
const ANSWER_DELAY_MAX_MS = 500;
/** MIN_DELAY_BETWEEN_RAS. */
const PAUSE_MS = 3_000;
const HOP_LIMIT = 64;
const ROUTER_SECONDS = 1_800;
const VALID_SECONDS = 2_592_000;
const PREFERRED_SECONDS = 604_800;

export interface AdvertisedPrefix {
  readonly prefix: Prefix;
  /** Hosts make themselves an address in it. Default true. */
  readonly isAutonomous?: boolean;
  readonly isOnLink?: boolean;
  readonly validSeconds?: number;
  readonly preferredSeconds?: number;
}

export interface AdvertiserOptions {
  readonly prefixes: readonly AdvertisedPrefix[];
  /** Default: none is told. */
  readonly mtuBytes?: number;
  readonly dnsServers?: readonly Ipv6[];
}

export class RouterAdvertiser implements Task {
  private readonly compartment: Stack;
  private readonly netInterface: StackInterface;
  private readonly options: AdvertiserOptions;
  private readonly prng: Prng;
  private timer: Timer | undefined;
  private sentAtMs = -PAUSE_MS;

  /** Made by `Compartment.advertiseRouter` only. */
  constructor(compartment: Stack, netInterface: StackInterface, options: AdvertiserOptions) {
    this.compartment = compartment;
    this.netInterface = netInterface;
    this.options = options;
    this.prng = compartment.prng.derive(`router-advertiser/${netInterface.name}`);
  }

  /** The router has been there for long: its first advertisement unasked is one of many. */
  start(): void {
    this.wait(INTERVAL_MIN_MS + this.prng.below(INTERVAL_MAX_MS - INTERVAL_MIN_MS));
  }

  /** Answers a solicitation, to everybody; one advertisement does for all who asked meanwhile. */
  answer(): void {
    const nowMs = this.compartment.nowMs;
    const dueMs = Math.max(nowMs + this.prng.below(ANSWER_DELAY_MAX_MS), this.sentAtMs + PAUSE_MS);
    if (this.timer !== undefined && this.timer.atMs <= dueMs) return;
    this.stop();
    this.wait(dueMs - nowMs);
  }

  run(): void {
    this.timer = undefined;
    this.send();
    this.start();
  }

  stop(): void {
    if (this.timer !== undefined) this.compartment.env.clock.cancel(this.timer);
    this.timer = undefined;
  }

  private wait(ms: number): void {
    this.timer = this.compartment.env.clock.schedule(ms, this);
  }

  private send(): void {
    const { netInterface } = this;
    this.sentAtMs = this.compartment.nowMs;
    const nd = {
      type: "router-advertisement",
      hopLimit: HOP_LIMIT,
      isManaged: false,
      isOtherConfigured: false,
      lifetimeSeconds: ROUTER_SECONDS,
      reachableMs: 0,
      retransmitMs: 0,
      options: this.listOptions(),
    } as const;
    netInterface.transmitFrame(
      buildNdFrame({
        link: { sourceMac: netInterface.mac, destinationMac: multicastMac(ALL_NODES) },
        ip: {
          source: netInterface.linkLocal(),
          destination: ALL_NODES,
          ttl: ND_HOP_LIMIT,
          identification: 0,
          isDontFragment: false,
        },
        nd,
      }),
    );
  }

  private listOptions(): readonly NdOption[] {
    const { prefixes, mtuBytes, dnsServers } = this.options;
    const list: NdOption[] = prefixes.map((each) => ({
      kind: "prefix-information",
      prefix: each.prefix,
      isOnLink: each.isOnLink ?? true,
      isAutonomous: each.isAutonomous ?? true,
      validSeconds: each.validSeconds ?? VALID_SECONDS,
      preferredSeconds: each.preferredSeconds ?? PREFERRED_SECONDS,
    }));
    if (mtuBytes !== undefined) list.push({ kind: "mtu", mtuBytes });
    if (dnsServers !== undefined && dnsServers.length > 0)
      list.push({ kind: "recursive-dns-servers", lifetimeSeconds: ROUTER_SECONDS, servers: dnsServers });
    list.push({ kind: "source-link-layer", mac: this.netInterface.mac });
    return list;
  }
}

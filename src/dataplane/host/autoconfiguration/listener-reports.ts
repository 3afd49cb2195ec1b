/**
 * Tells routers on the link which groups an interface listens to (RFC 3810): when it joins or leaves one, and when it is
 * asked. Windows does so by default, with version 2 (`netsh interface ipv6 show global`: MLD level all, version 3, which
 * is how it counts), and so does Linux. A change is told once; RFC 3810 §6.1 would have it told twice.
 */
import type { Task, Timer } from "#core/base/clock.ts";
import type { Prng } from "#core/base/prng.ts";
import { type Ip, type Ipv6, familyOf } from "#core/net/ip.ts";
import { buildMldFrame } from "#core/wire/build-frame.ts";
import { multicastMac } from "#core/wire/ethernet.ts";
import {
  MLD_HOP_LIMIT,
  MLD_ROUTERS,
  type MldRecord,
  type MldRecordKind,
  parseMld,
} from "#core/wire/icmpv6/mld.ts";
import { solicitedNodeMulticast } from "#core/wire/icmpv6/nd.ts";
import { readTtl } from "#core/wire/ip-view.ts";
import { ALL_ROUTERS, UNSPECIFIED, isLinkLocal } from "../ip/address-scope.ts";
import type { LocalPacket, Stack, StackInterface } from "../stack.ts";

/** The groups of the interface that are told of: all but ff02::1 (RFC 3810 §6). */
function groupsOf(netInterface: StackInterface): readonly Ipv6[] {
  const groups = new Set<Ipv6>();
  for (const { ip } of netInterface.addresses)
    if (typeof ip === "bigint") groups.add(solicitedNodeMulticast(ip));
  if (netInterface.isForwarding) groups.add(ALL_ROUTERS);
  return [...groups];
}

/** RFC 3590: the link-local address once nobody else has it, until then none. */
function sourceOf(netInterface: StackInterface): Ipv6 {
  const own = netInterface.linkLocal();
  return netInterface.ipv6.stateOf(own) === undefined ? own : UNSPECIFIED;
}

function report(netInterface: StackInterface, kind: MldRecordKind, groups: readonly Ipv6[]): void {
  if (groups.length === 0) return;
  const records = groups.map((group): MldRecord => ({ kind, group, sources: [] }));
  netInterface.transmitFrame(
    buildMldFrame({
      link: { sourceMac: netInterface.mac, destinationMac: multicastMac(MLD_ROUTERS) },
      source: sourceOf(netInterface),
      destination: MLD_ROUTERS,
      mld: { type: "report", records },
    }),
  );
}

/** True when another address of the interface is in the group of `ip`, too. */
function isShared(netInterface: StackInterface, ip: Ipv6): boolean {
  const group = solicitedNodeMulticast(ip);
  return netInterface.addresses.some(
    (other) => other.ip !== ip && typeof other.ip === "bigint" && solicitedNodeMulticast(other.ip) === group,
  );
}

/** `ip` was added: its group was joined before anything is sent about it (RFC 4862 §5.4.2). */
export function reportJoined(netInterface: StackInterface, ip: Ipv6): void {
  if (!isShared(netInterface, ip)) report(netInterface, "to-exclude", [solicitedNodeMulticast(ip)]);
}

/** `ip` went. */
export function reportLeft(netInterface: StackInterface, ip: Ip): void {
  if (typeof ip === "bigint" && familyOf(ip) === 6 && !isShared(netInterface, ip))
    report(netInterface, "to-include", [solicitedNodeMulticast(ip)]);
}

/** The link-local address is the interface's own: what was told without a source is told again (RFC 3590 §4). */
export function reportAll(netInterface: StackInterface): void {
  report(netInterface, "to-exclude", groupsOf(netInterface));
}

/** Waits its random time, so that not everybody on the link answers at once. */
export class ListenerAnswers implements Task {
  private readonly netInterface: StackInterface;
  private readonly compartment: Stack;
  private readonly prng: Prng;
  private timer: Timer | undefined;
  /** Undefined: all. */
  private asked: Set<Ipv6> | undefined = new Set();

  constructor(compartment: Stack, netInterface: StackInterface) {
    this.compartment = compartment;
    this.netInterface = netInterface;
    this.prng = compartment.prng.derive(`listener-reports/${netInterface.name}`);
  }

  /** Somebody asks who listens to `group`; `::`: to any. One answer does for all; the first due decides when. */
  ask(group: Ipv6, maxResponseMs: number): void {
    if (group === UNSPECIFIED) this.asked = undefined;
    else if (!groupsOf(this.netInterface).includes(group)) return;
    else this.asked?.add(group);
    const { clock } = this.compartment.env;
    const waitMs = this.prng.below(maxResponseMs + 1);
    if (this.timer !== undefined && this.timer.atMs <= clock.nowMs + waitMs) return;
    this.stop();
    this.timer = clock.schedule(waitMs, this);
  }

  run(): void {
    this.timer = undefined;
    const { asked } = this;
    this.asked = new Set();
    const groups = groupsOf(this.netInterface);
    report(
      this.netInterface,
      "is-exclude",
      asked === undefined ? groups : groups.filter((each) => asked.has(each)),
    );
  }

  stop(): void {
    if (this.timer !== undefined) this.compartment.env.clock.cancel(this.timer);
    this.timer = undefined;
  }
}

/** Takes a message of listener discovery. Reports are for routers that forward groups, and none here does. */
export function receiveListenerMessage(compartment: Stack, local: LocalPacket): void {
  const { packet, headers, netInterface, source } = local;
  const message = parseMld(packet.bytes, headers.transport, headers.end);
  if (typeof message === "string") {
    compartment.dropMalformed(packet, message);
    return;
  }
  // RFC 3810 §5.1.14: a query comes from a router on the link.
  const isFromLink = isLinkLocal(source) && readTtl(packet.bytes, headers) === MLD_HOP_LIMIT;
  if (message?.type !== "query" || netInterface === undefined || !isFromLink) return;
  compartment.record(packet, "deliver", "multicast listener query");
  netInterface.ipv6.answers.ask(message.group, message.maxResponseMs);
}

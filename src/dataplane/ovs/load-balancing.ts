/**
 * Load balancing in logical flows: the back end of a new connection, sessions that stay with theirs, and back ends that reach
 * themselves (ovn-sb(5), `ct_lb_mark`, `chk_lb_hairpin`, `ct_snat_to_vip`, `commit_lb_aff`, `chk_lb_aff`).
 *
 * Inferred: which back end a connection gets is a hash of its addresses and ports, as in Open vSwitch, whose function and
 * seed are its own affair.
 */
import { Prng } from "#core/base/prng.ts";
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import { ipProtocolName } from "#core/wire/ip-protocol.ts";
import { readTuple } from "../host/netfilter/tuple.ts";
import type { Chassis } from "./chassis.ts";
import type { Translation } from "./connection-tracking.ts";
import type { Argument } from "./language/actions.ts";
import { optionText } from "./language/call-options.ts";
import type { FieldBits } from "./language/match.ts";
import type { LogicalNetwork } from "./logical-network.ts";
import type { PacketState } from "./packet-state.ts";

/** An address with the port behind it. */
export interface SocketAddress {
  readonly ip: Ip;
  readonly port: number | undefined;
}

/** `10.0.0.1:80`, `[fd00::1]:80`, or an address alone. */
export function parseSocketAddress(text: string): SocketAddress | undefined {
  const end = text.lastIndexOf(":");
  const hasPort = text.startsWith("[") ? text.charAt(end - 1) === "]" : text.indexOf(":") === end && end > 0;
  const host = hasPort ? text.slice(0, end) : text;
  const ip = parseIp(host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host);
  const port = hasPort ? Number(text.slice(end + 1)) : undefined;
  return ip === undefined || (port !== undefined && !Number.isInteger(port)) ? undefined : { ip, port };
}

function protocolName(protocol: number): string {
  return ipProtocolName(protocol).toLowerCase();
}

function formatSocket({ ip, port }: SocketAddress): string {
  return port === undefined ? formatIp(ip) : formatSocketAddress(ip, port);
}

function backEndsOf(args: readonly Argument[], isIpv6: boolean): readonly SocketAddress[] {
  const named = args.flatMap((each) =>
    each.kind === "option" && each.name === "backends" ? each.values : [],
  );
  // OVN of before 2021 wrote the back ends without a name in front.
  const all = named.length > 0 ? named : args;
  return all.flatMap((each) => {
    if (each.kind === "constant" && each.mask === undefined)
      return [{ ip: (isIpv6 ? each.value : Number(each.value)) as Ip, port: undefined }];
    const address = each.kind === "text" ? parseSocketAddress(each.text) : undefined;
    return address === undefined ? [] : [address];
  });
}

/** A place among `count` that the same connection always gets. */
export function placeByHash(state: PacketState, count: number): number {
  const tuple = readTuple(state.fields.packet.bytes, state.fields.headers);
  const { protocol = 0, source = 0, sourcePort = 0, destination = 0, destinationPort = 0 } = tuple ?? {};
  return new Prng(`${protocol} ${source} ${sourcePort} ${destination} ${destinationPort}`).below(count);
}

/** What hashes the fields that `hash_fields` names. */
function placeByFields(state: PacketState, fields: string, count: number): number {
  const names = fields.split(",").map((name) => name.trim());
  const isIpv6 = state.fields.family === 6;
  const read = (base: string, width: number): bigint => state.read({ base, low: 0, width });
  const values = names.map((name) => {
    const [layer = "", end = ""] = name.split("_");
    if (layer === "eth") return read(`eth.${end}`, 48);
    if (layer === "ip" || layer === "ipv6") return read(`ip${isIpv6 ? 6 : 4}.${end}`, isIpv6 ? 128 : 32);
    return read(`${layer === "tp" ? protocolName(state.fields.headers.protocol) : layer}.${end}`, 16);
  });
  return new Prng(values.join(" ")).below(count);
}

/** What `ct_lb` and `ct_lb_mark` do with a new connection. */
export interface Balanced {
  readonly translation: Translation | undefined;
  /** Flags beside the connection: `natted`, `skip_snat`, `force_snat`. */
  readonly flags: readonly string[];
  readonly backEnd: string | undefined;
}

/** Chooses a back end; `translation` is undefined when none is of the packet's family. */
export function chooseBackEnd(state: PacketState, args: readonly Argument[]): Balanced {
  const isIpv6 = state.fields.family === 6;
  const all = backEndsOf(args, isIpv6).filter(({ ip }) => (typeof ip === "bigint") === isIpv6);
  const hashed = optionText(args, "hash_fields");
  const place =
    hashed === undefined
      ? placeByHash(state, all.length || 1)
      : placeByFields(state, hashed, all.length || 1);
  const chosen = all[place];
  const named = args.flatMap((each) =>
    each.kind === "text"
      ? [each.text]
      : each.kind === "option" && each.name === "ct_flag"
        ? each.values.flatMap((value) => (value.kind === "text" ? [value.text] : []))
        : [],
  );
  const flags = ["natted", ...named.filter((text) => text === "skip_snat" || text === "force_snat")];
  if (chosen === undefined) return { translation: undefined, flags, backEnd: undefined };
  return {
    translation: { side: "destination", ip: chosen.ip, port: chosen.port },
    flags,
    backEnd: formatSocket(chosen),
  };
}

/** Where packets of a connection go that has its back end already; undefined for its answers, and without one. */
export function keptBackEnd(state: PacketState): string | undefined {
  const { connection, direction } = state.tracking?.tracked ?? {};
  if (connection === undefined || direction !== "original") return undefined;
  if (!connection.isTranslated("original", "destination")) return undefined;
  const { destination: ip, destinationPort: port } = connection.targetOf("original");
  return formatSocket({ ip, port });
}

/** The source that a back end's traffic to itself gets: that of the load balancer, or the address of its service. */
export function hairpinSource(network: LogicalNetwork, vip: SocketAddress, protocol: string): Ip {
  const key = formatSocket(vip);
  const balancer = network.loadBalancers.find((each) => each.vips.has(key) && each.protocol === protocol);
  const own = (balancer?.options.get("hairpin_snat_ip") ?? "")
    .split(" ")
    .map((text) => parseIp(text))
    .find((ip) => ip !== undefined && typeof ip === typeof vip.ip);
  return own ?? vip.ip;
}

/** The service that the tracked connection of a packet was made to. */
function serviceOf(state: PacketState): SocketAddress | undefined {
  const connection = state.tracking?.tracked.connection;
  if (connection === undefined) return undefined;
  const hasTranslated = ((connection.mark | connection.label) & 2n) !== 0n;
  const { destination, destinationPort } = connection.original;
  return hasTranslated ? { ip: destination, port: destinationPort } : undefined;
}

/** The translation of `ct_snat_to_vip`. */
export function snatToVip(network: LogicalNetwork, state: PacketState): Translation | undefined {
  const vip = serviceOf(state);
  if (vip === undefined) return undefined;
  const protocol = protocolName(state.fields.headers.protocol);
  return { side: "source", ip: hairpinSource(network, vip, protocol), port: undefined };
}

/** `chk_lb_hairpin`: a back end was chosen for itself. Its answers are expected from then on. */
export function checkHairpin(network: LogicalNetwork, chassis: Chassis, state: PacketState): boolean {
  const tuple = readTuple(state.fields.packet.bytes, state.fields.headers);
  const vip = serviceOf(state);
  if (tuple === undefined || vip === undefined || tuple.source !== tuple.destination) return false;
  const protocol = protocolName(tuple.protocol);
  const source = hairpinSource(network, vip, protocol);
  chassis.expectHairpin(
    `${state.datapath} ${protocol} ${tuple.destination} ${tuple.destinationPort} ${source}`,
  );
  return true;
}

/** `chk_lb_hairpin_reply`. */
export function checkHairpinReply(chassis: Chassis, state: PacketState): boolean {
  const tuple = readTuple(state.fields.packet.bytes, state.fields.headers);
  if (tuple === undefined) return false;
  const protocol = protocolName(tuple.protocol);
  return chassis.isHairpin(
    `${state.datapath} ${protocol} ${tuple.source} ${tuple.sourcePort} ${tuple.destination}`,
  );
}

function sessionKey(state: PacketState, client: Ip, service: string, protocol: string): string {
  return `${state.datapath} ${client} ${service} ${protocol}`;
}

/** `commit_lb_aff`: the client stays with this back end. */
export function commitAffinity(chassis: Chassis, state: PacketState, args: readonly Argument[]): void {
  const tuple = readTuple(state.fields.packet.bytes, state.fields.headers);
  const [vip, backEnd] = [optionText(args, "vip"), optionText(args, "backend")];
  if (tuple === undefined || vip === undefined || backEnd === undefined) return;
  const protocol = optionText(args, "proto") ?? protocolName(tuple.protocol);
  const key = sessionKey(state, tuple.source, vip, protocol);
  chassis.keepSession(key, backEnd, Number(optionText(args, "timeout") ?? 0));
}

const AFFINITY_IPV4: FieldBits = { base: "xxreg1", low: 96, width: 32 };
const AFFINITY_PORT: FieldBits = { base: "xreg4", low: 32, width: 16 };

/** `chk_lb_aff`: true for a client that stays with a back end, which is in registers then (lflow.c, `OFTABLE_CHK_LB_AFFINITY`). */
export function checkAffinity(network: LogicalNetwork, chassis: Chassis, state: PacketState): boolean {
  const tuple = readTuple(state.fields.packet.bytes, state.fields.headers);
  if (tuple === undefined) return false;
  const protocol = protocolName(tuple.protocol);
  const services = [
    formatSocket({ ip: tuple.destination, port: tuple.destinationPort }),
    formatIp(tuple.destination),
  ];
  const known = services
    .map((service) => chassis.sessionOf(sessionKey(state, tuple.source, service, protocol)))
    .find((backEnd) => backEnd !== undefined);
  const backEnd = known === undefined ? undefined : parseSocketAddress(known);
  if (backEnd === undefined) return false;
  const isSwitch = network.datapaths.get(state.datapath)?.kind !== "router";
  if (typeof backEnd.ip === "number") state.write(AFFINITY_IPV4, BigInt(backEnd.ip));
  else state.write({ base: isSwitch ? "xxreg0" : "xxreg1", low: 0, width: 128 }, backEnd.ip);
  state.write(AFFINITY_PORT, BigInt(backEnd.port ?? 0));
  return true;
}

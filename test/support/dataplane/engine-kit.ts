/** Small words for tests of the match-action engine: addresses, rules, groups, frames, and what became of them. */
import { defined } from "#core/base/assert.ts";
import { readU16, readU48 } from "#core/base/bytes.ts";
import { type Ip, type Ipv4, type Ipv6, type Prefix, formatIp, parseIp, parsePrefix } from "#core/net/ip.ts";
import { type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import { type Group, createGroup } from "#dataplane/vfp/group.ts";
import type { Action, VfpDirection, GroupDefinition, LayerDefinition, Rule } from "#dataplane/vfp/rule.ts";
import { type Verdict, VfpPort, type VfpPortOptions } from "#dataplane/vfp/vfp-port.ts";
import { buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { TcpFields } from "#core/wire/tcp.ts";

export const ip = (text: string): Ip => defined(parseIp(text), "an address");
export const ip4 = (text: string): Ipv4 => ip(text) as Ipv4;
export const ip6 = (text: string): Ipv6 => ip(text) as Ipv6;
export const mac = (text: string): Mac => defined(parseMac(text), "a MAC");
export const prefix = (text: string): Prefix => defined(parsePrefix(text), "a prefix");

/** The MACs and addresses of dataplane.md §6.10 and §0.4. */
export const MACS: Readonly<Record<"Am" | "Cm" | "W1dr" | "W2dr" | "W1m" | "W2m" | "Rm", Mac>> = {
  Am: mac("0E-2A-0A-F4-01-0A"),
  Cm: mac("0E-2A-0A-F4-02-0A"),
  W1dr: mac("00-15-5D-AA-00-01"),
  W2dr: mac("00-15-5D-AA-00-02"),
  W1m: mac("00-15-5D-00-00-11"),
  W2m: mac("00-15-5D-00-00-12"),
  Rm: mac("52-54-00-00-00-01"),
};
export const W1: Ipv4 = ip4("10.0.0.11");
export const W2: Ipv4 = ip4("10.0.0.12");

export function rule(id: string, action: Action, fields: Partial<Rule> = {}): Rule {
  return {
    id,
    name: id,
    priority: 100,
    condition: {},
    action,
    isTerminating: true,
    isStateful: false,
    provenance: { object: "test", id, name: id },
    ...fields,
  };
}

export function group(rules: readonly Rule[], fields: Partial<GroupDefinition> = {}): Group {
  return createGroup({
    name: "G",
    direction: "out",
    family: 4,
    priority: 1,
    match: "priority",
    rules,
    ...fields,
  });
}

export function layer(
  name: string,
  priority: number,
  fields: Partial<LayerDefinition> = {},
): LayerDefinition {
  return { name, priority, isStateful: true, isDefaultAllow: true, ...fields };
}

export function makePort(layers: readonly LayerDefinition[], options: Partial<VfpPortOptions> = {}): VfpPort {
  return new VfpPort({ id: "p", name: "pod A", node: "win-1", layers, ...options });
}

/** One end of a conversation: address and port. */
export type End = readonly [address: string, port: number];

const LINK = { sourceMac: MACS.Am, destinationMac: MACS.W1dr };

export function tcp(
  from: End,
  to: End,
  flags: number,
  fields: Partial<TcpFields> & { readonly payload?: Uint8Array } = {},
): Packet {
  const { payload, ...own } = fields;
  return buildTcpFrame({
    link: LINK,
    ip: { source: ip(from[0]), destination: ip(to[0]), ttl: 128, identification: 1, isDontFragment: true },
    tcp: {
      sourcePort: from[1],
      destinationPort: to[1],
      sequence: 1,
      acknowledgment: 0,
      flags,
      window: 1_000,
      ...own,
    },
    ...(payload === undefined ? {} : { payload }),
  });
}

export function udp(
  from: End,
  to: End,
  payload: Uint8Array = Uint8Array.of(1),
  checksum: "computed" | "none" = "computed",
): Packet {
  return buildUdpFrame({
    link: LINK,
    ip: { source: ip(from[0]), destination: ip(to[0]), ttl: 128, identification: 1, isDontFragment: false },
    udp: { sourcePort: from[1], destinationPort: to[1] },
    payload,
    checksum,
  });
}

export function headersOf(packet: Packet): Headers {
  const headers = new Headers();
  const reason = headers.parse(packet);
  if (reason !== undefined) throw new Error(reason);
  return headers;
}

export function send(port: VfpPort, direction: VfpDirection, packet: Packet, nowMs = 0): Verdict {
  return port.process(direction, packet, headersOf(packet), nowMs);
}

/** `source:port > destination:port`. */
export function ends(packet: Packet): string {
  const headers = headersOf(packet);
  const [from, to] = [0, 2].map((offset) => readU16(packet.bytes, headers.transport + offset));
  const { bytes } = packet;
  return `${formatIp(sourceIp(bytes, headers))}:${from} > ${formatIp(destinationIp(bytes, headers))}:${to}`;
}

/** `source > destination` of the Ethernet header. */
export function link(packet: Packet): string {
  const at = (offset: number): string => formatMac(readU48(packet.bytes, packet.start + offset) as Mac);
  return `${at(6)} > ${at(0)}`;
}

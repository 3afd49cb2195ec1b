/**
 * The header fields of a frame by name, and the difference of two frames: what a trace prints about a rewrite.
 *
 * Names are those of tshark's display filters where they exist. Fields of the frame inside a tunnel start with `inner.`,
 * those of the packet that an ICMP error quotes with `embedded.` (`inner.embedded.` in both).
 *
 * Texts: MAC addresses as Windows prints them; checksums, ethertypes, flow labels and identifications in hexadecimal;
 * `tcp.flags` by name, other flags as 0 and 1; everything else in decimal. Fragment offsets count bytes (tshark: units of
 * 8), `tcp.options.sack` holds all blocks (tshark: `sack_le`, `sack_re`). A malformed frame gives the fields in front of
 * the broken header, then `malformed` (not a name of tshark) with the reason.
 */
import { formatHex } from "../../base/encodings.ts";
import type { ValueOf } from "../../base/shape.ts";
import { formatIp } from "../../net/ip.ts";
import { formatMac } from "../../net/mac.ts";
import type { ArpView } from "../arp.ts";
import type { EthernetView } from "../ethernet.ts";
import { formatTcpFlags } from "./format-message.ts";
import type { GeneveView } from "../tunnels/geneve.ts";
import type { IcmpView } from "../icmp.ts";
import type { Icmpv6View } from "../icmpv6/icmpv6.ts";
import type { Ipv4View } from "../ipv4.ts";
import type { Ipv6FragmentView, Ipv6View } from "../ipv6.ts";
import { IcmpType, IcmpUnreachable } from "../icmp.ts";
import { Icmpv6Type } from "../icmpv6/icmpv6.ts";
import { type LayerContent, listLayers } from "../layers.ts";
import type { NdView } from "../icmpv6/nd.ts";
import type { SttSegment, SttView } from "../tunnels/stt.ts";
import type { TcpView } from "../tcp.ts";
import { type TcpOption, parseTcpOptions } from "../tcp-options.ts";
import type { UdpView } from "../udp.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** A header field with its value as text. */
export interface FieldValue {
  readonly field: string;
  readonly value: string;
}

/** A field that two frames do not have in common. */
export const FIELD_CHANGE = {
  text: (): string => WORDS.fieldChange,
  fields: {
    field: { is: "text", text: "As packet tools name it: ip.src, tcp.dstport; inner.… behind a tunnel." },
  },
  optional: { before: "text", after: "text" },
} as const;
export type FieldChange = ValueOf<typeof FIELD_CHANGE>;

type Pair = readonly [field: string, value: string | number];

function hex(value: number, digits: number): string {
  return `0x${value.toString(16).padStart(digits, "0")}`;
}

function flag(value: boolean): number {
  return value ? 1 : 0;
}

function ethernetFields(view: EthernetView): Pair[] {
  return [
    ["eth.dst", formatMac(view.destinationMac)],
    ["eth.src", formatMac(view.sourceMac)],
    ["eth.type", hex(view.etherType, 4)],
  ];
}

function arpFields(view: ArpView): Pair[] {
  return [
    ["arp.opcode", view.operation],
    ["arp.src.hw_mac", formatMac(view.senderMac)],
    ["arp.src.proto_ipv4", formatIp(view.senderIp)],
    ["arp.dst.hw_mac", formatMac(view.targetMac)],
    ["arp.dst.proto_ipv4", formatIp(view.targetIp)],
  ];
}

function ipv4Fields(view: Ipv4View): Pair[] {
  return [
    ["ip.hdr_len", view.headerBytes],
    ["ip.dsfield.dscp", view.dscp],
    ["ip.dsfield.ecn", view.ecn],
    ["ip.len", view.totalLength],
    ["ip.id", hex(view.identification, 4)],
    ["ip.flags.df", flag(view.isDontFragment)],
    ["ip.flags.mf", flag(view.hasMoreFragments)],
    ["ip.frag_offset", view.fragmentOffset],
    ["ip.ttl", view.ttl],
    ["ip.proto", view.protocol],
    ["ip.checksum", hex(view.checksum, 4)],
    ["ip.src", formatIp(view.source)],
    ["ip.dst", formatIp(view.destination)],
  ];
}

function ipv6Fields(view: Ipv6View): Pair[] {
  return [
    ["ipv6.tclass.dscp", view.dscp],
    ["ipv6.tclass.ecn", view.ecn],
    ["ipv6.flow", hex(view.flowLabel, 5)],
    ["ipv6.plen", view.payloadLength],
    ["ipv6.nxt", view.nextHeader],
    ["ipv6.hlim", view.hopLimit],
    ["ipv6.src", formatIp(view.source)],
    ["ipv6.dst", formatIp(view.destination)],
  ];
}

function fragmentFields(view: Ipv6FragmentView): Pair[] {
  return [
    ["ipv6.fraghdr.nxt", view.nextHeader],
    ["ipv6.fraghdr.offset", view.fragmentOffset],
    ["ipv6.fraghdr.more", flag(view.hasMoreFragments)],
    ["ipv6.fraghdr.ident", hex(view.identification, 8)],
  ];
}

function tcpOptionPairs(option: TcpOption): Pair[] {
  switch (option.kind) {
    case "mss":
      return [["tcp.options.mss_val", option.mssBytes]];
    case "window-scale":
      return [["tcp.options.wscale.shift", option.shift]];
    case "sack-permitted":
      return [["tcp.options.sack_perm", 1]];
    case "sack":
      return [["tcp.options.sack", option.blocks.map(({ left, right }) => `${left}-${right}`).join(" ")]];
    case "timestamps":
      return [
        ["tcp.options.timestamp.tsval", option.value],
        ["tcp.options.timestamp.tsecr", option.echo],
      ];
    case "nop":
    case "unknown":
      return [];
  }
}

/** The options that are read; of one that occurs twice the first. */
function tcpOptionFields(view: TcpView): Pair[] {
  const options = parseTcpOptions(view.options);
  if (typeof options === "string") return [["malformed", options]];
  const pairs = new Map<string, Pair>();
  for (const pair of options.flatMap((option) => tcpOptionPairs(option))) {
    if (!pairs.has(pair[0])) pairs.set(pair[0], pair);
  }
  return [...pairs.values()];
}

function tcpFields(view: TcpView): Pair[] {
  return [
    ["tcp.srcport", view.sourcePort],
    ["tcp.dstport", view.destinationPort],
    ["tcp.seq_raw", view.sequence],
    ["tcp.ack_raw", view.acknowledgment],
    ["tcp.hdr_len", view.headerBytes],
    ["tcp.flags", formatTcpFlags(view.flags)],
    ["tcp.window_size_value", view.window],
    ["tcp.checksum", hex(view.checksum, 4)],
    ["tcp.urgent_pointer", view.urgentPointer],
    ...tcpOptionFields(view),
    ["tcp.len", view.payloadLength],
  ];
}

function udpFields(view: UdpView): Pair[] {
  return [
    ["udp.srcport", view.sourcePort],
    ["udp.dstport", view.destinationPort],
    ["udp.length", view.length],
    ["udp.checksum", hex(view.checksum, 4)],
  ];
}

function icmpFields(view: IcmpView): Pair[] {
  const pairs: Pair[] = [
    ["icmp.type", view.type],
    ["icmp.code", view.code],
    ["icmp.checksum", hex(view.checksum, 4)],
  ];
  if (view.isEcho) pairs.push(["icmp.ident", view.identifier], ["icmp.seq", view.sequence]);
  if (view.type === IcmpType.destinationUnreachable && view.code === IcmpUnreachable.fragmentationNeeded) {
    pairs.push(["icmp.mtu", view.mtuBytes]);
  }
  return pairs;
}

function icmpv6Fields(view: Icmpv6View): Pair[] {
  const pairs: Pair[] = [
    ["icmpv6.type", view.type],
    ["icmpv6.code", view.code],
    ["icmpv6.checksum", hex(view.checksum, 4)],
  ];
  if (view.isEcho) {
    pairs.push(["icmpv6.echo.identifier", view.identifier], ["icmpv6.echo.sequence_number", view.sequence]);
  }
  if (view.type === Icmpv6Type.packetTooBig) pairs.push(["icmpv6.mtu", view.mtuBytes]);
  return pairs;
}

function ndFields(view: NdView): Pair[] {
  const pairs: Pair[] = [];
  if (view.type === Icmpv6Type.neighborSolicitation) {
    pairs.push(["icmpv6.nd.ns.target_address", formatIp(view.target)]);
  }
  if (view.type === Icmpv6Type.neighborAdvertisement) {
    pairs.push(
      ["icmpv6.nd.na.flag.r", flag(view.isRouter)],
      ["icmpv6.nd.na.flag.s", flag(view.isSolicited)],
      ["icmpv6.nd.na.flag.o", flag(view.isOverride)],
      ["icmpv6.nd.na.target_address", formatIp(view.target)],
    );
  }
  const { sourceMac, targetMac } = view;
  if (sourceMac !== undefined) pairs.push(["icmpv6.opt.src_linkaddr", formatMac(sourceMac)]);
  if (targetMac !== undefined) pairs.push(["icmpv6.opt.target_linkaddr", formatMac(targetMac)]);
  return pairs;
}

function geneveFields(view: GeneveView): Pair[] {
  const pairs: Pair[] = [
    ["geneve.flags.oam", flag(view.isControl)],
    ["geneve.flags.critical", flag(view.hasCriticalOptions)],
    ["geneve.proto_type", hex(view.protocolType, 4)],
    ["geneve.vni", hex(view.vni, 6)],
  ];
  // A name occurs once: of several options the first is listed.
  const [first] = view.listOptions();
  if (first === undefined) return pairs;
  return [
    ...pairs,
    ["geneve.option.class", hex(first.optionClass, 4)],
    ["geneve.option.type", hex(first.type, 2)],
    ["geneve.option.unknown.data", formatHex(first.data)],
  ];
}

function sttFields(segment: SttSegment, view: SttView | undefined): Pair[] {
  const pairs: Pair[] = [
    ["stt.pkt_len", segment.frameBytes],
    ["stt.seg_off", segment.offset],
    ["stt.pkt_id", hex(segment.packetId, 8)],
  ];
  if (view === undefined) return pairs;
  return [
    ...pairs,
    ["stt.flags", hex(view.flags, 2)],
    ["stt.l4offset", view.layer4Offset],
    ["stt.mss", view.mssBytes],
    ["stt.vlan", hex(view.vlanTag, 4)],
    ["stt.context_id", `0x${view.contextId.toString(16).padStart(16, "0")}`],
  ];
}

function layerFields(layer: LayerContent): Pair[] {
  switch (layer.kind) {
    case "ethernet":
      return ethernetFields(layer.view);
    case "vlan":
      return [
        ["vlan.priority", layer.view.priority],
        ["vlan.dei", flag(layer.view.isDropEligible)],
        ["vlan.id", layer.view.id],
        ["vlan.etype", hex(layer.view.etherType, 4)],
      ];
    case "arp":
      return arpFields(layer.view);
    case "ipv4":
      return ipv4Fields(layer.view);
    case "ipv6":
      return ipv6Fields(layer.view);
    case "ipv6-extension":
      return [];
    case "ipv6-fragment":
      return fragmentFields(layer.view);
    case "tcp":
      return tcpFields(layer.view);
    case "tcp-start":
      return [
        ["tcp.srcport", layer.view.sourcePort],
        ["tcp.dstport", layer.view.destinationPort],
        ["tcp.seq_raw", layer.view.sequence],
      ];
    case "udp":
      return udpFields(layer.view);
    case "icmp":
      return icmpFields(layer.view);
    case "icmpv6":
      return icmpv6Fields(layer.view);
    case "nd":
      return ndFields(layer.view);
    case "vxlan":
      return [["vxlan.vni", layer.view.vni]];
    case "geneve":
      return geneveFields(layer.view);
    case "nvgre":
      return [["gre.key", hex(layer.view.virtualSubnetId * 0x100 + layer.view.flowId, 8)]];
    case "stt":
      return sttFields(layer.segment, layer.view);
    case "malformed":
      return [["malformed", layer.reason]];
  }
}

/** The fields of a frame in their order on the wire. A name occurs once. Any bytes may be given. */
export function listFields(frame: Uint8Array): FieldValue[] {
  return listLayers(frame).flatMap((layer) =>
    layerFields(layer).map(([field, value]) => ({ field: `${layer.prefix}${field}`, value: String(value) })),
  );
}

/** How many tunnels deep the fields go. */
function depthOf(fields: readonly FieldValue[]): number {
  let depth = 0;
  const start = /^(?:inner\.)*/;
  for (const { field } of fields)
    depth = Math.max(depth, (start.exec(field)?.[0].length ?? 0) / "inner.".length);
  return depth;
}

/** The fields by name, with `levels` tunnels put in front. */
function byName(fields: readonly FieldValue[], levels: number): Map<string, string> {
  const prefix = "inner.".repeat(Math.max(0, levels));
  return new Map(fields.map(({ field, value }) => [`${prefix}${field}`, value]));
}

/**
 * What differs between two field lists of one packet. When one of them lies deeper in tunnels, the packet was
 * encapsulated or decapsulated between them: the outer headers then count as added or gone, the inner ones are compared
 * with each other, and all names are those of the deeper frame.
 */
export function diffFields(before: readonly FieldValue[], after: readonly FieldValue[]): FieldChange[] {
  const added = depthOf(after) - depthOf(before);
  const old = byName(before, added);
  const now = byName(after, -added);
  const changes: FieldChange[] = [];
  for (const [field, value] of now) {
    const previous = old.get(field);
    if (previous === undefined) changes.push({ field, after: value });
    else if (previous !== value) changes.push({ field, before: previous, after: value });
  }
  for (const [field, value] of old) if (!now.has(field)) changes.push({ field, before: value });
  return changes;
}

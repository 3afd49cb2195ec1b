/** Headers as text: one line per header, and one short line per frame, the same in traces, tests and commands. */
import { formatHex } from "../../base/encodings.ts";
import { type Ip, formatIp } from "../../net/ip.ts";
import { formatSocketAddress } from "../../net/five-tuple.ts";
import { formatMac } from "../../net/mac.ts";
import {
  formatArp,
  formatIcmp,
  formatIcmpv6,
  formatNd,
  formatTcpFlags,
  formatTcpOptions,
} from "./format-message.ts";
import { etherTypeName } from "../ethernet.ts";
import { ipProtocolName } from "../ip-protocol.ts";
import type { GeneveView } from "../tunnels/geneve.ts";
import type { Ipv4View } from "../ipv4.ts";
import type { Ipv6FragmentView, Ipv6View } from "../ipv6.ts";
import { type Layer, type LayerContent, listLayers } from "../layers.ts";
import { describeMalformed } from "../malformed.ts";
import type { TcpView } from "../tcp.ts";

function hex4(value: number): string {
  return `0x${value.toString(16).padStart(4, "0")}`;
}

/** DSCP and ECN, where they are not zero. */
function formatService(view: Ipv4View | Ipv6View): string {
  return `${view.dscp === 0 ? "" : ` dscp ${view.dscp}`}${view.ecn === 0 ? "" : ` ecn ${view.ecn}`}`;
}

/** Offset and more-fragments flag, where the packet is a fragment. */
function formatFragment(view: Ipv4View | Ipv6FragmentView): string {
  if (view.fragmentOffset === 0 && !view.hasMoreFragments) return "";
  return ` fragment at ${view.fragmentOffset}${view.hasMoreFragments ? ", more follow" : ", last"}`;
}

function formatIpv4Layer(view: Ipv4View): string {
  const options = view.headerBytes > 20 ? ` options ${view.headerBytes - 20} bytes` : "";
  return (
    `IPv4 ${formatIp(view.source)} → ${formatIp(view.destination)} ${ipProtocolName(view.protocol)}` +
    ` ttl ${view.ttl} id ${hex4(view.identification)}${view.isDontFragment ? " DF" : ""}${formatFragment(view)}` +
    `${formatService(view)} length ${view.totalLength} checksum ${hex4(view.checksum)}${options}`
  );
}

function formatIpv6Layer(view: Ipv6View): string {
  const flow = view.flowLabel === 0 ? "" : ` flow 0x${view.flowLabel.toString(16).padStart(5, "0")}`;
  return (
    `IPv6 ${formatIp(view.source)} → ${formatIp(view.destination)} next ${ipProtocolName(view.nextHeader)}` +
    ` hop limit ${view.hopLimit}${formatService(view)}${flow} payload ${view.payloadLength}`
  );
}

function formatTcpLayer(view: TcpView): string {
  const options = view.headerBytes > 20 ? ` options ${formatTcpOptions(view)}` : "";
  const urgent = view.urgentPointer === 0 ? "" : ` urgent ${view.urgentPointer}`;
  return (
    `TCP ${view.sourcePort} → ${view.destinationPort} ${formatTcpFlags(view.flags)} seq ${view.sequence}` +
    ` ack ${view.acknowledgment} window ${view.window}${urgent} checksum ${hex4(view.checksum)}${options}` +
    (view.payloadLength === 0 ? "" : ` payload ${view.payloadLength}`)
  );
}

function formatGeneve(view: GeneveView): string {
  const options = view.listOptions().map(({ optionClass, type, data }) => {
    const name = `${hex4(optionClass)}/0x${type.toString(16).padStart(2, "0")}`;
    return ` option ${name} ${formatHex(data)}`;
  });
  return `GENEVE VNI ${view.vni}${view.isControl ? " control" : ""}${options.join("")}`;
}

function formatLayer(layer: LayerContent): string {
  switch (layer.kind) {
    case "ethernet": {
      const { sourceMac, destinationMac, etherType } = layer.view;
      return `Ethernet ${formatMac(sourceMac)} → ${formatMac(destinationMac)} ${etherTypeName(etherType)}`;
    }
    case "vlan": {
      const { id, priority, isDropEligible, etherType } = layer.view;
      return `802.1Q VLAN ${id} priority ${priority}${isDropEligible ? " drop eligible" : ""} ${etherTypeName(etherType)}`;
    }
    case "arp":
      return `ARP ${formatArp(layer.view)}`;
    case "ipv4":
      return formatIpv4Layer(layer.view);
    case "ipv6":
      return formatIpv6Layer(layer.view);
    case "ipv6-extension":
      return `IPv6 extension ${ipProtocolName(layer.view.type)} ${layer.view.length} bytes`;
    case "ipv6-fragment": {
      const text = formatFragment(layer.view) || " unfragmented";
      return `IPv6 extension fragment id 0x${layer.view.identification.toString(16).padStart(8, "0")}${text}`;
    }
    case "tcp":
      return formatTcpLayer(layer.view);
    case "tcp-start":
      return `TCP ${layer.view.sourcePort} → ${layer.view.destinationPort} seq ${layer.view.sequence}`;
    case "udp": {
      const { sourcePort, destinationPort, length, checksum } = layer.view;
      return `UDP ${sourcePort} → ${destinationPort} length ${length} checksum ${hex4(checksum)}`;
    }
    case "icmp":
      return `ICMP ${formatIcmp(layer.view)} checksum ${hex4(layer.view.checksum)}`;
    case "icmpv6":
      return `ICMPv6 ${formatIcmpv6(layer.view)} checksum ${hex4(layer.view.checksum)}`;
    case "nd":
      return `ND ${formatNd(layer.view)}`;
    case "vxlan":
      return `VXLAN VNI ${layer.view.vni}`;
    case "geneve":
      return formatGeneve(layer.view);
    case "nvgre":
      return `NVGRE VSID ${layer.view.virtualSubnetId} flow ${layer.view.flowId}`;
    case "stt": {
      const { frameBytes, offset, packetId } = layer.segment;
      const context = layer.view === undefined ? "" : ` context 0x${layer.view.contextId.toString(16)}`;
      return `STT packet ${packetId} at ${offset} of ${frameBytes}${context}`;
    }
    case "malformed":
      return `malformed: ${describeMalformed(layer.reason)}`;
  }
}

/** The headers of a frame, one line each, from the outermost to the innermost. Any bytes may be given. */
export function formatFrame(frame: Uint8Array): string[] {
  return listLayers(frame).map((layer) => formatLayer(layer));
}

/** What the short line of a frame is made of, read from the layers of one prefix. */
interface Summary {
  source: Ip | undefined;
  destination: Ip | undefined;
  protocol: string;
  fragment: string;
}

function addresses(summary: Summary): string {
  if (summary.source === undefined || summary.destination === undefined) return "";
  return ` ${formatIp(summary.source)} → ${formatIp(summary.destination)}`;
}

function socketAddresses(summary: Summary, sourcePort: number, destinationPort: number): string {
  if (summary.source === undefined || summary.destination === undefined) return "";
  const source = formatSocketAddress(summary.source, sourcePort);
  return ` ${source} → ${formatSocketAddress(summary.destination, destinationPort)}`;
}

function noteIp(summary: Summary, layer: Layer): void {
  if (layer.kind === "ipv4" || layer.kind === "ipv6") {
    summary.source = layer.view.source;
    summary.destination = layer.view.destination;
    summary.protocol = ipProtocolName(layer.kind === "ipv4" ? layer.view.protocol : layer.view.nextHeader);
  }
  if (layer.kind === "ipv6-extension" || layer.kind === "ipv6-fragment") {
    summary.protocol = ipProtocolName(layer.view.nextHeader);
  }
  if (layer.kind === "ipv4" || layer.kind === "ipv6-fragment") summary.fragment = formatFragment(layer.view);
}

/** The short line of the packet, when `layer` says it; undefined when a later layer has to. */
function describeLayer(summary: Summary, layer: Layer): string | undefined {
  const { fragment } = summary;
  switch (layer.kind) {
    case "arp":
      return `ARP ${formatArp(layer.view)}`;
    case "tcp": {
      const { sourcePort, destinationPort, flags, payloadLength } = layer.view;
      const ports = socketAddresses(summary, sourcePort, destinationPort);
      const payload = payloadLength === 0 ? "" : ` ${payloadLength} bytes`;
      return `TCP${ports} ${formatTcpFlags(flags)}${payload}${fragment}`;
    }
    case "tcp-start":
      return `TCP${socketAddresses(summary, layer.view.sourcePort, layer.view.destinationPort)}`;
    case "udp": {
      const { sourcePort, destinationPort, payloadStart, payloadEnd } = layer.view;
      const ports = socketAddresses(summary, sourcePort, destinationPort);
      return `UDP${ports} ${payloadEnd - payloadStart} bytes${fragment}`;
    }
    case "icmp":
      return `ICMP${addresses(summary)} ${formatIcmp(layer.view)}${fragment}`;
    case "icmpv6":
      return layer.view.isDiscovery
        ? undefined
        : `ICMPv6${addresses(summary)} ${formatIcmpv6(layer.view)}${fragment}`;
    case "nd":
      return `ND ${formatNd(layer.view)}`;
    case "malformed":
      return `malformed frame: ${describeMalformed(layer.reason)}`;
    case "ethernet":
    case "vlan":
    case "ipv4":
    case "ipv6":
    case "ipv6-extension":
    case "ipv6-fragment":
    case "vxlan":
    case "geneve":
    case "nvgre":
    case "stt":
      return undefined;
  }
}

/** The short line for layers none of which says more than its addresses. */
function describeRest(layers: readonly Layer[], summary: Summary, length: number): string {
  if (summary.source !== undefined) return `${summary.protocol}${addresses(summary)}${summary.fragment}`;
  const last = layers.at(-1);
  const type = last?.kind === "ethernet" || last?.kind === "vlan" ? last.view.etherType : 0;
  const ethernet = layers.find((layer) => layer.kind === "ethernet");
  const macs =
    ethernet === undefined
      ? ""
      : ` ${formatMac(ethernet.view.sourceMac)} → ${formatMac(ethernet.view.destinationMac)}`;
  return `${etherTypeName(type)}${macs} ${length} bytes`;
}

/** A tunnel by its name and number; undefined for headers of other kinds. */
function describeTunnel(layer: Layer): string | undefined {
  if (layer.kind === "vxlan") return `VXLAN ${layer.view.vni}`;
  if (layer.kind === "geneve") return `GENEVE ${layer.view.vni}`;
  if (layer.kind === "nvgre") return `NVGRE ${layer.view.virtualSubnetId}`;
  return layer.kind === "stt" ? `STT packet ${layer.segment.packetId}` : undefined;
}

/** The line of the layers from `from` on; an ICMP error adds what it is about, a tunnel what it carries. */
function describeFrom(layers: readonly Layer[], from: number, length: number): string {
  const summary: Summary = { source: undefined, destination: undefined, protocol: "", fragment: "" };
  for (let index = from; index < layers.length; index++) {
    const layer = layers[index];
    if (layer === undefined) break;
    noteIp(summary, layer);
    const tunnel = describeTunnel(layer);
    if (tunnel !== undefined) {
      const carried = index + 1 < layers.length ? ` [${describeFrom(layers, index + 1, length)}]` : "";
      return `${tunnel}${addresses(summary)}${carried}`;
    }
    const next = layers[index + 1];
    const text =
      next !== undefined && describeTunnel(next) !== undefined ? undefined : describeLayer(summary, layer);
    if (text === undefined) continue;
    const isError = (layer.kind === "icmp" || layer.kind === "icmpv6") && layer.view.isError;
    const isQuoting = isError && index + 1 < layers.length && !layer.prefix.includes("embedded.");
    return isQuoting ? `${text} [${describeFrom(layers, index + 1, length)}]` : text;
  }
  return describeRest(layers.slice(from), summary, length);
}

/**
 * One short line for a frame, such as `TCP 10.244.1.10:49200 → 10.244.2.10:8080 SYN`; in brackets what a tunnel carries
 * or an ICMP error is about. Any bytes may be given.
 */
export function describeFrame(frame: Uint8Array): string {
  return describeFrom(listLayers(frame), 0, frame.length);
}

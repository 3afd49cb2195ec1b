/** Every parser of wire formats, each with everything that reads what it found: for fuzzing. */
import { ArpView, toArpRepr } from "#core/wire/arp.ts";
import { formatDns, parseDns } from "#core/wire/dns/dns.ts";
import { EthernetView, toEthernetFields } from "#core/wire/ethernet.ts";
import { diffFields, listFields } from "#core/wire/text/fields.ts";
import { describeFrame, formatFrame } from "#core/wire/text/format.ts";
import { GeneveView, toGeneveFields } from "#core/wire/tunnels/geneve.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { IcmpView, toIcmpRepr } from "#core/wire/icmp.ts";
import { Icmpv6View, toIcmpv6Repr } from "#core/wire/icmpv6/icmpv6.ts";
import { Ipv4View, parseIpv4Options, toIpv4Fields } from "#core/wire/ipv4.ts";
import { Ipv6FragmentView, Ipv6View, listIpv6Extensions, toIpv6Fields } from "#core/wire/ipv6.ts";
import { listLayers } from "#core/wire/layers.ts";
import { parseMld } from "#core/wire/icmpv6/mld.ts";
import { NdView, toNdRepr } from "#core/wire/icmpv6/nd.ts";
import { NvgreView } from "#core/wire/tunnels/nvgre.ts";
import { SttView, toSttFields } from "#core/wire/tunnels/stt.ts";
import { TcpView } from "#core/wire/tcp.ts";
import { TcpOptionKind, findTcpOption, parseTcpOptions } from "#core/wire/tcp-options.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import { UdpView, toUdpFields } from "#core/wire/udp.ts";
import { VlanView, toVlanTag } from "#core/wire/vlan.ts";
import { VxlanView } from "#core/wire/tunnels/vxlan.ts";

/** Parses `bytes[start..end)` and reads everything; the result holds all that was read. */
export type WireParser = (bytes: Uint8Array, start: number, end: number) => unknown;

/** The value of every getter of a view. */
function getters(view: object): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  const prototype = Object.getPrototypeOf(view) as object;
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (property.get !== undefined) values[name] = property.get.call(view) as unknown;
  }
  return values;
}

function readView<View extends object>(view: View | string, more: (view: View) => unknown): unknown {
  return typeof view === "string" ? view : [getters(view), more(view)];
}

function readHeaders(bytes: Uint8Array, headers: Headers, reason: string | undefined): unknown {
  if (reason !== undefined) return reason;
  const addresses = headers.family === 0 ? [] : [sourceIp(bytes, headers), destinationIp(bytes, headers)];
  return [structuredClone(headers), addresses];
}

function readTunnel(bytes: Uint8Array, start: number, end: number): unknown {
  const headers = new Headers();
  if (headers.parseBytes(bytes, start, end) !== undefined) return undefined;
  const tunnel = new TunnelHeaders();
  const reason = tunnel.locate(bytes, headers);
  if (tunnel.kind === undefined) return reason;
  return [tunnel.kind, tunnel.id, tunnel.innerStart, tunnel.innerEnd, structuredClone(tunnel.inner)];
}

export const WIRE_PARSERS: Readonly<Record<string, WireParser>> = {
  TunnelHeaders: readTunnel,
  GeneveView: (bytes, start, end) => readView(GeneveView.parse(bytes, start, end), toGeneveFields),
  NvgreView: (bytes, start, end) => readView(NvgreView.parse(bytes, start, end), () => 0),
  SttView: (bytes, start, end) => readView(SttView.parse(bytes, start, end), toSttFields),
  EthernetView: (bytes, start, end) => readView(EthernetView.parse(bytes, start, end), toEthernetFields),
  VlanView: (bytes, start, end) => readView(VlanView.parse(bytes, start, end), toVlanTag),
  ArpView: (bytes, start, end) => readView(ArpView.parse(bytes, start, end), toArpRepr),
  Ipv4View: (bytes, start, end) => readView(Ipv4View.parse(bytes, start, end), toIpv4Fields),
  "Ipv4View of a quoted packet": (bytes, start, end) =>
    readView(Ipv4View.parse(bytes, start, end, true), toIpv4Fields),
  Ipv6View: (bytes, start, end) => readView(Ipv6View.parse(bytes, start, end), toIpv6Fields),
  Ipv6FragmentView: (bytes, start, end) => readView(Ipv6FragmentView.parse(bytes, start, end), () => 0),
  listIpv6Extensions: (bytes, start, end) => listIpv6Extensions(bytes, start, end),
  parseIpv4Options: (bytes, start, end) => parseIpv4Options(bytes.subarray(start, end)),
  TcpView: (bytes, start, end) =>
    readView(TcpView.parse(bytes, start, end), (view) => [
      parseTcpOptions(view.options),
      findTcpOption(bytes, start, TcpOptionKind.mss),
    ]),
  parseTcpOptions: (bytes, start, end) => parseTcpOptions(bytes.subarray(start, end)),
  UdpView: (bytes, start, end) => readView(UdpView.parse(bytes, start, end), toUdpFields),
  "UdpView of a fragment": (bytes, start, end) =>
    readView(UdpView.parse(bytes, start, end, true), toUdpFields),
  IcmpView: (bytes, start, end) => readView(IcmpView.parse(bytes, start, end), toIcmpRepr),
  Icmpv6View: (bytes, start, end) => readView(Icmpv6View.parse(bytes, start, end), toIcmpv6Repr),
  NdView: (bytes, start, end) => readView(NdView.parse(bytes, start, end), toNdRepr),
  parseMld: (bytes, start, end) => parseMld(bytes, start, end),
  VxlanView: (bytes, start, end) => readView(VxlanView.parse(bytes, start, end), () => 0),
  parseDns: (bytes, start, end) => {
    const message = parseDns(bytes.subarray(start, end));
    return typeof message === "string" ? message : [message, formatDns(message)];
  },
  "Headers.parseBytes": (bytes, start, end) => {
    const headers = new Headers();
    const reason = headers.parseBytes(bytes, start, end);
    return [readHeaders(bytes, headers, reason), reason === undefined ? verifyChecksums(bytes, headers) : 0];
  },
  "Headers.parseEmbedded": (bytes, start, end) => {
    const headers = new Headers();
    return readHeaders(bytes, headers, headers.parseEmbedded(bytes, start, end));
  },
  listLayers: (bytes, start, end) =>
    listLayers(bytes.subarray(start, end)).map(({ kind, prefix }) => [kind, prefix]),
  formatFrame: (bytes, start, end) => formatFrame(bytes.subarray(start, end)),
  describeFrame: (bytes, start, end) => describeFrame(bytes.subarray(start, end)),
  listFields: (bytes, start, end) => {
    const fields = listFields(bytes.subarray(start, end));
    return [fields, diffFields(fields, []), diffFields([], fields)];
  },
};

/**
 * All headers of a frame as a list of views: for formatting, field lists and tests. It allocates and is generous, where
 * `Headers` is fast and strict; both refuse the same frames. A malformed frame gives the headers in front of the
 * broken one and then the reason.
 */
import { readU16, readU32 } from "../base/bytes.ts";
import { ArpView } from "./arp.ts";
import { EtherType, EthernetView } from "./ethernet.ts";
import { IcmpView } from "./icmp.ts";
import { Icmpv6View } from "./icmpv6/icmpv6.ts";
import { IpProtocol } from "./ip-protocol.ts";
import { Ipv4View } from "./ipv4.ts";
import {
  type Ipv6ExtensionPlace,
  Ipv6ExtensionType,
  Ipv6FragmentView,
  Ipv6View,
  listIpv6Extensions,
} from "./ipv6.ts";
import type { MalformedReason } from "./malformed.ts";
import { NdView } from "./icmpv6/nd.ts";
import { TcpView } from "./tcp.ts";
import { UdpView } from "./udp.ts";
import { VlanView } from "./vlan.ts";
import { GENEVE_PORT, GeneveView, TRANSPARENT_ETHERNET } from "./tunnels/geneve.ts";
import { NvgreView } from "./tunnels/nvgre.ts";
import { STT_PORT, SttView, type SttSegment, toSttSegment } from "./tunnels/stt.ts";
import { VXLAN_PORT, VxlanView } from "./tunnels/vxlan.ts";

/** What is here of a TCP header that an ICMP error quotes: its first 8 bytes. */
export interface TcpStart {
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly sequence: number;
}

/** One header. */
export type LayerContent =
  | { readonly kind: "ethernet"; readonly view: EthernetView }
  | { readonly kind: "vlan"; readonly view: VlanView }
  | { readonly kind: "arp"; readonly view: ArpView }
  | { readonly kind: "ipv4"; readonly view: Ipv4View }
  | { readonly kind: "ipv6"; readonly view: Ipv6View }
  | { readonly kind: "ipv6-extension"; readonly view: Ipv6ExtensionPlace }
  | { readonly kind: "ipv6-fragment"; readonly view: Ipv6FragmentView }
  | { readonly kind: "tcp"; readonly view: TcpView }
  | { readonly kind: "tcp-start"; readonly view: TcpStart }
  | { readonly kind: "udp"; readonly view: UdpView }
  | { readonly kind: "icmp"; readonly view: IcmpView }
  | { readonly kind: "icmpv6"; readonly view: Icmpv6View }
  /** Follows the `icmpv6` layer of the same bytes. */
  | { readonly kind: "nd"; readonly view: NdView }
  | { readonly kind: "vxlan"; readonly view: VxlanView }
  | { readonly kind: "geneve"; readonly view: GeneveView }
  | { readonly kind: "nvgre"; readonly view: NvgreView }
  /** Follows the `tcp` layer of the same segment; without `view` the STT header is in another segment. */
  | { readonly kind: "stt"; readonly segment: SttSegment; readonly view: SttView | undefined }
  | { readonly kind: "malformed"; readonly reason: MalformedReason };

/** One header and where it belongs. */
export type Layer = LayerContent & {
  /** Empty for the outermost headers; `inner.` behind a tunnel's header; `embedded.` in the packet that an ICMP error quotes. */
  readonly prefix: string;
};

/** Frames inside frames that are looked into; a deeper tunnel is payload. */
const TUNNELS_MAX = 2;

/** Walks one frame. Every method that reads a header adds it and goes on with what it announces. */
class LayerWalk {
  readonly layers: Layer[] = [];
  private readonly bytes: Uint8Array;
  private prefix = "";
  private tunnels = 0;
  private isEmbedded = false;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  ethernet(start: number, end: number): void {
    const view = EthernetView.parse(this.bytes, start, end);
    if (typeof view === "string") return this.refuse(view);
    this.add({ kind: "ethernet", view });
    if (view.etherType !== EtherType.vlan) return this.network(view.etherType, view.payloadStart, end);
    const tag = VlanView.parse(this.bytes, view.payloadStart, end);
    if (typeof tag === "string") return this.refuse(tag);
    this.add({ kind: "vlan", view: tag });
    return this.network(tag.etherType, tag.payloadStart, end);
  }

  private add(content: LayerContent): void {
    this.layers.push({ ...content, prefix: this.prefix });
  }

  private refuse(reason: MalformedReason): void {
    this.add({ kind: "malformed", reason });
  }

  private network(etherType: number, start: number, end: number): void {
    if (etherType === EtherType.ipv4) return this.ipv4(start, end);
    if (etherType === EtherType.ipv6) return this.ipv6(start, end);
    if (etherType !== EtherType.arp) return undefined;
    const view = ArpView.parse(this.bytes, start, end);
    return typeof view === "string" ? this.refuse(view) : this.add({ kind: "arp", view });
  }

  private ipv4(start: number, end: number): void {
    const view = Ipv4View.parse(this.bytes, start, end, this.isEmbedded);
    if (typeof view === "string") return this.refuse(view);
    this.add({ kind: "ipv4", view });
    if (view.fragmentOffset !== 0) return undefined;
    const { protocol, payloadStart, payloadEnd, hasMoreFragments } = view;
    if (protocol === IpProtocol.icmp) return this.icmp(payloadStart, payloadEnd);
    return this.transport(protocol, payloadStart, payloadEnd, hasMoreFragments);
  }

  private ipv6(start: number, end: number): void {
    const view = Ipv6View.parse(this.bytes, start, end, this.isEmbedded);
    if (typeof view === "string") return this.refuse(view);
    this.add({ kind: "ipv6", view });
    const extensions = listIpv6Extensions(this.bytes, start, view.payloadEnd);
    if (typeof extensions === "string") return this.refuse(extensions);
    let isFragment = false;
    let protocol = view.nextHeader;
    let at = view.payloadStart;
    for (const place of extensions) {
      if (place.type === Ipv6ExtensionType.fragment) {
        const fragment = Ipv6FragmentView.parse(this.bytes, place.start, end);
        if (typeof fragment === "string") return this.refuse(fragment);
        this.add({ kind: "ipv6-fragment", view: fragment });
        if (fragment.fragmentOffset !== 0) return undefined;
        isFragment = fragment.hasMoreFragments;
      } else {
        this.add({ kind: "ipv6-extension", view: place });
      }
      protocol = place.nextHeader;
      at = place.start + place.length;
    }
    if (protocol === IpProtocol.icmpv6) return this.icmpv6(at, view.payloadEnd);
    return this.transport(protocol, at, view.payloadEnd, isFragment);
  }

  private transport(protocol: number, start: number, end: number, isFragment: boolean): void {
    if (protocol === IpProtocol.udp) return this.udp(start, end, isFragment || this.isEmbedded);
    if (protocol === IpProtocol.gre && !isFragment && !this.isEmbedded) return this.gre(start, end);
    if (protocol !== IpProtocol.tcp) return undefined;
    if (this.isEmbedded) return this.tcpStart(start, end);
    const view = TcpView.parse(this.bytes, start, end);
    if (typeof view === "string") return this.refuse(view);
    this.add({ kind: "tcp", view });
    return view.destinationPort === STT_PORT && !isFragment ? this.stt(view) : undefined;
  }

  /** A whole frame in one segment is looked into; what only begins here stays payload. */
  private stt(tcp: TcpView): void {
    const segment = toSttSegment(tcp.sequence, tcp.acknowledgment);
    // A connection to the port of STT has other numbers; nothing else tells it from STT.
    if (segment.offset + tcp.payloadLength > segment.frameBytes || tcp.payloadLength === 0) return undefined;
    if (this.tunnels >= TUNNELS_MAX) return undefined;
    if (segment.offset !== 0) return this.add({ kind: "stt", segment, view: undefined });
    const view = SttView.parse(this.bytes, tcp.payloadStart, tcp.payloadEnd);
    if (typeof view === "string") return undefined;
    this.add({ kind: "stt", segment, view });
    return tcp.payloadLength === segment.frameBytes
      ? this.enterTunnel(view.payloadStart, tcp.payloadEnd)
      : undefined;
  }

  private gre(start: number, end: number): void {
    if (!NvgreView.isNvgre(this.bytes, start, end) || this.tunnels >= TUNNELS_MAX) return undefined;
    const view = NvgreView.parse(this.bytes, start, end);
    if (typeof view === "string") return this.refuse(view);
    this.add({ kind: "nvgre", view });
    return this.enterTunnel(view.payloadStart, end);
  }

  private enterTunnel(start: number, end: number): void {
    this.tunnels++;
    this.prefix += "inner.";
    return this.ethernet(start, end);
  }

  private tcpStart(start: number, end: number): void {
    if (end - start < 8) return this.refuse("tcp-truncated");
    const sourcePort = readU16(this.bytes, start);
    const destinationPort = readU16(this.bytes, start + 2);
    const sequence = readU32(this.bytes, start + 4);
    return this.add({ kind: "tcp-start", view: { sourcePort, destinationPort, sequence } });
  }

  private udp(start: number, end: number, isPartial: boolean): void {
    const view = UdpView.parse(this.bytes, start, end, isPartial);
    if (typeof view === "string") return this.refuse(view);
    this.add({ kind: "udp", view });
    if (isPartial || this.tunnels >= TUNNELS_MAX) return undefined;
    if (view.destinationPort === VXLAN_PORT) return this.vxlan(view);
    return view.destinationPort === GENEVE_PORT ? this.geneve(view) : undefined;
  }

  private vxlan(udp: UdpView): void {
    const view = VxlanView.parse(this.bytes, udp.payloadStart, udp.payloadEnd);
    if (typeof view === "string") return this.refuse(view);
    this.add({ kind: "vxlan", view });
    return this.enterTunnel(view.payloadStart, udp.payloadEnd);
  }

  private geneve(udp: UdpView): void {
    const view = GeneveView.parse(this.bytes, udp.payloadStart, udp.payloadEnd);
    if (typeof view === "string") return this.refuse(view);
    this.add({ kind: "geneve", view });
    if (view.protocolType !== TRANSPARENT_ETHERNET) return undefined;
    return this.enterTunnel(view.payloadStart, udp.payloadEnd);
  }

  private icmp(start: number, end: number): void {
    const view = IcmpView.parse(this.bytes, start, end);
    if (typeof view === "string") return this.refuse(view);
    this.add({ kind: "icmp", view });
    if (view.isError && this.enterEmbedded()) this.ipv4(view.payloadStart, end);
    return undefined;
  }

  private icmpv6(start: number, end: number): void {
    const view = Icmpv6View.parse(this.bytes, start, end);
    if (typeof view === "string") return this.refuse(view);
    this.add({ kind: "icmpv6", view });
    if (view.isDiscovery) {
      const nd = NdView.parse(this.bytes, start, end);
      return typeof nd === "string" ? this.refuse(nd) : this.add({ kind: "nd", view: nd });
    }
    if (view.isError && this.enterEmbedded()) this.ipv6(view.payloadStart, end);
    return undefined;
  }

  /** An error that quotes an error is not followed further. */
  private enterEmbedded(): boolean {
    if (this.isEmbedded) return false;
    this.isEmbedded = true;
    this.prefix += "embedded.";
    return true;
  }
}

/** The headers of `frame`, from the outermost to the innermost. Never throws. */
export function listLayers(frame: Uint8Array): readonly Layer[] {
  const walk = new LayerWalk(frame);
  walk.ethernet(0, frame.length);
  return walk.layers;
}

/** Tunnels of a chassis to the others: GENEVE and STT with OVN's metadata (ovn-architecture(7), "Tunnel Encapsulations"). */
import { Prng } from "#core/base/prng.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { Headers } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";
import {
  decapsulateGeneve,
  encapsulateGeneve,
  encapsulateStt,
  isGeneve,
  readSttSegment,
} from "#core/wire/tunnels/encapsulation.ts";
import {
  type OvnTunnelKeys,
  fromOvnGeneve,
  fromOvnSttContextId,
  toOvnGeneveOption,
  toOvnSttContextId,
} from "#core/wire/tunnels/ovn-metadata.ts";
import { SttReassembler, SttView } from "#core/wire/tunnels/stt.ts";
import { type NextHopResolver, NO_WAITER } from "../vfp/actions/next-hop.ts";
import { readTuple, tupleKey } from "../host/netfilter/tuple.ts";
import type { LogicalNetwork } from "./logical-network.ts";
import type { Ending } from "./logical-pipeline.ts";

/** Where the tunnels of this chassis end: the port of the switch towards the underlay, and who is behind it. */
export interface TunnelPort {
  /** Name of the chassis. */
  readonly chassis: string;
  readonly switchPort: string;
  readonly mac: Mac;
  /** MACs of the other ends, by address. */
  readonly peers: ReadonlyMap<string, Mac>;
  /** The host's stack, which is asked for ends that are not among them. */
  readonly resolver?: NextHopResolver;
}

/** The MAC towards the other end. The host asks for one that it does not know, and the packet is lost meanwhile. */
function peerMac({ peers, resolver }: TunnelPort, name: string, address: Ip): Mac | undefined {
  const known = peers.get(name);
  if (known !== undefined) return known;
  const hop = resolver?.resolve(address, NO_WAITER);
  return typeof hop === "object" ? hop.destinationMac : undefined;
}

/** Outer headers as Open vSwitch writes them: TTL 64, DF, a port that spreads connections (ovs-fields(7), tunnels). */
const OUTER_TTL = 64;
const SOURCE_PORT_MIN = 32_768;
const SOURCE_PORTS = 28_232;
/** Option of GENEVE that OVN reads; another one whose type has the critical bit ends the packet. */
const OVN_OPTION_CLASS = 0x0102;
const CRITICAL = 0x80;
/** Of an STT segment: 1 500 less the headers of IP and TCP. */
const SEGMENT_BYTES_MAX = 1_460;

interface Sent {
  /** `STT to win-2`. */
  readonly name: string;
  /** The outer frames: one, or the segments of STT. */
  readonly packets: readonly Packet[];
}

/** What came through a tunnel; `waits` when segments of its frame are missing yet. */
type Received =
  | { readonly kind: "packet"; readonly keys: OvnTunnelKeys; readonly packet: Packet }
  | { readonly kind: "waits" }
  | { readonly kind: "refused"; readonly text: string };

function unreadable(reason: string): Received {
  return { kind: "refused", text: `a frame of STT cannot be read: ${reason}` };
}

export class ChassisTunnels {
  private readonly frames = new SttReassembler();
  private sentFrames = 0;

  /** The outer frames of a packet for another chassis; undefined when no tunnel leads there. */
  send(
    { chassis, keys, packet: inner }: Extract<Ending, { kind: "tunnel" }>,
    network: LogicalNetwork,
    port: TunnelPort,
  ): Sent | undefined {
    const ends = network.tunnelBetween(port.chassis, chassis);
    const [source, destination] = [parseIp(ends?.from ?? ""), parseIp(ends?.to ?? "")];
    if (ends === undefined || source === undefined || destination === undefined) return undefined;
    const peer = peerMac(port, ends.to, destination);
    if (peer === undefined) return undefined;
    const packet = inner.copy();
    const headers = new Headers();
    headers.parse(packet);
    const tuple = readTuple(packet.bytes, headers);
    const hash = new Prng(tuple === undefined ? "" : tupleKey(tuple)).below(SOURCE_PORTS);
    const outer = {
      link: { sourceMac: port.mac, destinationMac: peer },
      ip: { source, destination, ttl: OUTER_TTL, identification: 0, isDontFragment: true },
      sourcePort: SOURCE_PORT_MIN + hash,
    };
    if (ends.type === "geneve") {
      const { hasChecksum } = ends;
      const options = [toOvnGeneveOption(keys)];
      encapsulateGeneve(packet, { ...outer, vni: keys.datapath, options, hasChecksum });
      return { name: `GENEVE to ${chassis}`, packets: [packet] };
    }
    if (ends.type !== "stt") return undefined;
    // Inferred: checksums of the inner frame are whole, so that no flag promises anything about them (control-planes.md §4.3, STT).
    const fields = { flags: 0, layer4Offset: 0, mssBytes: 0, vlanTag: 0, contextId: toOvnSttContextId(keys) };
    this.sentFrames = (this.sentFrames + 1) >>> 0;
    const whole = { ...outer, packetId: this.sentFrames, segmentBytesMax: SEGMENT_BYTES_MAX };
    const segments = encapsulateStt(packet, fields, whole);
    return segments === undefined ? undefined : { name: `STT to ${chassis}`, packets: segments };
  }

  /** What a packet from the underlay carries; undefined for one that belongs to no tunnel. The packet is left as it is. */
  receive(packet: Packet, headers: Headers, nowMs: number): Received | undefined {
    if (isGeneve(packet.bytes, headers)) return this.receiveGeneve(packet.copy());
    const segment = readSttSegment(packet, headers);
    if (segment === undefined) return undefined;
    const whole = this.frames.add(segment.source, segment, segment.payload, nowMs);
    if (whole === undefined) return { kind: "waits" };
    if (typeof whole === "string") return unreadable(whole);
    const view = SttView.parse(whole);
    if (typeof view === "string") return unreadable(view);
    const inner = Packet.fromFrame(whole.subarray(view.payloadStart), packet.tag);
    return { kind: "packet", keys: fromOvnSttContextId(view.contextId), packet: inner };
  }

  private receiveGeneve(packet: Packet): Received {
    const headers = new Headers();
    headers.parse(packet);
    const geneve = decapsulateGeneve(packet, headers);
    const keys = typeof geneve === "string" ? undefined : fromOvnGeneve(geneve.vni, geneve.options);
    const isStrange =
      typeof geneve !== "string" &&
      geneve.options.some(({ optionClass, type }) => type >= CRITICAL && optionClass !== OVN_OPTION_CLASS);
    if (keys !== undefined && !isStrange) return { kind: "packet", keys, packet };
    return { kind: "refused", text: "a GENEVE packet without OVN's option, or with another critical one" };
  }
}

/**
 * A packet as the naive twin of the match-action engine sees it (reference-engine.ts): plain fields to look at, and edits
 * of one field, after each of which every checksum is computed anew.
 */
import {
  readU16,
  readU48,
  readU8,
  writeU128,
  writeU16,
  writeU32,
  writeU48,
  writeU8,
} from "#core/base/bytes.ts";
import { type Ip, type Prefix, bitsOf, familyOf, prefixContains } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Condition } from "#dataplane/vfp/matching/condition.ts";
import { entropyPort } from "#dataplane/vfp/actions/encapsulation.ts";
import { FlowKey } from "#dataplane/vfp/flow-key.ts";
import type { VfpDirection } from "#dataplane/vfp/rule.ts";
import { updateChecksum } from "#core/wire/checksum.ts";
import {
  decapsulateNvgre,
  decapsulateVxlan,
  encapsulateNvgre,
  encapsulateVxlan,
} from "#core/wire/tunnels/encapsulation.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpOptionKind, findTcpOption } from "#core/wire/tcp-options.ts";
import { fillChecksums } from "#core/wire/transport-checksum.ts";
import { readTtl } from "#core/wire/ip-view.ts";
import { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";

/** What a rule can ask for. */
export interface Seen {
  readonly family: 4 | 6;
  readonly protocol: number;
  readonly hasPorts: boolean;
  readonly source: Ip;
  readonly destination: Ip;
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly sourceMac: number;
  readonly destinationMac: number;
  readonly tni: number;
  readonly tunnelId: number;
  readonly isSourceTranslated: boolean;
  readonly isSyn: boolean;
  readonly direction: VfpDirection;
  /** Both ends, and those of the frame inside: what flows are known by. */
  readonly tuple: string;
  readonly answerTuple: string;
}

/** One change of a packet. */
export type Edit =
  | { readonly kind: "pop" }
  | {
      readonly kind: "push";
      readonly encapsulation: "vxlan" | "nvgre";
      readonly id: number;
      readonly from: Ip;
      readonly to: Ip;
      readonly entropy: number;
      readonly sourceMac: Mac;
    }
  | { readonly kind: "source-mac" | "destination-mac"; readonly mac: Mac }
  | { readonly kind: "source" | "destination"; readonly ip: Ip }
  | { readonly kind: "source-port" | "destination-port"; readonly port: number }
  | { readonly kind: "ttl" }
  | { readonly kind: "dscp"; readonly dscp: number }
  | { readonly kind: "mss"; readonly delta: number }
  | { readonly kind: "tni"; readonly tni: number };
/** Ends a walk. */
export class Dropped extends Error {}
/** Where the identification of an outer header comes from. */
export interface Identifications {
  takeIdentification(): number;
}

function isIn(prefixes: readonly Prefix[] | undefined, ip: Ip): boolean {
  return prefixes?.some((prefix) => prefixContains(prefix, ip)) === true;
}

export function holds(condition: Condition, seen: Seen): boolean {
  const { protocols, source, destination, sourceSets, destinationSets } = condition;
  if (protocols !== undefined && !protocols.includes(seen.protocol)) return false;
  const isSource =
    isIn(source, seen.source) || sourceSets?.some((set) => set.hasAddress(seen.source)) === true;
  if ((source !== undefined || sourceSets !== undefined) && !isSource) return false;
  const isDestination =
    isIn(destination, seen.destination) ||
    destinationSets?.some((set) => set.hasAddress(seen.destination)) === true;
  if ((destination !== undefined || destinationSets !== undefined) && !isDestination) return false;
  if (isIn(condition.destinationExcept, seen.destination)) return false;
  for (const [ranges, port] of [
    [condition.sourcePorts, seen.sourcePort],
    [condition.destinationPorts, seen.destinationPort],
  ] as const) {
    if (ranges === undefined) continue;
    if (!seen.hasPorts || !ranges.some(({ first, last }) => port >= first && port <= last)) return false;
  }
  if (condition.sourceMac !== undefined && condition.sourceMac !== seen.sourceMac) return false;
  if (condition.destinationMac !== undefined && condition.destinationMac !== seen.destinationMac)
    return false;
  if (condition.tni !== undefined && condition.tni !== seen.tni) return false;
  if (condition.tunnelId !== undefined && condition.tunnelId !== seen.tunnelId) return false;
  if (condition.tcpSyn !== undefined && (condition.tcpSyn === "only") !== seen.isSyn) return false;
  return condition.isSourceTranslated !== true || seen.isSourceTranslated;
}
/** A packet that is looked at and edited. */
export class Subject {
  readonly packet: Packet;
  readonly headers: Headers = new Headers();
  direction: VfpDirection;
  isSourceTranslated = false;
  /** False once the tunnel that it came in is off: one inside is payload. */
  seesTunnel: boolean;
  /** As it came, it was a segment that asks for a connection. */
  readonly isSyn: boolean;

  constructor(packet: Packet, direction: VfpDirection) {
    this.packet = packet;
    this.direction = direction;
    this.headers.parse(packet);
    this.seesTunnel = true;
    this.isSyn = (this.tcpFlags & 0x12) === 0x02;
  }

  get tunnel(): TunnelHeaders {
    const tunnel = new TunnelHeaders();
    if (this.seesTunnel) tunnel.locate(this.packet.bytes, this.headers);
    return tunnel;
  }

  get key(): FlowKey {
    const key = new FlowKey();
    key.read(this.packet, this.headers, this.direction, this.tunnel, this.packet.tni);
    return key;
  }

  get isLaterFragment(): boolean {
    return this.headers.fragmentOffset !== 0 || this.frame.fragmentOffset !== 0;
  }

  /** What its fragments have in common; undefined for whole packets. */
  get trainName(): string | undefined {
    const { headers, frame } = this;
    if (!headers.isFragment && !frame.isFragment) return undefined;
    const names = [headers, frame].map((each) =>
      each.family === 0
        ? ""
        : [
            each.protocol,
            sourceIp(this.packet.bytes, each),
            destinationIp(this.packet.bytes, each),
            each.isFragment ? this.identificationOf(each) : "",
          ].join(),
    );
    return [this.direction, this.packet.tni, this.tunnel.kind, this.tunnel.id, ...names].join("|");
  }

  private identificationOf(headers: Headers): string {
    const at = headers.family === 4 ? headers.network + 4 : headers.fragmentHeader + 4;
    return [...this.packet.bytes.subarray(at, at + (headers.family === 4 ? 2 : 4))].join(".");
  }

  /** The frame in the tunnel, or the packet. */
  private get frame(): Headers {
    const { tunnel } = this;
    return tunnel.kind === undefined ? this.headers : tunnel.inner;
  }

  get tcpFlags(): number {
    const { frame } = this;
    return frame.protocol === 6 && frame.transport >= 0 ? readU8(this.packet.bytes, frame.transport + 13) : 0;
  }

  look(): Seen {
    const { bytes, tni } = this.packet;
    const { headers, direction, tunnel } = this;
    const own = endsOf(bytes, headers);
    const isTunnel = tunnel.kind !== undefined;
    const outside = isTunnel ? { ...own, hasPorts: false, from: 0, to: 0 } : own;
    const protocol = tunnel.kind === "vxlan" ? 252 : headers.protocol;
    const inside = isTunnel ? endsOf(bytes, tunnel.inner) : undefined;
    const text = (hairpin: boolean): string => {
      const way = hairpin === (direction === "out") ? "in" : "out";
      const inner = inside === undefined ? "" : `${tunnel.kind} ${tunnel.id} ${textOf(inside, hairpin)}`;
      return `${way} ${protocol} ${isTunnel} ${textOf(outside, hairpin)} ${inner}`;
    };
    return {
      family: headers.family === 6 ? 6 : 4,
      protocol,
      hasPorts: outside.hasPorts,
      source: own.source as Ip,
      destination: own.destination as Ip,
      sourcePort: outside.from,
      destinationPort: outside.to,
      sourceMac: readU48(bytes, headers.ethernet + 6),
      destinationMac: readU48(bytes, headers.ethernet),
      tni,
      tunnelId: isTunnel ? tunnel.id : -1,
      isSourceTranslated: this.isSourceTranslated,
      isSyn: this.isSyn,
      direction,
      tuple: text(false),
      answerTuple: text(true),
    };
  }

  apply(edit: Edit, engine: Identifications): void {
    const { packet, headers } = this;
    const { bytes } = packet;
    switch (edit.kind) {
      case "pop":
        this.pop();
        return;
      case "push":
        this.push(edit, engine);
        return;
      case "source-mac":
        writeU48(bytes, headers.ethernet + 6, edit.mac);
        return;
      case "destination-mac":
        writeU48(bytes, headers.ethernet, edit.mac);
        return;
      case "source":
      case "destination":
        this.writeAddress(edit.kind, edit.ip);
        return;
      case "source-port":
      case "destination-port":
        if (headers.transport < 0 || (headers.protocol !== 6 && headers.protocol !== 17)) return;
        this.inFull(() =>
          writeU16(bytes, headers.transport + (edit.kind === "source-port" ? 0 : 2), edit.port),
        );
        return;
      case "ttl":
        if (readTtl(bytes, headers) <= 1) throw new Dropped();
        this.inFull(() => {
          const at = headers.network + (headers.family === 4 ? 8 : 7);
          writeU8(bytes, at, readU8(bytes, at) - 1);
        });
        return;
      case "dscp":
        this.inFull(() => {
          const at = headers.network;
          if (headers.family === 4) writeU8(bytes, at + 1, (edit.dscp << 2) | (readU8(bytes, at + 1) & 3));
          else writeU16(bytes, at, (readU16(bytes, at) & 0xf03f) | (edit.dscp << 6));
        });
        return;
      case "mss":
        this.lowerMss(edit.delta);
        return;
      case "tni":
        packet.tni = edit.tni;
    }
  }

  private pop(): void {
    const { packet, headers } = this;
    const { kind } = this.tunnel;
    if (kind === undefined) throw new Dropped();
    if (kind === "vxlan") decapsulateVxlan(packet, headers);
    else decapsulateNvgre(packet, headers);
    headers.parse(packet);
    this.seesTunnel = false;
  }

  private push(edit: Extract<Edit, { kind: "push" }>, engine: Identifications): void {
    const { packet, headers } = this;
    const link = { sourceMac: edit.sourceMac, destinationMac: 0 as Mac };
    const ip = {
      source: edit.from,
      destination: edit.to,
      ttl: 128,
      identification: engine.takeIdentification(),
      isDontFragment: true,
    };
    if (edit.encapsulation === "vxlan")
      encapsulateVxlan(packet, { link, ip, sourcePort: entropyPort(edit.entropy), vni: edit.id });
    else encapsulateNvgre(packet, { link, ip, virtualSubnetId: edit.id, flowId: edit.entropy & 0xff });
    headers.parse(packet);
    this.seesTunnel = true;
  }

  private writeAddress(kind: "source" | "destination", ip: Ip): void {
    const { headers } = this;
    const { bytes } = this.packet;
    const at = headers.network + (headers.family === 4 ? 12 : 8);
    this.inFull(() => writeIp(bytes, at + (kind === "source" ? 0 : bitsOf(familyOf(ip)) / 8), ip));
    if (kind === "source") this.isSourceTranslated = true;
  }

  private lowerMss(delta: number): void {
    const { headers } = this;
    const { bytes } = this.packet;
    if (headers.protocol !== 6 || headers.transport < 0 || (readU8(bytes, headers.transport + 13) & 2) === 0)
      return;
    const at = findTcpOption(bytes, headers.transport, TcpOptionKind.mss);
    if (at < 0) return;
    const mss = readU16(bytes, at + 2) - delta;
    if (mss > 0) this.inFull(() => writeU16(bytes, at + 2, mss));
  }

  /** Changes bytes, then computes all checksums anew; a UDP checksum that nobody computed stays 0. */
  private inFull(change: () => void): void {
    const { headers } = this;
    const { bytes } = this.packet;
    const udp = headers.protocol === 17 && headers.transport >= 0 ? headers.transport + 6 : -1;
    const isNone = udp >= 0 && readU16(bytes, udp) === 0;
    // A fragment's checksum covers bytes that are elsewhere: it follows the change alone.
    if (headers.isFragment && headers.transport >= 0) {
      this.changeFragment(change, isNone ? -1 : udp);
      return;
    }
    change();
    fillChecksums(bytes, headers);
    if (isNone) writeU16(bytes, udp, 0);
  }

  private changeFragment(change: () => void, udp: number): void {
    const { headers } = this;
    const { bytes } = this.packet;
    const covered = (): number[] => {
      const from = headers.network + (headers.family === 4 ? 12 : 8);
      const length = headers.family === 4 ? 8 : 32;
      const words = Array.from({ length: length / 2 }, (_, i) => readU16(bytes, from + i * 2));
      return [...words, readU16(bytes, headers.transport), readU16(bytes, headers.transport + 2)];
    };
    const before = covered();
    change();
    const after = covered();
    if (udp >= 0) {
      let checksum = readU16(bytes, udp);
      for (const [i, word] of before.entries()) checksum = updateChecksum(checksum, word, after[i]!);
      writeU16(bytes, udp, checksum === 0 ? 0xffff : checksum);
    }
    fillChecksums(bytes, headers);
  }
}

export interface Ends {
  readonly name: string;
  readonly source: Ip | string;
  readonly destination: Ip | string;
  readonly hasPorts: boolean;
  readonly from: number;
  readonly to: number;
}

export function endsOf(bytes: Uint8Array, headers: Headers): Ends {
  if (headers.family === 0)
    return {
      name: `ethertype ${headers.etherType}`,
      source: "",
      destination: "",
      hasPorts: false,
      from: 0,
      to: 0,
    };
  const { protocol, transport } = headers;
  const hasPorts = transport >= 0 && (protocol === 6 || protocol === 17);
  const isEcho =
    transport >= 0 &&
    (protocol === 1 || protocol === 58) &&
    [0, 8, 128, 129].includes(readU8(bytes, transport));
  const identifier = isEcho ? readU16(bytes, transport + 4) : 0;
  return {
    name: `${headers.family} ${protocol}`,
    source: sourceIp(bytes, headers),
    destination: destinationIp(bytes, headers),
    hasPorts,
    from: hasPorts ? readU16(bytes, transport) : identifier,
    to: hasPorts ? readU16(bytes, transport + 2) : identifier,
  };
}

export function textOf(ends: Ends, hairpin: boolean): string {
  const from = `${ends.source}#${ends.from}`;
  const to = `${ends.destination}#${ends.to}`;
  return `${ends.name} ${ends.hasPorts} ${hairpin ? to : from} > ${hairpin ? from : to}`;
}

export function writeIp(bytes: Uint8Array, at: number, ip: Ip): void {
  if (typeof ip === "number") writeU32(bytes, at, ip);
  else writeU128(bytes, at, ip);
}

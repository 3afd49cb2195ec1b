/** Frames that nobody well-meaning sends, made from frames of real conversations (seeded). */
import { readU16, writeU16 } from "#core/base/bytes.ts";
import type { Prng } from "#core/base/prng.ts";
import { type Ip, type Ipv4, type Ipv6, parseIp } from "#core/net/ip.ts";
import { BROADCAST_MAC, type Mac } from "#core/net/mac.ts";
import { buildIcmpv6Frame, buildNdFrame, buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { encapsulateNvgre, encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { Headers, sourceIp } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { fillChecksums } from "#core/wire/transport-checksum.ts";

const ETHERNET = 14;
/** What still has room for six tunnels around it. */
const NESTED_BYTES_MAX = 65_000;
const ETHERTYPES = [0x0800, 0x86dd, 0x0806, 0x8100, 0x88a8, 0x88cc, 0x0000, 0xffff, 0x0600] as const;
/** RFC 791: loose and strict source route, record route, timestamp, router alert, end, and numbers nobody knows. */
const IPV4_OPTIONS = [0x83, 0x89, 0x07, 0x44, 0x94, 0x00, 0x01, 0x5e] as const;

/** Hop-by-hop, routing, fragment, destination options; ESP, AH, mobility, none, and a number that nobody knows. */
const IPV6_EXTENSIONS = [0, 43, 44, 60, 50, 51, 135, 59, 253] as const;

type Mutation = (frame: Uint8Array, prng: Prng) => readonly Uint8Array[];

function copyWith(frame: Uint8Array, change: (bytes: Uint8Array) => void): readonly Uint8Array[] {
  const bytes = frame.slice();
  change(bytes);
  return [bytes];
}

const isIpv6 = (frame: Uint8Array): boolean => frame.length >= ETHERNET + 40 && readU16(frame, 12) === 0x86dd;

const isIpv4 = (frame: Uint8Array): boolean => frame.length >= ETHERNET + 20 && readU16(frame, 12) === 0x0800;

/** Writes right checksums where the frame can be read, so that damage reaches whoever checks them. */
function repaired(frame: Uint8Array): Uint8Array {
  const headers = new Headers();
  const bytes = frame.slice();
  if (headers.parseBytes(bytes, 0, bytes.length) !== undefined || headers.family === 0) return bytes;
  // A lie about the length is kept: the transport is not filled beyond what is there.
  if (headers.end <= bytes.length && !headers.isFragment) fillChecksums(bytes, headers);
  return bytes;
}

/** Cuts an IPv4 packet in two fragments; `overlap` bytes are in both. */
function fragments(frame: Uint8Array, cut: number, overlap: number): readonly Uint8Array[] {
  const payload = frame.subarray(ETHERNET + 20);
  const at = Math.min(payload.length, cut * 8);
  const from = Math.max(0, at - overlap * 8);
  return [
    { part: payload.subarray(0, at), offset: 0, more: 0x2000 },
    { part: payload.subarray(from), offset: from / 8, more: 0 },
  ].map(({ part, offset, more }) => {
    const bytes = new Uint8Array(ETHERNET + 20 + part.length);
    bytes.set(frame.subarray(0, ETHERNET + 20));
    bytes.set(part, ETHERNET + 20);
    writeU16(bytes, ETHERNET + 2, bytes.length - ETHERNET);
    writeU16(bytes, ETHERNET + 6, more | offset);
    return repaired(bytes);
  });
}

/** Puts `extension` behind the fixed header of IPv6; its first byte becomes what the header named. */
function withIpv6Extension(frame: Uint8Array, type: number, extension: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(frame.length + extension.length);
  bytes.set(frame.subarray(0, ETHERNET + 40));
  bytes.set(extension, ETHERNET + 40);
  bytes.set(frame.subarray(ETHERNET + 40), ETHERNET + 40 + extension.length);
  bytes[ETHERNET + 40] = frame[ETHERNET + 6] ?? 0;
  bytes[ETHERNET + 6] = type;
  writeU16(bytes, ETHERNET + 4, Math.min(0xffff, bytes.length - ETHERNET - 40));
  return bytes;
}

/** Cuts an IPv6 packet in two fragments; `overlap` bytes are in both. */
function ipv6Fragments(frame: Uint8Array, cut: number, overlap: number, id: number): readonly Uint8Array[] {
  const payload = frame.subarray(ETHERNET + 40);
  const at = Math.min(payload.length, cut * 8);
  const from = Math.max(0, at - overlap * 8);
  return [
    { part: payload.subarray(0, at), offset: 0, more: 1 },
    { part: payload.subarray(from), offset: from, more: 0 },
  ].map(({ part, offset, more }) => {
    const bytes = new Uint8Array(ETHERNET + 40 + part.length);
    bytes.set(frame.subarray(0, ETHERNET + 40));
    bytes.set(part, ETHERNET + 40);
    const header = new Uint8Array(8);
    writeU16(header, 2, (offset & 0xfff8) | more);
    header[7] = id;
    return withIpv6Extension(bytes, 44, header);
  });
}

/** Extension headers that IPv6 may have, must not have, or nobody knows; the last one may lie about its length. */
function withExtensions(frame: Uint8Array, prng: Prng): readonly Uint8Array[] {
  if (!isIpv6(frame)) return [frame];
  let bytes = frame;
  for (let count = 1 + prng.below(10); count > 0; count--) {
    const extension = new Uint8Array(8 * (1 + prng.below(3)));
    for (let at = 2; at < extension.length; at++) extension[at] = prng.below(256);
    extension[1] = prng.below(8) === 0 ? prng.below(256) : extension.length / 8 - 1;
    bytes = withIpv6Extension(bytes, IPV6_EXTENSIONS[prng.below(IPV6_EXTENSIONS.length)] ?? 0, extension);
  }
  return [repaired(bytes)];
}

/** The frame inside `depth` tunnels. */
function nested(frame: Uint8Array, prng: Prng): readonly Uint8Array[] {
  if (frame.length > NESTED_BYTES_MAX) return [frame];
  const packet = Packet.fromFrame(frame);
  const headers = new Headers();
  const isIp = headers.parse(packet) === undefined && headers.family === 4;
  const fallback = parseIp("10.0.0.12") as Ip;
  const source = isIp ? sourceIp(packet.bytes, headers) : fallback;
  for (let depth = 1 + prng.below(6); depth > 0; depth--) {
    const outer = {
      link: { sourceMac: 0x5254_0000_0001 as Mac, destinationMac: 0x0022_4800_0011 as Mac },
      ip: {
        source: prng.below(2) === 0 ? source : fallback,
        destination: parseIp("10.0.0.11") as Ip,
        ttl: 1 + prng.below(128),
        identification: prng.below(0x1_0000),
        isDontFragment: true,
      },
    };
    const id = [4096, 4097, 0, 0xff_ffff][prng.below(4)] ?? 0;
    if (prng.below(5) === 0) encapsulateNvgre(packet, { ...outer, virtualSubnetId: id, flowId: 1 });
    else encapsulateVxlan(packet, { ...outer, vni: id, sourcePort: 50_000 });
  }
  return [packet.frame.slice()];
}

/** An IPv4 header with options, half of them lying about their length. */
function withOptions(frame: Uint8Array, prng: Prng): readonly Uint8Array[] {
  if (!isIpv4(frame) || frame.length > NESTED_BYTES_MAX) return [frame];
  const length = 4 * (1 + prng.below(10));
  const bytes = new Uint8Array(frame.length + length);
  bytes.set(frame.subarray(0, ETHERNET + 20));
  bytes.set(frame.subarray(ETHERNET + 20), ETHERNET + 20 + length);
  for (let at = 0; at < length; at++) bytes[ETHERNET + 20 + at] = prng.below(256);
  bytes[ETHERNET + 20] = IPV4_OPTIONS[prng.below(IPV4_OPTIONS.length)] ?? 0;
  if (prng.below(2) === 0) bytes[ETHERNET + 21] = length;
  bytes[ETHERNET] = 0x40 | (5 + length / 4);
  writeU16(bytes, ETHERNET + 2, bytes.length - ETHERNET);
  return [repaired(bytes)];
}

const ALL_NODES = Uint8Array.of(0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
const LOOPBACK = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);

const MUTATIONS: readonly Mutation[] = [
  (frame) => [frame.slice()],
  // Truncated, and longer than it says.
  (frame, prng) => [frame.slice(0, prng.below(frame.length + 1))],
  (frame, prng) => {
    const bytes = new Uint8Array(frame.length + prng.below(64));
    bytes.set(frame);
    return [bytes];
  },
  // Any bytes, with checksums left wrong or made right.
  (frame, prng) => copyWith(frame, (bytes) => scribble(bytes, prng)),
  (frame, prng) => {
    const bytes = frame.slice();
    scribble(bytes, prng);
    return [repaired(bytes)];
  },
  // Lying lengths of IP.
  (frame, prng) =>
    copyWith(frame, (bytes) => {
      if (bytes.length > ETHERNET + 4) writeU16(bytes, ETHERNET + 2, prng.below(0x1_0000));
    }),
  (frame, prng) => copyWith(frame, (bytes) => bytes.fill(prng.below(256), ETHERNET, ETHERNET + 1)),
  // Fragments: tiny, overlapping, the later one first or alone.
  (frame, prng) => {
    if (!isIpv4(frame)) return [frame];
    const parts = fragments(frame, 1 + prng.below(3), prng.below(3));
    return prng.below(3) === 0 ? parts.toReversed() : prng.below(4) === 0 ? parts.slice(1) : parts;
  },
  // The same of IPv6, and a fragment that is the whole.
  (frame, prng) => {
    if (!isIpv6(frame)) return [frame];
    const parts = ipv6Fragments(frame, prng.below(4), prng.below(3), prng.below(3));
    return prng.below(3) === 0 ? parts.toReversed() : prng.below(4) === 0 ? parts.slice(1) : parts;
  },
  withOptions,
  withExtensions,
  nested,
  // Known and unknown ethertypes.
  (frame, prng) =>
    copyWith(frame, (bytes) => {
      const type = ETHERTYPES[prng.below(ETHERTYPES.length)] ?? prng.below(0x1_0000);
      if (bytes.length >= ETHERNET) writeU16(bytes, 12, type);
    }),
  // A tag, or several.
  (frame, prng) => {
    if (frame.length < ETHERNET) return [frame];
    const count = 1 + prng.below(3);
    const bytes = new Uint8Array(frame.length + 4 * count);
    bytes.set(frame.subarray(0, 12));
    bytes.set(frame.subarray(12), 12 + 4 * count);
    for (let i = 0; i < count; i++) {
      writeU16(bytes, 12 + 4 * i, prng.below(4) === 0 ? 0x88a8 : 0x8100);
      writeU16(bytes, 14 + 4 * i, prng.below(0x1_0000));
    }
    return [bytes];
  },
  // From itself to itself: by MAC, by address, by both.
  (frame, prng) =>
    copyWith(frame, (bytes) => {
      if (bytes.length < ETHERNET + 20) return;
      if (prng.below(2) === 0) bytes.copyWithin(0, 6, 12);
      if (prng.below(2) === 0) bytes.copyWithin(ETHERNET + 16, ETHERNET + 12, ETHERNET + 16);
      bytes.set(repaired(bytes));
    }),
  (frame, prng) =>
    copyWith(frame, (bytes) => {
      if (!isIpv6(bytes)) return;
      // From itself to itself, from nobody, from a group, from the loopback address.
      const source = [bytes.slice(ETHERNET + 24, ETHERNET + 40), new Uint8Array(16), ALL_NODES, LOOPBACK];
      bytes.set(source[prng.below(source.length)] ?? ALL_NODES, ETHERNET + 8);
      if (prng.below(2) === 0) bytes[ETHERNET + 7] = prng.below(2);
      bytes.set(repaired(bytes));
    }),
  // No hops left.
  (frame, prng) =>
    copyWith(frame, (bytes) => {
      if (!isIpv4(bytes)) return;
      bytes[ETHERNET + 8] = prng.below(2);
      bytes.set(repaired(bytes));
    }),
  // As long as a length field can say, and one byte longer.
  (frame, prng) => {
    if (!isIpv4(frame) || prng.below(8) !== 0) return [frame];
    if (frame.length > ETHERNET + 0xffff) return [frame];
    const bytes = new Uint8Array(ETHERNET + 0xffff + prng.below(2));
    bytes.set(frame);
    writeU16(bytes, ETHERNET + 2, 0xffff);
    return [repaired(bytes)];
  },
];

function scribble(bytes: Uint8Array, prng: Prng): void {
  for (let count = 1 + prng.below(4); count > 0 && bytes.length > 0; count--)
    bytes[prng.below(Math.min(bytes.length, 80))] = prng.below(256);
}

/** What no conversation of IPv4 brings: frames of IPv6, neighbour discovery, DHCP, in the names of these two. */
export function framesBeside(macs: readonly [Mac, Mac], ips: readonly [Ip, Ip]): readonly Uint8Array[] {
  const [sourceMac, destinationMac] = macs;
  const link = { sourceMac, destinationMac };
  const more = { ttl: 255, identification: 1, isDontFragment: false };
  const [a, b] = ["fd00:10::a", "fd00:10::b"].map((text) => parseIp(text) as Ipv6) as [Ipv6, Ipv6];
  const ip = { ...more, source: a, destination: b };
  const tcp = { sourcePort: 5_000, destinationPort: 8_080, sequence: 1, acknowledgment: 0, window: 1_000 };
  const udp = { sourcePort: 68, destinationPort: 67 };
  const own = { kind: "source-link-layer", mac: sourceMac } as const;
  return [
    buildTcpFrame({ link, ip, tcp: { ...tcp, flags: TcpFlag.syn } }),
    buildUdpFrame({ link, ip, udp, payload: new Uint8Array(60) }),
    buildIcmpv6Frame({
      link,
      ip,
      icmpv6: { type: "echo-request", identifier: 1, sequence: 1, payload: new Uint8Array(32) },
    }),
    buildNdFrame({ link, ip, nd: { type: "neighbor-solicitation", target: b, options: [own] } }),
    buildNdFrame({
      link,
      ip,
      nd: {
        type: "neighbor-advertisement",
        target: a,
        isRouter: false,
        isSolicited: true,
        isOverride: true,
        options: [{ kind: "target-link-layer", mac: sourceMac }],
      },
    }),
    buildUdpFrame({
      link: { sourceMac, destinationMac: BROADCAST_MAC },
      ip: { ...more, source: 0 as Ipv4, destination: 0xffff_ffff as Ipv4 },
      udp,
      payload: new Uint8Array(300),
    }),
    buildUdpFrame({
      link,
      ip: { ...more, source: ips[0], destination: ips[1] },
      udp,
      payload: new Uint8Array(9),
    }),
  ].map(({ frame }) => frame.slice());
}

/** What IPv6 has besides conversations, in the names of these two: discovery of routers, claims, errors about nothing. */
export function framesBesideIpv6(
  [sourceMac, destinationMac]: readonly [Mac, Mac],
  [source, destination]: readonly [Ipv6, Ipv6],
): readonly Uint8Array[] {
  const link = { sourceMac, destinationMac };
  const ip = { source, destination, ttl: 255, identification: 1, isDontFragment: false };
  const unspecified = { ...ip, source: 0n as Ipv6 };
  const [echo] = framesBeside([sourceMac, destinationMac], [source, destination]).slice(2);
  const invoking = (echo ?? new Uint8Array(0)).subarray(ETHERNET);
  const claim = {
    type: "neighbor-advertisement",
    target: destination,
    isRouter: true,
    isSolicited: false,
    isOverride: true,
    options: [{ kind: "target-link-layer", mac: sourceMac }],
  } as const;
  return [
    buildNdFrame({
      link,
      ip: unspecified,
      nd: { type: "neighbor-solicitation", target: destination, options: [] },
    }),
    buildNdFrame({ link, ip, nd: { type: "neighbor-solicitation", target: destination, options: [] } }),
    buildNdFrame({ link, ip, nd: claim }),
    buildNdFrame({ link, ip: unspecified, nd: { type: "router-solicitation", options: [] } }),
    buildNdFrame({
      link,
      ip,
      nd: {
        type: "router-advertisement",
        hopLimit: 1,
        isManaged: true,
        isOtherConfigured: true,
        lifetimeSeconds: 1_800,
        reachableMs: 1,
        retransmitMs: 1,
        options: [{ kind: "mtu", mtuBytes: 1 }],
      },
    }),
    buildIcmpv6Frame({ link, ip, icmpv6: { type: "packet-too-big", mtuBytes: 0, invoking } }),
    buildIcmpv6Frame({ link, ip, icmpv6: { type: "packet-too-big", mtuBytes: 1_280, invoking } }),
    buildIcmpv6Frame({ link, ip, icmpv6: { type: "time-exceeded", code: 1, invoking } }),
    buildIcmpv6Frame({
      link,
      ip,
      icmpv6: { type: "parameter-problem", code: 2, pointer: 0xffff_ffff, invoking },
    }),
    buildIcmpv6Frame({ link, ip, icmpv6: { type: "destination-unreachable", code: 255, invoking } }),
  ].map(({ frame }) => frame.slice());
}

/** One or more frames made from `frame`, by up to three mutations. */
export function makeHostile(frame: Uint8Array, prng: Prng): readonly Uint8Array[] {
  let frames: readonly Uint8Array[] = [frame];
  for (let count = 1 + prng.below(3); count > 0; count--) {
    const mutation = MUTATIONS[prng.below(MUTATIONS.length)];
    if (mutation !== undefined) frames = frames.flatMap((each) => mutation(each, prng));
  }
  return frames;
}

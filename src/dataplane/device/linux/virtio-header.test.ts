// The header before each frame of a TAP (docs: dataplane.md §6.9), against whole frames whose checksums are right.
import { describe, expect, it } from "vitest";
import { parseIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { foldSum, pseudoHeaderSum } from "#core/wire/checksum.ts";
import { Headers } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";
import { cutSuperFrame, insideOf } from "#core/wire/segmentation.ts";
import { encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { VIRTIO_HEADER_BYTES, leaveVirtio, takeVirtio } from "./virtio-header.ts";

const link = { sourceMac: 0x0200_0000_0001 as Mac, destinationMac: 0x0200_0000_0002 as Mac };
const address = (text: string) => parseIp(text)!;
const payload = Uint8Array.from({ length: 101 }, (_, index) => index * 7);

function ipOf(family: 4 | 6) {
  const network = family === 4 ? "10.0.0." : "fd00::";
  return {
    source: address(`${network}1`),
    destination: address(`${network}2`),
    ttl: 64,
    identification: 1,
    isDontFragment: true,
  };
}

function tcpFrame(family: 4 | 6): Packet {
  const tcp = { sourcePort: 1, destinationPort: 2, sequence: 3, acknowledgment: 4, flags: 0x18, window: 5 };
  return buildTcpFrame({ link, ip: ipOf(family), tcp, payload });
}

function udpFrame(family: 4 | 6): Packet {
  return buildUdpFrame({ link, ip: ipOf(family), udp: { sourcePort: 1, destinationPort: 2 }, payload });
}

function headersOf(packet: Packet): Headers {
  const headers = new Headers();
  expect(headers.parse(packet)).toBeUndefined();
  return headers;
}

/** A super frame with segments of 50 bytes. */
function inVxlan(whole: Packet, family: 4 | 6): Packet {
  const packet = whole.copy();
  packet.segmentBytes = 50;
  encapsulateVxlan(packet, { link, ip: ipOf(family), sourcePort: 50_000, vni: 4_096 });
  packet.outerBytes = packet.length - whole.length;
  return packet;
}

/** As a kernel leaves it: the sum of the pseudo header in the place of the checksum. */
function unfinished(packet: Packet, field: number): { readonly header: DataView; readonly packet: Packet } {
  const copy = packet.copy();
  const { family, network, transport, end, protocol } = headersOf(copy);
  const [at, bytes] = family === 4 ? [12, 4] : [8, 16];
  const sum = pseudoHeaderSum(copy.bytes, network + at, bytes, protocol, end - transport);
  copy.view.setUint16(transport + field, foldSum(sum));
  const header = new DataView(new ArrayBuffer(VIRTIO_HEADER_BYTES));
  header.setUint8(0, 1);
  header.setUint16(6, transport - copy.start, true);
  header.setUint16(8, field, true);
  return { header, packet: copy };
}

describe("a header of a TAP", () => {
  it.each([
    ["TCP over IPv4", tcpFrame(4), 16],
    ["TCP over IPv6", tcpFrame(6), 16],
    ["UDP over IPv4", udpFrame(4), 6],
    ["UDP over IPv6", udpFrame(6), 6],
  ] as const)("finishes the checksum that a sender left: %s", (_, whole, field) => {
    const { header, packet } = unfinished(whole, field);
    expect([...packet.frame]).not.toEqual([...whole.frame]);
    expect(takeVirtio(header, packet, new Headers())).toBe(true);
    expect([...packet.frame]).toEqual([...whole.frame]);
  });

  it("a frame whose checksum is there stays as it is", () => {
    const packet = tcpFrame(4);
    const before = [...packet.frame];
    expect(takeVirtio(new DataView(new ArrayBuffer(VIRTIO_HEADER_BYTES)), packet, new Headers())).toBe(true);
    expect([[...packet.frame], packet.segmentBytes]).toEqual([before, 0]);
  });

  it.each([
    ["a checksum behind the frame", (header: DataView) => header.setUint16(6, 2_000, true)],
    ["fragments of UDP, which nobody asked for", (header: DataView) => header.setUint8(1, 3)],
    ["segments of no bytes", (header: DataView) => header.setUint8(1, 1)],
  ])("is refused with %s", (_, damage) => {
    const { header, packet } = unfinished(tcpFrame(4), 16);
    damage(header);
    expect(takeVirtio(header, packet, new Headers())).toBe(false);
  });

  it.each([
    ["TCP over IPv4", tcpFrame(4), 1, 16],
    ["TCP over IPv6", tcpFrame(6), 4, 16],
    ["UDP over IPv4", udpFrame(4), 5, 6],
    ["UDP over IPv6", udpFrame(6), 5, 6],
  ] as const)(
    "a super frame goes out with what its device has to do, and comes back whole: %s",
    (_, whole, kind, field) => {
      const sent = whole.copy();
      sent.segmentBytes = 50;
      const header = new DataView(new ArrayBuffer(VIRTIO_HEADER_BYTES));
      leaveVirtio(header, sent, headersOf(sent));
      const { transport, payload: from } = headersOf(sent);
      expect([header.getUint8(0), header.getUint8(1)]).toEqual([1, kind]);
      expect(header.getUint16(2, true)).toBe(from - sent.start);
      expect([4, 6, 8].map((at) => header.getUint16(at, true))).toEqual([50, transport - sent.start, field]);
      // The kernel would finish it so, were it to leave it whole.
      const finished = sent.copy();
      header.setUint8(1, 0);
      expect(takeVirtio(header, finished, new Headers())).toBe(true);
      expect([...finished.frame]).toEqual([...whole.frame]);
      header.setUint8(1, kind);

      const back = Packet.fromFrame(sent.frame);
      expect(takeVirtio(header, back, new Headers())).toBe(true);
      expect(back.segmentBytes).toBe(50);
      const segments = cutSuperFrame(back) ?? [];
      expect(segments.map((each) => verifyChecksums(each.bytes, headersOf(each)))).toEqual(
        Array(3).fill(undefined),
      );
      expect(segments.flatMap((each) => [...each.frame.subarray(from - sent.start)])).toEqual([...payload]);
    },
  );

  it.each([
    ["TCP over IPv4 in VXLAN over IPv4", tcpFrame(4), 4, 0x21],
    ["TCP over IPv6 in VXLAN over IPv4", tcpFrame(6), 4, 0x24],
    ["UDP over IPv4 in VXLAN over IPv6", udpFrame(4), 6, 0x45],
    ["TCP over IPv6 in VXLAN over IPv6", tcpFrame(6), 6, 0x44],
  ] as const)("and in a tunnel: %s", (_, whole, family, kind) => {
    const sent = inVxlan(whole, family);
    const outer = headersOf(sent);
    const inside = headersOf(insideOf(sent));
    const header = new DataView(new ArrayBuffer(VIRTIO_HEADER_BYTES));
    leaveVirtio(header, sent, inside);
    expect([header.getUint8(0), header.getUint8(1)]).toEqual([1, kind]);
    expect([2, 4, 6].map((at) => header.getUint16(at, true))).toEqual([
      inside.payload - sent.start,
      50,
      inside.transport - sent.start,
    ]);
    // struct virtio_net_hdr_v1_hash_tunnel: outer_th_offset, inner_nh_offset.
    expect([20, 22].map((at) => header.getUint16(at, true))).toEqual([
      outer.transport - sent.start,
      inside.network - sent.start,
    ]);

    // A sender may leave the outer checksum as well; the tunnel goes without one.
    header.setUint8(0, 1 | 8);
    const back = Packet.fromFrame(sent.frame);
    back.view.setUint16(outer.transport - sent.start + back.start + 6, 0x1234);
    expect(takeVirtio(header, back, new Headers())).toBe(true);
    expect([back.segmentBytes, back.outerBytes]).toEqual([50, sent.outerBytes]);
    const segments = cutSuperFrame(back) ?? [];
    expect(segments).toHaveLength(3);
    for (const segment of segments) {
      expect(segment.view.getUint16(headersOf(segment).transport + 6)).toBe(0);
      segment.outerBytes = sent.outerBytes;
      const carried = insideOf(segment);
      expect(verifyChecksums(carried.bytes, headersOf(carried))).toBeUndefined();
    }
  });

  it.each([
    ["an IP header inside the outer UDP header", (header: DataView) => header.setUint16(22, 55, true)],
    ["an IP header behind the frame", (header: DataView) => header.setUint16(22, 2_000, true)],
    ["an outer UDP header behind that", (header: DataView) => header.setUint16(20, 1_000, true)],
  ])("is refused with a tunnel that has %s", (_, damage) => {
    const sent = inVxlan(tcpFrame(4), 4);
    const header = new DataView(new ArrayBuffer(VIRTIO_HEADER_BYTES));
    leaveVirtio(header, sent, headersOf(insideOf(sent)));
    damage(header);
    expect(takeVirtio(header, Packet.fromFrame(sent.frame), new Headers())).toBe(false);
  });

  it("segments of a protocol that the packet has not are none: then its checksum is finished", () => {
    const { header, packet } = unfinished(udpFrame(4), 6);
    header.setUint8(1, 1);
    header.setUint16(4, 50, true);
    expect(takeVirtio(header, packet, new Headers())).toBe(true);
    expect([packet.segmentBytes, ...packet.frame]).toEqual([0, ...udpFrame(4).frame]);
  });

  it("a frame with all its checksums has nothing in it, whatever was there before", () => {
    const header = new DataView(new ArrayBuffer(VIRTIO_HEADER_BYTES));
    header.setUint8(0, 1);
    leaveVirtio(header, tcpFrame(4), new Headers());
    expect([...new Uint8Array(header.buffer)]).toEqual(Array(VIRTIO_HEADER_BYTES).fill(0));
  });
});

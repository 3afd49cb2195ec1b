// The header before each frame of a TAP (docs: dataplane.md §6.9), against whole frames whose checksums are right.
import { describe, expect, it } from "vitest";
import { parseIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { foldSum, pseudoHeaderSum } from "#core/wire/checksum.ts";
import { Headers } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";
import { cutSuperFrame } from "#core/wire/segmentation.ts";
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

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../../base/encodings.ts";
import { LIMITS } from "../../base/limits.ts";
import { parseIp } from "../../net/ip.ts";
import { parseMac } from "../../net/mac.ts";
import { arbitraryPlainFrame, arbitraryU16, arbitraryU8 } from "#test/support/wire/arbitrary-frames.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { encapsulateStt, readSttSegment } from "./encapsulation.ts";
import { describeFrame } from "../text/format.ts";
import { Headers } from "../headers.ts";
import { toOvnSttContextId } from "./ovn-metadata.ts";
import { Packet } from "../packet.ts";
import { STT_HEADER_BYTES, SttFlag, SttReassembler, SttView, emitStt, toSttFields } from "./stt.ts";
import { TcpView } from "../tcp.ts";
import { verifyChecksums } from "../transport-checksum.ts";

const OUTER = {
  link: { sourceMac: parseMac("00-15-5D-00-00-11")!, destinationMac: parseMac("00-15-5D-00-00-12")! },
  ip: {
    source: parseIp("10.0.0.11")!,
    destination: parseIp("10.0.0.12")!,
    ttl: 64,
    identification: 0xffff,
    isDontFragment: true,
  },
  sourcePort: 0x1234,
  packetId: 0x8000_0001,
  segmentBytesMax: 1460,
};
const STT = {
  flags: SttFlag.ipv4 | SttFlag.tcp,
  layer4Offset: 34,
  mssBytes: 0,
  vlanTag: 0,
  contextId: toOvnSttContextId({ datapath: 6, ingressPort: 1, egressPort: 3 }),
};

function segmentsOf(frame: Uint8Array, segmentBytesMax = OUTER.segmentBytesMax): Packet[] {
  return encapsulateStt(Packet.fromFrame(frame), STT, { ...OUTER, segmentBytesMax })!;
}

function payloadOf(packet: Packet): NonNullable<ReturnType<typeof readSttSegment>> {
  const headers = new Headers();
  expect(headers.parse(packet)).toBeUndefined();
  expect(verifyChecksums(packet.bytes, headers)).toBeUndefined();
  return readSttSegment(packet, headers)!;
}

function give(reassembler: SttReassembler, packet: Packet, nowMs = 0): ReturnType<SttReassembler["add"]> {
  const segment = payloadOf(packet);
  return reassembler.add(segment.source, segment, segment.payload, nowMs);
}

describe("STT (draft-davie-stt, dataplane.md §6.3; no live peer)", () => {
  it("the header in 18 bytes, with OVN's context id (control-planes.md §4.3)", () => {
    const bytes = new Uint8Array(STT_HEADER_BYTES);
    expect(emitStt({ ...STT, mssBytes: 1400, vlanTag: 0x1007 }, bytes, 0)).toBe(18);
    // Version, flags, layer 4 offset, reserved; MSS, VLAN tag; context id; padding.
    expect(formatHex(bytes)).toBe("000c22000578100700000100030000060000");
  });

  it("a segment looks like TCP: port 7471, length and offset as sequence, packet id as acknowledgment", () => {
    const [packet, ...more] = segmentsOf(DATAPLANE_VECTORS.V1);
    expect(more).toEqual([]);
    const tcp = TcpView.parse(packet!.bytes, packet!.start + 34, packet!.end) as TcpView;
    expect([tcp.sourcePort, tcp.destinationPort]).toEqual([0x9234, 7471]);
    expect([tcp.sequence, tcp.acknowledgment]).toEqual([(66 + 18) * 0x1_0000, 0x8000_0001]);
    expect([tcp.flags, tcp.window]).toEqual([0x18, 0xffff]);
  });

  it("emit and parse are each other's inverse", () => {
    const fields = fc.record({
      flags: arbitraryU8,
      layer4Offset: arbitraryU8,
      mssBytes: arbitraryU16,
      vlanTag: arbitraryU16,
      contextId: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
    });
    fc.assert(
      fc.property(fields, (value) => {
        const bytes = new Uint8Array(STT_HEADER_BYTES);
        emitStt(value, bytes, 0);
        expect(toSttFields(SttView.parse(bytes) as SttView)).toEqual(value);
      }),
    );
  });

  it("what is cut into segments comes together again, in any order", () => {
    const order = fc.infiniteStream(fc.nat());
    fc.assert(
      fc.property(arbitraryPlainFrame, fc.integer({ min: 1, max: 80 }), order, (plain, size, keys) => {
        const frame = plain.frame.slice();
        const reassembler = new SttReassembler();
        const shuffled = segmentsOf(frame, size)
          .map((segment) => ({ segment, key: keys.next().value as number }))
          .toSorted((a, b) => a.key - b.key);
        const results = shuffled.map(({ segment }) => give(reassembler, segment));
        expect(results.slice(0, -1).every((result) => result === undefined)).toBe(true);
        const whole = results.at(-1) as Uint8Array;
        expect(toSttFields(SttView.parse(whole) as SttView)).toEqual(STT);
        expect(whole.subarray(STT_HEADER_BYTES)).toEqual(frame);
        expect(reassembler.size).toBe(0);
      }),
    );
  });

  it.each([
    ["10.0.0.11", "10.0.1.11", "10.0.0.12"],
    ["fd00::11", "fd00:0:1::11", "fd00::12"],
  ])("frames of %s and of %s stay apart, though port and packet id are the same", (a, b, destination) => {
    const reassembler = new SttReassembler();
    const [first, second] = [DATAPLANE_VECTORS.V1, DATAPLANE_VECTORS.V1.map((byte) => byte ^ 1)];
    const of = (frame: Uint8Array, source: string): Packet[] =>
      encapsulateStt(Packet.fromFrame(frame), STT, {
        ...OUTER,
        ip: { ...OUTER.ip, source: parseIp(source)!, destination: parseIp(destination)! },
        segmentBytesMax: 50,
      })!;
    const [a1, a2] = of(first, a);
    const [b1, b2] = of(second, b);
    const whole = [a1, b1, b2, a2].map((segment) => give(reassembler, segment!));
    expect(whole.map((each) => each instanceof Uint8Array && each.subarray(STT_HEADER_BYTES))).toEqual([
      false,
      false,
      second,
      first,
    ]);
  });

  it("refuses segments that overlap and those that lie about lengths", () => {
    const reassembler = new SttReassembler();
    const segment = { frameBytes: 100, offset: 0, packetId: 1 };
    expect(reassembler.add("a", segment, new Uint8Array(50), 0)).toBeUndefined();
    expect(reassembler.add("a", { ...segment, offset: 49 }, new Uint8Array(10), 0)).toBe(
      "stt-segment-overlap",
    );
    expect(reassembler.size).toBe(0);
    expect(reassembler.add("a", { ...segment, offset: 51 }, new Uint8Array(50), 0)).toBe(
      "stt-segment-length",
    );
    expect(reassembler.add("a", segment, new Uint8Array(0), 0)).toBe("stt-segment-length");
    expect(reassembler.add("a", { ...segment, frameBytes: 17 }, new Uint8Array(17), 0)).toBe(
      "stt-segment-length",
    );
  });

  it("keeps a bounded number of incomplete frames, for 30 s", () => {
    const reassembler = new SttReassembler();
    const begin = (packetId: number, nowMs: number): void => {
      reassembler.add("a", { frameBytes: 100, offset: 0, packetId }, new Uint8Array(50), nowMs);
    };
    for (let packetId = 0; packetId <= LIMITS.tunnelReassembliesMax; packetId++) begin(packetId, 0);
    expect([reassembler.size, reassembler.givenUp]).toEqual([LIMITS.tunnelReassembliesMax, 1]);
    begin(9999, 30_000);
    expect([reassembler.size, reassembler.givenUp]).toEqual([1, LIMITS.tunnelReassembliesMax + 1]);
  });

  it("does not take frames that its 16 bits of length cannot say", () => {
    expect(encapsulateStt(Packet.ofLength(65_518), STT, OUTER)).toBeUndefined();
    expect(encapsulateStt(Packet.ofLength(65_517), STT, OUTER)).toHaveLength(45);
  });

  it("is told with what it carries, as far as one segment holds it", () => {
    expect(describeFrame(segmentsOf(DATAPLANE_VECTORS.V1)[0]!.frame)).toBe(
      "STT packet 2147483649 10.0.0.11 → 10.0.0.12 [TCP 10.244.1.10:49200 → 10.96.0.50:80 SYN ECE CWR]",
    );
    expect(describeFrame(segmentsOf(DATAPLANE_VECTORS.V1, 40)[1]!.frame)).toBe(
      "STT packet 2147483649 10.0.0.11 → 10.0.0.12",
    );
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readU16, readU32, writeU16, writeU32 } from "../base/bytes.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { parseIp } from "../net/ip.ts";
import { parseMac } from "../net/mac.ts";
import { arbitraryTcpFrame } from "#test/support/wire/arbitrary-frames.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { buildTcpFrame } from "./build-frame.ts";
import {
  checksumOf,
  finishSum,
  foldSum,
  pseudoHeaderSum,
  sumWords,
  updateChecksum,
  updateChecksum32,
  updatePartialSum32,
} from "./checksum.ts";
import { encapsulateVxlan } from "./tunnels/encapsulation.ts";
import { Headers } from "./headers.ts";
import { segmentTcp } from "./segmentation.ts";
import { TcpFlag, TcpView } from "./tcp.ts";
import { TcpOptionKind, findTcpOption, rewriteTcpMss } from "./tcp-options.ts";
import { verifyChecksums } from "./transport-checksum.ts";
import { decrementTtl } from "./ip-view.ts";

/** Obviously right and slow: RFC 1071 as it says, one carry at a time. */
function naiveChecksum(bytes: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) {
    sum += bytes[i]! * 256 + (bytes[i + 1] ?? 0);
    if (sum > 0xffff) sum = sum - 0x1_0000 + 1;
  }
  return 0xffff - sum;
}

describe("the checksum of RFC 1071", () => {
  it("is the one of the example in its section 3", () => {
    const bytes = annotatedHex("0001 f203 f4f5 f6f7");
    expect(foldSum(sumWords(bytes, 0, 8))).toBe(0xddf2);
    expect(checksumOf(bytes, 0, 8)).toBe(0x220d);
  });

  it("equals one carry at a time, on any bytes and any range", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(20), (bytes, start) => {
        const from = Math.min(start, bytes.length);
        expect(checksumOf(bytes, from, bytes.length)).toBe(naiveChecksum(bytes.subarray(from)));
      }),
    );
  });

  it("does not lose carries in 64 KiB of ones", () => {
    expect(checksumOf(new Uint8Array(65_535).fill(0xff), 0, 65_535)).toBe(
      naiveChecksum(new Uint8Array(65_535).fill(0xff)),
    );
  });

  it("of a pseudo header counts a length above 65535 in two words", () => {
    const addresses = new Uint8Array(32);
    expect(pseudoHeaderSum(addresses, 0, 16, 6, 0x1_0002)).toBe(6 + 1 + 2);
  });
});

describe("the update of RFC 1624", () => {
  it("gives the result of the example in its section 4, where the shortcut of RFC 1141 fails", () => {
    expect(updateChecksum(0xdd2f, 0x5555, 0x3285)).toBe(0x0000);
  });

  it("equals a full recomputation for one word", () => {
    const words = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 2, maxLength: 40 });
    const changed = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(words, fc.nat(), changed, (values, index, after) => {
        const bytes = new Uint8Array(values.length * 2);
        for (const [i, value] of values.entries()) writeU16(bytes, i * 2, value);
        // A packet is never all zero, which is the one case that has two checksums.
        writeU16(bytes, 0, values[0]! | 1);
        const at = 2 + (index % (values.length - 1)) * 2;
        const before = readU16(bytes, at);
        const checksum = checksumOf(bytes, 0, bytes.length);
        writeU16(bytes, at, after);
        expect(updateChecksum(checksum, before, after)).toBe(checksumOf(bytes, 0, bytes.length));
      }),
    );
  });

  it("equals a full recomputation for 32 bits, signed or unsigned", () => {
    const word = fc.integer({ min: 0, max: 0xffff_ffff });
    fc.assert(
      fc.property(word, word, fc.uint8Array({ minLength: 4, maxLength: 40 }), (before, after, rest) => {
        const bytes = new Uint8Array(4 + rest.length);
        bytes.set(rest, 4);
        bytes[5] = rest[1]! | 1;
        writeU32(bytes, 0, before);
        const checksum = checksumOf(bytes, 0, bytes.length);
        writeU32(bytes, 0, after);
        const full = checksumOf(bytes, 0, bytes.length);
        expect(updateChecksum32(checksum, before, after)).toBe(full);
        expect(updateChecksum32(checksum, before | 0, after | 0)).toBe(full);
      }),
    );
  });

  it("DT-186: keeps every TTL decrement of a built frame right", () => {
    fc.assert(
      fc.property(arbitraryTcpFrame, (packet) => {
        const headers = new Headers();
        headers.parse(packet);
        decrementTtl(packet.bytes, headers);
        expect(verifyChecksums(packet.bytes, headers)).toBeUndefined();
      }),
    );
  });
});

/** The checksum steps of dataplane.md §6.10, row by row. */
describe("checksum steps of the byte vectors", () => {
  const { V1, V2, V3, V6, V7 } = DATAPLANE_VECTORS;
  /** Offsets in an untagged frame with a 20-byte IPv4 header. */
  const AT = {
    ipChecksum: 24,
    source: 26,
    destination: 30,
    sourcePort: 34,
    destinationPort: 36,
    tcpChecksum: 50,
  };

  it("DATAPLANE-V1 → V2: 0x960f becomes 0x7463 by two updates, address and port", () => {
    expect(readU16(V1, AT.tcpChecksum)).toBe(0x960f);
    const address = updateChecksum32(0x960f, readU32(V1, AT.destination), readU32(V2, AT.destination));
    const port = updateChecksum(address, readU16(V1, AT.destinationPort), readU16(V2, AT.destinationPort));
    expect(port).toBe(0x7463);
    expect(readU16(V2, AT.tcpChecksum)).toBe(0x7463);
  });

  it("DATAPLANE-V2 → V3 inner: the IPv4 checksum 0xcf94 becomes 0xd094 with the TTL", () => {
    const packet = V2.slice();
    const headers = new Headers();
    headers.parseBytes(packet, 0, packet.length);
    expect(readU16(packet, AT.ipChecksum)).toBe(0xcf94);
    decrementTtl(packet, headers);
    expect(readU16(packet, AT.ipChecksum)).toBe(0xd094);
    expect(readU16(V3, 50 + AT.ipChecksum)).toBe(0xd094);
  });

  it("DATAPLANE-V6 → V7: 0x672f becomes 0x65d3", () => {
    const address = updateChecksum32(0x672f, readU32(V6, AT.source), readU32(V7, AT.source));
    const port = updateChecksum(address, readU16(V6, AT.sourcePort), readU16(V7, AT.sourcePort));
    expect(readU16(V6, AT.tcpChecksum)).toBe(0x672f);
    expect(port).toBe(0x65d3);
    expect(readU16(V7, AT.tcpChecksum)).toBe(0x65d3);
  });

  it("DATAPLANE-V6 with NEEDS_CSUM, DT-181, DT-182: partial 0x482f, 0x463c behind the address, finished 0x65d3", () => {
    const length = V6.length - AT.sourcePort;
    expect(foldSum(pseudoHeaderSum(V6, AT.source, 4, 6, length))).toBe(0x482f);
    const partial = updatePartialSum32(0x482f, readU32(V6, AT.source), readU32(V7, AT.source));
    expect(partial).toBe(0x463c);
    const offloaded = V7.slice();
    writeU16(offloaded, AT.tcpChecksum, partial);
    expect(checksumOf(offloaded, AT.sourcePort, offloaded.length)).toBe(0x65d3);
  });

  it("DATAPLANE MSS delta 50: 1410 becomes 1360, the TCP checksum 0x9521 becomes 0x9553", () => {
    const packet = buildTcpFrame({
      link: { sourceMac: parseMac("0E-2A-0A-F4-01-02")!, destinationMac: parseMac("00-15-5D-AA-00-01")! },
      ip: {
        source: parseIp("10.244.1.2")!,
        destination: parseIp("10.96.0.50")!,
        ttl: 128,
        identification: 0x1234,
        isDontFragment: true,
      },
      tcp: {
        sourcePort: 50112,
        destinationPort: 443,
        sequence: 1,
        acknowledgment: 0,
        flags: readU16(V1, 46) & 0xff,
        window: 64860,
        options: [
          { kind: "mss", mssBytes: 1410 },
          { kind: "nop" },
          { kind: "window-scale", shift: 8 },
          { kind: "nop" },
          { kind: "nop" },
          { kind: "sack-permitted" },
        ],
      },
    });
    const headers = new Headers();
    headers.parse(packet);
    const { bytes } = packet;
    expect(readU16(bytes, headers.transport + 16)).toBe(0x9521);
    expect(rewriteTcpMss(bytes, headers.transport, 1360)).toBe(true);
    expect(readU16(bytes, headers.transport + 22)).toBe(1360);
    expect(readU16(bytes, headers.transport + 16)).toBe(0x9553);
    expect(verifyChecksums(bytes, headers)).toBeUndefined();
  });

  it("DATAPLANE GSO: 3000 bytes at gso_size 1410 are three segments, FIN and PSH on the last, 1500 bytes outside", () => {
    const superFrame = buildTcpFrame({
      link: { sourceMac: parseMac("0E-2A-0A-F4-01-0A")!, destinationMac: parseMac("00-15-5D-AA-00-01")! },
      ip: {
        source: parseIp("10.244.1.10")!,
        destination: parseIp("10.244.2.10")!,
        ttl: 128,
        identification: 7,
        isDontFragment: true,
      },
      tcp: {
        sourcePort: 49200,
        destinationPort: 8080,
        sequence: 0x1000,
        acknowledgment: 1,
        flags: TcpFlag.ack | TcpFlag.psh | TcpFlag.fin | TcpFlag.cwr,
        window: 512,
      },
      payload: Uint8Array.from({ length: 3000 }, (_, i) => i),
    });
    const headers = new Headers();
    headers.parse(superFrame);
    const segments = segmentTcp(superFrame, headers, 1410);
    const rows = segments.map((segment) => {
      expect(headers.parse(segment)).toBeUndefined();
      expect(verifyChecksums(segment.bytes, headers)).toBeUndefined();
      const tcp = TcpView.parse(segment.bytes, headers.transport, headers.end) as TcpView;
      const id = readU16(segment.bytes, headers.network + 4);
      return [tcp.sequence, tcp.payloadLength, tcp.flags, id];
    });
    expect(rows).toEqual([
      [4096, 1410, TcpFlag.ack | TcpFlag.cwr, 7],
      [5506, 1410, TcpFlag.ack, 8],
      [6916, 180, TcpFlag.ack | TcpFlag.psh | TcpFlag.fin, 9],
    ]);
    const payload = segments.flatMap((segment) => [...segment.frame.subarray(54)]);
    expect(payload).toEqual(Array.from({ length: 3000 }, (_, i) => i & 0xff));
    encapsulateVxlan(segments[0]!, {
      link: { sourceMac: parseMac("00-15-5D-00-00-11")!, destinationMac: parseMac("00-15-5D-00-00-12")! },
      ip: {
        source: parseIp("10.0.0.11")!,
        destination: parseIp("10.0.0.12")!,
        ttl: 128,
        identification: 1,
        isDontFragment: true,
      },
      sourcePort: 1,
      vni: 4096,
    });
    // 1410 + 40 (TCP, IP) + 14 (inner Ethernet) + 36 (outer IP, UDP, VXLAN).
    expect(readU16(segments[0]!.frame, 16)).toBe(1410 + 40 + 14 + 36);
    expect(readU16(segments[0]!.frame, 16)).toBe(1500);
  });
});

describe("rewriteTcpMss", () => {
  it("updates the checksum also where the option lies at an odd offset", () => {
    fc.assert(
      fc.property(
        fc.nat(3),
        fc.integer({ min: 0, max: 0xffff }),
        fc.integer({ min: 0, max: 0xffff }),
        (nops, from, to) => {
          const packet = buildTcpFrame({
            link: { sourceMac: 1 as never, destinationMac: 2 as never },
            ip: {
              source: 1 as never,
              destination: 2 as never,
              ttl: 1,
              identification: 0,
              isDontFragment: true,
            },
            tcp: {
              sourcePort: 1,
              destinationPort: 2,
              sequence: 3,
              acknowledgment: 0,
              flags: TcpFlag.syn,
              window: 4,
              options: [
                ...Array.from({ length: nops }, () => ({ kind: "nop" }) as const),
                { kind: "mss", mssBytes: from },
              ],
            },
          });
          const headers = new Headers();
          headers.parse(packet);
          expect(rewriteTcpMss(packet.bytes, headers.transport, to)).toBe(true);
          expect(verifyChecksums(packet.bytes, headers)).toBeUndefined();
          const at = findTcpOption(packet.bytes, headers.transport, TcpOptionKind.mss);
          expect(at - headers.transport).toBe(20 + nops);
          expect(readU16(packet.bytes, at + 2)).toBe(to);
        },
      ),
    );
  });

  it("changes nothing in a segment without the option", () => {
    const bytes = DATAPLANE_VECTORS.V1.slice();
    bytes[54] = TcpOptionKind.nop;
    bytes.fill(TcpOptionKind.nop, 54, 58);
    const before = bytes.slice();
    expect(rewriteTcpMss(bytes, 34, 1000)).toBe(false);
    expect(bytes).toEqual(before);
  });
});

it("finishSum complements what foldSum folds", () => {
  expect(finishSum(0x1_fffe)).toBe(0);
  expect(finishSum(0)).toBe(0xffff);
});

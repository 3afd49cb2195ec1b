import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { type Ipv6, parseIp } from "../net/ip.ts";
import {
  arbitraryExtension,
  arbitraryIpv6,
  arbitraryU16,
  arbitraryU32,
  arbitraryU8,
} from "#test/support/wire/arbitrary-frames.ts";
import { emittedBytes, patchedBytes } from "#test/support/wire/emitted-bytes.ts";
import {
  Ipv6FragmentView,
  Ipv6View,
  emitIpv6,
  emitIpv6Extension,
  emitIpv6Fragment,
  ipv6ExtensionLength,
  listIpv6Extensions,
  toIpv6Fields,
} from "./ipv6.ts";

const PACKET = annotatedHex(`
  6b 9 12345 0018 00 40                    ; traffic class 0xb9, flow 0x12345, 24 bytes, hop-by-hop, hop limit 64
  fd000001000000000000000000000010
  fd000002000000000000000000000020
  3c 00 01 04 00000000                     ; hop-by-hop: next destination options, PadN
  2c 00 01 04 00000000                     ; destination options: next fragment
  11 00 0001 89abcdef                      ; fragment 0 with more, UDP, id
`);

function view(bytes: Uint8Array): Ipv6View {
  const parsed = Ipv6View.parse(bytes);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

describe("Ipv6View", () => {
  it("reads a header", () => {
    expect(toIpv6Fields(view(PACKET))).toEqual({
      source: parseIp("fd00:1::10"),
      destination: parseIp("fd00:2::20"),
      nextHeader: 0,
      hopLimit: 64,
      payloadLength: 24,
      dscp: 46,
      ecn: 1,
      flowLabel: 0x12345,
    });
    expect([view(PACKET).payloadStart, view(PACKET).payloadEnd]).toEqual([40, 64]);
  });

  it.each([
    { name: "a header that ends too early", patch: {}, length: 39, reason: "ipv6-truncated" },
    { name: "another version", patch: { 0: 0x4b }, length: 64, reason: "ipv6-version" },
    { name: "a payload beyond the frame", patch: {}, length: 63, reason: "ipv6-payload-length" },
  ])("refuses $name", ({ patch, length, reason }) => {
    const bytes = patchedBytes(PACKET, patch);
    expect(Ipv6View.parse(bytes, 0, length)).toBe(reason);
  });

  it("emit then parse gives the same fields, every byte written", () => {
    const fields = fc.record({
      source: arbitraryIpv6,
      destination: arbitraryIpv6,
      nextHeader: arbitraryU8,
      hopLimit: arbitraryU8,
      payloadLength: fc.constant(0),
      dscp: fc.integer({ min: 0, max: 63 }),
      ecn: fc.integer({ min: 0, max: 3 }),
      flowLabel: fc.integer({ min: 0, max: 0xf_ffff }),
    });
    fc.assert(
      fc.property(fields, (value) => {
        const bytes = emittedBytes(40, (into, offset) => emitIpv6(value, into, offset));
        expect(toIpv6Fields(view(bytes))).toEqual(value);
      }),
    );
  });

  it("never writes a payload length beyond 16 bits", () => {
    const fields = { ...toIpv6Fields(view(PACKET)), payloadLength: 65_536 };
    expect(() => emitIpv6(fields, new Uint8Array(40), 0)).toThrow(/65535/);
  });
});

describe("Ipv6FragmentView", () => {
  it("reads a fragment header", () => {
    const parsed = Ipv6FragmentView.parse(PACKET, 56) as Ipv6FragmentView;
    expect(parsed).toMatchObject({
      nextHeader: 17,
      fragmentOffset: 0,
      hasMoreFragments: true,
      identification: 0x89abcdef,
    });
    expect(Ipv6FragmentView.parse(PACKET, 57)).toBe("ipv6-extension-truncated");
  });

  it("emit then parse gives the same fields, every byte written", () => {
    const unit = fc.integer({ min: 0, max: 0x1fff });
    fc.assert(
      fc.property(
        arbitraryU8,
        unit,
        fc.boolean(),
        arbitraryU32,
        (nextHeader, units, hasMoreFragments, identification) => {
          const fields = { nextHeader, fragmentOffset: units * 8, hasMoreFragments, identification };
          const bytes = emittedBytes(8, (into, offset) => emitIpv6Fragment(fields, into, offset));
          expect(Ipv6FragmentView.parse(bytes)).toMatchObject(fields);
        },
      ),
    );
  });
});

describe("extension headers", () => {
  it("are listed in order", () => {
    expect(listIpv6Extensions(PACKET, 0, PACKET.length)).toEqual([
      { type: 0, start: 40, length: 8, nextHeader: 60 },
      { type: 60, start: 48, length: 8, nextHeader: 44 },
      { type: 44, start: 56, length: 8, nextHeader: 17 },
    ]);
  });

  it("end at a later fragment, behind which no header is", () => {
    const bytes = PACKET.slice();
    bytes[56] = 60;
    bytes[58] = 0x05;
    expect(listIpv6Extensions(bytes, 0, bytes.length)).toHaveLength(3);
  });

  it.each([
    { name: "an extension that ends too early", patch: {}, length: 63, reason: "ipv6-extension-truncated" },
    {
      name: "an extension longer than the packet",
      patch: { 49: 3 },
      length: 64,
      reason: "ipv6-extension-truncated",
    },
    {
      name: "a second fragment header",
      patch: { 40: 44, 48: 44, 50: 0, 51: 0 },
      length: 64,
      reason: "ipv6-extension-chain",
    },
  ])("refuse $name", ({ patch, length, reason }) => {
    const bytes = patchedBytes(PACKET, patch);
    expect(listIpv6Extensions(bytes, 0, length)).toBe(reason);
  });

  it("are bounded: eight are taken, nine are not", () => {
    const chain = (count: number): Uint8Array => {
      const bytes = new Uint8Array(40 + count * 8);
      bytes[0] = 0x60;
      bytes[6] = 60;
      for (let i = 0; i < count; i++) bytes[40 + i * 8] = i === count - 1 ? 59 : 60;
      return bytes;
    };
    expect(listIpv6Extensions(chain(8), 0, 40 + 64)).toHaveLength(8);
    expect(listIpv6Extensions(chain(9), 0, 40 + 72)).toBe("ipv6-extension-chain");
  });

  it.each([
    { data: "", hex: "11 00 01 04 00000000" },
    { data: "0502 0000", hex: "11 00 0502 0000 01 00" },
    { data: "0502 0000 00", hex: "11 00 0502 0000 00 00" },
    { data: "0502 0000 0000", hex: "11 00 0502 0000 0000" },
  ])("options '$data' are padded with Pad1 or PadN", ({ data, hex }) => {
    const extension = { type: 0, data: annotatedHex(data) } as const;
    const bytes = emittedBytes(8, (into, offset) => emitIpv6Extension(extension, 17, into, offset));
    expect(formatHex(bytes)).toBe(formatHex(annotatedHex(hex)));
  });

  it("every byte of an emitted extension is written, and the length holds", () => {
    fc.assert(
      fc.property(arbitraryExtension, arbitraryU16, (extension, next) => {
        const length = ipv6ExtensionLength(extension);
        const bytes = emittedBytes(length, (into, offset) =>
          emitIpv6Extension(extension, next & 0xff, into, offset),
        );
        expect((bytes[1]! + 1) * 8).toBe(length);
        expect(bytes.subarray(2, 2 + extension.data.length)).toEqual(extension.data);
      }),
    );
  });

  it("never pads a routing header", () => {
    const extension = { type: 43, data: new Uint8Array(7) } as const;
    expect(() => emitIpv6Extension(extension, 17, new Uint8Array(32), 0)).toThrow(/routing/);
  });
});

it("addresses of all ones survive", () => {
  const all = ((1n << 128n) - 1n) as Ipv6;
  const fields = { source: all, destination: all, nextHeader: 59, hopLimit: 255, payloadLength: 0 };
  const bytes = emittedBytes(40, (into, offset) => emitIpv6(fields, into, offset));
  expect(view(bytes).source).toBe(all);
  expect(view(bytes).destination).toBe(all);
});

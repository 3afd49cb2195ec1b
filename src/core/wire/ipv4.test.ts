import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { type Ipv4, formatIp, parseIp } from "../net/ip.ts";
import { arbitraryIpv4, arbitraryU16, arbitraryU8 } from "#test/support/wire/arbitrary-frames.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { emittedBytes, patchedBytes } from "#test/support/wire/emitted-bytes.ts";
import { Ipv4View, emitIpv4, ipv4HeaderLength, parseIpv4Options, toIpv4Fields } from "./ipv4.ts";

const ip = (text: string): Ipv4 => parseIp(text) as Ipv4;

/** A last fragment with DSCP 46, ECN 1, and options: no-operation, router alert, end. */
const HEADER = annotatedHex(`
  47 b9 0022 beef 20b9 05 11 0000     ; 28 bytes of header, length 34, more fragments at 1480, TTL 5, UDP
  c0a80001 c0a80002
  01 94040000 00 0000                 ; no-operation, router alert (type 148, length 4), end, padding
  aabbccddeeff
`);

function view(bytes: Uint8Array, start = 0, end = bytes.length, isCutShort = false): Ipv4View {
  const parsed = Ipv4View.parse(bytes, start, end, isCutShort);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

describe("Ipv4View", () => {
  it("reads the header of a vector", () => {
    const header = view(DATAPLANE_VECTORS.V1, 14);
    expect(toIpv4Fields(header)).toEqual({
      source: ip("10.244.1.10"),
      destination: ip("10.96.0.50"),
      protocol: 6,
      ttl: 128,
      identification: 0x1234,
      isDontFragment: true,
      payloadLength: 32,
      dscp: 0,
      ecn: 0,
      hasMoreFragments: false,
      fragmentOffset: 0,
      options: new Uint8Array(0),
    });
    expect(header.checksum).toBe(0xd200);
    expect(header.isChecksumValid).toBe(true);
    expect([header.payloadStart, header.payloadEnd]).toEqual([34, 66]);
  });

  it("reads fragment, service and options", () => {
    const header = view(HEADER);
    expect(header).toMatchObject({
      headerBytes: 28,
      dscp: 46,
      ecn: 1,
      totalLength: 34,
      hasMoreFragments: true,
      isDontFragment: false,
      fragmentOffset: 1480,
      ttl: 5,
      protocol: 17,
      isChecksumValid: false,
    });
    expect(formatIp(header.source)).toBe("192.168.0.1");
    expect(formatHex(header.options)).toBe("0194040000000000");
    expect(parseIpv4Options(header.options)).toEqual([{ type: 148, data: Uint8Array.of(0, 0) }]);
  });

  it("leaves Ethernet padding out", () => {
    const padded = new Uint8Array(60);
    padded.set(HEADER);
    expect(view(padded).payloadEnd).toBe(34);
  });

  it.each([
    { name: "nothing", patch: {}, length: 19, reason: "ipv4-truncated" },
    { name: "another version", patch: { 0: 0x67 }, length: 34, reason: "ipv4-version" },
    { name: "a header of 16 bytes", patch: { 0: 0x44 }, length: 34, reason: "ipv4-header-length" },
    { name: "a header longer than the frame", patch: { 0: 0x4f }, length: 34, reason: "ipv4-header-length" },
    { name: "a total length below the header", patch: { 3: 27 }, length: 34, reason: "ipv4-total-length" },
    { name: "a total length beyond the frame", patch: { 3: 35 }, length: 34, reason: "ipv4-total-length" },
  ])("refuses $name", ({ patch, length, reason }) => {
    const bytes = patchedBytes(HEADER, patch);
    expect(Ipv4View.parse(bytes, 0, length)).toBe(reason);
  });

  it("takes a packet that is cut short where that is said", () => {
    const quoted = view(DATAPLANE_VECTORS.V1, 14, 14 + 28, true);
    expect(quoted.totalLength).toBe(52);
    expect([quoted.payloadStart, quoted.payloadEnd]).toEqual([34, 42]);
    expect(Ipv4View.parse(DATAPLANE_VECTORS.V1, 14, 42)).toBe("ipv4-total-length");
  });
});

describe("emitIpv4", () => {
  it("writes the header of a vector", () => {
    const fields = toIpv4Fields(view(DATAPLANE_VECTORS.V7, 14));
    const bytes = emittedBytes(20, (into, offset) => emitIpv4(fields, into, offset));
    expect(formatHex(bytes)).toBe(formatHex(DATAPLANE_VECTORS.V7.subarray(14, 34)));
  });

  it("emit then parse gives the same fields with a right checksum, every byte written", () => {
    const fields = fc.record({
      source: arbitraryIpv4,
      destination: arbitraryIpv4,
      protocol: arbitraryU8,
      ttl: arbitraryU8,
      identification: arbitraryU16,
      isDontFragment: fc.boolean(),
      payloadLength: fc.constant(0),
      dscp: fc.integer({ min: 0, max: 63 }),
      ecn: fc.integer({ min: 0, max: 3 }),
      hasMoreFragments: fc.boolean(),
      fragmentOffset: fc.integer({ min: 0, max: 0x1fff }).map((unit) => unit * 8),
      options: fc.nat(10).chain((words) => fc.uint8Array({ minLength: words * 4, maxLength: words * 4 })),
    });
    fc.assert(
      fc.property(fields, (value) => {
        const length = ipv4HeaderLength(value.options);
        const bytes = emittedBytes(length, (into, offset) => emitIpv4(value, into, offset));
        expect(toIpv4Fields(view(bytes))).toEqual(value);
        expect(view(bytes).isChecksumValid).toBe(true);
      }),
    );
  });

  it("pads options with zeros to a multiple of 4", () => {
    const fields = { ...toIpv4Fields(view(HEADER)), payloadLength: 0, options: Uint8Array.of(1, 1, 1, 1, 1) };
    const bytes = emittedBytes(28, (into, offset) => emitIpv4(fields, into, offset));
    expect(formatHex(bytes.subarray(20))).toBe("0101010101000000");
  });

  it.each([
    { name: "41 bytes of options", patch: { options: new Uint8Array(41) } },
    { name: "more than 65535 bytes", patch: { payloadLength: 65_516 } },
    { name: "a fragment offset between two units", patch: { fragmentOffset: 4 } },
  ])("never writes $name", ({ patch }) => {
    const fields = { ...toIpv4Fields(view(HEADER)), payloadLength: 0, ...patch };
    expect(() => emitIpv4(fields, new Uint8Array(100), 0)).toThrow(/IPv4|fragment/);
  });
});

describe("parseIpv4Options", () => {
  it.each([
    { hex: "", options: [] },
    { hex: "00 ff ff ff", options: [] },
    { hex: "01 01 01 01", options: [] },
    {
      hex: "94 02 07 03 11",
      options: [
        { type: 0x94, data: "" },
        { type: 7, data: "11" },
      ],
    },
  ])("$hex", ({ hex, options }) => {
    const parsed = parseIpv4Options(annotatedHex(hex));
    if (typeof parsed === "string") throw new Error(parsed);
    expect(parsed.map(({ type, data }) => ({ type, data: formatHex(data) }))).toEqual(options);
  });

  it.each(["94", "94 00", "94 01", "94 03 00 94 09"])("refuses %s", (hex) => {
    expect(parseIpv4Options(annotatedHex(hex))).toBe("ipv4-option-length");
  });
});

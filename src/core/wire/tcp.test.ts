import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { arbitraryTcpFields, arbitraryTcpOptions } from "#test/support/wire/arbitrary-frames.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { emittedBytes, patchedBytes } from "#test/support/wire/emitted-bytes.ts";
import { TcpFlag, TcpView, emitTcp, tcpHeaderLength } from "./tcp.ts";
import {
  type TcpOption,
  TcpOptionKind,
  emitTcpOptions,
  findTcpOption,
  parseTcpOptions,
  tcpOptionsLength,
} from "./tcp-options.ts";

const SYN = DATAPLANE_VECTORS.V1.subarray(34);

function view(bytes: Uint8Array): TcpView {
  const parsed = TcpView.parse(bytes);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

function options(hex: string): TcpOption[] {
  const parsed = parseTcpOptions(annotatedHex(hex));
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

describe("TcpView", () => {
  it("reads the SYN of a vector", () => {
    const header = view(SYN);
    expect(header).toMatchObject({
      sourcePort: 49200,
      destinationPort: 80,
      sequence: 0x01020304,
      acknowledgment: 0,
      headerBytes: 32,
      flags: TcpFlag.syn | TcpFlag.ece | TcpFlag.cwr,
      window: 64860,
      checksum: 0x960f,
      urgentPointer: 0,
      payloadStart: 32,
      payloadEnd: 32,
      payloadLength: 0,
    });
    expect(header.has(TcpFlag.syn)).toBe(true);
    expect(header.has(TcpFlag.syn | TcpFlag.ack)).toBe(false);
  });

  it("finds the payload behind the options", () => {
    const bytes = new Uint8Array(37);
    bytes.set(SYN);
    expect(view(bytes)).toMatchObject({ payloadStart: 32, payloadLength: 5 });
  });

  it.each([
    { name: "a header that ends too early", patch: {}, length: 19, reason: "tcp-truncated" },
    { name: "a data offset of 16", patch: { 12: 0x40 }, length: 32, reason: "tcp-data-offset" },
    { name: "a data offset beyond the segment", patch: { 12: 0x90 }, length: 32, reason: "tcp-data-offset" },
  ])("refuses $name", ({ patch, length, reason }) => {
    expect(TcpView.parse(patchedBytes(SYN, patch), 0, length)).toBe(reason);
  });

  it("emit then parse gives the same fields, every byte written", () => {
    fc.assert(
      fc.property(arbitraryTcpFields, (fields) => {
        const length = tcpHeaderLength(fields.options);
        const bytes = emittedBytes(length, (into, offset) => emitTcp(fields, into, offset));
        const { options: own, ...rest } = fields;
        expect(view(bytes)).toMatchObject({ ...rest, checksum: 0, headerBytes: length });
        expect(parseTcpOptions(view(bytes).options)).toEqual(own);
      }),
    );
  });

  it("never writes more than 40 bytes of options", () => {
    const many = Array.from({ length: 11 }, () => ({ kind: "mss", mssBytes: 1 }) as const);
    const fields = {
      sourcePort: 1,
      destinationPort: 2,
      sequence: 0,
      acknowledgment: 0,
      flags: 0,
      window: 0,
      options: many,
    };
    expect(() => emitTcp(fields, new Uint8Array(100), 0)).toThrow(/40 bytes/);
  });
});

describe("TCP options", () => {
  it.each([
    {
      hex: "02 04 05 82  01  03 03 08  01 01  04 02",
      parsed: [
        { kind: "mss", mssBytes: 1410 },
        { kind: "nop" },
        { kind: "window-scale", shift: 8 },
        { kind: "nop" },
        { kind: "nop" },
        { kind: "sack-permitted" },
      ],
    },
    {
      hex: "01 01 08 0a 00000001 fffffffe",
      parsed: [{ kind: "nop" }, { kind: "nop" }, { kind: "timestamps", value: 1, echo: 0xffff_fffe }],
    },
    {
      hex: "05 12 00000001 00000002 fffffff0 00000004 01 01",
      parsed: [
        {
          kind: "sack",
          blocks: [
            { left: 1, right: 2 },
            { left: 0xffff_fff0, right: 4 },
          ],
        },
        { kind: "nop" },
        { kind: "nop" },
      ],
    },
    { hex: "00 02 04 05", parsed: [] },
    { hex: "", parsed: [] },
    { hex: "fe 04 beef", parsed: [{ kind: "unknown", number: 254, data: Uint8Array.of(0xbe, 0xef) }] },
    {
      hex: "02 03 05 01 05 02",
      parsed: [
        { kind: "unknown", number: 2, data: Uint8Array.of(5) },
        { kind: "nop" },
        { kind: "unknown", number: 5, data: new Uint8Array(0) },
      ],
    },
  ])("'$hex' are read", ({ hex, parsed }) => {
    expect(options(hex)).toEqual(parsed);
  });

  it.each(["02", "02 00", "02 01", "02 04 05", "01 01 01 08"])("'%s' are refused", (hex) => {
    expect(parseTcpOptions(annotatedHex(hex))).toBe("tcp-option-length");
  });

  it("emit then parse gives the same options, padded with end marks", () => {
    fc.assert(
      fc.property(arbitraryTcpOptions, (list) => {
        const bytes = emittedBytes(tcpOptionsLength(list), (into, offset) =>
          emitTcpOptions(list, into, offset),
        );
        expect(bytes.length % 4).toBe(0);
        expect(parseTcpOptions(bytes)).toEqual(list);
      }),
    );
    const padded = emittedBytes(4, (into, offset) =>
      emitTcpOptions([{ kind: "sack-permitted" }], into, offset),
    );
    expect(formatHex(padded)).toBe("04020000");
  });

  it("findTcpOption finds what parseTcpOptions lists first", () => {
    const kinds = {
      mss: TcpOptionKind.mss,
      "window-scale": TcpOptionKind.windowScale,
      "sack-permitted": TcpOptionKind.sackPermitted,
      sack: TcpOptionKind.sack,
      timestamps: TcpOptionKind.timestamps,
    } as const;
    fc.assert(
      fc.property(arbitraryTcpFields, (fields) => {
        const bytes = new Uint8Array(tcpHeaderLength(fields.options));
        emitTcp(fields, bytes, 0);
        for (const [name, kind] of Object.entries(kinds)) {
          const at = findTcpOption(bytes, 0, kind);
          expect(at >= 0).toBe((fields.options ?? []).some((option) => option.kind === name));
          if (at >= 0) expect(bytes[at]).toBe(kind);
        }
      }),
    );
  });

  it("findTcpOption stops at broken options and stays inside the header", () => {
    const bytes = patchedBytes(SYN, { 20: 0xfd, 21: 0 });
    expect(findTcpOption(bytes, 0, TcpOptionKind.sackPermitted)).toBe(-1);
    expect(findTcpOption(patchedBytes(SYN, { 21: 40 }), 0, TcpOptionKind.mss)).toBe(-1);
    expect(findTcpOption(patchedBytes(SYN, { 20: 0 }), 0, TcpOptionKind.mss)).toBe(-1);
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { arbitraryIcmp, arbitraryIcmpv6 } from "#test/support/wire/arbitrary-frames.ts";
import { emittedBytes } from "#test/support/wire/emitted-bytes.ts";
import { type IcmpRepr, IcmpType, IcmpView, emitIcmp, icmpLength, isIcmpError, toIcmpRepr } from "./icmp.ts";
import { Icmpv6View, emitIcmpv6, icmpv6Length, toIcmpv6Repr } from "./icmpv6/icmpv6.ts";

function icmp(bytes: Uint8Array): IcmpView {
  const parsed = IcmpView.parse(bytes);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

function icmpv6(bytes: Uint8Array): Icmpv6View {
  const parsed = Icmpv6View.parse(bytes);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

const body = Uint8Array.of(0xab, 0xcd);
const invoking = Uint8Array.of(0x45, 0);

describe("ICMP", () => {
  it.each<{ hex: string; repr: IcmpRepr }>([
    {
      hex: "08 00 0000 0001 0007 abcd",
      repr: { type: "echo-request", identifier: 1, sequence: 7, payload: body },
    },
    {
      hex: "00 00 0000 ffff fffe abcd",
      repr: { type: "echo-reply", identifier: 65535, sequence: 65534, payload: body },
    },
    { hex: "03 03 0000 00000000 4500", repr: { type: "destination-unreachable", code: 3, invoking } },
    { hex: "03 04 0000 0000 05aa 4500", repr: { type: "fragmentation-needed", mtuBytes: 1450, invoking } },
    { hex: "0b 01 0000 00000000 4500", repr: { type: "time-exceeded", code: 1, invoking } },
    { hex: "0c 00 0000 14 000000 4500", repr: { type: "parameter-problem", pointer: 20, invoking } },
  ])("$hex is $repr.type", ({ hex, repr }) => {
    const bytes = annotatedHex(hex);
    expect(toIcmpRepr(icmp(bytes))).toEqual(repr);
    expect(formatHex(emittedBytes(icmpLength(repr), (into, offset) => emitIcmp(repr, into, offset)))).toBe(
      formatHex(bytes),
    );
  });

  it("emit then parse gives the same message, every byte written", () => {
    fc.assert(
      fc.property(arbitraryIcmp, (repr) => {
        const bytes = emittedBytes(icmpLength(repr), (into, offset) => emitIcmp(repr, into, offset));
        expect(toIcmpRepr(icmp(bytes))).toEqual(repr);
      }),
    );
  });

  it.each([
    { type: IcmpType.echoRequest, isError: false, isEcho: true },
    { type: IcmpType.echoReply, isError: false, isEcho: true },
    { type: IcmpType.destinationUnreachable, isError: true, isEcho: false },
    { type: IcmpType.redirect, isError: true, isEcho: false },
    { type: IcmpType.timeExceeded, isError: true, isEcho: false },
    { type: IcmpType.parameterProblem, isError: true, isEcho: false },
    { type: 13, isError: false, isEcho: false },
  ])("type $type: error $isError, echo $isEcho", ({ type, isError, isEcho }) => {
    const message = icmp(Uint8Array.of(type, 0, 0, 0, 0, 0, 0, 0));
    expect([message.isError, message.isEcho, isIcmpError(type)]).toEqual([isError, isEcho, isError]);
  });

  it("makes no value of messages that nobody acts on", () => {
    expect(toIcmpRepr(icmp(annotatedHex("0f 00 0000 00000000")))).toBeUndefined();
    expect(toIcmpRepr(icmp(annotatedHex("05 01 0000 0a000001")))).toBeUndefined();
  });

  it("refuses a message that ends too early", () => {
    expect(IcmpView.parse(new Uint8Array(7))).toBe("icmp-truncated");
    expect(Icmpv6View.parse(new Uint8Array(7))).toBe("icmp-truncated");
  });
});

describe("ICMPv6", () => {
  it.each([
    { hex: "80 00 0000 0001 0007 abcd", type: "echo-request" },
    { hex: "81 00 0000 0001 0007 abcd", type: "echo-reply" },
    { hex: "01 04 0000 00000000 6000", type: "destination-unreachable" },
    { hex: "02 00 0000 0000 0578 6000", type: "packet-too-big" },
    { hex: "03 00 0000 00000000 6000", type: "time-exceeded" },
    { hex: "04 01 0000 00000028 6000", type: "parameter-problem" },
  ])("$hex is $type", ({ hex, type }) => {
    const bytes = annotatedHex(hex);
    const repr = toIcmpv6Repr(icmpv6(bytes))!;
    expect(repr.type).toBe(type);
    expect(
      formatHex(emittedBytes(icmpv6Length(repr), (into, offset) => emitIcmpv6(repr, into, offset))),
    ).toBe(formatHex(bytes));
  });

  it("reads the fields that depend on the type", () => {
    expect(icmpv6(annotatedHex("02 00 0000 0001 0578")).mtuBytes).toBe(0x1_0578);
    expect(icmpv6(annotatedHex("04 01 0000 00000028")).pointer).toBe(40);
    expect(icmpv6(annotatedHex("80 00 1234 0001 0007"))).toMatchObject({
      checksum: 0x1234,
      identifier: 1,
      sequence: 7,
      isEcho: true,
      isError: false,
    });
  });

  it("emit then parse gives the same message, every byte written", () => {
    fc.assert(
      fc.property(arbitraryIcmpv6, (repr) => {
        const bytes = emittedBytes(icmpv6Length(repr), (into, offset) => emitIcmpv6(repr, into, offset));
        expect(toIcmpv6Repr(icmpv6(bytes))).toEqual(repr);
      }),
    );
  });

  it("makes no value of neighbour discovery, which nd.ts reads", () => {
    const message = icmpv6(annotatedHex("87 00 0000 00000000"));
    expect(message.isDiscovery).toBe(true);
    expect(toIcmpv6Repr(message)).toBeUndefined();
    expect(icmpv6(annotatedHex("89 00 0000 00000000")).isDiscovery).toBe(false);
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { parseIp } from "../net/ip.ts";
import { parseMac } from "../net/mac.ts";
import { arbitraryArp } from "#test/support/wire/arbitrary-frames.ts";
import { emittedBytes } from "#test/support/wire/emitted-bytes.ts";
import { ARP_BYTES, ArpView, emitArp, toArpRepr } from "./arp.ts";

/** dataplane.md §6.5, a proxy answer: the gateway's MAC for an address that is not its own. */
const REPLY = annotatedHex(`
  0001 0800 06 04 0002            ; Ethernet, IPv4, lengths, reply
  00155daa0001 0af40101           ; sender
  0e2a0af4010a 0af4010a           ; target
`);

function view(bytes: Uint8Array): ArpView {
  const parsed = ArpView.parse(bytes);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

describe("ARP", () => {
  it("reads a reply", () => {
    expect(toArpRepr(view(REPLY))).toEqual({
      operation: "reply",
      senderMac: parseMac("00-15-5D-AA-00-01"),
      senderIp: parseIp("10.244.1.1"),
      targetMac: parseMac("0E-2A-0A-F4-01-0A"),
      targetIp: parseIp("10.244.1.10"),
    });
  });

  it("emit of what was parsed gives the same bytes", () => {
    const repr = toArpRepr(view(REPLY))!;
    expect(formatHex(emittedBytes(ARP_BYTES, (into, offset) => emitArp(repr, into, offset)))).toBe(
      formatHex(REPLY),
    );
  });

  it("emit then parse gives the same message, every byte written", () => {
    fc.assert(
      fc.property(arbitraryArp, (repr) => {
        const bytes = emittedBytes(ARP_BYTES, (into, offset) => emitArp(repr, into, offset));
        expect(toArpRepr(view(bytes))).toEqual(repr);
      }),
    );
  });

  it("shows operations that nobody acts on, and makes no value of them", () => {
    const bytes = REPLY.slice();
    bytes[7] = 8;
    expect(view(bytes).operation).toBe(8);
    expect(toArpRepr(view(bytes))).toBeUndefined();
  });

  it.each([
    { name: "hardware type", at: 1 },
    { name: "protocol type", at: 2 },
    { name: "hardware length", at: 4 },
    { name: "protocol length", at: 5 },
  ])("refuses another $name", ({ at }) => {
    const bytes = REPLY.slice();
    bytes[at]! ^= 0x10;
    expect(ArpView.parse(bytes)).toBe("arp-not-ethernet-ipv4");
  });

  it("refuses a message that ends too early", () => {
    for (let length = 0; length < ARP_BYTES; length++) {
      expect(ArpView.parse(REPLY, 0, length)).toBe("arp-truncated");
    }
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { type Ipv6, formatIp, parseIp, parsePrefix } from "../../net/ip.ts";
import { parseMac } from "../../net/mac.ts";
import { arbitraryNd } from "#test/support/wire/arbitrary-frames.ts";
import { emittedBytes, patchedBytes } from "#test/support/wire/emitted-bytes.ts";
import { type NdRepr, NdView, emitNd, ndLength, solicitedNodeMulticast, toNdRepr } from "./nd.ts";

const ip = (text: string): Ipv6 => parseIp(text) as Ipv6;
const mac = parseMac("0E-2A-0A-F4-01-0A")!;

function view(bytes: Uint8Array): NdView {
  const parsed = NdView.parse(bytes);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

const SOLICITATION = annotatedHex(`
  87 00 0000 00000000                      ; neighbour solicitation
  fd000001000000000000000000000001         ; target
  01 01 0e2a0af4010a                       ; the sender's MAC
`);

describe("neighbour discovery", () => {
  it.each<{ name: string; hex: string; repr: NdRepr }>([
    {
      name: "a neighbour solicitation",
      hex: formatHex(SOLICITATION),
      repr: {
        type: "neighbor-solicitation",
        target: ip("fd00:1::1"),
        options: [{ kind: "source-link-layer", mac }],
      },
    },
    {
      name: "a neighbour advertisement",
      hex: "88 00 0000 60000000 fd000001000000000000000000000001 02 01 0e2a0af4010a",
      repr: {
        type: "neighbor-advertisement",
        target: ip("fd00:1::1"),
        isRouter: false,
        isSolicited: true,
        isOverride: true,
        options: [{ kind: "target-link-layer", mac }],
      },
    },
    {
      name: "a router solicitation",
      hex: "85 00 0000 00000000",
      repr: { type: "router-solicitation", options: [] },
    },
    {
      name: "a router advertisement",
      hex: `86 00 0000 40 c0 0708 00007530 000003e8
        05 01 0000 000005dc
        03 04 40 c0 00278d00 00093a80 00000000 fd000001000000000000000000000000
        19 03 0000 0000012c fd00000a00000000000000000000000a`,
      repr: {
        type: "router-advertisement",
        hopLimit: 64,
        isManaged: true,
        isOtherConfigured: true,
        lifetimeSeconds: 1800,
        reachableMs: 30_000,
        retransmitMs: 1_000,
        options: [
          { kind: "mtu", mtuBytes: 1500 },
          {
            kind: "prefix-information",
            prefix: parsePrefix("fd00:1::/64")!,
            isOnLink: true,
            isAutonomous: true,
            validSeconds: 2_592_000,
            preferredSeconds: 604_800,
          },
          { kind: "recursive-dns-servers", lifetimeSeconds: 300, servers: [ip("fd00:a::a")] },
        ],
      },
    },
  ])("$name", ({ hex, repr }) => {
    const bytes = annotatedHex(hex);
    expect(toNdRepr(view(bytes))).toEqual(repr);
    expect(formatHex(emittedBytes(ndLength(repr), (into, offset) => emitNd(repr, into, offset)))).toBe(
      formatHex(bytes),
    );
  });

  it("finds the MAC addresses that messages tell", () => {
    expect(view(SOLICITATION).sourceMac).toBe(mac);
    expect(view(SOLICITATION).targetMac).toBeUndefined();
    expect(view(SOLICITATION.subarray(0, 24)).sourceMac).toBeUndefined();
  });

  it("emit then parse gives the same message, every byte written", () => {
    fc.assert(
      fc.property(arbitraryNd, (repr) => {
        const bytes = emittedBytes(ndLength(repr), (into, offset) => emitNd(repr, into, offset));
        expect(toNdRepr(view(bytes))).toEqual(repr);
      }),
    );
  });

  it.each([
    { name: "a message of another type", patch: { 0: 128 }, length: 32, reason: "nd-not-discovery" },
    { name: "less than a header", patch: {}, length: 7, reason: "icmp-truncated" },
    { name: "a target that ends too early", patch: {}, length: 23, reason: "nd-truncated" },
    { name: "an option without length", patch: { 25: 0 }, length: 32, reason: "nd-option-length" },
    { name: "an option beyond the message", patch: { 25: 2 }, length: 32, reason: "nd-option-length" },
    { name: "an option of one byte", patch: {}, length: 25, reason: "nd-option-length" },
  ])("refuses $name", ({ patch, length, reason }) => {
    expect(NdView.parse(patchedBytes(SOLICITATION, patch), 0, length)).toBe(reason);
  });

  it("an option of a known type with a wrong length is unknown, not misread", () => {
    const bytes = annotatedHex("85 00 0000 00000000 05 02 0000 000005dc 0000000000000000");
    expect(view(bytes).options).toEqual([{ kind: "unknown", type: 5, data: bytes.subarray(10) }]);
  });

  it.each([
    { target: "fd00:1::a", group: "ff02::1:ff00:a" },
    { target: "fe80::20d:3aff:fe98:7654", group: "ff02::1:ff98:7654" },
  ])("$target is solicited at $group (RFC 4291 §2.7.1)", ({ target, group }) => {
    expect(formatIp(solicitedNodeMulticast(ip(target)))).toBe(group);
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { type Ipv6, parseIp } from "../../net/ip.ts";
import { parseMac } from "../../net/mac.ts";
import { emittedBytes, patchedBytes } from "#test/support/wire/emitted-bytes.ts";
import { buildMldFrame } from "../build-frame.ts";
import { describeFrame } from "../text/format.ts";
import { Headers } from "../headers.ts";
import { MLD_RECORDS, MLD_ROUTERS, type MldRepr, emitMld, mldLength, parseMld } from "./mld.ts";
import { verifyChecksums } from "../transport-checksum.ts";

const ip = (text: string): Ipv6 => parseIp(text) as Ipv6;

const GENERAL_QUERY = annotatedHex(`
  82 00 0000 2710 0000                     ; query, answers within 10 s
  00000000000000000000000000000000         ; all groups
  02 7d 0000                               ; robustness 2, every 125 s, no sources
`);
const JOIN = annotatedHex(`
  8f 00 0000 0000 0001                     ; report, one record
  04 00 0000                               ; change to exclude, no sources: a join
  ff0200000000000000000001ff000010         ; the group
`);
const QUERY: MldRepr = {
  type: "query",
  maxResponseMs: 10_000,
  group: 0n as Ipv6,
  robustness: 2,
  intervalSeconds: 125,
  sources: [],
};

const arbitraryIp = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }).map((value) => value as Ipv6);
const arbitrarySources = fc.array(arbitraryIp, { maxLength: 3 });
const arbitraryMld: fc.Arbitrary<MldRepr> = fc.oneof(
  fc.record({
    type: fc.constant("query" as const),
    maxResponseMs: fc.nat(0x7fff),
    group: arbitraryIp,
    robustness: fc.nat(7),
    intervalSeconds: fc.nat(255),
    sources: arbitrarySources,
  }),
  fc.record({
    type: fc.constant("report" as const),
    records: fc.array(
      fc.record({ kind: fc.constantFrom(...MLD_RECORDS), group: arbitraryIp, sources: arbitrarySources }),
      { maxLength: 4 },
    ),
  }),
);

describe("multicast listener discovery (RFC 3810)", () => {
  it.each<{ name: string; bytes: Uint8Array; repr: MldRepr }>([
    { name: "a general query", bytes: GENERAL_QUERY, repr: QUERY },
    {
      name: "a report of a group that was joined",
      bytes: JOIN,
      repr: {
        type: "report",
        records: [{ kind: "to-exclude", group: ip("ff02::1:ff00:10"), sources: [] }],
      },
    },
  ])("$name", ({ bytes, repr }) => {
    expect(parseMld(bytes)).toEqual(repr);
    expect(formatHex(emittedBytes(mldLength(repr), (into, at) => emitMld(repr, into, at)))).toBe(
      formatHex(bytes),
    );
  });

  it("what is written is read as it was", () => {
    fc.assert(
      fc.property(arbitraryMld, (repr) => {
        expect(parseMld(emittedBytes(mldLength(repr), (into, at) => emitMld(repr, into, at)))).toEqual(repr);
      }),
    );
  });

  it("a query of version 1 is 24 bytes long and has no robustness", () => {
    expect(parseMld(GENERAL_QUERY.subarray(0, 24))).toEqual({ ...QUERY, robustness: 0, intervalSeconds: 0 });
    expect(parseMld(GENERAL_QUERY.subarray(0, 26))).toBe("mld-truncated");
  });

  it("a response code from 32768 on is a floating-point number (§5.1.3)", () => {
    const slow = patchedBytes(GENERAL_QUERY, { 4: 0x80, 5: 0x01 });
    expect(parseMld(slow)).toMatchObject({ maxResponseMs: 0x1001 * 8 });
  });

  it("a report that names more than it has is refused, a record of an unknown type is passed over", () => {
    expect(parseMld(patchedBytes(JOIN, { 7: 2 }))).toBe("mld-truncated");
    expect(parseMld(patchedBytes(JOIN, { 11: 1 }))).toBe("mld-truncated");
    expect(parseMld(patchedBytes(JOIN, { 8: 9 }))).toEqual({ type: "report", records: [] });
  });

  it("travels with hop limit 1 behind a router alert, and its checksum is right", () => {
    const packet = buildMldFrame({
      link: { sourceMac: parseMac("00-15-5D-00-00-10")!, destinationMac: parseMac("33-33-00-00-00-16")! },
      source: ip("fe80::10"),
      destination: MLD_ROUTERS,
      mld: { type: "report", records: [{ kind: "to-exclude", group: ip("ff02::fb"), sources: [] }] },
    });
    const headers = new Headers();
    expect(headers.parse(packet)).toBeUndefined();
    expect(verifyChecksums(packet.bytes, headers)).toBeUndefined();
    const header = packet.frame.subarray(14, 62);
    expect([header[6], header[7]]).toEqual([0, 1]);
    expect(formatHex(header.subarray(40))).toBe(formatHex(annotatedHex("3a 00 05 02 0000 01 00")));
    expect(describeFrame(packet.frame)).toContain("multicast listener report");
  });
});

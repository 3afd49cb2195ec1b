import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { LIMITS } from "../../base/limits.ts";
import { type Ipv4, type Ipv6, parseIp } from "../../net/ip.ts";
import { type DnsMessage, DnsRcode, type DnsRecord, emitDns, formatDns, parseDns } from "./dns.ts";
import { DnsStream, withLength } from "./dns-stream.ts";
import { isDnsName } from "./dns-structure.ts";
import { describeMalformed } from "../malformed.ts";

const ip4 = (text: string): Ipv4 => parseIp(text) as Ipv4;
const ip6 = (text: string): Ipv6 => parseIp(text) as Ipv6;

const QUERY: DnsMessage = {
  id: 0x1234,
  isResponse: false,
  opcode: 0,
  isAuthoritative: false,
  isTruncated: false,
  isRecursionDesired: true,
  isRecursionAvailable: false,
  rcode: DnsRcode.noError,
  questions: [{ name: "web.default.svc.cluster.local", type: "A", class: "IN" }],
  answers: [],
  authorities: [],
  additionals: [],
};

/** A query for example.com, as RFC 1035 lays it out. */
const QUERY_BYTES = annotatedHex(`
  1234 0100 0001 0000 0000 0000              ; id, recursion desired, one question
  07 6578616d706c65 03 636f6d 00 0001 0001   ; example.com, A, IN
`);

/** Its answer, with a compressed name. */
const ANSWER_BYTES = annotatedHex(`
  1234 8180 0001 0002 0000 0000
  07 6578616d706c65 03 636f6d 00 0001 0001
  c00c 0005 0001 0000003c 0006 03777777 c00c ; CNAME www.example.com
  c029 0001 0001 0000003c 0004 5db8d822      ; its address
`);

function parsed(bytes: Uint8Array): DnsMessage {
  const message = parseDns(bytes);
  if (typeof message === "string") throw new Error(describeMalformed(message));
  return message;
}

const withAnswer = (answer: DnsRecord): DnsMessage => ({ ...QUERY, isResponse: true, answers: [answer] });

describe("parseDns", () => {
  it("reads a query", () => {
    expect(parsed(QUERY_BYTES)).toEqual({
      ...QUERY,
      questions: [{ name: "example.com", type: "A", class: "IN" }],
    });
  });

  it("reads an answer with compressed names", () => {
    expect(parsed(ANSWER_BYTES)).toMatchObject({
      isResponse: true,
      isRecursionAvailable: true,
      answers: [
        { name: "example.com", ttlSeconds: 60, type: "CNAME", target: "www.example.com" },
        { name: "www.example.com", ttlSeconds: 60, type: "A", ip: ip4("93.184.216.34") },
      ],
    });
  });

  it.each([
    { name: "no header", hex: "1234 0100 0001", reason: "dns-truncated" },
    { name: "a question that is not there", hex: "1234 0100 0001 0000 0000 0000", reason: "dns-name" },
    {
      name: "a question without type",
      hex: "1234 0100 0001 0000 0000 0000 01 61 00 00",
      reason: "dns-truncated",
    },
    {
      name: "a label that reaches beyond the message",
      hex: "1234 0100 0001 0000 0000 0000 09 6161 00 0001 0001",
      reason: "dns-name",
    },
    {
      name: "a name that points at itself",
      hex: "1234 0100 0001 0000 0000 0000 c00c 0001 0001",
      reason: "dns-name",
    },
    {
      name: "a name that points forward",
      hex: "1234 0100 0001 0000 0000 0000 c00e 00 0001 0001",
      reason: "dns-name",
    },
    {
      name: "a name that points into the header",
      hex: "1234 0100 0001 0000 0000 0000 c000 0001 0001",
      reason: "dns-name",
    },
    {
      name: "a label with a dot inside",
      hex: "1234 0100 0001 0000 0000 0000 03 612e62 00 0001 0001",
      reason: "dns-name",
    },
    {
      name: "a reserved label type",
      hex: "1234 0100 0001 0000 0000 0000 80 61 00 0001 0001",
      reason: "dns-name",
    },
    {
      name: "an address of three bytes",
      hex: "1234 8000 0000 0001 0000 0000 00 0001 0001 00000000 0003 010203",
      reason: "dns-record-length",
    },
    {
      name: "record data beyond the message",
      hex: "1234 8000 0000 0001 0000 0000 00 0001 0001 00000000 0004 0102",
      reason: "dns-record-length",
    },
    {
      name: "a target that does not fill its record",
      hex: "1234 8000 0000 0001 0000 0000 00 0005 0001 00000000 0002 0000",
      reason: "dns-record-length",
    },
    {
      name: "a text string longer than its record",
      hex: "1234 8000 0000 0001 0000 0000 00 0010 0001 00000000 0002 0561",
      reason: "dns-record-length",
    },
    { name: "more records than are taken", hex: "1234 8000 ffff ffff ffff ffff", reason: "dns-too-long" },
  ])("refuses $name", ({ hex, reason }) => {
    expect(parseDns(annotatedHex(hex))).toBe(reason);
  });

  it("refuses a message that is too long", () => {
    const bytes = new Uint8Array(LIMITS.dnsMessageBytesMax + 1);
    bytes.set(QUERY_BYTES);
    expect(parseDns(bytes)).toBe("dns-too-long");
  });

  it("refuses a name of more pointers than any writer needs, in little time", () => {
    const bytes = new Uint8Array(4_000);
    bytes.set(annotatedHex("1234 0100 0001 0000 0000 0000"));
    // A chain of pointers, each at the one in front of it; the question is its end.
    for (let at = 14; at < 3_000; at += 2) bytes.set([0xc0 | ((at - 2) >> 8), (at - 2) & 0xff], at);
    bytes.set([0xc0 | (2_998 >> 8), 2_998 & 0xff], 12);
    expect(parseDns(bytes)).toBe("dns-name");
  });

  it("refuses every cut of a message, and never throws", () => {
    for (let length = 0; length < ANSWER_BYTES.length; length++) {
      expect(typeof parseDns(ANSWER_BYTES.subarray(0, length))).toBe("string");
    }
  });
});

const label = fc.string({
  unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz0123456789-_".split("")),
  minLength: 1,
  maxLength: 63,
});
const dnsName = fc
  .array(label, { minLength: 1, maxLength: 5 })
  .map((labels) => labels.join("."))
  .filter((name) => isDnsName(name));
const u16 = fc.integer({ min: 0, max: 0xffff });
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const base = { name: dnsName, ttlSeconds: u32 };
const record: fc.Arbitrary<DnsRecord> = fc.oneof(
  fc.record({ ...base, type: fc.constant("A" as const), ip: u32.map((ip) => ip as Ipv4) }),
  fc.record({
    ...base,
    type: fc.constant("AAAA" as const),
    ip: fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }).map((ip) => ip as Ipv6),
  }),
  fc.record({
    ...base,
    type: fc.constantFrom("CNAME" as const, "NS" as const, "PTR" as const),
    target: dnsName,
  }),
  fc.record({
    ...base,
    type: fc.constant("SRV" as const),
    priority: u16,
    weight: u16,
    port: u16,
    target: dnsName,
  }),
  fc.record({ ...base, type: fc.constant("MX" as const), preference: u16, target: dnsName }),
  fc.record({
    ...base,
    type: fc.constant("TXT" as const),
    strings: fc.array(fc.uint8Array({ maxLength: 255 }), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    ...base,
    type: fc.constant("SOA" as const),
    server: dnsName,
    mailbox: dnsName,
    serial: u32,
    refreshSeconds: u32,
    retrySeconds: u32,
    expireSeconds: u32,
    minimumSeconds: u32,
  }),
  fc.record({
    type: fc.constant("OPT" as const),
    udpPayloadBytesMax: fc.integer({ min: 1, max: 0xffff }),
    isDnssecOk: fc.boolean(),
  }),
  fc.record({
    ...base,
    type: fc.constant("OTHER" as const),
    typeNumber: fc.integer({ min: 60_000, max: 65_000 }),
    classNumber: fc.constant(1),
    data: fc.uint8Array({ maxLength: 40 }),
  }),
);
const records = fc.array(record, { maxLength: 3 });
const message: fc.Arbitrary<DnsMessage> = fc.record({
  id: u16,
  isResponse: fc.boolean(),
  opcode: fc.integer({ min: 0, max: 15 }),
  isAuthoritative: fc.boolean(),
  isTruncated: fc.boolean(),
  isRecursionDesired: fc.boolean(),
  isRecursionAvailable: fc.boolean(),
  rcode: fc.integer({ min: 0, max: 15 }),
  questions: fc.array(
    fc.record({ name: dnsName, type: fc.constantFrom("A", "AAAA", "SRV", "ANY"), class: fc.constant("IN") }),
    { maxLength: 2 },
  ),
  answers: records,
  authorities: records,
  additionals: records,
});

describe("emitDns", () => {
  it("writes a query byte by byte", () => {
    const bytes = emitDns({ ...QUERY, questions: [{ name: "example.com", type: "A", class: "IN" }] });
    expect(formatHex(bytes)).toBe(formatHex(QUERY_BYTES));
  });

  it("parse after emit gives the same message", () => {
    fc.assert(
      fc.property(message, (value) => {
        expect(parseDns(emitDns(value))).toEqual(value);
      }),
      { numRuns: 200 },
    );
  });

  it("never sends a name that is none", () => {
    expect(() => emitDns({ ...QUERY, questions: [{ name: "a..b", type: "A", class: "IN" }] })).toThrow(
      /name/,
    );
    expect(() =>
      emitDns(withAnswer({ type: "CNAME", name: "a", ttlSeconds: 1, target: "b".repeat(64) })),
    ).toThrow(/name/);
  });
});

it("RFC 1035 §4.2.2: messages over TCP have their length before them, wherever the stream is cut", () => {
  const stream = [...withLength(QUERY_BYTES), ...withLength(ANSWER_BYTES)];
  expect(stream.slice(0, 2)).toEqual([0, QUERY_BYTES.length]);
  for (let cut = 0; cut <= stream.length; cut++) {
    const reader = new DnsStream();
    const pieces = [stream.slice(0, cut), stream.slice(cut)].map((piece) => Uint8Array.from(piece));
    expect(pieces.flatMap((piece) => reader.take(piece))).toEqual([QUERY_BYTES, ANSWER_BYTES]);
  }
});

describe("isDnsName", () => {
  it.each([
    { name: ".", isName: true },
    { name: "", isName: false },
    { name: "a", isName: true },
    { name: "a.", isName: true },
    { name: "_http._tcp.web.default.svc.cluster.local", isName: true },
    { name: "*.example.com", isName: true },
    { name: "a..b", isName: false },
    { name: ".a", isName: false },
    { name: "a b", isName: false },
    { name: "ä", isName: false },
    { name: "a\\.b", isName: false },
    { name: "x".repeat(63), isName: true },
    { name: "x".repeat(64), isName: false },
    { name: [63, 63, 63, 61].map((length) => "x".repeat(length)).join("."), isName: true },
    { name: [63, 63, 63, 62].map((length) => "x".repeat(length)).join("."), isName: false },
  ])("$name: $isName", ({ name, isName }) => {
    expect(isDnsName(name)).toBe(isName);
  });
});

describe("formatDns says in one line what was asked and answered", () => {
  it.each([
    { value: QUERY, text: "DNS query A web.default.svc.cluster.local" },
    {
      value: withAnswer({ type: "A", name: "x", ttlSeconds: 5, ip: ip4("10.96.0.50") }),
      text: "DNS NOERROR A web.default.svc.cluster.local: A 10.96.0.50",
    },
    {
      value: withAnswer({ type: "AAAA", name: "x", ttlSeconds: 5, ip: ip6("fd00::1") }),
      text: "DNS NOERROR A web.default.svc.cluster.local: AAAA fd00::1",
    },
    {
      value: { ...QUERY, isResponse: true, isTruncated: true, rcode: DnsRcode.nameError },
      text: "DNS NXDOMAIN truncated A web.default.svc.cluster.local",
    },
  ])("$text", ({ value, text }) => {
    expect(formatDns(value)).toBe(text);
  });
});

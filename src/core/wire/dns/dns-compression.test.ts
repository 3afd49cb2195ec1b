import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { parseIpv4 } from "../../net/ip.ts";
import { compressDns } from "./dns-compression.ts";
import { type DnsMessage, type DnsRecord, emitDns, parseDns } from "./dns.ts";

const MESSAGE: DnsMessage = {
  id: 0x1234,
  isResponse: true,
  opcode: 0,
  isAuthoritative: false,
  isTruncated: false,
  isRecursionDesired: true,
  isRecursionAvailable: true,
  rcode: 0,
  questions: [{ name: "example.com", type: "A", class: "IN" }],
  answers: [
    { name: "example.com", ttlSeconds: 60, type: "CNAME", target: "www.example.com" },
    { name: "www.example.com", ttlSeconds: 60, type: "A", ip: parseIpv4("93.184.216.34")! },
  ],
  authorities: [],
  additionals: [],
};

describe("compressDns", () => {
  it("writes a name once, and its end once (RFC 1035 §4.1.4)", () => {
    expect(compressDns(emitDns(MESSAGE))).toEqual(
      annotatedHex(`
        1234 8180 0001 0002 0000 0000
        07 6578616d706c65 03 636f6d 00 0001 0001
        c00c 0005 0001 0000003c 0006 03777777 c00c ; CNAME www.example.com
        c029 0001 0001 0000003c 0004 5db8d822      ; its address
      `),
    );
  });

  it("keeps the target of SRV whole (RFC 2782)", () => {
    const target = "db-0.example.com";
    const srv: DnsRecord = {
      name: "_sql._tcp.example.com",
      ttlSeconds: 1,
      type: "SRV",
      priority: 0,
      weight: 1,
      port: 5432,
      target,
    };
    const bytes = compressDns(emitDns({ ...MESSAGE, answers: [srv] }));
    expect(String.fromCharCode(...bytes.slice(-13))).toBe("\u0007example\u0003com\u0000");
    expect(parseDns(bytes)).toMatchObject({ answers: [srv] });
  });

  it("gives back what is compressed already, and what is no message", () => {
    const once = compressDns(emitDns(MESSAGE));
    expect(compressDns(once)).toBe(once);
    const rubbish = Uint8Array.from([1, 2, 3]);
    expect(compressDns(rubbish)).toBe(rubbish);
  });

  it("says the same in no more bytes", () => {
    const label = fc.constantFrom("a", "b", "web", "Web", "example", "com");
    const name = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join("."));
    const base = { name, ttlSeconds: fc.nat(100) };
    const record: fc.Arbitrary<DnsRecord> = fc.oneof(
      fc.record({
        ...base,
        type: fc.constantFrom("CNAME" as const, "NS" as const, "PTR" as const),
        target: name,
      }),
      fc.record({ ...base, type: fc.constant("MX" as const), preference: fc.nat(9), target: name }),
      fc.record({
        ...base,
        type: fc.constant("TXT" as const),
        strings: fc.array(fc.uint8Array({ maxLength: 9 }), { minLength: 1, maxLength: 2 }),
      }),
      fc.record({
        ...base,
        type: fc.constant("SOA" as const),
        server: name,
        mailbox: name,
        serial: fc.nat(9),
        refreshSeconds: fc.nat(9),
        retrySeconds: fc.nat(9),
        expireSeconds: fc.nat(9),
        minimumSeconds: fc.nat(9),
      }),
      fc.constant<DnsRecord>({ type: "OPT", udpPayloadBytesMax: 1_232, isDnssecOk: false }),
    );
    const records = fc.array(record, { maxLength: 6 });
    fc.assert(
      fc.property(name, records, records, (question, answers, additionals) => {
        const questions = [{ name: question, type: "A", class: "IN" }];
        const bytes = emitDns({ ...MESSAGE, questions, answers, additionals });
        const short = compressDns(bytes);
        expect(short.length).toBeLessThanOrEqual(bytes.length);
        expect(parseDns(short)).toEqual(parseDns(bytes));
      }),
    );
  });
});

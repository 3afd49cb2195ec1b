import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryFrame } from "#test/support/wire/arbitrary-frames.ts";
import { WIRE_PARSERS } from "#test/support/wire/wire-parsers.ts";
import { type DnsMessage, emitDns, parseDns } from "./dns/dns.ts";
import { Headers } from "./headers.ts";
import { verifyChecksums } from "./transport-checksum.ts";

/** `SEED=N npm run test:long` replays a run; without it each run draws its own. */
const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 0x7fff_ffff));
/** Frames are fuzzed besides, by what they reach (`npm run fuzz`). */
const numRuns = 5_000;

/** True for what `emitDns` can say again: class IN, and a buffer size that is not zero. */
function isSendable(message: DnsMessage | string): message is DnsMessage {
  if (typeof message === "string") return false;
  const records = [...message.answers, ...message.authorities, ...message.additionals];
  return (
    message.questions.every((question) => !question.class.startsWith("UNKNOWN")) &&
    records.every((record) => record.type !== "OTHER" || record.classNumber === 1) &&
    records.every((record) => record.type !== "OPT" || record.udpPayloadBytesMax > 0)
  );
}

describe(`long runs of the wire formats, replay: SEED=${seed} npm run test:long -- wire/`, () => {
  for (const [name, parse] of Object.entries(WIRE_PARSERS)) {
    it(`${name} takes or refuses any bytes`, () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 1600 }), (bytes) => {
          expect(() => parse(bytes, 0, bytes.length)).not.toThrow();
        }),
        { numRuns, seed },
      );
    });

    it(`${name} takes or refuses damaged frames`, () => {
      const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 });
      fc.assert(
        fc.property(arbitraryFrame, damage, fc.nat(), (packet, patches, start) => {
          const frame = packet.frame.slice();
          for (const [at, value] of patches) frame[at % frame.length] = value;
          const from = start % 3 === 0 ? start % frame.length : 0;
          expect(() => parse(frame, from, frame.length)).not.toThrow();
        }),
        { numRuns, seed },
      );
    });
  }

  it("every built frame is sound", () => {
    fc.assert(
      fc.property(arbitraryFrame, (packet) => {
        const headers = new Headers();
        expect(headers.parse(packet)).toBeUndefined();
        expect(verifyChecksums(packet.bytes, headers)).toBeUndefined();
      }),
      { numRuns, seed },
    );
  });

  it("damaged DNS messages are refused, or mean the same after a round trip", () => {
    const query = emitDns({
      id: 1,
      isResponse: true,
      opcode: 0,
      isAuthoritative: true,
      isTruncated: false,
      isRecursionDesired: true,
      isRecursionAvailable: true,
      rcode: 0,
      questions: [{ name: "web.default.svc.cluster.local", type: "SRV", class: "IN" }],
      answers: [
        { name: "web", type: "SRV", ttlSeconds: 5, priority: 1, weight: 2, port: 3, target: "a.web" },
        { name: "a.web", type: "A", ttlSeconds: 5, ip: 1 as never },
        { name: "t", type: "TXT", ttlSeconds: 5, strings: [Uint8Array.of(1, 2), new Uint8Array(0)] },
      ],
      authorities: [
        {
          name: "local",
          type: "SOA",
          ttlSeconds: 5,
          server: "ns",
          mailbox: "root",
          serial: 1,
          refreshSeconds: 2,
          retrySeconds: 3,
          expireSeconds: 4,
          minimumSeconds: 5,
        },
      ],
      additionals: [{ type: "OPT", udpPayloadBytesMax: 1232, isDnssecOk: false }],
    });
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(damage, (patches) => {
        const bytes = query.slice();
        for (const [at, value] of patches) bytes[at % bytes.length] = value;
        const message = parseDns(bytes);
        expect(isSendable(message) ? parseDns(emitDns(message)) : message).toEqual(message);
      }),
      { numRuns, seed },
    );
  });
});

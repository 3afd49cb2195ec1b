import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readU16 } from "#core/base/bytes.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { Prng } from "#core/base/prng.ts";
import { serviceObject, sliceObject } from "#test/support/cluster/kube-objects.ts";
import { ip } from "#test/support/dataplane/stack-world.ts";
import { type DnsMessage, type DnsRecord, DnsRcode, emitDns, parseDns } from "#core/wire/dns/dns.ts";
import { ClusterZone } from "./cluster-zone.ts";
import { shuffleAddresses } from "./answer.ts";
import { type DnsStep, emitResponse, serveDns } from "./serve.ts";
import { StaticZone } from "./static-zone.ts";

const QUERY: DnsMessage = {
  id: 0x4242,
  isResponse: false,
  opcode: 0,
  isAuthoritative: false,
  isTruncated: false,
  isRecursionDesired: true,
  isRecursionAvailable: false,
  rcode: 0,
  questions: [{ name: "web.default.svc.cluster.local", type: "A", class: "IN" }],
  answers: [],
  authorities: [],
  additionals: [],
};
const EDNS: DnsRecord = { type: "OPT", udpPayloadBytesMax: 1_232, isDnssecOk: false };

function clusterZone(): ClusterZone {
  const zone = new ClusterZone();
  zone.apply(serviceObject("default/web", { clusterIP: "10.96.0.20", ports: [{ port: 80 }] }));
  zone.apply(serviceObject("default/out", { type: "ExternalName", externalName: "www.example.com" }));
  zone.apply(serviceObject("default/many", { clusterIP: "None", ports: [{ port: 80 }] }));
  const endpoints = Array.from({ length: 60 }, (_, index) => ({ address: `10.244.1.${index}` }));
  zone.apply(sliceObject("default/many", endpoints));
  return zone;
}

const ZONE = clusterZone();

function asked(name: string, type = "A", parts: Partial<DnsMessage> = {}): DnsMessage {
  return { ...QUERY, questions: [{ name, type, class: "IN" }], ...parts };
}

function serve(message: DnsMessage): DnsStep {
  return serveDns(emitDns(message), [ZONE]);
}

function reply(step: DnsStep): DnsMessage {
  if (step.kind !== "reply") throw new Error(`not a reply: ${step.kind}`);
  const message = parseDns(emitResponse(step.response, step.bytesMax));
  if (typeof message === "string") throw new Error(message);
  return message;
}

describe("serveDns", () => {
  it("answers with the id, the question and the wish for recursion of the query", () => {
    expect(reply(serve(QUERY))).toEqual({
      ...QUERY,
      isResponse: true,
      isAuthoritative: true,
      answers: [{ name: "web.default.svc.cluster.local", ttlSeconds: 30, type: "A", ip: ip("10.96.0.20") }],
    });
  });

  it("carries EDNS back to who sent it", () => {
    expect(reply(serve({ ...QUERY, additionals: [EDNS] })).additionals).toEqual([EDNS]);
  });

  it("passes names of nobody on, and aliases that lead out", () => {
    expect(serve(asked("www.example.com")).kind).toBe("forward");
    expect(serve(asked("out.default.svc.cluster.local"))).toMatchObject({
      kind: "continue",
      target: "www.example.com",
    });
  });

  // miekg/dns acceptfunc.go; CoreDNS core/dnsserver/server.go.
  it.each<[string, DnsMessage, number]>([
    ["another class", { ...QUERY, questions: [{ name: "a.b", type: "A", class: "CH" }] }, DnsRcode.refused],
    ["a transfer", asked("cluster.local", "AXFR"), DnsRcode.refused],
    ["an update", { ...QUERY, opcode: 5 }, DnsRcode.notImplemented],
    ["no question", { ...QUERY, questions: [] }, DnsRcode.formatError],
    [
      "two questions",
      { ...QUERY, questions: [...QUERY.questions, ...QUERY.questions] },
      DnsRcode.formatError,
    ],
  ])("refuses %s", (_title, message, rcode) => {
    expect(reply(serve(message))).toMatchObject({ id: QUERY.id, isResponse: true, rcode, answers: [] });
  });

  // acceptfunc.go: one question, at most one answer and one authority (of a NOTIFY and an update), two further records.
  it.each([
    ["4242 0100 0001 0001 0001 0002", DnsRcode.formatError, "what it counts is not there"],
    ["4242 0100 0002 0000 0000 0000", DnsRcode.formatError, "two questions"],
    ["4242 0100 0001 0002 0000 0000", DnsRcode.formatError, "two answers"],
    ["4242 0100 0001 0000 0002 0000", DnsRcode.formatError, "two authorities"],
    ["4242 0100 0001 0000 0000 0003", DnsRcode.formatError, "three further records"],
    ["4242 2000 0001 0000 0000 0000", DnsRcode.noError, "a NOTIFY"],
    ["4242 2800 0001 0000 0000 0000", DnsRcode.notImplemented, "an update"],
  ])("of the header %s it says %i: %s", (hex, rcode, _title) => {
    const question = "03 777777 07 64656661756c74 03 737663 07 636c7573746572 05 6c6f63616c 00 0001 0001";
    const name = question.replace("777777", "776562");
    const step = serveDns(annotatedHex(`${hex} ${name}`), [ZONE]);
    expect(step.kind).toBe("reply");
    if (step.kind === "reply") expect(step.response).toMatchObject({ id: 0x4242, isResponse: true, rcode });
  });

  it.each([
    ["nothing", ""],
    ["half a header", "4242 0100 0001"],
    ["a response", "4242 8180 0001 0000 0000 0000 00 0001 0001"],
  ])("is silent on %s", (_title, hex) => {
    expect(serveDns(annotatedHex(hex), [ZONE])).toEqual({ kind: "ignore" });
  });

  it("refuses a question that cannot be read", () => {
    const step = serveDns(annotatedHex("4242 0100 0001 0000 0000 0000 ff 0001 0001"), [ZONE]);
    expect(reply(step)).toMatchObject({ id: 0x4242, rcode: DnsRcode.formatError });
  });

  it("never throws, and what it says can be read", () => {
    const header = fc.tuple(
      fc.integer({ min: 0, max: 0xffff }),
      fc.constantFrom(0x0100, 0x0000, 0x2800, 0x8180),
    );
    const whole = fc
      .tuple(header, fc.uint8Array({ maxLength: 80 }), fc.integer({ min: 0, max: 2 }))
      .map(([[id, flags], rest, questions]) =>
        Uint8Array.from([
          id >> 8,
          id & 255,
          flags >> 8,
          flags & 255,
          0,
          questions,
          0,
          0,
          0,
          0,
          0,
          0,
          ...rest,
        ]),
      );
    const damaged = fc
      .tuple(
        fc.constantFrom("_http._tcp.web.default.svc.cluster.local", "many.default.svc.cluster.local", "a"),
        fc.constantFrom("A", "AAAA", "SRV", "TXT", "PTR", "ANY", "UNKNOWN_65280"),
        fc.nat(40),
        fc.nat(255),
      )
      .map(([name, type, at, byte]) => {
        const bytes = emitDns(asked(name, type, { additionals: [EDNS] }));
        bytes[at] = byte;
        return bytes;
      });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 100 }), whole, damaged), (bytes) => {
        const step = serveDns(bytes, [ZONE]);
        if (step.kind !== "reply") return;
        const emitted = emitResponse(step.response, step.bytesMax);
        expect(emitted.length).toBeLessThanOrEqual(step.bytesMax);
        expect(typeof parseDns(emitted)).toBe("object");
        expect(readU16(emitted, 0)).toBe(readU16(bytes, 0));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the size of an answer", () => {
  const many = asked("many.default.svc.cluster.local");

  it("is at most 512 bytes, and says that it is cut", () => {
    const step = serve(many);
    if (step.kind !== "reply") throw new Error("not a reply");
    const bytes = emitResponse(step.response, step.bytesMax);
    expect(bytes.length).toBeLessThanOrEqual(512);
    expect(reply(step)).toMatchObject({ isTruncated: true });
    // A header of 12 bytes, a question of 36, and 16 for each record whose name is a pointer.
    expect(reply(step).answers).toHaveLength((512 - 12 - 36) / 16);
  });

  it("is what EDNS allows, and at least 512 bytes", () => {
    const withEdns = (udpPayloadBytesMax: number): DnsMessage =>
      reply(serve({ ...many, additionals: [{ ...EDNS, udpPayloadBytesMax }] }));
    expect(withEdns(4_096)).toMatchObject({ isTruncated: false });
    expect(withEdns(4_096).answers).toHaveLength(60);
    expect(withEdns(1_232).answers.length).toBeGreaterThan(withEdns(512).answers.length);
    expect(withEdns(100).answers).toHaveLength(withEdns(512).answers.length);
  });

  it("gives up what is only additional before it says that it is cut", () => {
    const step = serve(asked("_http._tcp.many.default.svc.cluster.local", "SRV", { additionals: [EDNS] }));
    if (step.kind !== "reply") throw new Error("not a reply");
    const few = { ...step.response, answers: step.response.answers.slice(0, 8) };
    const message = parseDns(emitResponse(few, 620));
    expect(message).toMatchObject({ isTruncated: false, answers: few.answers });
    expect((message as DnsMessage).additionals).toContainEqual(EDNS);
  });
});

describe("shuffleAddresses", () => {
  const records = reply(serve(asked("many.default.svc.cluster.local", "A", { additionals: [EDNS] }))).answers;
  const alias: DnsRecord = { name: "x", ttlSeconds: 5, type: "CNAME", target: "y" };

  it("keeps every record, and aliases in front", () => {
    const shuffled = shuffleAddresses([alias, ...records], new Prng(7));
    expect(shuffled[0]).toBe(alias);
    expect(new Set(shuffled)).toEqual(new Set([alias, ...records]));
    expect(shuffled).not.toEqual([alias, ...records]);
  });

  it("brings each address to the front in time", () => {
    const prng = new Prng(7);
    const fronts = new Set<unknown>();
    for (let round = 0; round < 200; round++) fronts.add(shuffleAddresses(records.slice(0, 3), prng)[0]);
    expect(fronts.size).toBe(3);
  });
});

describe("a server with written names", () => {
  const zone = new StaticZone();
  zone.addAddress("Example.COM.", ip("93.184.216.34"));
  zone.add({ name: "www.example.com", ttlSeconds: 60, type: "CNAME", target: "example.com" });
  zone.add({ name: "dangling.example.com", ttlSeconds: 60, type: "CNAME", target: "gone.example.net" });
  zone.add({ name: "round.example.com", ttlSeconds: 60, type: "CNAME", target: "round.example.com" });
  zone.addAddress("a.deep.example.org", ip("192.0.2.1"));

  it.each<[string, string, number, string[]]>([
    ["example.com", "A", DnsRcode.noError, ["A"]],
    ["EXAMPLE.com", "AAAA", DnsRcode.noError, []],
    ["www.example.com", "A", DnsRcode.noError, ["CNAME", "A"]],
    ["www.example.com", "CNAME", DnsRcode.noError, ["CNAME"]],
    ["dangling.example.com", "A", DnsRcode.nameError, ["CNAME"]],
    ["nobody.example.com", "A", DnsRcode.nameError, []],
    ["kubernetes.default", "A", DnsRcode.nameError, []],
    ["deep.example.org", "A", DnsRcode.noError, []],
    ["round.example.com", "A", DnsRcode.serverFailure, []],
  ])("%s %s: %i", (name, type, rcode, types) => {
    const answer = zone.answer({ name, type, class: "IN" });
    expect(answer.rcode).toBe(rcode);
    expect(answer.isAuthoritative).toBe(false);
    expect(answer.answers.map((record) => record.type)).toEqual(types);
  });
});

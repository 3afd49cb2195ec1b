// The rows of dataplane.md §10 "Checksums and TAP" that concern rewrites, and tiers of rules.
import { describe, expect, it } from "vitest";
import { readU16, writeU16 } from "#core/base/bytes.ts";
import { formatHex } from "#core/base/encodings.ts";
import {
  ends,
  group,
  headersOf,
  ip,
  ip4,
  layer,
  makePort,
  rule,
  send,
  tcp,
  udp,
} from "#test/support/dataplane/engine-kit.ts";
import { segmentTcp } from "#core/wire/segmentation.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { updateChecksum, updateChecksum32 } from "#core/wire/checksum.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import type { Action } from "./rule.ts";
import type { VfpPort } from "./vfp-port.ts";

const A = "10.244.1.10";
const X = "203.0.113.10";
const snat: Action = { type: "nat", side: "source", ip: ip4("10.0.0.11"), port: 50_048 };

function natPort(action: Action = snat): VfpPort {
  const port = makePort([layer("SLB_NAT_LAYER", 50)]);
  port.setGroups("SLB_NAT_LAYER", [group([rule("nat", action, { isStateful: true })])]);
  return port;
}

const UDP_CHECKSUM = 40;

describe("UDP checksums through NAT, on both paths", () => {
  it("DT-179 a checksum of 0 stays 0", () => {
    const port = natPort();
    for (const round of [1, 2]) {
      const packet = udp([A, 5000], [X, 53], Uint8Array.of(1, 2), "none");
      send(port, "out", packet, round);
      expect(ends(packet)).toBe("10.0.0.11:50048 > 203.0.113.10:53");
      expect(readU16(packet.frame, UDP_CHECKSUM)).toBe(0);
    }
  });

  it("DT-180 an update that gives 0 is sent as 0xffff", () => {
    // A payload word that makes the checksum behind the rewrite zero.
    const bare = udp([A, 5000], [X, 53], Uint8Array.of(0, 0));
    const before = readU16(bare.frame, UDP_CHECKSUM);
    const rewritten = updateChecksum(updateChecksum32(before, ip4(A), ip4("10.0.0.11")), 5000, 50_048);
    const payload = new Uint8Array(2);
    writeU16(payload, 0, rewritten);
    const port = natPort();
    for (const round of [1, 2]) {
      const packet = udp([A, 5000], [X, 53], payload);
      send(port, "out", packet, round);
      expect(readU16(packet.frame, UDP_CHECKSUM)).toBe(0xffff);
      expect(verifyChecksums(packet.bytes, headersOf(packet))).toBeUndefined();
    }
  });
});

describe("super frames", () => {
  it("DT-183 one translation of 64 KiB, cut later, gives what translating each segment gives", () => {
    const payload = Uint8Array.from({ length: 64_000 }, (_, i) => i * 7);
    const whole = (): ReturnType<typeof tcp> =>
      tcp([A, 5000], [X, 443], TcpFlag.ack | TcpFlag.psh, { payload });
    const once = whole();
    send(natPort(), "out", once);
    const later = segmentTcp(once, headersOf(once), 1_460);
    const first = segmentTcp(whole(), headersOf(whole()), 1_460);
    const port = natPort();
    for (const segment of first) send(port, "out", segment);
    expect(later.map((packet) => formatHex(packet.frame))).toEqual(
      first.map((packet) => formatHex(packet.frame)),
    );
    expect(port.counters.out.unifiedFlowMatch).toBe(first.length - 1);
  });
});

describe("tiers", () => {
  it.each([
    { second: "block", verdict: "drop" },
    { second: "allow", verdict: "pass" },
  ] as const)("DT-152 Pass in the first tier goes on to the second: $second", ({ second, verdict }) => {
    const port = makePort([layer("ACL", 15, { isDefaultAllow: false })]);
    const pass = rule("pass", { type: "allow" }, { isTerminating: false });
    const decides: Action =
      second === "allow" ? { type: "allow" } : { type: "block", code: "acl-rule-blocked" };
    port.setGroups("ACL", [
      group([pass], { name: "tier 1", priority: 1 }),
      group([rule("decides", decides, { isStateful: true })], { name: "tier 2", priority: 2 }),
    ]);
    for (const round of [1, 2])
      expect(send(port, "out", tcp([A, 5000], [X, 443], TcpFlag.ack), round)).toBe(verdict);
    expect(port.getLayer("ACL")!.matchCount(pass)).toBeGreaterThan(0);
  });
});

describe("DT-148, DT-150 a rule's lists", () => {
  it.each([
    { from: "10.1.1.1", port: 80, passes: true },
    { from: "10.1.1.1", port: 1_500, passes: true },
    { from: "10.1.1.1", port: 2_001, passes: false },
    { from: "11.1.1.1", port: 443, passes: false },
  ])("from $from to port $port: $passes", ({ from, port: destination, passes }) => {
    const port = makePort([layer("ACL", 15, { isDefaultAllow: false })]);
    const condition = {
      source: [{ address: ip("10.0.0.0"), length: 8 }],
      destinationPorts: [
        { first: 80, last: 80 },
        { first: 443, last: 443 },
        { first: 1_000, last: 2_000 },
      ],
    };
    port.setGroups("ACL", [group([rule("lists", { type: "allow" }, { condition })], { direction: "in" })]);
    expect(send(port, "in", tcp([from, 5000], [A, destination], TcpFlag.syn))).toBe(passes ? "pass" : "drop");
  });
});

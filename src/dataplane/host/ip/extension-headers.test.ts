/**
 * Extension headers that ask for something, fragments that cannot be, echoes to groups, requests for the time. Answers of
 * Linux are those of Linux 6.18, which was asked over a veth pair; others follow RFC 8200, RFC 5095 and RFC 4443.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { type RoutedPair, SERVER_MAC, addIpv6, makeRoutedPair } from "#test/support/dataplane/routed-pair.ts";
import { ip, mac } from "#test/support/dataplane/stack-world.ts";
import { readU32, writeU16 } from "#core/base/bytes.ts";
import { buildIcmpv6Frame, buildIpFrame } from "#core/wire/build-frame.ts";
import { checksumOf } from "#core/wire/checksum.ts";
import { Headers } from "#core/wire/headers.ts";
import { parseMac } from "#core/net/mac.ts";
import type { OperatingSystem } from "../stack-profile.ts";

const ROUTER = "fd00:2::1";
const TARGET = "fd00:2::20";
const ALL_NODES = "ff02::1";
const GROUP_MAC = parseMac("33-33-00-00-00-01")!;

let pairs: Record<OperatingSystem, RoutedPair>;

beforeEach(() => {
  pairs = { windows: make("windows"), linux: make("linux") };
});

function make(serverOs: OperatingSystem): RoutedPair {
  const pair = makeRoutedPair({ serverOs });
  addIpv6(pair);
  pair.env.clock.runUntil(pair.env.clock.nowMs + 5_000);
  return pair;
}

/** An echo request to `to`, as its bytes behind the IPv6 header. */
function echo(to = TARGET, length = 5): Uint8Array {
  const packet = buildIcmpv6Frame({
    link: { sourceMac: GROUP_MAC, destinationMac: GROUP_MAC },
    ip: { source: ip(ROUTER), destination: ip(to), ttl: 64, identification: 0, isDontFragment: false },
    icmpv6: { type: "echo-request", identifier: 1, sequence: 1, payload: new Uint8Array(length) },
  });
  return packet.frame.slice(54);
}

/** Sends what follows the IPv6 header. @returns what the stack says: `echo reply`, `problem code 2 at 42`. */
function ask(
  os: OperatingSystem,
  protocol: number,
  payload: Uint8Array | readonly number[],
  to = TARGET,
): string[] {
  const { server, env } = pairs[os];
  server.capture.frames.length = 0;
  const destinationMac = to === TARGET ? mac(SERVER_MAC) : GROUP_MAC;
  server.netInterface.receive(
    buildIpFrame({
      link: { sourceMac: mac("52-54-00-00-00-02"), destinationMac },
      ip: { source: ip(ROUTER), destination: ip(to), ttl: 64, identification: 0, isDontFragment: false },
      protocol,
      payload: Uint8Array.from(payload),
    }),
  );
  env.clock.runUntil(env.clock.nowMs + 100);
  return server.capture.frames.flatMap(({ frame }) => {
    const headers = new Headers();
    if (headers.parseBytes(frame, 0, frame.length) !== undefined || headers.protocol !== 58) return [];
    const [type, code] = frame.subarray(headers.transport);
    if (type === 129) return ["echo reply"];
    if (type === 4) return [`problem code ${code} at ${readU32(frame, headers.transport + 4)}`];
    return (type ?? 0) >= 133 ? [] : [`type ${type}`];
  });
}

/** An extension header of 8 bytes with `body` behind its length, then the echo request. */
function behind(body: readonly number[], to = TARGET, next = 58): number[] {
  return [next, (body.length + 2) / 8 - 1, ...body, ...echo(to)];
}

const REPLY = ["echo reply"];
const PADN = [1, 4, 0, 0, 0, 0];
const option = (type: number): number[] => [type, 4, 0, 0, 0, 0];

describe.each(["linux", "windows"] as const)("options of IPv6 on %s", (os) => {
  describe.each([
    ["hop-by-hop", 0],
    ["destination", 60],
  ])("%s", (_name, header) => {
    it("unknown ones are treated as their two highest bits say", () => {
      expect(ask(os, header, behind(PADN))).toEqual(REPLY);
      expect(ask(os, header, behind(option(0x1e)))).toEqual(REPLY);
      expect(ask(os, header, behind(option(0x5e)))).toEqual([]);
      expect(ask(os, header, behind(option(0x9e)))).toEqual(["problem code 2 at 42"]);
      expect(ask(os, header, behind(option(0xde)))).toEqual(["problem code 2 at 42"]);
    });

    it("to a group, only those of 10 are told", () => {
      const answered = os === "linux" ? REPLY : [];
      expect(ask(os, header, behind(option(0x1e), ALL_NODES), ALL_NODES)).toEqual(answered);
      expect(ask(os, header, behind(option(0x5e), ALL_NODES), ALL_NODES)).toEqual([]);
      expect(ask(os, header, behind(option(0x9e), ALL_NODES), ALL_NODES)).toEqual(["problem code 2 at 42"]);
      expect(ask(os, header, behind(option(0xde), ALL_NODES), ALL_NODES)).toEqual([]);
    });

    it("one that reaches beyond its header ends the packet", () => {
      expect(ask(os, header, behind([0x1e, 0x20, 0, 0, 0, 0]))).toEqual([]);
    });
  });

  it("a router alert is known; padding that is long or not zero ends a packet on Linux", () => {
    const strict = os === "linux" ? [] : REPLY;
    expect(ask(os, 0, behind([5, 2, 0, 0, 1, 0]))).toEqual(REPLY);
    expect(ask(os, 0, behind([1, 4, 1, 0, 0, 0]))).toEqual(strict);
    expect(ask(os, 0, behind([1, 12, ...Array.from({ length: 12 }, () => 0)]))).toEqual(strict);
  });

  it("hop-by-hop options come first or not at all", () => {
    expect(ask(os, 60, [0, 0, ...PADN, 58, 0, ...PADN, ...echo()])).toEqual(["problem code 1 at 40"]);
  });

  it("a router heeds hop-by-hop options of what it would forward", () => {
    const { routerToServer, server } = pairs[os];
    const before = server.capture.frames.length;
    routerToServer.compartment.setForwarding(true);
    const packet = buildIpFrame({
      link: { sourceMac: mac(SERVER_MAC), destinationMac: routerToServer.netInterface.mac },
      ip: {
        source: ip(TARGET),
        destination: ip("fd00:1::10"),
        ttl: 64,
        identification: 0,
        isDontFragment: false,
      },
      protocol: 0,
      payload: Uint8Array.from([59, 0, ...option(0x5e)]),
    });
    const seen = pairs[os].routerToClient.capture.frames.length;
    routerToServer.netInterface.receive(packet);
    pairs[os].env.clock.runUntil(pairs[os].env.clock.nowMs + 100);
    expect(pairs[os].routerToClient.capture.frames.length).toBe(seen);
    expect(server.capture.frames.length).toBe(before);
    expect(routerToServer.compartment.drops.get("malformed-frame")).toBe(1);
  });
});

describe.each(["linux", "windows"] as const)("routing headers on %s (RFC 5095, RFC 8200 §4.4)", (os) => {
  const via = [0xfd, 0, 0, 2, ...Array.from({ length: 11 }, () => 0), 9];

  it.each([0, 1, 2, 77])("type %i: skipped when it is done, a parameter problem when it is not", (type) => {
    expect(ask(os, 43, behind([type, 0, 0, 0, 0, 0, ...via]))).toEqual(REPLY);
    expect(ask(os, 43, behind([type, 1, 0, 0, 0, 0, ...via]))).toEqual(["problem code 0 at 42"]);
  });

  it("segment routing is switched off on Linux: nothing is said", () => {
    const [done, left] = os === "linux" ? [[], []] : [REPLY, ["problem code 0 at 42"]];
    expect(ask(os, 43, behind([4, 0, 0, 0, 0, 0, ...via]))).toEqual(done);
    expect(ask(os, 43, behind([4, 1, 0, 0, 0, 0, ...via]))).toEqual(left);
  });
});

describe.each(["linux", "windows"] as const)("fragments on %s (RFC 8200 §4.5)", (os) => {
  const fragment = (offset: number, more: 0 | 1, id: number, bytes: Uint8Array): number[] => [
    58,
    0,
    offset >>> 8,
    (offset & 0xf8) | more,
    0,
    0,
    0,
    id,
    ...bytes,
  ];
  const whole = (): Uint8Array => echo(TARGET, 100);

  it("one in the middle that is not a multiple of 8 bytes is a parameter problem", () => {
    expect(ask(os, 44, fragment(0, 1, 1, whole().subarray(0, 20)))).toEqual(["problem code 0 at 4"]);
    expect(ask(os, 44, fragment(8, 1, 2, whole().subarray(8, 29)))).toEqual(["problem code 0 at 4"]);
  });

  it("one that reaches beyond 65535 bytes, too", () => {
    expect(ask(os, 44, fragment(65_528, 0, 3, whole().subarray(0, 40)))).toEqual(["problem code 0 at 42"]);
  });

  it("a whole datagram in two, and in one, is taken", () => {
    expect(ask(os, 44, fragment(0, 1, 4, whole().subarray(0, 24)))).toEqual([]);
    expect(ask(os, 44, fragment(24, 0, 4, whole().subarray(24)))).toEqual(REPLY);
    expect(ask(os, 44, fragment(0, 0, 5, echo(TARGET, 3)))).toEqual(REPLY);
  });
});

it("an echo to all nodes is answered by Linux from its own address, by Windows not", () => {
  expect(ask("linux", 58, echo(ALL_NODES), ALL_NODES)).toEqual(REPLY);
  expect(ask("windows", 58, echo(ALL_NODES), ALL_NODES)).toEqual([]);
  const headers = new Headers();
  const { frame } = pairs.linux.server.capture.frames[0]!;
  headers.parseBytes(frame, 0, frame.length);
  expect([...frame.subarray(headers.network + 8, headers.network + 24)].at(-1)).toBe(0x20);
});

describe("the time (RFC 792)", () => {
  const request = (length: number): Uint8Array => {
    const bytes = new Uint8Array(length);
    bytes.set([13, 0, 0, 0, 0, 5, 0, 6, 0, 0xbc, 0x61, 0x4e]);
    writeU16(bytes, 2, checksumOf(bytes, 0, length));
    return bytes;
  };

  it.each([
    ["linux", 20, 1],
    ["linux", 23, 1],
    ["linux", 12, 1],
    ["windows", 20, 0],
  ] satisfies [OperatingSystem, number, number][])(
    "%s answers %i bytes with %i replies",
    (os, length, count) => {
      const { server, env } = pairs[os];
      const nowMs = Math.floor(env.clock.nowMs);
      server.capture.frames.length = 0;
      server.netInterface.receive(
        buildIpFrame({
          link: { sourceMac: mac("52-54-00-00-00-02"), destinationMac: mac(SERVER_MAC) },
          ip: {
            source: ip("10.0.2.1"),
            destination: ip("10.0.2.20"),
            ttl: 64,
            identification: 0,
            isDontFragment: false,
          },
          protocol: 1,
          payload: request(length),
        }),
      );
      env.clock.runUntil(env.clock.nowMs + 100);
      const frames = server.capture.frames.map(({ frame }) => frame).filter((frame) => frame[34] === 14);
      // Linux answers with the flag of its socket for ICMP, which lets fragments be made (net/ipv4/icmp.c).
      expect(frames.map((frame) => (frame[20] ?? 0) & 0x40)).toEqual(frames.map(() => 0));
      const replies = frames.map((frame) => frame.subarray(34));
      expect(replies).toHaveLength(count);
      for (const reply of replies) {
        expect(reply).toHaveLength(20);
        expect([...reply.subarray(4, 12)]).toEqual([0, 5, 0, 6, 0, 0xbc, 0x61, 0x4e]);
        expect([readU32(reply, 12), readU32(reply, 16)]).toEqual([nowMs, nowMs]);
        expect(checksumOf(reply, 0, 20)).toBe(0);
      }
    },
  );
});

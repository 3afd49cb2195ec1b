/** Rules are found under what they fix: never less than a look at every rule finds, and in few places. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Ip, type Prefix, maskIp, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { buildTcpFrame } from "#core/wire/build-frame.ts";
import { Headers } from "#core/wire/headers.ts";
import { FlowKey } from "../flow-key.ts";
import type { Condition } from "./condition.ts";
import { hashOfKey, placesOf } from "./tuple-space.ts";

const ip = (text: string): Ip => parseIp(text)!;
const prefix = (text: string): Prefix => parsePrefix(text)!;

function keyOf(source: Ip, destination: Ip, ports: readonly [number, number]): FlowKey {
  const packet = buildTcpFrame({
    link: { sourceMac: 1 as never, destinationMac: 2 as never },
    ip: { source, destination, ttl: 64, identification: 1, isDontFragment: true },
    tcp: {
      sourcePort: ports[0],
      destinationPort: ports[1],
      sequence: 1,
      acknowledgment: 0,
      flags: 2,
      window: 1,
    },
  });
  const headers = new Headers();
  headers.parse(packet);
  const key = new FlowKey();
  key.read(packet, headers, "out");
  return key;
}

const isUnder = (condition: Condition, key: FlowKey, family: 4 | 6): boolean =>
  placesOf(condition, family).some(({ shape, hash }) => hashOfKey(shape, key) === hash);

const around = (address: Ip, length: number): Prefix => ({ address: maskIp(address, length), length });

describe("a packet that a rule asks for hashes to one of its places", () => {
  it.each([
    [4, "10.244.3.77", "10.96.129.50", 32],
    [6, "fd00:1:2:3::77", "fd00:10:96:8::50", 128],
  ] as const)(
    "IPv%i: every length of prefix, with and without protocol and ports",
    (family, from, to, bits) => {
      const length = fc.option(fc.integer({ min: 1, max: bits }), { nil: undefined });
      const key = keyOf(ip(from), ip(to), [5_000, 443]);
      fc.assert(
        fc.property(
          length,
          length,
          fc.boolean(),
          fc.boolean(),
          fc.boolean(),
          (source, destination, ...fixed) => {
            const condition: Condition = {
              ...(source !== undefined && { source: [around(ip(from), source)] }),
              ...(destination !== undefined && { destination: [around(ip(to), destination)] }),
              ...(fixed[0] && { protocols: [6] }),
              ...(fixed[1] && { sourcePorts: [{ first: 5_000, last: 5_000 }] }),
              ...(fixed[2] && { destinationPorts: [{ first: 443, last: 443 }] }),
            };
            const fixes = source !== undefined || destination !== undefined || fixed[1] || fixed[2];
            expect(placesOf(condition, family)).toHaveLength(fixes ? 1 : 0);
            expect(isUnder(condition, key, family)).toBe(fixes);
          },
        ),
        { numRuns: 150 },
      );
    },
  );

  it.each([
    ["another port", { destinationPorts: [{ first: 80, last: 80 }] }],
    ["another source port", { sourcePorts: [{ first: 5_001, last: 5_001 }] }],
    ["another protocol", { protocols: [17], destinationPorts: [{ first: 443, last: 443 }] }],
    ["another destination", { destination: [prefix("10.96.128.0/24")] }],
    ["another source", { source: [prefix("10.244.2.0/24")] }],
  ] satisfies [string, Condition][])("%s: it lies elsewhere", (_, condition) => {
    const key = keyOf(ip("10.244.3.77"), ip("10.96.129.50"), [5_000, 443]);
    expect(placesOf(condition, 4)).toHaveLength(1);
    expect(isUnder(condition, key, 4)).toBe(false);
  });
});

describe("a rule with many prefixes", () => {
  const list = (count: number, first: number): readonly Prefix[] =>
    Array.from({ length: count }, (_, index) => prefix(`10.${first + (index >> 8)}.${index & 0xff}.0/24`));

  it.each([
    [16, 16, 256],
    [17, 16, 16],
    [16, 17, 16],
    [257, 3, 3],
    [3, 257, 3],
    [256, 1, 256],
    [257, 257, 0],
    [257, 0, 0],
  ])("%i destinations and %i sources make %i places", (destinations, sources, places) => {
    const condition: Condition = {
      ...(destinations > 0 && { destination: list(destinations, 96) }),
      ...(sources > 0 && { source: list(sources, 244) }),
    };
    const found = placesOf(condition, 4);
    expect(found).toHaveLength(places);
    expect(new Set(found.map(({ shape, hash }) => `${shape} ${hash}`)).size).toBe(places);
    const last = keyOf(
      ip(`10.244.${Math.max(0, sources - 1) & 0xff}.9`),
      ip(`10.${96 + ((destinations - 1) >> 8)}.${(destinations - 1) & 0xff}.9`),
      [1, 2],
    );
    const asks = (condition.destination ?? []).some((each) => prefixContains(each, ip(`10.96.0.1`)));
    expect(asks).toBe(true);
    if (sources <= 256) expect(isUnder(condition, last, 4)).toBe(places > 0);
  });

  it("prefixes of the other family and those of everything fix nothing", () => {
    expect(placesOf({ destination: [prefix("fd00::/64")] }, 4)).toEqual([]);
    expect(placesOf({ destination: [prefix("0.0.0.0/0"), prefix("10.0.0.0/8")] }, 4)).toEqual([]);
    expect(placesOf({ destination: [prefix("fd00::/64"), prefix("10.0.0.0/8")] }, 4)).toHaveLength(1);
    expect(placesOf({ destinationPorts: [{ first: 80, last: 81 }] }, 4)).toEqual([]);
    expect(placesOf({ protocols: [6] }, 4)).toEqual([]);
  });
});

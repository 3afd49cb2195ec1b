// Which of many rules decides: found by the fields of a packet, it is the one that trying them in order finds.
import { expect, it } from "vitest";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import { Prng } from "#core/base/prng.ts";
import { type Ip, type Ipv4, type Ipv6, prefixContains, prefixOf } from "#core/net/ip.ts";
import { RuleOrder, SECURITY_PROTOCOLS, type SecurityRule, type SecuritySide } from "./security-group.ts";

const NUMBERS: Readonly<Record<string, number>> = { Tcp: 6, Udp: 17, Icmp: 1 };
const NAMES = {
  isVirtualNetwork: (ip: Ip) => Number(ip) % 2 === 0,
  isMember: (_: string, ip: Ip) => Number(ip) % 3 === 0,
};

function pick<T>(prng: Prng, values: readonly T[]): T {
  return values[prng.below(values.length)]!;
}

/** Few addresses and ports, so that rules meet packets. */
const address = (prng: Prng): Ipv4 => (0x0a00_0000 + prng.below(64)) as Ipv4;

function side(prng: Prng): SecuritySide {
  const ranges = Array.from({ length: 1 + prng.below(2) }, () => prefixOf(address(prng), 24 + prng.below(9)));
  return pick<SecuritySide>(prng, [
    { kind: "any" },
    { kind: "ranges", ranges },
    { kind: "ranges", ranges },
    { kind: "tag", tag: "VirtualNetwork" },
    { kind: "groups", groups: ["g"] },
  ]);
}

function ports(prng: Prng) {
  const first = prng.below(40);
  return pick(prng, [[], [{ first, last: first + prng.below(10) }]]);
}

function rule(prng: Prng, priority: number): SecurityRule {
  return {
    name: `r${priority}`,
    priority,
    direction: pick(prng, ["Inbound", "Outbound"] as const),
    access: pick(prng, ["Allow", "Deny"] as const),
    protocol: pick(prng, SECURITY_PROTOCOLS),
    source: side(prng),
    destination: side(prng),
    sourcePorts: ports(prng),
    destinationPorts: ports(prng),
  };
}

function isSide(given: SecuritySide, ip: Ip): boolean {
  if (given.kind === "ranges") return given.ranges.some((range) => prefixContains(range, ip));
  if (given.kind === "groups") return NAMES.isMember("g", ip);
  return given.kind === "any" || NAMES.isVirtualNetwork(ip);
}

function matches(each: SecurityRule, flow: FiveTuple): boolean {
  const hasPort = (list: SecurityRule["sourcePorts"], port: number): boolean =>
    list.length === 0 || list.some(({ first, last }) => first <= port && port <= last);
  if (each.protocol !== "*" && NUMBERS[each.protocol] !== flow.protocol) return false;
  if (flow.protocol !== 1 && !hasPort(each.sourcePorts, flow.sourcePort)) return false;
  if (flow.protocol !== 1 && !hasPort(each.destinationPorts, flow.destinationPort)) return false;
  return isSide(each.source, flow.source) && isSide(each.destination, flow.destination);
}

it.each([0, 1, 31, 32, 33, 200])("of %i rules", (count) => {
  const prng = new Prng(count + 1);
  const rules = Array.from({ length: count }, (_, index) => rule(prng, 100 + index));
  const order = new RuleOrder({ name: "group", rules });
  for (let asked = 0; asked < 500; asked++) {
    const flow = {
      protocol: pick(prng, [6, 17, 1]),
      source: address(prng),
      destination: address(prng),
      sourcePort: prng.below(50),
      destinationPort: prng.below(50),
    };
    for (const direction of ["Inbound", "Outbound"] as const) {
      const found = order.decide(direction, flow, NAMES);
      const own = rules.find((each) => each.direction === direction && matches(each, flow));
      expect(own === undefined ? found.priority >= 65_000 : found === own).toBe(true);
    }
  }
});

it("packets of IPv6 meet rules without ranges, and the last", () => {
  const any = rule(new Prng(1), 100);
  const open = {
    ...any,
    direction: "Inbound",
    protocol: "*",
    sourcePorts: [],
    destinationPorts: [],
  } as const;
  const flow = {
    protocol: 6,
    source: 1n as Ipv6,
    destination: 2n as Ipv6,
    sourcePort: 1,
    destinationPort: 2,
  };
  const names = { isVirtualNetwork: () => false, isMember: () => false };
  const decide = (source: SecuritySide): string =>
    new RuleOrder({ name: "g", rules: [{ ...open, source, destination: { kind: "any" } }] }).decide(
      "Inbound",
      flow,
      names,
    ).name;
  expect(decide({ kind: "any" })).toBe("r100");
  expect(decide({ kind: "ranges", ranges: [prefixOf(0x0a00_0000 as Ipv4, 8)] })).toBe("DenyAllInBound");
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { type Prefix, hostPrefix, parseIp, parsePrefix, prefixOf } from "#core/net/ip.ts";
import { fork } from "#core/base/fork.ts";
import { buildTcpFrame } from "#core/wire/build-frame.ts";
import { Headers } from "#core/wire/headers.ts";
import { FlowKey } from "../flow-key.ts";
import { type Group, createGroup, shareSets } from "../group.ts";
import type { Rule } from "../rule.ts";
import { PrefixSets } from "./condition-matcher.ts";
import { IndexMemory } from "./rule-index.ts";

const LINK = { sourceMac: 0x0015_5d00_0001, destinationMac: 0x0015_5d00_0002 } as never;

function keyOf(destination: string, port: number): FlowKey {
  const source = defined(parseIp("10.244.1.10"), "an address");
  const packet = buildTcpFrame({
    link: LINK,
    ip: {
      source,
      destination: defined(parseIp(destination), "an address"),
      ttl: 1,
      identification: 1,
      isDontFragment: true,
    },
    tcp: { sourcePort: 5000, destinationPort: port, sequence: 1, acknowledgment: 0, flags: 2, window: 1 },
  });
  const headers = new Headers();
  headers.parse(packet);
  const key = new FlowKey();
  key.read(packet, headers, "out");
  return key;
}

const ADDRESSES = ["10.96.0.1", "10.96.0.2", "10.96.0.3"];
const PORTS = [53, 80, 443];

let made = 0;
function rule(fields: Pick<Rule, "priority" | "condition">): Rule {
  const id = String(made++);
  const provenance = { object: "test", id, name: id };
  return {
    ...fields,
    id,
    name: id,
    action: { type: "allow" },
    isTerminating: true,
    isStateful: false,
    provenance,
  };
}

function prefix(text: string): Prefix {
  return defined(parsePrefix(text), "a prefix");
}

/** Both ends of the packets lie in it, among many others. */
const LONG_LIST = [
  ...Array.from({ length: 30 }, (_, index) => prefix(`10.${100 + index}.0.0/16`)),
  prefix("10.96.0.2/31"),
  prefix("10.244.0.0/16"),
];

const SHAPES = [
  "service",
  "service",
  "service",
  "prefix",
  "any",
  "source",
  "other source",
  "either prefix",
  "source port",
  "ports",
  "exception",
  "long list",
  "everywhere",
  "other family",
] as const;

const arbitraryRule = fc
  .record({
    priority: fc.integer({ min: 1, max: 3 }),
    address: fc.constantFrom(...ADDRESSES),
    port: fc.constantFrom(...PORTS),
    shape: fc.constantFrom(...SHAPES),
  })
  .map(({ priority, address, port, shape }) => {
    const destinationPorts = [{ first: port, last: port }];
    const destination = [hostPrefix(defined(parseIp(address), "an address"))];
    const wide = [defined(parsePrefix("10.96.0.0/30"), "a prefix")];
    const conditions = {
      service: { protocols: [6], destination, destinationPorts },
      prefix: { destination: wide, destinationPorts },
      any: {},
      source: { source: [prefix("10.244.1.0/24")], destinationPorts },
      "other source": { source: [prefix("10.244.2.0/24")], destination },
      "either prefix": { destination: [...destination, prefix("10.97.0.0/16")], protocols: [6, 17] },
      "source port": { sourcePorts: [{ first: 5000, last: 5000 }] },
      ports: { protocols: [6], destinationPorts: [{ first: 80, last: 443 }] },
      exception: { source: [prefix("10.244.1.10/32")], destinationExcept: destination },
      "long list": { source: LONG_LIST, destination: LONG_LIST },
      everywhere: { destination: [prefix("0.0.0.0/0")], destinationPorts },
      "other family": { destination: [prefix("fd00::/8")] },
    };
    return rule({ priority, condition: conditions[shape] });
  });

/** The rule that wins when all are looked at, in the order of the list. */
function winnerOf(rules: readonly Rule[], address: string, port: number): Rule | undefined {
  const key = keyOf(address, port);
  const alone = (each: Rule): Group =>
    createGroup({ name: "g", direction: "out", family: 4, priority: 1, match: "priority", rules: [each] });
  return rules
    .toSorted((a, b) => a.priority - b.priority)
    .find((each) => alone(each).find(key) !== undefined);
}

describe("a group with many rules", () => {
  it("finds what a look at every rule finds, however it came to its rules", () => {
    const step = fc.record({
      added: fc.array(arbitraryRule, { maxLength: 12 }),
      removed: fc.array(fc.nat(40), { maxLength: 6 }),
    });
    fc.assert(
      fc.property(
        fc.array(arbitraryRule, { maxLength: 20 }),
        fc.array(step, { maxLength: 5 }),
        (first, steps) => {
          let rules = first;
          let group = createGroup({
            name: "g",
            direction: "out",
            family: 4,
            priority: 1,
            match: "priority",
            rules,
          });
          for (const { added, removed } of steps) {
            const gone = [
              ...new Set(removed.map((index) => rules[index]).filter((each) => each !== undefined)),
            ];
            rules = [...rules.filter((each) => !gone.includes(each)), ...added];
            group = group.replaceRules(gone, added);
          }
          expect(group.size).toBe(rules.length);
          expect(new Set(group.rules)).toEqual(new Set(rules));
          for (const each of rules) expect(group.has(each)).toBe(true);
          for (const address of [...ADDRESSES, "10.97.0.1"])
            for (const port of PORTS)
              expect(group.find(keyOf(address, port))).toBe(winnerOf(rules, address, port));
        },
      ),
      { numRuns: 150 },
    );
  });

  it("finds the one that wins among ten thousand ACLs of several shapes, and those that fit no table", () => {
    const acl = (index: number): Rule =>
      rule({
        priority: 1_000 + (index % 7),
        condition: {
          source: [hostPrefix((0x0b00_0000 + index) as never)],
          ...(index % 2 === 0 && { protocols: [6] }),
          ...(index % 3 === 0 && { destinationPorts: [{ first: 80, last: 80 }] }),
        },
      });
    const lengths = Array.from({ length: 33 }, (_, length) =>
      [0, 1, 2].map((more) =>
        rule({
          priority: 2_000 + length,
          condition: {
            destination: [prefixOf(defined(parseIp("10.96.0.1"), "an address"), length)],
            ...(more === 1 && { protocols: [6] }),
            ...(more === 2 && { destinationPorts: [{ first: 81, last: 81 }] }),
          },
        }),
      ),
    ).flat();
    const wanted = rule({ priority: 500, condition: { source: [prefix("10.244.1.0/24")] } });
    const group = createGroup({
      name: "g",
      direction: "out",
      family: 4,
      priority: 1,
      match: "priority",
      rules: [...Array.from({ length: 10_000 }, (_, index) => acl(index)), ...lengths, wanted],
    });
    expect(group.find(keyOf("10.96.0.1", 80))).toBe(wanted);
    const without = group.replaceRules([wanted], []);
    expect(without.find(keyOf("10.96.0.1", 80))?.priority).toBe(2_000);
    expect(without.find(keyOf("10.96.0.1", 81))?.priority).toBe(2_000);
    const narrow = without.replaceRules(lengths.slice(0, 90), []);
    expect(narrow.find(keyOf("10.96.0.1", 80))?.priority).toBe(2_030);
    expect(narrow.has(lengths[98]!)).toBe(true);
    expect(narrow.has(lengths[0]!)).toBe(false);
    expect(narrow.size).toBe(10_000 + 9);
  });

  it("finds one of ten thousand services that came one by one", () => {
    const service = (index: number): Rule =>
      rule({
        priority: 100,
        condition: {
          protocols: [6],
          destination: [hostPrefix((0x0a60_0000 + index) as never)],
          destinationPorts: [{ first: 80, last: 80 }],
        },
      });
    const services = Array.from({ length: 10_000 }, (_, index) => service(index));
    const empty = createGroup({
      name: "g",
      direction: "out",
      family: 4,
      priority: 1,
      match: "priority",
      rules: [],
    });
    const group = services.reduce((before, each) => before.replaceRules([], [each]), empty);
    expect(group.find(keyOf("10.96.39.15", 80))).toBe(services[9_999]);
    expect(group.find(keyOf("10.96.39.16", 80))).toBeUndefined();
    expect(group.replaceRules([services[9_999]!], []).find(keyOf("10.96.39.15", 80))).toBeUndefined();
  });
});

describe("a long list of prefixes", () => {
  it("is one set for all rules of a switch that name it, in forks of its world too", () => {
    const sets = new PrefixSets();
    const list = Object.freeze([...LONG_LIST]);
    const memories = [new IndexMemory(), new IndexMemory()];
    for (const memory of memories) memory.takeSets(sets);
    const [first, second] = memories.map((memory) => memory.setOf(list));
    expect(second).toBe(first);
    expect(fork({ sets }).sets.get(list)).toBe(first);
    expect(new IndexMemory().setOf(list)).not.toBe(first);
    // What is not frozen may change.
    expect(sets.get(LONG_LIST)).not.toBe(sets.get(LONG_LIST));
  });

  it("has its set where the group goes, whatever other switch has the same empty group", () => {
    const empty = createGroup({
      name: "g",
      direction: "out",
      family: 4,
      priority: 1,
      match: "priority",
      rules: [],
    });
    shareSets(empty, new PrefixSets());
    const group = empty.replaceRules([], [rule({ priority: 1, condition: { destination: LONG_LIST } })]);
    shareSets(group, new PrefixSets());
    expect(group.find(keyOf("10.96.0.2", 80))).toBe(group.rules[0]);
    expect(fork({ group }).group).toBe(group);
  });
});

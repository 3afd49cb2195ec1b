// print → parse → print is the same, for text and JSON, for any listing; and a listing loaded into a port lists the same.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createGroup } from "#dataplane/vfp/group.ts";
import { group, ip, layer, mac, makePort, prefix, rule } from "#test/support/dataplane/engine-kit.ts";
import type { Action, Rule } from "#dataplane/vfp/rule.ts";
import { ConditionLabel } from "#dataplane/vfp/listing/conditions.ts";
import { layerJson } from "#dataplane/vfp/listing/print-json.ts";
import { parseRulesJson } from "./json-rules.ts";
import { listLayers } from "#dataplane/vfp/listing/list-port.ts";
import {
  type ListedCondition,
  type ListedLayer,
  type ListedRule,
  MatchWord,
} from "#dataplane/vfp/listing/listing.ts";
import { loadListing } from "./load-listing.ts";
import { parseRules } from "./parse-rules.ts";
import { itemList, ruleListLines } from "#dataplane/vfp/listing/print-rules.ts";

const NEW_LINE = "\r\n";

function print(layers: readonly ListedLayer[]): string {
  return itemList("list-rule", ruleListLines(layers, { withLayers: true, withCounters: true })).join(
    NEW_LINE,
  );
}

function printJson(layers: readonly ListedLayer[]): string {
  return JSON.stringify({ Layers: layers.map(layerJson) });
}

const word = fc.stringMatching(/^[A-Za-z0-9_.]{1,20}$/);
const name = fc.stringMatching(/^[A-Za-z0-9_.:-]([A-Za-z0-9_.: -]{0,30}[A-Za-z0-9_.-])?$/);
const number = fc.integer({ min: 0, max: 0xffff });
const ipv4 = fc.ipV4();

const condition: fc.Arbitrary<ListedCondition> = fc.oneof(
  fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 4 }).map((list) => ({
    label: ConditionLabel.protocols,
    value: list.join(", "),
  })),
  fc.array(ipv4, { minLength: 1, maxLength: 4 }).map((list) => ({
    label: ConditionLabel.destination,
    value: list.join(", "),
  })),
  fc.tuple(number, number).map(([a, b]) => ({
    label: ConditionLabel.sourcePorts,
    value: a === b ? `${a}` : `${Math.min(a, b)}-${Math.max(a, b)}`,
  })),
  fc.record({ label: fc.constantFrom("Source tags", "Metadata"), value: word }),
);

/** Lines of data: any that is no structure. */
const data = fc
  .array(
    fc.oneof(
      fc.record({ label: word, value: word }).map(({ label, value }) => `X${label} : ${value}`),
      fc.record({ ip: ipv4, port: number }).map((end) => `    { ${end.ip} : ${end.port} }`),
      fc.constantFrom("DIP Range", "Rule Data:", "Preserve MAC"),
    ),
    { maxLength: 5 },
  )
  .map((lines) => (lines[0]?.startsWith(" ") === true ? ["DIP Range", ...lines] : lines));

const counters = fc.record({
  matchedPackets: fc.nat(),
  droppedPackets: fc.nat(),
  pendingPackets: fc.nat(),
  droppedFlows: fc.nat(),
});

const listedRule: fc.Arbitrary<ListedRule> = fc.record({
  id: fc.oneof(name, fc.constant("")),
  name,
  priority: number,
  flags: fc.integer({ min: 0, max: 0xffff_ffff }),
  type: word,
  conditions: fc.array(condition, { maxLength: 4 }),
  ttl: number,
  data,
  flagsEx: number,
  counters,
});

const listedGroup = fc.record({
  id: name,
  name,
  priority: number,
  direction: fc.constantFrom("OUT" as const, "IN" as const),
  type: fc.constantFrom("IPv4" as const, "IPv6" as const),
  conditions: fc.array(condition, { maxLength: 2 }),
  match: fc.constantFrom(MatchWord.priority, MatchWord["lpm-destination"]),
  rules: fc.array(listedRule, { maxLength: 4 }),
});

const listing: fc.Arbitrary<readonly ListedLayer[]> = fc.uniqueArray(
  fc.record({
    id: name,
    name,
    flags: fc.integer({ min: 0, max: 15 }),
    priority: number,
    groups: fc.uniqueArray(listedGroup, { maxLength: 3, selector: (each) => each.id }),
  }),
  { minLength: 1, maxLength: 4, selector: (each) => each.id },
);

describe("any listing", () => {
  it("as text", () => {
    fc.assert(
      fc.property(listing, (layers) => {
        const text = print(layers);
        const { ports, problems, otherLines } = parseRules(text);
        expect({ problems, otherLines }).toEqual({ problems: [], otherLines: 0 });
        expect(print(ports[0]?.layers ?? [])).toBe(text);
      }),
      { numRuns: 200 },
    );
  });

  it("as JSON, and from one to the other", () => {
    fc.assert(
      fc.property(listing, (layers) => {
        const json = printJson(layers);
        const { ports, problems } = parseRulesJson(json);
        expect(problems).toEqual([]);
        const read = ports[0]?.layers ?? [];
        expect(printJson(read)).toBe(json);
        expect(print(read)).toBe(print(layers));
      }),
      { numRuns: 200 },
    );
  });
});

/** One of each action, as a rule that the engine takes. */
const ACTIONS: readonly (readonly [Action, Partial<Rule>])[] = [
  [{ type: "allow" }, {}],
  [{ type: "block", code: "acl-rule-blocked" }, {}],
  [{ type: "nat", side: "destination", ip: ip("10.244.1.10"), port: 8_080 }, { isStateful: true }],
  [{ type: "nat", side: "source", ip: ip("10.0.0.11") }, { isStateful: true }],
  [
    { type: "dynnat", pool: "P" },
    { isStateful: true, mssDelta: 50 },
  ],
  [
    {
      type: "lbnat",
      backEnds: [
        { ip: ip("10.244.1.10"), port: 80 },
        { ip: ip("10.244.2.10"), port: 81 },
      ],
      distribution: "5-tuple",
      rewrites: "address-and-port",
    },
    { isStateful: true },
  ],
  [{ type: "transpose", sourceMac: mac("00-15-5D-00-00-11"), decrementTtl: true, dscp: 10, tni: 7 }, {}],
  [{ type: "transpose", source: ip("10.0.0.1"), destination: ip("10.0.0.2") }, {}],
  [
    {
      type: "routeencap",
      encapsulation: "nvgre",
      tni: 5_001,
      destinations: [
        { providerAddress: ip("10.0.0.12"), innerMac: mac("00-15-5D-AA-00-02") },
        { providerAddress: ip("10.0.0.13"), providerMac: mac("00-15-5D-00-00-13") },
      ],
      innerSourceMac: mac("00-15-5D-AA-00-01"),
      decrementTtl: true,
    },
    {},
  ],
  [{ type: "mapencap", encapsulation: "vxlan", space: "S", tni: 9, byMac: true, rewritesMac: true }, {}],
  [{ type: "decap", pushesTni: true }, {}],
  [{ type: "decap", innerDestinationMac: mac("00-15-5D-00-00-11") }, {}],
  [{ type: "mark", dscp: 46 }, {}],
  [{ type: "qos", bytesPerSecond: 1_250_000, burstBytes: 10_000, queueBytes: 20_000 }, {}],
  [
    { type: "redirect", ip: ip("127.0.0.1"), port: 15_001, mac: mac("00-15-5D-00-00-01") },
    { isStateful: true },
  ],
  [{ type: "paroute" }, {}],
];

describe("a listing loaded into a port", () => {
  it.each(ACTIONS.map((each) => [each[0].type, ...each] as const))("%s", (_, action, fields) => {
    const port = makePort([layer("L", 40, { isHairpin: true, updatesFlows: true })]);
    port.setGroups("L", [
      createGroup({
        name: "G",
        direction: "in",
        family: 4,
        priority: 3,
        match: "priority",
        condition: { protocols: [6] },
        rules: [
          rule("r", action, {
            priority: 77,
            isStateful: false,
            condition: {
              source: [prefix("10.244.1.0/24"), prefix("10.244.0.0/24"), prefix("10.99.0.1/32")],
              destinationExcept: [prefix("10.0.0.0/24")],
              destinationPorts: [{ first: 80, last: 90 }],
            },
            ...fields,
          }),
        ],
      }),
    ]);
    const before = listLayers(port);
    const { ports } = parseRules(print(before));
    const program = loadListing(ports[0]?.layers ?? [], "node.txt");
    expect(program.notes.filter((note) => note.effect === "left-out")).toEqual([]);
    const copy = makePort(program.layers.map(({ definition }) => definition));
    for (const { definition, groups } of program.layers) copy.setGroups(definition.name, groups);
    expect(print(listLayers(copy))).toBe(print(before));
    const [loaded] = program.layers[0]?.groups[0]?.rules ?? [];
    expect(loaded?.action).toEqual(action);
    expect(loaded?.provenance).toMatchObject({
      object: "vfpctrl",
      name: expect.stringMatching(/^node\.txt line \d+$/) as unknown,
    });
  });

  it("flags are terminating, stateful, and those of the rule's type (dataplane.md §1.5, §1.6)", () => {
    const port = makePort([layer("L", 40)]);
    const flagsOf = ([action, fields]: (typeof ACTIONS)[number]): string => {
      port.setGroups("L", [group([rule("r", action, { ...fields, isTerminating: true })])]);
      return `${action.type} ${listLayers(port)[0]?.groups[0]?.rules[0]?.flags}`;
    };
    expect(ACTIONS.map(flagsOf)).toEqual([
      "allow 1",
      "block 1",
      "nat 515",
      "nat 1283",
      "dynnat 3",
      "lbnat 720897",
      "transpose 1",
      "transpose 1",
      "routeencap 1",
      "mapencap 1",
      "decap 769",
      "decap 1",
      "mark 1",
      "qos 1",
      "redirect 3",
      "paroute 1",
    ]);
  });

  it("names what the text does not carry, and leaves out what would catch too much", () => {
    const text = print([
      {
        id: "L",
        name: "L",
        flags: 1,
        priority: 5,
        groups: [
          {
            ...({ id: "G", name: "G", priority: 1, direction: "OUT", type: "IPv4", conditions: [] } as const),
            match: MatchWord.priority,
            rules: [
              listed({ name: "tagged", type: "allow", conditions: [{ label: "Source tags", value: "web" }] }),
              listed({ name: "pinged", type: "pingresponse" }),
              listed({ name: "balanced", type: "lbnat", data: ["DIP Range", "    { 10.0.0.1 : 80 }"] }),
              listed({ name: "nowhere", type: "routeencap", data: ["Rule Data:", "Encap Type: VXLAN"] }),
              listed({ name: "odd", type: "allow", conditions: [{ label: "toString", value: "web" }] }),
            ],
          },
        ],
      },
    ]);
    const { layers, notes } = loadListing(parseRules(text).ports[0]?.layers ?? [], "node.txt");
    expect(notes.map(({ rule: about, effect, message }) => [about, effect, message])).toEqual([
      ["tagged", "left-out", 'its condition "Source tags : web" cannot be asked for'],
      ["pinged", "left-out", 'the text does not say what type "pingresponse" does'],
      [
        "balanced",
        "incomplete",
        "the text does not carry session affinity, and the MAC addresses of back ends on this switch",
      ],
      ["nowhere", "left-out", "the text does not say where its tunnels lead"],
      ["odd", "left-out", 'its condition "toString : web" cannot be asked for'],
    ]);
    const lines = text.split(NEW_LINE);
    const headings = lines.flatMap((line, index) => (line.startsWith("    RULE :") ? [index + 1] : []));
    expect(notes.map((note) => note.line)).toEqual(headings);
    expect(layers[0]?.groups[0]?.rules.map((each) => each.name)).toEqual(["balanced"]);
  });

  it("a rule of several prefixes in a group with longest prefix match becomes several", () => {
    const wide = listed({
      name: "wide",
      type: "allow",
      conditions: [{ label: "Destination IP", value: "10.0.0.0-10.0.2.255" }],
    });
    const program = loadListing(
      [
        {
          ...({ id: "L", name: "L", flags: 0, priority: 1 } as const),
          groups: [
            {
              ...({
                id: "G",
                name: "G",
                priority: 1,
                direction: "OUT",
                type: "IPv4",
                conditions: [],
              } as const),
              match: MatchWord["lpm-destination"],
              rules: [wide],
            },
          ],
        },
      ],
      "x",
    );
    const rules = program.layers[0]?.groups[0]?.rules ?? [];
    // The longest is tried first.
    expect(rules.map((each) => each.condition.destination)).toEqual([
      [prefix("10.0.2.0/24")],
      [prefix("10.0.0.0/23")],
    ]);
  });
});

function listed(fields: Partial<ListedRule>): ListedRule {
  return {
    id: "",
    name: "",
    priority: 100,
    flags: 1,
    type: "allow",
    conditions: [],
    ttl: 0,
    data: [],
    flagsEx: 0,
    ...fields,
  };
}

it("what asks nothing of packets is listed as <none>", () => {
  const port = makePort([layer("L", 1)]);
  port.setGroups("L", [group([rule("a", { type: "allow" })])]);
  expect(print(listLayers(port)).match(/<none>/g)).toHaveLength(2);
});

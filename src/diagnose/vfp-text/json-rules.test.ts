// The JSON of /format 1 as the scripts of the field read it (users.md §4): the fields that they ask for, by name.
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { ip, mac, prefix, rule } from "#test/support/dataplane/engine-kit.ts";
import { listRule } from "#dataplane/vfp/listing/list-port.ts";
import { ruleJson } from "#dataplane/vfp/listing/print-json.ts";
import { parseRulesJson } from "./json-rules.ts";

const LB_DSR = rule(
  "id",
  {
    type: "lbnat",
    backEnds: [{ ip: ip("10.244.0.25"), port: 53 }],
    distribution: "5-tuple",
    rewrites: "address-and-port",
  },
  {
    name: "LB_DSR_ABCDE_10.0.0.11_10.0.0.10_53_53_17",
    priority: 100,
    isStateful: true,
    condition: {
      protocols: [17],
      destination: [prefix("10.0.0.10/32")],
      destinationPorts: [{ first: 53, last: 53 }],
    },
  },
);

describe("a rule as scripts read it", () => {
  it("cleanup-orphan-rules.ps1: id, protocol, upper end of the destination, port", () => {
    expect(ruleJson(listRule(LB_DSR, 4))).toMatchObject({
      Id: "LB_DSR_ABCDE_10.0.0.11_10.0.0.10_53_53_17",
      Type: "lbnat",
      Conditions: [
        { ConditionType: 1, ProtocolList: [17] },
        { ConditionType: 11, DestinationIPv4RangeList: [{ L: "10.0.0.10", H: "10.0.0.10" }] },
        { ConditionType: 5, DestinationPortList: [53] },
      ],
    });
  });

  it("networkhealth.ps1: destination MAC and VLAN of EXTERNAL_L2_REWRITE_LAYER, IPv6 ranges", () => {
    const rewrite = rule(
      "x",
      { type: "transpose", sourceMac: mac("00-15-5D-5A-B0-B2") },
      {
        isStateful: false,
        condition: {
          destination: [prefix("fd00::/64")],
          destinationMac: mac("00-15-5D-5A-B0-B3"),
          vlan: 7,
        },
      },
    );
    expect(ruleJson(listRule(rewrite, 6))["Conditions"]).toEqual([
      { ConditionType: 13, DestinationIPv6RangeList: [{ L: "fd00::", H: "fd00::ffff:ffff:ffff:ffff" }] },
      { ConditionType: 17, DestinationMacAddressList: ["00155D5AB0B3"] },
      { ConditionType: 21, VlanIdRangeList: [{ L: 7, H: 7 }] },
    ]);
  });

  it("vfpDropCounterMetrics.ps1: counters in InformationArray", () => {
    const counters = { matchedPackets: 5, droppedPackets: 1, pendingPackets: 2, droppedFlows: 3 };
    expect(ruleJson(listRule(LB_DSR, 4, counters))["InformationArray"]).toEqual([
      { RuleCounters: { MatchedPackets: 5, DroppedPackets: 1, PendingPackets: 2, DroppedFlows: 3 } },
    ]);
  });
});

describe("parseRulesJson", () => {
  it("reads what the scripts rely on, with nothing else there", () => {
    const text = `\uFEFF{"Layers":[{"Name":"LB_DSR","Priority":7,"Groups":[{"Name":"LB_DSR_IPv4_OUT","Id":"LB_DSR_IPv4_OUT",
      "Priority":100,"Rules":[{"$type":"x","Id":"LB_DSR_1","Name":"LB_DSR_1","Type":"lbnat","SubType":"","RuleFlags":1,
      "Conditions":[{"ConditionType":5,"DestinationPortList":[80,443]}],
      "InformationArray":[{"RuleCounters":{"MatchedPackets":3}}]}]}]}]}`;
    const { ports, problems } = parseRulesJson(text);
    expect(problems).toEqual([]);
    expect(ports[0]?.layers[0]).toMatchObject({
      id: "LB_DSR",
      priority: 7,
      groups: [
        {
          id: "LB_DSR_IPv4_OUT",
          direction: "OUT",
          type: "IPv4",
          rules: [
            {
              id: "LB_DSR_1",
              type: "lbnat",
              conditions: [{ label: "Destination ports", value: "80, 443" }],
              counters: { matchedPackets: 3, droppedPackets: 0 },
            },
          ],
        },
      ],
    });
  });

  it("rules alone, as /layer and /group give them; a list of one as that one", () => {
    const { ports, problems } = parseRulesJson(
      '{"Rules":{"Id":"a","Type":"allow","Conditions":{"ConditionType":1,"ProtocolList":6}}}',
    );
    // `6` is no list; it is said, and the rest is read.
    expect(problems.map((problem) => problem.message)).toEqual([
      "the document.Groups[0].Rules[0].Conditions[0].ProtocolList: must be a list",
    ]);
    expect(defined(ports[0], "a port").layers[0]?.groups[0]?.rules.map((each) => each.id)).toEqual(["a"]);
  });

  it.each([
    ["", 1, "not JSON"],
    ['{"Layers": [}', 1, "not JSON"],
    ["[]", 1, "the document: must be an object"],
    ['{"Layers": 5}', 1, "Layers: must be a list"],
    ['{"Layers": [7]}', 1, "Layers[0]: must be an object"],
    ['{"Layers":[{"Groups":[{"Rules":[{"Id":"x"}]}]}]}', 1, "a rule without a Type"],
    ['{"Rules":[{"Type":"allow","Priority":"high"}]}', 1, "Priority: must be a whole number"],
    ['{"Rules":[{"Type":"allow","Conditions":[{"ConditionType":99}]}]}', 1, "not known"],
  ])("%s", (text, line, message) => {
    const { problems } = parseRulesJson(text);
    expect(problems[0]).toEqual({ line, message: expect.stringContaining(message) as unknown });
  });
});

describe("a fault of one value", () => {
  const conditions = (name: string): unknown => [
    { ConditionType: 1, [name]: [] },
    { Label: "a", Value: "b" },
  ];
  const counters = { MatchedPackets: 1, DroppedPackets: 2, PendingPackets: 3, DroppedFlows: 4 };
  const ruleOf = (id: string): unknown => ({
    Id: id,
    Name: id,
    Type: "allow",
    Priority: 100,
    RuleFlags: 1,
    FlagsEx: 0,
    FlowTTL: 240,
    RuleData: ["x"],
    Conditions: conditions("DestinationPortList"),
    InformationArray: [{ Other: {} }, { RuleCounters: counters }],
  });
  const group = (id: string): unknown => ({
    Id: id,
    Name: id,
    Priority: 1,
    Direction: "OUT",
    Type: "IPv4",
    MatchType: "Priority",
    Conditions: conditions("SourceIPv4RangeList"),
    Rules: [ruleOf("a"), ruleOf("b")],
  });
  const layer = (id: string): unknown => ({
    Id: id,
    Name: id,
    Flags: 1,
    Priority: 7,
    Groups: [group("g"), group("h")],
  });
  const whole = (): unknown => ({ Layers: [layer("L"), layer("M")] });

  /** Every value of a document with its path, as the faults name it. */
  function valuesOf(value: unknown, path = ""): readonly (readonly [path: string, value: unknown])[] {
    const inside = Array.isArray(value)
      ? value.flatMap((each, index) => valuesOf(each, `${path}[${index}]`))
      : typeof value === "object" && value !== null
        ? Object.entries(value).flatMap(([name, each]) =>
            valuesOf(each, path === "" ? name : `${path}.${name}`),
          )
        : [];
    return [[path, value], ...inside];
  }

  /** The document with another value at `path`. */
  function damaged(value: unknown, path: string, other: unknown, here = ""): unknown {
    if (path === here) return other;
    if (Array.isArray(value))
      return value.map((each: unknown, index) => damaged(each, path, other, `${here}[${index}]`));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        name,
        damaged(each, path, other, here === "" ? name : `${here}.${name}`),
      ]),
    );
  }

  const messages = (document: unknown): readonly string[] =>
    parseRulesJson(JSON.stringify(document)).problems.map(({ message }) => message);

  it("is said with its whole path, and nothing else is", () => {
    expect(messages(whole())).toEqual([]);
    const kinds = new Map<string, number>();
    for (const [path, value] of valuesOf(whole())) {
      if (path === "" || typeof value === "string" || path.endsWith("ConditionType")) continue;
      // Lists of texts take no list of other things; conditions of other words are a kind of their own.
      if (path.endsWith(".Other")) continue;
      const [other, message] =
        typeof value === "number"
          ? ["many", "must be a whole number"]
          : Array.isArray(value)
            ? [5, "must be a list"]
            : [7, "must be an object"];
      expect(messages(damaged(whole(), path, other))).toEqual([`${path}: ${message}`]);
      kinds.set(message, (kinds.get(message) ?? 0) + 1);
    }
    // 2 layers, of each 2 groups, of each 2 rules, with what stands in them.
    expect(Object.fromEntries(kinds)).toEqual({
      "must be a whole number": 2 * (2 + 2 * (1 + 2 * (4 + 4))),
      "must be a list": 1 + 2 * (1 + 2 * (3 + 2 * 4)),
      "must be an object": 2 * (1 + 2 * (1 + 2 + 2 * (1 + 2 + 2 + 1))),
    });
  });

  it("in rules alone stands under the document", () => {
    expect(messages({ Rules: [ruleOf("a"), 7] })).toEqual([
      "the document.Groups[0].Rules[1]: must be an object",
    ]);
  });

  it.each([1.5, -1, 2 ** 53, "1", true, {}, []])("%j is no number of a rule", (Priority) => {
    expect(messages({ Rules: [{ Type: "allow", Priority }] })).toEqual([
      "the document.Groups[0].Rules[0].Priority: must be a whole number",
    ]);
  });

  it.each([0, 1, 2 ** 53 - 1])("%d is one", (Priority) => {
    expect(messages({ Rules: [{ Type: "allow", Priority }] })).toEqual([]);
  });
});

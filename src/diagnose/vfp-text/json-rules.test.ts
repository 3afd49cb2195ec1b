// The JSON of /format 1 as the scripts of the field read it (users.md §4): the fields that they ask for, by name.
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { ip, mac, prefix, rule } from "#test/support/dataplane/engine-kit.ts";
import { listRule } from "#dataplane/vfp/listing/list-port.ts";
import { parseRulesJson, ruleJson } from "./json-rules.ts";

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

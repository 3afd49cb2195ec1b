// Texts of nodes: forms of the dumps that dataplane.md §7 names, with composed values, and texts that lie.
import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { damageText } from "#test/support/damaged-text.ts";
import type { ListedLayer } from "#dataplane/vfp/listing/listing.ts";
import { parseRules } from "./parse-rules.ts";

/** As an operator's note shows it: the command above, no layer, blanks at the ends of lines. */
const OF_ONE_LAYER = `C:\\> vfpctrl /port 11111111-2222-4333-8444-555555555555 /layer ACL_ENDPOINT_LAYER /list-rule
 ITEM LIST
===========

  GROUP : ACL_ENDPOINT_GROUP_IPV4_IN
      Friendly name : ACL_ENDPOINT_GROUP_IPV4_IN
      Priority : 1
      Direction : IN
      Type : IPv4
        Conditions:
            <none>
      Match type : Priority-based match

    RULE : 5B1D0C6E-0000-4000-8000-000000000001
        Friendly name : allow-host-to-endpoint
        Priority : 900
        Flags : 8195 terminating stateful${" "}
        Type : allow
        Conditions:
            Source IP : 10.0.0.11
        Flow TTL: 240
        FlagsEx : 0${" "}

    RULE : 5B1D0C6E-0000-4000-8000-000000000002
        Friendly name : default-deny
        Priority : 65000
        Flags : 8193 terminating${" "}
        Type : block
        Conditions:
            <none>
        Flow TTL: 0
        FlagsEx : 0
  (redacted)
Command list-rule succeeded!
`;

/** As in a report of an older node: layers above, rules without ids, four blanks more. */
const OF_OLD_NODE = `
    LAYER : SNAT
        Friendly name : SNAT
        Flags : 0x9 Default Allow , Update flows on address change${" "}
        Priority : 200
    ...
        RULE :${" "}
            Friendly name : SNAT_TCP_ABCDE_10.42.1.2_10.43.0.1_443_6443_6
            Priority : 100
            Flags : 3 terminating stateful${" "}
            Type : dynnat
            Conditions:
                Protocols : 6
                Destination IP : 10.43.0.1
                Destination ports : 443
            Flow TTL: 240
            MSS delta: 50,0
            Type : Source NAT;         NAT pool : SLB_NATPOOL_IPV4_TCP_10.42.1.210.43.0.1443
            FlagsEx : 0${" "}
`;

/** As a script keeps it: everything in one column. */
const FLAT = `RULE :
Friendly name : PA_ROUTE
Priority : 45535
Flags : 1 terminating
Type : paroute
Conditions:
<none>
Flow TTL: 0
Rule Data:
VLAN ID: 0
Using default compartment
Cache pruning threshold: 10
Cache pruning timeout: 30 seconds
Using interface constraint with interface index: 11
FlagsEx : 0`;

function onlyPort(text: string): readonly ListedLayer[] {
  const { ports, problems } = parseRules(text);
  expect(problems).toEqual([]);
  expect(ports).toHaveLength(1);
  return ports[0]?.layers ?? [];
}

describe("what nodes print", () => {
  it("the rules of one layer", () => {
    const [layer] = onlyPort(OF_ONE_LAYER);
    expect(layer?.id).toBe("");
    const [group] = layer?.groups ?? [];
    expect(group).toMatchObject({
      id: "ACL_ENDPOINT_GROUP_IPV4_IN",
      priority: 1,
      direction: "IN",
      type: "IPv4",
    });
    expect(group?.rules).toMatchObject([
      {
        name: "allow-host-to-endpoint",
        priority: 900,
        flags: 8_195,
        type: "allow",
        conditions: [{ label: "Source IP", value: "10.0.0.11" }],
        ttl: 240,
      },
      { name: "default-deny", flags: 8_193, type: "block", conditions: [], ttl: 0 },
    ]);
  });

  it("an older node's layers, with rules that only have names", () => {
    const [layer] = onlyPort(OF_OLD_NODE);
    expect(layer).toMatchObject({ id: "SNAT", flags: 9, priority: 200 });
    expect(layer?.groups[0]?.rules[0]).toMatchObject({
      id: "",
      name: "SNAT_TCP_ABCDE_10.42.1.2_10.43.0.1_443_6443_6",
      data: [
        "MSS delta: 50,0",
        "Type : Source NAT;         NAT pool : SLB_NATPOOL_IPV4_TCP_10.42.1.210.43.0.1443",
      ],
    });
  });

  it("a text that lost its indentation", () => {
    const [layer] = onlyPort(FLAT);
    expect(layer?.groups[0]?.rules[0]).toMatchObject({ name: "PA_ROUTE", type: "paroute", flagsEx: 0 });
    expect(layer?.groups[0]?.rules[0]?.data).toHaveLength(6);
  });

  it("a file of collectlogs.ps1: several ports, the same rules in two lists", () => {
    const [first, second] = ["11111111-2222-4333-8444-555555555555", "11111111-2222-4333-8444-666666666666"];
    const text = [
      `Policy for port : ${first}`,
      OF_ONE_LAYER,
      OF_ONE_LAYER,
      "Policy for port : ",
      second,
      OF_ONE_LAYER,
    ].join("\r\n");
    const { ports, otherLines } = parseRules(text);
    expect(ports.map((port) => port.name)).toEqual([first, second]);
    for (const port of ports) expect(port.layers[0]?.groups[0]?.rules).toHaveLength(2);
    // The command line and "(redacted)", three times.
    expect(otherLines).toBe(6);
  });

  it("two groups of one name that differ are two", () => {
    const other = OF_ONE_LAYER.replace("Priority : 1\n", "Priority : 2\n");
    const [layer] = onlyPort(OF_ONE_LAYER + other);
    expect(layer?.groups.map(({ priority, rules }) => [priority, rules.length])).toEqual([
      [1, 2],
      [2, 2],
    ]);
  });

  it("counters stand behind rules", () => {
    const counted = OF_ONE_LAYER.replace(
      "FlagsEx : 0 \n\n",
      `FlagsEx : 0
        Rule counters:
            Matched packets : 17
            Dropped packets : 1
            Pending packets : 0
            Dropped flows : 2

`,
    );
    const [layer] = onlyPort(counted);
    expect(layer?.groups[0]?.rules[0]?.counters).toEqual({
      matchedPackets: 17,
      droppedPackets: 1,
      pendingPackets: 0,
      droppedFlows: 2,
    });
  });
});

describe("lines that make no sense are named, and what they belong to is left out", () => {
  it.each([
    ["Priority : 900", "Priority : ninety", 16, "Priority must be a whole number up to 65535"],
    ["Priority : 900", "Priority : 70000", 16, "Priority must be a whole number up to 65535"],
    ["Flags : 8195 terminating stateful", "Flags : -1", 17, "Flags must be a whole number"],
    ["Flow TTL: 240", "Flow TTL: soon", 21, "Flow TTL must be a whole number"],
    ["            Source IP : 10.0.0.11", "            Source IP", 20, "a condition is a label"],
    ["Type : allow", "Kind : allow", 18, 'a rule has no field "Kind"'],
  ])("%s → %s", (before, after, line, message) => {
    const { ports, problems } = parseRules(OF_ONE_LAYER.replace(before, after));
    expect(problems).toEqual([{ line, message: expect.stringContaining(message) as unknown }]);
    expect(ports[0]?.layers[0]?.groups[0]?.rules.map((rule) => rule.name)).toEqual(["default-deny"]);
  });

  it.each([
    ["Direction : IN", "Direction : UP", 8],
    ["Type : IPv4", "Type : IPX", 9],
  ])("a group: %s → %s", (before, after, line) => {
    const { ports, problems } = parseRules(OF_ONE_LAYER.replace(before, after));
    expect(problems.map((problem) => problem.line)).toEqual([line]);
    expect(ports[0]?.layers[0]?.groups).toEqual([]);
  });

  it("a layer's flags", () => {
    const { problems } = parseRules(OF_OLD_NODE.replace("0x9", "nine"));
    expect(problems).toEqual([{ line: 4, message: expect.stringContaining("Flags of a layer") as unknown }]);
  });

  it("a command that failed", () => {
    const { ports, problems } = parseRules("\r\nERROR: failed to find the port\r\n");
    expect(ports).toEqual([]);
    expect(problems).toEqual([
      { line: 2, message: expect.stringContaining("failed to find the port") as unknown },
    ]);
  });

  it("tells only so many problems, and counts the rest", () => {
    const one = "RULE : x\n Priority : y\n";
    const { problems, problemsOmitted } = parseRules(one.repeat(2_000));
    expect([problems.length, problemsOmitted]).toEqual([500, 1_500]);
  });
});

it("bears any damage", () => {
  const prng = new Prng("vfpctrl text");
  const pieces = [
    "RULE : ",
    "GROUP :",
    "LAYER : x",
    "\n",
    " : ",
    "Conditions:\n",
    "Flow TTL: ",
    "{",
    "\u0000",
    "ITEM LIST",
  ];
  for (let i = 0; i < 400; i++) {
    const text = damageText(OF_ONE_LAYER + OF_OLD_NODE, pieces, prng);
    const lines = text.split("\n").length;
    for (const { line } of parseRules(text).problems) expect(line).toBeLessThanOrEqual(lines);
  }
});

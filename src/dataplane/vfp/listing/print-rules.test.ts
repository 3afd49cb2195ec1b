// Labels, indentation and quirks of dataplane.md §7.1–7.4 and §7.6, and of the dumps that it names. Values are composed.
import { describe, expect, it } from "vitest";
import { AddressFlag } from "#dataplane/vfp/port-settings.ts";
import { group, ip, ip4, layer, mac, makePort, prefix, rule } from "#test/support/dataplane/engine-kit.ts";
import type { Action, Rule } from "#dataplane/vfp/rule.ts";
import { listConditions } from "./conditions.ts";
import { listLayers, listRule } from "./list-port.ts";
import {
  groupListLines,
  itemList,
  layerCounterLines,
  layerListLines,
  ruleLines,
  ruleListLines,
} from "./print-rules.ts";

function print(action: Action, fields: Partial<Rule> = {}): readonly string[] {
  return ruleLines(listRule(rule("R", action, { isStateful: false, ...fields }), 4));
}

/** What stands between the TTL and the end. */
function dataOf(action: Action, fields: Partial<Rule> = {}): readonly string[] {
  const lines = print(action, fields);
  const from = lines.findIndex((line) => line.includes("Flow TTL"));
  return lines.slice(from + 1, -2);
}

describe("/list-layer", () => {
  // The layers of a pod's port on an overlay node (dataplane.md §2.2.1), and one that turns packets round.
  const port = makePort([
    layer("LB_DSR", 7),
    layer("ACL_ENDPOINT_LAYER", 15, { isDefaultAllow: false }),
    layer("REMOTESUBNETROUTE_HAIRPIN_LAYER", 35, { isHairpin: true, isStateful: false }),
    layer("VNET_ENCAP_LAYER", 40, { isDefaultAllow: false, clearsTni: true, isStateful: false }),
    layer("SLB_NAT_LAYER", 50, { updatesFlows: true }),
    layer("VNET_PA_ROUTE_LAYER", 2_000, { isStateful: false }),
  ]);

  it("only the first flags have no comma, no flags are no line, hairpin layers come last", () => {
    expect(layerListLines(listLayers(port))).toEqual([
      "LAYER : LB_DSR",
      "    Friendly name : LB_DSR",
      "    Flags : 0x1 Default Allow ",
      "    Priority : 7",
      "",
      "LAYER : ACL_ENDPOINT_LAYER",
      "    Friendly name : ACL_ENDPOINT_LAYER",
      "    Priority : 15",
      "",
      "LAYER : VNET_ENCAP_LAYER",
      "    Friendly name : VNET_ENCAP_LAYER",
      "    Flags : 0x4, Clear TNI ",
      "    Priority : 40",
      "",
      "LAYER : SLB_NAT_LAYER",
      "    Friendly name : SLB_NAT_LAYER",
      "    Flags : 0x9, Default Allow , Update flows on address change ",
      "    Priority : 50",
      "",
      "LAYER : VNET_PA_ROUTE_LAYER",
      "    Friendly name : VNET_PA_ROUTE_LAYER",
      "    Flags : 0x1, Default Allow ",
      "    Priority : 2000",
      "",
      "LAYER : REMOTESUBNETROUTE_HAIRPIN_LAYER",
      "    Friendly name : REMOTESUBNETROUTE_HAIRPIN_LAYER",
      "    Flags : 0x3 Hairpin Layer, Default Allow ",
      "    Priority : 35",
      "",
    ]);
  });

  it("0x9 of the first layer has no comma behind its number", () => {
    const nat = makePort([layer("SNAT", 200, { updatesFlows: true })]);
    expect(layerListLines(listLayers(nat))[2]).toBe(
      "    Flags : 0x9 Default Allow , Update flows on address change ",
    );
  });

  it("stands between a heading and the word that it went well", () => {
    expect(itemList("list-layer", ["LAYER : A", ""])).toEqual([
      "",
      " ITEM LIST",
      "===========",
      "",
      "LAYER : A",
      "",
      "Command list-layer succeeded!",
    ]);
  });
});

describe("/list-group, /list-rule", () => {
  it("a group with longest prefix match", () => {
    const port = makePort([layer("VNET_ENCAP_LAYER", 40)]);
    port.setGroups("VNET_ENCAP_LAYER", [
      group([], { name: "VNET_GROUP_ENCAP_IPV4_OUT", priority: 100, match: "lpm-destination" }),
    ]);
    const [listed] = listLayers(port);
    expect(listed && groupListLines(listed)).toEqual([
      "  GROUP : VNET_GROUP_ENCAP_IPV4_OUT",
      "      Friendly name : VNET_GROUP_ENCAP_IPV4_OUT",
      "      Priority : 100",
      "      Direction : OUT",
      "      Type : IPv4",
      "        Conditions:",
      "            <none>",
      "      Match type : Longest prefix match on Destination IP",
      "",
    ]);
  });

  it("a rule of a network policy", () => {
    const allow = rule(
      "id",
      { type: "allow" },
      {
        listedId: "5B1D0C6E-0000-4000-8000-000000000001",
        name: "allow-host-to-endpoint",
        priority: 900,
        isStateful: true,
        listedFlags: 8_192,
        condition: { source: [prefix("10.0.0.11/32")] },
      },
    );
    const port = makePort([layer("ACL_ENDPOINT_LAYER", 15)]);
    port.setGroups("ACL_ENDPOINT_LAYER", [
      group([allow], { name: "ACL_ENDPOINT_GROUP_IPV4_IN", priority: 1, direction: "in" }),
    ]);
    expect(ruleListLines(listLayers(port), { withLayers: false })).toEqual([
      "  GROUP : ACL_ENDPOINT_GROUP_IPV4_IN",
      "      Friendly name : ACL_ENDPOINT_GROUP_IPV4_IN",
      "      Priority : 1",
      "      Direction : IN",
      "      Type : IPv4",
      "        Conditions:",
      "            <none>",
      "      Match type : Priority-based match",
      "",
      "    RULE : 5B1D0C6E-0000-4000-8000-000000000001",
      "        Friendly name : allow-host-to-endpoint",
      "        Priority : 900",
      "        Flags : 8195 terminating stateful ",
      "        Type : allow",
      "        Conditions:",
      "            Source IP : 10.0.0.11",
      "        Flow TTL: 240",
      "        FlagsEx : 0 ",
      "",
    ]);
  });

  it("a rule that keeps no flows has no TTL; one without an id only has its name", () => {
    const lines = print({ type: "paroute" }, { listedId: "", name: "PA_ROUTE", priority: 45_535 });
    expect(lines).toEqual([
      "    RULE : ",
      "        Friendly name : PA_ROUTE",
      "        Priority : 45535",
      "        Flags : 1 terminating ",
      "        Type : paroute",
      "        Conditions:",
      "            <none>",
      "        Flow TTL: 0",
      "        Rule Data:",
      "        VLAN ID: 0",
      "        Using default compartment",
      "        Cache pruning threshold: 10",
      "        Cache pruning timeout: 30 seconds",
      "        FlagsEx : 0 ",
      "",
    ]);
  });

  it("source NAT with its MSS delta", () => {
    const lines = dataOf(
      { type: "dynnat", pool: "SLB_NATPOOL_IPV4_TCP_X" },
      { isStateful: true, mssDelta: 50 },
    );
    expect(lines).toEqual([
      "        MSS delta: 50,0",
      "        Type : Source NAT;         NAT pool : SLB_NATPOOL_IPV4_TCP_X",
    ]);
  });

  it("load balancing: a line per back end, and the flags of a full NAT", () => {
    const lines = print(
      {
        type: "lbnat",
        backEnds: [
          { ip: ip("10.244.0.25"), port: 53 },
          { ip: ip("10.244.1.25"), port: 53 },
        ],
        distribution: "5-tuple",
        rewrites: "address-and-port",
      },
      { isStateful: true },
    );
    // 720896 and terminating (dataplane.md §1.6).
    expect(lines).toContain("        Flags : 720897 terminating ");
    expect(lines.slice(-5)).toEqual([
      "        DIP Range",
      "            { 10.244.0.25 : 53 }",
      "            { 10.244.1.25 : 53 }",
      "        FlagsEx : 0 ",
      "",
    ]);
  });

  it("a tunnel to another node", () => {
    const lines = dataOf({
      type: "routeencap",
      encapsulation: "vxlan",
      tni: 4_096,
      destinations: [{ providerAddress: ip("10.0.0.12"), innerMac: mac("00-15-5D-AA-00-02") }],
    });
    expect(lines).toEqual([
      "        Rule Data:",
      "        Encap Type: VXLAN",
      "        Fixing inner MAC",
      "        Encap Destination(s):",
      "            { IP address=10.0.0.12, MAC address=00-15-5D-AA-00-02, GRE key=4096 }",
    ]);
  });

  it("out of a tunnel: 769 is 512 and 256 and terminating", () => {
    const lines = print({ type: "decap", pushesTni: true }, { condition: { protocols: [252] } });
    expect(lines).toContain("        Flags : 769 terminating ");
    expect(lines).toContain("            Protocols : 252");
    expect(lines.slice(-4)).toEqual([
      "        Preserve MAC",
      "        Push TNI as VSID",
      "        FlagsEx : 0 ",
      "",
    ]);
  });

  it("static NAT writes into a block Modify", () => {
    expect(dataOf({ type: "nat", side: "destination", ip: ip("10.244.1.10"), port: 8_080 })).toEqual([
      "        Modify:",
      "            Destination IP : 10.244.1.10",
      "            Destination port : 8080",
    ]);
  });
});

describe("conditions", () => {
  it("ranges as nodes print them, exceptions as what is left", () => {
    const condition = {
      protocols: [6],
      source: [prefix("10.244.1.10/32")],
      destinationExcept: [prefix("10.244.0.0/16"), prefix("10.0.0.0/24")],
      destinationPorts: [
        { first: 443, last: 443 },
        { first: 8_000, last: 8_080 },
      ],
    };
    expect(listConditions(condition, 4)).toEqual([
      { label: "Protocols", value: "6" },
      { label: "Source IP", value: "10.244.1.10" },
      {
        label: "Destination IP",
        value: "0.0.0.0-9.255.255.255, 10.0.1.0-10.243.255.255, 10.245.0.0-255.255.255.255",
      },
      { label: "Destination ports", value: "443, 8000-8080" },
    ]);
  });

  it("a prefix is a range with both its ends", () => {
    expect(listConditions({ destination: [prefix("10.244.4.0/24")] }, 4)).toEqual([
      { label: "Destination IP", value: "10.244.4.0-10.244.4.255" },
    ]);
  });
});

it("/get-layer-counter: twelve lines for each direction, OUT first", () => {
  const port = makePort([layer("LB_DSR", 7)]);
  port.address = { customerAddresses: [ip4("10.244.1.10")], flags: AddressFlag.virtualized };
  const lines = layerCounterLines(listLayers(port));
  expect(lines.slice(0, 8)).toEqual([
    "LAYER : LB_DSR",
    "    Friendly name : LB_DSR",
    "    Flags : 0x1 Default Allow ",
    "    Priority : 7",
    "",
    "  LAYER COUNTER",
    "    Direction - OUT",
    "      Flow match count : 0",
  ]);
  expect(lines.slice(8, 19).map((line) => line.replace(" count : 0", "").trim())).toEqual([
    "Flow drop",
    "Flow pending",
    "Pending drop",
    "Rule match",
    "Rule drop",
    "Rule pending",
    "Rule unified flow drop",
    "No match",
    "Frag cache match",
    "Frag cache drop",
    "Frag cache no match",
  ]);
  expect(lines[19]).toBe("    Direction - IN");
});

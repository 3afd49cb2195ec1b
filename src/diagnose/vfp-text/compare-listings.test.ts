import { describe, expect, it } from "vitest";
import { compareListings, describeDifference } from "./compare-listings.ts";
import { formatLbDsrId, parseLbDsrId, withLbDsrForm } from "#dataplane/vfp/listing/lb-dsr-id.ts";
import { type ListedLayer, type ListedRule, MatchWord } from "#dataplane/vfp/listing/listing.ts";

const FIELDS = {
  tag: "593C6",
  nodeAddress: "10.240.0.35",
  vip: "10.0.0.10",
  externalPort: 53,
  internalPort: 5_353,
  protocol: 17,
};

describe("ids of LB_DSR rules, in both forms that are in use (users.md §4)", () => {
  it.each([
    ["tag-first", "LB_DSR_593C6_10.240.0.35_10.0.0.10_53_5353_17"],
    ["tag-last", "LB_DSR_10.240.0.35_10.0.0.10_53_5353_17_593C6"],
  ] as const)("%s: %s", (form, id) => {
    expect(parseLbDsrId(id)).toEqual({ ...FIELDS, form });
    expect(formatLbDsrId(FIELDS, form)).toBe(id);
    expect(withLbDsrForm(withLbDsrForm(id, "tag-first"), form)).toBe(id);
  });

  it("IPv6", () => {
    expect(parseLbDsrId("LB_DSR_fd00::35_fd00:1::a_443_6443_6_593C6")).toMatchObject({
      vip: "fd00:1::a",
      tag: "593C6",
    });
  });

  it.each([
    "LB_DSR_x",
    "LB_593C6_10.0.0.1_10.0.0.2_1_2_6",
    "LB_DSR_1_2_3_4_5_6",
    "LB_DSR_A_10.0.0.1_10.0.0.2_99999999_1_6",
  ])("%s is none", (id) => {
    expect(parseLbDsrId(id)).toBeUndefined();
    expect(withLbDsrForm(id, "tag-last")).toBe(id);
  });
});

function rule(name: string, fields: Partial<ListedRule> = {}): ListedRule {
  return {
    id: name,
    name,
    priority: 100,
    flags: 1,
    type: "allow",
    conditions: [],
    ttl: 240,
    data: [],
    flagsEx: 0,
    ...fields,
  };
}

function layers(rules: readonly ListedRule[], fields: Partial<ListedLayer> = {}): readonly ListedLayer[] {
  return [
    {
      ...({ id: "LB_DSR", name: "LB_DSR", flags: 1, priority: 7, ...fields } as const),
      groups: [
        {
          ...({ id: "LB_DSR_IPv4_OUT", name: "", priority: 100, direction: "OUT", type: "IPv4" } as const),
          conditions: [],
          match: MatchWord.priority,
          rules,
        },
      ],
    },
  ];
}

function compare(left: readonly ListedRule[], right: readonly ListedRule[]): readonly string[] {
  const names = { left: "win-1", right: "win-2" };
  return compareListings({ layers: layers(left) }, { layers: layers(right) }).map((each) =>
    describeDifference(each, names),
  );
}

const DIPS = ["DIP Range", "    { 10.244.0.25 : 53 }", "    { 10.244.1.25 : 53 }"];

describe("two nodes", () => {
  it("do not differ in their own addresses, in the form of ids, in the order of back ends", () => {
    const left = rule("LB_DSR_593C6_10.240.0.35_10.0.0.10_53_5353_17", { type: "lbnat", data: DIPS });
    const right = rule("LB_DSR_10.240.0.36_10.0.0.10_53_5353_17_593C6", {
      type: "lbnat",
      data: [DIPS[0] ?? "", ...DIPS.slice(1).toReversed()],
    });
    const node = (address: string, id: string): ListedRule =>
      rule(`SNAT_TCP_OUTBOUNDNAT_${id}_${address}`, {
        type: "dynnat",
        data: [`Type : Source NAT;         NAT pool : SLB_NATPOOL_IPV4_TCP_10.244.1.5${address}${id}0`],
      });
    expect(
      compare(
        [left, node("10.240.0.35", "11111111-2222-4333-8444-555555555555")],
        [right, node("10.240.0.36", "66666666-2222-4333-8444-555555555555")],
      ),
    ).toEqual([]);
  });

  it("with thousands of addresses of their own do not differ in them, and cost what the texts cost", () => {
    const side = (last: string) =>
      Array.from({ length: 3_000 }, (_, index) => {
        const address = `10.${index >> 8}.${index & 255}.${last}`;
        const conditions = [{ label: "Source IP", value: address }];
        return rule(`SNAT_TCP_OUTBOUNDNAT_${index}_${address}`, { type: "dynnat", conditions });
      });
    const before = process.cpuUsage();
    expect(compare(side("1"), side("2"))).toEqual([]);
    expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
  });

  it("a rule that only one has", () => {
    expect(compare([rule("a"), rule("b")], [rule("b"), rule("c")])).toEqual([
      "rule a in LB_DSR, LB_DSR_IPv4_OUT is only on win-1",
      "rule c in LB_DSR, LB_DSR_IPv4_OUT is only on win-2",
    ]);
  });

  it("duplicates are told", () => {
    expect(compare([rule("a"), rule("a")], [rule("a")])).toEqual([
      "rule a in LB_DSR, LB_DSR_IPv4_OUT is only on win-1",
    ]);
  });

  it("what a rule asks and does", () => {
    const left = rule("a", {
      type: "lbnat",
      conditions: [{ label: "Destination ports", value: "53" }],
      data: DIPS,
    });
    const right = rule("a", {
      type: "lbnat",
      priority: 200,
      conditions: [
        { label: "Destination ports", value: "53" },
        { label: "Protocols", value: "17" },
      ],
      data: DIPS.slice(0, 2),
    });
    expect(compare([left], [right])).toEqual([
      "rule a in LB_DSR, LB_DSR_IPv4_OUT: Priority is 100 on win-1 and 200 on win-2",
      "rule a in LB_DSR, LB_DSR_IPv4_OUT: Protocols is nothing on win-1 and 17 on win-2",
      "rule a in LB_DSR, LB_DSR_IPv4_OUT: Rule data is { 10.244.1.25 : 53 } on win-1 and nothing on win-2",
    ]);
  });

  it("layers and groups", () => {
    const left = { layers: layers([], { priority: 8 }) };
    const right = { layers: [...layers([]), { id: "X", name: "X", flags: 0, priority: 1, groups: [] }] };
    const names = { left: "win-1", right: "win-2" };
    expect(compareListings(left, right).map((each) => describeDifference(each, names))).toEqual([
      "layer LB_DSR: Priority is 8 on win-1 and 7 on win-2",
      "layer X is only on win-2",
    ]);
  });
});

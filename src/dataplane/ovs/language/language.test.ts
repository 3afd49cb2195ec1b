import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseActions } from "./actions.ts";
import { parseMatch } from "./match.ts";
import { LanguageError } from "./tokens.ts";

function problemOf(run: () => unknown): string {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof LanguageError) return thrown.message;
    throw thrown;
  }
  return "none";
}

function bigintsAsTexts(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

describe("matches", () => {
  // What a match has to say, from ovn-sb(5), "Expressions", and the tests of OVN for its parser.
  it.each([
    ["eth.type == 0x800 && tcp.dst >", "a constant expected, found the end (at character 31)"],
    [
      "eth.type == 1 && vlan.present || ip4",
      "&& and || need parentheses when used together (at character 31)",
    ],
    ["ip.ttl == 256", "the constant does not fit into 8 bits (at character 11)"],
    ["ip4.src == 1.2.3.4/33", "a prefix length is at most 32 (at character 12)"],
    ["ip4.src > {1, 2}", "sets are compared by == or != only (at character 12)"],
    ["eth.type > 5", "only == and != go with masks and kinds (at character 12)"],
    ["inport == 5", "inport takes a port in quotes or a group (at character 11)"],
    ["ip.proto[0] == 1", "ip.proto has no bits to choose from (at character 1)"],
    ["reg0[32]", "a bit is at most 31 (at character 6)"],
    ["tcp.dst", "tcp.dst needs a comparison: it is more than one bit (at character 1)"],
    ["bogus == 1", "bogus is not the name of a field (at character 1)"],
    ["ip4 &", '"&" is not part of the language (at character 5)'],
    ["ip4)", 'the end expected, found ")" (at character 4)'],
    ["5 < tcp.dst > 3", 'a second bound of the same direction expected, found ">" (at character 13)'],
    [`${"(".repeat(70)}ip4`, "parentheses nest at most 64 deep (at character 65)"],
  ])("%j: %s", (source, problem) => {
    expect(problemOf(() => parseMatch(source))).toBe(problem);
  });

  // lib/logical-fields.c and include/ovn/logical-fields.h of OVN 23.03.1.
  it.each([
    ["ct_mark.blocked", "ct_mark[0]"],
    ["ct_mark.natted", "ct_mark[1]"],
    ["ct_mark.skip_snat", "ct_mark[2]"],
    ["ct_mark.force_snat", "ct_mark[3]"],
    ["ct_mark.ecmp_reply_port == 5", "ct_mark[16..31] == 5"],
    ["ct_label.natted", "ct_label[1]"],
    ["ct_label.ecmp_reply_port == 5", "ct_label[80..95] == 5"],
    ["flags.loopback", "flags[0]"],
    ["flags.force_snat_for_dnat", "flags[2]"],
    ["flags.force_snat_for_lb", "flags[3]"],
    ["flags.skip_snat_for_lb", "flags[9]"],
  ])("%s is %s", (name, bits) => {
    const [named, numbered] = [name, bits].map((text) => JSON.stringify(parseMatch(text), bigintsAsTexts));
    expect(named).toBe(numbered);
  });

  it("bits that a mask leaves out do not count, as northd writes the network of an address", () => {
    expect(parseMatch("reg0 == 100.88.0.3/16")).toEqual(parseMatch("reg0 == 100.88.0.0/16"));
  });

  it("a set means any of its values, and its negation none of them", () => {
    const field = { base: "ip.ttl", low: 0, width: 8 };
    const ip = parseMatch("ip");
    const one = (relation: string, value: bigint): unknown => ({
      kind: "and",
      of: [ip, { kind: "compare", field, relation, value, mask: 255n }],
    });
    expect(parseMatch("ip.ttl == {1, 2}")).toEqual({ kind: "or", of: [one("==", 1n), one("==", 2n)] });
    expect(parseMatch("!(ip.ttl == {1, 2})")).toEqual({ kind: "and", of: [one("!=", 1n), one("!=", 2n)] });
    expect(parseMatch("ip.ttl != {1, 2}")).toEqual(parseMatch("!(ip.ttl == {1, 2})"));
  });

  it("what holds of a register holds of the wider one that it is part of", () => {
    expect(parseMatch("reg0[7]")).toMatchObject({ field: { base: "xxreg0", low: 103, width: 1 } });
    expect(parseMatch("reg9[2] == 1")).toMatchObject({ field: { base: "xreg4", low: 2, width: 1 } });
    expect(parseMatch("xreg1[0..7] == 5")).toMatchObject({ field: { base: "xxreg0", low: 0, width: 8 } });
  });

  it("no text makes the readers fail in another way than with a place", () => {
    const words = fc.constantFrom(
      ...'ip4 ip4.src tcp.dst inport == != < && || ! ( ) { } , "p" $as @pg 10.0.0.1/8 ff:ff:ff:ff:ff:ff ::1 0x5 7 [ ] .. ; = next output drop; clone { reg0 <-> -- ct_lb_mark(backends= : is_chassis_resident'.split(
        " ",
      ),
    );
    const texts = fc.oneof(
      fc.string(),
      fc.array(words).map((parts) => parts.join(" ")),
    );
    fc.assert(
      fc.property(texts, (text) => {
        for (const parse of [parseMatch, parseActions]) problemOf(() => parse(text));
      }),
      { numRuns: 500, seed: 24 },
    );
  });
});

describe("actions", () => {
  it.each([
    ["next", "; expected, found the end (at character 5)"],
    ["bogus;", "bogus is not an action (at character 1)"],
    ["drop; next;", "drop stands alone (at character 7)"],
    ["eth.type = 5;", "eth.type cannot be written (at character 1)"],
    ["ip.ttl = 256;", "the constant does not fit into 8 bits (at character 10)"],
    ["reg0 = eth.src;", "eth.src has another width (at character 8)"],
    ["ip4.src--;", "only ip.ttl is counted down (at character 1)"],
    ["next(table=900);", "a table is at most 254 (at character 12)"],
    ["clone { ".repeat(30), "actions nest at most 16 deep (at character 137)"],
  ])("%j: %s", (source, problem) => {
    expect(problemOf(() => parseActions(source))).toBe(problem);
  });

  // Forms that ovn-northd writes for the topology of ovn-kubernetes (ovn-sb(5), "actions").
  it.each([
    'ct_lb_mark(backends=10.244.0.3:53,10.244.1.3:53; hash_fields="ip_src,ip_dst"; force_snat);',
    "ct_lb(backends=[fd00::1]:80,[fd00::2]:80);",
    "ct_commit { ct_mark.blocked = 0; ct_label.label = reg3; }; next;",
    "reg0[3] = put_dhcp_opts(offerip = 10.0.0.4, lease_time = 3600, router = 10.0.0.1, dns_server = {8.8.8.8, 8.8.4.4}); next;",
    "reg9[1] = check_pkt_larger(1414); next;",
    'log(name="NP:a", verdict=drop, severity=info, meter="acl-logging"); drop;'.replace(" drop;", ""),
    "reject { eth.dst <-> eth.src; ip4.dst <-> ip4.src; outport <-> inport; next(pipeline=egress,table=5); };",
    "ct_snat_in_czone(10.0.0.1); ct_dnat; ct_clear; output;",
    "icmp4 {icmp4.type = 3; icmp4.frag_mtu = 1400; next(pipeline=ingress, table=0); };",
    "reg0[14] = 1; xreg0[0..47] = 0a:58:0a:80:00:01; /* a remark */ next(9);",
  ])("reads %s", (source) => {
    expect(problemOf(() => parseActions(source))).toBe("none");
  });
});

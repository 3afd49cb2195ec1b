import { describe, expect, it } from "vitest";
import { formatPrefix } from "#core/net/ip.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import { endpointRecord, networkRecord } from "#test/support/hns/endpoint-record.ts";
import { PolicyIndexes } from "../service/network/policy-index.ts";
import { aclSources, compileAcls } from "./acl.ts";

/** Compiles ACLs of an endpoint; each is its settings with Allow and In unless they say otherwise. */
function compile(...settings: object[]): readonly Group[] {
  const policies = settings.map((each) => ({
    Type: "ACL",
    Settings: { Action: "Allow", Direction: "In", ...each },
  }));
  return compileAcls(aclSources(new PolicyIndexes().frameOf(networkRecord()), endpointRecord({ policies })));
}

function group(groups: readonly Group[], name: string): Group {
  return groups.find((each) => each.name === name)!;
}

/** `priority action protocols source→destination sourcePorts→destinationPorts`, `*` for any. */
function show(rule: Rule): string {
  const { protocols, source, destination, sourcePorts, destinationPorts } = rule.condition;
  const prefixes = (list: typeof source): string => list?.map(formatPrefix).join(",") ?? "*";
  const ports = (list: typeof sourcePorts): string =>
    list?.map((range) => `${range.first}-${range.last}`).join(",") ?? "*";
  return `${rule.priority} ${rule.action.type} ${protocols?.join(",") ?? "*"} ${prefixes(source)}→${prefixes(destination)} ${ports(sourcePorts)}→${ports(destinationPorts)}`;
}

const DEFAULT = "65500 allow * *→* *→*";

describe("ACL → ACL_ENDPOINT_LAYER", () => {
  it("there is a group per direction and family, printed with priority 1", () => {
    expect(compile().map((each) => [each.name, each.direction, each.family, each.priority])).toEqual([
      ["ACL_ENDPOINT_GROUP_IPV4_OUT", "out", 4, 1],
      ["ACL_ENDPOINT_GROUP_IPV4_IN", "in", 4, 1],
      ["ACL_ENDPOINT_GROUP_IPV6_OUT", "out", 6, 1],
      ["ACL_ENDPOINT_GROUP_IPV6_IN", "in", 6, 1],
    ]);
  });

  it("DT-156 HCN-086 without policies everything passes, by the built-in pair at 65500", () => {
    for (const each of compile()) expect(each.rules.map(show)).toEqual([DEFAULT]);
    expect(compile()[0]?.rules[0]?.provenance).toEqual({ object: "default", id: "", name: "HNS" });
    expect(compile()[0]?.rules[0]).not.toHaveProperty("inferred");
  });

  it("the first ACL takes the allow rule of its direction away, for both families, and leaves the other one", () => {
    const groups = compile({
      Direction: "Out",
      Action: "Block",
      RemoteAddresses: "10.0.0.25/32",
      Priority: 200,
    });
    expect(groups.map(({ name, rules }) => [name, rules.map(show)])).toEqual([
      ["ACL_ENDPOINT_GROUP_IPV4_OUT", ["200 block * *→10.0.0.25/32 *→*"]],
      ["ACL_ENDPOINT_GROUP_IPV4_IN", [DEFAULT]],
      ["ACL_ENDPOINT_GROUP_IPV6_OUT", []],
      ["ACL_ENDPOINT_GROUP_IPV6_IN", [DEFAULT]],
    ]);
  });

  it.each<[string, object, string]>([
    [
      "local is the endpoint on the way in",
      { LocalPorts: "80", RemoteAddresses: "10.0.0.0/8" },
      "0 allow * 10.0.0.0/8→* *→80-80",
    ],
    [
      "DT-150 host bits of an address do not matter",
      { RemoteAddresses: "10.1.2.3/8" },
      "0 allow * 10.0.0.0/8→* *→*",
    ],
    ["a bare address is one address", { RemoteAddresses: "10.0.0.11" }, "0 allow * 10.0.0.11/32→* *→*"],
    [
      "DT-148 lists and ranges of ports",
      { Protocols: "6", LocalPorts: "80,443,1000-2000" },
      "0 allow 6 *→* *→80-80,443-443,1000-2000",
    ],
    ["several protocols", { Protocols: "6,17" }, "0 allow 6,17 *→* *→*"],
    ["DT-147 protocol 256 is any", { Protocols: "256", Priority: 100 }, "100 allow * *→* *→*"],
    ["no protocol is any", { Protocols: "", Priority: 100 }, "100 allow * *→* *→*"],
    ["remote ports are source ports on the way in", { RemotePorts: "53" }, "0 allow * *→* 53-53→*"],
    ["block", { Action: "Block", Priority: 3000 }, "3000 block * *→* *→*"],
  ])("%s", (_name, settings, rule) => {
    expect(group(compile(settings), "ACL_ENDPOINT_GROUP_IPV4_IN").rules.map(show)).toEqual([rule]);
  });

  it("local is the endpoint on the way out, too", () => {
    const settings = {
      Direction: "Out",
      LocalAddresses: "10.244.1.10",
      RemoteAddresses: "8.8.8.8",
      RemotePorts: "53",
    };
    expect(group(compile(settings), "ACL_ENDPOINT_GROUP_IPV4_OUT").rules.map(show)).toEqual([
      "0 allow * 10.244.1.10/32→8.8.8.8/32 *→53-53",
    ]);
  });

  it("the lowest number comes first; DT-146 at equal priority Block before Allow; DT-143 Block at 65500 stands last", () => {
    const groups = compile(
      { Priority: 1000, RemoteAddresses: "10.0.0.1" },
      { Priority: 200, RemoteAddresses: "10.0.0.2" },
      { Priority: 1000, RemoteAddresses: "10.0.0.3", Action: "Block" },
      { Priority: 65500, Action: "Block" },
    );
    expect(group(groups, "ACL_ENDPOINT_GROUP_IPV4_IN").rules.map(show)).toEqual([
      "200 allow * 10.0.0.2/32→* *→*",
      "1000 block * 10.0.0.3/32→* *→*",
      "1000 allow * 10.0.0.1/32→* *→*",
      "65500 block * *→* *→*",
    ]);
  });

  it("a rule above 65500 never takes effect (hcn.md §3.5)", () => {
    const rules = group(compile({ Priority: 65501, Action: "Block" }), "ACL_ENDPOINT_GROUP_IPV4_IN").rules;
    expect(rules.map(show)).toEqual([DEFAULT]);
  });

  it("an address of one family makes no rule for the other; none makes one for both", () => {
    const groups = compile({ RemoteAddresses: "10.0.0.1,fd00::/64" }, { RemoteAddresses: "10.0.0.2" }, {});
    expect(group(groups, "ACL_ENDPOINT_GROUP_IPV4_IN").rules).toHaveLength(3);
    expect(group(groups, "ACL_ENDPOINT_GROUP_IPV6_IN").rules.map(show)).toEqual([
      "0 allow * fd00::/64→* *→*",
      "0 allow * *→* *→*",
    ]);
  });

  it("DT-149 Host rules and Pass are not put into VFP, and change nothing there", () => {
    const groups = compile({ RuleType: "Host" }, { Action: "Pass" });
    for (const each of groups) expect(each.rules.map(show)).toEqual([DEFAULT]);
  });

  it("an ACL of a set that there is not makes no rule, and takes the allow rule away all the same", () => {
    expect(group(compile({ RemoteAddresses: "ns-prod" }), "ACL_ENDPOINT_GROUP_IPV4_IN").rules).toEqual([]);
  });

  it("rules end the layer, keep flows, and say which policy of which object they come from", () => {
    const groups = compile({ RuleType: "Host" }, { Id: "web", Action: "Block" });
    expect(group(groups, "ACL_ENDPOINT_GROUP_IPV4_IN").rules[0]).toMatchObject({
      name: "web",
      action: { type: "block", code: "acl-rule-blocked" },
      isTerminating: true,
      isStateful: true,
      provenance: {
        object: "HostComputeEndpoint",
        id: "ep",
        name: "ep_cbr0",
        policy: { type: "ACL", index: 1 },
      },
    });
  });

  it("NetworkACL holds for every endpoint of the network and says so", () => {
    const network = networkRecord([
      { Type: "NetworkACL", Settings: { Action: "Block", Direction: "Out", Priority: 300 } },
    ]);
    const rules = group(
      compileAcls(aclSources(new PolicyIndexes().frameOf(network), endpointRecord())),
      "ACL_ENDPOINT_GROUP_IPV4_OUT",
    ).rules;
    expect(rules[0]).toMatchObject({
      priority: 300,
      provenance: { object: "HostComputeNetwork", name: "cbr0", policy: { type: "NetworkACL", index: 0 } },
    });
  });
});

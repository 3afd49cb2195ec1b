/** Tiers of ACLs (hcn.md §3.3; dataplane.md §4.1), asked as a port asks them. */
import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import { FlowKey } from "#dataplane/vfp/flow-key.ts";
import { parseIp } from "#core/net/ip.ts";
import { buildTcpFrame } from "#core/wire/build-frame.ts";
import { Headers } from "#core/wire/headers.ts";
import { endpointRecord, networkRecord } from "#test/support/hns/endpoint-record.ts";
import { PolicyIndexes } from "../service/network/policy-index.ts";
import { NO_SETS, compileTierAcls, aclSources, compileAcls } from "./acl.ts";

const LINK = { sourceMac: 0x0015_5d00_0001, destinationMac: 0x0015_5d00_0002 } as never;

function tier(Order: number, Direction: string, ...rules: readonly object[]): PolicyDocument {
  const TierAclRules = rules as PolicyDocument["Settings"] & object[];
  return { Type: "TierAcl", Settings: { Name: `t${Order}`, Direction, Order, TierAclRules } };
}

function acl(settings: object): PolicyDocument {
  return { Type: "ACL", Settings: { Action: "Allow", Direction: "In", ...settings } };
}

function compile(...policies: readonly PolicyDocument[]): readonly Group[] {
  const endpoint = endpointRecord({ policies });
  const groups = [
    ...compileTierAcls(endpoint, NO_SETS),
    ...compileAcls(aclSources(new PolicyIndexes().frameOf(networkRecord()), endpoint)),
  ];
  return [...groups].sort((a, b) => a.priority - b.priority);
}

/** The names of the rules that a TCP packet from 10.0.0.<from> to port 80 of the endpoint meets, to the deciding one. */
function met(groups: readonly Group[], from: number): readonly string[] {
  const packet = buildTcpFrame({
    link: LINK,
    ip: {
      source: parseIp(`10.0.0.${from}`)!,
      destination: parseIp("10.244.1.10")!,
      ttl: 64,
      identification: 1,
      isDontFragment: true,
    },
    tcp: {
      sourcePort: 40_000,
      destinationPort: 80,
      sequence: 1,
      acknowledgment: 0,
      flags: 2,
      window: 1,
    },
  });
  const headers = new Headers();
  headers.parse(packet);
  const key = new FlowKey();
  key.read(packet, headers, "in");
  const names: string[] = [];
  for (const group of groups) {
    if (group.direction !== "in" || group.family !== 4) continue;
    const rule = group.find(key);
    if (rule === undefined) continue;
    names.push(`${rule.name} ${rule.action.type}`);
    if (rule.isTerminating) break;
  }
  return names;
}

describe("TierAcl → ACL_ENDPOINT_LAYER", () => {
  const groups = compile(
    acl({ Id: "plain", Action: "Block", RemoteAddresses: "10.0.0.3", Priority: 100 }),
    tier(
      200,
      "In",
      { Id: "second-block", TierAclRuleAction: "Block", RemoteAddresses: "10.0.0.1", Priority: 1 },
      { Id: "second-allow", TierAclRuleAction: "Allow", RemoteAddresses: "10.0.0.4", Priority: 1 },
    ),
    tier(
      100,
      "In",
      { Id: "first-pass", TierAclRuleAction: "Pass", RemoteAddresses: "10.0.0.1", Priority: 200 },
      { Id: "first-block", TierAclRuleAction: "Block", RemoteAddresses: "10.0.0.2", Priority: 300 },
      {
        Id: "first-late",
        TierAclRuleAction: "Block",
        RemoteAddresses: "10.0.0.0/24",
        LocalPorts: "81",
        Priority: 1,
      },
    ),
  );

  it.each<[string, number, readonly string[]]>([
    ["Pass continues with the next tier", 1, ["first-pass allow", "second-block block"]],
    ["Block ends the matter", 2, ["first-block block"]],
    ["no tier has a rule: the plain ACLs decide", 3, ["plain block"]],
    ["Allow ends it, too", 4, ["second-allow allow"]],
    ["nothing has a rule: the ACLs of the direction allow nothing else", 5, []],
  ])("%s", (_case, from, expected) => {
    expect(met(groups, from)).toEqual(expected);
  });

  it("tiers are asked by their Order, before the plain ACLs, each in its own direction", () => {
    expect(
      groups.filter((group) => group.family === 4).map((group) => [group.name, group.direction]),
    ).toEqual([
      ["TIER_ACL_t100_IPV4_IN", "in"],
      ["TIER_ACL_t200_IPV4_IN", "in"],
      ["ACL_ENDPOINT_GROUP_IPV4_OUT", "out"],
      ["ACL_ENDPOINT_GROUP_IPV4_IN", "in"],
    ]);
  });

  it("a rule names its policy, and says that its place is inferred", () => {
    expect(groups[0]?.rules[0]).toMatchObject({
      provenance: { policy: { type: "TierAcl", index: 2 } },
      inferred: "dataplane.md §4.1",
    });
  });

  it("an endpoint without tiers has no group of theirs", () => {
    expect(compileTierAcls(endpointRecord({ policies: [] }), NO_SETS)).toEqual([]);
  });
});

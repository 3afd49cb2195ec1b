/** ACLs that name address sets (hcn.md §3.1, §3.5; dataplane.md §4.1). */
import { describe, expect, it } from "vitest";
import { formatPrefix } from "#core/net/ip.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import { endpointRecord, networkRecord } from "#test/support/hns/endpoint-record.ts";
import { PolicyIndexes } from "../service/network/policy-index.ts";
import { resolveAddressSets, aclSources, compileAcls } from "./acl.ts";

function set(Id: string, Values: string, PolicyType = "IPSET"): PolicyDocument {
  return { Type: "SetPolicy", Settings: { Id, PolicyType, Values } };
}

const SETS = [
  set("web", "10.42.6.20,10.42.7.0/24,fd00::1"),
  set("prod", "10.42.6.0/24,10.42.7.9"),
  set("empty", ""),
  set("all", "web,empty,all", "NESTEDIPSET"),
];

/** `source→destination` of the IPv4 rules that an ACL comes to. */
function compile(settings: object): readonly string[] {
  const network = networkRecord(SETS);
  const endpoint = endpointRecord({
    policies: [{ Type: "ACL", Settings: { Action: "Block", Priority: 200, ...settings } }],
  });
  const groups = compileAcls(
    aclSources(new PolicyIndexes().frameOf(network), endpoint),
    resolveAddressSets(network.policies),
  );
  const rules = groups.flatMap((group) => (group.family === 4 ? group.rules : []));
  const side = (prefixes: Rule["condition"]["source"]): string =>
    prefixes?.map(formatPrefix).join(",") ?? "*";
  return rules
    .filter((rule) => rule.action.type === "block")
    .map(({ condition }) => `${side(condition.source)}→${side(condition.destination)}`);
}

const WEB = "10.42.6.20/32,10.42.7.0/24";

describe("address sets in ACLs (DT-151: source sets are Local, destination sets are Remote, both ways)", () => {
  it.each<[string, object, readonly string[]]>([
    ["out, Remote is the destination", { Direction: "Out", RemoteAddresses: "web" }, [`*→${WEB}`]],
    ["out, Local is the source", { Direction: "Out", LocalAddresses: "web" }, [`${WEB}→*`]],
    ["in, Local is the source too", { Direction: "In", LocalAddresses: "web" }, [`${WEB}→*`]],
    ["in, Remote is the destination too", { Direction: "In", RemoteAddresses: "web" }, [`*→${WEB}`]],
    ["a set of sets has all of its members", { Direction: "Out", RemoteAddresses: "all" }, [`*→${WEB}`]],
    [
      "several sets are those addresses that are in all of them",
      { Direction: "Out", RemoteAddresses: "web,prod" },
      ["*→10.42.6.20/32,10.42.7.9/32"],
    ],
    [
      "addresses beside a set come to it",
      { Direction: "Out", RemoteAddresses: "10.0.0.1,web" },
      [`*→10.0.0.1/32,${WEB}`],
    ],
    ["an empty set is about nobody", { Direction: "Out", RemoteAddresses: "empty" }, []],
    ["a set that is not there is about nobody", { Direction: "Out", RemoteAddresses: "gone" }, []],
    [
      "without sets, Remote is the source on the way in",
      { Direction: "In", RemoteAddresses: "10.0.0.1" },
      ["10.0.0.1/32→*"],
    ],
  ])("%s", (_case, settings, expected) => {
    expect(compile(settings)).toEqual(expected);
  });
});

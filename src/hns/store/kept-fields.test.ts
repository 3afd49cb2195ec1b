import { describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import { keptOf, withKept } from "./kept-fields.ts";

/** What results show of a document that was imported, when HNS shows `shown` of it. */
function roundTrip(original: JsonObject, shown: JsonObject): JsonObject {
  return withKept(shown, keptOf(original, shown));
}

describe("fields that HNS does not know", () => {
  it.each<[what: string, original: JsonObject, shown: JsonObject, result: JsonObject]>([
    ["beside its own", { Name: "a", Colour: 1 }, { Name: "a", State: 1 }, { Name: "a", State: 1, Colour: 1 }],
    [
      "in the place of HNS's own value",
      { Name: "a", State: 4 },
      { Name: "a", State: 1 },
      { Name: "a", State: 4 },
    ],
    ["not as another type", { State: "", Name: 4 }, { State: 1, Name: "a" }, { State: 1, Name: "a" }],
    [
      "without the entries that only HNS has, in their order",
      { Extensions: [{ Id: "2", Name: "Aufzeichnung" }, { Id: "1" }] },
      { Extensions: [{ Id: "1" }, { Id: "2", Name: "Capture" }, { Id: "3" }] },
      { Extensions: [{ Id: "2", Name: "Aufzeichnung" }, { Id: "1" }] },
    ],
    [
      "inside an object",
      { Health: { Data: 1, Old: { a: 1 } } },
      { Health: { Data: 2 } },
      { Health: { Data: 1, Old: { a: 1 } } },
    ],
    [
      "in an entry with an id, in any letter case",
      {
        Subnets: [
          { ID: "AB", State: 0 },
          { ID: "cd", State: 1 },
        ],
      },
      { Subnets: [{ ID: "cd" }, { ID: "ab" }] },
      {
        Subnets: [
          { ID: "AB", State: 0 },
          { ID: "cd", State: 1 },
        ],
      },
    ],
    [
      "in the only entry",
      { Ipams: [{ Type: "Static", Pool: 7, Subnets: [{ ID: "1", X: 1 }] }] },
      { Ipams: [{ Type: "Static", Subnets: [{ ID: "1" }] }] },
      { Ipams: [{ Type: "Static", Pool: 7, Subnets: [{ ID: "1", X: 1 }] }] },
    ],
    [
      "in policies of one type, by their places, where HNS shows each otherwise",
      {
        Policies: [
          { Type: "OutBoundNAT", ExceptionList: ["10.0.0.0/8"], Old: 1 },
          { Type: "L2Driver" },
          { Type: "OutBoundNAT", ExceptionList: ["172.16.0.0/12"], Old: 2 },
        ],
      },
      {
        Policies: [
          { Type: "OutBoundNAT", ExceptionList: ["10.0.0.0/9"] },
          { Type: "L2Driver" },
          { Type: "OutBoundNAT", ExceptionList: ["172.16.0.0/13"] },
        ],
      },
      {
        Policies: [
          { Type: "OutBoundNAT", ExceptionList: ["10.0.0.0/8"], Old: 1 },
          { Type: "L2Driver" },
          { Type: "OutBoundNAT", ExceptionList: ["172.16.0.0/12"], Old: 2 },
        ],
      },
    ],
    [
      "in policies that are otherwise alike",
      {
        Policies: [
          { Type: "ACL", Priority: 2, Scope: 0 },
          { Type: "ACL", Priority: 1, Scope: 9 },
        ],
      },
      { Policies: [{ Type: "ACL", Priority: 1 }, { Type: "ACL", Priority: 2 }, { Type: "L2Driver" }] },
      {
        Policies: [
          { Type: "ACL", Priority: 2, Scope: 0 },
          { Type: "ACL", Priority: 1, Scope: 9 },
        ],
      },
    ],
    [
      "in policies that HNS spells otherwise, by their order",
      {
        Policies: [
          { Type: "nat", Protocol: 6, Why: "a" },
          { Type: "nat", Protocol: 17, Why: "b" },
        ],
      },
      {
        Policies: [
          { Type: "NAT", Protocol: "TCP" },
          { Type: "NAT", Protocol: "UDP" },
        ],
      },
      {
        Policies: [
          { Type: "nat", Protocol: 6, Why: "a" },
          { Type: "nat", Protocol: 17, Why: "b" },
        ],
      },
    ],
    [
      "a policy of an unknown type, whole",
      { Policies: [{ Type: "Wormhole", To: "Mars" }, { Type: "L2Driver" }] },
      { Policies: [{ Type: "L2Driver" }] },
      { Policies: [{ Type: "Wormhole", To: "Mars" }, { Type: "L2Driver" }] },
    ],
    [
      "ids in the other letter case, once",
      { Ids: ["ab", "cd"] },
      { Ids: ["AB", "CD"] },
      { Ids: ["ab", "cd"] },
    ],
    ["a list that HNS has nothing of", { Extra: [1, { a: 2 }] }, {}, { Extra: [1, { a: 2 }] }],
  ])("%s", (_what, original, shown, result) => {
    expect(roundTrip(original, shown)).toEqual(result);
  });

  it("are gone with the entry that they belonged to", () => {
    const original = { Subnets: [{ ID: "1", X: 1 }], Policies: [{ Type: "ACL", Scope: 0 }, { Type: "QOS" }] };
    const kept = keptOf(original, { Subnets: [{ ID: "1" }], Policies: [{ Type: "ACL" }, { Type: "QOS" }] });
    expect(withKept({ Subnets: [{ ID: "2" }], Policies: [{ Type: "QOS" }] }, kept)).toEqual({
      Subnets: [{ ID: "2" }],
      Policies: [{ Type: "QOS" }],
    });
    expect(withKept({}, kept)).toEqual({});
  });

  it("are none when nothing is lost", () => {
    expect(keptOf({ a: [{ b: 1 }] }, { a: [{ b: 1 }], d: 1 })).toBeUndefined();
  });

  it("give way to a value of another type", () => {
    const kept = keptOf({ Policies: [{ Type: "acl" }] }, { Policies: [{ Type: "ACL" }] });
    for (const now of ["none", 7, { Type: "ACL" }])
      expect(withKept({ Policies: now }, kept)).toEqual({ Policies: now });
  });

  it("give way to what changed since", () => {
    const original = { State: 3, Policies: [{ Type: "acl", Scope: 0 }], Name: "pod" };
    const kept = keptOf(original, { State: 1, Policies: [{ Type: "ACL" }, { Type: "PA" }], Name: "" });
    const now = { State: 5, Policies: [{ Type: "ACL" }, { Type: "PA" }, { Type: "QOS" }], Name: "" };
    expect(withKept(now, kept)).toEqual({
      State: 5,
      Policies: [{ Type: "acl", Scope: 0 }, { Type: "QOS" }],
      Name: "pod",
    });
  });
});

it("what was kept of a list of thousands is found without looking at each pair once it changes", () => {
  const entries = Array.from({ length: 3_000 }, (_, index) => ({
    Type: "ACL",
    Unknown: index,
    Settings: { LocalPorts: `${index}` },
  }));
  const own = entries.map(({ Type, Settings }) => ({ Type, Settings }));
  const before = process.cpuUsage();
  const kept = keptOf({ Policies: entries }, { Policies: own });
  const after = withKept({ Policies: own.slice(1) }, kept);
  const { user, system } = process.cpuUsage(before);
  expect(after).toEqual({ Policies: entries.slice(1) });
  // Each pair takes five seconds.
  expect((user + system) / 1e6).toBeLessThan(0.8);
});

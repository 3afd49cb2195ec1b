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
    ["HNS's own value stands", { Name: "a", State: 4 }, { Name: "a", State: 1 }, { Name: "a", State: 1 }],
    [
      "inside an object",
      { Health: { Data: 1, Old: { a: 1 } } },
      { Health: { Data: 2 } },
      { Health: { Data: 2, Old: { a: 1 } } },
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
          { ID: "cd", State: 1 },
          { ID: "ab", State: 0 },
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
          { Type: "ACL", Priority: 1, Scope: 9 },
          { Type: "ACL", Priority: 2, Scope: 0 },
          { Type: "L2Driver" },
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
          { Type: "NAT", Protocol: "TCP", Why: "a" },
          { Type: "NAT", Protocol: "UDP", Why: "b" },
        ],
      },
    ],
    [
      "a policy of an unknown type, whole",
      { Policies: [{ Type: "Wormhole", To: "Mars" }, { Type: "L2Driver" }] },
      { Policies: [{ Type: "L2Driver" }] },
      { Policies: [{ Type: "L2Driver" }, { Type: "Wormhole", To: "Mars" }] },
    ],
    [
      "ids in the other letter case, once",
      { Ids: ["ab", "cd"] },
      { Ids: ["AB", "CD"] },
      { Ids: ["AB", "CD"] },
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
    expect(keptOf({ a: [{ b: 1 }] }, { a: [{ b: 1 }, { c: 2 }], d: 1 })).toBeUndefined();
  });
});

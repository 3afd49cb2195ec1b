import { describe, expect, it } from "vitest";
import { BackEndReferences } from "../object-tables.ts";

describe("which load balancers name an endpoint", () => {
  it("is known in the order in which they came, however many they are", () => {
    const references = new BackEndReferences();
    const ids = Array.from({ length: 200 }, (_, index) => `lb-${index}`);
    for (const id of ids) references.add({ id, endpointIds: ["e", "e", id] });
    expect(references.to("e")).toEqual(ids);
    expect(references.to("lb-7")).toEqual(["lb-7"]);
    for (const id of ids.filter((_, index) => index % 2 === 0))
      references.remove({ id, endpointIds: ["e", "e", id] });
    expect(references.to("e")).toEqual(ids.filter((_, index) => index % 2 === 1));
    for (const id of ids) references.remove({ id, endpointIds: ["e"] });
    expect(references.to("e")).toEqual([]);
  });

  it("a change touches what it names anew and no more", () => {
    const references = new BackEndReferences();
    references.add({ id: "a", endpointIds: ["x", "y"] });
    references.add({ id: "b", endpointIds: ["y"] });
    references.replace({ id: "a", endpointIds: ["x", "y"] }, { id: "a", endpointIds: ["y", "z"] });
    expect(["x", "y", "z"].map((id) => references.to(id))).toEqual([[], ["a", "b"], ["a"]]);
  });
});

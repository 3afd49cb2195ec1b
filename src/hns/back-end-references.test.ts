import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BackEndReferences } from "./back-end-references.ts";

const ENDPOINTS = ["e0", "e1", "e2"] as const;

describe("references to back ends", () => {
  it("are those of a list of all load balancers, however many name an endpoint", () => {
    const step = fc.record({
      isAddition: fc.boolean(),
      id: fc.nat({ max: 60 }),
      endpointIds: fc.subarray([...ENDPOINTS], { minLength: 1 }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 80, maxLength: 200, size: "max" }), (steps) => {
        const references = new BackEndReferences();
        const model = new Map<string, readonly string[]>();
        for (const { isAddition, id, endpointIds } of steps) {
          const name = `lb${id}`;
          const known = model.get(name);
          if (isAddition && known === undefined) {
            references.add({ id: name, endpointIds });
            model.set(name, endpointIds);
          } else if (!isAddition && known !== undefined) {
            references.remove({ id: name, endpointIds: known });
            model.delete(name);
          }
        }
        for (const endpointId of ENDPOINTS) {
          const wanted = [...model].filter(([, ids]) => ids.includes(endpointId)).map(([name]) => name);
          expect(references.to(endpointId)).toEqual(wanted);
        }
      }),
      { numRuns: 50 },
    );
  });
});

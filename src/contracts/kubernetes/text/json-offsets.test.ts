import fc from "fast-check";
import { expect, it } from "vitest";
import { type FieldPath, below } from "./field-path.ts";
import { offsetsInJson } from "./json-offsets.ts";
import { offsetsInAnyYaml } from "./yaml-value.ts";

/** The ways to all fields of a value, and two that lead nowhere at each. */
function pathsIn(value: unknown, path?: FieldPath): (FieldPath | undefined)[] {
  const nowhere = [path, below(path, "absent"), below(path, 99)];
  if (typeof value !== "object" || value === null) return nowhere;
  const parts = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [...nowhere, ...parts.flatMap(([step, part]) => pathsIn(part, below(path, step)))];
}

const name = fc.stringMatching(/^[ -~]{0,6}$/u);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    name,
    fc.integer(),
    fc.constantFrom(true, null),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(name, tie("any"), { maxKeys: 3 }),
  ),
})).any;

it("places are those that the YAML library finds", () => {
  fc.assert(
    fc.property(
      value,
      fc.constantFrom(undefined, 1, 4, "\t"),
      fc.constantFrom("", "  ", "\n"),
      (given, by, lead) => {
        const text = `${lead}${JSON.stringify([given], undefined, by)}`;
        const paths = pathsIn([given]);
        expect({ text, offsets: offsetsInJson(text, paths) }).toEqual({
          text,
          offsets: offsetsInAnyYaml(text, paths),
        });
      },
    ),
    { numRuns: 200 },
  );
});

it.each(["{a: 1}", '{"a": 1', '["a",]', "# {}\n{}"])("%s is left to it", (text) => {
  expect(offsetsInJson(text, [undefined])).toBeUndefined();
});

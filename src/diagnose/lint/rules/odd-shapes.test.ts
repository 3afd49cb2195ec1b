/** No value of a wrong type breaks a rule: every field of every JSON example is replaced by what does not belong there. */
import { expect, it } from "vitest";
import { plainExample } from "#test/support/lint/example-input.ts";
import { type LintPath, valueAt } from "../input/fields.ts";
import { isFields } from "#core/base/json.ts";
import { readJsonText } from "../input/json-text.ts";
import { lint } from "../lint.ts";
import { SourceText } from "#core/base/source-text.ts";
import { LINT_EXAMPLES } from "#test/support/lint/all-examples.ts";

const ODD: readonly unknown[] = [null, 7, true, "", "x", [], [7], [[]], {}, { a: null }, "10.0.0.0/99"];

function* pathsIn(value: unknown, path: LintPath = []): Generator<LintPath> {
  yield path;
  if (Array.isArray(value))
    for (const [index, item] of (value as unknown[]).entries()) yield* pathsIn(item, [...path, index]);
  else if (isFields(value))
    for (const [key, item] of Object.entries(value)) yield* pathsIn(item, [...path, key]);
}

/** A copy of `value` with something else at the end of `path`. */
function replaced(value: unknown, path: LintPath, odd: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return odd;
  const inner = replaced(valueAt(value, step), rest, odd);
  if (Array.isArray(value)) return (value as unknown[]).map((item, index) => (index === step ? inner : item));
  return { ...(isFields(value) ? value : {}), [step]: inner };
}

const VALUES = Object.values(LINT_EXAMPLES).flatMap(({ bad }) =>
  plainExample(bad).sources.flatMap(({ file, text }) => {
    const isJson = /\.(?:json|conf|conflist)$/.test(file) && text.trimStart().startsWith("{");
    return isJson ? [{ file, value: readJsonText(text).value }] : [];
  }),
);

it("rules take values of any type", () => {
  let checked = 0;
  for (const [number, { file, value }] of VALUES.entries())
    for (const [index, path] of [...pathsIn(value)].entries()) {
      // One odd value at each place; over all examples every field meets every one of them.
      const odd = ODD[(number + index) % ODD.length];
      const text = JSON.stringify(replaced(value, path, odd));
      const { findings } = lint({ sources: [new SourceText(file, text)], options: { isWindows: true } });
      expect(findings.every(({ line, column }) => line === 1 && column >= 1)).toBe(true);
      checked++;
    }
  expect(checked).toBeGreaterThan(1_000);
});

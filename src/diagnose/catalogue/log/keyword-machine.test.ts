import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildKeywordMachine } from "./keyword-machine.ts";
import { patternOf } from "../errors/holes.ts";
import { squeeze } from "./squeeze.ts";

/** Keywords that end at each letter. */
function run(keywords: readonly string[], text: string): readonly string[] {
  const { machine } = { machine: buildKeywordMachine(keywords) };
  const found: string[] = [];
  let state = 0;
  for (let at = 0; at < text.length; at++) {
    state = machine.next[(state << machine.rowBits) + (machine.symbols[text.charCodeAt(at)] ?? 0)] ?? 0;
    for (const keyword of machine.found[state - machine.firstEnd] ?? [])
      found.push(`${at}:${keywords[keyword] ?? ""}`);
  }
  return found.toSorted();
}

function naive(keywords: readonly string[], text: string): readonly string[] {
  return Array.from({ length: text.length }, (_, at) =>
    keywords
      .filter(
        (keyword) =>
          text[at] !== " " &&
          text
            .slice(0, at + 1)
            .replaceAll(" ", "")
            .endsWith(keyword),
      )
      .map((keyword) => `${at}:${keyword}`),
  )
    .flat()
    .toSorted();
}

describe("buildKeywordMachine", () => {
  it("finds what a plain search finds, overlaps and all", () => {
    const words = fc
      .array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 5 })
      .map((letters) => letters.join(""));
    fc.assert(
      fc.property(
        fc.uniqueArray(words, { minLength: 1, maxLength: 8 }),
        fc.array(fc.constantFrom("a", "b", "c", "x", " "), { maxLength: 40 }),
        (keywords, letters) => {
          expect(run(keywords, letters.join(""))).toEqual(naive(keywords, letters.join("")));
        },
      ),
    );
  });

  it("refuses more states than its table can number", () => {
    expect(() => buildKeywordMachine(["a".repeat(70_000)])).toThrow(RangeError);
  });
});

describe("squeeze", () => {
  it.each([
    ['The specified\r\n  port "x" exists.', "thespecifiedportxexists."],
    ["C:\\run\\flannel", "c:runflannel"],
    ["größer", "grer"],
    ["", ""],
  ])("makes of %j %j", (text, squeezed) => {
    expect(squeeze(text)).toBe(squeezed);
  });

  it("keeps the parts between blanks apart", () => {
    expect(patternOf("Network name {name} not found").pieces).toEqual(["networkname", "notfound"]);
    expect(patternOf("{name}").pieces).toEqual([]);
  });
});

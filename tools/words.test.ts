import { describe, expect, it } from "vitest";
import { joinParagraphs, listWords, readWords } from "../data/read-texts.node.ts";
import { holesOf, textsByName } from "#core/base/words.ts";
import { HCN_ERRORS } from "#contracts/hcn/error-codes.ts";
import { MALFORMED_REASONS } from "#core/wire/malformed.ts";
import { isTest, readFiles } from "./source-files.ts";
import { formatWordModule, formatWordTypes, openerOf } from "./word-modules.ts";

const AREAS = listWords();
const CODE = readFiles("src/**/*.ts").filter(({ path }) => !isTest(path));

/** Areas whose texts go by codes: a text for each, and no other. */
const CODES_OF: Readonly<Record<string, readonly string[]>> = {
  hresults: Object.keys(HCN_ERRORS),
  malformed: MALFORMED_REASONS,
};

/** What is asked of texts in the files that ask for an area. */
function usedNames(area: string): ReadonlySet<string> {
  const codes = CODES_OF[area];
  if (codes !== undefined) return new Set(codes);
  const asks = new RegExp(`import \\{[^}]*\\b${openerOf(area)}\\b[^}]*\\} from "#data/words\\.js"`, "u");
  const files = CODE.filter(({ text }) => asks.test(text));
  return new Set(files.flatMap(({ text }) => [...text.matchAll(/\.(\w+)/gu)].map(([, name = ""]) => name)));
}

describe("the texts of data/words", () => {
  it.each(AREAS)("%s has none that nobody asks for", (area) => {
    const used = usedNames(area);
    expect(Object.keys(readWords(area)).filter((name) => !used.has(name))).toEqual([]);
  });

  it.each(AREAS)("%s has names that code can write", (area) => {
    const form = area in CODES_OF ? /^[A-Za-z][\w-]*$/u : /^[a-z][A-Za-z0-9]*$/u;
    expect(Object.keys(readWords(area)).filter((name) => !form.test(name))).toEqual([]);
  });

  it.each(Object.entries(CODES_OF))("%s has a text for each code", (area, codes) => {
    const texts = readWords(area);
    expect(codes.filter((code) => (texts[code] ?? "") === "")).toEqual([]);
  });

  it("stand once each, but for those that Windows has twice", () => {
    const all = AREAS.filter((area) => area !== "hresults").flatMap((area) =>
      Object.entries(readWords(area)).map(([name, text]) => ({
        place: `${area} ${name}`,
        said: text.replace(/\{\w+\}/gu, "{}"),
      })),
    );
    const places = Map.groupBy(all, ({ said }) => said);
    expect([...places.values()].filter((same) => same.length > 1)).toEqual([]);
  });

  it.each(AREAS)("%s has holes with names of their own, not numbers", (area) => {
    const holes = Object.values(readWords(area)).flatMap((text) => holesOf(text));
    expect(holes.filter((hole) => /\d$/u.test(hole))).toEqual([]);
  });

  it("are known to the compiler with their holes", () => {
    const types = formatWordTypes();
    expect(formatWordModule()).toContain('export const commandLine = () => openWords("command-line");');
    expect(types).toMatch(/^ {2}readonly "arp-truncated": string;$/mu);
    expect(types).toMatch(/^ {2}readonly lintSubject: string;$/mu);
    expect(types).toMatch(
      /^ {2}readonly adapterDriverConflict: Template<"driver" \| "name" \| "otherDriver">;$/mu,
    );
  });
});

describe("a text", () => {
  const texts = textsByName(() => ({
    plain: "as it stands",
    holes: "{name} of {count}, and {name} again",
    braces: String.raw`\{name} stands for itself, {Name} and {plugin: x} do so, too`,
    both: String.raw`\{name} is {name}`,
  }));

  it.each([
    ["plain", "as it stands"],
    ["braces", "{name} stands for itself, {Name} and {plugin: x} do so, too"],
  ])("without holes, %s, is one", (name, text) => {
    expect(texts[name]).toBe(text);
  });

  it.each([
    ["holes", { name: "a", count: 2 }, "a of 2, and a again"],
    ["holes", { name: "{count}", count: 2 }, "{count} of 2, and {count} again"],
    ["both", { name: "$&" }, "{name} is $&"],
  ])("with holes, %s, is filled", (name, values, text) => {
    const template = texts[name];
    expect(typeof template === "function" ? template(values) : template).toBe(text);
  });

  it.each([
    ["as it stands", []],
    ["{name} of {count}, and {name} again", ["name", "count"]],
    [String.raw`\{name} is {name2}, {Name} and {plugin: x} are not`, ["name2"]],
  ])("%s has its holes", (text, holes) => {
    expect(holesOf(text)).toEqual(holes);
  });

  it("that is not there is a fault", () => {
    expect(() => texts["planted"]).toThrow(new RangeError("there is no text planted"));
  });

  it("is read with the first that is asked for, and once", () => {
    let count = 0;
    const counted = textsByName(() => {
      count += 1;
      return { a: "a", b: "b" };
    });
    expect(count).toBe(0);
    expect([counted["a"], counted["b"], count]).toEqual(["a", "b", 1]);
  });

  it("of several lines is a paragraph", () => {
    expect(joinParagraphs(["", "one", "two", "", "three", ""])).toBe("one two\n\nthree");
  });
});

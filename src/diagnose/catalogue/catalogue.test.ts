import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { listSubjects } from "#data/texts.js";
import { getEntry, listEntries, listSections } from "./catalogue.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { blocksOf } from "./prose.ts";
import { entrySchema } from "./entry.ts";

const ENTRIES = KNOWLEDGE_CODES.map((code) => getEntry(code));

describe("the catalogue", () => {
  it("has one entry for every code, and no other", () => {
    const files = listSubjects("catalogue").flatMap(({ names }) => names);
    expect(files.toSorted()).toEqual([...KNOWLEDGE_CODES].toSorted());
    expect(new Set(KNOWLEDGE_CODES).size).toBe(KNOWLEDGE_CODES.length);
  });

  it("shows every entry in exactly one section", () => {
    const shown = listSections().flatMap((section) => section.entries.map((entry) => entry.code));
    expect(shown.toSorted()).toEqual([...KNOWLEDGE_CODES].toSorted());
  });

  it("cannot be changed", () => {
    expect(ENTRIES).toEqual(listEntries());
    expect(ENTRIES.every((entry) => Object.isFrozen(entry))).toBe(true);
  });
});

describe.each(ENTRIES)("$code", (entry) => {
  it("is a kebab-case code of at most 52 letters", () => {
    expect(entry.code).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)+$/);
    expect(entry.code.length).toBeLessThanOrEqual(52);
    expect(getEntry(entry.code).code).toBe(entry.code);
  });

  it("has a title of one line without a full stop", () => {
    expect(entry.title).toMatch(/^[^\n]{10,98}[^.\n]$/);
  });

  it("says why, how to see it and what to do, in full sentences", () => {
    const texts = [entry.cause, entry.onNode, entry.remedy];
    const blocks = texts.flatMap((text) => blocksOf(text));
    const paragraphs = blocks.flatMap((block) => (block.kind === "paragraph" ? [block.text] : []));
    const commands = blocks.flatMap((block) => (block.kind === "verbatim" ? block.lines : []));
    expect(texts.filter((text) => text.length < 40)).toEqual([]);
    expect(texts.flatMap((text) => text.split("\n")).filter((line) => line !== line.trimEnd())).toEqual([]);
    expect(paragraphs.filter((text) => !/[.:]$/.test(text) || text.includes("  "))).toEqual([]);
    expect(commands.filter((line) => line.length > 96)).toEqual([]);
  });

  it("shows a command or says that there is nothing to see", () => {
    const hasCommand = blocksOf(entry.onNode).some((block) => block.kind === "verbatim");
    const saysNothing = /Nothing to see on a node|no Windows program prints them/.test(entry.onNode);
    expect(hasCommand || saysNothing).toBe(true);
  });

  it("names its sources and profiles", () => {
    expect(entry.sources.length).toBeGreaterThan(0);
    expect(entry.sources.filter((source) => source.text === "")).toEqual([]);
    const urls = entry.sources.flatMap((source) => source.url ?? []);
    expect(urls.filter((url) => !/^https:\/\/[a-z0-9.-]+\/\S*$/.test(url))).toEqual([]);
    expect(entry.profiles.filter((profile) => profile !== "").length).toBeGreaterThan(0);
  });
});

describe("the schema of an entry", () => {
  it("fits every entry", () => {
    const validate = new Ajv({ strict: true }).compile(entrySchema());
    for (const entry of ENTRIES) {
      validate(JSON.parse(JSON.stringify(entry)));
      expect(validate.errors).toBeNull();
    }
  });
});

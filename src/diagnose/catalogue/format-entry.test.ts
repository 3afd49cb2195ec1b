import { describe, expect, it } from "vitest";
import { getEntry } from "./catalogue.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import type { KnowledgeEntry } from "./entry.ts";
import { formatEntry } from "./format-entry.ts";
import { wrap } from "#core/base/text-layout.ts";
import { joinParagraphs } from "../../../data/read-texts.node.ts";
import { blocksOf } from "./prose.ts";

const ENTRY: KnowledgeEntry = {
  code: "no-route",
  title: "A title that is a little longer than the screen is wide",
  cause: joinParagraphs([
    "The first paragraph is broken where",
    "the width says so.",
    "",
    "The second one \\*follows\\*.",
  ]),
  onNode: joinParagraphs([
    "Ask the node:",
    "",
    "    route print -4",
    "      indented C:\\temp",
    "",
    "Look at it.",
  ]),
  remedy: "Add the route.",
  sources: [
    { text: "dataplane.md §2.4" },
    { text: "A page", url: "https://example.com/a/long/address/of/a/page" },
  ],
  profiles: ["ws2019", "ws2022"],
};

describe("prose", () => {
  it("joins lines of a paragraph and keeps commands as they are", () => {
    expect(blocksOf(ENTRY.cause)).toEqual([
      { kind: "paragraph", text: "The first paragraph is broken where the width says so." },
      { kind: "paragraph", text: "The second one *follows*." },
    ]);
    expect(blocksOf(ENTRY.onNode)).toEqual([
      { kind: "paragraph", text: "Ask the node:" },
      { kind: "verbatim", lines: ["route print -4", "  indented C:\\temp"] },
      { kind: "paragraph", text: "Look at it." },
    ]);
  });

  it("breaks lines at the width and never inside a word", () => {
    expect(wrap("aa bb cc", 5)).toEqual(["aa bb", "cc"]);
    expect(wrap("aaaaaaaaaa b", 5)).toEqual(["aaaaaaaaaa", "b"]);
  });
});

describe("formatEntry", () => {
  it("prints an entry for a narrow terminal", () => {
    expect(formatEntry(ENTRY, 44)).toBe(`no-route
A title that is a little longer than the
screen is wide

Why
  The first paragraph is broken where the
  width says so.

  The second one *follows*.

How to see it on a Windows node
  Ask the node:

    route print -4
      indented C:\\temp

  Look at it.

What to do
  Add the route.

Holds for
  ws2019, ws2022

Sources
  - docs/sources/dataplane.md §2.4
  - A page
    https://example.com/a/long/address/of/a/page
`);
  });

  it.each(KNOWLEDGE_CODES.map((code) => [code]))("keeps %s within 100 columns", (code) => {
    const lines = formatEntry(getEntry(code), 100).split("\n");
    expect(lines.filter((line) => line.length > 100 && !line.includes("https://"))).toEqual([]);
    expect(lines.filter((line) => line !== line.trimEnd())).toEqual([]);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitJson } from "./json-pieces.ts";
import { splitAnyLongText, splitLongText } from "./long-text.ts";
import type { Piece } from "./piece.ts";
import { piecesOfPlainList } from "./plain-list.ts";
import { PlainYamlReader } from "./plain-yaml.ts";
import { splitYaml } from "./yaml-pieces.ts";

/** The bytes of a text in chunks of `size`. */
function chunksOf(bytes: Uint8Array, size: number): readonly Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

/** Of what is longer than `held` only the beginning counts: no reader takes it. */
function shown(pieces: Iterable<Piece>, held: number): readonly Piece[] {
  return Array.from(pieces, ({ format, text, line, column, isFrame, gap, item }) => ({
    format,
    line,
    column,
    text: text.slice(0, held),
    ...(isFrame === undefined ? {} : { isFrame }),
    ...(gap === undefined || text.length >= held ? {} : { gap }),
    ...(item === undefined ? {} : { item }),
  }));
}

/** What a text is read as in one part, and in chunks of each size. */
function holdAlike(text: string, held: number, sizes: readonly number[]): void {
  const whole = /^\s*[[{]/.test(text) ? splitJson(text) : splitYaml(text);
  const expected = { text, pieces: shown(whole, held) };
  const bytes = new TextEncoder().encode(text);
  for (const size of sizes) {
    const pieces = shown(splitLongText(chunksOf(bytes, size), held), held);
    expect({ text, pieces }).toEqual(expected);
  }
}

/** As kubectl prints it: what the list is stands behind its items. */
const YAML = `apiVersion: v1
items:
# the first
- apiVersion: v1
  kind: Pod
  metadata: {name: "é"}

- kind: Pod
  text: |
    a
    - b
# between
- kind: Node
  l:
  - a
kind: List
metadata:
  resourceVersion: ""
---
kind: Service
---
--- # here
items:
  - a: 1
  - b: 2
kind: PodList
`;

const ITEM_LINES = fc.constantFrom(
  "- a: 1",
  "  b: |",
  "    - c",
  "  - d",
  "    # e",
  "# f",
  "",
  "  g: h\r",
  "---",
  "--- x",
  "----",
  "--- # i",
  "items:",
  "items: # j",
  "kind: List",
  "- k",
  "-",
  "$ kubectl get pods -o yaml",
);

const HEADS = ["apiVersion: v1\n", "apiVersion: v1\nkind: List\n"];

/** Lines that items of a list as kubectl prints it have. */
const LIST_LINES = fc.constantFrom(
  "- a: 1",
  "- b: é",
  "  b: |",
  "    - c",
  "  d: |-",
  "",
  "    # e",
  "  - f",
  "  g: h\r",
);

const JSON_TEXT = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.record({
    kind: fc.constantFrom("List", "PodList"),
    items: fc.array(fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('"]', "\\", '\\"', "{")), {
      maxLength: 5,
    }),
    metadata: fc.jsonValue({ maxDepth: 1 }),
  }),
);

describe("a text that is read in chunks", () => {
  it.each([40, 90, 1_000])("gives the pieces of the whole text, with %i characters held", (held) => {
    holdAlike(YAML, held, [1, 7, 64, 10_000]);
    holdAlike(
      `\n${JSON.stringify({ items: [{ a: '"]' }, 1, "x", []], kind: "List" }, undefined, 2)}\n{"b":1}`,
      held,
      [1, 5, 999],
    );
  });

  it("says of each item in which line it stands, and what the list is before them", () => {
    const pieces = [...splitLongText(chunksOf(new TextEncoder().encode(YAML), 16), 40)];
    const places = pieces.map(({ line, item, isFrame }) => [
      line,
      isFrame === true ? "frame" : (item ?? "whole"),
    ]);
    expect(places).toEqual([
      [1, "frame"],
      [4, 0],
      [8, 1],
      [13, 2],
      [20, "whole"],
      [23, "frame"],
      [24, 0],
      [25, 1],
    ]);
    expect(pieces[0]?.text).toBe('apiVersion: v1\nitems: []\nkind: List\nmetadata:\n  resourceVersion: ""\n');
  });

  // https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_character_encoding: `>` of
  // Windows PowerShell writes UTF-16LE with a byte order mark.
  it("reads what PowerShell wrote, and skips what was typed", () => {
    const text = `PS C:\\> kubectl get nodes -o yaml\n${YAML}`;
    const bytes = new Uint8Array(Buffer.from(`\uFEFF${text}`, "utf16le"));
    const pieces = [...splitLongText(chunksOf(bytes, 15), 90)];
    expect(pieces.filter(({ item }) => item !== undefined).map(({ line }) => line)).toEqual([
      5, 9, 14, 25, 26,
    ]);
    expect(pieces[1]?.text).toContain('name: "é"');
  });

  it("gives the beginning of an item that is too long, and goes on behind it", () => {
    const item = (name: string, lines: number): string => `- name: ${name}\n${"  x: 1\n".repeat(lines)}`;
    const text = `items:\n${item("a", 2)}${item("b", 90)}${item("c", 1)}kind: List\n`;
    const pieces = [...splitLongText(chunksOf(new TextEncoder().encode(text), 64), 100)];
    expect(pieces.map(({ text: part }) => part.slice(0, 9))).toEqual([
      "items: []",
      "- name: a",
      "- name: b",
      "- name: c",
    ]);
    expect(pieces[3]).toMatchObject({ line: 96, text: item("c", 1) });
  });

  it("leaves a list that is cut off to the parser", () => {
    const text = `{"kind":"List","items":[${'{"a":"b"},'.repeat(30)}`;
    const pieces = [...splitLongText(chunksOf(new TextEncoder().encode(text), 10), 50)];
    expect(pieces).toHaveLength(1);
    expect(pieces[0]).toMatchObject({ format: "json", line: 1, column: 0 });
    expect(pieces[0]?.isFrame).toBeUndefined();
  });

  it("gives the pieces of lines put together at random", () => {
    fc.assert(
      fc.property(
        fc.array(ITEM_LINES, { maxLength: 14 }),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        (lines, size, hasEnd) => {
          const text = `${lines.join("\n").replaceAll("$ kubectl get pods -o yaml", "kind: List")}${hasEnd ? "\n" : ""}`;
          holdAlike(text, 1_000, [size]);
          holdAlike(`apiVersion: v1\nitems:\n- a: 1\n${text}`, 30, [size]);
        },
      ),
      { numRuns: 150 },
    );
  });

  it("of a list as kubectl prints it gives the same pieces by its bytes alone", () => {
    fc.assert(
      fc.property(
        fc.array(LIST_LINES, { minLength: 1, maxLength: 12 }),
        fc.constantFrom("", ...HEADS),
        fc.constantFrom("", "kind: List\n", 'kind: List\nmetadata:\n  resourceVersion: ""\n', "kind: é"),
        fc.integer({ min: 1, max: 40 }),
        (items, head, tail, size) => {
          const text = `${head}items:\n- a: 1\n${items.join("\n")}\n${tail}`;
          const chunks = chunksOf(new TextEncoder().encode(text), size);
          const plain = piecesOfPlainList(chunks, 60);
          const expected = { text, pieces: shown(splitAnyLongText(chunks, 60), 60) };
          if (plain !== undefined) {
            const pieces = [...plain];
            expect({ text, pieces: shown(pieces, 60) }).toEqual(expected);
            for (const { bytes, text: part } of pieces.slice(1))
              expect(new PlainYamlReader().readBytes(bytes ?? new Uint8Array())).toEqual(
                new PlainYamlReader().read(part),
              );
          }
          fc.pre(plain !== undefined);
        },
      ),
      { numRuns: 150 },
    );
  });

  it.each([
    ["a document more", "a: 1\nitems:\n- a: 1\n---\nb: 2\n"],
    ["a prompt before it", "$ kubectl get pods -o yaml\nitems:\n- a: 1\nkind: List\n"],
    ["a prompt behind it", "items:\n- a: 1\nkind: List\nC:\\> exit\n"],
    ["two lists", "items:\n- a: 1\nb: 1\nitems:\n- c: 1\n"],
    ["a comment between its items", "items:\n- a: 1\n# b\n- c: 1\n"],
    ["an item that is longer than what is held", `items:\n- a: 1\n  b: ${"c".repeat(40)}\nkind: List\n`],
    ["no items", "items:\nkind: List\nmetadata: 1\n"],
    ["UTF-16", "i\u0000t\u0000e\u0000m\u0000s\u0000:\u0000\n\u0000"],
  ])("is no plain list with %s", (_name, text) => {
    expect(piecesOfPlainList([new TextEncoder().encode(text)], 20)).toBeUndefined();
  });

  it("gives the pieces of JSON at random", () => {
    fc.assert(
      fc.property(
        JSON_TEXT,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 50, max: 120 }),
        (value, size, held) => {
          holdAlike(JSON.stringify({ kind: "List", items: [value, value] }, undefined, size % 3), held, [
            size,
          ]);
        },
      ),
      { numRuns: 100 },
    );
  });
});

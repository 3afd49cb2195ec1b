/** Finding the places of a document: in YAML, in JSON, and in a text that stands inside another document. */
import { below } from "#contracts/kubernetes/text/field-path.ts";
import { rangesOf } from "#contracts/kubernetes/text/yaml-value.ts";
import type { LintDocument, Locate, LintPlace, Range } from "./document.ts";
import type { LintPath } from "./fields.ts";
import { type JsonRange, rangeIn } from "./json-text.ts";

function isPath(place: LintPlace): place is Extract<LintPlace, { readonly path: LintPath }> {
  return "path" in place;
}

function offsetRange(place: Exclude<LintPlace, { readonly path: LintPath }>, base: number): Range {
  const start = base + place.offset;
  return { start, end: start + (place.length ?? 1) };
}

/** Places in a piece of YAML that begins at `base` in its file; `root` is the document's place in the piece. */
export function locateInYaml(text: string, base: number, root: LintPath): Locate {
  return (places) => {
    const paths = places.map((place) =>
      isPath(place) ? below(undefined, ...root, ...place.path) : undefined,
    );
    const ranges = paths.length === 0 ? [] : rangesOf(text, paths);
    return places.map((place, index) => {
      if (!isPath(place)) return offsetRange(place, base);
      const { start, end, valueStart, valueEnd } = ranges[index] ?? ZERO;
      return place.part === "value"
        ? { start: base + valueStart, end: base + valueEnd }
        : { start: base + start, end: base + end };
    });
  };
}

const ZERO = { start: 0, end: 0, valueStart: 0, valueEnd: 0 };

/** Places in JSON that has been read with its ranges. `range` is asked for when the first place is. */
export function locateInJson(range: () => JsonRange, base: number, root: LintPath): Locate {
  return (places) =>
    places.map((place) => {
      if (!isPath(place)) return offsetRange(place, base);
      const found = rangeIn(range(), [...root, ...place.path]);
      const isKey = place.part !== "value" && found.key !== undefined;
      return isKey
        ? { start: base + (found.key ?? 0), end: base + found.keyEnd }
        : { start: base + found.start, end: base + found.end };
    });
}

/** How offsets of a text inside a document become offsets of the file. */
type Shift = (offset: number) => number;

/**
 * The text of a block scalar (`|`) stands in the file line by line, indented; any other spelling is found at its
 * beginning only.
 */
function shiftInto(host: LintDocument, path: LintPath, inner: string): Shift {
  const [value] = host.locate([{ path, part: "value" }]);
  const start = value?.start ?? 0;
  const file = host.source.text;
  const isPlain = file.startsWith(inner, start);
  if (isPlain) return (offset) => start + offset;
  const isQuoted = (file[start] === '"' || file[start] === "'") && file.startsWith(inner, start + 1);
  if (isQuoted) return (offset) => start + 1 + offset;
  const head = /^\|[^\n]*\n/.exec(file.slice(start, start + 200));
  if (head === null) return () => start;
  return shiftIntoBlock(file, start + head[0].length, inner);
}

/** The first line that has more than blanks; empty without one. */
function firstFilledLine(text: string): string {
  const filled = text.search(/\S/);
  if (filled < 0) return "";
  const end = text.indexOf("\n", filled);
  return text.slice(text.lastIndexOf("\n", filled) + 1, end < 0 ? undefined : end);
}

function shiftIntoBlock(file: string, begin: number, inner: string): Shift {
  const first = firstFilledLine(file.slice(begin, begin + 100_000));
  const innerFirst = firstFilledLine(inner);
  const indent =
    first.length - first.trimStart().length - (innerFirst.length - innerFirst.trimStart().length);
  return (offset) => {
    const lines = inner.slice(0, offset).split("\n");
    let at = begin;
    for (let line = 1; line < lines.length; line++) {
      const end = file.indexOf("\n", at);
      if (end < 0) return begin;
      at = end + 1;
    }
    return at + Math.max(indent, 0) + (lines.at(-1)?.length ?? 0);
  };
}

/** Places of a document whose text is a field of another one. `locate` knows them in the field's own text. */
export function locateInHost(host: LintDocument, path: LintPath, inner: string, locate: Locate): Locate {
  return (places) => {
    const shift = shiftInto(host, path, inner);
    return locate(places).map(({ start, end }) => {
      const from = shift(start);
      return { start: from, end: Math.max(from + 1, shift(end)) };
    });
  };
}

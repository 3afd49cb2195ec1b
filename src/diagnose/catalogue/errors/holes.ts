/**
 * Holes in the texts of the table: words that differ from print to print. A hole says what may stand in it, so that a
 * text does not match across the words of another message.
 */
import { stripEnd } from "#core/base/text-edges.ts";
import { squeeze } from "../log/squeeze.ts";

export const HOLE_KINDS = ["name", "guid", "number", "ip", "words"] as const;

export type HoleKind = (typeof HOLE_KINDS)[number];

interface Hole {
  /** What may stand in it, without the quotation marks or brackets around it. */
  readonly raw: RegExp;
  /** The same when blanks are left out. */
  readonly squeezed: RegExp;
  /** An example. */
  readonly example: string;
}

const HOLES: Readonly<Record<HoleKind, Hole>> = {
  name: { raw: /^[^\s:,;]{1,200}$/, squeezed: /^[^:,;]{1,200}$/, example: "cbr0" },
  guid: {
    raw: /^[0-9a-f-]{4,38}$/i,
    squeezed: /^[0-9a-f-]{4,38}$/,
    example: "1f9a5e62-0f0e-4a52-9a2f-6c0d8f3b7a11",
  },
  number: { raw: /^-?\d{1,20}$/, squeezed: /^-?\d{1,20}$/, example: "17" },
  ip: { raw: /^[0-9a-f.:/]{2,49}$/i, squeezed: /^[0-9a-f.:/]{2,49}$/, example: "10.244.1.2" },
  /** Any words: only between parts that no other message has. */
  words: { raw: /^[^]*$/, squeezed: /^[^]*$/, example: "cbr0 of node win-1" },
};

const HOLE = /\{(name|guid|number|ip|words)\}/;

/** A text as it is compared: parts, squeezed, and the holes between them; holes at the ends do not count. */
export interface TextPattern {
  readonly pieces: readonly string[];
  /** `holes[i]` stands before `pieces[i + 1]`. */
  readonly holes: readonly HoleKind[];
  readonly beginsWithHole: boolean;
  readonly endsWithHole: boolean;
}

/** Takes a text of the table apart. */
export function patternOf(text: string): TextPattern {
  const parts = text.split(new RegExp(HOLE, "g"));
  const pieces = parts.filter((_, index) => index % 2 === 0).map(squeeze);
  const kinds = parts.filter((_, index) => index % 2 === 1) as HoleKind[];
  const beginsWithHole = pieces[0] === "";
  const endsWithHole = pieces.at(-1) === "" && pieces.length > 1;
  const first = beginsWithHole ? 1 : 0;
  return {
    pieces: pieces.slice(first, endsWithHole ? -1 : undefined),
    holes: kinds.slice(first, endsWithHole ? -1 : undefined),
    beginsWithHole,
    endsWithHole,
  };
}

/** A text as people read it: `…` for each hole. */
export function shownText(text: string): string {
  return text.replaceAll(new RegExp(HOLE, "g"), "…");
}

/** The shortest stretch of `letters` in which the parts stand in their order. */
function shortestStretch(
  letters: string,
  parts: readonly string[],
): readonly [start: number, end: number] | undefined {
  const [first = "", ...others] = parts;
  let shortest: readonly [number, number] | undefined;
  for (let start = letters.indexOf(first); start >= 0; start = letters.indexOf(first, start + 1)) {
    let end = start + first.length;
    for (const part of others) {
      const at = letters.indexOf(part, end);
      if (at < 0) return shortest;
      end = at + part.length;
    }
    if (shortest === undefined || end - start < shortest[1] - shortest[0]) shortest = [start, end];
  }
  return shortest;
}

/** A text as a line says it, with the line's own words in the holes between its parts; `…` where the line wraps it. */
export function textAsSaid(line: string, text: string): string {
  const parts = text.split(new RegExp(HOLE, "g")).filter((_, index) => index % 2 === 0);
  if (parts.length === 1) return text;
  const inner = parts.map((part) => part.trim().toLowerCase()).filter((part) => part !== "");
  const stretch = shortestStretch(line.toLowerCase(), inner);
  if (stretch === undefined) return shownText(text);
  const [first = "", last = ""] = [parts[0], parts.at(-1)];
  return `${first.trim() === "" ? "… " : ""}${line.slice(...stretch)}${last.trim() === "" ? " …" : ""}`;
}

/** A text with its holes filled by examples. */
export function filledText(text: string): string {
  return text.replaceAll(new RegExp(HOLE, "g"), (_, kind: HoleKind) => HOLES[kind].example);
}

/** Whether squeezed letters fit a hole. */
export function fitsSqueezed(kind: HoleKind, letters: string): boolean {
  return HOLES[kind].squeezed.test(letters.replace(/^[[(]|[\])]$/g, ""));
}

/** Console wraps, escapes and what stands around a value. */
const BEFORE = /^[\s"'`\\[(=]+/;
const BEHIND = /[\s"'`\\\])]/;
const WRAP = /[\r\n]+\s*/g;

/** Whether the text between two parts fits a hole. Quotation marks, brackets and line breaks around it do not count. */
export function fitsRaw(kind: HoleKind, text: string): boolean {
  return HOLES[kind].raw.test(stripEnd(text.replaceAll(WRAP, ""), BEHIND).replace(BEFORE, ""));
}

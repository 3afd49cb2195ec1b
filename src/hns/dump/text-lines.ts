/** The lines of a dump that hold no JSON. */
import type { SourceText } from "#core/base/source-text.ts";
import type { Extent } from "./json-extent.ts";

export interface TextLine {
  /** From 1. */
  readonly line: number;
  /** Without its end. */
  readonly text: string;
}

/** The lines of a piece of a file. A first or last line that JSON shares is cut where the JSON is. */
export function linesOf(source: SourceText, { start, end }: Extent): readonly TextLine[] {
  const first = source.positionOf(start).line;
  return source.text
    .slice(start, end)
    .split("\n")
    .map((text, index) => ({ line: first + index, text: text.replace(/\r$/, "") }));
}

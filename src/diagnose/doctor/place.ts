/** Where something stands: lines of a file, read once for all readers. */
import type { SourceText } from "#core/base/source-text.ts";

/** A line of a file. */
export interface Place {
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** A line with its place. */
export interface Line extends Place {
  readonly text: string;
}

/** The lines of a file, without their ends. */
export function linesOf({ file, text }: SourceText): readonly Line[] {
  return text.split("\n").map((each, index) => ({
    file,
    text: each.endsWith("\r") ? each.slice(0, -1) : each,
    line: index + 1,
  }));
}

/** True for the path of an object, or the address of a list, of an API server: no file has that. */
export function isPathOfServer(file: string): boolean {
  return /^(?:\/apis?\/|https?:\/\/)/u.test(file);
}

/**
 * Texts of the catalogue as values: paragraphs and command lines, free of the indentation that the source has.
 *
 * In a text, paragraphs are separated by an empty line and hold no line breaks. A line that starts with four
 * blanks is shown as it is: a command, or what it prints.
 */

/** Four blanks: marks a line that is shown as it is. */
export const VERBATIM_INDENT = "    ";

/** A part of a text: a paragraph, or lines that are shown as they are (without the four blanks). */
export type Block =
  | { readonly kind: "paragraph"; readonly text: string }
  | { readonly kind: "verbatim"; readonly lines: readonly string[] };

/** Splits a text of the catalogue into its parts. */
export function blocksOf(text: string): readonly Block[] {
  return text.split("\n\n").map((block): Block => {
    if (!block.startsWith(VERBATIM_INDENT)) return { kind: "paragraph", text: block };
    return { kind: "verbatim", lines: block.split("\n").map((line) => line.slice(VERBATIM_INDENT.length)) };
  });
}

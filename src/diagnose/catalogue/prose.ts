/**
 * Texts of the catalogue as values: paragraphs and command lines, free of the indentation that the source has.
 *
 * In a text, paragraphs are separated by an empty line and hold no line breaks. A line that starts with four
 * blanks is shown as it is: a command, or what it prints.
 */

/** Four blanks: marks a line that is shown as it is. */
export const VERBATIM_INDENT = "    ";

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/**
 * Tag for the texts of the catalogue. The indentation of the first line is taken off every line; what is
 * indented by four blanks more is verbatim; all other lines of a paragraph are joined.
 * Backslashes stand for themselves, so Windows paths need no escapes.
 */
export function prose(strings: TemplateStringsArray): string {
  const lines = String.raw(strings).split("\n");
  const first = lines.find((line) => line.trim() !== "") ?? "";
  const indent = indentOf(first);
  const blocks: string[] = [];
  let paragraph: string[] = [];
  let verbatim: string[] = [];
  const flush = (): void => {
    if (paragraph.length > 0) blocks.push(paragraph.join(" "));
    if (verbatim.length > 0) blocks.push(verbatim.join("\n"));
    paragraph = [];
    verbatim = [];
  };
  for (const line of lines) {
    const text = line.trimEnd();
    if (text === "") flush();
    else if (indentOf(text) >= indent + VERBATIM_INDENT.length) verbatim.push(text.slice(indent));
    else paragraph.push(text.trim());
  }
  flush();
  return blocks.join("\n\n");
}

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

/** Counts, and paragraphs as lines of a terminal or a page. */

/** `1 finding`, `2 findings`. */
export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** Names that a message lists; the rest is counted. */
const NAMES_MAX = 3;

/** `a, b, c and 4 more`; `most` of them are named. */
export function listed(names: readonly string[], most: number = NAMES_MAX): string {
  return names.slice(0, most).join(", ") + andMore(names.length - most);
}

/** What ends a list of which some are not shown: ` and 4 more`; nothing where all are. */
export function andMore(hidden: number): string {
  return hidden > 0 ? ` and ${hidden} more` : "";
}

/** Breaks a paragraph into lines of at most `width` characters; a longer word gets a line of its own. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line === "") line = word;
    else if (line.length + 1 + word.length <= width) line += ` ${word}`;
    else {
      lines.push(line);
      line = word;
    }
  }
  lines.push(line);
  return lines;
}

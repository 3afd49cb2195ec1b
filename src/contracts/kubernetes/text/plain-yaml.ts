/**
 * The part of YAML that dumps are written in, read some twenty times as fast as the whole language: block mappings and
 * lists, scalars in one line, ASCII. Whatever it is not sure about, it leaves to the library: `undefined` means nothing
 * but that. A property test holds both to the same values.
 */

/** Beyond this depth the library decides. */
const DEPTH_MAX = 64;

/** Only these characters; a carriage return only before a line feed. */
const NOT_PLAIN = /[^\x20-\x7e\n\r]|\r(?!\n)/;

/** Names that are no numbers, truth values or merges, and need no quotes. */
const KEY = /^([A-Za-z_][\w./-]*|"[^"\\]*"|'[^']*'):(?: +(.*))?$/;

/** Plain texts that YAML 1.1 takes for something else. */
const WORD_WITH_MEANING =
  /^(?:~|null|Null|NULL|[yYnN]|[yY]es|YES|[nN]o|NO|[tT]rue|TRUE|[fF]alse|FALSE|[oO]n|ON|[oO]ff|OFF)$/;
const NUMBER = /^(?:0|[1-9]\d{0,14})$/;
/** What may be a number in some spelling. */
const NUMBER_LIKE = /^[-+]?(?:0[xXbBoO]|[\d._]+(?:[eE][-+]?\d*)?$|\.)/;
const DOTTED = /^\d+(?:\.\d+){2,}$/;

interface Line {
  indent: number;
  content: string;
}

/** Leaves this file's recursion; never leaves the file. */
class NotPlain extends Error {}

function giveUp(): never {
  throw new NotPlain("not plain");
}

function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    let first = start;
    while (first < end && text.charCodeAt(first) === 32) first++;
    let last = end;
    while (last > first && (text.charCodeAt(last - 1) === 32 || text.charCodeAt(last - 1) === 13)) last--;
    if (last > first && text.charCodeAt(first) !== 35)
      lines.push({ indent: first - start, content: text.slice(first, last) });
    start = end + 1;
  }
  return lines;
}

function quoted(text: string): unknown {
  if (text.startsWith("'")) {
    if (!/^'(?:[^']|'')*'$/.test(text)) giveUp();
    return text.slice(1, -1).replaceAll("''", "'");
  }
  if (!/^"(?:[^"\\]|\\["\\/nt])*"$/.test(text)) giveUp();
  return JSON.parse(text);
}

function plain(text: string): unknown {
  if (WORD_WITH_MEANING.test(text)) {
    if (text === "true") return true;
    if (text === "false") return false;
    return text === "null" ? null : giveUp();
  }
  if (NUMBER.test(text)) return Number(text);
  if (NUMBER_LIKE.test(text) && !DOTTED.test(text)) giveUp();
  // A colon before a blank begins a value, a hash behind one a comment.
  if (!/^(?:[\w/$(\\<^]|--?[A-Za-z])/.test(text) || /: |:$| #/.test(text)) giveUp();
  return text;
}

function scalar(text: string): unknown {
  const first = text.charCodeAt(0);
  if (first === 34 || first === 39) return quoted(text);
  if (text === "{}") return {};
  return text === "[]" ? [] : plain(text);
}

class PlainReader {
  private readonly lines: Line[];
  private at = 0;

  constructor(lines: Line[]) {
    this.lines = lines;
  }

  read(): unknown {
    const [first] = this.lines;
    if (first === undefined) return giveUp();
    const value = this.block(first.indent, 0);
    return this.at === this.lines.length ? value : giveUp();
  }

  /** The mapping or list whose lines begin at `indent`. */
  private block(indent: number, depth: number): unknown {
    if (depth > DEPTH_MAX) giveUp();
    const line = this.lines[this.at];
    if (line === undefined) return giveUp();
    return line.content === "-" || line.content.startsWith("- ")
      ? this.list(indent, depth)
      : this.mapping(indent, depth);
  }

  private list(indent: number, depth: number): unknown[] {
    const items: unknown[] = [];
    for (let line = this.lines[this.at]; line?.indent === indent; line = this.lines[this.at]) {
      if (!line.content.startsWith("- ")) break;
      let skip = 2;
      while (line.content.charCodeAt(skip) === 32) skip++;
      const content = line.content.slice(skip);
      if (content.startsWith("- ") || content === "-") giveUp();
      if (KEY.test(content)) {
        // The hyphen's line is the first line of the mapping.
        line.indent = indent + skip;
        line.content = content;
        items.push(this.mapping(indent + skip, depth + 1));
      } else {
        items.push(scalar(content));
        this.at++;
        if ((this.lines[this.at]?.indent ?? 0) > indent) giveUp();
      }
    }
    return items;
  }

  private mapping(indent: number, depth: number): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    for (let line = this.lines[this.at]; line?.indent === indent; line = this.lines[this.at]) {
      const match = KEY.exec(line.content);
      if (match === null) {
        // A list at the same indentation ends here; the caller sees to it.
        if (line.content.startsWith("- ") || line.content === "-") break;
        return giveUp();
      }
      const [, written = "", rest] = match;
      const name = /^["']/.test(written) ? written.slice(1, -1) : written;
      if (WORD_WITH_MEANING.test(written) || name === "__proto__" || Object.hasOwn(fields, name)) giveUp();
      this.at++;
      fields[name] =
        rest === undefined || rest === "" ? this.nested(indent, depth) : this.single(rest, indent);
    }
    const next = this.lines[this.at];
    if (next !== undefined && next.indent > indent) giveUp();
    return fields;
  }

  /** A value in the line of its name. What follows deeper would continue it. */
  private single(text: string, indent: number): unknown {
    if ((this.lines[this.at]?.indent ?? 0) > indent) giveUp();
    return scalar(text);
  }

  /** A value below its name: deeper, or a list at the same indentation, or nothing. */
  private nested(indent: number, depth: number): unknown {
    const next = this.lines[this.at];
    if (next === undefined) return null;
    if (next.indent > indent) return this.block(next.indent, depth + 1);
    return next.indent === indent && next.content.startsWith("- ") ? this.list(indent, depth + 1) : null;
  }
}

/** The value of a YAML text that is plain throughout; undefined when the library must read it. */
export function readPlainYaml(text: string): { readonly value: unknown } | undefined {
  if (NOT_PLAIN.test(text)) return undefined;
  try {
    return { value: new PlainReader(linesOf(text)).read() };
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

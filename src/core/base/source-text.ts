/** A file as text: decoded from its bytes, with its lines, and with what its encoding hides from an editor. */

/** A place in a file, as people and SARIF count: lines and columns from 1, columns in UTF-16 units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export type Encoding = "utf-8" | "utf-16le" | "utf-16be";

export class SourceText {
  /** As the user gave it. */
  readonly file: string;
  /** Without a byte order mark. */
  readonly text: string;
  readonly encoding: Encoding;
  /** The file begins with a byte order mark. Programs in Go that read JSON stumble over it. */
  readonly hasByteOrderMark: boolean;
  private starts: number[] | undefined;

  constructor(file: string, text: string, encoding: Encoding = "utf-8", hasByteOrderMark = false) {
    this.file = file;
    this.text = text;
    this.encoding = encoding;
    this.hasByteOrderMark = hasByteOrderMark;
  }

  private lineStarts(): readonly number[] {
    if (this.starts !== undefined) return this.starts;
    const starts = [0];
    for (let at = this.text.indexOf("\n"); at >= 0; at = this.text.indexOf("\n", at + 1)) starts.push(at + 1);
    this.starts = starts;
    return starts;
  }

  /** The offset of a place. */
  offsetAt({ line, column }: Position): number {
    return (this.lineStarts()[line - 1] ?? 0) + column - 1;
  }

  positionOf(offset: number): Position {
    const starts = this.lineStarts();
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  }

  /** A line without its end, from 1. */
  lineText(line: number): string {
    const starts = this.lineStarts();
    const start = starts[line - 1] ?? this.text.length;
    const end = (starts[line] ?? this.text.length + 1) - 1;
    return this.text.slice(start, end).replace(/\r$/, "");
  }
}

/** Bytes that are looked at to tell text from anything else. */
const LOOKED_AT = 8_192;

/** The text of a file; undefined when it is no text. UTF-16 is what PowerShell writes with `>`. */
export function decodeSource(file: string, bytes: Uint8Array): SourceText | undefined {
  const [first, second, third] = bytes;
  if (first === 0xff && second === 0xfe)
    return new SourceText(file, new TextDecoder("utf-16le").decode(bytes), "utf-16le", true);
  if (first === 0xfe && second === 0xff)
    return new SourceText(file, new TextDecoder("utf-16be").decode(bytes), "utf-16be", true);
  const head = bytes.subarray(0, LOOKED_AT);
  const isText = !head.includes(0);
  if (!isText) {
    // Without a mark: every second byte of what people write in ASCII is zero.
    const isLittle = first !== 0 && second === 0 && third !== 0;
    const isBig = first === 0 && second !== 0 && third === 0;
    if (!isLittle && !isBig) return undefined;
    const encoding = isLittle ? "utf-16le" : "utf-16be";
    const text = new TextDecoder(encoding).decode(bytes);
    return text.includes("\u0000") ? undefined : new SourceText(file, text, encoding);
  }
  const text = new TextDecoder("utf-8").decode(bytes);
  return new SourceText(file, text, "utf-8", first === 0xef && second === 0xbb && third === 0xbf);
}

/** A prompt of PowerShell, cmd or a Unix shell, with what was typed behind it. */
const PROMPT =
  /^(?:PS [^>\r\n]*>|[A-Za-z]:\\[^>\r\n]*>|\[[\w.-]+@[^\]\r\n]*\] ?[#$]|[\w.-]+@[\w.-]+:[^\s$#]*[#$]|\$|❯)(?: .*)?\r?$/;

/** A text that was copied off a screen, without what was typed there: blanks, so that every place stays where it is. */
export function withoutPrompts(text: string): string {
  // Line by line, and without a copy of what has no prompt: dumps of clusters are long.
  let shown = "";
  let copied = 0;
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    // No prompt begins with a blank, and nearly all lines of a dump do.
    if (text.charCodeAt(start) !== 32) {
      const line = text.slice(start, end);
      if (PROMPT.test(line)) {
        shown += text.slice(copied, start) + line.replaceAll(/[^\r]/g, " ");
        copied = end;
      }
    }
    start = end + 1;
  }
  return copied === 0 ? text : shown + text.slice(copied);
}

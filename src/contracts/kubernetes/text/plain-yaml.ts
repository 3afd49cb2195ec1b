/**
 * The part of YAML that dumps are written in, read some fifty times as fast as the whole language: block mappings and
 * lists, scalars in one line, literal blocks, ASCII. Whatever it is not sure about, it leaves to the library: `undefined`
 * means nothing but that. Property tests hold both to the same values and places.
 *
 * It reads bytes, and looks each scalar up by its bytes: a dump repeats nearly all of them, so they are judged once and
 * kept once, and what is kept of a dump does not hold on to its text.
 */
import { type FieldPath, stepsOf } from "./field-path.ts";

/** Beyond this depth the library decides. */
const DEPTH_MAX = 64;

/** What may stand in a line; a carriage return is part of its end. */
const NOT_PLAIN = /[^\x20-\x7e]/;

/** Names that are no numbers, truth values or merges, and need no quotes. */
const KEY = /^(?:[A-Za-z_][\w./-]*|"[^"\\]*"|'[^']*')$/;

/** Plain texts that YAML 1.1 takes for something else. */
const WORD_WITH_MEANING =
  /^(?:~|null|Null|NULL|[yYnN]|[yY]es|YES|[nN]o|NO|[tT]rue|TRUE|[fF]alse|FALSE|[oO]n|ON|[oO]ff|OFF)$/;
const NUMBER = /^(?:0|[1-9]\d{0,14})$/;
/** What may be a number in some spelling. */
const NUMBER_LIKE = /^[-+]?(?:0[xXbBoO][\da-fA-F_]*$|[\d._]+(?:[eE][-+]?\d*)?$|\.)/;
const DOTTED = /^\d+(?:\.\d+){2,}$/;

const [SPACE, LINE_FEED, RETURN, HYPHEN, COLON, HASH] = [32, 10, 13, 45, 58, 35] as const;
const [DOUBLE, SINGLE, BAR] = [34, 39, 124] as const;

/** Leaves this file's recursion; never leaves the file. */
class NotPlain extends Error {}

function giveUp(): never {
  throw new NotPlain("not plain");
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

/** The value of a scalar that is neither a mapping nor a list with something in it. */
function scalarOf(text: string): unknown {
  if (NOT_PLAIN.test(text)) giveUp();
  const first = text.charCodeAt(0);
  return first === DOUBLE || first === SINGLE ? quoted(text) : plain(text);
}

function nameOf(written: string): unknown {
  if (NOT_PLAIN.test(written) || !KEY.test(written) || WORD_WITH_MEANING.test(written)) giveUp();
  return /^["']/.test(written) ? written.slice(1, -1) : written;
}

/** Places in a table, powers of two: at first, and at most: more than a dump has scalars that come again. */
const [PLACES_MIN, PLACES_MAX] = [32, 16_384] as const;
const GROWTH = 8;

/** Scalars by their bytes, the latest of each place in the table, which grows with what it is asked for. */
class ScalarTable {
  private written: string[] = [];
  private values: unknown[] = [];
  private length = PLACES_MIN / GROWTH;
  private misses = 0;
  private readonly decoder = new TextDecoder();
  private readonly valueOf: (text: string) => unknown;

  constructor(valueOf: (text: string) => unknown) {
    this.valueOf = valueOf;
    this.grow();
  }

  /** The value of the scalar whose bytes lie from `start` to before `end`. Throws for what is not plain. */
  at(bytes: Uint8Array, start: number, end: number): unknown {
    let hash = end - start;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01_00_01_93);
    const slot = (hash ^ (hash >>> 15)) & (this.length - 1);
    const known = this.written[slot] ?? "";
    if (known.length === end - start && end > start) {
      let at = 0;
      while (at < known.length && known.charCodeAt(at) === bytes[start + at]) at++;
      if (at === known.length) return this.values[slot];
    }
    const text = this.decoder.decode(bytes.subarray(start, end));
    const value = this.valueOf(text);
    this.written[slot] = text;
    this.values[slot] = value;
    this.misses += 1;
    if (this.misses > this.length && this.length < PLACES_MAX) this.grow();
    return value;
  }

  private grow(): void {
    this.length *= GROWTH;
    this.misses = 0;
    this.written = Array.from({ length: this.length }, () => "");
    this.values = Array.from({ length: this.length });
  }
}

/** Where the parts of mappings and lists begin: by name, or in order. */
type Places = Map<unknown, Map<string, number> | number[]>;

/** Reads one text after the other. What it remembers are scalars; they change no result. */
export class PlainYamlReader {
  private readonly names = new ScalarTable(nameOf);
  private readonly scalars = new ScalarTable(scalarOf);
  private readonly encoder = new TextEncoder();
  private readonly decoder = new TextDecoder();
  /** For texts that come as strings. */
  private room = new Uint8Array(0);
  private bytes: Uint8Array = this.room;
  private length = 0;
  private root = 0;
  private places: Places | undefined;
  /** The line that is looked at: its first byte that is no blank, and the one behind its last; `first` < 0 at the end. */
  private first = -1;
  private last = 0;
  private indent = 0;
  /** Where the line behind it begins. */
  private next = 0;

  /** The value of a YAML text that is plain throughout; undefined when the library must read it. */
  read(text: string): { readonly value: unknown } | undefined {
    return this.take(text) ? this.readTaken() : undefined;
  }

  /** The same of a text in UTF-8. */
  readBytes(bytes: Uint8Array): { readonly value: unknown } | undefined {
    this.bytes = bytes;
    this.length = bytes.length;
    this.next = 0;
    return this.readTaken();
  }

  private readTaken(): { readonly value: unknown } | undefined {
    try {
      this.advance();
      if (this.first < 0) return undefined;
      this.root = this.first;
      const value = this.block(this.indent, 0);
      return this.first < 0 ? { value } : undefined;
    } catch (error) {
      if (error instanceof NotPlain) return undefined;
      throw error;
    }
  }

  /** The offsets of fields of a plain text, as `offsetsOf` gives them; undefined when the library must find them. */
  offsets(text: string, paths: readonly (FieldPath | undefined)[]): readonly number[] | undefined {
    const places: Places = new Map();
    this.places = places;
    const read = this.read(text);
    this.places = undefined;
    if (read === undefined) return undefined;
    return paths.map((path) => offsetIn(read.value, path, places, this.root));
  }

  /** False for what is not ASCII. */
  private take(text: string): boolean {
    if (this.room.length < text.length) this.room = new Uint8Array(text.length + 4_096);
    this.bytes = this.room;
    const { read, written } = this.encoder.encodeInto(text, this.bytes);
    this.length = written;
    this.next = 0;
    return read === text.length && written === text.length;
  }

  /** Goes to the next line that has something in it. */
  private advance(): void {
    const { bytes, length } = this;
    let start = this.next;
    while (start < length) {
      let first = start;
      while (first < length && bytes[first] === SPACE) first++;
      let end = bytes.indexOf(LINE_FEED, first);
      if (end < 0 || end > length) end = length;
      let last = end;
      if (last > first && bytes[last - 1] === RETURN && end < length) last--;
      while (last > first && bytes[last - 1] === SPACE) last--;
      if (last > first && bytes[first] !== HASH) {
        this.indent = first - start;
        this.first = first;
        this.last = last;
        this.next = end + 1;
        return;
      }
      for (let at = first; at < last; at++) if (!isPlainByte(bytes[at] ?? 0)) giveUp();
      start = end + 1;
    }
    this.first = -1;
    this.next = length;
  }

  /** How far in the line that is looked at begins; 0 when there is none. */
  private indentation(): number {
    return this.first < 0 ? 0 : this.indent;
  }

  private isHyphenAlone(at: number): boolean {
    return this.bytes[at] === HYPHEN && at + 1 === this.last;
  }

  private isItem(at: number): boolean {
    return this.bytes[at] === HYPHEN && at + 1 < this.last && this.bytes[at + 1] === SPACE;
  }

  /** The colon behind the name that begins at `start`; -1 when there is no name. */
  private colonBehind(start: number): number {
    const { bytes, last } = this;
    const first = bytes[start];
    let at = start;
    if (first === DOUBLE || first === SINGLE) {
      at = bytes.indexOf(first, start + 1) + 1;
      if (at <= 0) return -1;
    } else while (at < last && bytes[at] !== COLON) at++;
    const isColon = at < last && bytes[at] === COLON && (at + 1 === last || bytes[at + 1] === SPACE);
    return isColon ? at : -1;
  }

  /** The mapping or list whose lines begin at `indent`. */
  private block(indent: number, depth: number): unknown {
    if (depth > DEPTH_MAX) giveUp();
    return this.isHyphenAlone(this.first) || this.isItem(this.first)
      ? this.list(indent, depth)
      : this.mapping(indent, depth);
  }

  private list(indent: number, depth: number): unknown[] {
    const items: unknown[] = [];
    const offsets: number[] = [];
    this.places?.set(items, offsets);
    while (this.first >= 0 && this.indent === indent && this.isItem(this.first)) {
      let start = this.first + 2;
      while (this.bytes[start] === SPACE) start++;
      if (this.isHyphenAlone(start) || this.isItem(start)) giveUp();
      offsets.push(start);
      if (this.colonBehind(start) >= 0) {
        // The hyphen's line is the first line of the mapping.
        this.indent = indent + start - this.first;
        this.first = start;
        items.push(this.mapping(this.indent, depth + 1));
      } else items.push(this.scalar(start, indent));
    }
    return items;
  }

  private mapping(indent: number, depth: number): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    const offsets = this.places === undefined ? undefined : new Map<string, number>();
    if (offsets !== undefined) this.places?.set(fields, offsets);
    while (this.first >= 0 && this.indent === indent) {
      const colon = this.colonBehind(this.first);
      if (colon < 0) {
        // A list at the same indentation ends here; the caller sees to it.
        if (this.isHyphenAlone(this.first) || this.isItem(this.first)) break;
        return giveUp();
      }
      const name = String(this.names.at(this.bytes, this.first, colon));
      // A name that every object has is for the library, too.
      if (fields[name] !== undefined) giveUp();
      offsets?.set(name, this.first);
      if (colon + 1 === this.last) {
        this.advance();
        fields[name] = this.nested(indent, depth);
        continue;
      }
      let start = colon + 1;
      while (this.bytes[start] === SPACE) start++;
      fields[name] = this.scalar(start, indent);
    }
    if (this.indentation() > indent) giveUp();
    return fields;
  }

  /** A value in the line of its name or hyphen. What follows deeper would continue it, except in a block of text. */
  private scalar(start: number, indent: number): unknown {
    const { bytes, last } = this;
    const first = bytes[start];
    if (first === BAR) return this.literal(start, indent);
    const isPair = last - start === 2;
    const isEmptyMap = isPair && first === 123 && bytes[start + 1] === 125;
    const isEmptyList = isPair && first === 91 && bytes[start + 1] === 93;
    const value = isEmptyMap ? {} : isEmptyList ? [] : this.scalars.at(bytes, start, last);
    this.advance();
    if (this.indentation() > indent) giveUp();
    return value;
  }

  /** A value below its name: deeper, or a list at the same indentation, or nothing. */
  private nested(indent: number, depth: number): unknown {
    if (this.first < 0) return null;
    if (this.indent > indent) return this.block(this.indent, depth + 1);
    return this.indent === indent && this.isItem(this.first) ? this.list(indent, depth + 1) : null;
  }

  /** A block of text behind `|` or `|-`, whose lines begin deeper than `parent`: each line as it stands. */
  private literal(start: number, parent: number): string {
    const { bytes, last, length } = this;
    const isStripped = last - start === 2 && bytes[start + 1] === HYPHEN;
    if (last - start !== 1 && !isStripped) giveUp();
    const lines: string[] = [];
    let indent = -1;
    let filled = 0;
    let at = this.next;
    while (at < length) {
      let first = at;
      while (first < length && bytes[first] === SPACE) first++;
      const found = bytes.indexOf(LINE_FEED, first);
      // A text that ends inside a block has no last line end to keep: the library decides.
      if (found < 0 || found >= length) giveUp();
      const end = found > first && bytes[found - 1] === RETURN ? found - 1 : found;
      const lead = first - at;
      if (first === end) {
        if (indent < 0 ? lead > parent : lead > indent) giveUp();
        lines.push("");
      } else {
        if (indent < 0 && lead > parent) indent = lead;
        if (lead < indent || indent < 0) {
          // A comment there ends the block in some places, and is an error in others.
          if (bytes[first] === HASH) giveUp();
          break;
        }
        const line = this.decoder.decode(bytes.subarray(at + indent, end));
        if (NOT_PLAIN.test(line)) giveUp();
        lines.push(line);
        filled = lines.length;
      }
      at = found + 1;
    }
    if (filled === 0) giveUp();
    this.next = at;
    this.advance();
    // Less than the block and more than its name: neither of both.
    if (this.indentation() > parent) giveUp();
    return `${lines.slice(0, filled).join("\n")}${isStripped ? "" : "\n"}`;
  }
}

function isPlainByte(byte: number): boolean {
  return byte >= SPACE && byte < 127;
}

/** The offset of a field; of the nearest value around it, when it is not there itself. */
function offsetIn(contents: unknown, path: FieldPath | undefined, places: Places, root: number): number {
  let value = contents;
  let known = places.get(contents);
  let offset = root;
  for (const step of stepsOf(path)) {
    let at: number | undefined;
    if (Array.isArray(known) && typeof step === "number") at = known[step];
    else if (known instanceof Map) at = known.get(String(step));
    if (at === undefined) break;
    offset = at;
    value = (value as Record<string | number, unknown>)[step];
    known = places.get(value);
  }
  return offset;
}

/** The same for one text. */
export function readPlainYaml(text: string): { readonly value: unknown } | undefined {
  return new PlainYamlReader().read(text);
}

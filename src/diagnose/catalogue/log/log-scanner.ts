/**
 * Finds the errors of the table in a log that comes in pieces, in bounded memory and one pass.
 *
 * Of the log, the last 64 KiB are kept, to show the line of a finding, and nothing is examined before 1 KiB behind it
 * has come; so what is found does not depend on how the log is cut into pieces.
 */
import { excerptAt, recordLine } from "./log-lines.ts";
import { type Signatures, type Spelling, buildSignatures } from "./signatures.ts";
import { BYTE_CLASS, BYTE_CLASSES } from "./squeeze.ts";

const KEPT_BYTES = 65_536;
const AHEAD_BYTES = 1_024;
/** Small pieces are collected to this size. */
const BATCH_BYTES = 262_144;
/** Letters between two parts of one text. */
const GAP_MAX = 96;
/** Letters whose places are remembered; longer than any text of the table. A power of two. */
const PLACES = 1_024;
const ESCAPE_BYTES_MAX = 256;
/** Different unknown codes that are told. */
const UNKNOWN_MAX = 64;
const NEWLINE = 0x0a;
const NEVER = -1;

/** Where and how often something was found. */
export interface Sighting {
  /** Records in which it occurs. */
  count: number;
  firstLine: number;
  lastLine: number;
  /** The line of the first one, cut. */
  excerpt: string;
}

interface ErrorSighting extends Sighting {
  lastRecord: number;
  /** True while the last record has shown its text only. */
  isByText: boolean;
}

export interface LogScan {
  /** By index into the table that the signatures were built from. */
  readonly errors: ReadonlyMap<number, Sighting>;
  /** Codes of HNS and HCS that the table does not have. */
  readonly unknown: ReadonlyMap<number, Sighting>;
  /** A last line without a line break counts. */
  readonly lines: number;
  readonly bytes: number;
}

function isWordByte(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const isDigit = byte >= 0x30 && byte <= 0x39;
  const letter = byte | 0x20;
  return isDigit || (letter >= 0x61 && letter <= 0x7a) || byte === 0x5f;
}

/** Takes a log piece by piece: `push` as often as there is more, then `finish` once. */
export class LogScanner {
  private readonly signatures: Signatures;
  private readonly errors = new Map<number, ErrorSighting>();
  private readonly unknown = new Map<number, ErrorSighting>();
  private waiting: Uint8Array[] = [];
  private waitingBytes = 0;
  /** The end of what was examined, and what comes behind it. */
  private buffer: Uint8Array = new Uint8Array(0);
  /** How much of the log lies before `buffer`. */
  private base = 0;
  /** First byte of `buffer` that is not examined. */
  private position = 0;
  private line = 1;
  private state = 0;
  /** Letters compared so far. */
  private letters = 0;
  /** Offsets in the log of the last letters. */
  private readonly places = new Float64Array(PLACES);
  /** For each spelling with several parts: where the last one found ended, and where the first began. */
  private readonly ends: Float64Array[];
  private readonly begins: Float64Array[];

  constructor(signatures: Signatures = buildSignatures()) {
    this.signatures = signatures;
    const perPiece = ({ pieces }: Spelling): Float64Array => new Float64Array(pieces.length).fill(NEVER);
    this.ends = signatures.spellings.map(perPiece);
    this.begins = signatures.spellings.map(perPiece);
  }

  /** Bytes in ASCII or UTF-8, or in any code page that contains ASCII. */
  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.waiting.push(bytes);
    this.waitingBytes += bytes.length;
    if (this.waitingBytes >= BATCH_BYTES) this.examineWaiting(false);
  }

  finish(): LogScan {
    this.examineWaiting(true);
    const bytes = this.base + this.buffer.length;
    const endsWithBreak = bytes === 0 || this.buffer[this.buffer.length - 1] === NEWLINE;
    return {
      errors: this.errors,
      unknown: this.unknown,
      lines: endsWithBreak ? this.line - 1 : this.line,
      bytes,
    };
  }

  private examineWaiting(isLast: boolean): void {
    const from = Math.max(0, this.position - KEPT_BYTES);
    const kept = this.buffer.subarray(from);
    const joined = new Uint8Array(kept.length + this.waitingBytes);
    joined.set(kept);
    let at = kept.length;
    for (const piece of this.waiting) {
      joined.set(piece, at);
      at += piece.length;
    }
    this.buffer = joined;
    this.base += from;
    this.position -= from;
    this.waiting = [];
    this.waitingBytes = 0;
    this.examine(isLast ? joined.length : joined.length - AHEAD_BYTES);
  }

  private examine(end: number): void {
    const { buffer, places, base } = this;
    const { symbols, next, width, isEnd, found } = this.signatures.machine;
    let { state, letters, position } = this;
    while (position < end) {
      const byte = buffer[position] ?? 0;
      const kind = BYTE_CLASSES[byte] ?? 0;
      if (kind === BYTE_CLASS.kept || kind === BYTE_CLASS.capital) {
        state = next[state * width + (symbols[byte] ?? 0)] ?? 0;
        places[letters & (PLACES - 1)] = base + position;
        letters++;
        if (isEnd[state] === 1) {
          this.letters = letters;
          for (const keyword of found[state] ?? []) this.meet(keyword, position);
        }
      } else if (kind === BYTE_CLASS.newline) {
        this.line++;
      } else if (kind === BYTE_CLASS.escape) {
        position = this.endOfEscape(position);
      }
      position++;
    }
    this.state = state;
    this.letters = letters;
    this.position = position;
  }

  /** The last byte of a terminal's control sequence; `from` itself when it is none. */
  private endOfEscape(from: number): number {
    const { buffer } = this;
    const isText = buffer[from + 1] === 0x5d;
    if (buffer[from + 1] !== 0x5b && !isText) return from;
    const last = Math.min(buffer.length, from + ESCAPE_BYTES_MAX);
    for (let at = from + 2; at < last; at++) {
      const byte = buffer[at] ?? 0;
      if (byte === NEWLINE) return from;
      if (isText ? byte === 0x07 : byte >= 0x40 && byte <= 0x7e) return at;
    }
    return from;
  }

  /** A keyword ends at `position`. */
  private meet(keyword: number, position: number): void {
    const { signatures } = this;
    const begin = this.letters - (signatures.lengths[keyword] ?? 0);
    if (signatures.prefixes.has(keyword)) this.meetPrefix(begin, position);
    for (const { spelling, at } of signatures.pieces[keyword] ?? []) {
      const facts = signatures.spellings[spelling];
      const begins = this.begins[spelling];
      const ends = this.ends[spelling];
      if (facts === undefined || begins === undefined || ends === undefined) continue;
      if (at > 0 && !this.follows(ends[at - 1] ?? NEVER, begin, position)) continue;
      begins[at] = at === 0 ? begin : (begins[at - 1] ?? begin);
      ends[at] = this.letters;
      if (at < facts.pieces.length - 1) continue;
      const first = this.placeOf(begins[at] ?? begin);
      if (facts.isNumber && (isWordByte(this.buffer[first - 1]) || isWordByte(this.buffer[position + 1])))
        continue;
      this.seeError(facts, first, position);
    }
  }

  /** Whether a part that begins with the letter `begin` belongs to one that ended before the letter `end`. */
  private follows(end: number, begin: number, position: number): boolean {
    const gap = begin - end;
    if (end === NEVER || gap < 0 || gap > GAP_MAX) return false;
    const floor = this.floorOf(position);
    const [from, to] = [Math.max(floor, this.placeOf(end - 1)), Math.max(floor, this.placeOf(begin))];
    const breaks = this.breaksBetween(from, to);
    if (breaks === 0) return true;
    const line = this.line - this.breaksBetween(to, position);
    return this.recordOf(to, line, floor) === this.recordOf(from, line - breaks, floor);
  }

  /** So much is there before any position, however the log was cut into pieces. */
  private floorOf(position: number): number {
    return Math.max(0, position - KEPT_BYTES + 1);
  }

  private recordOf(offset: number, line: number, floor: number): number {
    return recordLine(this.buffer, offset, line, floor);
  }

  /** Where in `buffer` a letter lies; its begin for one that lies before it. */
  private placeOf(letter: number): number {
    return Math.max(0, (this.places[letter & (PLACES - 1)] ?? 0) - this.base);
  }

  /** `0x803b` was read: the four digits behind it may be a code that the table does not have. */
  private meetPrefix(begin: number, position: number): void {
    const first = this.placeOf(begin);
    const text = String.fromCharCode(...this.buffer.subarray(first, position + 6));
    const digits = /^(0x[0-9a-f]{8})(?![0-9a-z_])/i.exec(text)?.[1];
    if (digits === undefined) return;
    const hresult = Number.parseInt(digits, 16);
    if (this.signatures.hresults.has(hresult)) return;
    if (!this.unknown.has(hresult) && this.unknown.size >= UNKNOWN_MAX) return;
    this.see(this.unknown, hresult, first, position);
  }

  private seeError({ error, isNumber }: Spelling, first: number, position: number): void {
    const { sameText } = this.signatures;
    const owner = sameText.get(error);
    const seen = this.see(this.errors, error, first, position);
    seen.isByText = seen.isByText && !isNumber;
    // Two codes share a text: the number in the same record decides.
    if (owner !== undefined && isNumber) this.forget(owner, seen.lastRecord);
    if (isNumber) return;
    for (const hidden of this.signatures.hides.get(error) ?? []) this.forget(hidden, seen.lastRecord);
    for (const [other, itsOwner] of sameText) {
      if (itsOwner === error && this.errors.get(other)?.lastRecord === seen.lastRecord) {
        this.forget(error, seen.lastRecord);
      }
    }
  }

  /** Takes back what `record` had shown by its text. */
  private forget(error: number, record: number): void {
    const seen = this.errors.get(error);
    if (seen === undefined || seen.lastRecord !== record || !seen.isByText) return;
    seen.count--;
    seen.lastRecord = NEVER;
    if (seen.count === 0) this.errors.delete(error);
  }

  /** Notes that `key` was seen between two places of `buffer`; once per record. */
  private see(
    table: Map<number, ErrorSighting>,
    key: number,
    first: number,
    position: number,
  ): ErrorSighting {
    const floor = this.floorOf(position);
    const from = Math.max(first, floor);
    const line = this.line - this.breaksBetween(from, position);
    const record = this.recordOf(from, line, floor);
    const seen = table.get(key);
    if (seen === undefined) {
      const sighting: ErrorSighting = {
        count: 1,
        firstLine: line,
        lastLine: line,
        excerpt: excerptAt(this.buffer, from, floor),
        lastRecord: record,
        isByText: true,
      };
      table.set(key, sighting);
      return sighting;
    }
    if (seen.lastRecord === record) return seen;
    seen.count++;
    seen.lastLine = line;
    seen.lastRecord = record;
    seen.isByText = true;
    return seen;
  }

  private breaksBetween(first: number, position: number): number {
    let count = 0;
    for (let at = this.buffer.indexOf(NEWLINE, first); at >= 0 && at < position; count++) {
      at = this.buffer.indexOf(NEWLINE, at + 1);
    }
    return count;
  }
}

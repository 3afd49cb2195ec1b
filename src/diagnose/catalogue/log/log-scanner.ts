/**
 * Finds the errors of the table in a log that comes in pieces, in bounded memory and one pass.
 *
 * Of the log, the last 64 KiB are kept, to show the line of a finding, and nothing is examined before 1 KiB behind it
 * has come; so what is found does not depend on how the log is cut into pieces.
 */
import type { CallId } from "../errors/calls.ts";
import { fitsRaw } from "../errors/holes.ts";
import { type ReadCall, type ReadError, type Verdict, judge } from "../errors/judge.ts";
import { CERTAINTIES, type Certainty, type KnownError, type Standing } from "../errors/known-error.ts";
import { decodeUtf8 } from "#core/base/encodings.ts";
import { excerptAt, recordLine } from "./log-lines.ts";
import { type Signatures, type Spelling, buildSignatures } from "./signatures.ts";

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

/** An error of the table, and how the records that show it were judged. */
export interface ErrorSighting extends Sighting {
  readonly error: KnownError;
  /** The best of all records. */
  certainty: Certainty;
  standing: Standing;
  readonly call?: CallId;
}

interface NumberSighting extends Sighting {
  lastRecord: number;
}

/** A place in a record, kept until the record is judged. */
interface ReadPlace {
  /** In the log. */
  readonly offset: number;
  /** Bytes before it are not looked at. */
  readonly floor: number;
  readonly line: number;
  /** Set when the bytes leave the memory before the record ends. */
  excerpt: string | undefined;
}

interface PlacedError extends ReadError {
  readonly place: ReadPlace;
}

/** The record at hand. */
interface OpenRecord {
  line: number;
  errors: PlacedError[];
  calls: ReadCall[];
}

/** What of one record is kept: a log that says the same a thousand times in one record says it once. */
const READ_PER_RECORD_MAX = 128;

export interface LogScan {
  /** In the order in which they were first read. */
  readonly errors: readonly ErrorSighting[];
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

/** Whether `code` is what the combination `row` is about. */
function isCodeOf(code: KnownError, row: KnownError): boolean {
  return code.hresults.some((hresult) => row.codes?.includes(hresult) === true);
}

/** Takes a log piece by piece: `push` as often as there is more, then `finish` once. */
export class LogScanner {
  private readonly signatures: Signatures;
  private readonly errors = new Map<string, ErrorSighting>();
  private readonly unknown = new Map<number, NumberSighting>();
  private record: OpenRecord = { line: NEVER, errors: [], calls: [] };
  /** The line that was asked about last, and the line its record begins on: most lines are asked about several times. */
  private readonly asked = { line: NEVER, record: NEVER };
  private waiting: Uint8Array[] = [];
  private waitingBytes = 0;
  /** The end of what was examined, and what comes behind it. */
  private buffer: Uint8Array = new Uint8Array(0);
  /** `buffer` is the beginning of it. */
  private memory: Uint8Array = new Uint8Array(0);
  /** How much of the log lies before `buffer`. */
  private base = 0;
  /** First byte of `buffer` that is not examined. */
  private position = 0;
  /** The line of the place that was asked about last, and the next break behind it in `buffer`: they are counted when asked for. */
  private line = 1;
  private nextBreak = 0;
  private state = 0;
  /** Letters compared so far. */
  private letters = 0;
  /** Offsets in `buffer` of the last letters; of those that have left it less than 0. */
  private readonly places = new Int32Array(PLACES);
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
    this.judgeRecord();
    const bytes = this.base + this.buffer.length;
    const endsWithBreak = bytes === 0 || this.buffer[this.buffer.length - 1] === NEWLINE;
    return {
      errors: [...this.errors.values()],
      unknown: this.unknown,
      lines: endsWithBreak ? this.line - 1 : this.line,
      bytes,
    };
  }

  private examineWaiting(isLast: boolean): void {
    const from = Math.max(0, this.position - KEPT_BYTES);
    if (from > 0) this.keepExcerpts();
    const kept = this.buffer.length - from;
    const length = kept + this.waitingBytes;
    const old = this.buffer;
    if (this.memory.length < length)
      this.memory = new Uint8Array(Math.max(length, KEPT_BYTES + 2 * BATCH_BYTES));
    if (this.memory.buffer === old.buffer) this.memory.copyWithin(0, from, old.length);
    else this.memory.set(old.subarray(from));
    let at = kept;
    for (const piece of this.waiting) {
      this.memory.set(piece, at);
      at += piece.length;
    }
    this.buffer = this.memory.subarray(0, length);
    this.base += from;
    this.position -= from;
    for (const [slot, place] of this.places.entries()) this.places[slot] = Math.max(NEVER, place - from);
    this.waiting = [];
    this.waitingBytes = 0;
    this.examine(isLast ? length : length - AHEAD_BYTES);
  }

  private examine(end: number): void {
    const { buffer, places } = this;
    const { symbols, skipped, next, rowBits, firstEnd, escape, found } = this.signatures.machine;
    let { state, position } = this;
    // A small whole number, and so a fast one, however long the log is.
    let letters = 0;
    const before = this.letters;
    const slot = before % PLACES;
    this.nextBreak = this.breakFrom(position);
    while (position < end) {
      let last = state;
      // Nothing is called in here: most of the time of a long log is spent in these lines.
      do {
        const symbol = symbols[buffer[position] ?? 0] ?? 0;
        last = state;
        state = next[(state << rowBits) + symbol] ?? 0;
        // Of what is no letter the place is that of the next letter, which writes it once more.
        places[(slot + letters) & (PLACES - 1)] = position++;
        letters += (symbol - skipped) >>> 31;
      } while (state < firstEnd && position < end);
      if (state === escape) {
        state = last;
        position = this.endOfEscape(position - 1) + 1;
      } else if (state >= firstEnd) {
        this.letters = before + letters;
        this.countBreaks(position);
        for (const keyword of found[state - firstEnd] ?? []) this.meet(keyword, position - 1);
      }
    }
    this.state = state;
    this.letters = before + letters;
    this.position = position;
    this.countBreaks(position);
  }

  private countBreaks(position: number): void {
    while (this.nextBreak < position) {
      this.line++;
      this.nextBreak = this.breakFrom(this.nextBreak + 1);
    }
  }

  /** The first line break from a byte on; behind the buffer where there is none. */
  private breakFrom(from: number): number {
    const found = this.buffer.indexOf(NEWLINE, from);
    return found < 0 ? this.buffer.length : found;
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
    for (const call of signatures.calls.get(keyword) ?? []) this.seeCall(call, begin, position);
    for (const { spelling, at } of signatures.pieces[keyword] ?? []) {
      const facts = signatures.spellings[spelling];
      const begins = this.begins[spelling];
      const ends = this.ends[spelling];
      if (facts === undefined || begins === undefined || ends === undefined) continue;
      if (at > 0 && !this.follows(ends[at - 1] ?? NEVER, begin, position)) continue;
      if (at > 0 && !this.fits(facts, at, ends[at - 1] ?? NEVER, begin)) continue;
      begins[at] = at === 0 ? begin : (begins[at - 1] ?? begin);
      ends[at] = this.letters;
      if (at < facts.pieces.length - 1) continue;
      const first = this.placeOf(begins[at] ?? begin);
      if (facts.isNumber && (isWordByte(this.buffer[first - 1]) || isWordByte(this.buffer[position + 1])))
        continue;
      this.seeError(facts, begins[at] ?? begin, position);
    }
  }

  /** Whether what stands between two parts is of the kind that the text has there. */
  private fits({ holes }: Spelling, at: number, end: number, begin: number): boolean {
    const kind = holes[at - 1] ?? "words";
    if (kind === "words") return true;
    const bytes = this.buffer.subarray(this.placeOf(end - 1) + 1, this.placeOf(begin));
    return fitsRaw(kind, decodeUtf8(bytes));
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
    const { asked } = this;
    if (asked.line !== line) {
      asked.record = recordLine(this.buffer, offset, line, floor);
      asked.line = line;
    }
    return asked.record;
  }

  /** Where in `buffer` a letter lies; its begin for one that lies before it. */
  private placeOf(letter: number): number {
    return Math.max(0, this.places[letter % PLACES] ?? 0);
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

  /** Makes `line` the record at hand; judges the one before when it is another. */
  private openRecord(line: number): OpenRecord {
    if (this.record.line !== line) {
      this.judgeRecord();
      this.record = { line, errors: [], calls: [] };
    }
    return this.record;
  }

  private placeAt(begin: number, position: number): { readonly place: ReadPlace; readonly record: number } {
    const floor = this.floorOf(position);
    const from = Math.max(this.placeOf(begin), floor);
    const line = this.line - this.breaksBetween(from, position);
    const place = { offset: this.base + from, floor: this.base + floor, line, excerpt: undefined };
    return { place, record: this.recordOf(from, line, floor) };
  }

  private seeCall(call: CallId, begin: number, position: number): void {
    const { calls } = this.openRecord(this.placeAt(begin, position).record);
    if (calls.length < READ_PER_RECORD_MAX) calls.push({ call, begin });
  }

  private seeError({ error: index, isNumber }: Spelling, begin: number, position: number): void {
    const error = this.signatures.errors[index];
    if (error === undefined) return;
    const { place, record } = this.placeAt(begin, position);
    const { errors } = this.openRecord(record);
    if (errors.length >= READ_PER_RECORD_MAX) return;
    errors.push({ error, isByNumber: isNumber, begin, end: this.letters, place });
  }

  /** What is about to leave the memory is shown as it is now. */
  private keepExcerpts(): void {
    for (const { place } of this.record.errors) place.excerpt ??= this.excerptOf(place);
  }

  private excerptOf({ offset, floor }: ReadPlace): string {
    return excerptAt(this.buffer, offset - this.base, Math.max(0, floor - this.base));
  }

  private judgeRecord(): void {
    const { errors, calls } = this.record;
    if (errors.length === 0) return;
    for (const verdict of judge(errors, calls, this.signatures.combinations)) {
      this.count(verdict, errors);
    }
  }

  private count(verdict: Verdict, read: readonly PlacedError[]): void {
    const { error, certainty, standing, call } = verdict;
    const own = read.find((item) => item.error === error) ?? read.find((item) => isCodeOf(item.error, error));
    if (own === undefined) return;
    const { line } = own.place;
    const isContradicted = certainty === "unknown" && error.hresults.length > 0 && call !== undefined;
    const key = isContradicted ? `${error.id} ${call}` : error.id;
    const seen = this.errors.get(key);
    if (seen !== undefined) {
      seen.count++;
      seen.lastLine = line;
      if (CERTAINTIES.indexOf(certainty) < CERTAINTIES.indexOf(seen.certainty)) {
        seen.certainty = certainty;
        seen.standing = standing;
      }
      return;
    }
    this.errors.set(key, {
      error,
      certainty,
      standing,
      ...(call === undefined ? {} : { call }),
      count: 1,
      firstLine: line,
      lastLine: line,
      excerpt: own.place.excerpt ?? this.excerptOf(own.place),
    });
  }

  /** Notes that the number `key` was seen between two places of `buffer`; once per record. */
  private see(table: Map<number, NumberSighting>, key: number, first: number, position: number): void {
    const floor = this.floorOf(position);
    const from = Math.max(first, floor);
    const line = this.line - this.breaksBetween(from, position);
    const record = this.recordOf(from, line, floor);
    const seen = table.get(key);
    if (seen === undefined) {
      const excerpt = excerptAt(this.buffer, from, floor);
      table.set(key, { count: 1, firstLine: line, lastLine: line, excerpt, lastRecord: record });
      return;
    }
    if (seen.lastRecord === record) return;
    seen.count++;
    seen.lastLine = line;
    seen.lastRecord = record;
  }

  private breaksBetween(first: number, position: number): number {
    let count = 0;
    for (let at = this.buffer.indexOf(NEWLINE, first); at >= 0 && at < position; count++) {
      at = this.buffer.indexOf(NEWLINE, at + 1);
    }
    return count;
  }
}

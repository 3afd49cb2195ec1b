/**
 * A long list as `kubectl get -o yaml` prints it: a few fields, `items:`, items behind hyphens at the left edge, a few
 * fields. Such a text is cut by its bytes, and an item becomes a string for whoever asks for its text alone. Anything
 * else is for `long-text.ts`, which gives the same pieces of this form, too: a property test holds both together.
 */
import { withoutPrompts } from "#core/base/source-text.ts";
import type { Piece } from "./piece.ts";

/** Bytes of a text, as often as it is read. */
export type TextChunks = Iterable<Uint8Array>;

const [SPACE, LINE_FEED, HYPHEN] = [32, 10, 45] as const;
/** What stands around the items is a few lines. */
const AROUND_MAX = 65_536;
const ITEMS = "items:\n";
/** A hyphen and a blank. */
const LEAD = 2;

function isLetter(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 97 && byte <= 122) || (byte >= 65 && byte <= 90));
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** The bytes in blocks that begin where a line begins; each is its own, and stays as it is. */
function* blocksOfLines(chunks: TextChunks): Generator<Uint8Array> {
  let rest = new Uint8Array(0);
  for (const chunk of chunks) {
    const block = joined(rest, chunk);
    const end = block.lastIndexOf(LINE_FEED) + 1;
    if (end > 0) yield block.subarray(0, end);
    rest = block.slice(end);
  }
  if (rest.length > 0) yield rest;
}

/** An item whose text is made when it is asked for. */
class ItemPiece implements Piece {
  readonly format = "yaml";
  readonly column = 0;
  readonly line: number;
  readonly item: number;
  readonly bytes: Uint8Array;
  readonly lead: number = LEAD;

  constructor(bytes: Uint8Array, line: number, item: number) {
    this.bytes = bytes;
    this.line = line;
    this.item = item;
  }

  get text(): string {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.bytes);
  }
}

/** Looks whether a text has the form, and remembers what stands around its items. */
class Outline {
  /** The fields before `items:`, and those behind the items. */
  head = "";
  tail = "";
  /** Where the items begin and end, in bytes from the first. */
  begin = 0;
  end = 0;
  /** How many lines the items have. */
  lines = 0;
  /** Where each item begins, and how many lines the items before it have. */
  readonly starts: number[] = [];
  readonly linesBefore: number[] = [];
  private part: "head" | "items" | "tail" = "head";
  private at = 0;
  private readonly itemMax: number;
  private readonly decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  constructor(itemMax: number) {
    this.itemMax = itemMax;
  }

  /** Takes the next lines; false for what this form does not have. */
  take(block: Uint8Array): boolean {
    for (let start = 0; start < block.length; ) {
      const next = this.part === "items" ? this.takeItems(block, start) : this.takeAround(block, start);
      if (next === undefined) return false;
      start = next;
    }
    this.at += block.length;
    return true;
  }

  /** True when the text was all of the form. */
  finish(): boolean {
    if (this.part === "items") this.end = this.at;
    const { head, tail } = this;
    const hasItems = this.starts.length > 0 && !this.isTooLong(this.end);
    return (
      hasItems && !/^items:/m.test(tail) && withoutPrompts(head) === head && withoutPrompts(tail) === tail
    );
  }

  /** A line around the items; where the next one begins, undefined for one that is not of the form. */
  private takeAround(block: Uint8Array, start: number): number | undefined {
    const next = block.indexOf(LINE_FEED, start) + 1 || block.length;
    const line = this.decoder.decode(block.subarray(start, next));
    const isHead = this.part === "head";
    if (isHead && line === ITEMS) {
      this.part = "items";
      this.begin = this.at + next;
      return next;
    }
    if (isHead) this.head += line;
    else this.tail += line;
    const isGood = isHead ? isLetter(block[start]) : /^[A-Za-z \n]/.test(line);
    return isGood && this.head.length + this.tail.length < AROUND_MAX ? next : undefined;
  }

  /** The lines of items; where they end, undefined for what is not of the form. */
  private takeItems(block: Uint8Array, from: number): number | undefined {
    const { length } = block;
    for (let start = from; start < length; ) {
      const first = block[start];
      if (first === HYPHEN && block[start + 1] === SPACE && isLetter(block[start + LEAD])) {
        if (this.isTooLong(this.at + start)) return undefined;
        this.starts.push(this.at + start);
        this.linesBefore.push(this.lines);
      } else if (this.starts.length === 0) return undefined;
      else if (isLetter(first)) {
        this.part = "tail";
        this.end = this.at + start;
        return start;
      } else if (first !== SPACE && first !== LINE_FEED) return undefined;
      // Nearly all lines begin with a blank, and need no other look.
      let at = start;
      while (at < length && block[at] !== LINE_FEED) at++;
      if (at < length) this.lines++;
      start = at + 1;
    }
    return length;
  }

  /** Whether the item that ends at `end` is longer than what is held. */
  private isTooLong(end: number): boolean {
    return end - (this.starts.at(-1) ?? end) >= this.itemMax;
  }
}

/** What stands around the items; undefined for a text of another form, or of no more than `heldMax` bytes. */
function outlineOf(chunks: TextChunks, heldMax: number): Outline | undefined {
  const outline = new Outline(heldMax);
  let length = 0;
  for (const block of blocksOfLines(chunks)) {
    length += block.length;
    if (!outline.take(block)) return undefined;
  }
  return length > heldMax && outline.finish() ? outline : undefined;
}

function countLineFeeds(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === LINE_FEED) count++;
  return count;
}

function* itemsOf(chunks: TextChunks, outline: Outline, firstLine: number): Generator<Piece> {
  const { starts, linesBefore, end } = outline;
  const endOf = (item: number): number => starts[item + 1] ?? end;
  let block = new Uint8Array(0);
  /** Where the block begins, and which item is the next. */
  let at = 0;
  let item = 0;
  for (const chunk of chunks) {
    block = joined(block, chunk);
    const last = at + block.length;
    for (; item < starts.length && endOf(item) <= last; item++) {
      const bytes = block.subarray((starts[item] ?? 0) - at, endOf(item) - at);
      yield new ItemPiece(bytes, firstLine + (linesBefore[item] ?? 0), item);
    }
    const rest = Math.min(starts[item] ?? last, last);
    block = block.slice(rest - at);
    at = rest;
  }
}

/** The pieces of a text of this form; undefined for any other text. */
export function piecesOfPlainList(chunks: TextChunks, heldMax: number): Iterable<Piece> | undefined {
  const outline = outlineOf(chunks, heldMax);
  return outline === undefined ? undefined : piecesIn(chunks, outline);
}

function* piecesIn(chunks: TextChunks, outline: Outline): Generator<Piece> {
  const { head, tail, lines } = outline;
  const text = `${head}items: []\n`;
  const gap = { offset: text.length, lines };
  yield { format: "yaml", text: `${text}${tail}`, line: 1, column: 0, isFrame: true, gap };
  yield* itemsOf(chunks, outline, countLineFeeds(new TextEncoder().encode(head)) + 2);
}

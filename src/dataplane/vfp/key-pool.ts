/**
 * What the flow pairs of a layer are known by, side by side in one array: the whole key of the packet that made a pair, so
 * that its rule can be looked up again, and the tuple of its answers. An array per pair would cost more than the pair.
 */
import { wordAt } from "#core/base/bytes.ts";
import type { FlowKey } from "./flow-key.ts";

const RECORDS_MIN = 16;
const NO_WORDS = new Int32Array(0);
/** The first word of a record: the key's length, its tuple's, the length of the answer's tuple. */
const LENGTH = { mask: 0xff, tupleShift: 8, answerShift: 16 } as const;

export class KeyPool {
  /** For those who look a tuple up: it stands at `mainAt`, `answerAt`. */
  words: Int32Array = NO_WORDS;
  private stride: number;
  private records = 0;
  private readonly free: number[] = [];

  /** `keyWords`, `tupleWords`: as long as they are expected to be. */
  constructor(keyWords: number, tupleWords: number) {
    this.stride = 1 + keyWords + tupleWords;
  }

  /** Keeps both. @returns the record's number. */
  add(main: FlowKey, answer: FlowKey): number {
    const length = 1 + main.length + answer.tupleLength;
    if (length > this.stride) this.resize(this.words.length / this.stride, length);
    const record = this.free.pop() ?? this.records++;
    if ((record + 1) * this.stride > this.words.length) {
      this.resize(Math.max(RECORDS_MIN, record * 2), this.stride);
    }
    const { words } = this;
    const at = record * this.stride;
    words[at] =
      main.length | (main.tupleLength << LENGTH.tupleShift) | (answer.tupleLength << LENGTH.answerShift);
    for (let i = 0; i < main.length; i++) words[at + 1 + i] = wordAt(main.words, i);
    const from = at + 1 + main.length;
    for (let i = 0; i < answer.tupleLength; i++) words[from + i] = wordAt(answer.words, i);
    return record;
  }

  release(record: number): void {
    this.free.push(record);
  }

  loadMain(record: number, into: FlowKey): void {
    into.load(this.words, this.mainAt(record), wordAt(this.words, record * this.stride) & LENGTH.mask);
  }

  mainAt(record: number): number {
    return record * this.stride + 1;
  }

  mainTupleLength(record: number): number {
    return (wordAt(this.words, record * this.stride) >>> LENGTH.tupleShift) & LENGTH.mask;
  }

  answerAt(record: number): number {
    const at = record * this.stride;
    return at + 1 + (wordAt(this.words, at) & LENGTH.mask);
  }

  answerLength(record: number): number {
    return wordAt(this.words, record * this.stride) >>> LENGTH.answerShift;
  }

  private resize(records: number, stride: number): void {
    const former = this.stride;
    const words = new Int32Array(records * stride);
    if (former === stride) words.set(this.words);
    else {
      for (let record = 0; record < this.records; record++)
        words.set(this.words.subarray(record * former, (record + 1) * former), record * stride);
    }
    this.words = words;
    this.stride = stride;
  }
}

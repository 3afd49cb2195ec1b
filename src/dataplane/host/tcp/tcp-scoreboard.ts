/** What the peer of a TCP connection has reported out of order, and what that says of the rest (RFC 2018, RFC 6675). */
import type { SackBlock } from "#core/wire/tcp-options.ts";
import { isAfter, isBefore, sequenceDistance } from "./tcp-segment.ts";

/** DupThresh (RFC 6675 §2). */
const RANGES_ABOVE_LOST = 3;
/** Ranges that are remembered: a receive window of full segments, every second of them missing, has fewer. */
const RANGES_MAX = 1_024;

/** A part of the stream that was sent and neither acknowledged nor reported. */
export interface Hole {
  readonly sequence: number;
  readonly length: number;
}

export class Scoreboard {
  /** In order, disjoint, all between what is acknowledged and what was sent. */
  private ranges: SackBlock[] = [];
  /** Up to here holes were sent again in this recovery (HighRxt of RFC 6675 §2). */
  resentEnd = 0;

  /**
   * Takes the blocks of an acknowledgement; those that lie outside what is under way say nothing (D-SACK, RFC 2883).
   * @returns true when one of them is news.
   */
  take(blocks: readonly SackBlock[], unacknowledged: number, highest: number): boolean {
    let isNews = false;
    for (const block of blocks) {
      const isUnderWay =
        !isBefore(block.left, unacknowledged) &&
        !isAfter(block.right, highest) &&
        isAfter(block.right, block.left);
      if (isUnderWay && this.ranges.length < RANGES_MAX && !this.covers(block)) {
        this.add(block);
        isNews = true;
      }
    }
    return isNews;
  }

  /** All before `acknowledgment` is acknowledged. */
  forget(acknowledgment: number): void {
    this.ranges = this.ranges
      .filter(({ right }) => isAfter(right, acknowledgment))
      .map(({ left, right }) => ({ left: isBefore(left, acknowledgment) ? acknowledgment : left, right }));
    if (isBefore(this.resentEnd, acknowledgment)) this.resentEnd = acknowledgment;
  }

  /** After a time-out the peer's reports count no more: it may have thrown away what it had (RFC 2018 §8). */
  clear(): void {
    this.ranges = [];
  }

  /** The first sequence number from `sequence` on that the peer has not reported. */
  skip(sequence: number): number {
    const range = this.ranges.find(
      ({ left, right }) => !isBefore(sequence, left) && isBefore(sequence, right),
    );
    return range?.right ?? sequence;
  }

  /** Bytes from `sequence` to the next that the peer has reported. */
  roomAt(sequence: number): number {
    const next = this.ranges.find(({ left }) => isAfter(left, sequence));
    return next === undefined ? Number.MAX_SAFE_INTEGER : sequenceDistance(next.left, sequence);
  }

  /** `IsLost` of RFC 6675 §4: enough was reported behind it. */
  isLost(sequence: number, segmentBytes: number): boolean {
    const above = this.ranges.filter(({ left }) => isAfter(left, sequence));
    const bytes = above.reduce((sum, { left, right }) => sum + sequenceDistance(right, left), 0);
    return above.length >= RANGES_ABOVE_LOST || bytes > (RANGES_ABOVE_LOST - 1) * segmentBytes;
  }

  /** How much is taken to be under way (`SetPipe` of RFC 6675 §4). */
  pipe(unacknowledged: number, highest: number, segmentBytes: number): number {
    let bytes = 0;
    for (const { sequence, length } of this.holes(unacknowledged, highest)) {
      if (!this.isLost(sequence, segmentBytes)) bytes += length;
      bytes += Math.min(length, Math.max(0, sequenceDistance(this.resentEnd, sequence)));
    }
    return bytes;
  }

  /**
   * The next part to send again: behind what was sent again already, before the last report (rules 1 and 3 of `NextSeg`,
   * RFC 6675 §4). `isLostOnly` asks for what is lost by now.
   */
  nextHole(unacknowledged: number, segmentBytes: number, isLostOnly: boolean): Hole | undefined {
    const last = this.ranges.at(-1);
    if (last === undefined) return undefined;
    const from = isAfter(this.resentEnd, unacknowledged) ? this.resentEnd : unacknowledged;
    const [hole] = this.holes(from, last.left);
    if (hole === undefined || (isLostOnly && !this.isLost(hole.sequence, segmentBytes))) return undefined;
    return hole;
  }

  private holes(from: number, to: number): readonly Hole[] {
    const holes: Hole[] = [];
    let at = from;
    for (const { left, right } of this.ranges) {
      if (!isAfter(right, at)) continue;
      if (!isBefore(left, to)) break;
      if (isAfter(left, at)) holes.push({ sequence: at, length: sequenceDistance(left, at) });
      at = right;
    }
    if (isBefore(at, to)) holes.push({ sequence: at, length: sequenceDistance(to, at) });
    return holes;
  }

  private covers(block: SackBlock): boolean {
    return this.ranges.some(({ left, right }) => !isBefore(block.left, left) && !isAfter(block.right, right));
  }

  private add(block: SackBlock): void {
    let { left, right } = block;
    const others: SackBlock[] = [];
    for (const range of this.ranges) {
      if (isAfter(range.left, right) || isBefore(range.right, left)) {
        others.push(range);
        continue;
      }
      if (isBefore(range.left, left)) ({ left } = range);
      if (isAfter(range.right, right)) ({ right } = range);
    }
    this.ranges = [...others, { left, right }].sort((a, b) => sequenceDistance(a.left, b.left));
  }
}

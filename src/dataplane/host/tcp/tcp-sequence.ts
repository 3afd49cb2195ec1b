/** TCP sequence numbers, unsigned 32-bit integers that wrap (RFC 9293 §3.4): arithmetic, and a byte stream put in order by them. */

/** `a` plus `count`, wrapped. */
export function addSequence(a: number, count: number): number {
  return (a + count) >>> 0;
}

/** The signed distance from `b` to `a`: positive when `a` is later. */
export function sequenceDistance(a: number, b: number): number {
  return (a - b) | 0;
}

export function isBefore(a: number, b: number): boolean {
  return sequenceDistance(a, b) < 0;
}

export function isAfter(a: number, b: number): boolean {
  return sequenceDistance(a, b) > 0;
}

/** Overlapping pieces may hold bytes twice; beyond this, what comes early is forgotten and will be sent again. */
const EARLY_BYTES_MAX = 262_144;

interface EarlyPiece {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

/**
 * Puts the byte stream of one TCP connection back in order. Data go to the owner as soon as nothing before them is
 * missing, so only what came early is kept here, at most one receive window of it.
 */
export class ReceiveSequence {
  /** The next sequence number that is expected. */
  next: number;
  /** Pieces behind a gap, in order of sequence, without overlaps at their starts. */
  private early: EarlyPiece[] = [];

  constructor(next: number) {
    this.next = next;
  }

  get hasGap(): boolean {
    return this.early.length > 0;
  }

  /**
   * Takes a piece of the stream that lies in the window. Bytes that were there before are ignored.
   * @returns the bytes that are in order now; empty when the piece came early or says nothing new.
   */
  accept(sequence: number, bytes: Uint8Array): readonly Uint8Array[] {
    this.keep({ sequence, bytes: bytes.slice() });
    const ready: Uint8Array[] = [];
    for (
      let piece = this.early[0];
      piece !== undefined && !isAfter(piece.sequence, this.next);
      piece = this.early[0]
    ) {
      this.early.shift();
      const known = sequenceDistance(this.next, piece.sequence);
      if (known >= piece.bytes.length) continue;
      ready.push(piece.bytes.subarray(known));
      this.next = addSequence(piece.sequence, piece.bytes.length);
    }
    return ready;
  }

  private keep(piece: EarlyPiece): void {
    if (piece.bytes.length === 0) return;
    const isInOrder = !isAfter(piece.sequence, this.next);
    if (!isInOrder && this.earlyBytes() + piece.bytes.length > EARLY_BYTES_MAX) return;
    let index = 0;
    for (const other of this.early) {
      // A piece that a kept one covers says nothing new: repeated segments cannot fill the memory.
      const ends = sequenceDistance(
        addSequence(other.sequence, other.bytes.length),
        addSequence(piece.sequence, piece.bytes.length),
      );
      if (!isAfter(other.sequence, piece.sequence) && ends >= 0) return;
      if (isBefore(other.sequence, piece.sequence)) index++;
    }
    this.early.splice(index, 0, piece);
  }

  private earlyBytes(): number {
    let count = 0;
    for (const piece of this.early) count += piece.bytes.length;
    return count;
  }
}

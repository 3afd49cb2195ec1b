/** Bytes that a TCP connection has been given and that the peer has not acknowledged. */
import { assert } from "#core/base/assert.ts";

export class SendBuffer {
  private readonly chunks: Uint8Array[] = [];
  /** Bytes of the first chunk that are acknowledged already. */
  private skipped = 0;
  private count = 0;

  /** Bytes held. */
  get length(): number {
    return this.count;
  }

  /** Takes a copy of `bytes`. */
  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.chunks.push(bytes.slice());
    this.count += bytes.length;
  }

  /** Copies `target.length` bytes that begin `offset` bytes after the first one held. */
  read(offset: number, target: Uint8Array): void {
    assert(offset + target.length <= this.count, "a read stays inside the send buffer");
    let position = offset + this.skipped;
    let written = 0;
    for (const chunk of this.chunks) {
      if (written === target.length) return;
      if (position >= chunk.length) {
        position -= chunk.length;
        continue;
      }
      const piece = chunk.subarray(position, position + target.length - written);
      target.set(piece, written);
      written += piece.length;
      position = 0;
    }
  }

  /** Forgets the first `count` bytes: they are acknowledged. */
  discard(count: number): void {
    assert(count <= this.count, "only held bytes are discarded");
    this.count -= count;
    this.skipped += count;
    for (
      let first = this.chunks[0];
      first !== undefined && this.skipped >= first.length;
      first = this.chunks[0]
    ) {
      this.skipped -= first.length;
      this.chunks.shift();
    }
  }
}

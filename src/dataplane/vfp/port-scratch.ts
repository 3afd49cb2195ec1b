/** What a port works with while it looks at a packet. Made for the first one: most ports of a large world see none. */
import { readU8 } from "#core/base/bytes.ts";
import { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import { FlowKey, KEY_WORDS_MAX } from "./flow-key.ts";
import { QuotedPacket } from "./actions/icmp-error.ts";

/** All headers of a plain packet. */
const HEAD_BYTES_USUAL = 128;
const KEYS = 4;

export class PortScratch {
  /** Room for all keys: to get it costs more than the rest of a key. */
  private readonly room: ArrayBuffer = new ArrayBuffer(KEYS * KEY_WORDS_MAX * Int32Array.BYTES_PER_ELEMENT);
  readonly key: FlowKey = this.newKey(0);
  readonly layerKey: FlowKey = this.newKey(1);
  readonly otherKey: FlowKey = this.newKey(2);
  readonly arrivalKey: FlowKey = this.newKey(3);
  readonly tunnel: TunnelHeaders = new TunnelHeaders();
  readonly quoted: QuotedPacket = new QuotedPacket();
  private head = new Uint8Array(HEAD_BYTES_USUAL);
  private headLength = 0;

  /** Copies `bytes[start..end)`, until the next call. */
  keepHead(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    if (length > this.head.length) this.head = new Uint8Array(length);
    for (let i = 0; i < length; i++) this.head[i] = readU8(bytes, start + i);
    this.headLength = length;
  }

  /** Writes back what was copied last. */
  restoreHead(bytes: Uint8Array, start: number): void {
    bytes.set(this.head.subarray(0, this.headLength), start);
  }

  private newKey(place: number): FlowKey {
    const start = place * KEY_WORDS_MAX * Int32Array.BYTES_PER_ELEMENT;
    return new FlowKey(new Int32Array(this.room, start, KEY_WORDS_MAX));
  }
}

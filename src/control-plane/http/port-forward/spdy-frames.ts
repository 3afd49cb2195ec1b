/**
 * Frames of SPDY/3.1 as `kubectl port-forward` uses them (SPDY Protocol draft 3.1, §2.2 and §2.6; github.com/moby/spdystream): cut out of a
 * stream of bytes, and written. Header blocks stay compressed here; the client's are read by `HeaderReader`.
 */

import { readU8, readU16, readU24, readU32, writeU8, writeU24, writeU32 } from "#core/base/bytes.ts";

/** Of one frame. kubectl sends 32 KiB at a time. */
export const FRAME_BYTES_MAX = 1_048_576;
/** Of a frame with a header block, compressed. */
const HEADERS_BYTES_MAX = 16_384;
const HEAD_BYTES = 8;
const VERSION = 3;
const CONTROL = 0x8000;
const FLAG_FIN = 0x01;
const TYPE = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
} as const;
/** Bytes of a frame in front of its header block. */
const BLOCK_AT: Readonly<Record<number, number>> = {
  [TYPE.synStream]: 10,
  [TYPE.synReply]: 4,
  [TYPE.headers]: 4,
};
const STREAM_ID = 0x7f_ff_ff_ff;

export type SpdyFrame =
  | {
      /** `syn-stream` opens a stream; `headers` come later, and must be read all the same: blocks are one compressed text. */
      readonly kind: "syn-stream" | "headers";
      readonly streamId: number;
      readonly isLast: boolean;
      readonly block: Uint8Array;
    }
  | { readonly kind: "data"; readonly streamId: number; readonly isLast: boolean; readonly bytes: Uint8Array }
  | { readonly kind: "reset"; readonly streamId: number }
  | { readonly kind: "ping"; readonly id: number }
  | { readonly kind: "go-away" }
  /** What nobody acts on: settings, windows, and types that a later version may have. */
  | { readonly kind: "other" };

/** A stream of bytes that is none of frames, or asks for too much. */
export class SpdyError extends Error {
  override readonly name = "SpdyError";
}

function readControl(type: number, flags: number, body: Uint8Array): SpdyFrame {
  const isLast = (flags & FLAG_FIN) !== 0;
  const blockAt = BLOCK_AT[type];
  if (blockAt !== undefined) {
    if (body.length < blockAt) throw new SpdyError(`a frame of type ${type} is cut off`);
    const streamId = readU32(body, 0) & STREAM_ID;
    const kind = type === TYPE.synStream ? "syn-stream" : "headers";
    return { kind, streamId, isLast, block: body.subarray(blockAt) };
  }
  if (type === TYPE.goAway) return { kind: "go-away" };
  if (type !== TYPE.rstStream && type !== TYPE.ping) return { kind: "other" };
  if (body.length < 4) throw new SpdyError(`a frame of type ${type} is cut off`);
  const number = readU32(body, 0);
  return type === TYPE.ping ? { kind: "ping", id: number } : { kind: "reset", streamId: number & STREAM_ID };
}

/** Cuts a stream of bytes, however it comes in pieces, into frames. */
export class FrameReader {
  private waiting: Uint8Array = new Uint8Array(0);

  /** The frames that are whole now. @throws SpdyError, after which nothing more can be read. */
  push(bytes: Uint8Array): readonly SpdyFrame[] {
    this.waiting = this.waiting.length === 0 ? bytes : joined(this.waiting, bytes);
    const frames: SpdyFrame[] = [];
    for (let next = this.next(); next !== undefined; next = this.next()) frames.push(next);
    return frames;
  }

  private next(): SpdyFrame | undefined {
    const bytes = this.waiting;
    if (bytes.length < HEAD_BYTES) return undefined;
    const [begin, type, flags, length] = [
      readU16(bytes, 0),
      readU16(bytes, 2),
      readU8(bytes, 4),
      readU24(bytes, 5),
    ];
    const isControl = (begin & CONTROL) !== 0;
    if (isControl && begin !== (CONTROL | VERSION))
      throw new SpdyError("a control frame is not of SPDY version 3");
    const lengthMax = isControl && BLOCK_AT[type] !== undefined ? HEADERS_BYTES_MAX : FRAME_BYTES_MAX;
    if (length > lengthMax) throw new SpdyError(`a frame has ${length} bytes; the most is ${lengthMax}`);
    const end = HEAD_BYTES + length;
    if (bytes.length < end) return undefined;
    this.waiting = bytes.subarray(end);
    const body = bytes.subarray(HEAD_BYTES, end);
    if (isControl) return readControl(type, flags, body);
    const streamId = readU32(bytes, 0) & STREAM_ID;
    return { kind: "data", streamId, isLast: (flags & FLAG_FIN) !== 0, bytes: body };
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function frame(head: number, flags: number, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEAD_BYTES + body.length);
  writeU32(bytes, 0, head);
  writeU8(bytes, 4, flags);
  writeU24(bytes, 5, body.length);
  bytes.set(body, HEAD_BYTES);
  return bytes;
}

function controlHead(type: number): number {
  return (((CONTROL | VERSION) << 16) | type) >>> 0;
}

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  writeU32(bytes, 0, value);
  return bytes;
}

export function writeData(streamId: number, bytes: Uint8Array, isLast: boolean): Uint8Array {
  return frame(streamId & STREAM_ID, isLast ? FLAG_FIN : 0, bytes);
}

export function writeReset(streamId: number): Uint8Array {
  // 1: PROTOCOL_ERROR.
  return frame(controlHead(TYPE.rstStream), 0, joined(uint32(streamId), uint32(1)));
}

export function writePing(id: number): Uint8Array {
  return frame(controlHead(TYPE.ping), 0, uint32(id));
}

/** A zlib stream begins so when both ends know the dictionary of SPDY/3 (RFC 1950 §2.2: FDICT, and the Adler-32 of the dictionary). */
const ZLIB_BEGIN: readonly number[] = [0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2];
/**
 * A header block without a header: a number 0 of four bytes, in a block of deflate that is stored as it is (RFC 1951 §3.2.4), and an
 * empty one, behind which Go's reader hands out what it has.
 */
const NO_HEADERS: readonly number[] = [
  0x00, 0x04, 0x00, 0xfb, 0xff, 0, 0, 0, 0, 0x00, 0x00, 0x00, 0xff, 0xff,
];

/** Accepts a stream, without headers. `isFirst`: no other reply went over the connection before. */
export function writeReply(streamId: number, isFirst: boolean): Uint8Array {
  const block = Uint8Array.from([...(isFirst ? ZLIB_BEGIN : []), ...NO_HEADERS]);
  return frame(controlHead(TYPE.synReply), 0, joined(uint32(streamId), block));
}

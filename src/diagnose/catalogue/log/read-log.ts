/** A log from its bytes to what was found in it. */
import {
  HEAD_BYTES,
  type LogEncoding,
  Utf16Decoder,
  describeFormat,
  detectEncoding,
  shareOfUnusual,
} from "./log-encoding.ts";
import { type LogScan, LogScanner } from "./log-scanner.ts";
import type { Signatures } from "./signatures.ts";

/** Above this share of control characters it is no text. */
const UNUSUAL_SHARE_MAX = 0.05;

export interface ReadLog extends LogScan {
  readonly encoding: LogEncoding;
  /** True when the beginning is full of characters that no text has. */
  readonly isBinary: boolean;
}

/** What stands in the way of reading it as a log. */
export interface NotALog {
  /** Completes "it is …". */
  readonly notALog: string;
  readonly advice: string;
}

async function* withHead(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let head = new Uint8Array(0);
  let isHead = true;
  for await (const chunk of chunks) {
    if (!isHead) {
      yield chunk;
      continue;
    }
    const joined = new Uint8Array(head.length + chunk.length);
    joined.set(head);
    joined.set(chunk, head.length);
    head = joined;
    isHead = head.length < HEAD_BYTES;
    if (!isHead) yield head;
  }
  if (isHead) yield head;
}

/**
 * Reads a log to its end. The first piece decides about its encoding.
 * @param signatures what is looked for; given by callers that read many logs.
 */
export async function readLog(
  chunks: AsyncIterable<Uint8Array>,
  signatures?: Signatures,
): Promise<ReadLog | NotALog> {
  const scanner = new LogScanner(signatures);
  let encoding: LogEncoding | undefined;
  let decoder: Utf16Decoder | undefined;
  let isBinary = false;
  for await (const chunk of withHead(chunks)) {
    const isFirst = encoding === undefined;
    if (encoding === undefined) {
      const head = chunk.subarray(0, HEAD_BYTES);
      const format = describeFormat(head);
      if (format !== undefined) return { notALog: format.what, advice: format.advice };
      encoding = detectEncoding(head);
      decoder = encoding === "utf-8" ? undefined : new Utf16Decoder(encoding);
    }
    const utf8 = decoder?.decode(chunk) ?? chunk;
    if (isFirst) isBinary = shareOfUnusual(utf8.subarray(0, HEAD_BYTES)) > UNUSUAL_SHARE_MAX;
    scanner.push(utf8);
  }
  return { ...scanner.finish(), encoding: encoding ?? "utf-8", isBinary };
}

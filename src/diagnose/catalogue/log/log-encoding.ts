/** Which letters the bytes of a log stand for: UTF-8 and its like, or the UTF-16 that PowerShell writes with `>`. */

export const LOG_ENCODINGS = ["utf-8", "utf-16le", "utf-16be"] as const;
export type LogEncoding = (typeof LOG_ENCODINGS)[number];

/** So many bytes tell the encoding and whether it is text. */
export const HEAD_BYTES = 4_096;

/** Files that people take for logs, by their first bytes. */
const SIGNATURES: readonly (readonly [bytes: readonly number[], what: string, advice: string])[] = [
  [
    [0x45, 0x6c, 0x66, 0x46, 0x69, 0x6c, 0x65, 0x00],
    "a Windows event log (.evtx)",
    "On Windows: Get-WinEvent -Path FILE | Format-List TimeCreated, Message > log.txt",
  ],
  [[0x50, 0x4b, 0x03, 0x04], "a zip archive", "Unpack it, and name the log inside."],
  [[0x1f, 0x8b], "compressed with gzip", "Unpack it: gzip -dc FILE | mullion explain --log -"],
  [[0x0a, 0x0d, 0x0d, 0x0a], "a packet capture (pcapng)", "Open it with Wireshark."],
  [[0x4d, 0x53, 0x43, 0x46], "a cabinet file", "Unpack it, and name the log inside."],
  [[0x4d, 0x5a], "a program for Windows", "Name the log that the program writes."],
];

/** What a file is that is no log, and what to do; undefined for what may be one. */
export function describeFormat(
  head: Uint8Array,
): { readonly what: string; readonly advice: string } | undefined {
  const known = SIGNATURES.find(([bytes]) => bytes.every((byte, index) => head[index] === byte));
  return known === undefined ? undefined : { what: known[1], advice: known[2] };
}

/** Shares of zero bytes, in ASCII text that is written as UTF-16 without a byte order mark. */
const ZEROS_MANY = 0.6;
const ZEROS_FEW = 0.05;

function shareOfZeros(head: Uint8Array, from: 0 | 1): number {
  let zeros = 0;
  for (let at = from; at < head.length; at += 2) if (head[at] === 0) zeros++;
  return head.length < 2 ? 0 : zeros / Math.floor(head.length / 2);
}

/** The encoding that the first bytes tell: by a byte order mark, else by where the zeros are. */
export function detectEncoding(head: Uint8Array): LogEncoding {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  if (head[0] === 0xfe && head[1] === 0xff) return "utf-16be";
  const [even, odd] = [shareOfZeros(head, 0), shareOfZeros(head, 1)];
  if (odd > ZEROS_MANY && even < ZEROS_FEW) return "utf-16le";
  return even > ZEROS_MANY && odd < ZEROS_FEW ? "utf-16be" : "utf-8";
}

/** Control characters that logs do not have: all but tab, line ends, form feed, backspace and escape. */
function isUnusual(byte: number): boolean {
  return byte < 0x20 && !(byte >= 0x08 && byte <= 0x0d) && byte !== 0x1b;
}

/** The share of bytes, in text as UTF-8, that no text has. */
export function shareOfUnusual(utf8: Uint8Array): number {
  let count = 0;
  for (const byte of utf8) if (isUnusual(byte)) count++;
  return utf8.length === 0 ? 0 : count / utf8.length;
}

/** Turns UTF-16 into UTF-8 piece by piece; a unit that is cut between two pieces waits. */
export class Utf16Decoder {
  private readonly isBigEndian: boolean;
  /** The first byte of a unit whose second has not come. */
  private half: number | undefined;
  /** The first half of a pair whose second has not come. */
  private high: number | undefined;

  constructor(encoding: "utf-16le" | "utf-16be") {
    this.isBigEndian = encoding === "utf-16be";
  }

  decode(bytes: Uint8Array): Uint8Array {
    // Each unit of two bytes becomes at most three; a half and a high from before add up to six.
    const out = new Uint8Array(Math.ceil(bytes.length * 1.5) + 6);
    let length = 0;
    let offset = 0;
    while (offset < bytes.length) {
      const first = this.half ?? bytes[offset++] ?? 0;
      const second = bytes[offset++];
      this.half = second === undefined ? first : undefined;
      if (second === undefined) break;
      const unit = this.isBigEndian ? (first << 8) | second : (second << 8) | first;
      if (unit < 0x80 && this.high === undefined) out[length++] = unit;
      else length = this.append(unit, out, length);
    }
    return out.subarray(0, length);
  }

  /** Appends a unit that is no plain ASCII; returns the new length. */
  private append(unit: number, out: Uint8Array, from: number): number {
    let length = from;
    const { high } = this;
    this.high = undefined;
    const isLow = unit >= 0xdc00 && unit <= 0xdfff;
    if (high !== undefined && isLow) {
      return appendUtf8(0x1_0000 + ((high - 0xd800) << 10) + (unit - 0xdc00), out, length);
    }
    if (high !== undefined) length = appendUtf8(0xfffd, out, length);
    if (unit >= 0xd800 && unit <= 0xdbff) {
      this.high = unit;
      return length;
    }
    return appendUtf8(isLow ? 0xfffd : unit, out, length);
  }
}

function appendUtf8(point: number, out: Uint8Array, from: number): number {
  let length = from;
  if (point < 0x80) out[length++] = point;
  else if (point < 0x800) out[length++] = 0xc0 | (point >> 6);
  else if (point < 0x1_0000) out[length++] = 0xe0 | (point >> 12);
  else out[length++] = 0xf0 | (point >> 18);
  if (point >= 0x1_0000) out[length++] = 0x80 | ((point >> 12) & 0x3f);
  if (point >= 0x800) out[length++] = 0x80 | ((point >> 6) & 0x3f);
  if (point >= 0x80) out[length++] = 0x80 | (point & 0x3f);
  return length;
}

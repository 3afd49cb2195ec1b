/**
 * The structure of a DNS message (RFC 1035 §4), checked before anything is decoded: where each question and record
 * lies, that every name and length fits, and that nothing can loop.
 */
import { readU16, readU8 } from "../../base/bytes.ts";
import { LIMITS } from "../../base/limits.ts";
import type { MalformedReason } from "../malformed.ts";

export const DNS_HEADER_BYTES = 12;
const NAME_BYTES_MAX = 255;
const LABEL_BYTES_MAX = 63;
/** Pointers followed in one name. Writers need one; RFC 1035 sets no bound. */
const POINTERS_MAX = 16;

/** Type numbers of the records that are decoded. Any 16-bit value may arrive. */
export const DnsType = {
  a: 1,
  ns: 2,
  cname: 5,
  soa: 6,
  ptr: 12,
  mx: 15,
  txt: 16,
  aaaa: 28,
  srv: 33,
  opt: 41,
} as const;

/** A question or record in a message. */
export interface DnsPlace {
  readonly start: number;
  /** Behind the name: type, class and, in a record, TTL and data. */
  readonly fixed: number;
  readonly end: number;
}

/** A record with its data. */
export interface DnsRecordPlace extends DnsPlace {
  readonly type: number;
  readonly dataStart: number;
}

export interface DnsStructure {
  readonly questions: readonly DnsPlace[];
  /** Answers, authorities, additionals. */
  readonly sections: readonly [
    readonly DnsRecordPlace[],
    readonly DnsRecordPlace[],
    readonly DnsRecordPlace[],
  ];
}

/** True for the bytes that a label may hold here: printable ASCII without the dot and the backslash, which text needs. */
function isLabelByte(byte: number): boolean {
  return byte > 0x20 && byte < 0x7f && byte !== 0x2e && byte !== 0x5c;
}

/** True for a name that can be sent: labels of 1 to 63 printable characters, 255 bytes in all. `.` is the root. */
export function isDnsName(name: string): boolean {
  const text = name.endsWith(".") ? name.slice(0, -1) : name;
  if (text === "") return name === ".";
  // One byte per label's length, one for the root: two more than the text has.
  if (text.length + 2 > NAME_BYTES_MAX) return false;
  for (const label of text.split(".")) {
    if (label.length === 0 || label.length > LABEL_BYTES_MAX) return false;
    for (let i = 0; i < label.length; i++) if (!isLabelByte(label.charCodeAt(i))) return false;
  }
  return true;
}

/** Checks the name at `start`, pointers included. @returns where it ends in place; -1 when it is none. */
function endOfName(bytes: Uint8Array, start: number): number {
  let at = start;
  let end = -1;
  let length = 1;
  for (let pointers = 0; ; ) {
    if (at >= bytes.length) return -1;
    const first = readU8(bytes, at);
    if (first === 0) return end < 0 ? at + 1 : end;
    if (first >= 0xc0) {
      if (at + 2 > bytes.length) return -1;
      const target = readU16(bytes, at) & 0x3fff;
      // A pointer goes back, behind the header: so no name can loop.
      if (target >= at || target < DNS_HEADER_BYTES || ++pointers > POINTERS_MAX) return -1;
      if (end < 0) end = at + 2;
      at = target;
      continue;
    }
    length += first + 1;
    if (first > LABEL_BYTES_MAX || length > NAME_BYTES_MAX || at + 1 + first > bytes.length) return -1;
    for (let i = at + 1; i <= at + first; i++) if (!isLabelByte(readU8(bytes, i))) return -1;
    at += 1 + first;
  }
}

/** True when the strings of a TXT record fill its data. */
function areStrings(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at < end) at += 1 + readU8(bytes, at);
  return at === end && start < end;
}

/** True when the data of a record that will be decoded have the shape of its type. */
function isDataSound(bytes: Uint8Array, type: number, start: number, end: number): boolean {
  switch (type) {
    case DnsType.a:
      return end - start === 4;
    case DnsType.aaaa:
      return end - start === 16;
    case DnsType.cname:
    case DnsType.ns:
    case DnsType.ptr:
      return endOfName(bytes, start) === end;
    case DnsType.mx:
      return end - start > 2 && endOfName(bytes, start + 2) === end;
    case DnsType.srv:
      return end - start > 6 && endOfName(bytes, start + 6) === end;
    case DnsType.soa: {
      const middle = endOfName(bytes, start);
      const last = middle < 0 ? -1 : endOfName(bytes, middle);
      return last >= 0 && last + 20 === end;
    }
    case DnsType.txt:
      return areStrings(bytes, start, end);
    default:
      return true;
  }
}

function readRecord(bytes: Uint8Array, start: number): DnsRecordPlace | MalformedReason {
  const fixed = endOfName(bytes, start);
  if (fixed < 0) return "dns-name";
  if (fixed + 10 > bytes.length) return "dns-truncated";
  const type = readU16(bytes, fixed);
  const dataStart = fixed + 10;
  const end = dataStart + readU16(bytes, fixed + 8);
  if (end > bytes.length || !isDataSound(bytes, type, dataStart, end)) return "dns-record-length";
  return { start, fixed, end, type, dataStart };
}

/** Checks a whole message; bytes behind its last record are ignored. */
export function readDnsStructure(bytes: Uint8Array): DnsStructure | MalformedReason {
  if (bytes.length < DNS_HEADER_BYTES) return "dns-truncated";
  if (bytes.length > LIMITS.dnsMessageBytesMax) return "dns-too-long";
  const counts = [readU16(bytes, 4), readU16(bytes, 6), readU16(bytes, 8), readU16(bytes, 10)] as const;
  if (counts[0] + counts[1] + counts[2] + counts[3] > LIMITS.dnsRecordsMax) return "dns-too-long";
  let at = DNS_HEADER_BYTES;
  const questions: DnsPlace[] = [];
  for (let i = 0; i < counts[0]; i++) {
    const fixed = endOfName(bytes, at);
    if (fixed < 0) return "dns-name";
    if (fixed + 4 > bytes.length) return "dns-truncated";
    questions.push({ start: at, fixed, end: fixed + 4 });
    at = fixed + 4;
  }
  const sections: [DnsRecordPlace[], DnsRecordPlace[], DnsRecordPlace[]] = [[], [], []];
  for (const [index, section] of sections.entries()) {
    const count = counts[index + 1] ?? 0;
    for (let i = 0; i < count; i++) {
      const record = readRecord(bytes, at);
      if (typeof record === "string") return record;
      section.push(record);
      at = record.end;
    }
  }
  return { questions, sections };
}

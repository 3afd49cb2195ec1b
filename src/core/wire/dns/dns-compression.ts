/**
 * Names of a DNS message written once (RFC 1035 §4.1.4): a name, or its end, that stood before becomes a pointer. Only
 * names that every reader expects pointers in are shortened: those of records and questions, and the data of the types of
 * RFC 1035 (RFC 3597 §4); the target of SRV stays whole (RFC 2782).
 */
import { readU8 } from "../../base/bytes.ts";
import { DNS_HEADER_BYTES, type DnsRecordPlace, DnsType, readDnsStructure } from "./dns-structure.ts";

/** Offsets of 14 bits are all that a pointer holds. */
const OFFSET_MAX = 0x3fff;
const POINTER = 0xc0;

/** Writes a message anew, name by name. */
class Compression {
  readonly source: Uint8Array;
  readonly out: number[];
  /** Where a name, as it is written, stands in the output. */
  private readonly offsets = new Map<string, number>();

  constructor(source: Uint8Array) {
    this.source = source;
    this.out = [...source.subarray(0, DNS_HEADER_BYTES)];
  }

  copy(start: number, end: number): void {
    for (let at = start; at < end; at++) this.out.push(readU8(this.source, at));
  }

  /** Writes the name at `start`. @returns where it ends in the source. */
  name(start: number): number {
    const end = this.endOf(start);
    for (let at = start; readU8(this.source, at) !== 0; at += 1 + readU8(this.source, at)) {
      const rest = String.fromCharCode(...this.source.subarray(at, end));
      const known = this.offsets.get(rest);
      if (known !== undefined) {
        this.out.push(POINTER | (known >> 8), known & 0xff);
        return end;
      }
      if (this.out.length <= OFFSET_MAX) this.offsets.set(rest, this.out.length);
      this.copy(at, at + 1 + readU8(this.source, at));
    }
    this.out.push(0);
    return end;
  }

  record({ start, fixed, dataStart, end, type }: DnsRecordPlace): void {
    this.name(start);
    this.copy(fixed, fixed + 8);
    const lengthAt = this.out.length;
    this.out.push(0, 0);
    this.data(type, dataStart, end);
    const length = this.out.length - lengthAt - 2;
    this.out[lengthAt] = length >> 8;
    this.out[lengthAt + 1] = length & 0xff;
  }

  private data(type: number, start: number, end: number): void {
    let at = start;
    switch (type) {
      case DnsType.cname:
      case DnsType.ns:
      case DnsType.ptr:
        at = this.name(at);
        break;
      case DnsType.mx:
        this.copy(at, at + 2);
        at = this.name(at + 2);
        break;
      case DnsType.soa:
        at = this.name(this.name(at));
        break;
      default:
        break;
    }
    this.copy(at, end);
  }

  /** Behind the root label of a name without pointers. */
  private endOf(start: number): number {
    let at = start;
    while (readU8(this.source, at) !== 0) at += 1 + readU8(this.source, at);
    return at + 1;
  }
}

/** True when a name of the message is shortened already. */
function hasPointers(bytes: Uint8Array, starts: readonly number[]): boolean {
  return starts.some((start) => {
    let at = start;
    while (readU8(bytes, at) !== 0) {
      if (readU8(bytes, at) >= POINTER) return true;
      at += 1 + readU8(bytes, at);
    }
    return false;
  });
}

/** A shorter form of a message that `emitDns` wrote. What is no such message is given back as it is. */
export function compressDns(bytes: Uint8Array): Uint8Array {
  const structure = readDnsStructure(bytes);
  if (typeof structure === "string") return bytes;
  const records = structure.sections.flat();
  if (
    hasPointers(
      bytes,
      [...structure.questions, ...records].map(({ start }) => start),
    )
  )
    return bytes;
  const compression = new Compression(bytes);
  for (const { start, fixed, end } of structure.questions) {
    compression.name(start);
    compression.copy(fixed, end);
  }
  for (const record of records) compression.record(record);
  return Uint8Array.from(compression.out);
}

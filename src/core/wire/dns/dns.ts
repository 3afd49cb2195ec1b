/**
 * DNS messages (RFC 1035, RFC 3596, RFC 2782, RFC 6891) as values, on top of `dns-packet`.
 *
 * The structure is checked first (dns-structure.ts), so that the package only sees sound records of the types below; all
 * others stay bytes. Names are written without compression.
 */
import { type ResourceRecord, encode, name as nameCodec, question as questionCodec } from "dns-packet";
import { assert } from "../../base/assert.ts";
import { readU128, readU16, readU32, readU8 } from "../../base/bytes.ts";
import { type Ipv4, type Ipv6, formatIp } from "../../net/ip.ts";
import { type DnsRecordPlace, DnsType, isDnsName, readDnsStructure } from "./dns-structure.ts";
import type { MalformedReason } from "../malformed.ts";

/** Response codes by name. Any value from 0 to 15 may arrive. */
export const DnsRcode = {
  noError: 0,
  formatError: 1,
  serverFailure: 2,
  nameError: 3,
  notImplemented: 4,
  refused: 5,
} as const;

const FLAG = {
  response: 0x8000,
  authoritative: 0x0400,
  truncated: 0x0200,
  recursionDesired: 0x0100,
  recursionAvailable: 0x0080,
} as const;

const CLASS_IN = 1;

/** A question. */
export interface DnsQuestion {
  /** Without a final dot; `.` for the root. */
  readonly name: string;
  /** As the type is written: `A`, `AAAA`, `SRV` …; `UNKNOWN_N` for numbers without a name. */
  readonly type: string;
  /** `IN`, save for special servers. */
  readonly class: string;
}

/** What every record has. Its class is IN. */
interface RecordBase {
  /** Without a final dot; `.` for the root. */
  readonly name: string;
  readonly ttlSeconds: number;
}

/** A record by type; `OTHER` carries the data of all types that are not decoded, and all classes but IN. */
export type DnsRecord =
  | (RecordBase & { readonly type: "A"; readonly ip: Ipv4 })
  | (RecordBase & { readonly type: "AAAA"; readonly ip: Ipv6 })
  | (RecordBase & { readonly type: "CNAME" | "NS" | "PTR"; readonly target: string })
  | (RecordBase & {
      readonly type: "SRV";
      readonly priority: number;
      readonly weight: number;
      readonly port: number;
      readonly target: string;
    })
  | (RecordBase & { readonly type: "MX"; readonly preference: number; readonly target: string })
  | (RecordBase & { readonly type: "TXT"; readonly strings: readonly Uint8Array[] })
  | (RecordBase & {
      readonly type: "SOA";
      readonly server: string;
      readonly mailbox: string;
      readonly serial: number;
      readonly refreshSeconds: number;
      readonly retrySeconds: number;
      readonly expireSeconds: number;
      /** How long a name that does not exist is remembered. */
      readonly minimumSeconds: number;
    })
  /** EDNS: what the sender of the message can take. */
  | { readonly type: "OPT"; readonly udpPayloadBytesMax: number; readonly isDnssecOk: boolean }
  | (RecordBase & {
      readonly type: "OTHER";
      readonly typeNumber: number;
      readonly classNumber: number;
      readonly data: Uint8Array;
    });

/** A message. */
export interface DnsMessage {
  /** 16 bits. */
  readonly id: number;
  readonly isResponse: boolean;
  /** 0: a standard query. */
  readonly opcode: number;
  readonly isAuthoritative: boolean;
  /** The answer was cut: ask again over TCP. */
  readonly isTruncated: boolean;
  readonly isRecursionDesired: boolean;
  readonly isRecursionAvailable: boolean;
  /** One of `DnsRcode`, or any other value up to 15. */
  readonly rcode: number;
  readonly questions: readonly DnsQuestion[];
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

interface BufferConstructor {
  from(bytes: ArrayBufferLike, offset: number, length: number): Uint8Array;
}

/** The same bytes as the platform's `Buffer`, whose methods `dns-packet` calls. Nothing is copied. */
function asBuffer(bytes: Uint8Array): Uint8Array {
  const { Buffer } = globalThis as unknown as { readonly Buffer: BufferConstructor };
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The strings of a TXT record. */
function readStrings(bytes: Uint8Array, start: number, end: number): Uint8Array[] {
  const strings: Uint8Array[] = [];
  for (let at = start; at < end; at += 1 + readU8(bytes, at)) {
    strings.push(Uint8Array.from(bytes.subarray(at + 1, at + 1 + readU8(bytes, at))));
  }
  return strings;
}

function readSoa(buffer: Uint8Array, base: RecordBase, { dataStart, end }: DnsRecordPlace): DnsRecord {
  const server = nameCodec.decode(buffer, dataStart);
  const numbers = end - 20;
  return {
    ...base,
    type: "SOA",
    server,
    mailbox: nameCodec.decode(buffer, dataStart + nameCodec.decode.bytes),
    serial: readU32(buffer, numbers),
    refreshSeconds: readU32(buffer, numbers + 4),
    retrySeconds: readU32(buffer, numbers + 8),
    expireSeconds: readU32(buffer, numbers + 12),
    minimumSeconds: readU32(buffer, numbers + 16),
  };
}

/** A record of class IN and one of the types that are decoded; undefined for other types. */
function readKnownRecord(buffer: Uint8Array, base: RecordBase, place: DnsRecordPlace): DnsRecord | undefined {
  const { type, dataStart: at, end } = place;
  switch (type) {
    case DnsType.a:
      return { ...base, type: "A", ip: readU32(buffer, at) as Ipv4 };
    case DnsType.aaaa:
      return { ...base, type: "AAAA", ip: readU128(buffer, at) as Ipv6 };
    case DnsType.cname:
      return { ...base, type: "CNAME", target: nameCodec.decode(buffer, at) };
    case DnsType.ns:
      return { ...base, type: "NS", target: nameCodec.decode(buffer, at) };
    case DnsType.ptr:
      return { ...base, type: "PTR", target: nameCodec.decode(buffer, at) };
    case DnsType.srv: {
      const target = nameCodec.decode(buffer, at + 6);
      const [priority, weight, port] = [
        readU16(buffer, at),
        readU16(buffer, at + 2),
        readU16(buffer, at + 4),
      ];
      return { ...base, type: "SRV", priority, weight, port, target };
    }
    case DnsType.mx:
      return {
        ...base,
        type: "MX",
        preference: readU16(buffer, at),
        target: nameCodec.decode(buffer, at + 2),
      };
    case DnsType.txt:
      return { ...base, type: "TXT", strings: readStrings(buffer, at, end) };
    case DnsType.soa:
      return readSoa(buffer, base, place);
    default:
      return undefined;
  }
}

function readRecord(buffer: Uint8Array, place: DnsRecordPlace): DnsRecord {
  const { type, fixed, dataStart, end } = place;
  const classNumber = readU16(buffer, fixed + 2);
  if (type === DnsType.opt) {
    return {
      type: "OPT",
      udpPayloadBytesMax: classNumber,
      isDnssecOk: (readU8(buffer, fixed + 6) & 0x80) !== 0,
    };
  }
  const base = { name: nameCodec.decode(buffer, place.start), ttlSeconds: readU32(buffer, fixed + 4) };
  const known = classNumber === CLASS_IN ? readKnownRecord(buffer, base, place) : undefined;
  if (known !== undefined) return known;
  const data = Uint8Array.from(buffer.subarray(dataStart, end));
  return { ...base, type: "OTHER", typeNumber: type, classNumber, data };
}

/**
 * Parses a whole message, as a datagram or behind the length of a TCP stream. Never throws; a message of more than
 * `LIMITS.dnsMessageBytesMax` bytes or `LIMITS.dnsRecordsMax` records is refused.
 */
export function parseDns(bytes: Uint8Array): DnsMessage | MalformedReason {
  const structure = readDnsStructure(bytes);
  if (typeof structure === "string") return structure;
  const flags = readU16(bytes, 2);
  const buffer = asBuffer(bytes);
  const [answers, authorities, additionals] = structure.sections;
  return {
    id: readU16(bytes, 0),
    isResponse: (flags & FLAG.response) !== 0,
    opcode: (flags >>> 11) & 0xf,
    isAuthoritative: (flags & FLAG.authoritative) !== 0,
    isTruncated: (flags & FLAG.truncated) !== 0,
    isRecursionDesired: (flags & FLAG.recursionDesired) !== 0,
    isRecursionAvailable: (flags & FLAG.recursionAvailable) !== 0,
    rcode: flags & 0xf,
    questions: structure.questions.map(({ start }) => {
      const { name, type, class: className } = questionCodec.decode(buffer, start);
      return { name, type, class: className };
    }),
    answers: answers.map((place) => readRecord(buffer, place)),
    authorities: authorities.map((place) => readRecord(buffer, place)),
    additionals: additionals.map((place) => readRecord(buffer, place)),
  };
}

/** A record as the package wants it. */
function toPacketRecord(record: DnsRecord): ResourceRecord {
  if (record.type === "OPT") {
    const { udpPayloadBytesMax: udpPayloadSize, isDnssecOk } = record;
    return { name: ".", type: "OPT", udpPayloadSize, flags: isDnssecOk ? 0x8000 : 0, options: [] };
  }
  assert(isDnsName(record.name), "a DNS record has a name that can be sent");
  const base = { name: record.name, type: record.type, class: "IN", ttl: record.ttlSeconds };
  switch (record.type) {
    case "A":
    case "AAAA":
      return { ...base, data: formatIp(record.ip) };
    case "CNAME":
    case "NS":
    case "PTR":
      return { ...base, data: record.target };
    case "SRV": {
      const { priority, weight, port, target } = record;
      return { ...base, data: { priority, weight, port, target } };
    }
    case "MX":
      return { ...base, data: { preference: record.preference, exchange: record.target } };
    case "TXT":
      return { ...base, data: record.strings.map((string) => asBuffer(string)) };
    case "SOA":
      return {
        ...base,
        data: {
          mname: record.server,
          rname: record.mailbox,
          serial: record.serial,
          refresh: record.refreshSeconds,
          retry: record.retrySeconds,
          expire: record.expireSeconds,
          minimum: record.minimumSeconds,
        },
      };
    case "OTHER":
      assert(record.classNumber === CLASS_IN, "only records of class IN are sent");
      return { ...base, type: `UNKNOWN_${record.typeNumber}`, data: asBuffer(record.data) };
  }
}

/** The names in a record's data. */
function namesIn(record: DnsRecord): readonly string[] {
  switch (record.type) {
    case "CNAME":
    case "NS":
    case "PTR":
    case "SRV":
    case "MX":
      return [record.target];
    case "SOA":
      return [record.server, record.mailbox];
    case "A":
    case "AAAA":
    case "TXT":
    case "OPT":
    case "OTHER":
      return [];
  }
}

function flagsOf(message: DnsMessage): number {
  return (
    ((message.opcode & 0xf) << 11) |
    (message.isAuthoritative ? FLAG.authoritative : 0) |
    (message.isTruncated ? FLAG.truncated : 0) |
    (message.isRecursionDesired ? FLAG.recursionDesired : 0) |
    (message.isRecursionAvailable ? FLAG.recursionAvailable : 0) |
    (message.rcode & 0xf)
  );
}

/**
 * The bytes of a message. Names must pass `isDnsName`; a stack asks that before it sends what a user typed.
 * Truncation to a size is the caller's: it drops records and sets `isTruncated`.
 */
export function emitDns(message: DnsMessage): Uint8Array {
  for (const record of [...message.answers, ...message.authorities, ...message.additionals]) {
    assert(
      namesIn(record).every((name) => isDnsName(name)),
      "a DNS record points at a name that can be sent",
    );
  }
  for (const { name } of message.questions)
    assert(isDnsName(name), "a DNS question has a name that can be sent");
  const bytes = encode({
    id: message.id,
    type: message.isResponse ? "response" : "query",
    flags: flagsOf(message),
    questions: message.questions,
    answers: message.answers.map((record) => toPacketRecord(record)),
    authorities: message.authorities.map((record) => toPacketRecord(record)),
    additionals: message.additionals.map((record) => toPacketRecord(record)),
  });
  return Uint8Array.from(bytes);
}

const RCODE_TEXTS: ReadonlyMap<number, string> = new Map([
  [DnsRcode.noError, "NOERROR"],
  [DnsRcode.formatError, "FORMERR"],
  [DnsRcode.serverFailure, "SERVFAIL"],
  [DnsRcode.nameError, "NXDOMAIN"],
  [DnsRcode.notImplemented, "NOTIMP"],
  [DnsRcode.refused, "REFUSED"],
]);

/** The name of a response code as resolvers print it. */
export function dnsRcodeName(rcode: number): string {
  return RCODE_TEXTS.get(rcode) ?? `RCODE${rcode}`;
}

function formatData(record: DnsRecord): string {
  if (record.type === "A" || record.type === "AAAA") return `${record.type} ${formatIp(record.ip)}`;
  if (record.type === "SRV") return `SRV ${record.target}:${record.port}`;
  if (record.type === "OTHER") return `type ${record.typeNumber}`;
  return "target" in record ? `${record.type} ${record.target}` : record.type;
}

/** One line: `DNS query A web.default.svc`, `DNS NOERROR A web.default.svc: A 10.0.0.1`. */
export function formatDns(message: DnsMessage): string {
  const asked = message.questions.map(({ name, type }) => `${type} ${name}`).join(", ");
  if (!message.isResponse) return `DNS query ${asked}`;
  const answers = message.answers.map((record) => formatData(record)).join(", ");
  const cut = message.isTruncated ? " truncated" : "";
  return `DNS ${dnsRcodeName(message.rcode)}${cut} ${asked}${answers === "" ? "" : `: ${answers}`}`;
}

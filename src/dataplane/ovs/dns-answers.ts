/**
 * `dns_lookup`: a DNS question becomes the answer to it, from the rows of the table DNS (ovn-sb(5), Logical_Flow, "actions"). What the
 * page leaves open is as in ovn-controller 23.03 (controller/pinctrl.c, pinctrl_handle_dns_lookup): names are compared in lower case,
 * A, AAAA, ANY and PTR are answered, a record lives an hour, a question with records behind it is left alone.
 */
import { readU16, readU8, writeU16, writeU8 } from "#core/base/bytes.ts";
import { parseIp } from "#core/net/ip.ts";
import { DNS_HEADER_BYTES, DnsType } from "#core/wire/dns/dns-structure.ts";
import { answerUdp, udpPayload } from "./answer-frames.ts";
import type { LogicalNetwork } from "./logical-network.ts";
import type { PacketState } from "./packet-state.ts";
import { nameBytes } from "./router-advertisements.ts";

const RESPONSE = 0x80;
const ANY = 255;
const CLASS_IN: readonly number[] = [0, 1];
const TTL: readonly number[] = [0, 0, 0x0e, 0x10];
const ANSWERED: ReadonlySet<number> = new Set([DnsType.a, DnsType.aaaa, DnsType.ptr, ANY]);

interface Question {
  readonly name: string;
  /** The name as it is on the wire. */
  readonly encoded: Uint8Array;
  readonly type: number;
  readonly end: number;
}

/** The first question; undefined for an answer, and for what is cut short or has records behind its questions. */
function readQuestion(bytes: Uint8Array): Question | undefined {
  if (bytes.length < DNS_HEADER_BYTES || (readU8(bytes, 2) & RESPONSE) !== 0) return undefined;
  if (readU16(bytes, 4) === 0 || readU16(bytes, 10) !== 0) return undefined;
  const labels: string[] = [];
  let at = DNS_HEADER_BYTES;
  while (at < bytes.length && bytes[at] !== 0) {
    const end = at + 1 + readU8(bytes, at);
    if (end > bytes.length) return undefined;
    labels.push(new TextDecoder().decode(bytes.subarray(at + 1, end)));
    at = end;
  }
  const end = at + 5;
  if (end > bytes.length) return undefined;
  const encoded = bytes.subarray(DNS_HEADER_BYTES, at + 1);
  return { name: labels.join(".").toLowerCase(), encoded, type: readU16(bytes, at + 1), end };
}

/** The data of the records that answer, with their types. */
function recordsOf(
  type: number,
  found: string,
): readonly (readonly [type: number, data: readonly number[]])[] {
  if (type === DnsType.ptr) return [[DnsType.ptr, nameBytes(found)]];
  const ips = found.split(/[\s,]+/).flatMap((text) => parseIp(text) ?? []);
  const of = (wanted: number, bits: number): (readonly [number, readonly number[]])[] =>
    ips
      .filter((ip) => (typeof ip === "bigint") === (bits === 128) && (type === wanted || type === ANY))
      .map((ip) => [
        wanted,
        Array.from({ length: bits / 8 }, (_, index) =>
          Number((BigInt(ip) >> BigInt(bits - 8 - 8 * index)) & 0xffn),
        ),
      ]);
  return [...of(DnsType.a, 32), ...of(DnsType.aaaa, 128)];
}

/** @returns false, and the packet is as it was, where the table has no answer */
export function answerDns(state: PacketState, network: LogicalNetwork): boolean {
  const asked = udpPayload(state.fields);
  const question = asked === undefined ? undefined : readQuestion(asked);
  if (asked === undefined || question === undefined || !ANSWERED.has(question.type)) return false;
  const found = network.dnsRecord(state.datapath, question.name);
  const records = found === undefined ? [] : recordsOf(question.type, found);
  if (records.length === 0) return false;
  const answers = records.flatMap(([type, data]) => [
    ...question.encoded,
    type >> 8,
    type & 0xff,
    ...CLASS_IN,
    ...TTL,
    data.length >> 8,
    data.length & 0xff,
    ...data,
  ]);
  const message = Uint8Array.from([...asked.subarray(0, question.end), ...answers]);
  writeU8(message, 2, readU8(message, 2) | RESPONSE);
  writeU16(message, 6, records.length);
  state.become(answerUdp(state.fields, message));
  return true;
}

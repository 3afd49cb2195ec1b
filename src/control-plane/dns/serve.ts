/**
 * What a server does with a datagram: a pure function of its bytes and of the names the server knows. What to refuse and
 * how follows CoreDNS and the DNS library below it (github.com/miekg/dns, acceptfunc.go and server.go).
 */
import { readU16 } from "#core/base/bytes.ts";
import {
  type DnsMessage,
  type DnsQuestion,
  DnsRcode,
  type DnsRecord,
  emitDns,
  parseDns,
} from "#core/wire/dns/dns.ts";
import { compressDns } from "#core/wire/dns/dns-compression.ts";
import { DNS_HEADER_BYTES } from "#core/wire/dns/dns-structure.ts";
import type { NameAnswer, NameSource } from "./answer.ts";

/** A query that was understood. */
export interface DnsQuery {
  readonly message: DnsMessage;
  readonly question: DnsQuestion;
  /** The longest answer that the client takes. */
  readonly bytesMax: number;
}

/** What is to be done with a datagram. */
export type DnsStep =
  /** Nobody asked, or nothing can be made of it. */
  | { readonly kind: "ignore" }
  | { readonly kind: "reply"; readonly response: DnsMessage; readonly bytesMax: number }
  /** None of the server's names: another server is to be asked. */
  | { readonly kind: "forward"; readonly query: DnsQuery }
  /** An alias leads out: another server is to be asked for `target`, and its records added to `answer`. */
  | {
      readonly kind: "continue";
      readonly query: DnsQuery;
      readonly answer: NameAnswer;
      readonly target: string;
    };

/** RFC 1035 §4.2.1: what every client takes. */
const BYTES_MAX = 512;
/** CoreDNS, request/request.go (Scrub): a longer message over IPv4 is compressed, lest it be fragmented. */
const UNFRAGMENTED_BYTES_MAX = 1_480;
const OPCODE_QUERY = 0;
const OPCODE_NOTIFY = 4;
const FLAG_RESPONSE = 0x8000;

const IGNORE: DnsStep = Object.freeze({ kind: "ignore" });

/** A refusal made from the header alone, for a message whose rest cannot be trusted. */
function refusal(bytes: Uint8Array, rcode: number): DnsStep {
  const flags = readU16(bytes, 2);
  const response: DnsMessage = {
    id: readU16(bytes, 0),
    isResponse: true,
    opcode: (flags >>> 11) & 0xf,
    isAuthoritative: false,
    isTruncated: false,
    isRecursionDesired: (flags & 0x0100) !== 0,
    isRecursionAvailable: false,
    rcode,
    questions: [],
    answers: [],
    authorities: [],
    additionals: [],
  };
  return { kind: "reply", response, bytesMax: BYTES_MAX };
}

/** Checks the header as the library does, before anything else is looked at. */
function checkHeader(bytes: Uint8Array): DnsStep | undefined {
  if (bytes.length < DNS_HEADER_BYTES || (readU16(bytes, 2) & FLAG_RESPONSE) !== 0) return IGNORE;
  const opcode = (readU16(bytes, 2) >>> 11) & 0xf;
  if (opcode !== OPCODE_QUERY && opcode !== OPCODE_NOTIFY) return refusal(bytes, DnsRcode.notImplemented);
  const isOdd =
    readU16(bytes, 4) !== 1 || readU16(bytes, 6) > 1 || readU16(bytes, 8) > 1 || readU16(bytes, 10) > 2;
  return isOdd ? refusal(bytes, DnsRcode.formatError) : undefined;
}

/** How many bytes the client takes: what its EDNS record says, at least 512 (RFC 6891 §6.2.3). */
function bytesMaxOf({ additionals }: DnsMessage): number {
  for (const record of additionals)
    if (record.type === "OPT") return Math.max(BYTES_MAX, record.udpPayloadBytesMax);
  return BYTES_MAX;
}

/** The response to a query with these parts; it carries EDNS when the query did. */
export function makeResponse(query: DnsQuery, parts: Partial<DnsMessage>): DnsMessage {
  const { message } = query;
  const edns = message.additionals.filter((record) => record.type === "OPT").slice(0, 1);
  return {
    ...message,
    isResponse: true,
    isAuthoritative: false,
    isTruncated: false,
    isRecursionAvailable: false,
    rcode: DnsRcode.noError,
    questions: [query.question],
    answers: [],
    authorities: [],
    ...parts,
    additionals: [...(parts.additionals ?? []), ...edns],
  };
}

/** The response that says what `answer` says. */
export function responseOf(query: DnsQuery, answer: NameAnswer): DnsMessage {
  const { rcode, isAuthoritative, answers, authorities, additionals } = answer;
  return makeResponse(query, {
    rcode,
    isAuthoritative,
    // Who speaks for no zone asks others for the client.
    isRecursionAvailable: !isAuthoritative,
    answers,
    authorities,
    additionals,
  });
}

/** Decides what to do with the bytes of a datagram. Never throws. */
export function serveDns(bytes: Uint8Array, sources: readonly NameSource[]): DnsStep {
  const refused = checkHeader(bytes);
  if (refused !== undefined) return refused;
  const message = parseDns(bytes);
  if (typeof message === "string") return refusal(bytes, DnsRcode.formatError);
  const [question] = message.questions;
  if (question === undefined) return refusal(bytes, DnsRcode.formatError);
  const query: DnsQuery = { message, question, bytesMax: bytesMaxOf(message) };
  // CoreDNS serves class IN alone, and no transfers of zones.
  const isRefused = question.class !== "IN" || question.type === "AXFR" || question.type === "IXFR";
  if (isRefused) {
    const response = makeResponse(query, { rcode: DnsRcode.refused });
    return { kind: "reply", response, bytesMax: query.bytesMax };
  }
  for (const source of sources) {
    const answer = source.answer(question);
    if (answer === undefined) continue;
    if (answer.continuesAt !== undefined)
      return { kind: "continue", query, answer, target: answer.continuesAt };
    return { kind: "reply", response: responseOf(query, answer), bytesMax: query.bytesMax };
  }
  return { kind: "forward", query };
}

/** Takes records off the end, additional ones first; EDNS stays. */
function withRecords(response: DnsMessage, answers: number, others: number): DnsMessage {
  const edns = response.additionals.filter((record) => record.type === "OPT");
  const rest: DnsRecord[] = response.additionals.filter((record) => record.type !== "OPT");
  const authorities = response.authorities.slice(0, others);
  const additionals = [...rest.slice(0, Math.max(0, others - response.authorities.length)), ...edns];
  return { ...response, answers: response.answers.slice(0, answers), authorities, additionals };
}

/** The largest count from 0 to `max` that still fits; `fits(0)` is taken for granted. */
function largestFitting(max: number, fits: (count: number) => boolean): number {
  let low = 0;
  let high = max;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The bytes of a response; its names are shortened where that is needed, as the library does. */
function emitWithin(response: DnsMessage, bytesMax: number): Uint8Array {
  const whole = emitDns(response);
  return whole.length <= Math.min(bytesMax, UNFRAGMENTED_BYTES_MAX) ? whole : compressDns(whole);
}

/**
 * The bytes of a response, at most `bytesMax`. When its answers do not all fit, it says that it is cut: the client may ask
 * again over TCP (RFC 2181 §9).
 */
export function emitResponse(response: DnsMessage, bytesMax: number): Uint8Array {
  const whole = emitWithin(response, bytesMax);
  if (whole.length <= bytesMax) return whole;
  const others =
    response.authorities.length + response.additionals.filter((record) => record.type !== "OPT").length;
  const fits = (answers: number, rest: number): boolean =>
    emitWithin(withRecords(response, answers, rest), bytesMax).length <= bytesMax;
  const answers = largestFitting(response.answers.length, (count) => fits(count, 0));
  const isTruncated = answers < response.answers.length;
  const kept = isTruncated ? 0 : largestFitting(others, (count) => fits(answers, count));
  const cut = { ...withRecords(response, answers, kept), isTruncated: response.isTruncated || isTruncated };
  return emitWithin(cut, bytesMax);
}

/**
 * What the extension headers of an IPv6 packet ask of a node that takes it (RFC 8200 §4, RFC 5095). Answers of Linux are
 * those of Linux 6.18, which was asked over a veth pair.
 */
import { readU16, readU8 } from "#core/base/bytes.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IPV6_HEADER_BYTES, Ipv6ExtensionType, isIpv6Extension } from "#core/wire/ipv6.ts";
import type { StackProfile } from "../stack-profile.ts";

/** Why a packet ends. */
export interface HeaderProblem {
  readonly text: string;
  /** What its sender is told: code and place of a parameter problem (RFC 4443 §3.4). Undefined: nothing. */
  readonly report: ProblemReport | undefined;
}

export interface ProblemReport {
  readonly code: number;
  /** From the start of the IPv6 header. */
  readonly pointer: number;
  /** Packets to groups are reported, too (RFC 4443 §2.4 e.3). */
  readonly isToldToGroups: boolean;
}

/** Codes of a parameter problem. */
const ProblemCode = { field: 0, nextHeader: 1, option: 2 } as const;

const OptionType = { pad1: 0, padN: 1, routerAlert: 5 } as const;
/** Padding beyond this serves nothing (net/ipv6/exthdrs.c, ip6_parse_tlv). */
const PADDING_BYTES_MAX = 7;
const PAYLOAD_LENGTH_OFFSET = 4;
const NEXT_HEADER_OFFSET = 6;
const DATAGRAM_BYTES_MAX = 65_535;

/**
 * The first thing in the extension headers that ends the packet; undefined when it may go on. `scope`: routers look at
 * hop-by-hop options alone, the destination at all headers up to a fragment's.
 */
export function findHeaderProblem(
  bytes: Uint8Array,
  headers: Headers,
  scope: "hop-by-hop" | "all",
  profile: StackProfile,
): HeaderProblem | undefined {
  const { network } = headers;
  let naming = network + NEXT_HEADER_OFFSET;
  let at = network + IPV6_HEADER_BYTES;
  while (isIpv6Extension(readU8(bytes, naming)) && at < headers.upper) {
    const type = readU8(bytes, naming);
    const isFirst = at === network + IPV6_HEADER_BYTES;
    const header = { at, end: at + (readU8(bytes, at + 1) + 1) * 8, network };
    if (scope === "hop-by-hop" && type !== Ipv6ExtensionType.hopByHop) return undefined;
    if (type === Ipv6ExtensionType.hopByHop && !isFirst)
      return told("a hop-by-hop header that is not the first", ProblemCode.nextHeader, naming - network);
    if (type === Ipv6ExtensionType.fragment) {
      if (headers.isFragment) return findFragmentProblem(bytes, headers);
      header.end = at + 8;
    } else {
      const problem =
        type === Ipv6ExtensionType.routing
          ? findRoutingProblem(bytes, header, profile)
          : findOptionProblem(bytes, header, type === Ipv6ExtensionType.hopByHop, profile);
      if (problem !== undefined) return problem;
    }
    naming = at;
    at = header.end;
  }
  return undefined;
}

interface ExtensionHeader {
  readonly at: number;
  readonly end: number;
  /** Where the packet begins. */
  readonly network: number;
}

function told(text: string, code: number, pointer: number, isToldToGroups = false): HeaderProblem {
  return { text, report: { code, pointer, isToldToGroups } };
}

/** RFC 8200 §4.4: one that has segments left, of a type that is not known. Type 0 is none (RFC 5095 §3). */
function findRoutingProblem(
  bytes: Uint8Array,
  { at, network }: ExtensionHeader,
  profile: StackProfile,
): HeaderProblem | undefined {
  const type = readU8(bytes, at + 2);
  if (profile.droppedRoutingTypes.includes(type))
    return { text: `routing header type ${type} is switched off`, report: undefined };
  if (readU8(bytes, at + 3) === 0) return undefined;
  return told(`routing header type ${type} has segments left`, ProblemCode.field, at + 2 - network);
}

/** RFC 8200 §4.2: the two highest bits of an unknown option say what becomes of the packet. */
function findOptionProblem(
  bytes: Uint8Array,
  { at, end, network }: ExtensionHeader,
  isHopByHop: boolean,
  profile: StackProfile,
): HeaderProblem | undefined {
  const broken = { text: "an IPv6 option reaches beyond its header", report: undefined };
  let padding = 0;
  for (let option = at + 2; option < end; ) {
    const type = readU8(bytes, option);
    if (type !== OptionType.pad1 && option + 1 >= end) return broken;
    const length = type === OptionType.pad1 ? 1 : 2 + readU8(bytes, option + 1);
    if (option + length > end) return broken;
    if (type === OptionType.pad1 || type === OptionType.padN) {
      padding += length;
      const isOdd = padding > PADDING_BYTES_MAX || !isZero(bytes, option + 2, option + length);
      if (profile.isPaddingChecked && isOdd)
        return { text: "padding of IPv6 options is too long, or is not zero", report: undefined };
    } else {
      padding = 0;
      if (!isHopByHop || type !== OptionType.routerAlert) {
        const problem = unknownOption(type, option - network);
        if (problem !== undefined) return problem;
      }
    }
    option += length;
  }
  return undefined;
}

function unknownOption(type: number, pointer: number): HeaderProblem | undefined {
  const action = type >>> 6;
  if (action === 0) return undefined;
  const text = `IPv6 option ${type} is unknown and says that the packet ends`;
  return action === 1 ? { text, report: undefined } : told(text, ProblemCode.option, pointer, action === 2);
}

function isZero(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (readU8(bytes, at) !== 0) return false;
  return true;
}

/** RFC 8200 §4.5: a fragment whose length or place cannot be. */
function findFragmentProblem(bytes: Uint8Array, headers: Headers): HeaderProblem | undefined {
  const { network, fragmentHeader, fragmentOffset, hasMoreFragments } = headers;
  const length =
    network + IPV6_HEADER_BYTES + readU16(bytes, network + PAYLOAD_LENGTH_OFFSET) - fragmentHeader - 8;
  if (hasMoreFragments && length % 8 !== 0)
    return told(
      "a fragment in the middle is not a multiple of 8 bytes",
      ProblemCode.field,
      PAYLOAD_LENGTH_OFFSET,
    );
  if (fragmentOffset + length > DATAGRAM_BYTES_MAX)
    return told(
      "the fragments make up more than 65535 bytes",
      ProblemCode.field,
      fragmentHeader + 2 - network,
    );
  return undefined;
}

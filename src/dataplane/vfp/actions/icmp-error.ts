/**
 * Errors of ICMP and ICMPv6 quote the packet that they are about. The flow of that packet, found by its addresses and
 * ports, says what they look like on the other side of a layer: the error passes as an answer of the flow does, and both
 * the error and what it quotes are translated (dataplane.md §1.10, §6.7).
 *
 * Inferred: VFP parses the quoted packet on every port (ParseIcmpMessage); that it translates both is concluded from that
 * (dataplane.md §11, Q-9).
 */
import { readI32, readU16, readU8, wordAt, writeU16, writeU32 } from "#core/base/bytes.ts";
import { updateChecksum, updateChecksum32 } from "#core/wire/checksum.ts";
import { Headers } from "#core/wire/headers.ts";
import { ICMP_CHECKSUM_OFFSET, isIcmpError } from "#core/wire/icmp.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { udpChecksumField } from "#core/wire/udp.ts";
import type { Packet } from "#core/wire/packet.ts";
import { FlowKey } from "../flow-key.ts";
import type { VfpDirection } from "../rule.ts";
import { type AddressWords, Transposition, coveringChecksumOffset, wordsToIp } from "./transposition.ts";

/** True for a whole packet that says it is an error. */
export function isErrorMessage(bytes: Uint8Array, headers: Headers): boolean {
  if (headers.transport < 0 || headers.isFragment) return false;
  if (headers.protocol === IpProtocol.icmp) return isIcmpError(readU8(bytes, headers.transport));
  return headers.protocol === IpProtocol.icmpv6 && readU8(bytes, headers.transport) < 128;
}

/** The packet that an error quotes. Reusable. */
export class QuotedPacket {
  /** Where its headers are. */
  readonly headers: Headers = new Headers();
  /** The key that an answer to it would have here. */
  readonly answer: FlowKey = new FlowKey();
  private readonly own = new FlowKey();

  /** @returns false when the packet is no error, or quotes nothing that a flow could be known by. */
  locate(packet: Packet, headers: Headers, direction: VfpDirection): boolean {
    const { bytes } = packet;
    if (!isErrorMessage(bytes, headers)) return false;
    const quoted = this.headers;
    if (quoted.parseEmbedded(bytes, headers.payload, headers.end) !== undefined) return false;
    if (quoted.family !== headers.family || quoted.transport < 0) return false;
    this.own.read(packet, quoted, direction === "in" ? "out" : "in");
    this.own.writeReverseTuple(this.answer);
    return true;
  }

  /**
   * Does to the error what `transposition` does to answers of the quoted packet: to its addresses where they are those of
   * the answer (a router in between keeps its own), and in reverse to the quoted packet.
   * `turns`: the answer goes on in the other direction.
   * @returns what it did to the error's own headers.
   */
  translate(transposition: Transposition, bytes: Uint8Array, error: Headers, turns: boolean): Transposition {
    const outer = new Transposition();
    outer.sourceMac = transposition.sourceMac;
    outer.destinationMac = transposition.destinationMac;
    outer.ttlDecrements = transposition.ttlDecrements;
    outer.isHairpin = transposition.isHairpin;
    outer.tni = transposition.tni;
    const { newSource, newDestination } = transposition;
    const addressWords = error.family === 4 ? 1 : 4;
    const addresses = error.network + (error.family === 4 ? 12 : 8);
    if (newSource !== undefined && this.holds(2, bytes, addresses, addressWords))
      outer.setSourceIp(wordsToIp(newSource));
    const destination = addresses + addressWords * 4;
    if (newDestination !== undefined && this.holds(2 + addressWords, bytes, destination, addressWords))
      outer.setDestinationIp(wordsToIp(newDestination));
    outer.applyFields(bytes, error);
    this.translateQuoted(transposition, bytes, error);
    this.follow(transposition, addressWords);
    if (turns) this.answer.turn();
    return outer;
  }

  /** True when the answer's key has at `at` what the packet has at `offset`. */
  private holds(at: number, bytes: Uint8Array, offset: number, words: number): boolean {
    for (let i = 0; i < words; i++)
      if (wordAt(this.answer.words, at + i) !== readI32(bytes, offset + i * 4)) return false;
    return true;
  }

  /** The quoted packet went the other way: its source is the answer's destination. */
  private translateQuoted(transposition: Transposition, bytes: Uint8Array, error: Headers): void {
    const quoted = this.headers;
    const addressBytes = quoted.family === 4 ? 4 : 16;
    const addresses = quoted.network + (quoted.family === 4 ? 12 : 8);
    const { newSource, newDestination, sourcePort, destinationPort } = transposition;
    if (newDestination !== undefined) this.writeAddress(bytes, error, addresses, newDestination);
    if (newSource !== undefined) this.writeAddress(bytes, error, addresses + addressBytes, newSource);
    if (!this.answer.hasPorts) return;
    if (destinationPort >= 0) this.writePort(bytes, error, quoted.transport, destinationPort);
    if (sourcePort >= 0) this.writePort(bytes, error, quoted.transport + 2, sourcePort);
  }

  private writeAddress(bytes: Uint8Array, error: Headers, at: number, words: AddressWords): void {
    for (const [i, after] of words.entries()) {
      const offset = at + i * 4;
      const before = readI32(bytes, offset);
      if (before === after) continue;
      writeU32(bytes, offset, after);
      const sum = error.transport + ICMP_CHECKSUM_OFFSET;
      writeU16(bytes, sum, updateChecksum32(readU16(bytes, sum), before, after));
      const quoted = this.headers;
      if (quoted.family === 4) {
        const field = quoted.network + 10;
        this.writeWord(bytes, error, field, updateChecksum32(readU16(bytes, field), before, after));
      }
      this.updateQuotedChecksum(bytes, error, (checksum) => updateChecksum32(checksum, before, after));
    }
  }

  private writePort(bytes: Uint8Array, error: Headers, at: number, port: number): void {
    const before = readU16(bytes, at);
    this.writeWord(bytes, error, at, port);
    this.updateQuotedChecksum(bytes, error, (checksum) => updateChecksum(checksum, before, port));
  }

  /** Writes a word of the quoted packet, which the error's checksum covers. */
  private writeWord(bytes: Uint8Array, error: Headers, at: number, after: number): void {
    const before = readU16(bytes, at);
    if (before === after) return;
    writeU16(bytes, at, after);
    const sum = error.transport + ICMP_CHECKSUM_OFFSET;
    writeU16(bytes, sum, updateChecksum(readU16(bytes, sum), before, after));
  }

  /** The checksum of the quoted transport header, where that much of it is quoted. */
  private updateQuotedChecksum(
    bytes: Uint8Array,
    error: Headers,
    update: (checksum: number) => number,
  ): void {
    const { protocol, transport, end } = this.headers;
    const offset = coveringChecksumOffset(protocol);
    if (offset < 0 || transport + offset + 2 > end) return;
    const before = readU16(bytes, transport + offset);
    const isUdp = protocol === IpProtocol.udp;
    if (isUdp && before === 0) return;
    const after = update(before);
    this.writeWord(bytes, error, transport + offset, isUdp ? udpChecksumField(after) : after);
  }

  /** The key that the answer has behind the layer. */
  private follow(transposition: Transposition, addressWords: number): void {
    const { words } = this.answer;
    const { newSource, newDestination, sourcePort, destinationPort } = transposition;
    if (newSource !== undefined) words.set(newSource, 2);
    if (newDestination !== undefined) words.set(newDestination, 2 + addressWords);
    if (!this.answer.hasPorts) return;
    const source = sourcePort >= 0 ? sourcePort : this.answer.sourcePort;
    const destination = destinationPort >= 0 ? destinationPort : this.answer.destinationPort;
    words[1] = (source << 16) | destination;
  }
}

/**
 * Packet captures in the pcapng format (IETF draft-ietf-opsawg-pcapng): one section, named Ethernet interfaces,
 * enhanced packet blocks with comments and directions. The bytes depend on the input alone.
 *
 * A block: type 0, total length 4, body 8, total length again. Numbers are big-endian, which the byte-order magic tells.
 */
import { assert } from "#core/base/assert.ts";
import { writeU16, writeU32 } from "#core/base/bytes.ts";
import { LIMITS } from "#core/base/limits.ts";
import { encodeUtf8 } from "#core/base/encodings.ts";

const BLOCK = { section: 0x0a0d_0d0a, interface: 1, statistics: 5, enhancedPacket: 6 } as const;
const OPTION = {
  end: 0,
  comment: 1,
  interfaceName: 2,
  interfaceDescription: 3,
  packetFlags: 2,
  userApplication: 4,
  droppedByInterface: 5,
  timestampResolution: 9,
} as const;
const BYTE_ORDER_MAGIC = 0x1a2b_3c4d;
const LINK_TYPE_ETHERNET = 1;
/** The exponent of ten of a timestamp unit: nanoseconds. */
const NANOSECONDS = 9;
const DIRECTION_FLAG = { in: 1, out: 2 } as const;
const FIRST_CAPACITY_BYTES = 65_536;

export interface PcapngOptions {
  /** Milliseconds from 1970 to the moment that timestamps count from; whole. Default 0. */
  readonly epochMs?: number;
  /** A packet that would make the capture longer is left out. Default `LIMITS.captureBytesMax`. */
  readonly bytesMax?: number;
}

export interface CaptureInterface {
  /** What packet tools show as the interface. */
  readonly name: string;
  readonly description?: string;
}

export interface CapturedPacket {
  /** A number that `addInterface` gave. */
  readonly interface: number;
  /** Milliseconds since the capture's epoch; fractions are kept down to nanoseconds. */
  readonly timestampMs: number;
  /** An Ethernet frame; its bytes are copied. */
  readonly frame: Uint8Array;
  /** Cut behind `LIMITS.captureTextBytesMax` bytes. */
  readonly comment?: string;
  /** Seen from the interface. Default: not said. */
  readonly direction?: "in" | "out";
}

/** An option of a block. */
interface BlockOption {
  readonly code: number;
  readonly value: Uint8Array;
}

function textOption(code: number, text: string): BlockOption {
  return { code, value: encodeUtf8(text, LIMITS.captureTextBytesMax) };
}

function padded(length: number): number {
  return (length + 3) & ~3;
}

/** Bytes of an option list with its end mark; nothing for no options. */
function optionsLength(options: readonly BlockOption[]): number {
  let length = options.length === 0 ? 0 : 4;
  for (const option of options) length += 4 + padded(option.value.length);
  return length;
}

/** Writes a capture in memory. */
export class PcapngWriter {
  /** Packets left out because the capture was full. */
  omittedCount = 0;
  /** So many of them stand in statistics. */
  private reportedCount = 0;
  /** When the newest packet came. */
  private newest = 0n;
  private readonly epochMs: number;
  private readonly bytesMax: number;
  private buffer: Uint8Array = new Uint8Array(FIRST_CAPACITY_BYTES);
  private length = 0;
  private interfaceCount = 0;

  constructor(options: PcapngOptions = {}) {
    this.epochMs = options.epochMs ?? 0;
    this.bytesMax = options.bytesMax ?? LIMITS.captureBytesMax;
    assert(
      Number.isSafeInteger(this.epochMs) && this.epochMs >= 0,
      "the epoch is a whole number of milliseconds",
    );
    const user = [textOption(OPTION.userApplication, "Mullion")];
    const at = this.startBlock(BLOCK.section, 16, user);
    writeU32(this.buffer, at, BYTE_ORDER_MAGIC);
    writeU16(this.buffer, at + 4, 1);
    writeU16(this.buffer, at + 6, 0);
    // Section length: not said.
    writeU32(this.buffer, at + 8, 0xffff_ffff);
    writeU32(this.buffer, at + 12, 0xffff_ffff);
    this.writeOptions(user, at + 16);
  }

  /** Describes an interface. @returns its number, from 0. */
  addInterface(description: CaptureInterface): number {
    const options = [textOption(OPTION.interfaceName, description.name)];
    if (description.description !== undefined) {
      options.push(textOption(OPTION.interfaceDescription, description.description));
    }
    options.push({ code: OPTION.timestampResolution, value: Uint8Array.of(NANOSECONDS) });
    const at = this.startBlock(BLOCK.interface, 8, options);
    writeU16(this.buffer, at, LINK_TYPE_ETHERNET);
    writeU16(this.buffer, at + 2, 0);
    // Snap length: no limit.
    writeU32(this.buffer, at + 4, 0);
    this.writeOptions(options, at + 8);
    return this.interfaceCount++;
  }

  /** Adds a packet. @returns false when the capture is full: the packet was left out and counted. */
  writePacket(packet: CapturedPacket): boolean {
    assert(
      packet.interface >= 0 && packet.interface < this.interfaceCount,
      "the capture knows the interface",
    );
    assert(packet.timestampMs >= 0, "a packet is not older than the capture's epoch");
    const { frame } = packet;
    const options: BlockOption[] = [];
    if (packet.comment !== undefined) options.push(textOption(OPTION.comment, packet.comment));
    if (packet.direction !== undefined) {
      options.push({
        code: OPTION.packetFlags,
        value: Uint8Array.of(0, 0, 0, DIRECTION_FLAG[packet.direction]),
      });
    }
    const bodyBytes = 20 + padded(frame.length);
    if (this.length + 12 + bodyBytes + optionsLength(options) > this.bytesMax) {
      this.omittedCount++;
      return false;
    }
    const at = this.startBlock(BLOCK.enhancedPacket, bodyBytes, options);
    const timestamp = this.nanoseconds(packet.timestampMs);
    this.newest = timestamp;
    writeU32(this.buffer, at, packet.interface);
    writeU32(this.buffer, at + 4, Number(timestamp >> 32n));
    writeU32(this.buffer, at + 8, Number(timestamp & 0xffff_ffffn));
    writeU32(this.buffer, at + 12, frame.length);
    writeU32(this.buffer, at + 16, frame.length);
    this.buffer.set(frame, at + 20);
    this.writeOptions(options, at + bodyBytes);
    return true;
  }

  /** The capture so far: a complete file, in bytes of its own. */
  bytes(): Uint8Array {
    return this.buffer.slice(0, this.length);
  }

  /**
   * The blocks since the last time, whole ones, for who writes them on; room for `bytesMax` bytes is there again. When
   * packets were left out, their number stands behind those that were not.
   */
  take(): Uint8Array {
    if (this.omittedCount > this.reportedCount) this.writeStatistics();
    const taken = this.bytes();
    this.length = 0;
    return taken;
  }

  /** An interface statistics block, of the first interface. */
  private writeStatistics(): void {
    this.reportedCount = this.omittedCount;
    const value = new Uint8Array(8);
    writeU32(value, 4, this.omittedCount);
    const options = [{ code: OPTION.droppedByInterface, value }];
    const at = this.startBlock(BLOCK.statistics, 12, options);
    writeU32(this.buffer, at + 4, Number(this.newest >> 32n));
    writeU32(this.buffer, at + 8, Number(this.newest & 0xffff_ffffn));
    this.writeOptions(options, at + 12);
  }

  private nanoseconds(timestampMs: number): bigint {
    const wholeMs = Math.floor(timestampMs);
    const rest = Math.round((timestampMs - wholeMs) * 1_000_000);
    return BigInt(this.epochMs + wholeMs) * 1_000_000n + BigInt(rest);
  }

  /** Makes room for a block and writes its frame. The body is zero. @returns where the body starts. */
  private startBlock(type: number, bodyBytes: number, options: readonly BlockOption[]): number {
    const total = 12 + bodyBytes + optionsLength(options);
    this.reserve(total);
    const start = this.length;
    writeU32(this.buffer, start, type);
    writeU32(this.buffer, start + 4, total);
    writeU32(this.buffer, start + total - 4, total);
    this.length += total;
    return start + 8;
  }

  private writeOptions(options: readonly BlockOption[], offset: number): void {
    let at = offset;
    for (const { code, value } of options) {
      writeU16(this.buffer, at, code);
      writeU16(this.buffer, at + 2, value.length);
      this.buffer.set(value, at + 4);
      at += 4 + padded(value.length);
    }
    if (options.length > 0) writeU32(this.buffer, at, OPTION.end);
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const grown = new Uint8Array(Math.max(this.buffer.length * 2, this.length + bytes));
    grown.set(this.buffer);
    this.buffer = grown;
  }
}

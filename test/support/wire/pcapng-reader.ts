/** Reads back the captures that `PcapngWriter` writes; big-endian sections of Ethernet only. For tests. */
import { AssertionError } from "#core/base/assert.ts";
import { readU16, readU32 } from "#core/base/bytes.ts";

export interface ReadInterface {
  readonly name: string;
  readonly description: string | undefined;
  readonly linkType: number;
  readonly timestampResolution: number;
}

export interface ReadPacket {
  readonly interface: number;
  readonly timestampNs: bigint;
  readonly frame: Uint8Array;
  readonly comment: string | undefined;
  readonly direction: "in" | "out" | undefined;
}

export interface ReadCapture {
  readonly interfaces: ReadInterface[];
  readonly packets: ReadPacket[];
  /** What the last statistics block says of packets that were left out. */
  lost: number;
}

function check(condition: boolean, message: string): void {
  if (!condition) throw new AssertionError(`pcapng: ${message}`);
}

function readOptions(bytes: Uint8Array, start: number, end: number): Map<number, Uint8Array> {
  const options = new Map<number, Uint8Array>();
  for (let at = start; at < end; ) {
    const code = readU16(bytes, at);
    const length = readU16(bytes, at + 2);
    if (code === 0) {
      check(at + 4 === end && length === 0, "the end mark closes the options");
      return options;
    }
    check(at + 4 + length <= end, "an option is inside its block");
    options.set(code, bytes.subarray(at + 4, at + 4 + length));
    at += 4 + ((length + 3) & ~3);
  }
  check(start === end, "options have an end mark");
  return options;
}

function text(value: Uint8Array | undefined): string | undefined {
  return value === undefined ? undefined : new TextDecoder("utf-8", { fatal: true }).decode(value);
}

function readInterface(bytes: Uint8Array, at: number, end: number): ReadInterface {
  const options = readOptions(bytes, at + 8, end);
  return {
    name: text(options.get(2)) ?? "",
    description: text(options.get(3)),
    linkType: readU16(bytes, at),
    timestampResolution: options.get(9)?.[0] ?? 6,
  };
}

function readPacket(bytes: Uint8Array, at: number, end: number): ReadPacket {
  const captured = readU32(bytes, at + 12);
  check(captured === readU32(bytes, at + 16), "packets are whole");
  const options = readOptions(bytes, at + 20 + ((captured + 3) & ~3), end);
  const flags = (options.get(2)?.[3] ?? 0) & 3;
  return {
    interface: readU32(bytes, at),
    timestampNs: (BigInt(readU32(bytes, at + 4)) << 32n) | BigInt(readU32(bytes, at + 8)),
    frame: bytes.slice(at + 20, at + 20 + captured),
    comment: text(options.get(1)),
    direction: ([undefined, "in", "out"] as const)[flags],
  };
}

function readLost(bytes: Uint8Array, at: number, end: number): number {
  const value = readOptions(bytes, at + 12, end).get(5);
  check(value?.length === 8, "a statistics block counts lost packets in 8 bytes");
  return value === undefined ? 0 : readU32(value, 4);
}

/** Reads a capture. Throws on anything that the format does not allow. */
export function readPcapng(bytes: Uint8Array): ReadCapture {
  const capture: ReadCapture = { interfaces: [], packets: [], lost: 0 };
  let at = 0;
  while (at < bytes.length) {
    const type = readU32(bytes, at);
    const total = readU32(bytes, at + 4);
    check(total >= 12 && total % 4 === 0 && at + total <= bytes.length, "a block's length fits");
    check(readU32(bytes, at + total - 4) === total, "a block ends with its length");
    const body = at + 8;
    const end = at + total - 4;
    if (at === 0) {
      check(
        type === 0x0a0d0d0a && readU32(bytes, body) === 0x1a2b3c4d,
        "a big-endian section starts the file",
      );
      readOptions(bytes, body + 16, end);
    } else if (type === 1) capture.interfaces.push(readInterface(bytes, body, end));
    else if (type === 6) capture.packets.push(readPacket(bytes, body, end));
    else if (type === 5) capture.lost = readLost(bytes, body, end);
    else check(false, `no block of type ${type} is expected`);
    at += total;
  }
  return capture;
}

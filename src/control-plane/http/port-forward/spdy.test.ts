// Frames and header blocks of SPDY/3.1 (SPDY Protocol draft 3.1 §2.2, §2.6), written here by hand, and bytes of anybody.
import { constants, createDeflate } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HeaderReader, headerDictionary } from "./header-reader.node.ts";
import {
  FRAME_BYTES_MAX,
  FrameReader,
  SpdyError,
  type SpdyFrame,
  writeData,
  writePing,
  writeReply,
} from "./spdy-frames.ts";

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(" ", ""), "hex");
}

/** Compresses header blocks one after the other, as a client does. */
class Compressor {
  private readonly deflate = createDeflate({ dictionary: headerDictionary() });
  private parts: Buffer[] = [];

  constructor() {
    this.deflate.on("data", (part: Buffer) => this.parts.push(part));
  }

  async write(plain: Uint8Array): Promise<Buffer> {
    await new Promise<void>((resolve) => {
      this.deflate.write(plain, () => this.deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    });
    return Buffer.concat(this.parts.splice(0));
  }
}

function block(headers: Readonly<Record<string, string>>): Buffer {
  const texts = Object.entries(headers).flat();
  const number = (value: number): Buffer => hex(value.toString(16).padStart(8, "0"));
  return Buffer.concat([
    number(texts.length / 2),
    ...texts.flatMap((text) => [number(text.length), Buffer.from(text)]),
  ]);
}

describe("frames", () => {
  const STREAM = hex("80030001 0100000c 80000005 00000000 e000 abcd");
  const BYTES = Buffer.concat([
    STREAM,
    hex("00000005 00000003 616263"),
    hex("00000005 01000000"),
    hex("80030006 00000004 00000007"),
    hex("80030003 00000008 00000005 00000005"),
    hex("80030009 00000008 00000000 00000000"),
    hex("80030004 00000004 00000000"),
    hex("80030007 00000008 00000000 00000000"),
  ]);
  const FRAMES: readonly SpdyFrame[] = [
    { kind: "syn-stream", streamId: 5, isLast: true, block: Uint8Array.from([0xab, 0xcd]) },
    { kind: "data", streamId: 5, isLast: false, bytes: Uint8Array.from([0x61, 0x62, 0x63]) },
    { kind: "data", streamId: 5, isLast: true, bytes: new Uint8Array(0) },
    { kind: "ping", id: 7 },
    { kind: "reset", streamId: 5 },
    { kind: "other" },
    { kind: "other" },
    { kind: "go-away" },
  ];

  function plain(frame: SpdyFrame): SpdyFrame {
    if (frame.kind === "data") return { ...frame, bytes: Uint8Array.from(frame.bytes) };
    return "block" in frame ? { ...frame, block: Uint8Array.from(frame.block) } : frame;
  }

  it("are the same however their bytes come in pieces", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: BYTES.length }), { maxLength: 12 }), (cuts) => {
        const reader = new FrameReader();
        const ends = [...cuts.toSorted((a, b) => a - b), BYTES.length];
        const read = ends.flatMap((end, index) => reader.push(BYTES.subarray(ends[index - 1] ?? 0, end)));
        expect(read.map(plain)).toEqual(FRAMES);
      }),
    );
  });

  it("that are written are read again", () => {
    const bytes = Buffer.concat([writeData(9, Buffer.from("x"), true), writePing(3)]);
    expect(new FrameReader().push(bytes).map(plain)).toEqual([
      { kind: "data", streamId: 9, isLast: true, bytes: Uint8Array.from([0x78]) },
      { kind: "ping", id: 3 },
    ]);
  });

  it.each([
    ["another version", "80020001 0000000a", /not of SPDY version 3/],
    ["a stream without its fields", "80030001 00000004 00000001", /cut off/],
    ["a ping without its id", "80030006 00000001 00", /cut off/],
    ["headers of 16 MiB", "80030001 00ffffff", /the most is 16384/],
    ["data of 16 MiB", "00000001 00ffffff", new RegExp(`the most is ${FRAME_BYTES_MAX}`)],
  ])("%s is an error", (_, text, message) => {
    expect(() => new FrameReader().push(hex(text))).toThrow(message);
  });
});

describe("header blocks", () => {
  it("are one compressed text over the whole connection, whose names are in small letters", async () => {
    const [compressor, reader] = [new Compressor(), new HeaderReader()];
    for (const port of ["80", "443", "80"]) {
      const bytes = await compressor.write(block({ Streamtype: "data", port }));
      expect([...(await reader.read(bytes))]).toEqual([
        ["streamtype", "data"],
        ["port", port],
      ]);
    }
    reader.close();
  });

  it("a reply's is what zlib reads with the dictionary, and empty", async () => {
    const reader = new HeaderReader();
    const [first, second] = [true, false].map((isFirst) => new FrameReader().push(writeReply(1, isFirst))[0]);
    if (first?.kind !== "headers" || second?.kind !== "headers") throw new Error("no replies");
    expect((await reader.read(first.block)).size).toBe(0);
    expect((await reader.read(second.block)).size).toBe(0);
    reader.close();
  });

  it.each([
    ["a block that stands for 10 MB", Buffer.alloc(10_000_000), /too long/],
    ["a name behind its end", hex("00000001 000000ff 61"), /cut off/],
    ["4 294 967 295 names", hex("ffffffff"), /the most is 64/],
    ["nothing", hex(""), /cut off/],
  ])("%s is an error", async (_, plain, message) => {
    const reader = new HeaderReader();
    await expect(reader.read(await new Compressor().write(plain))).rejects.toThrow(message);
    reader.close();
  });

  it("bytes that are not compressed are an error, and so is what follows", async () => {
    const reader = new HeaderReader();
    for (let time = 0; time < 2; time++)
      await expect(reader.read(Buffer.from("port: 80"))).rejects.toThrow(/not compressed as it should be/);
    reader.close();
  });
});

describe("bytes of anybody", () => {
  it("are frames or a SpdyError, and never more than they bring", async () => {
    const bits = fc.uint8Array({ maxLength: 64 });
    const framed = fc
      .tuple(fc.constantFrom(0x80, 0x00), fc.nat({ max: 4 }), fc.nat({ max: 12 }), bits)
      .map(([first, version, type, body]) =>
        Buffer.concat([Buffer.from([first, version, 0, type, 0, 0, 0, body.length]), body]),
      );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(bits, framed), { maxLength: 6 }), async (parts) => {
        const [frames, headers] = [new FrameReader(), new HeaderReader()];
        try {
          for (const part of parts)
            for (const frame of frames.push(part)) if ("block" in frame) await headers.read(frame.block);
        } catch (error) {
          expect(error).toBeInstanceOf(SpdyError);
        }
        headers.close();
      }),
    );
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "#test/support/any-text.ts";
import { Utf16Decoder, describeFormat, detectEncoding } from "./log-encoding.ts";
import { findingsOf } from "./findings.ts";
import { readLog } from "./read-log.ts";
import { buildSignatures } from "./signatures.ts";

const SIGNATURES = buildSignatures();

type Utf16 = "utf-16le" | "utf-16be";

function encodeUtf16(text: string, encoding: Utf16): Uint8Array {
  return Uint8Array.from(
    Array.from({ length: text.length }, (_, index) => text.charCodeAt(index)).flatMap((unit) =>
      encoding === "utf-16le" ? [unit & 0xff, unit >> 8] : [unit >> 8, unit & 0xff],
    ),
  );
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

async function shown(bytes: Uint8Array, size: number = 1_000): Promise<unknown> {
  const log = await readLog(inPieces(bytes, size), SIGNATURES);
  if ("notALog" in log) return log.notALog;
  return {
    encoding: log.encoding,
    lines: log.lines,
    isBinary: log.isBinary,
    findings: findingsOf(log).map(({ error, firstLine, line }) => `${error.id}@${firstLine} ${line}`),
  };
}

// U+4E0A has the byte of a line feed in it.
const TEXT = "上海 节点\r\nNew-HnsNetwork : 找不到适配器。 0x803b0006\r\nEnde: größer\r\n";
const FOUND = ["hcn-e-adapter-not-found@2 New-HnsNetwork : 找不到适配器。 0x803b0006"];

describe("readLog", () => {
  it.each([
    ["utf-16le", "\ufeff"],
    ["utf-16be", "\ufeff"],
  ] as const)("reads %s with a byte order mark, however it is cut", async (encoding, mark) => {
    for (const size of [1, 2, 3, 7, 1_000]) {
      expect(await shown(encodeUtf16(mark + TEXT, encoding), size)).toEqual({
        encoding,
        lines: 3,
        isBinary: false,
        findings: FOUND,
      });
    }
  });

  it.each(["utf-16le", "utf-16be"] as const)("knows %s of plain letters without a mark", async (encoding) => {
    const text = "An adapter was not found.\r\n".repeat(5);
    expect(await shown(encodeUtf16(text, encoding))).toMatchObject({ encoding, lines: 5 });
  });

  it("reads UTF-8, and code pages for their ASCII", async () => {
    expect(await shown(new TextEncoder().encode(TEXT))).toMatchObject({ encoding: "utf-8", findings: FOUND });
    const latin1 = Uint8Array.from("größer: 0x803b0006", (letter) => letter.charCodeAt(0));
    expect(await shown(latin1)).toMatchObject({
      findings: [expect.stringMatching(/^hcn-e-adapter-not-found@1/)],
    });
  });

  it("says of garbage that it is no text, and of nothing nothing", async () => {
    const garbage = Uint8Array.from({ length: 5_000 }, (_, index) => (index * 7) % 256);
    expect(await shown(garbage)).toMatchObject({ isBinary: true, findings: [] });
    expect(await shown(new Uint8Array(0))).toEqual({
      encoding: "utf-8",
      lines: 0,
      isBinary: false,
      findings: [],
    });
  });

  it("tells an event log, a zip, gzip and a capture from a log", async () => {
    expect(await shown(new TextEncoder().encode("ElfFile\u0000…"))).toMatch(/event log/);
    expect(await shown(Uint8Array.of(0x50, 0x4b, 3, 4, 0))).toMatch(/zip/);
    expect(await shown(Uint8Array.of(0x1f, 0x8b, 8))).toMatch(/gzip/);
    expect(await shown(Uint8Array.of(0x0a, 0x0d, 0x0d, 0x0a, 1))).toMatch(/capture/);
    expect(describeFormat(new TextEncoder().encode("I0102 x"))).toBeUndefined();
  });

  it("never throws, whatever the bytes are", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 200 }),
        fc.integer({ min: 1, max: 60 }),
        async (bytes, size) => {
          await shown(bytes, size);
        },
      ),
    );
  });
});

describe("Utf16Decoder", () => {
  it.each(["utf-16le", "utf-16be"] as const)(
    "equals the platform on any %s, however it is cut",
    (encoding) => {
      fc.assert(
        fc.property(anyText(30), fc.integer({ min: 1, max: 7 }), (text, size) => {
          const decoder = new Utf16Decoder(encoding);
          const bytes = encodeUtf16(text, encoding);
          const out: number[] = [];
          for (let at = 0; at < bytes.length; at += size)
            out.push(...decoder.decode(bytes.subarray(at, at + size)));
          expect(Uint8Array.from(out)).toEqual(new TextEncoder().encode(text));
        }),
      );
    },
  );

  it("finds the encoding by its mark before all else", () => {
    expect(detectEncoding(Uint8Array.of(0xff, 0xfe))).toBe("utf-16le");
    expect(detectEncoding(Uint8Array.of(0xfe, 0xff))).toBe("utf-16be");
    expect(detectEncoding(Uint8Array.of(0xef, 0xbb, 0xbf))).toBe("utf-8");
  });
});

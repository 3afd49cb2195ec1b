// Archives of collectors, and those that somebody made to do harm (APPNOTE.TXT §4.3).
import { crc32, deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "#core/base/encodings.ts";
import { Prng } from "#core/base/prng.ts";
import { filesOf, healthyNode } from "#test/support/doctor/healthy-node.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { doctor } from "./doctor.ts";
import { runMullion } from "./program.ts";
import { isZip, readZip } from "./zip.ts";

interface Packed {
  readonly name: string;
  readonly content: Uint8Array;
  /** What the archive says, where it lies. */
  readonly says?: Partial<Record<"size" | "checksum" | "flags" | "method", number>>;
}

/** An archive, written by the book and by no code that reads it. */
function zipOf(files: readonly Packed[]): Uint8Array {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, says = {} } of files) {
    const data = deflateRawSync(content);
    const [size, checksum] = [says.size ?? content.length, says.checksum ?? crc32(content)];
    const title = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(says.flags ?? 0, 2);
    common.writeUInt16LE(says.method ?? 8, 4);
    common.writeUInt32LE(checksum, 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(title.length, 22);
    const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), common, title, data]);
    const central = Buffer.alloc(14);
    central.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from("PK\u0001\u0002\u0014\u0000"), common, central, title]));
    pieces.push(local);
    offset += local.length;
  }
  const rows = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\u0005\u0006");
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(rows.length, 12);
  end.writeUInt32LE(offset, 16);
  return new Uint8Array(Buffer.concat([...pieces, rows, end]));
}

const TEXT = encodeUtf8("hello\n");

describe("an archive", () => {
  it("is its files, and says nothing of its folders", () => {
    const bytes = zipOf([
      { name: "node/", content: new Uint8Array() },
      { name: String.raw`node\a.txt`, content: TEXT },
      { name: "node/empty.txt", content: new Uint8Array() },
    ]);
    expect(isZip(bytes)).toBe(true);
    expect([...readZip(bytes)].map((entry) => [entry.name, "bytes" in entry && entry.bytes.length])).toEqual([
      ["node/a.txt", 6],
      ["node/empty.txt", 0],
    ]);
  });

  it.each<readonly [string, Packed, RegExp]>([
    ["a name above the folder", { name: "../evil.txt", content: TEXT }, /leaves the folder/u],
    [
      "a name above it, for Windows",
      { name: String.raw`a\..\..\evil.txt`, content: TEXT },
      /leaves the folder/u,
    ],
    ["a name from the root", { name: "/etc/passwd", content: TEXT }, /leaves the folder/u],
    ["a name on a drive", { name: String.raw`C:\k\config`, content: TEXT }, /leaves the folder/u],
    ["a name that steers a terminal", { name: "a\u001b[2J.txt", content: TEXT }, /steer a terminal/u],
    [
      "a bomb",
      { name: "a.txt", content: new Uint8Array(1_000_000), says: { size: 10 } },
      /more than it says/u,
    ],
    [
      "a size that is not read",
      { name: "a.txt", content: TEXT, says: { size: 0x7f_ff_ff_ff } },
      /more than is read/u,
    ],
    [
      "a size that is less",
      { name: "a.txt", content: TEXT, says: { size: 7 } },
      /not what the archive says/u,
    ],
    [
      "another checksum",
      { name: "a.txt", content: TEXT, says: { checksum: 1 } },
      /not what the archive says/u,
    ],
    ["a password", { name: "a.txt", content: TEXT, says: { flags: 1 } }, /encrypted/u],
    ["another method", { name: "a.txt", content: TEXT, says: { method: 93 } }, /packed in another way/u],
    ["no deflate", { name: "a.txt", content: TEXT, says: { method: 0 } }, /not what the archive says/u],
  ])("with %s: is refused, and the rest is read", (_, bad, says) => {
    const [first, second] = [...readZip(zipOf([bad, { name: "b.txt", content: TEXT }]))];
    expect(first).toMatchObject({ name: bad.name, reason: expect.stringMatching(says) as string });
    expect(second).toMatchObject({ name: "b.txt", bytes: TEXT });
  });

  it("that is cut anywhere, or has other bytes in it, ends without an exception", () => {
    const whole = zipOf([
      { name: "a.txt", content: TEXT },
      { name: "b.txt", content: encodeUtf8("x".repeat(5_000)) },
    ]);
    const prng = new Prng(7);
    for (let end = 0; end < whole.length; end++)
      expect(() => [...readZip(whole.subarray(0, end))]).not.toThrow();
    for (let round = 0; round < 500; round++) {
      const bytes = whole.slice();
      for (let change = 0; change < 3; change++) bytes[prng.below(bytes.length)] = prng.below(256);
      expect(() => [...readZip(bytes)]).not.toThrow();
    }
  });
});

async function run(files: Readonly<Record<string, string | Uint8Array>>, ...argv: readonly string[]) {
  const terminal = new MemoryTerminal(files as Readonly<Record<string, string>>);
  const code = await runMullion({
    argv: ["doctor", ...argv],
    verbs: { doctor },
    terminal,
    version: "0",
    isDebug: false,
  });
  return { code, terminal };
}

describe("doctor", () => {
  const documents = healthyNode();
  documents.loadBalancers.splice(0, 1);
  const packed = Object.entries(filesOf(documents)).map(([name, text]) => ({
    name,
    content: encodeUtf8(text),
  }));
  const files = { "node.zip": zipOf([...packed, { name: "../../x", content: TEXT }]) };

  it("reads an archive as it reads a folder, and says what it refused", async () => {
    const { code, terminal } = await run(files, "node.zip");
    expect(code).toBe(1);
    expect(terminal.output).toMatch(/^1\. win-1: certain: load-balancer-missing/u);
    expect(terminal.output).toContain("node.zip/node/policy.txt:2: 2 load balancers, none for");
    expect(terminal.output).toContain("node.zip/../../x:1: its name leaves the folder of the archive");
  });

  it("prints JUnit: findings fail", async () => {
    const { terminal } = await run(files, "node.zip", "-o", "junit");
    expect(terminal.output).toMatch(
      /<testsuites name="mullion doctor" tests="\d+" failures="2" errors="0" skipped="\d+">/u,
    );
    expect(terminal.output).toMatch(
      /<failure type="certain" message="HNS has no load balancer for 10\.96\.0\.10:53/u,
    );
  });

  it("prints SARIF: a result at the first line of evidence, the others related", async () => {
    const { terminal } = await run(files, "node.zip", "-o", "sarif");
    const { runs } = JSON.parse(terminal.output) as {
      runs: {
        results: { ruleId: string; level: string; locations: unknown[]; relatedLocations: unknown[] }[];
      }[];
    };
    const [first] = runs[0]!.results;
    expect(first).toMatchObject({ ruleId: "load-balancer-missing", level: "error" });
    expect(first?.locations).toMatchObject([
      { physicalLocation: { artifactLocation: { uri: "node.zip/node/objects.json" } } },
    ]);
    // Its back end, and the list without it; which logs would say why is no place of the evidence.
    expect(first?.relatedLocations).toHaveLength(2);
    expect(JSON.stringify(first)).toContain("collect next: ");
  });

  it("prints Markdown that shows nothing but itself", async () => {
    const { terminal } = await run(files, "node.zip", "-o", "markdown");
    expect(terminal.output).toMatch(/^## mullion doctor: win-1\n\n2 findings; /u);
    expect(terminal.output).toContain("- `node.zip/node/policy.txt:2`: 2 load balancers, none for");
    expect(terminal.output).toContain("- proved: pod/shop/web-1 → 10.96.0.10:53 arrives");
    expect(terminal.output).toContain("rule LB\\_DSR\\_10.0.0.11");
  });
});

import { mkdtempSync, openSync, closeSync, readFileSync, readdirSync, rmSync, writeSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { DUMP_SIZES, largeDump, largeDumpText } from "#test/support/cluster/large-dump.ts";
import { YAML_PIECES, damageText } from "#test/support/damaged-text.ts";
import { readInput } from "./read-input.ts";

function* chunksOf(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function longText(
  name: string,
  text: string,
  size: number,
): { name: string; text: string; chunks: Uint8Array[] } {
  return { name, text: text.slice(0, size), chunks: [...chunksOf(new TextEncoder().encode(text), size)] };
}

/** All of a reading as text: addresses are big integers. */
function shown(read: unknown): string {
  return JSON.stringify(read, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
}

describe("an input that is read as a stream, at length", () => {
  it("says of a dump longer than what is held as a whole what its text says", () => {
    const text = largeDumpText({ ...DUMP_SIZES["100"], network: "vxlan" });
    const read = readInput([longText("dump.yaml", text, 1_000_003)]);
    expect("input" in read && read.input.objects.length).toBeGreaterThan(3_000);
    expect(shown(read)).toBe(shown(readInput([{ name: "dump.yaml", text }])));
  });

  it("says of damaged dumps what their texts say", () => {
    const prng = new Prng(20_260_301);
    const texts = readdirSync("examples/dumps")
      .filter((name) => !name.endsWith(".md"))
      .map((name) => readFileSync(`examples/dumps/${name}/dump.yaml`, "utf8"));
    for (let round = 0; round < 60; round++) {
      const text = damageText(texts[prng.below(texts.length)] ?? "", YAML_PIECES, prng);
      const size = 1 + prng.below(20_000);
      // A zero byte is told at its own place in a text that is read as a whole.
      if (text.includes("\u0000")) continue;
      const given = { name: "dump.yaml", text };
      // A half of a surrogate pair has no bytes of its own.
      const written = { ...given, text: Buffer.from(text).toString() };
      const read = readInput([longText("dump.yaml", text, size)]);
      expect(shown(read)).toBe(shown(readInput([written])));
    }
  });
});

/** V8: a string has at most 2 ** 29 - 24 characters. */
const LONGEST_STRING = 2 ** 29;

describe("a file longer than the longest string", () => {
  let folder = "";
  let path = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "mullion-long-dump-"));
    path = join(folder, "dump.yaml");
    const file = openSync(path, "w");
    const secret = (index: number): string =>
      `- apiVersion: v1\n  data:\n${Array.from({ length: 8_000 }, (_, line) => `    k${line}: ${"QUJD".repeat(24)}\n`).join("")}  kind: Secret\n  metadata:\n    name: s${index}\n    namespace: team-01\n  type: Opaque\n`;
    const filler = secret(0);
    let isFirst = true;
    let bytes = 0;
    for (const item of largeDump(DUMP_SIZES.small)) {
      bytes += writeSync(file, item);
      // The cluster lies around everything that is read and left.
      if (isFirst) while (bytes < LONGEST_STRING + 1_000_000) bytes += writeSync(file, filler);
      isFirst = false;
    }
    closeSync(file);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("is read by mullion in a small part of its own size", { timeout: 300_000 }, () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["--max-old-space-size=400", "bin/mullion.js", "get", "nodes", "-f", path, "-o", "name"],
      { encoding: "utf8" },
    );
    expect({ status, stderr: stderr.slice(-2_000) }).toMatchObject({ status: 0 });
    expect(stdout.trim().split("\n")).toHaveLength(DUMP_SIZES.small.nodes);
  });
});

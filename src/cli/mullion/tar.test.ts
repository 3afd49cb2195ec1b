// What the collectors of Rancher and RKE2 make (`tar -czf`), and archives that somebody made to do harm (POSIX.1-2017, pax).
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "#core/base/encodings.ts";
import { Prng } from "#core/base/prng.ts";
import { filesOf, healthyNode } from "#test/support/doctor/healthy-node.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { doctor } from "./doctor.ts";
import { gunzip, isTar, readTar } from "./tar.ts";

interface Member {
  readonly name: string;
  readonly content?: Uint8Array;
  readonly type?: string;
  readonly prefix?: string;
  /** What the header says, where it lies. */
  readonly size?: number;
}

/** One header and its blocks, written by the book and by no code that reads it. */
function memberOf({ name, content = new Uint8Array(), type = "0", prefix = "", size }: Member): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0, 100);
  header.write("0000644\0", 100);
  header.write(`${(size ?? content.length).toString(8).padStart(11, "0")}\0`, 124);
  header.write(" ".repeat(8), 148);
  header.write(type, 156);
  header.write("ustar\u000000", 257);
  header.write(prefix, 345, 155);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

function tarOf(...members: readonly Member[]): Uint8Array {
  return new Uint8Array(Buffer.concat([...members.map(memberOf), Buffer.alloc(1024)]));
}

function paxOf(path: string): Member {
  const line = ` path=${path}\n`;
  const length = [1, 2, 3]
    .map((digits) => line.length + digits)
    .find((sum, at) => `${sum}`.length === at + 1);
  return { name: "PaxHeader", type: "x", content: encodeUtf8(`${length}${line}`) };
}

const TEXT = encodeUtf8("hello\n");
const LONG = `node/${"deep/".repeat(30)}kube-proxy.log`;

function named(bytes: Uint8Array): readonly (readonly [string, number | string])[] {
  return [...readTar(bytes)].map((entry) => [
    entry.name,
    "bytes" in entry ? entry.bytes.length : entry.reason,
  ]);
}

describe("an archive", () => {
  it("is its files, and says nothing of its folders", () => {
    const bytes = tarOf(
      { name: "./", type: "5" },
      { name: "./network/hns/network.txt", content: TEXT },
      { name: "policy.txt", prefix: "network/hns", content: TEXT },
      { name: "empty.txt" },
    );
    expect(isTar(bytes)).toBe(true);
    expect(named(bytes)).toEqual([
      ["network/hns/network.txt", 6],
      ["network/hns/policy.txt", 6],
      ["empty.txt", 0],
    ]);
  });

  it.each<readonly [string, Member]>([
    ["pax", paxOf(LONG)],
    ["GNU tar", { name: "././@LongLink", type: "L", content: encodeUtf8(`${LONG}\0`) }],
  ])("has names of any length, by %s", (_by, before) => {
    const bytes = tarOf(before, { name: "cut", content: TEXT }, { name: "next.txt", content: TEXT });
    expect(named(bytes)).toEqual([
      [LONG, 6],
      ["next.txt", 6],
    ]);
  });

  it.each<readonly [string, readonly Member[], RegExp]>([
    ["a name above the folder", [{ name: "../evil.txt", content: TEXT }], /leaves the folder/u],
    ["a name above it, by pax", [paxOf("a/../../evil.txt"), { name: "x" }], /leaves the folder/u],
    ["a name from the root", [{ name: "/etc/passwd", content: TEXT }], /leaves the folder/u],
    ["a name on a drive", [{ name: String.raw`C:\k\config`, content: TEXT }], /leaves the folder/u],
    ["a name that steers a terminal", [{ name: "a\u001b[2J.txt" }], /steer a terminal/u],
    ["a link", [{ name: "link", type: "2" }], /a link or a device/u],
    ["more than it has", [{ name: "cut.txt", content: TEXT, size: 4_000 }], /ends within it/u],
    ["a name twice", [{ name: "a" }, { name: "a" }], /another file/u],
  ])("refuses %s", (_what, members, reason) => {
    const reasons = [...readTar(tarOf(...members))].flatMap((each) =>
      "reason" in each ? [each.reason] : [],
    );
    expect(reasons[0]).toMatch(reason);
  });

  it("whose header is damaged is read up to there, and says so", () => {
    const bytes = tarOf({ name: "a.txt", content: TEXT }, { name: "b.txt", content: TEXT });
    bytes[1024 + 5] = 0x7a;
    expect(named(bytes)).toEqual([
      ["a.txt", 6],
      ["", "the archive is cut or broken from here on"],
    ]);
  });

  it("is read in any damaged form without an error", () => {
    const whole = tarOf(paxOf(LONG), { name: "x", content: TEXT }, { name: "y", content: TEXT });
    const prng = new Prng(7);
    for (let round = 0; round < 2_000; round++) {
      const bytes = Uint8Array.from(whole.subarray(0, 1 + prng.below(whole.length)));
      for (let count = 0; count < 3; count++) bytes[prng.below(bytes.length)] = prng.below(256);
      expect([...readTar(bytes)].length).toBeLessThan(20);
    }
  });
});

const FOLDER = "rancher_rke2_win-1_2026-01-01";

async function examine(files: Readonly<Record<string, Uint8Array>>): Promise<{ code: number; out: string }> {
  const terminal = new MemoryTerminal(files as unknown as Readonly<Record<string, string>>);
  const argv = ["doctor", ...Object.keys(files)];
  const code = await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
  return { code, out: `${terminal.output}${terminal.errors}` };
}

/** The files of a sound node, as `tar` packs them. */
function collected(change: (name: string, text: string) => string = (_name, text) => text): Uint8Array {
  const files = Object.entries(filesOf(healthyNode()));
  return tarOf(
    ...files.map(([name, text]) => ({ name: `./${name}`, content: encodeUtf8(change(name, text)) })),
  );
}

describe("mullion doctor", () => {
  it("reads a .tar.gz as the folder that was packed, and a .tar", async () => {
    for (const bytes of [gzipSync(collected()), collected()]) {
      const { code, out } = await examine({ [`${FOLDER}.tar.gz`]: new Uint8Array(bytes) });
      expect(out).toMatch(/^Nothing wrong found/u);
      expect(code).toBe(0);
    }
  });

  it("reads a single file that is compressed", async () => {
    const text =
      "E0101 00:00:00.000000 1 x.go:1] hcnCreateLoadBalancer failed in Win32: The specified port already exists. (0x803b0013)\n";
    const { out } = await examine({ "kube-proxy.log.gz": new Uint8Array(gzipSync(text)) });
    expect(out).toContain("port-already-exists");
  });

  it("names what is cut, and what is more than is read", async () => {
    const cut = new Uint8Array(gzipSync(collected()).subarray(0, 400));
    expect((await examine({ "cut.tar.gz": cut })).out).toContain("compressed with gzip, and cut or broken");
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(100_000)));
    expect(gunzip(bomb, 99_999)).toMatch(/more than is read/u);
    expect(gunzip(bomb, 100_000)).toHaveLength(100_000);
  });
});

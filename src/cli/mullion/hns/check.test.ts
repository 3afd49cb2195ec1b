/** `mullion hns check` and `repair` on folders of this machine, as a person calls them. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStateFolder } from "#hns/store/state-folder.node.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { putOf, storedObject } from "#test/support/hns/store.suite.ts";
import { runMullion } from "../program.ts";
import { check, repair } from "./check.ts";

const OPTIONS = { node: "w1", version: { Major: 15, Minor: 3 } } as const;
const NAMES = ["a", "b", "c", "d", "e"];

let root = "";
let folder = "";

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "mullion-check-"));
  folder = join(root, "state");
});

afterEach(() => rmSync(root, { recursive: true }));

async function run(...argv: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const terminal = new MemoryTerminal();
  const verbs = { hns: { check, repair } };
  const code = await runMullion({ argv: ["hns", ...argv], verbs, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors };
}

/** A folder with five networks, each a commit of its own. */
async function leaveNetworks(): Promise<void> {
  const opened = openStateFolder(folder, OPTIONS);
  for (const name of NAMES) await opened.write([putOf(storedObject("Network", name, name))]);
  await opened.close();
}

async function namesStored(): Promise<readonly string[]> {
  const opened = openStateFolder(folder, OPTIONS);
  const objects = await opened.list();
  await opened.close();
  return objects.map(({ id }) => id);
}

function change(name: string, edit: (bytes: Buffer) => Buffer): void {
  writeFileSync(join(folder, name), edit(readFileSync(join(folder, name))));
}

/** Flips the lowest bit of a byte of the text. */
function flip(text: string): (bytes: Buffer) => Buffer {
  return (bytes) => {
    const at = bytes.indexOf(text);
    expect(at).toBeGreaterThan(0);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return bytes;
  };
}

describe("mullion hns check and repair", () => {
  it("say that a whole folder is whole, and change nothing", async () => {
    await leaveNetworks();
    const before = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "base64")]);
    expect(await run("check", folder)).toEqual({
      code: 0,
      out: "All acknowledged changes are there: 5 objects after 5 changes and 1 opening; format 2.\n",
      err: "",
    });
    expect(await run("repair", folder)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Nothing to repair/) as unknown,
    });
    expect(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "base64")])).toEqual(
      before,
    );
  });

  it("tell a flipped bit in the log with file, place and count, and go back to the change before it", async () => {
    await leaveNetworks();
    change("changes-1.log", flip('"Name":"c"'));
    expect(() => openStateFolder(folder, OPTIONS)).toThrow(
      /byte \d+: the checksum is wrong there; 3 acknowledged changes are missing/,
    );
    const checked = await run("check", folder);
    expect(checked.code).toBe(1);
    expect(checked.out).toMatch(
      /^Damaged: 2 objects after 2 changes .*\nWhat is wrong:\n {2}changes-1\.log, byte \d+: the checksum is wrong there; 3 acknowledged changes are missing\n"mullion hns repair/,
    );
    const log = readFileSync(join(folder, "changes-1.log"));
    const repaired = await run("repair", folder);
    expect(repaired).toMatchObject({
      code: 1,
      out: expect.stringMatching(/3 acknowledged changes are missing/) as unknown,
    });
    expect(readFileSync(join(folder, "before-repair-1", "changes-1.log"))).toEqual(log);
    expect(await namesStored()).toEqual(["a", "b"]);
    expect((await run("check", folder)).code).toBe(0);
  });

  it("get all back when only the position or its lock is damaged", async () => {
    await leaveNetworks();
    rmSync(join(folder, "position"));
    expect(await run("check", folder)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/position is missing: it says which changes were acknowledged/) as unknown,
    });
    await run("repair", folder);
    expect(await namesStored()).toEqual(NAMES);
    writeFileSync(join(folder, "hns.db"), "no database".repeat(1_000));
    expect((await run("check", folder)).out).toContain("hns.db is damaged; it holds no objects");
    expect(await run("repair", folder)).toMatchObject({ code: 0 });
    expect(await namesStored()).toEqual(NAMES);
  });

  it.each([
    ["whole", (): void => undefined],
    ["damaged", (): void => writeFileSync(join(folder, "hns.db"), "no database".repeat(1_000))],
    ["gone", (): void => rmSync(join(folder, "hns.db"))],
  ] as const)("refuse a folder of a newer format whose lock is %s, and change no file", async (_, harm) => {
    await leaveNetworks();
    change("objects-1.snapshot", (bytes) => {
      const end = bytes.indexOf("\n");
      const head = bytes.subarray(9, end).toString().replace('"format":2', '"format":7');
      const sum = crc32(head).toString(16).padStart(8, "0");
      return Buffer.concat([Buffer.from(`${sum} ${head}`), bytes.subarray(end)]);
    });
    harm();
    const files = (): unknown =>
      readdirSync(folder).map((name) => [name, crc32(readFileSync(join(folder, name)))]);
    const before = files();
    for (const verb of ["check", "repair"]) {
      const { code, err } = await run(verb, folder);
      expect({ verb, code, files: files() }).toEqual({ verb, code: 2, files: before });
      expect(err).toMatch(/was written by a newer Mullion: its format is 7, and this one knows 2/);
    }
    expect(() => openStateFolder(folder, OPTIONS)).toThrow(folder);
    expect(files()).toEqual(before);
  });

  it("name the object that a damaged snapshot has lost, and keep the others", async () => {
    await leaveNetworks();
    // The end of the log is torn: the next opening writes a new snapshot.
    change("changes-1.log", (bytes) => bytes.subarray(0, -20));
    expect(await namesStored()).toEqual(NAMES);
    change("objects-2.snapshot", flip('"Name":"c"'));
    const { code, out } = await run("repair", folder);
    expect(code).toBe(1);
    expect(out).toMatch(
      /What is lost:\n {2}objects-2\.snapshot, byte \d+: the checksum of the Network c is wrong/,
    );
    expect(await namesStored()).toEqual(["a", "b", "d", "e"]);
  });

  it("print all of it as JSON", async () => {
    await leaveNetworks();
    const { code, out } = await run("check", folder, "-o", "json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      folder,
      format: 2,
      objects: 5,
      changes: 5,
      openings: 1,
      damages: [],
      recoveries: [],
    });
  });

  it.each([
    ["a folder that is not there", (): void => undefined, /There is no folder .*state/],
    ["an empty folder", (): unknown => mkdirSync(folder), /state is not a state folder: it is empty/],
    [
      "a folder of something else",
      () => {
        mkdirSync(folder);
        writeFileSync(join(folder, "notes.txt"), "");
      },
      /is not a state folder: it holds notes\.txt/,
    ],
  ] as const)("refuse %s with a sentence", async (_, prepare, sentence) => {
    prepare();
    for (const verb of ["check", "repair"]) {
      const { code, err } = await run(verb, folder);
      expect({ verb, code }).toEqual({ verb, code: 2 });
      expect(err).toMatch(sentence);
    }
    expect(existsSync(join(folder, "hns.db"))).toBe(false);
  });

  it.each(["position", "changes-1.log", "hns.db"])(
    "refuse a pipe in the place of %s, and do not wait for it",
    async (name) => {
      await leaveNetworks();
      rmSync(join(folder, name));
      execFileSync("mkfifo", [join(folder, name)]);
      for (const verb of ["check", "repair"]) {
        const { code, err } = await run(verb, folder);
        expect({ verb, code }).toEqual({ verb, code: 2 });
        expect(err).toContain(`${join(folder, name)} is not a file`);
      }
      expect(() => openStateFolder(folder, OPTIONS)).toThrow(/is not a file/);
    },
  );

  it("refuse a folder that a service has open", async () => {
    const opened = openStateFolder(folder, OPTIONS);
    for (const verb of ["check", "repair"]) {
      const { code, err } = await run(verb, folder);
      expect({ verb, code }).toEqual({ verb, code: 2 });
      expect(err).toContain(`is in use by process ${process.pid}`);
    }
    await opened.close();
  });

  it("do not ask a clock: files of 1971 and of 2100 are as good", async () => {
    await leaveNetworks();
    for (const [index, name] of readdirSync(folder).entries())
      utimesSync(
        join(folder, name),
        index % 2 === 0 ? 31_536_000 : 4_102_444_800,
        index % 2 === 0 ? 31_536_000 : 4_102_444_800,
      );
    expect((await run("check", folder)).code).toBe(0);
    expect(await namesStored()).toEqual(NAMES);
  });
});

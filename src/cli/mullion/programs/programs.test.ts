import { spawnSync } from "node:child_process";
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import type { Installation } from "../../programs/launchers.ts";
import { PROGRAMS } from "../../programs/table.ts";
import { runMullion } from "../program.ts";
import { splitRun } from "./commands.ts";
import { programsVerbs } from "./programs.ts";

/** What a bundle of the package in the test prints. */
interface Told {
  readonly args: readonly string[];
  readonly stdin: string;
  readonly word: string;
}
const BUNDLE = `const { readFileSync, writeSync } = require("node:fs");
writeSync(1, JSON.stringify({
  args: process.argv.slice(2), stdin: readFileSync(0, "utf8"), word: process.env.WORD ?? "",
}));
process.exitCode = 7;
`;

let folder = "";
let bin = "";
let installation: Installation;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "mullion-programs-")));
  bin = join(folder, "cni bin");
  mkdirSync(bin);
  // A package whose folder has a name that a shell would take apart, in a project of ES modules.
  const root = join(folder, "it's $HOME `here`");
  mkdirSync(join(root, "dist", "programs"), { recursive: true });
  cpSync("bin", join(root, "bin"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  for (const name of ["win-bridge", "host-local"]) {
    writeFileSync(join(root, "dist", "programs", `${name}.cjs`), BUNDLE);
    writeFileSync(join(root, "dist", "programs", `${name}.exe`), `MZ ${name}`);
  }
  installation = { root, node: process.execPath, platform: "linux", executable: undefined };
});
afterEach(() => rmSync(folder, { recursive: true }));

async function mullion(...argv: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const terminal = new MemoryTerminal();
  const verbs = { programs: programsVerbs(installation) };
  const code = await runMullion({ argv, verbs, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors };
}

function run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const variables = { PATH: process.env["PATH"] ?? "", ...env };
  const { status, stdout, stderr } = spawnSync(program, args, {
    env: variables,
    input: '{"a":1}\n',
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

describe("mullion programs", () => {
  it("lists each with its kind and what it is", async () => {
    const { code, out } = await mullion("programs");
    expect(code).toBe(0);
    expect(out).toMatch(/^NAME +KIND +WHAT IT IS\nwin-bridge +CNI plugin +attaches pods /);
    expect(out).toMatch(/^kube-proxy +daemon +/m);
    expect(out.trim().split("\n")).toHaveLength(PROGRAMS.length + 1);
    expect(out.split("\n").filter((line) => line.length > 100)).toEqual([]);
  });

  it("lists them as names and as JSON", async () => {
    expect((await mullion("programs", "-o", "name")).out).toMatch(/^program\/win-bridge\n/);
    const { items } = JSON.parse((await mullion("programs", "-o", "json")).out) as { items: unknown[] };
    expect(items).toContainEqual({ name: "hnsdiag", kind: "tool", about: "lists the objects of an HNS" });
  });
});

describe("mullion programs install", () => {
  it("writes launchers of all, and says what it wrote", async () => {
    const { code, out, err } = await mullion("programs", "install", bin);
    expect({ code, err }).toEqual({ code: 0, err: `Installed ${PROGRAMS.length} programs.\n` });
    expect(out.split("\n").slice(0, 2)).toEqual([join(bin, "win-bridge"), join(bin, "win-overlay")]);
    expect(readdirSync(bin).toSorted()).toEqual(PROGRAMS.map(({ name }) => name).toSorted());
  });

  it("arguments, standard input, environment and exit code pass through the launcher", async () => {
    await mullion("programs", "install", bin, "win-bridge");
    const args = ["--a=b c", "", "$HOME", "--", "-x", "it's"];
    const { status, stdout, stderr } = run(join(bin, "win-bridge"), args, { WORD: "w" });
    expect({ status, stderr }).toEqual({ status: 7, stderr: "" });
    const reported: Told = { args, stdin: '{"a":1}\n', word: "w" };
    expect(JSON.parse(stdout)).toEqual(reported);
  });

  it("the launcher works through a link, too", async () => {
    await mullion("programs", "install", bin, "win-bridge");
    symlinkSync(join(bin, "win-bridge"), join(folder, "link"));
    expect(run(join(folder, "link"), ["x"])).toMatchObject({ status: 7, stderr: "" });
  });

  it("writes those that are named, and replaces its own", async () => {
    await mullion("programs", "install", bin, "win-bridge", "host-local", "host-local");
    expect(readdirSync(bin).toSorted()).toEqual(["host-local", "win-bridge"]);
    const { code, out, err } = await mullion("programs", "install", bin, "win-bridge");
    expect({ code, out, err }).toEqual({
      code: 0,
      out: `${join(bin, "win-bridge")} (replaced)\n`,
      err: "Installed 1 program.\n",
    });
  });

  it("never touches what is not Mullion's without --force, and then writes nothing", async () => {
    writeFileSync(join(bin, "host-local"), "\u007fELF");
    symlinkSync("/nowhere/flannel", join(bin, "flannel"));
    mkdirSync(join(bin, "nat"));
    const { code, out, err } = await mullion("programs", "install", bin);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    for (const name of ["host-local", "flannel", "nat"])
      expect(err).toContain(`mullion: ${join(bin, name)} is not Mullion's\n`);
    expect(err).toContain("Nothing was written.");
    expect(readdirSync(bin).toSorted()).toEqual(["flannel", "host-local", "nat"]);
  });

  it("replaces it with --force; of a link the link, not what it leads to", async () => {
    writeFileSync(join(folder, "theirs"), "theirs");
    symlinkSync(join(folder, "theirs"), join(bin, "host-local"));
    const { code, out } = await mullion("programs", "install", "--force", bin, "host-local");
    expect({ code, out }).toEqual({ code: 0, out: `${join(bin, "host-local")} (replaced)\n` });
    expect(lstatSync(join(bin, "host-local")).isFile()).toBe(true);
    expect(readFileSync(join(folder, "theirs"), "utf8")).toBe("theirs");
  });

  it("for Windows: the executable, and the script that it runs", async () => {
    installation = { ...installation, platform: "win32" };
    const { out } = await mullion("programs", "install", bin, "win-bridge");
    expect(out).toBe(`${join(bin, "win-bridge.exe")}\n`);
    expect(readFileSync(join(bin, "win-bridge.exe"), "utf8")).toBe("MZ win-bridge");
    expect(run(process.execPath, [join(bin, "win-bridge.cjs"), "x y"])).toMatchObject({ status: 7 });
    expect((await mullion("programs", "install", bin, "win-bridge")).out).toMatch(/ \(replaced\)\n$/);
    expect((await mullion("programs", "remove", bin)).err).toBe("Removed 1 program.\n");
    expect(readdirSync(bin)).toEqual([]);
    const { code, err } = await mullion("programs", "install", bin, "hnsdiag");
    expect(code).toBe(2);
    expect(err).toMatch(/hnsdiag\.exe" is missing \[bad-usage\]\n {4}A package from npm has it; /);
  });

  it.each([
    [
      ["install", "NONE"],
      /^mullion: there is no folder ".*none" \[bad-usage\]\n {4}Make it, or name the one /,
    ],
    [["install", "FILE"], /^mullion: ".*package\.json" is not a folder \[bad-usage\]\n/],
    [
      ["install", "/proc"],
      /^mullion: cannot write to "\/proc": .* \[bad-usage\]\n {4}Do it as a user who may/,
    ],
    [
      ["install", "BIN", "win-brigde"],
      /^mullion: there is no program "win-brigde" \[bad-usage\]\n {4}Did you mean win-bridge\? All of them: mullion programs\n/,
    ],
    [["remove", "BIN", "x"], /there is no program "x" \[bad-usage\]\n {4}All of them: mullion programs\n/],
    [["remove", "NONE"], /there is no folder ".*none" \[bad-usage\]\n {4}Name the folder that mullion /],
    [
      ["install"],
      /missing required argument 'dir' \[bad-usage\]\n {4}Write: mullion programs install <dir> \[name\.\.\.\]\. See: mullion programs install --help\n/,
    ],
    [["instal", "BIN"], /unknown verb 'instal' \[bad-usage\]\n {4}Did you mean install\? See: mullion /],
  ])("%j: exit 2, said in words", async (words, message) => {
    const places: Readonly<Record<string, string>> = {
      NONE: join(folder, "none"),
      FILE: join(folder, "package.json"),
      BIN: bin,
    };
    const { code, out, err } = await mullion("programs", ...words.map((word) => places[word] ?? word));
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(message);
    expect(readdirSync(bin)).toEqual([]);
  });
});

describe("mullion programs remove", () => {
  it("takes away what install wrote, and leaves the rest", async () => {
    await mullion("programs", "install", bin);
    writeFileSync(join(bin, "host-local"), "theirs");
    writeFileSync(join(bin, "bridge"), "theirs");
    const { code, out, err } = await mullion("programs", "remove", bin);
    expect({ code, err }).toEqual({ code: 0, err: `Removed ${PROGRAMS.length - 1} programs.\n` });
    expect(out).toContain(`${join(bin, "win-bridge")}\n`);
    expect(readdirSync(bin).toSorted()).toEqual(["bridge", "host-local"]);
  });

  it("what is named and not Mullion's is said, and ends with 1", async () => {
    await mullion("programs", "install", bin, "win-bridge");
    writeFileSync(join(bin, "host-local"), "theirs");
    expect(await mullion("programs", "remove", bin, "win-bridge", "host-local", "nat")).toEqual({
      code: 1,
      out: `${join(bin, "win-bridge")}\n`,
      err: `Removed 1 program.\nmullion: ${join(bin, "host-local")} is not Mullion's\n`,
    });
  });
});

describe("a launcher that cannot start its program", () => {
  it("says that the package is gone: to a runtime as JSON, with code 999", async () => {
    await mullion("programs", "install", bin, "win-bridge");
    rmSync(installation.root, { recursive: true });
    const called = run(join(bin, "win-bridge"), [], { CNI_COMMAND: "ADD" });
    expect({ status: called.status, stderr: called.stderr }).toEqual({ status: 1, stderr: "" });
    expect(JSON.parse(called.stdout)).toEqual({
      code: 999,
      msg: `win-bridge: ${join(installation.root, "bin", "start.cjs")} is missing`,
      details: "Install Mullion again, or write the launchers again: mullion programs install",
    });
    const typed = run(join(bin, "win-bridge"), []);
    expect(typed).toMatchObject({ status: 2, stdout: "" });
    expect(typed.stderr).toMatch(/^win-bridge: .* is missing\n {4}Install Mullion again/);
  });

  it("takes the Node of PATH when its own is gone, and MULLION_NODE before both", async () => {
    installation = { ...installation, node: join(folder, "no-node") };
    await mullion("programs", "install", bin, "win-bridge");
    const path = join(bin, "win-bridge");
    mkdirSync(join(folder, "path"));
    symlinkSync(process.execPath, join(folder, "path", "node"));
    expect(run(path, [], { PATH: join(folder, "path") })).toMatchObject({ status: 7 });
    const without = { PATH: join(folder, "none") };
    expect(run(path, [], { ...without, MULLION_NODE: process.execPath })).toMatchObject({ status: 7 });
    expect(run(path, [], without)).toMatchObject({ status: 2, stdout: "" });
    const wrong = run(path, [], { CNI_COMMAND: "ADD", MULLION_NODE: join(folder, "none") });
    expect(wrong.status).toBe(1);
    expect(JSON.parse(wrong.stdout)).toMatchObject({
      code: 999,
      msg: expect.stringContaining("no Node is found") as string,
    });
  });
});

describe("mullion run", () => {
  it.each([
    [["run", "win-bridge"], { name: "win-bridge", args: [] }],
    [["run", "x", "--help", "--", "-V", "--"], { name: "x", args: ["--help", "--", "-V", "--"] }],
    [["run"], undefined],
    [["run", "--help"], undefined],
    [["programs", "run"], undefined],
  ])("%j", (argv, asked) => {
    expect(splitRun(argv)).toEqual(asked);
  });

  it("runs a plugin: its environment, standard input, output and exit code", () => {
    const mullionRun = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
      run(process.execPath, ["bin/mullion.js", "run", ...args], env);
    const version = mullionRun(["win-bridge"], { CNI_COMMAND: "VERSION" });
    expect([version.status, version.stderr]).toEqual([0, ""]);
    expect(JSON.parse(version.stdout)).toMatchObject({ cniVersion: "1.1.0" });
    const refused = mullionRun(["host-local", "--mullion-compat=odd"], { CNI_COMMAND: "ADD" });
    expect(refused).toMatchObject({ status: 1, stderr: "" });
    expect(JSON.parse(refused.stdout)).toMatchObject({ code: 4 });
  });

  it("the program's options are the program's", () => {
    const { status, stdout } = run(process.execPath, ["bin/mullion.js", "run", "kube-proxy", "--help"]);
    expect(status).toBe(0);
    expect(stdout).toContain("--mullion-manifests");
    expect(run(process.execPath, ["bin/mullion.js", "run", "pktmon", "--nonsense"])).toMatchObject({
      status: 1,
      stdout: "",
    });
  });

  it("a name of none suggests one", async () => {
    expect(await mullion("run", "kube-prxy", "--help")).toEqual({
      code: 2,
      out: "",
      err:
        'mullion: there is no program "kube-prxy" [bad-usage]\n' +
        "    Did you mean kube-proxy? All of them: mullion programs\n",
    });
  });
});

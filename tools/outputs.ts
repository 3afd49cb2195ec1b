/**
 * Holds what users see to the committed list of hashes, writes that list, or shows one output in full:
 *
 *   node tools/outputs.ts check
 *   node tools/outputs.ts write
 *   node tools/outputs.ts show mullion get pods -f examples/two-windows-nodes/cluster.yaml
 *   node tools/outputs.ts show declaration ./net parseIp
 *
 * Commands run in threads of this process, on files and a terminal in memory.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { availableParallelism, tmpdir } from "node:os";
import { Worker, parentPort, workerData } from "node:worker_threads";
import { type Declared, type PackageMap, declarationsOf } from "./declarations.ts";
import { type Command, type Files, filesFor, listCommands, spell } from "./output-commands.ts";
import {
  type OutputLine,
  compareLines,
  formatLines,
  hashOf,
  normaliseOutput,
  parseLines,
} from "./output-lines.ts";
import { runCommand } from "./run-command.ts";
import { readFiles } from "./source-files.ts";

const FILE = "test/inventory/outputs.txt";
const CHANGES = "test/inventory/changes.md";
const PACKAGE = JSON.parse(readFileSync("package.json", "utf8")) as PackageMap & { readonly version: string };

function exampleFiles(): Files {
  const files = readFiles("examples/**/*.{yaml,yml,txt,json,conf,conflist,env}");
  return Object.fromEntries(files.map(({ path, text }) => [path, text]));
}

function pages(): readonly string[] {
  return readFiles("README.md", "docs/**/*.md", "examples/**/*.{md,yaml}").map(({ text }) => text);
}

/** What a command printed, and the files that it wrote, as one text each. */
async function outputOf(
  command: Command,
  files: Files,
): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }> {
  const given = filesFor(command, files);
  const { exitCode, terminal } = await runCommand(command, given);
  const written = [...terminal.files]
    .filter(([path, content]) => given[path] !== content)
    .map(([path, content]) => `\n[wrote ${path}: ${createHash("sha256").update(content).digest("hex")}]\n`);
  const clean = (text: string): string => normaliseOutput(text, PACKAGE.version, process.cwd());
  return { exitCode, stdout: clean(terminal.output) + written.join(""), stderr: clean(terminal.errors) };
}

/** Lets the compiler write the types alone, and reads them. */
function declarations(): readonly Declared[] {
  const folder = mkdtempSync(join(tmpdir(), "mullion-declarations-"));
  try {
    const compiler = join("node_modules", "typescript", "bin", "tsc");
    const words = [compiler, "-p", "tsconfig.build.json", "--emitDeclarationOnly", "--outDir", folder];
    const { status } = spawnSync(process.execPath, words, { stdio: "inherit" });
    if (status !== 0) throw new Error("the library does not compile");
    return declarationsOf(PACKAGE, (path) => {
      const full = join(folder, path);
      return existsSync(full) ? readFileSync(full, "utf8") : undefined;
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function lineOf(name: string, text: string): OutputLine {
  return { exitCode: "-", stdout: hashOf(text), stderr: "-", name };
}

/** What a thread does: each of so many commands, beginning with its own number. */
interface Share {
  readonly first: number;
  readonly step: number;
}

/** The lines of a share, each with the number of its command. */
async function linesOf({ first, step }: Share): Promise<readonly (readonly [number, OutputLine])[]> {
  const files = exampleFiles();
  const lines: (readonly [number, OutputLine])[] = [];
  for (const [index, command] of (await listCommands(files, pages())).entries()) {
    if (index % step !== first) continue;
    const { exitCode, stdout, stderr } = await outputOf(command, files);
    const hashes = { stdout: hashOf(stdout), stderr: hashOf(stderr) };
    lines.push([index, { exitCode: String(exitCode), ...hashes, name: spell(command) }]);
  }
  return lines;
}

function startThread(share: Share): Promise<Awaited<ReturnType<typeof linesOf>>> {
  const worker = new Worker(new URL(import.meta.url), { workerData: share });
  return new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
}

async function allLines(): Promise<readonly OutputLine[]> {
  const step = availableParallelism();
  const threads = Array.from({ length: step }, (_, first) => startThread({ first, step }));
  const lines = (await Promise.all(threads))
    .flat()
    .toSorted(([a], [b]) => a - b)
    .map(([, line]) => line);
  const schemas = readFiles("schemas/**/*").map(({ path, text }) => lineOf(`file ${path}`, text));
  const declared = declarations().map(({ subpath, name, text }) =>
    lineOf(`declaration ${subpath} ${name}`, text),
  );
  return [...lines, ...schemas, ...declared];
}

function tellCost(lines: readonly OutputLine[]): void {
  const { user, system } = process.cpuUsage();
  const seconds = ((user + system) / 1e6).toFixed(0);
  process.stdout.write(`${lines.length} outputs, ${seconds} s of processor time\n`);
}

async function check(): Promise<number> {
  const now = await allLines();
  const problems = compareLines(parseLines(readFileSync(FILE, "utf8")), now);
  for (const problem of problems) process.stdout.write(`${problem}\n`);
  tellCost(now);
  if (problems.length === 0) return 0;
  process.stdout.write(
    `${problems.length} outputs are not those of ${FILE}. To see one: node tools/outputs.ts show COMMAND\n` +
      `If that is meant: node tools/outputs.ts write, and a line of reason in ${CHANGES}\n`,
  );
  return 1;
}

async function write(): Promise<number> {
  const now = await allLines();
  const before = existsSync(FILE) ? parseLines(readFileSync(FILE, "utf8")) : [];
  if (before.length > 0) for (const change of compareLines(before, now)) process.stdout.write(`${change}\n`);
  writeFileSync(FILE, formatLines(now));
  tellCost(now);
  return 0;
}

async function show(words: Command): Promise<number> {
  if (words[0] === "declaration") {
    const [, subpath, name] = words;
    const found = declarations().filter((each) => each.subpath === subpath && each.name === name);
    for (const { text } of found) process.stdout.write(`${text.replaceAll("; ", ";\n")}\n`);
    return found.length > 0 ? 0 : 2;
  }
  const { exitCode, stdout, stderr } = await outputOf(words, exampleFiles());
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  process.stdout.write(`[exit code ${exitCode}]\n`);
  return 0;
}

async function main([verb, ...words]: readonly string[]): Promise<number> {
  if (verb === "check") return check();
  if (verb === "write") return write();
  if (verb === "show" && words.length > 0) return show(words);
  process.stderr.write("node tools/outputs.ts check | write | show COMMAND\n");
  return 2;
}

if (parentPort === null) process.exitCode = await main(process.argv.slice(2));
else parentPort.postMessage(await linesOf(workerData as Share), []);

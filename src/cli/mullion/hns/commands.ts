/** `mullion hns` on the command line, and its verbs that look at objects. */
import type { Command } from "commander";
import { type Run, usage } from "../options.ts";
import { addVerb } from "../described-verb.ts";
import type { Terminal } from "../terminal.ts";
import { addServe } from "./serve-options.ts";
import { addCreate, addDelete, addModify } from "./change-commands.ts";
import { addFaults } from "./fault-commands.ts";
import type { HnsVerbs } from "./verbs.ts";
import { hnsCommands } from "#data/words.js";
import { TEXT_FORMATS, type TextFormat } from "../print-document.ts";
import { LIST_FORMATS, type ListFormat } from "../table.ts";
import { HNS_KIND_HELP } from "./hns-listings.ts";
import { parseHnsKinds } from "./hns-kinds.ts";

const WORDS = hnsCommands();

// The verbs of `mullion hns` that look at objects: `get`, `watch`, `dump`, `restore`.

interface TargetOptions {
  readonly file?: readonly string[];
  readonly socket?: string;
}

function targetOf({ file = [], socket }: TargetOptions): {
  readonly files: readonly string[];
  readonly socket: string | undefined;
} {
  return { files: file, socket };
}

interface GetOptions extends TargetOptions {
  readonly output: ListFormat;
  readonly v1?: boolean;
}

function addGet(hns: Command, run: Run, get: HnsVerbs["get"], terminal: Terminal): void {
  const values = { "--output": LIST_FORMATS };
  addVerb(hns, "get", { values, holes: { hnsKinds: HNS_KIND_HELP } }).action(
    (kind: string, objects: readonly string[], options: GetOptions) =>
      run(() => {
        const { output, v1 } = options;
        const kinds = parseHnsKinds(kind);
        return get({ target: targetOf(options), kinds, objects, output, isV1: v1 === true }, terminal);
      }),
  );
}

interface WatchOptions extends TargetOptions {
  readonly output: TextFormat;
}

function addWatch(hns: Command, run: Run, watch: HnsVerbs["watch"], terminal: Terminal): void {
  addVerb(hns, "watch", { values: { "--output": TEXT_FORMATS } }).action((options: WatchOptions) =>
    run(() => watch({ target: targetOf(options), output: options.output }, terminal)),
  );
}

interface DumpOptions extends TargetOptions {
  readonly to?: string;
  /** A format, or, as it was once spelled, the file. */
  readonly output?: string;
}

/** Where a dump goes; undefined: standard output. @throws Failure for a form that it cannot have. */
function dumpFile({ to, output }: DumpOptions): string | undefined {
  if (output === undefined || output === "json") return to;
  if (output === "yaml") throw usage("a dump is JSON", WORDS.adviceDumpYaml);
  if (to !== undefined && to !== output)
    throw usage("--to and -o both say where the dump goes", "Leave out -o, the older name of --to.");
  return output;
}

function addDump(hns: Command, run: Run, dump: HnsVerbs["dump"], terminal: Terminal): void {
  addVerb(hns, "dump").action((options: DumpOptions) =>
    run(() => dump({ target: targetOf(options), output: dumpFile(options) }, terminal)),
  );
}

interface RestoreOptions extends TargetOptions {
  readonly replace?: boolean;
}

function addRestore(hns: Command, run: Run, restore: HnsVerbs["restore"], terminal: Terminal): void {
  addVerb(hns, "restore").action((files: readonly string[], options: RestoreOptions) =>
    run(() => {
      if (files.filter((file) => file === "-").length > 1)
        throw usage("standard input is named twice", "Write - once.");
      const target = { files: [], socket: options.socket };
      return restore({ target, files, isReplacing: options.replace === true }, terminal);
    }),
  );
}

interface FolderOptions {
  readonly output: TextFormat;
}

/** Verbs that work on a state folder: it is named, and no service has it open. */
function addFolderVerbs(
  hns: Command,
  run: Run,
  { check, repair }: Partial<Pick<HnsVerbs, "check" | "repair">>,
  terminal: Terminal,
): void {
  if (check !== undefined) {
    addVerb(hns, "check", { values: { "--output": TEXT_FORMATS } }).action(
      (folder: string, { output }: FolderOptions) => run(() => check({ folder, output }, terminal)),
    );
  }
  if (repair === undefined) return;
  addVerb(hns, "repair", { values: { "--output": TEXT_FORMATS } }).action(
    (folder: string, { output }: FolderOptions) => run(() => repair({ folder, output }, terminal)),
  );
}

export function addHns(program: Command, run: Run, verbs: Partial<HnsVerbs>, terminal: Terminal): void {
  const hns = addVerb(program, "hns");
  if (verbs.serve !== undefined) addServe(hns, run, verbs.serve, terminal);
  if (verbs.get !== undefined) addGet(hns, run, verbs.get, terminal);
  if (verbs.create !== undefined) addCreate(hns, run, verbs.create, terminal);
  if (verbs.modify !== undefined) addModify(hns, run, verbs.modify, terminal);
  if (verbs.delete !== undefined) addDelete(hns, run, verbs.delete, terminal);
  if (verbs.watch !== undefined) addWatch(hns, run, verbs.watch, terminal);
  if (verbs.dump !== undefined) addDump(hns, run, verbs.dump, terminal);
  if (verbs.restore !== undefined) addRestore(hns, run, verbs.restore, terminal);
  addFolderVerbs(hns, run, verbs, terminal);
  if (verbs.fault !== undefined) addFaults(hns, run, verbs.fault, terminal);
}

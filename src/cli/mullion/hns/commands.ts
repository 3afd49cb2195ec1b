/** `mullion hns` on the command line: its verbs that look at objects, and those that change them. */
import type { Command } from "commander";
import { type Run, usage } from "../options.ts";
import { addVerb } from "../described-verb.ts";
import type { Terminal } from "../terminal.ts";
import { addServe } from "./serve-options.ts";
import { addFaults } from "./fault-commands.ts";
import type { HnsCreateRequest, HnsVerbs } from "./verbs.ts";
import { hnsCommands } from "#data/words.js";
import { TEXT_FORMATS, type TextFormat } from "../print-document.ts";
import { LIST_FORMATS, type ListFormat } from "../table.ts";
import { HNS_KIND_HELP } from "./hns-listings.ts";
import { type HnsKindNames, parseHnsKinds } from "./hns-kinds.ts";
import { parseGuid } from "#contracts/hcn/guid.ts";

const WORDS = hnsCommands();

const KINDS = { hnsKinds: HNS_KIND_HELP } as const;

interface SocketOption {
  readonly socket?: string;
}

interface TargetOptions extends SocketOption {
  readonly file?: readonly string[];
}

function targetOf({ file = [], socket }: TargetOptions): HnsCreateRequest["target"] {
  return { files: file, socket };
}

/** Of verbs whose files are not dumps: a running service. */
function serviceOf({ socket }: SocketOption): HnsCreateRequest["target"] {
  return { files: [], socket };
}

interface GetOptions extends TargetOptions {
  readonly output: ListFormat;
  readonly v1?: boolean;
}

function addGet(hns: Command, run: Run, get: HnsVerbs["get"], terminal: Terminal): void {
  const values = { "--output": LIST_FORMATS };
  addVerb(hns, "get", { values, holes: KINDS }).action(
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

interface RestoreOptions extends SocketOption {
  readonly replace?: boolean;
}

function addRestore(hns: Command, run: Run, restore: HnsVerbs["restore"], terminal: Terminal): void {
  addVerb(hns, "restore").action((files: readonly string[], options: RestoreOptions) =>
    run(() => {
      if (files.filter((file) => file === "-").length > 1)
        throw usage("standard input is named twice", "Write - once.");
      return restore({ target: serviceOf(options), files, isReplacing: options.replace === true }, terminal);
    }),
  );
}

/** One kind, not several. @throws Failure. */
function parseKind(text: string): HnsKindNames {
  const [kind, ...others] = parseHnsKinds(text);
  if (kind !== undefined && others.length === 0) return kind;
  throw usage(`${JSON.stringify(text)} stands for several kinds`, "Name one kind, such as network.");
}

interface CreateOptions extends SocketOption {
  readonly file?: string;
  readonly id?: string;
  readonly network?: string;
  readonly v1?: boolean;
  readonly output: HnsCreateRequest["output"];
}

function parseId(text: string | undefined): string | undefined {
  const guid = text === undefined ? undefined : parseGuid(text);
  if (text !== undefined && guid === undefined)
    throw usage(`--id takes a GUID, not ${JSON.stringify(text)}`, "Leave it out: HNS then chooses one.");
  return guid;
}

function addCreate(hns: Command, run: Run, create: HnsVerbs["create"], terminal: Terminal): void {
  addVerb(hns, "create", { values: { "--output": [...TEXT_FORMATS, "name"] }, holes: KINDS }).action(
    (kind: string, options: CreateOptions) =>
      run(() => {
        const { file, network, v1, output } = options;
        const names = parseKind(kind);
        if (network !== undefined && names.kind !== "Endpoint")
          throw usage(`--network is for an endpoint, not for a ${names.singular}`, "Leave it out.");
        const request = { target: serviceOf(options), kind: names, file, network, output };
        return create({ ...request, id: parseId(options.id), isV1: v1 === true }, terminal);
      }),
  );
}

interface ModifyOptions extends SocketOption {
  readonly file: string;
}

function addModify(hns: Command, run: Run, modify: HnsVerbs["modify"], terminal: Terminal): void {
  addVerb(hns, "modify", { holes: KINDS }).action((kind: string, object: string, options: ModifyOptions) =>
    run(() =>
      modify({ target: serviceOf(options), kind: parseKind(kind), object, file: options.file }, terminal),
    ),
  );
}

function addDelete(hns: Command, run: Run, remove: HnsVerbs["delete"], terminal: Terminal): void {
  addVerb(hns, "delete", { holes: KINDS }).action(
    (kind: string, objects: readonly string[], options: SocketOption) =>
      run(() => remove({ target: serviceOf(options), kind: parseKind(kind), objects }, terminal)),
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

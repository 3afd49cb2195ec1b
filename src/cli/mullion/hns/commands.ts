/** `mullion hns` on the command line, and its verbs that look at objects. */
import { Argument, type Command, Option } from "commander";
import { EXIT_CODES, type Run, collect, examples, usage } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { addServe } from "./serve-options.ts";
import { addCreate, addDelete, addModify } from "./change-commands.ts";
import { addFaults } from "./fault-commands.ts";
import type { HnsVerbs } from "./verbs.ts";
import { hnsCommands } from "#data/words.js";
import { TEXT_FORMATS, type TextFormat, outputOption } from "../print-document.ts";
import { LIST_FORMATS, type ListFormat } from "../table.ts";
import { HNS_KIND_HELP } from "./hns-listings.ts";
import { parseHnsKinds } from "./hns-kinds.ts";

const WORDS = hnsCommands();

// The verbs of `mullion hns` that look at objects: `get`, `watch`, `dump`, `restore`.

interface TargetOptions {
  readonly file?: readonly string[];
  readonly socket?: string;
}

const SOCKET = WORDS.socketOption;

function addSocket(command: Command): Command {
  return command.option("--socket <path>", SOCKET);
}

function addTarget(command: Command, help: string): Command {
  return addSocket(command.addOption(new Option("-f, --file <path>", help).argParser(collect)));
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
  const command = hns
    .command("get")
    .summary("list what an HNS holds")
    .description("Lists objects of a running HNS, or of a dump.")
    .addArgument(new Argument("<kind>", `several with commas, or all: ${HNS_KIND_HELP}`))
    .addArgument(new Argument("[name...]", "names, ids, or how ids begin"));
  addTarget(command, WORDS.getFile)
    .addOption(
      new Option("-o, --output <format>", "how to print them").choices(LIST_FORMATS).default("table"),
    )
    .option("--v1", "the documents of HNS v1, as Get-HnsNetwork shows them")
    .addHelpText(
      "after",
      examples(
        "mullion hns get networks",
        "mullion hns get ep -o wide",
        "mullion hns get network cbr0 -o yaml",
        "mullion hns get all -f hnsdiag.txt",
      ),
    )
    .action((kind: string, objects: readonly string[], options: GetOptions) =>
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
  const command = hns
    .command("watch")
    .summary("print the notifications of an HNS as they come")
    .description(WORDS.watchDescription);
  addSocket(command)
    .addOption(outputOption(TEXT_FORMATS, "how to print them"))
    .addHelpText("after", examples("mullion hns watch", "mullion hns watch -o json | jq .type"))
    .action((options: WatchOptions) =>
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
  const command = hns
    .command("dump")
    .summary("write everything that an HNS holds as JSON")
    .description(WORDS.dumpDescription);
  addTarget(command, WORDS.dumpFile)
    .option("--to <file>", "where to write it (default: standard output)")
    .addOption(new Option("-o, --output <file>", "an older name of --to").hideHelp())
    .addHelpText(
      "after",
      examples(
        "mullion hns dump --to node.json",
        "mullion hns dump -f network.txt -f endpoint.txt --to node.json",
      ),
    )
    .action((options: DumpOptions) =>
      run(() => dump({ target: targetOf(options), output: dumpFile(options) }, terminal)),
    );
}

interface RestoreOptions extends TargetOptions {
  readonly replace?: boolean;
}

const RESTORE_HELP = `\n${WORDS.restoreHelp}\n`;

function addRestore(hns: Command, run: Run, restore: HnsVerbs["restore"], terminal: Terminal): void {
  const command = hns
    .command("restore")
    .summary("put a dump of a node into a running HNS")
    .description(WORDS.restoreDescription)
    .addArgument(new Argument("<file...>", 'dumps of one node, or their folder; "-" for standard input'));
  addSocket(command)
    .option("--replace", "what the service holds may go")
    .addHelpText(
      "after",
      RESTORE_HELP +
        examples(
          "mullion hns restore node.json",
          "mullion hns restore network.txt endpoint.txt policy.txt",
          "hnsdiag list all -d | mullion hns restore --replace -",
        ),
    )
    .action((files: readonly string[], options: RestoreOptions) =>
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
    hns
      .command("check")
      .summary("say whether a state folder is whole")
      .description(WORDS.checkDescription)
      .argument("<folder>", WORDS.stateFolderArgument)
      .addOption(outputOption())
      .addHelpText("after", `${examples("mullion hns check /var/lib/mullion/hns")}${CHECK_CODES}`)
      .action((folder: string, { output }: FolderOptions) => run(() => check({ folder, output }, terminal)));
  }
  if (repair === undefined) return;
  hns
    .command("repair")
    .summary("put a damaged state folder back to its last good state")
    .description(WORDS.repairDescription)
    .argument("<folder>", WORDS.stateFolderArgument)
    .addOption(outputOption())
    .addHelpText("after", `${examples("mullion hns repair /var/lib/mullion/hns")}${REPAIR_CODES}`)
    .action((folder: string, { output }: FolderOptions) => run(() => repair({ folder, output }, terminal)));
}

const CHECK_CODES = `\n${WORDS.checkExitCodes}\n`;
const REPAIR_CODES = `\n${WORDS.repairExitCodes}\n`;

export function addHns(program: Command, run: Run, verbs: Partial<HnsVerbs>, terminal: Terminal): void {
  const hns = program
    .command("hns")
    .summary("serve, look at, change, restore and break a Host Networking Service")
    .description(WORDS.hnsDescription)
    .addHelpText(
      "after",
      examples(
        "mullion hns serve --socket /tmp/hns.sock",
        "mullion hns get all",
        "mullion hns dump --to node.json",
        "mullion hns fault list",
      ) + EXIT_CODES,
    );
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

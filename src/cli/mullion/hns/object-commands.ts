/** The verbs of `mullion hns` that look at objects: `get`, `watch`, `dump`, `restore`. */
import { Argument, type Command, Option } from "commander";
import { type Run, examples, usage } from "../options.ts";
import { LIST_FORMATS, type ListFormat } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { HNS_KIND_HELP } from "./hns-listings.ts";
import { parseHnsKinds } from "./hns-kinds.ts";
import type { HnsVerbs } from "./verbs.ts";

function collect(path: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), path];
}

interface TargetOptions {
  readonly file?: readonly string[];
  readonly socket?: string;
}

const SOCKET = "the service that listens there (default: MULLION_HNS, or the node's own socket)";

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

export function addGet(hns: Command, run: Run, get: HnsVerbs["get"], terminal: Terminal): void {
  const command = hns
    .command("get")
    .summary("list what an HNS holds")
    .description("Lists objects of a running HNS, or of a dump.")
    .addArgument(new Argument("<kind>", `several with commas, or all: ${HNS_KIND_HELP}`))
    .addArgument(new Argument("[name...]", "names, ids, or how ids begin"));
  addTarget(command, "a dump to look at instead of a service; may be repeated")
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
  readonly output: "text" | "json";
}

export function addWatch(hns: Command, run: Run, watch: HnsVerbs["watch"], terminal: Terminal): void {
  const command = hns
    .command("watch")
    .summary("print the notifications of an HNS as they come")
    .description(
      "Prints the notifications of a running HNS as they come, until Ctrl-C. When the service goes away it\n" +
        "prints a line, and listens again when it is back.",
    );
  addSocket(command)
    .addOption(
      new Option("-o, --output <format>", "how to print them").choices(["text", "json"]).default("text"),
    )
    .addHelpText("after", examples("mullion hns watch", "mullion hns watch -o json | jq .type"))
    .action((options: WatchOptions) =>
      run(() => watch({ target: targetOf(options), output: options.output }, terminal)),
    );
}

interface DumpOptions extends TargetOptions {
  readonly output?: string;
}

export function addDump(hns: Command, run: Run, dump: HnsVerbs["dump"], terminal: Terminal): void {
  const command = hns
    .command("dump")
    .summary("write everything that an HNS holds as JSON")
    .description(
      "Writes everything that a running HNS holds as JSON. With -f it reads a dump of a Windows node and\n" +
        "writes that in the same form.",
    );
  addTarget(command, "a dump to convert: of PowerShell, of hnsdiag; several, and folders, add up")
    .option("-o, --output <file>", "where to write it (default: standard output)")
    .addHelpText(
      "after",
      examples(
        "mullion hns dump -o node.json",
        "mullion hns dump -f network.txt -f endpoint.txt -o node.json",
      ),
    )
    .action((options: DumpOptions) =>
      run(() => dump({ target: targetOf(options), output: options.output }, terminal)),
    );
}

interface RestoreOptions extends TargetOptions {
  readonly replace?: boolean;
}

const RESTORE_HELP = `
What can be restored: dumps of mullion hns dump; Get-HnsNetwork, Get-HnsEndpoint, Get-HnsPolicyList and
Get-HnsNamespace, through ConvertTo-Json -Depth 20 or as they are shown; hnsdiag list all, with and without -d.
`;

export function addRestore(hns: Command, run: Run, restore: HnsVerbs["restore"], terminal: Terminal): void {
  const command = hns
    .command("restore")
    .summary("put a dump of a node into a running HNS")
    .description(
      "Puts the objects of dumps into a running HNS as they are: nothing is checked, and fields that HNS\n" +
        "does not know are kept.",
    )
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

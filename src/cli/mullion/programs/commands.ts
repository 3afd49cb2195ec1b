/** `mullion programs` and `mullion run` on the command line. */
import { Argument, type Command, Option } from "commander";
import { nearestNames } from "#core/base/nearest-name.ts";
import { type Run, examples, usage } from "../options.ts";
import { LIST_FORMATS, type ListFormat } from "../table.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();

// `mullion programs` and `mullion run`, as the command line hands them over: parsed, nothing looked at yet.

export interface ProgramsRequest {
  /** The folder of the launchers. */
  readonly folder: string;
  /** None: all of them. */
  readonly names: readonly string[];
}

export interface InstallRequest extends ProgramsRequest {
  /** Replaces what is not Mullion's. */
  readonly isForced: boolean;
}

export interface RunRequest {
  readonly name: string;
  /** As they were given. */
  readonly args: readonly string[];
}

export interface ProgramsVerbs {
  readonly list: (format: ListFormat, terminal: Terminal) => Promise<ExitCode>;
  readonly install: (request: InstallRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly remove: (request: ProgramsRequest, terminal: Terminal) => Promise<ExitCode>;
  /** Answers the exit code of the program. */
  readonly run: (request: RunRequest, terminal: Terminal) => Promise<number>;
}

const EXIT_CODES = `\n${WORDS.programsExitCodes}\n`;

export function addPrograms(
  program: Command,
  run: Run,
  verbs: Partial<ProgramsVerbs>,
  terminal: Terminal,
): void {
  const { list, install, remove } = verbs;
  const programs = program
    .command("programs")
    .summary("list, install and remove the programs with upstream's names")
    .description(WORDS.programsDescription)
    .addOption(
      new Option("-o, --output <format>", "how to print them").choices(LIST_FORMATS).default("table"),
    )
    .addHelpText(
      "after",
      examples(
        "mullion programs",
        "mullion programs install /opt/cni/bin win-bridge host-local",
        "mullion programs remove /opt/cni/bin",
      ) + EXIT_CODES,
    );
  if (list !== undefined)
    programs.allowExcessArguments().action(({ output }: { readonly output: ListFormat }) =>
      run(() => {
        checkNoVerb(programs);
        return list(output, terminal);
      }),
    );
  if (install !== undefined) addInstall(programs, run, install, terminal);
  if (remove !== undefined) addRemove(programs, run, remove, terminal);
}

/** A word behind `programs` that is none of its verbs. @throws Failure */
function checkNoVerb({ args: [word], commands }: Command): void {
  if (word === undefined) return;
  const near = nearestNames(
    word,
    commands.map((command) => command.name()),
  );
  const advice = near.length === 0 ? "" : `Did you mean ${near.join(", ")}? `;
  throw usage(`unknown verb '${word}'`, `${advice}See: mullion programs --help`);
}

function addInstall(
  programs: Command,
  run: Run,
  install: ProgramsVerbs["install"],
  terminal: Terminal,
): void {
  programs
    .command("install")
    .summary("write launchers of the programs into a folder")
    .description(WORDS.programsInstallDescription)
    .addArgument(new Argument("<dir>", "the folder"))
    .addArgument(new Argument("[name...]", "which programs (default: all)"))
    .option("--force", "replace files of these names that are not Mullion's")
    .addHelpText(
      "after",
      examples(
        "mullion programs install /opt/cni/bin",
        "mullion programs install /opt/cni/bin win-bridge host-local",
        "mullion programs install C:\\k\\cni --force",
      ) + EXIT_CODES,
    )
    .action((folder: string, names: readonly string[], { force }: { readonly force?: boolean }) =>
      run(() => install({ folder, names, isForced: force === true }, terminal)),
    );
}

function addRemove(programs: Command, run: Run, remove: ProgramsVerbs["remove"], terminal: Terminal): void {
  programs
    .command("remove")
    .summary("take the launchers out of a folder again")
    .description(WORDS.programsRemoveDescription)
    .addArgument(new Argument("<dir>", "the folder"))
    .addArgument(new Argument("[name...]", "which programs (default: all)"))
    .addHelpText(
      "after",
      examples("mullion programs remove /opt/cni/bin", "mullion programs remove /opt/cni/bin host-local") +
        EXIT_CODES,
    )
    .action((folder: string, names: readonly string[]) => run(() => remove({ folder, names }, terminal)));
}

/** What follows the name belongs to the program: see `splitRun`. */
export function addRun(program: Command, run: Run, verb: ProgramsVerbs["run"], terminal: Terminal): void {
  program
    .command("run")
    .summary("run one of the programs with upstream's names")
    .description(WORDS.runDescription)
    .usage("NAME [ARGUMENT...]")
    .addArgument(new Argument("<name>", "the program"))
    .addArgument(new Argument("[argument...]", "what it is given"))
    .addHelpText(
      "after",
      examples(
        "mullion run hnsdiag list all",
        "mullion run kube-proxy --help",
        "CNI_COMMAND=VERSION mullion run win-bridge",
      ) + "\nExit code: the program's.\n",
    )
    .action((name: string, args: readonly string[]) => run(() => verb({ name, args }, terminal)));
}

/** `run NAME ARGUMENT...` without any parsing; undefined for another command line, and for `run` with options of its own. */
export function splitRun(
  argv: readonly string[],
): { readonly name: string; readonly args: readonly string[] } | undefined {
  const [verb, name, ...args] = argv;
  if (verb !== "run" || name === undefined || name.startsWith("-")) return undefined;
  return { name, args };
}

/** `mullion programs` and `mullion run` on the command line. */
import type { Command } from "commander";
import { nearestNames } from "#core/base/nearest-name.ts";
import { type Run, usage } from "../options.ts";
import { LIST_FORMATS, type ListFormat } from "../table.ts";
import { addVerb } from "../described-verb.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
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

export function addPrograms(
  program: Command,
  run: Run,
  verbs: Partial<ProgramsVerbs>,
  terminal: Terminal,
): void {
  const { list, install, remove } = verbs;
  const programs = addVerb(program, "programs", { values: { "--output": LIST_FORMATS } });
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
  addVerb(programs, "install").action(
    (folder: string, names: readonly string[], { force }: { readonly force?: boolean }) =>
      run(() => install({ folder, names, isForced: force === true }, terminal)),
  );
}

function addRemove(programs: Command, run: Run, remove: ProgramsVerbs["remove"], terminal: Terminal): void {
  addVerb(programs, "remove").action((folder: string, names: readonly string[]) =>
    run(() => remove({ folder, names }, terminal)),
  );
}

/** What follows the name belongs to the program: see `splitRun`. */
export function addRun(program: Command, run: Run, verb: ProgramsVerbs["run"], terminal: Terminal): void {
  addVerb(program, "run").action((name: string, args: readonly string[]) =>
    run(() => verb({ name, args }, terminal)),
  );
}

/** `run NAME ARGUMENT...` without any parsing; undefined for another command line, and for `run` with options of its own. */
export function splitRun(
  argv: readonly string[],
): { readonly name: string; readonly args: readonly string[] } | undefined {
  const [verb, name, ...args] = argv;
  if (verb !== "run" || name === undefined || name.startsWith("-")) return undefined;
  return { name, args };
}

/** Options and helps that several verbs share. */
import { type Command, Option } from "commander";
import type { ClusterTarget, InputPaths, RunningName } from "./cluster/cluster-target.ts";
import { Failure } from "./failure.ts";

/** Runs a verb and keeps its exit code; `wine` has that of the program which it runs. */
export type Run = (verb: () => Promise<number>) => Promise<void>;

export const EXAMPLE = "examples/two-windows-nodes/cluster.yaml";

export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}\n`).join("")}`;
}

/** What most verbs end with. */
export const EXIT_CODES =
  "\nExit codes: 0 success, 1 something was not found or did not work, 2 bad usage or bad input.\n";

export function usage(message: string, advice: string): Failure {
  return new Failure("bad-usage", message, advice);
}

function collect(path: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), path];
}

export interface FileOptions {
  readonly file?: readonly string[];
  readonly recursive?: boolean;
}

export interface NameOptions {
  readonly name?: string;
  readonly socket?: string;
}

export interface TargetOptions extends FileOptions, NameOptions {}

/** `-f` as often as wanted, and `-R`. */
export function addFileOptions(command: Command, help: string): Command {
  return command
    .addOption(new Option("-f, --file <path>", help).argParser(collect))
    .option("-R, --recursive", "look into the folders below those of -f, too");
}

export function addNameOptions(command: Command): Command {
  return command
    .option("--name <name>", "which running cluster (default: MULLION_NAME, or default)")
    .option("--socket <path>", "the running cluster that listens there");
}

/** For verbs that work on either kind of cluster. */
export function addTargetOptions(command: Command): Command {
  addFileOptions(
    command,
    'a cluster file or folder, "-" for standard input; may be repeated (default: the running cluster)',
  );
  return addNameOptions(command);
}

export function runningName({ name, socket }: NameOptions): RunningName {
  if (name !== undefined && socket !== undefined)
    throw usage("--name and --socket both say which cluster is meant", "Leave one of them out.");
  return { name, socket };
}

export function inputPaths({ file = [], recursive = false }: FileOptions): InputPaths {
  if (recursive && file.length === 0) throw usage("-R needs -f", "Name a folder with -f.");
  return { files: file, isRecursive: recursive };
}

export function clusterTarget(options: TargetOptions): ClusterTarget {
  const running = runningName(options);
  const inputs = inputPaths(options);
  if (inputs.files.length > 0 && (running.name !== undefined || running.socket !== undefined)) {
    throw usage(
      "-f builds a cluster for this command, and --name or --socket means a running one",
      "Leave one of them out. To change the running cluster: mullion apply -f FILE",
    );
  }
  return { ...running, ...inputs };
}

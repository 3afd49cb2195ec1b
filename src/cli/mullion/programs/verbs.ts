/** `mullion programs` and `mullion run`, as the command line hands them over: parsed, nothing looked at yet. */
import type { ExitCode, Terminal } from "../terminal.ts";
import type { ListFormat } from "../table.ts";

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

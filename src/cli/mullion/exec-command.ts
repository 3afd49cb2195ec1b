/** The command line of `mullion exec`. */
import type { Command } from "commander";
import {
  type EditionOptions,
  type Run,
  type TargetOptions,
  clusterTarget,
  editionAsked,
  usage,
} from "./options.ts";
import { TEXT_FORMATS, type TextFormat } from "./print-document.ts";
import { addVerb } from "./described-verb.ts";
import type { Terminal } from "./terminal.ts";
import type { Verbs } from "./verbs.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();

interface ExecOptions extends TargetOptions, EditionOptions {
  readonly list?: true;
  readonly trace?: true;
  readonly simulated?: true;
  readonly output: TextFormat;
}

export function addExec(program: Command, run: Run, exec: Verbs["exec"], terminal: Terminal): void {
  addVerb(program, "exec", { values: { "--output": TEXT_FORMATS } }).action(
    (from: string | undefined, words: readonly string[], options: ExecOptions) =>
      run(() => {
        const { list, output } = options;
        if (list !== true && (from === undefined || words.length === 0))
          throw usage(
            from === undefined
              ? "exec takes a pod or node, and a command"
              : `there is no command for ${from}`,
            WORDS.adviceExecArguments,
          );
        if (list === true && from !== undefined)
          throw usage("--list takes no pod and no command", "Leave one of them out.");
        const target = clusterTarget(options);
        const asDocumented = editionAsked(options, target);
        return exec(
          {
            target,
            asDocumented,
            from,
            command: words,
            output,
            isTraced: options.trace === true,
            isSimulated: options.simulated === true,
          },
          terminal,
        );
      }),
  );
}

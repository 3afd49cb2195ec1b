/** The command line of `mullion exec`. */
import { Argument, type Command, Option } from "commander";
import {
  EXAMPLE,
  type EditionOptions,
  type Run,
  type TargetOptions,
  addTargetOptions,
  clusterTarget,
  editionAsked,
  editionOption,
  examples,
  usage,
} from "./options.ts";
import { type TextFormat, outputOption } from "./print-document.ts";
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

const EXEC_EXAMPLES = examples(
  `mullion exec -f ${EXAMPLE} pod/client -- ipconfig /all`,
  `mullion exec -f ${EXAMPLE} node/win-1 -- route print -4`,
  `mullion exec -f ${EXAMPLE} --trace pod/client -- Resolve-DnsName web`,
  "mullion exec pod/web -- ipconfig /flushdns",
  "mullion exec --list",
);

export function addExec(program: Command, run: Run, exec: Verbs["exec"], terminal: Terminal): void {
  const command = program
    .command("exec")
    .summary(WORDS.execSummary)
    .description(WORDS.execDescription)
    .addArgument(new Argument("[pod]", "where: pod/NAMESPACE/NAME, pod/NAME, deploy/NAME, node/NAME"))
    .addArgument(new Argument("[command...]", "behind --: the program and its arguments"));
  addTargetOptions(command)
    .addOption(new Option("--list", "say which commands there are"))
    .addOption(new Option("--trace", "show the walks of the packets that it sends"))
    .addOption(new Option("--simulated", WORDS.execSimulated))
    .addOption(outputOption())
    .addOption(editionOption())
    .addHelpText("after", `${WORDS.execExitCodes({ execExamples: EXEC_EXAMPLES })}\n`)
    .action((from: string | undefined, words: readonly string[], options: ExecOptions) =>
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

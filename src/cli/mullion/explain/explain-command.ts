/** The command line of `mullion explain`. */
import { Argument, type Command, Option } from "commander";
import { ERROR_ORIGINS } from "#diagnose/catalogue/errors/known-error.ts";
import { type Run, examples, usage } from "../options.ts";
import { type TextFormat, outputOption } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { ExplainedGroup } from "./explain.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();

const GROUPS: readonly ExplainedGroup[] = ["codes", ...ERROR_ORIGINS];

interface ExplainOptions {
  readonly output: TextFormat;
  readonly list?: boolean;
  readonly group?: ExplainedGroup;
  readonly log?: string;
}

const EXIT_CODES = `\n${WORDS.explainExitCodes}\n`;

/** What a way of explaining needs is loaded when it is chosen: other verbs start without all errors. */
async function dispatch(
  words: readonly string[],
  options: ExplainOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const { output, list = false, group, log } = options;
  if (log !== undefined && (list || words.length > 0)) {
    throw usage(
      "--log takes a file or a folder and nothing else",
      "Leave out the words, or --log and --list.",
    );
  }
  if (group !== undefined && !list) throw usage("--group belongs to --list", "Add --list, or leave it out.");
  const { explain, explainList, explainLog } = await import("./explain.ts");
  if (list) return explainList({ words, group, output }, terminal);
  return log === undefined
    ? explain(words.join(" "), output, terminal)
    : explainLog({ path: log, output }, terminal);
}

export function addExplain(program: Command, run: Run, terminal: Terminal): void {
  program
    .command("explain")
    .summary(WORDS.explainSummary)
    .description(WORDS.explainDescription)
    .addArgument(new Argument("[query...]", "a code, a number, a name or a text"))
    .option("--log <path>", WORDS.explainLog)
    .option("--list", WORDS.explainList)
    .addOption(new Option("--group <name>", "list these only").choices(GROUPS))
    .addOption(outputOption())
    .addHelpText(
      "after",
      EXIT_CODES +
        examples(
          "mullion explain icmp-outbound-not-translated",
          "mullion explain 0x803b0013",
          "mullion explain -- -2143617005",
          'mullion explain "The specified port already exists."',
          "mullion explain --log kubeproxy.log",
          "kubectl logs -n kube-system kube-proxy-windows-x7k2p | mullion explain --log -",
          "mullion explain --list --group kube-proxy source vip",
        ),
    )
    .action((words: readonly string[], options: ExplainOptions) =>
      run(() => dispatch(words, options, terminal)),
    );
}

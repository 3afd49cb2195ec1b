/** The command line of `mullion explain`. */
import { Argument, type Command, Option } from "commander";
import { ERROR_ORIGINS } from "#diagnose/catalogue/errors/known-error.ts";
import { type Run, examples, usage } from "../options.ts";
import { type TextFormat, outputOption } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { ExplainedGroup } from "./explain-list.ts";

const GROUPS: readonly ExplainedGroup[] = ["codes", ...ERROR_ORIGINS];

interface ExplainOptions {
  readonly output: TextFormat;
  readonly list?: boolean;
  readonly group?: ExplainedGroup;
  readonly log?: string;
}

const EXIT_CODES = `
Exit codes: 0 explained, or nothing known in the log; 1 errors in the log, or a number that is not
known; 2 bad usage, nothing of that name, or a log that cannot be read.
`;

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
  if (list) return (await import("./explain-list.ts")).explainList({ words, group, output }, terminal);
  const { explain, explainLog } = await import("./explain.ts");
  return log === undefined
    ? explain(words.join(" "), output, terminal)
    : explainLog({ path: log, output }, terminal);
}

export function addExplain(program: Command, run: Run, terminal: Terminal): void {
  program
    .command("explain")
    .summary("say what a code, an error or a log means, and what to do")
    .description(
      "Explains a code of Mullion, or an error of Windows, HNS, CNI plugins, kube-proxy, flanneld, kubelet, Calico\n" +
        "or Azure CNI: cause, next command, remedy, sources. An error may be a number in any spelling, a name, its\n" +
        "text, or a whole line of a log. With --log, says what a log shows, the likeliest fault first.",
    )
    .addArgument(new Argument("[query...]", "a code, a number, a name or a text"))
    .option("--log <path>", 'find known errors in a log of any size, or in a folder; "-" for standard input')
    .option("--list", "show all codes and errors; with words, those that have them all")
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

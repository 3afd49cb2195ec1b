/** The command line of `mullion resolve`. */
import { Argument, type Command, Option } from "commander";
import { LOOKUP_PROGRAMS, type LookupProgram } from "#cluster/trace/resolve-report.ts";
import { parseDuration } from "./duration.ts";
import {
  EXAMPLE,
  type EditionOptions,
  type Run,
  type TargetOptions,
  addTargetOptions,
  clusterTarget,
  countFor,
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

const TIMES_MAX = 100;
const INTERVAL_MS = 1_000;
const INTERVAL_MS_MAX = 3_600_000;

interface ResolveOptions extends TargetOptions, EditionOptions {
  readonly as: LookupProgram;
  readonly family?: "ipv4" | "ipv6";
  readonly times?: number;
  readonly interval?: number;
  readonly output: TextFormat;
}

function parseInterval(text: string): number {
  return parseDuration(text, { name: "--interval", maxMs: INTERVAL_MS_MAX });
}

/** Senders with commas between them, as kinds are written. @throws Failure for an empty one. */
function sendersOf(text: string): readonly string[] {
  const senders = text.split(",").map((sender) => sender.trim());
  if (senders.every((sender) => sender !== "")) return senders;
  throw usage(
    `${JSON.stringify(text)} leaves out a sender`,
    "Write one, or several with commas: pod/web-win,pod/web-linux.",
  );
}

const RESOLVE_EXAMPLES = examples(
  `mullion resolve -f ${EXAMPLE} pod/client api`,
  `mullion resolve -f ${EXAMPLE} pod/client,node/win-1 kubernetes.default --as nslookup`,
  "mullion resolve pod/web-win,pod/web-linux api.shop",
  "mullion resolve pod/client missing --times 3 --interval 4m",
);

export function addResolve(program: Command, run: Run, resolve: Verbs["resolve"], terminal: Terminal): void {
  const command = program
    .command("resolve")
    .summary("look a name up as a pod does, question by question")
    .description(WORDS.resolveDescription)
    .addArgument(
      new Argument(
        "<pod>",
        "who asks: pod/NAMESPACE/NAME, pod/NAME, deploy/NAME, node/NAME, external; several with commas",
      ),
    )
    .addArgument(new Argument("<name>", "what is looked up, as a program would give it"));
  addTargetOptions(command)
    .addOption(new Option("--as <command>", WORDS.resolveAs).choices(LOOKUP_PROGRAMS).default("system"))
    .addOption(
      new Option("--family <name>", "ipv4 asks for A, ipv6 for AAAA (default: A)").choices(["ipv4", "ipv6"]),
    )
    .addOption(
      new Option("--times <n>", "ask so often: what is remembered shows (default: 1)").argParser(
        countFor("--times", { max: TIMES_MAX }),
      ),
    )
    .addOption(
      new Option("--interval <time>", "virtual time between two of them (default: 1s)").argParser(
        parseInterval,
      ),
    )
    .addOption(outputOption())
    .addOption(editionOption())
    .addHelpText("after", `${WORDS.resolveExitCodes({ resolveExamples: RESOLVE_EXAMPLES })}\n`)
    .action((from: string, name: string, options: ResolveOptions) =>
      run(() => {
        const { as: asked, family, times = 1, interval, output } = options;
        if (interval !== undefined && times === 1)
          throw usage("--interval is the time between two lookups", "Say how many with --times.");
        const target = clusterTarget(options);
        const asDocumented = editionAsked(options, target);
        const how = { program: asked, family, times, intervalMs: interval ?? INTERVAL_MS, output };
        return resolve({ target, asDocumented, from: sendersOf(from), name, ...how }, terminal);
      }),
    );
}

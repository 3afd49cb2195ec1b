/** The verbs about what of a running cluster is on this machine, on the command line. */
import { Argument, type Command, Option } from "commander";
import { parseDuration } from "../duration.ts";
import { type NameOptions, type Run, addNameOptions, countFor, examples, runningName } from "../options.ts";
import { type TextFormat, outputOption } from "../print-document.ts";
import type { Terminal } from "../terminal.ts";
import { type TopRequest, TOP_SUBJECTS, type Verbs } from "../verbs.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();

export function addShell(program: Command, run: Run, shell: Verbs["shell"], terminal: Terminal): void {
  const command = program
    .command("shell")
    .summary(WORDS.shellSummary)
    .description(WORDS.shellDescription)
    .addArgument(new Argument("[pod]", WORDS.shellPod))
    .addArgument(new Argument("[command...]", "behind --: the program and its arguments"));
  addNameOptions(command)
    .addHelpText(
      "after",
      examples("mullion shell web", "mullion shell web -- curl -sS http://api:8080", "mullion shell"),
    )
    .action((pod: string | undefined, words: readonly string[], options: NameOptions) =>
      run(() => shell({ running: runningName(options), pod, command: words }, terminal)),
    );
}

export function addLogs(program: Command, run: Run, logs: Verbs["logs"], terminal: Terminal): void {
  const command = program
    .command("logs")
    .summary("what the processes of a pod printed that is real")
    .description(WORDS.logsDescription)
    .argument("<pod>", "web, or shop/web");
  addNameOptions(command)
    .addHelpText("after", examples("mullion logs web", "mullion logs shop/web --name second"))
    .action((pod: string, options: NameOptions) =>
      run(() => logs({ running: runningName(options), pod }, terminal)),
    );
}

interface CaptureOptions extends NameOptions {
  readonly write: string;
  readonly count?: number;
}

const readCount = countFor("--count", { max: 1_000_000_000 });

export function addCapture(program: Command, run: Run, capture: Verbs["capture"], terminal: Terminal): void {
  const command = program
    .command("capture")
    .summary(WORDS.captureSummary)
    .description(WORDS.captureDescription)
    .addArgument(new Argument("[place...]", WORDS.capturePlace))
    .option("-w, --write <file>", WORDS.captureFile, "-")
    .addOption(new Option("-c, --count <number>", "end after so many frames").argParser(readCount));
  addNameOptions(command)
    .addHelpText(
      "after",
      examples(
        "mullion capture -w segment.pcapng",
        "mullion capture pod/web node/win-1 -w both.pcapng",
        "mullion capture pod/web | wireshark -k -i -",
        "mullion capture node/win-1 | tshark -r - -Y vxlan",
      ),
    )
    .action((places: readonly string[], options: CaptureOptions) =>
      run(() => {
        const { write: path, count } = options;
        return capture({ running: runningName(options), places, path, framesMax: count }, terminal);
      }),
    );
}

interface TopOptions extends NameOptions {
  readonly interval: string;
  readonly count?: number;
  readonly output: TextFormat;
}

const INTERVAL = { name: "--interval", bare: "s", minMs: 100, maxMs: 3_600_000 } as const;

export function addTop(program: Command, run: Run, top: Verbs["top"], terminal: Terminal): void {
  const command = program
    .command("top")
    .summary("what passes Windows nodes and pods now, and what they drop")
    .description(WORDS.topDescription)
    .addArgument(
      new Argument("[what]", "ports, nodes, pods or services").choices(TOP_SUBJECTS).default("ports"),
    )
    .option("--interval <time>", "between two tables", "2s")
    .addOption(new Option("-c, --count <number>", "end after so many tables").argParser(readCount))
    .addOption(outputOption());
  addNameOptions(command)
    .addHelpText(
      "after",
      examples(
        "mullion top",
        "mullion top pods --interval 10s",
        "mullion top services",
        "mullion top nodes -c 1 -o json",
      ),
    )
    .action((what: TopRequest["what"], options: TopOptions) =>
      run(() => {
        const intervalMs = parseDuration(options.interval, INTERVAL);
        const times = options.count ?? Number.POSITIVE_INFINITY;
        return top(
          { running: runningName(options), what, intervalMs, times, output: options.output },
          terminal,
        );
      }),
    );
}

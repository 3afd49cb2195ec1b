/** The verbs about what of a running cluster is on this machine, on the command line. */
import type { Command } from "commander";
import { addVerb } from "../described-verb.ts";
import { parseDuration } from "../duration.ts";
import { type NameOptions, type Run, countFor, runningName } from "../options.ts";
import { TEXT_FORMATS, type TextFormat } from "../print-document.ts";
import type { Terminal } from "../terminal.ts";
import { type TopRequest, TOP_SUBJECTS, type Verbs } from "../verbs.ts";
export function addShell(program: Command, run: Run, shell: Verbs["shell"], terminal: Terminal): void {
  addVerb(program, "shell").action(
    (pod: string | undefined, words: readonly string[], options: NameOptions) =>
      run(() => shell({ running: runningName(options), pod, command: words }, terminal)),
  );
}

export function addLogs(program: Command, run: Run, logs: Verbs["logs"], terminal: Terminal): void {
  addVerb(program, "logs").action((pod: string, options: NameOptions) =>
    run(() => logs({ running: runningName(options), pod }, terminal)),
  );
}

interface CaptureOptions extends NameOptions {
  readonly write: string;
  readonly count?: number;
}

const readCount = countFor("--count", { max: 1_000_000_000 });

export function addCapture(program: Command, run: Run, capture: Verbs["capture"], terminal: Terminal): void {
  addVerb(program, "capture", { values: { "--count": readCount } }).action(
    (places: readonly string[], options: CaptureOptions) =>
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
  const values = { what: TOP_SUBJECTS, "--count": readCount, "--output": TEXT_FORMATS };
  addVerb(program, "top", { values }).action((what: TopRequest["what"], options: TopOptions) =>
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

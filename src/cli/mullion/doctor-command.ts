/** The command line of `mullion doctor`. */
import type { Command } from "commander";
import { parseDuration } from "./duration.ts";
import { type Run, countFor, usage } from "./options.ts";
import { REPORT_FORMATS, type ReportFormat } from "./print-document.ts";
import { addVerb } from "./described-verb.ts";
import type { Terminal } from "./terminal.ts";
import type { DoctorRequest, Verbs } from "./verbs.ts";
import { doctor as doctorWords } from "#data/words.js";

const WORDS = doctorWords();

interface DoctorOptions {
  readonly output: ReportFormat;
  readonly long?: boolean;
  readonly kubeconfig?: string;
  readonly node?: string;
  readonly collect?: boolean;
  readonly yes?: boolean;
  readonly hns?: boolean;
  readonly watch?: boolean;
  readonly pause?: number;
  readonly redact?: boolean;
  readonly threads?: number;
}

const THREADS_MAX = 64;

const PAUSE_MS = 5_000;
const PAUSE_MAX_MS = 3_600_000;

function parsePause(text: string): number {
  return parseDuration(text, { name: "--pause", minMs: 1, maxMs: PAUSE_MAX_MS });
}

const parseThreads = countFor("--threads", { max: THREADS_MAX, advice: WORDS.adviceThreads });

function collectOf({ collect, yes, kubeconfig }: DoctorOptions): DoctorRequest["collect"] {
  if (collect !== true) {
    if (yes === true) throw usage("--yes is for --collect", "Add --collect.");
    return undefined;
  }
  if (kubeconfig === undefined) throw usage("--collect needs a cluster", "Name it: --kubeconfig FILE.");
  return yes === true ? "do" : "plan";
}

function watchEvery({ watch, pause }: DoctorOptions): number | undefined {
  if (watch !== true && pause !== undefined) throw usage("--pause is for --watch", "Add --watch.");
  return watch === true ? (pause ?? PAUSE_MS) : undefined;
}

export function addDoctor(program: Command, run: Run, doctor: Verbs["doctor"], terminal: Terminal): void {
  const values = { "--pause": parsePause, "--threads": parseThreads, "--output": REPORT_FORMATS };
  addVerb(program, "doctor", { values }).action((paths: readonly string[], options: DoctorOptions) =>
    run(() => {
      const { output, long, kubeconfig, redact, hns, threads } = options;
      return doctor(
        {
          paths,
          output,
          kubeconfig,
          node: options.node,
          collect: collectOf(options),
          isHns: hns === true,
          watchEveryMs: watchEvery(options),
          isLong: long === true,
          isRedacted: redact === true,
          threads,
        },
        terminal,
      );
    }),
  );
}

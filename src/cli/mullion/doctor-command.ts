/** The command line of `mullion doctor`. */
import { Argument, type Command } from "commander";
import { parseDuration } from "./duration.ts";
import { type Run, countFor, examples, usage } from "./options.ts";
import { REPORT_FORMATS, type ReportFormat, outputOption } from "./print-document.ts";
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
  program
    .command("doctor")
    .summary("find out why a Windows node does not work")
    .description(WORDS.description)
    .addArgument(
      new Argument("[path...]", 'files, folders, archives (.zip, .tar.gz); "-" for standard input'),
    )
    .option("--kubeconfig <file>", WORDS.kubeconfig)
    .option("--node <name>", "examine this node alone")
    .option("--collect", WORDS.collect)
    .option("--yes", "with --collect: make the pods that it prints")
    .option("--hns", WORDS.hns)
    .option("--watch", WORDS.watch)
    .option("--pause <time>", "with --watch: how long to wait between two looks (default: 5s)", parsePause)
    .option("--redact", WORDS.redact)
    .option("--threads <count>", WORDS.threads, parseThreads)
    .addOption(outputOption(REPORT_FORMATS))
    .option("--long", "name every file, read or not")
    .addHelpText(
      "after",
      `${WORDS.exitCodes}${examples(
        "mullion doctor collected/",
        "mullion doctor hnsdiag.txt objects.yaml -o json",
        "mullion doctor collected/ --kubeconfig ~/.kube/config",
        "mullion doctor --hns --kubeconfig ~/.kube/config --watch",
        "mullion doctor collected/ -o html > doctor.html",
        "mullion doctor collected.zip --redact -o markdown",
        `${WORDS.collectNodes} | mullion doctor - collected/`,
      )}`,
    )
    .action((paths: readonly string[], options: DoctorOptions) =>
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

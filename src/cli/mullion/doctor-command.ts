/** The command line of `mullion doctor`. */
import { Argument, type Command } from "commander";
import { type Run, examples } from "./options.ts";
import { REPORT_FORMATS, type ReportFormat, outputOption } from "./print-document.ts";
import type { Terminal } from "./terminal.ts";
import type { Verbs } from "./verbs.ts";
import { doctor as doctorWords } from "#data/words.js";

const WORDS = doctorWords();

interface DoctorOptions {
  readonly output: ReportFormat;
  readonly long?: boolean;
  readonly kubeconfig?: string;
  readonly redact?: boolean;
}

export function addDoctor(program: Command, run: Run, doctor: Verbs["doctor"], terminal: Terminal): void {
  program
    .command("doctor")
    .summary("find out why a Windows node does not work")
    .description(WORDS.description)
    .addArgument(new Argument("[path...]", 'files, folders, zip archives; "-" for standard input'))
    .option("--kubeconfig <file>", WORDS.kubeconfig)
    .option("--redact", WORDS.redact)
    .addOption(outputOption(REPORT_FORMATS))
    .option("--long", "name every file, read or not")
    .addHelpText(
      "after",
      `${WORDS.exitCodes}${examples(
        "mullion doctor collected/",
        "mullion doctor hnsdiag.txt objects.yaml -o json",
        "mullion doctor collected/ --kubeconfig ~/.kube/config",
        "mullion doctor collected/ -o html > doctor.html",
        "mullion doctor collected.zip --redact -o markdown",
        `${WORDS.collectNodes} | mullion doctor - collected/`,
      )}`,
    )
    .action((paths: readonly string[], { output, long, kubeconfig, redact }: DoctorOptions) =>
      run(() =>
        doctor({ paths, output, kubeconfig, isLong: long === true, isRedacted: redact === true }, terminal),
      ),
    );
}

/** `mullion verify`: which flows work, which do not, and whether that is what is documented. */
import type { Cluster } from "../../cluster/cluster.ts";
import { openCluster } from "../../cluster/open-cluster.ts";
import { formatVerification } from "../../cluster/verify/format-verify.ts";
import { formatJunit } from "../../cluster/verify/junit.ts";
import { readModel } from "../../cluster/verify/model-of-cluster.ts";
import type { ObserveProgress } from "../../cluster/verify/observe.ts";
import type { VerifyReport } from "../../cluster/verify/report.ts";
import { verifyCluster } from "../../cluster/verify/verify.ts";
import { readCluster } from "./read-cluster.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import { traceStyle } from "./trace.ts";
import type { VerifyRequest } from "./verbs.ts";

/** Cells between two signs of progress. */
const PROGRESS_STEP = 500;

/** One line that is written over and over; nothing where nobody watches. */
class ProgressLine implements ObserveProgress {
  private readonly terminal: Terminal;

  constructor(terminal: Terminal) {
    this.terminal = terminal;
  }

  observed(done: number, total: number): void {
    if (!this.terminal.isInteractive || total < PROGRESS_STEP) return;
    if (done === total) this.terminal.stderr("\r\u001B[K");
    else if (done % PROGRESS_STEP === 0) this.terminal.stderr(`\rTried ${done} of ${total} cells …`);
  }
}

/** Words that a shell takes as one. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function formatReport(report: VerifyReport, request: VerifyRequest, terminal: Terminal): string {
  const command = `mullion trace -f ${quoted(request.file)}`;
  switch (request.output) {
    case "table":
      return formatVerification(report, command, traceStyle(terminal));
    case "json":
      return `${JSON.stringify(report, undefined, 2)}\n`;
    case "junit":
      return formatJunit(report, command);
  }
}

/** Checks a cluster that is up, and prints the report. */
export function verifyAndPrint(cluster: Cluster, request: VerifyRequest, terminal: Terminal): ExitCode {
  const report = verifyCluster(cluster, readModel(cluster), { progress: new ProgressLine(terminal) });
  terminal.stdout(formatReport(report, request, terminal));
  return report.counts.findings === 0 ? 0 : 1;
}

export async function verify(request: VerifyRequest, terminal: Terminal): Promise<ExitCode> {
  return verifyAndPrint(await openCluster(await readCluster(request.file, terminal)), request, terminal);
}

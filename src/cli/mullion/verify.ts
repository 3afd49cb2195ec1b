/** `mullion verify`: which flows work, which do not, and whether that is what is documented. */
import { formatVerification } from "#diagnose/verify-text/format-verify.ts";
import { formatJunit } from "#diagnose/verify-text/junit.ts";
import type { ObserveProgress } from "#cluster/verify/observe.ts";
import type { VerifyFinding, VerifyReport } from "#cluster/verify/report.ts";
import { type ClusterTarget, connectCluster } from "./cluster/cluster-target.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import { traceStyle } from "./trace.ts";
import { ALLOW_NOT_JUDGED, type VerifyRequest } from "./verbs.ts";

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

/** The command that traces in the same cluster. */
function traceCommand({ files, isRecursive, name, socket }: ClusterTarget): string {
  const words = [
    ...(isRecursive ? ["-R"] : []),
    ...files.flatMap((file) => ["-f", quoted(file)]),
    ...(name === undefined ? [] : ["--name", quoted(name)]),
    ...(socket === undefined ? [] : ["--socket", quoted(socket)]),
  ];
  return ["mullion trace", ...words].join(" ");
}

function formatReport(report: VerifyReport, request: VerifyRequest, terminal: Terminal): string {
  const command = traceCommand(request.target);
  switch (request.output) {
    case "table":
      return formatVerification(report, command, traceStyle(terminal));
    case "json":
      return `${JSON.stringify(report, undefined, 2)}\n`;
    case "junit":
      return formatJunit(report, command);
  }
}

/** The report with the findings marked that the user takes: by their codes, or as what is not judged. */
function allowFindings(report: VerifyReport, allowed: readonly string[]): VerifyReport {
  const isAllowed = ({ code, limit }: VerifyFinding): boolean =>
    (code !== undefined && allowed.includes(code)) ||
    (limit !== undefined && allowed.includes(ALLOW_NOT_JUDGED));
  const findings = report.findings.map((finding) =>
    isAllowed(finding) ? { ...finding, allowed: true as const } : finding,
  );
  const counted = findings.filter((finding) => !("allowed" in finding)).length;
  return { ...report, counts: { ...report.counts, findings: counted }, findings };
}

export async function verify(request: VerifyRequest, terminal: Terminal): Promise<ExitCode> {
  const client = await connectCluster(request.target, terminal, new ProgressLine(terminal), "in the answer");
  const report = allowFindings(await client.verify(), request.allowed);
  terminal.stdout(formatReport(report, request, terminal));
  return report.counts.findings === 0 ? 0 : 1;
}

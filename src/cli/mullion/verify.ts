/** `mullion verify`: which flows work, which do not, and whether that is what is documented. */
import { formatVerification } from "#diagnose/verify-text/format-verify.ts";
import { formatJunit } from "#diagnose/verify-text/junit.ts";
import type { ObserveProgress } from "#cluster/verify/observe.ts";
import type { VerifyFinding, VerifyReport } from "#cluster/verify/report.ts";
import { formatComparison } from "#diagnose/verify-text/format-comparison.ts";
import type { ClusterTarget } from "./cluster/cluster-target.ts";
import { compareAsAsked, verifyTarget } from "./verify-comparison.ts";
import { formatDocument, isDocumentFormat } from "./print-document.ts";
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
    case "yaml":
      return formatDocument(report, request.output);
    case "junit":
      return formatJunit(report, command);
  }
}

/** True for a finding that the user takes: by its code, or as what is not judged. */
function isAllowed(
  { code, limit }: Pick<VerifyFinding, "code" | "limit">,
  allowed: readonly string[],
): boolean {
  return (
    (code !== undefined && allowed.includes(code)) ||
    (limit !== undefined && allowed.includes(ALLOW_NOT_JUDGED))
  );
}

/** The report with those findings marked. */
function allowFindings(report: VerifyReport, allowed: readonly string[]): VerifyReport {
  const findings = report.findings.map((finding) =>
    isAllowed(finding, allowed) ? { ...finding, allowed: true as const } : finding,
  );
  const counted = findings.filter((finding) => !("allowed" in finding)).length;
  return { ...report, counts: { ...report.counts, findings: counted }, findings };
}

export async function verify(request: VerifyRequest, terminal: Terminal): Promise<ExitCode> {
  const { target, comparison: asked, output, allowed } = request;
  const progress = new ProgressLine(terminal);
  const compared = await compareAsAsked(asked, target, terminal, progress);
  if (compared !== undefined) {
    const { comparison, judged } = compared;
    terminal.stdout(
      isDocumentFormat(output)
        ? formatDocument(comparison, output)
        : formatComparison(comparison, traceStyle(terminal)),
    );
    const isChanged = comparison.changes.length + comparison.input.length > 0;
    const hasFindings = judged.some(({ findings }) => findings.some((each) => !isAllowed(each, allowed)));
    return hasFindings || (asked.failsOnChange && isChanged) ? 1 : 0;
  }
  const verified = await verifyTarget(target, terminal, progress, asked.profiles[0]);
  const report = allowFindings(verified, allowed);
  terminal.stdout(formatReport(report, request, terminal));
  return report.counts.findings === 0 ? 0 : 1;
}

/** `mullion verify`: which flows work, which do not, and whether that is what is documented. */
import { quotePosix, quotePowerShell } from "#core/base/shell-quoting.ts";
import { formatVerification } from "#diagnose/verify-text/format-verify.ts";
import { formatJunit } from "#diagnose/verify-text/junit.ts";
import type { Edition } from "#core/catalogue/edition.ts";
import type { VerifyComparison } from "#cluster/verify/compare.ts";
import { type VerifyFinding, type VerifyReport, WHOLE } from "#cluster/verify/report.ts";
import { formatComparison } from "#diagnose/verify-text/format-comparison.ts";
import { type VerifyShard, reportOf } from "#cluster/verify/shard.ts";
import { explainVerification } from "#diagnose/verify-text/explain-verification.ts";
import { type ClusterTarget, connectRunning } from "./cluster/cluster-target.ts";
import { readClusterInputs } from "./cluster/read-cluster-inputs.ts";
import { compareAsAsked } from "./verify-comparison.ts";
import { formatDocument, isDocumentFormat } from "./print-document.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import { traceStyle } from "./trace.ts";
import { ALLOW_NOT_JUDGED, type VerifyFormat, type VerifyRequest } from "./verbs.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** Words that a shell takes as one. */
function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return process.platform === "win32" ? quotePowerShell(word) : quotePosix(word);
}

/** The command that traces in the same cluster. */
function traceCommand(
  { files, isRecursive, name, socket }: ClusterTarget,
  asDocumented: Edition | undefined,
): string {
  const words = [
    ...(asDocumented === undefined ? [] : ["--as-documented", asDocumented]),
    ...(isRecursive ? ["-R"] : []),
    ...files.flatMap((file) => ["-f", quoted(file)]),
    ...(name === undefined ? [] : ["--name", quoted(name)]),
    ...(socket === undefined ? [] : ["--socket", quoted(socket)]),
  ];
  return ["mullion trace", ...words].join(" ");
}

/** The report in the form that is asked for. @param command traces in the same cluster. */
export function formatReport(
  report: VerifyReport,
  output: Exclude<VerifyFormat, "html">,
  command: string,
  terminal: Terminal,
): string {
  switch (output) {
    case "table":
      return formatVerification(report, command, traceStyle(terminal));
    case "json":
    case "yaml":
      return formatDocument(report, output);
    case "junit":
      return formatJunit(report, command);
  }
}

async function presentReport(
  report: VerifyReport,
  output: VerifyFormat,
  command: string,
  terminal: Terminal,
): Promise<string> {
  if (output !== "html") return formatReport(report, output, command, terminal);
  const { formatHtml } = await import("./web/pages.ts");
  return formatHtml(
    report,
    `Verification of ${report.cluster}`,
    formatReport(report, "table", command, terminal),
  );
}

async function presentComparison(
  comparison: VerifyComparison,
  output: VerifyFormat,
  terminal: Terminal,
): Promise<string> {
  if (isDocumentFormat(output)) return formatDocument(comparison, output);
  const text = formatComparison(comparison, traceStyle(terminal));
  if (output !== "html") return text;
  const { formatHtml } = await import("./web/pages.ts");
  return formatHtml(comparison, `Comparison of ${comparison.cluster}`, text);
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
export function allowFindings(report: VerifyReport, allowed: readonly string[]): VerifyReport {
  const findings = report.findings.map((finding) =>
    isAllowed(finding, allowed) ? { ...finding, allowed: true as const } : finding,
  );
  const counted = findings.filter((finding) => !("allowed" in finding)).length;
  return { ...report, counts: { ...report.counts, findings: counted }, findings };
}

/** What a shard has found by itself; that others have the rest is no finding of it. */
function hasOwnFindings(part: VerifyShard): boolean {
  const own = reportOf([{ ...part, shard: WHOLE, shares: [part.outcomes.length] }]);
  const { findings } = allowFindings(own, part.subject.allowed);
  return findings.some(({ allowed, code }) => allowed !== true && code !== "nothing-tried");
}

/** A cluster that is built from files, whole or in part. */
async function verifyFiles(request: VerifyRequest, terminal: Terminal): Promise<ExitCode> {
  const { target, comparison, output, allowed, shard, workers } = request;
  const { profiles, asDocumented } = comparison;
  const inputs = await readClusterInputs(target.files, target.isRecursive, terminal);
  const overrides = { build: profiles[0]?.build, asDocumented };
  // All that simulates: what asks a running cluster starts without it.
  const { digestOf, runVerification } = await import("./verify-run.ts");
  if (request.isHelper) {
    const { helpToVerify } = await import("./verify-workers.ts");
    await helpToVerify(inputs, overrides, digestOf(inputs, overrides));
    return 0;
  }
  const command = traceCommand(target, asDocumented);
  const run = { inputs, overrides, shard: shard ?? WHOLE, workers, allowed, command };
  const { part, isInterrupted } = await runVerification(run, terminal);
  if (isInterrupted) terminal.stderr(`${WORDS.verifyInterrupted}\n`);
  if (shard !== undefined) {
    terminal.stdout(formatDocument(part, "json"));
    return isInterrupted ? 130 : hasOwnFindings(part) ? 1 : 0;
  }
  const report = allowFindings(explainVerification(reportOf([part])), allowed);
  terminal.stdout(await presentReport(report, output, command, terminal));
  return isInterrupted ? 130 : report.counts.findings === 0 ? 0 : 1;
}

async function watch({ target, comparison, allowed }: VerifyRequest, terminal: Terminal): Promise<ExitCode> {
  const { profiles, asDocumented } = comparison;
  const { watchVerification } = await import("./verify-watch.ts");
  return watchVerification(
    {
      target,
      overrides: { build: profiles[0]?.build, asDocumented },
      allow: (report) => allowFindings(report, allowed),
      command: traceCommand(target, asDocumented),
    },
    terminal,
  );
}

export async function verify(request: VerifyRequest, terminal: Terminal): Promise<ExitCode> {
  const { target, comparison: asked, output, allowed } = request;
  if (request.isWatching) return watch(request, terminal);
  const compared = await compareAsAsked(asked, target, terminal);
  if (compared !== undefined) {
    const { comparison, judged } = compared;
    terminal.stdout(await presentComparison(comparison, output, terminal));
    const isChanged = comparison.changes.length + comparison.input.length > 0;
    const hasFindings = judged.some(({ findings }) => findings.some((each) => !isAllowed(each, allowed)));
    return hasFindings || (asked.failsOnChange && isChanged) ? 1 : 0;
  }
  if (target.files.length > 0) return verifyFiles(request, terminal);
  const client = await connectRunning(target);
  const report = allowFindings(await client.verify(request.isWhole), allowed);
  terminal.stdout(await presentReport(report, output, traceCommand(target, asked.asDocumented), terminal));
  return report.counts.findings === 0 ? 0 : 1;
}

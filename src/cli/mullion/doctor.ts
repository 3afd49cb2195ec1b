/** `mullion doctor PATH…`: what is wrong with a Windows node, from what was collected there. */
import { type DoctorReport, examineNodes, isChecked, nodeNames } from "#diagnose/doctor/doctor.ts";
import { formatJunit, formatMarkdown, formatSarif } from "#diagnose/doctor/format-machine.ts";
import { formatDoctor } from "#diagnose/doctor/format-text.ts";
import { packageVersion } from "../installation.ts";
import { collect } from "./doctor-sources.ts";
import { unknownNode, watchNodes } from "./doctor-watch.ts";
import { Failure } from "./failure.ts";
import { usage } from "./options.ts";
import { type ReportFormat, formatDocument, isDocumentFormat } from "./print-document.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import type { DoctorRequest } from "./verbs.ts";
import { doctor as doctorWords } from "#data/words.js";

const WORDS = doctorWords();

async function formatAs(
  output: ReportFormat,
  report: DoctorReport,
  terminal: Terminal,
  isLong: boolean,
): Promise<string> {
  if (isDocumentFormat(output)) return formatDocument(report, output);
  if (output === "text") return formatDoctor(report, terminal, isLong);
  if (output === "junit") return formatJunit(report);
  if (output === "sarif") return formatSarif(report, packageVersion());
  if (output === "markdown") return formatMarkdown(report);
  const { formatHtml } = await import("./web/pages.ts");
  return formatHtml(report, `Doctor: ${report.nodes.join(", ")}`, formatDoctor(report, terminal, isLong));
}

/** @throws Failure for what does not go together. */
function checkWatch({ output, paths, isRedacted, collect: how }: DoctorRequest): void {
  if (how !== undefined) throw usage(WORDS.watchDoesNotCollect, WORDS.adviceWatchSources);
  if (output !== "text" && output !== "json")
    throw usage(WORDS.watchIsTextOrLines({ output }), "Write -o json.");
  if (paths.includes("-")) throw usage("standard input does not change", WORDS.adviceWatchSources);
  if (isRedacted) throw usage(WORDS.watchIsNotRedacted, "Leave out --redact, or --watch.");
}

function nothingRecognised({ notRead }: DoctorReport): Failure {
  const [first] = notRead;
  const others = notRead.length > 1 ? ` (and ${notRead.length - 1} more)` : "";
  const why = first === undefined ? "" : `: ${first.file}: ${first.reason}${others}`;
  const message = `nothing in these files is recognised${why}`;
  return new Failure("input-without-documents", message, WORDS.adviceNothingRecognised);
}

/** Examines what the request names. The exit code is 1 when something is wrong. */
export async function doctor(request: DoctorRequest, terminal: Terminal): Promise<ExitCode> {
  const { paths, output, isLong, kubeconfig, isHns, watchEveryMs } = request;
  if (paths.length === 0 && kubeconfig === undefined && !isHns)
    throw usage("no file is given", WORDS.adviceNothingRecognised);
  if (watchEveryMs !== undefined) {
    checkWatch(request);
    return watchNodes({ ...request, watchEveryMs }, terminal);
  }
  const { readings, logs, left } = await collect(request, terminal);
  const { isRedacted, node } = request;
  const report = await examineNodes(readings, { logs, left, isRedacted, node });
  if (report.files.length === 0) throw nothingRecognised(report);
  if (node !== undefined && report.nodes.length === 0) throw unknownNode(node, nodeNames(readings, logs));
  terminal.stdout(await formatAs(output, report, terminal, isLong));
  if (report.findings.length > 0) return 1;
  return isChecked(report) ? 0 : 2;
}

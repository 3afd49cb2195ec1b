/** `mullion doctor PATH…`: what is wrong with a Windows node, from what was collected there. */
import { LIMITS } from "#core/base/limits.ts";
import { decodeSource } from "#core/base/source-text.ts";
import { errorCode } from "#core/base/thrown.ts";
import { findingsOf } from "#diagnose/catalogue/log/findings.ts";
import { readLog } from "#diagnose/catalogue/log/read-log.ts";
import { type Signatures, buildSignatures } from "#diagnose/catalogue/log/signatures.ts";
import { type DoctorReport, examineNodes } from "#diagnose/doctor/doctor.ts";
import { formatJunit, formatMarkdown, formatSarif } from "#diagnose/doctor/format-machine.ts";
import { formatDoctor } from "#diagnose/doctor/format-text.ts";
import { FileReading, type ScannedLog } from "#diagnose/doctor/read-evidence.ts";
import { packageVersion } from "../installation.ts";
import { Failure, describeSystemError } from "./failure.ts";
import { usage } from "./options.ts";
import { type ReportFormat, formatDocument, isDocumentFormat } from "./print-document.ts";
import { ProgressLine } from "./progress-line.ts";
import { STANDARD_INPUT } from "./read-inputs.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import type { DoctorRequest } from "./verbs.ts";
import { isZip, readZip } from "./zip.ts";
import { doctor as doctorWords } from "#data/words.js";

const WORDS = doctorWords();

interface Collected {
  readonly readings: FileReading[];
  readonly logs: ScannedLog[];
  /** Files that say nothing, with the reason. */
  readonly left: { readonly file: string; readonly line: number; readonly reason: string }[];
}

/** The files that paths name; those of folders and of folders below, in the order of their names. */
async function listFiles(paths: readonly string[], terminal: Terminal): Promise<readonly string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const inside = path === "-" ? undefined : await terminal.listFolder(path, true);
    files.push(...(inside ?? [path]));
  }
  return [...new Set(files)];
}

async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

/** The error of the table that nslookup prints. */
const TIME_OUT = "dns-request-timed-out";

/** Reads files one after the other. */
class Collector {
  readonly collected: Collected = { readings: [], logs: [], left: [] };
  private readonly signatures: Signatures = buildSignatures();
  private readonly terminal: Terminal;

  constructor(terminal: Terminal) {
    this.terminal = terminal;
  }

  private leave(file: string, reason: string): void {
    this.collected.left.push({ file, line: 1, reason });
  }

  /** What is no log either is named. */
  private async scan(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const log = await readLog(chunks, this.signatures);
    if ("notALog" in log) this.leave(name, `it is ${log.notALog}. ${log.advice}`);
    else if (log.isBinary && log.errors.length === 0) this.leave(name, "it is not text");
    else this.collected.logs.push({ file: name, findings: findingsOf(log) });
  }

  /** What a session shows beside what was recognised; a time-out is judged with the look-ups around it. */
  private async scanSession(name: string, bytes: Uint8Array): Promise<void> {
    const log = await readLog(inOnePiece(bytes), this.signatures);
    const findings = "notALog" in log ? [] : findingsOf(log).filter(({ error }) => error.id !== TIME_OUT);
    if (findings.length > 0) this.collected.logs.push({ file: name, findings });
  }

  private async take(name: string, bytes: Uint8Array): Promise<void> {
    const source = decodeSource(name, bytes);
    const reading = source === undefined ? undefined : new FileReading(source);
    if (reading !== undefined && reading.holds.length > 0) {
      this.collected.readings.push(reading);
      if (reading.isSession) await this.scanSession(name, bytes);
    } else if (bytes.length === 0) this.leave(name, "it is empty");
    else await this.scan(name, inOnePiece(bytes));
  }

  /** The files of an archive stand below its name, as those of a folder do. */
  private async unpack(name: string, bytes: Uint8Array): Promise<void> {
    for (const entry of readZip(bytes)) {
      const file = entry.name === "" ? name : `${name}/${entry.name}`;
      if ("reason" in entry) this.leave(file, entry.reason);
      else await this.take(file, entry.bytes);
    }
  }

  /** A log may be longer than the memory; what else a file holds has to fit. */
  async read(path: string, isNamed: boolean): Promise<void> {
    const name = path === "-" ? STANDARD_INPUT : path;
    try {
      const bytes = await this.terminal.readBytes(path, LIMITS.inputBytesMax);
      if (isZip(bytes)) await this.unpack(name, bytes);
      else await this.take(name, bytes);
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      if (code === "EFBIG") await this.scan(name, this.terminal.readStream(path));
      else if (!isNamed) this.leave(name, describeSystemError(error));
      else
        throw new Failure(
          "cluster-file-unreadable",
          `cannot read ${JSON.stringify(path)}: ${describeSystemError(error)}`,
          "Name files and folders that you may read.",
        );
    }
  }
}

async function collect(paths: readonly string[], terminal: Terminal): Promise<Collected> {
  const collector = new Collector(terminal);
  const files = await listFiles(paths, terminal);
  const progress = new ProgressLine(terminal);
  try {
    for (const [index, path] of files.entries()) {
      progress.reading(path, index + 1, files.length);
      await collector.read(path, paths.includes(path));
    }
  } finally {
    progress.end();
  }
  return collector.collected;
}

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

/** Examines what the paths name. The exit code is 1 when something is wrong. */
export async function doctor(request: DoctorRequest, terminal: Terminal): Promise<ExitCode> {
  const { paths, output, isLong, kubeconfig } = request;
  if (paths.length === 0 && kubeconfig === undefined)
    throw usage("no file is given", WORDS.adviceNothingRecognised);
  const files = await collect(paths, terminal);
  // The client of Kubernetes is loaded only where there is a server.
  const cluster =
    kubeconfig === undefined
      ? { readings: [], left: [] }
      : await (await import("./server-objects.ts")).readCluster(kubeconfig);
  const left = [...files.left, ...cluster.left];
  const report = await examineNodes([...files.readings, ...cluster.readings], {
    logs: files.logs,
    isRedacted: request.isRedacted,
  });
  if (report.files.length === 0)
    throw new Failure(
      "input-without-documents",
      "nothing in these files is recognised",
      WORDS.adviceNothingRecognised,
    );
  const whole = { ...report, notRead: [...report.notRead, ...left] };
  terminal.stdout(await formatAs(output, whole, terminal, isLong));
  if (whole.findings.length > 0) return 1;
  // Without a single check nobody knows that nothing is wrong.
  return whole.checksMade > 0 ? 0 : 2;
}

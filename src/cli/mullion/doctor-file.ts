/** What one file says to `mullion doctor`: what is recognised in it, the errors of a log, or why it says nothing. */
import { LIMITS } from "#core/base/limits.ts";
import { SourceText, decodeSource } from "#core/base/source-text.ts";
import { errorCode } from "#core/base/thrown.ts";
import { containerLogsIn, withoutContainerLogs } from "#contracts/kubernetes/text/container-logs.ts";
import { BrokenJson, endOfValue, skipBlanks } from "#hns/dump/json-extent.ts";
import { findingsOf } from "#diagnose/catalogue/log/findings.ts";
import { readLog } from "#diagnose/catalogue/log/read-log.ts";
import { type Signatures, buildSignatures } from "#diagnose/catalogue/log/signatures.ts";
import { FileReading, type ScannedLog } from "#diagnose/doctor/read-evidence.ts";
import { Failure, describeSystemError } from "./failure.ts";
import { STANDARD_INPUT } from "./read-inputs.ts";
import type { Terminal } from "./terminal.ts";
import type { ArchiveEntry } from "./archive.ts";
import { gunzip, isGzip, isTar, readTar } from "./tar.ts";
import { isZip, readZip } from "./zip.ts";

/** A file that says nothing, or a part of one, with the reason. */
interface Left {
  readonly file: string;
  readonly line: number;
  readonly reason: string;
}

export interface Collected {
  readonly readings: readonly FileReading[];
  readonly logs: readonly ScannedLog[];
  readonly left: readonly Left[];
}

/** What a scanner takes at once: small enough to stay in the processor's own memory. */
const PIECE_BYTES = 262_144;

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < Math.max(1, bytes.length); at += PIECE_BYTES)
    yield await Promise.resolve(bytes.subarray(at, at + PIECE_BYTES));
}

/** The error of the table that nslookup prints. */
const TIME_OUT = "dns-request-timed-out";

const SCRIPT = /\.(?:ps1|psm1|psd1|cmd|bat|sh)$/iu;

/** Why a text that begins as JSON is none: its first bracket is never closed. */
function faultOfJson(text: string): string | undefined {
  const start = skipBlanks(text, 0);
  if (!/[[{]/u.test(text.charAt(start))) return undefined;
  try {
    endOfValue(text, start);
    return undefined;
  } catch (error) {
    if (!(error instanceof BrokenJson)) throw error;
    return error.message;
  }
}

/** Told of a file that is longer than the memory how many bytes of it were read. */
export type OnBytes = (path: string, bytes: number) => void;

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    onBytes(bytes);
    yield chunk;
  }
}

/** Reads files one after the other. */
export class Collector {
  private readings: FileReading[] = [];
  private logs: ScannedLog[] = [];
  private left: Left[] = [];
  private signatures: Signatures | undefined;
  private readonly terminal: Terminal;
  private readonly onBytes: OnBytes;

  constructor(terminal: Terminal, onBytes: OnBytes) {
    this.terminal = terminal;
    this.onBytes = onBytes;
  }

  /** What was read since this was asked last. */
  drain(): Collected {
    const { readings, logs, left } = this;
    this.readings = [];
    this.logs = [];
    this.left = [];
    return { readings, logs, left };
  }

  private leave(file: string, reason: string): void {
    this.left.push({ file, line: 1, reason });
  }

  /** What logs are scanned for; made when there is one. */
  private get wanted(): Signatures {
    this.signatures ??= buildSignatures();
    return this.signatures;
  }

  /**
   * What is no log either is named. A script names files and errors that nobody had.
   * @param fault why nothing else is recognised in it, where that is known
   */
  private async scan(name: string, chunks: AsyncIterable<Uint8Array>, fault?: string): Promise<void> {
    if (SCRIPT.test(name)) {
      this.leave(name, "it is a script, and says nothing of what has happened");
      return;
    }
    const log = await readLog(chunks, this.wanted);
    if ("notALog" in log) this.leave(name, `it is ${log.notALog}. ${log.advice}`);
    else if (log.isBinary && log.errors.length === 0) this.leave(name, "it is not text");
    else if (fault !== undefined && log.errors.length === 0) this.leave(name, fault);
    else this.logs.push({ file: name, findings: findingsOf(log) });
  }

  /** What a session or a log shows beside what was recognised; a time-out is judged with the look-ups around it. */
  private async scanBeside(name: string, bytes: Uint8Array): Promise<void> {
    const log = await readLog(inPieces(bytes), this.wanted);
    const findings = "notALog" in log ? [] : findingsOf(log).filter(({ error }) => error.id !== TIME_OUT);
    if (findings.length > 0) this.logs.push({ file: name, findings });
  }

  /** Logs of containers between the lists of a dump; whose they are says the pod. */
  private async scanContainers(name: string, text: string): Promise<boolean> {
    const all = containerLogsIn(text);
    for (const { container, namespace, pod, text: own, line } of all) {
      const log = await readLog(inPieces(Buffer.from(own)), this.wanted);
      if ("notALog" in log) continue;
      const findings = findingsOf(log).map((each) => ({
        ...each,
        firstLine: each.firstLine + line - 1,
        lastLine: each.lastLine + line - 1,
      }));
      this.logs.push({ file: name, findings, of: { container, namespace, pod } });
    }
    return all.length > 0;
  }

  private async take(name: string, bytes: Uint8Array): Promise<void> {
    const decoded = decodeSource(name, bytes);
    const hasContainers = decoded !== undefined && (await this.scanContainers(name, decoded.text));
    const source = hasContainers ? new SourceText(name, withoutContainerLogs(decoded.text)) : decoded;
    const reading = source === undefined ? undefined : new FileReading(source);
    if (reading !== undefined && reading.holds.length > 0) {
      this.readings.push(reading);
      if (reading.showsErrors && !hasContainers) await this.scanBeside(name, bytes);
    } else if (bytes.length === 0) this.leave(name, "it is empty");
    else if (!hasContainers) await this.scan(name, inPieces(bytes), source && faultOfJson(source.text));
  }

  /** The files of an archive stand below its name, as those of a folder do. */
  private async takeAll(name: string, entries: Iterable<ArchiveEntry>): Promise<void> {
    for (const entry of entries) {
      const file = entry.name === "" ? name : `${name}/${entry.name}`;
      if ("reason" in entry) this.leave(file, entry.reason);
      else await this.take(file, entry.bytes);
    }
  }

  /** An archive, a file that is compressed by itself, or a file as it is. */
  private async unpack(name: string, bytes: Uint8Array): Promise<void> {
    if (isGzip(bytes)) {
      const content = gunzip(bytes);
      if (typeof content === "string") this.leave(name, content);
      else if (isTar(content)) await this.takeAll(name, readTar(content));
      else await this.take(name, content);
    } else if (isZip(bytes)) await this.takeAll(name, readZip(bytes));
    else if (isTar(bytes)) await this.takeAll(name, readTar(bytes));
    else await this.take(name, bytes);
  }

  /** A log may be longer than the memory; what else a file holds has to fit. */
  async read(path: string, isNamed: boolean): Promise<void> {
    const name = path === "-" ? STANDARD_INPUT : path;
    try {
      const bytes = await this.terminal.readBytes(path, LIMITS.inputBytesMax);
      await this.unpack(name, bytes);
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      if (code === "EFBIG")
        await this.scan(
          name,
          counted(this.terminal.readStream(path), (bytes) => this.onBytes(path, bytes)),
        );
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

/** `mullion trace`: follows one packet and its answer. */
import { captureTrace } from "../../cluster/capture.ts";
import { type TraceStyle, formatTrace } from "../../cluster/format-trace.ts";
import { openCluster } from "../../cluster/open-cluster.ts";
import { type Trace, tracePacket } from "../../cluster/trace.ts";
import { Failure, describeSystemError } from "./failure.ts";
import { readCluster } from "./read-cluster.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import type { TraceRequest } from "./verbs.ts";

/** The moment that captures of simulated time count from: 2025-01-01, so that equal runs give equal files. */
const CAPTURE_EPOCH_MS = 1_735_689_600_000;

export function traceStyle(terminal: Terminal): TraceStyle {
  return {
    heading: (text) => terminal.bold(text),
    good: (text) => terminal.green(text),
    bad: (text) => terminal.red(text),
    faint: (text) => terminal.dim(text),
  };
}

/** Writes the packets of a trace. @throws Failure when the file cannot be written. */
export async function writeCapture(traced: Trace, path: string, terminal: Terminal): Promise<void> {
  try {
    await terminal.writeFile(path, captureTrace(traced.heard, CAPTURE_EPOCH_MS));
  } catch (error) {
    throw new Failure(
      "bad-usage",
      `cannot write ${JSON.stringify(path)}: ${describeSystemError(error)}`,
      "Name a file in a folder that you may write to.",
    );
  }
}

export async function trace(request: TraceRequest, terminal: Terminal): Promise<ExitCode> {
  const cluster = await openCluster(await readCluster(request.file, terminal));
  const traced = tracePacket(cluster, request);
  const { report } = traced;
  if (request.pcap !== undefined) await writeCapture(traced, request.pcap, terminal);
  terminal.stdout(
    request.output === "json"
      ? `${JSON.stringify(report, undefined, 2)}\n`
      : formatTrace(report, traceStyle(terminal)),
  );
  if (request.pcap !== undefined) terminal.stderr(`Packets: ${request.pcap}\n`);
  return report.verdict === "answered" ? 0 : 1;
}

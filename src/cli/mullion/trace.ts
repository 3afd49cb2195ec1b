/** `mullion trace`: follows one packet and its answer. `mullion resolve`: a name as pods resolve it. */
import { formatResolution } from "#cluster/trace/format-resolve.ts";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import { type TraceStyle, formatTrace } from "#cluster/trace/format-trace.ts";
import { explainTrace } from "#diagnose/verify-text/explain-verification.ts";
import { connectCluster } from "./cluster/cluster-target.ts";
import { Failure, describeSystemError } from "./failure.ts";
import { type PageFormat, formatDocument, isDocumentFormat } from "./print-document.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import type { ResolveVerbRequest, TraceVerbRequest } from "./verbs.ts";

export function traceStyle(terminal: Terminal): TraceStyle {
  return {
    heading: (text) => terminal.bold(text),
    good: (text) => terminal.green(text),
    bad: (text) => terminal.red(text),
    faint: (text) => terminal.dim(text),
    columns: terminal.columns,
  };
}

/** Writes the packets of a trace. @throws Failure when the file cannot be written. */
export async function writeCapture(bytes: Uint8Array, path: string, terminal: Terminal): Promise<void> {
  try {
    await terminal.writeFile(path, bytes);
  } catch (error) {
    throw new Failure(
      "bad-usage",
      `cannot write ${JSON.stringify(path)}: ${describeSystemError(error)}`,
      "Name a file in a folder that you may write to.",
    );
  }
}

/** `NODE` or `NODE:PLACE`. */
function captureScope(text: string | undefined): { captureNode?: string; capturePlace?: string } {
  const [, node, place] = /^([^:]+)(?::(.+))?$/.exec(text ?? "") ?? [];
  return {
    ...(node === undefined ? {} : { captureNode: node }),
    ...(place === undefined ? {} : { capturePlace: place }),
  };
}

async function formatAs(output: PageFormat, report: TraceReport, terminal: Terminal): Promise<string> {
  if (isDocumentFormat(output)) return formatDocument(report, output);
  const text = formatTrace(report, traceStyle(terminal));
  if (output === "text") return text;
  const { formatHtml } = await import("./web/pages.ts");
  return formatHtml(report, `${report.from.reference} → ${report.to.reference}`, text);
}

export async function trace(request: TraceVerbRequest, terminal: Terminal): Promise<ExitCode> {
  const { target, asDocumented, from, to, protocol, port, output, pcap, pcapOn, isInjected, family } =
    request;
  const client = await connectCluster(target, terminal, { asDocumented });
  const { report: traced, capture } = await client.trace({
    from,
    to,
    protocol,
    ...(port === undefined ? {} : { port }),
    ...(family === undefined ? {} : { family }),
    ...(isInjected ? { inject: true } : {}),
    ...(output === "html" ? { bytes: true as const } : {}),
    ...(pcap === undefined ? {} : { capture: true, ...captureScope(pcapOn) }),
  });
  const report = explainTrace(traced);
  if (pcap !== undefined)
    await writeCapture(new Uint8Array(Buffer.from(capture ?? "", "base64")), pcap, terminal);
  terminal.stdout(await formatAs(output, report, terminal));
  if (pcap !== undefined) terminal.stderr(`Packets: ${pcap}\n`);
  return report.verdict === "answered" ? 0 : 1;
}

/** Exit code 1 when somebody found no address. */
export async function resolve(request: ResolveVerbRequest, terminal: Terminal): Promise<ExitCode> {
  const { target, asDocumented, from, name, program, family, times, intervalMs, output } = request;
  const client = await connectCluster(target, terminal, { asDocumented });
  const report = await client.resolve({
    from,
    name,
    as: program,
    ...(family === undefined ? {} : { family }),
    times,
    intervalMs,
  });
  terminal.stdout(
    output === "text" ? formatResolution(report, traceStyle(terminal)) : formatDocument(report, output),
  );
  return report.lookups.every(({ outcome }) => outcome === "resolved") ? 0 : 1;
}

/** `mullion exec`: a command on a pod or node. */
import type { ExecReport } from "#cluster/exec/exec-report.ts";
import { formatNotJudged, formatWalks } from "#cluster/trace/format-trace.ts";
import { connectCluster } from "./cluster/cluster-target.ts";
import { formatDocument } from "./print-document.ts";
import type { Terminal } from "./terminal.ts";
import { traceStyle } from "./trace.ts";
import type { ExecVerbRequest } from "./verbs.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

async function listCommands(): Promise<string> {
  // All that simulates: what asks a running cluster starts without it.
  const { COMMANDS, STAGE_USAGES } = await import("#cluster/exec/exec.ts");
  const named = (["windows", "linux"] as const).flatMap((os) => {
    const listed = COMMANDS.filter((each) => each.os === os).flatMap((each) => each.usages);
    const usages = listed.length === 0 ? [] : [...listed, ...STAGE_USAGES[os]];
    return usages.length === 0
      ? []
      : [`On ${os === "windows" ? "Windows" : "Linux"}:`, ...usages.map((usage) => `  ${usage}`)];
  });
  return `${named.join("\n")}\n`;
}

function walksOf({ walks = [], isCut }: ExecReport, terminal: Terminal): string {
  if (walks.length === 0) return `\n${WORDS.execNoPacket}\n`;
  const cut = isCut === true ? `${WORDS.execWalksCut}\n` : "";
  return `\n${formatWalks(walks, traceStyle(terminal))}${cut}`;
}

export async function exec(request: ExecVerbRequest, terminal: Terminal): Promise<number> {
  const { target, asDocumented, from, command, output, isTraced, isSimulated } = request;
  if (from === undefined) {
    terminal.stdout(await listCommands());
    return 0;
  }
  const client = await connectCluster(target, terminal, { asDocumented });
  if (!isTraced && !isSimulated && output === "text" && target.files.length === 0) {
    // Starts programs of this machine: what simulates starts without it.
    const { execInRealPod } = await import("./cluster/shell.ts");
    const exitCode = await execInRealPod(client, from, command);
    if (exitCode !== undefined) return exitCode;
  }
  const report = await client.exec({ from, command: [...command], ...(isTraced && { trace: true }) });
  if (output === "text") {
    terminal.stdout(report.stdout);
    terminal.stderr(report.stderr);
    if (report.walks !== undefined) terminal.stdout(walksOf(report, terminal));
    terminal.stderr(formatNotJudged(report.notJudged ?? [], traceStyle(terminal)));
    if (!report.isListed) terminal.stderr(`${WORDS.execCommandUnknown}\n`);
    if (report.exitCode !== 0) terminal.stderr(`The command ended with exit code ${report.exitCode}.\n`);
  } else terminal.stdout(formatDocument(report, output));
  return report.exitCode === 0 ? 0 : 1;
}

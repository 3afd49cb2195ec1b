/** `mullion demo`, which is `npm start`: a cluster, who reaches whom in it, one packet explained, its capture. */
import { inProcessClient } from "../../api/in-process.ts";
import { SILENT_LOG } from "../../base/log.ts";
import { CAPTURE_EPOCH_MS, captureTrace } from "../../cluster/capture.ts";
import { readModel } from "../../cluster/verify/model-of-cluster.ts";
import { verifyCluster } from "../../cluster/verify/verify.ts";
import { FixedSession, refuseManifests } from "../../cluster/fixed-session.ts";
import { formatTrace } from "../../cluster/format-trace.ts";
import { openCluster } from "../../cluster/open-cluster.ts";
import { type ReachabilityCell, checkReachability } from "../../cluster/reachability.ts";
import { tracePacket } from "../../cluster/trace.ts";
import { formatKind } from "./get.ts";
import { parseKind } from "./kinds.ts";
import { readCluster } from "./read-cluster.ts";
import { Failure } from "./failure.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import { traceStyle, writeCapture } from "./trace.ts";
import type { DemoRequest } from "./verbs.ts";

const MARKS: { readonly [Outcome in ReachabilityCell["outcome"]]: string } = {
  answered: "yes",
  refused: "refused",
  "timed-out": "no",
  unreachable: "no",
};

/** Rows send, columns receive; a cell names the protocols that got an answer. */
function formatMatrix(cells: readonly ReachabilityCell[], terminal: Terminal): string {
  const names = [...new Set(cells.map((cell) => cell.from))];
  const cellOf = (from: string, to: string): string => {
    const own = cells.filter((cell) => cell.from === from && cell.to === to);
    if (own.length === 0) return "-";
    return own.map((cell) => `${cell.protocol} ${MARKS[cell.outcome]}`).join(", ");
  };
  const rows = [
    ["FROM \\ TO", ...names],
    ...names.map((from) => [from, ...names.map((to) => cellOf(from, to))]),
  ];
  const widths = names
    .concat("")
    .map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row, index) => {
      const line = row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd();
      return `${index === 0 ? terminal.bold(line) : line}\n`;
    })
    .join("");
}

/** The pair that shows most: the first pod and one on another node. */
function choosePair(
  pods: readonly { readonly name: string; readonly node: string }[],
): readonly [string, string] {
  const [first] = pods;
  const other = pods.find((pod) => pod.node !== first?.node) ?? pods[1];
  if (first === undefined || other === undefined) {
    throw new Failure(
      "bad-usage",
      "the cluster has fewer than two pods, so there is nothing to show",
      "Give the cluster file two pods, or run: mullion demo",
    );
  }
  return [first.name, other.name];
}

export async function demo(request: DemoRequest, terminal: Terminal): Promise<ExitCode> {
  const file = await readCluster(request.file, terminal);
  const pods = file.pods.map((pod) => ({ name: `pod/${pod.namespace}/${pod.name}`, node: pod.node }));
  const [from, to] = choosePair(pods);
  terminal.stderr(`Bringing up ${file.nodes.length} nodes and ${file.pods.length} pods …\n`);
  const cluster = await openCluster(file);
  terminal.stdout(`${terminal.bold(`Cluster ${file.name}`)}\n\n`);
  const client = inProcessClient({
    session: new FixedSession(cluster),
    readManifests: refuseManifests,
    verify: (session) => verifyCluster(session.cluster, readModel(session.cluster)),
    identity: { name: file.name, version: "", pid: 0 },
    log: SILENT_LOG,
  });
  terminal.stdout(`${await formatKind(client, parseKind("nodes"), "table")}\n`);
  terminal.stdout(`${await formatKind(client, parseKind("pods"), "table")}\n`);
  terminal.stderr("Trying every pair …\n");
  terminal.stdout(`${terminal.bold("Who reaches whom")}\n\n`);
  terminal.stdout(`${formatMatrix(checkReachability(cluster), terminal)}\n`);
  terminal.stdout(`${terminal.bold("One packet")}\n\n`);
  const traced = tracePacket(cluster, { from, to, protocol: "tcp", port: undefined });
  terminal.stdout(formatTrace(traced.report, traceStyle(terminal)));
  await writeCapture(captureTrace(traced.heard, CAPTURE_EPOCH_MS), request.pcap, terminal);
  terminal.stdout(`\nThe packets are in ${request.pcap}; Wireshark and tshark open it.\n`);
  return traced.report.verdict === "answered" ? 0 : 1;
}

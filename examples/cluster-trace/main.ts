/** A cluster from a file, in this process: who reaches whom, and why one packet does not come back. */
import { readFileSync } from "node:fs";
import {
  checkReachability,
  formatProblem,
  formatTrace,
  openCluster,
  parseClusterFile,
  tracePacket,
} from "mullion/cluster";

/** @returns what a person wants to see of it. @throws TypeError with the problems of the file. */
export async function runExample(path: string): Promise<readonly string[]> {
  const parsed = parseClusterFile(readFileSync(path, "utf8"), path);
  if ("problems" in parsed) throw new TypeError(parsed.problems.map(formatProblem).join(""));
  const cluster = await openCluster(parsed.cluster);

  const cells = checkReachability(cluster);
  const silent = cells.filter(({ outcome }) => outcome !== "answered");
  const lines = [`${cells.length - silent.length} of ${cells.length} flows are answered`];
  for (const { from, to, protocol, outcome } of silent) lines.push(`${protocol} ${from} → ${to}: ${outcome}`);

  // Windows does not translate ICMP to the outside. The trace works on a copy: the cluster stays as it is.
  const { report } = tracePacket(cluster, {
    from: "pod/default/client",
    to: "external",
    protocol: "icmp",
    port: undefined,
  });
  lines.push(`${report.verdict}: ${report.code ?? "no code"}`, formatTrace(report));
  return lines;
}

if (import.meta.filename === process.argv[1]) {
  const file = process.argv[2] ?? "examples/two-windows-nodes/cluster.yaml";
  for (const line of await runExample(file)) console.log(line);
}

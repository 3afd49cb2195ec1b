/** The jobs of the library, each with what it begins with: a cluster, a packet, all flows, files, an HNS, a switch port. */
import { readFileSync } from "node:fs";
import {
  type Cluster,
  VfpPort,
  createHns,
  decodeSource,
  formatProblem,
  formatTrace,
  formatVerification,
  lint,
  openSession,
  readInput,
  tracePacket,
  verifyCluster,
} from "mullion";
import { listNetworks } from "mullion/hcn";

const POD = `apiVersion: v1
kind: Pod
metadata: { name: agent }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  hostNetwork: true
  containers: [{ name: agent, image: agent }]
`;

/** Brings a cluster up; manifests and dumps may stand beside the cluster file. */
async function open(path: string): Promise<Cluster> {
  const result = readInput([{ name: path, text: readFileSync(path, "utf8") }]);
  if (!("input" in result)) throw new TypeError(result.problems.map(formatProblem).join(""));
  return (await openSession(result.input)).session.cluster;
}

/** @returns what a person wants to see of it. @throws TypeError with the problems of the file. */
export async function runExample(path: string): Promise<readonly string[]> {
  const cluster = await open(path);

  // trace: one packet and its answer.
  const { report } = tracePacket(cluster, { from: "pod/client", to: "pod/api", protocol: "tcp", port: 8080 });
  const lines = [`trace: ${report.verdict}`, ...formatTrace(report).split("\n").slice(0, 1)];

  // verify: every flow, against what is documented for these builds of Windows.
  const verification = verifyCluster(cluster);
  lines.push(`verify: ${verification.counts.cells} cells, ${verification.counts.findings} findings`);
  lines.push(...formatVerification(verification).trimEnd().split("\n").slice(-1));

  // lint: files, before they reach a node.
  const source = decodeSource("agent.yaml", new TextEncoder().encode(POD));
  const { findings } = lint({ sources: source === undefined ? [] : [source] });
  for (const { code, file, line } of findings) lines.push(`lint: ${file}:${line}: ${code}`);

  // HNS: one in this process.
  const { client } = createHns({ profile: "ws2022" });
  lines.push(`HNS: ${(await listNetworks(client)).length} networks`);

  // The engine: a switch port without layers passes what it is offered.
  const port = new VfpPort({ id: "1", name: "pod web", node: "win-1", layers: [] });
  lines.push(`engine: a port with ${port.unifiedFlowCount} flows`);
  return lines;
}

if (import.meta.filename === process.argv[1]) {
  const file = process.argv[2] ?? "examples/two-windows-nodes/cluster.yaml";
  for (const line of await runExample(file)) console.log(line);
}

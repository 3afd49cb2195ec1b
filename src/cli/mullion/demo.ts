/** `mullion demo`, which is `npm start`: a cluster from manifests, its flows, one Service call explained, its capture. */
import { join, relative } from "node:path";
import type { ControlClient } from "#cluster/api/client.ts";
import { foldTrace } from "#cluster/trace/fold-trace.ts";
import { formatTrace } from "#cluster/trace/format-trace.ts";
import { explainTrace } from "#diagnose/verify-text/explain-verification.ts";
import { foldVerification } from "#diagnose/verify-text/fold-verification.ts";
import { formatVerification } from "#diagnose/verify-text/format-verify.ts";
import type { KubeObject, Pod, Service } from "#contracts/kubernetes/objects.ts";
import { packageRoot } from "../installation.ts";
import { connectCluster } from "./cluster/cluster-target.ts";
import { Failure } from "./failure.ts";
import { formatKind } from "./get/get.ts";
import { parseKind } from "./get/kinds.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import { traceStyle, writeCapture } from "./trace.ts";
import { DEMO_EXAMPLE, type DemoRequest } from "./verbs.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** A pod that calls and the Service it calls, as `trace` takes them. */
interface Call {
  readonly from: string;
  readonly to: string;
}

function isPod(object: KubeObject): object is Pod {
  return object.kind === "Pod";
}

function isService(object: KubeObject): object is Service {
  return object.kind === "Service";
}

function referenceOf({ kind, metadata }: Pod | Service): string {
  return `${kind.toLowerCase()}/${metadata.namespace}/${metadata.name}`;
}

/** Pods of the user's on Windows nodes, then on others. */
async function callers(client: ControlClient): Promise<readonly Pod[]> {
  const { nodes } = await client.cluster();
  const windows = new Set(nodes.filter(({ os }) => os === "windows").map(({ name }) => name));
  const pods = (await client.objects("pods")).items
    .filter(isPod)
    .filter(({ metadata, status }) => metadata.namespace !== "kube-system" && status?.phase === "Running");
  return pods.toSorted(
    (a, b) => Number(windows.has(b.spec?.nodeName ?? "")) - Number(windows.has(a.spec?.nodeName ?? "")),
  );
}

/** The call that shows most: from a Windows pod to a Service that does not lead back to it; else to another pod. */
async function chooseCall(client: ControlClient): Promise<Call> {
  const [from, ...others] = await callers(client);
  const services = (await client.objects("services")).items
    .filter(isService)
    .filter(({ metadata, spec }) => metadata.namespace !== "kube-system" && hasAddress(spec?.clusterIP));
  const leadsBack = ({ spec }: Service): boolean =>
    Object.entries(spec?.selector ?? {}).every(([key, value]) => from?.metadata.labels?.[key] === value);
  const to = services.find((service) => !leadsBack(service)) ?? others[0];
  if (from !== undefined && to !== undefined) return { from: referenceOf(from), to: referenceOf(to) };
  throw new Failure(
    "bad-usage",
    WORDS.demoNeedsTwoPods,
    "Give the cluster file two pods, or run: mullion demo",
  );
}

/** Where an example of the package stands, as seen from the folder that the user is in. */
function packagedPath(file: string): string {
  return relative(process.cwd(), join(packageRoot(), file));
}

function hasAddress(clusterIP: string | undefined): boolean {
  return clusterIP !== undefined && clusterIP !== "" && clusterIP !== "None";
}

/** Rows of a table that are shown; more are counted. */
const ROWS_MAX = 6;

/** The table with its first rows; those of the system are not among them. */
function foldTable(table: string): string {
  const [titles = "", ...rows] = table.trimEnd().split("\n");
  const own = rows.filter((row) => !row.startsWith("kube-system "));
  const hidden = own.length - ROWS_MAX;
  const rest = hidden > 0 ? [`… and ${hidden} more`] : [];
  return `${[titles, ...own.slice(0, ROWS_MAX), ...rest].join("\n")}\n`;
}

/** What to do with files of one's own; every line can be typed as it is, with another path. */
function ownFiles(file: string): string {
  return [
    WORDS.demoOwnFiles,
    "  npx mullion verify -f FILE                              what works, and what does not",
    `  ${WORDS.demoTraceExample}`,
    "  npx mullion lint FILE                                   what Windows cannot do, before it runs",
    `All of the above in full: npx mullion demo --full${file === packagedPath(DEMO_EXAMPLE) ? "" : ` -f ${file}`}`,
    "",
  ].join("\n");
}

export async function demo(request: DemoRequest, terminal: Terminal): Promise<ExitCode> {
  const { pcap, isFull } = request;
  const file = request.file === DEMO_EXAMPLE ? packagedPath(DEMO_EXAMPLE) : request.file;
  terminal.stderr(`Bringing up the cluster of ${file === "-" ? "standard input" : file} …\n`);
  const target = { files: [file], isRecursive: false, name: undefined, socket: undefined };
  const client = await connectCluster(target, terminal);
  const { name } = await client.cluster();
  terminal.stdout(`${terminal.bold(`Cluster ${name}`)}${isFull ? "\n" : ", without kube-system"}\n`);
  for (const kind of ["nodes", "pods", "services"]) {
    const table = await formatKind(client, parseKind(kind), "table");
    terminal.stdout(`${isFull ? table : foldTable(table)}\n`);
  }
  if (isFull) terminal.stderr("Trying every flow …\n");
  terminal.stdout(`${terminal.bold("What works, and what does not")}\n${isFull ? "\n" : ""}`);
  const verified = await client.verify();
  const style = traceStyle(terminal);
  terminal.stdout(
    `${isFull ? formatVerification(verified, `mullion trace -f ${file}`, style) : foldVerification(verified, style)}\n`,
  );
  const { from, to } = await chooseCall(client);
  terminal.stdout(`${terminal.bold("One call, explained")}\n${isFull ? "\n" : ""}`);
  const { report, capture } = await client.trace({ from, to, protocol: "tcp", capture: true });
  terminal.stdout(isFull ? formatTrace(explainTrace(report), style) : foldTrace(report, style));
  await writeCapture(new Uint8Array(Buffer.from(capture ?? "", "base64")), pcap, terminal);
  terminal.stdout(`${isFull ? "\n" : ""}The packets are in ${pcap}; Wireshark and tshark open it.\n`);
  if (!isFull) terminal.stdout(`\n${ownFiles(file)}`);
  return report.verdict === "answered" && verified.counts.findings === 0 ? 0 : 1;
}

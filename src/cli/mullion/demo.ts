/** `mullion demo`, which is `npm start`: a cluster from manifests, its flows, one Service call explained, its capture. */
import { join, relative } from "node:path";
import type { ControlClient } from "#cluster/api/client.ts";
import { formatTrace } from "#cluster/trace/format-trace.ts";
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
    "the cluster has fewer than two pods, so there is nothing to show",
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

export async function demo(request: DemoRequest, terminal: Terminal): Promise<ExitCode> {
  const { pcap } = request;
  const file = request.file === DEMO_EXAMPLE ? packagedPath(DEMO_EXAMPLE) : request.file;
  terminal.stderr(`Bringing up the cluster of ${file} …\n`);
  const target = { files: [file], isRecursive: false, name: undefined, socket: undefined };
  const client = await connectCluster(target, terminal);
  const { name } = await client.cluster();
  terminal.stdout(`${terminal.bold(`Cluster ${name}`)}\n\n`);
  for (const kind of ["nodes", "pods", "services"])
    terminal.stdout(`${await formatKind(client, parseKind(kind), "table")}\n`);
  terminal.stderr("Trying every flow …\n");
  terminal.stdout(`${terminal.bold("What works, and what does not")}\n\n`);
  const verified = await client.verify();
  const style = traceStyle(terminal);
  terminal.stdout(`${formatVerification(verified, `mullion trace -f ${file}`, style)}\n`);
  const { from, to } = await chooseCall(client);
  terminal.stdout(`${terminal.bold("One call, explained")}\n\n`);
  const { report, capture } = await client.trace({ from, to, protocol: "tcp", capture: true });
  terminal.stdout(formatTrace(report, style));
  await writeCapture(new Uint8Array(Buffer.from(capture ?? "", "base64")), pcap, terminal);
  terminal.stdout(`\nThe packets are in ${pcap}; Wireshark and tshark open it.\n`);
  return report.verdict === "answered" && verified.counts.findings === 0 ? 0 : 1;
}

/**
 * A new Windows node, from a bare machine to kube-proxy, by the scripts that people run: the other nodes are up, and each
 * step does to this one what the script would do.
 */
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import { defined } from "#core/base/assert.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import { addToIp, formatIp, formatPrefix } from "#core/net/ip.ts";
import { formatFlanneldRelease } from "#programs/flannel/flanneld-options.ts";
import type { ClusterFile } from "../file/cluster-file.ts";
import { raiseMachines } from "../machines/raise-machines.ts";
import { RunningCluster } from "../session/running-cluster.ts";
import { compareLooks, lookAt, windowsPath } from "./changes.ts";
import type { BringUpOptions } from "./options.ts";
import type { BringUpReport, StepOutcome, StepReport } from "./report.ts";
import { ScriptEnds, WaitsForEver, type Step } from "./step.ts";
import { SOURCE_VIP, SOURCE_VIP_REQUEST, sourceVipRequest } from "./script-files.ts";
import { ScriptNode } from "./script-node.ts";
import { STOP, stepsOf } from "./scripts.ts";

export interface BringUpInput {
  readonly file: ClusterFile;
  readonly objects: readonly LoadedObject[];
  readonly options: BringUpOptions;
  /** Told of each step when it is over. */
  readonly progress?: (step: StepReport, total: number) => void;
}

/** Later than flanneld waits for it (control-planes.md §1.8). */
const LATE_ADDRESS_MS = 8_000;

/** Which scripts have ended, and whether one waits for ever. */
interface Course {
  readonly ended: Set<string>;
  isStuck: boolean;
}

/** A file inside another script's process: when that one throws, its caller goes on. */
const CHILD_SCRIPTS = new Set(["install.ps1", "start-kubelet.ps1", "start-kubeproxy.ps1", "by hand"]);

function isSkipped({ script }: Step, { ended, isStuck }: Course): boolean {
  return isStuck || ended.has(script) || [...ended].some((name) => !CHILD_SCRIPTS.has(name));
}

function outcomeOf(error: unknown): StepOutcome {
  if (error instanceof WaitsForEver) return "waits";
  if (error instanceof ScriptEnds) return "ended";
  throw error;
}

/** Programs that have ended by themselves meanwhile: each is told once. */
function reportFailures({ processes, found }: ScriptNode): void {
  for (const process of processes) {
    if (process.failure === undefined || process.isFailureReported) continue;
    process.isFailureReported = true;
    found.push(process.failure);
  }
}

async function performStep(step: Step, node: ScriptNode, course: Course): Promise<StepOutcome> {
  if (isSkipped(step, course)) return "skipped";
  try {
    await step.perform(node);
    reportFailures(node);
    return node.found.length === 0 ? "done" : "went-on";
  } catch (error) {
    const outcome = outcomeOf(error);
    reportFailures(node);
    if (error instanceof ScriptEnds || error instanceof WaitsForEver) node.found.push(error.finding);
    if (outcome === "waits") course.isStuck = true;
    else course.ended.add(step.script);
    return outcome;
  }
}

async function runStep(
  step: Step,
  place: { readonly run: number; readonly number: number },
  node: ScriptNode,
  course: Course,
): Promise<StepReport> {
  const { script, name, command } = step;
  const beganMs = node.clock.nowMs;
  node.beginStep();
  const before = await lookAt(node.lookout());
  const outcome = await performStep(step, node, course);
  const running = new Set(node.processes);
  const changes = compareLooks(before, await lookAt(node.lookout()));
  const started = [...running].filter(({ isReported }) => !isReported);
  return {
    ...place,
    script,
    name,
    command,
    outcome,
    beganMs,
    tookMs: node.clock.nowMs - beganMs,
    output: node.output(),
    changes: [
      ...changes,
      ...started.map((process) => {
        process.isReported = true;
        return {
          kind: "process",
          name: process.name,
          change: "created",
          detail: process.commandLine,
        } as const;
      }),
    ],
    findings: node.found,
  };
}

/** The files that a node keeps from its life before (control-planes.md §1.10). */
async function rememberFormerLife(node: ScriptNode): Promise<void> {
  const { formerRange, parameters } = node.options;
  if (formerRange === undefined || parameters.networkMode !== "overlay") return;
  const at = (offset: number): string =>
    formatIp(defined(addToIp(formerRange.address, offset), "a range of pods has addresses"));
  await node.files.write(SOURCE_VIP_REQUEST, `${sourceVipRequest(formatPrefix(formerRange))}\r\n`);
  const ip4 = { ip: `${at(2)}/${formerRange.length}`, gateway: at(1) };
  await node.files.write(SOURCE_VIP, `${JSON.stringify({ cniVersion: "0.2.0", ip4, dns: {} })}\r\n`);
}

function verdictOf(steps: readonly StepReport[], node: ScriptNode): BringUpReport["outcome"] {
  const isThrough = steps.every(({ outcome }) => outcome === "done" || outcome === "went-on");
  const programs = ["flanneld", "kubelet", "kube-proxy"];
  const areRunning = programs.every((name) => node.running(name) !== undefined);
  if (!isThrough || !areRunning) return "not-up";
  return steps.every(({ findings }) => findings.length === 0) ? "up" : "up-with-findings";
}

/** The cluster without the node, and the node as a bare machine beside it. */
export async function prepareNode({ file, objects, options }: BringUpInput): Promise<ScriptNode> {
  const networking = options.faults.has("management-ip-late")
    ? { networking: { addressDelayMs: LATE_ADDRESS_MS } }
    : {};
  const equipment = new Map([[options.node, { adapters: options.adapters, ...networking }]]);
  const { cluster, kubelets, files } = await raiseMachines(file, undefined, equipment);
  const target = defined(
    cluster.nodes.find(({ spec }) => spec.name === options.node),
    "the node is one of the file",
  );
  const others = {
    ...cluster,
    file: { ...file, nodes: file.nodes.filter(({ name }) => name !== options.node) },
    nodes: cluster.nodes.filter((each) => each !== target),
  };
  const session = new RunningCluster({ cluster: others, kubelets, files });
  await session.begin(
    objects.filter(({ object }) => object.kind !== "Node" || object.metadata.name !== options.node),
  );
  const { clock } = cluster;
  const source = session.openKubeSource({
    now: () => new Date(clock.nowMs).toISOString(),
    inTurn: (work) => work(),
    settles: false,
  });
  const disk = defined(files.get(options.node), "a node has a disk");
  const node = new ScriptNode({ file, node: target, clock, source, files: disk, options });
  await rememberFormerLife(node);
  return node;
}

/** Runs the scripts. Same input, same report. @throws HcnError when another node's network is refused. */
export async function bringUp(input: BringUpInput): Promise<BringUpReport> {
  return runScripts(await prepareNode(input), input.progress);
}

/** Runs the scripts on a node that is ready for them. */
export async function runScripts(
  node: ScriptNode,
  progress?: BringUpInput["progress"],
): Promise<BringUpReport> {
  const { options } = node;
  const beganMs = node.clock.nowMs;
  const plan = Array.from({ length: options.runs }, (_, index) =>
    (index === 0 ? [] : [STOP]).concat(stepsOf(options)).map((step) => ({ step, run: index + 1 })),
  );
  const steps: StepReport[] = [];
  const all = plan.flat();
  let course: Course = { ended: new Set(), isStuck: false };
  for (const { step, run } of all) {
    // The operator ends the script that waits, and starts it anew.
    if (run !== (steps.at(-1)?.run ?? 1)) course = { ended: new Set(), isStuck: false };
    const report = await runStep(step, { run, number: steps.length + 1 }, node, course);
    steps.push(report);
    progress?.(report, all.length);
  }
  const last = steps.filter(({ run }) => run === options.runs);
  const outcome = verdictOf(last, node);
  const reports = node.processes.map((each) => each.report());
  for (const process of node.processes) process.stop();
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "BringUp",
    node: options.node,
    scripts: options.scripts,
    runtime: options.runtime,
    networkMode: options.parameters.networkMode,
    flanneld: formatFlanneldRelease(options.flanneld),
    outcome,
    tookMs: node.clock.nowMs - beganMs,
    steps,
    processes: reports,
    files: node.files
      .list()
      .map(({ path, text }) => ({ path: windowsPath(path), text }))
      .toSorted((a, b) => (a.path < b.path ? -1 : 1)),
  };
}

/** `mullion up`: brings a cluster up and keeps it, in the background or in front. */
import { plural } from "#core/base/text-layout.ts";
import type { LivePlace } from "#cluster/live/live-places.ts";
import { alreadyRunning } from "#cluster/api/server.node.ts";
import { type ClusterPlace, DEFAULT_NAME, clusterPlace } from "#cluster/api/state-folder.node.ts";
import { holdForParent, startInBackground } from "./background.ts";
import { findRunning } from "./cluster-target.ts";
import { Failure, LEFT_OUT, reportFindings } from "../failure.ts";
import { type StartedCluster, holdCluster } from "./hold-cluster.ts";
import type { ReportProgress } from "./open-session.ts";
import { processLog } from "../../output.ts";
import { readClusterInputs } from "./read-cluster-inputs.ts";
import { type ExitCode, type Terminal, howToEnd } from "../terminal.ts";
import type { UpRequest } from "../verbs.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** With many steps, one of these is shown: a hundredth of a large cluster is nothing to read. */
const SHOWN_STEPS = 10;

/** Says how far it is: each step of a few, every tenth of many. */
export function progressLines(terminal: Terminal): ReportProgress {
  return (text, done, total) => {
    const every = Math.max(1, Math.floor(total / SHOWN_STEPS));
    if (done % every === 0 || done === total) terminal.stderr(`  ${text} (${done} of ${total})\n`);
  };
}

/** The words that name this cluster at other verbs; empty for the default one. */
function nameWords({ running }: UpRequest, place: ClusterPlace): string {
  if (running.socket !== undefined) return ` --socket ${place.socket}`;
  return place.name === DEFAULT_NAME ? "" : ` --name ${place.name}`;
}

/** Says that the cluster is up, and what of its input is left out. */
export function announce(started: StartedCluster, terminal: Terminal): void {
  const { summary } = started;
  reportFindings(started, LEFT_OUT, terminal);
  const parts = `${plural(summary.nodes.length, "node")}, ${plural(summary.pods, "pod")}`;
  terminal.stdout(`${terminal.bold(`Cluster ${summary.name} is up`)}: ${parts}.\n`);
  const { nodesAtRest: nodes } = summary;
  if (nodes !== undefined) terminal.stdout(`${WORDS.nodesAtRest({ nodes })}\n`);
  terminal.stdout(howToReach(started));
}

/** How to get into a namespace of this machine. */
function howToEnter({ name, path }: LivePlace): string {
  return name === undefined ? `nsenter --net=${path}` : `ip netns exec ${name}`;
}

/** How to get to what of the cluster is real, with an address that answers. */
function howToReach({ live, summary }: StartedCluster): string {
  if (live === undefined) return "";
  const { bridge, machines, workloads } = live;
  const node = summary.nodes[0]?.address ?? "";
  const lines = machines.map((machine) => {
    const { pod, address } = machine;
    const command = `${howToEnter(machine)} ping -c 1 ${node}`;
    const text = pod === undefined ? WORDS.liveInNamespace({ address }) : WORDS.livePod({ pod, address });
    return `${text}\n  ${command}\n`;
  });
  const where =
    bridge === undefined ? "" : `${WORDS.liveOnBridge({ device: bridge.device, bridge: bridge.name })}\n`;
  const over = workloads.flatMap(({ pod, command, reason }) =>
    reason === undefined ? [] : `${WORDS.liveProcessOver({ pod, command: command[0] ?? "", reason })}\n`,
  );
  return where + lines.join("") + over.join("");
}

/** What to do next, with names that exist in this cluster. */
function nextSteps({ pair }: StartedCluster, words: string): string {
  const lines = [
    "mullion get pods -A",
    "mullion verify",
    ...(pair === undefined ? [] : [`mullion trace ${pair.join(" ")}`]),
    "mullion down",
  ];
  return `\nNext:\n${lines.map((line) => `  ${line}${words}\n`).join("")}`;
}

async function upInFront(request: UpRequest, place: ClusterPlace, terminal: Terminal): Promise<void> {
  const { files, isRecursive } = request.inputs;
  const inputs = await readClusterInputs(files, isRecursive, terminal);
  terminal.stderr("Bringing the cluster up …\n");
  await holdCluster({
    place,
    inputs,
    report: progressLines(terminal),
    onReady: (started) => {
      announce(started, terminal);
      terminal.stdout(`\n  socket: ${place.socket}\n\n${howToEnd(process.pid, process.platform)}`);
      return true;
    },
    untilInterrupted: () => terminal.untilInterrupted(),
    log: processLog(),
    live: request.live,
    ovnRemote: request.ovnRemote,
  });
  terminal.stderr("The cluster is down.\n");
}

async function upInBackground(request: UpRequest, place: ClusterPlace, terminal: Terminal): Promise<void> {
  const { files, isRecursive } = request.inputs;
  const inputs = await readClusterInputs(files, isRecursive, terminal);
  terminal.stderr("Bringing the cluster up …\n");
  const { live, ovnRemote } = request;
  const started = await startInBackground({ place, live, ovnRemote }, inputs, progressLines(terminal));
  announce(started, terminal);
  terminal.stdout(nextSteps(started, nameWords(request, place)));
}

/** @throws Failure where there are no Unix sockets. */
export function checkSystem(): void {
  if (process.platform !== "win32") return;
  throw new Failure("bad-usage", WORDS.upNeedsUnixSockets, WORDS.adviceUseWsl);
}

export async function up(request: UpRequest, terminal: Terminal): Promise<ExitCode> {
  checkSystem();
  if (request.isHeld) {
    const { live, ovnRemote } = request;
    await holdForParent({ place: clusterPlace(request.running, process.env), live, ovnRemote }, terminal);
    return 0;
  }
  const { place, isRunning } = await findRunning(request.running);
  if (isRunning) throw alreadyRunning(place);
  await (request.isForeground ? upInFront : upInBackground)(request, place, terminal);
  return 0;
}

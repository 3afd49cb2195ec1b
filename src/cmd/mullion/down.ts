/** `mullion down`: ends a running cluster and takes away what it had. What does not run is down already. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { ControlClient } from "../../api/client.ts";
import { ApiError } from "../../api/error-details.ts";
import { isListening } from "../../hcn/unix-socket.node.ts";
import { socketTransport } from "../../api/socket-transport.node.ts";
import { type ClusterPlace, hasOwnSocket, listNames, removePlace } from "../../api/state-folder.node.ts";
import { type RunningName, findRunning } from "./cluster-target.ts";
import type { ExitCode, Terminal } from "./terminal.ts";

/** A cluster in the middle of a large change answers late. */
const ANSWER_TIMEOUT_MS = 10_000;
/** After this the user hears why nothing happens. */
const PATIENCE_MS = 2_000;
const END_TIMEOUT_MS = 10_000;
const POLL_MS = 20;

async function untilGone(place: ClusterPlace): Promise<boolean> {
  const end = Date.now() + END_TIMEOUT_MS;
  while (Date.now() < end) {
    if (!hasOwnSocket(place, process.env) || !(await isListening(place.socket))) return true;
    await sleep(POLL_MS);
  }
  return false;
}

/** Ends the process that listens but does not answer. It wrote its id when it bound the socket. */
function killHolder(place: ClusterPlace): boolean {
  try {
    const pid = Number(readFileSync(place.pidFile, "utf8"));
    return Number.isInteger(pid) && pid > 1 && process.kill(pid, "SIGKILL");
  } catch {
    // No file, or the process is gone: then nobody listens any more, which the caller sees.
    return false;
  }
}

/** Returns what the cluster is called, when it says so. */
async function askToEnd(place: ClusterPlace): Promise<string> {
  try {
    return (await new ControlClient(socketTransport(place, ANSWER_TIMEOUT_MS)).shutdown()).cluster;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // It ended between the question and the answer, or it hangs; what comes next tells which.
    return place.name;
  }
}

function tellNothing(place: ClusterPlace, terminal: Terminal): void {
  const others = listNames(process.env).filter((name) => name !== place.name);
  const also = others.length === 0 ? "" : ` There is also: ${others.join(", ")} (add --name).`;
  terminal.stderr(`No cluster ${JSON.stringify(place.name)} is running.${also}\n`);
}

export async function down(wanted: RunningName, terminal: Terminal): Promise<ExitCode> {
  const { place, isRunning } = await findRunning(wanted);
  if (!isRunning) {
    const isStale = hasOwnSocket(place, process.env);
    removePlace(place, process.env);
    if (isStale) terminal.stderr(`Cluster ${JSON.stringify(place.name)} had died; what it left is gone.\n`);
    else tellNothing(place, terminal);
    return 0;
  }
  const patience = setTimeout(() => terminal.stderr("The cluster is busy; waiting for it …\n"), PATIENCE_MS);
  const cluster = await askToEnd(place);
  const isGone = await untilGone(place);
  clearTimeout(patience);
  if (!isGone) {
    const isKilled = killHolder(place) && (await untilGone(place));
    if (!isKilled) {
      const message = `the cluster ${JSON.stringify(place.name)} does not end`;
      throw new ApiError(
        503,
        "cluster-unreachable",
        message,
        `See who listens on ${place.socket}, and end it.`,
      );
    }
    removePlace(place, process.env);
  }
  terminal.stdout(`Cluster ${cluster} is down.\n`);
  return 0;
}

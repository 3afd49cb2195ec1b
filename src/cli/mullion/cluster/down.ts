/** `mullion down`: ends a running cluster and takes away what it had. What does not run is down already. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { ControlClient } from "#cluster/api/client.ts";
import { removeLiveLeftovers } from "#cluster/live/live-machine.node.ts";
import { ApiError } from "#cluster/api/error-details.ts";
import { isListening } from "#contracts/hcn/http/unix-socket.node.ts";
import { socketTransport } from "#cluster/api/socket-transport.node.ts";
import {
  type ClusterPlace,
  hasOwnSocket,
  listNames,
  removeFolderIfEmpty,
  removePlace,
} from "#cluster/api/state-folder.node.ts";
import { type RunningName, findRunning } from "./cluster-target.ts";
import type { ExitCode, Terminal } from "../terminal.ts";

/** A cluster in the middle of a large change answers late. */
const ANSWER_TIMEOUT_MS = 10_000;
/** After this the user hears why nothing happens. */
const PATIENCE_MS = 2_000;
const END_TIMEOUT_MS = 10_000;
const POLL_MS = 20;

/** The process that holds the cluster. It wrote its id when it bound the socket, and takes that file away last. */
function holderOf(place: ClusterPlace): number | undefined {
  try {
    const pid = Number(readFileSync(place.pidFile, "utf8"));
    return Number.isInteger(pid) && pid > 1 ? pid : undefined;
  } catch {
    // No file: the holder is gone, or about to be.
    return undefined;
  }
}

async function listens(place: ClusterPlace): Promise<boolean> {
  return hasOwnSocket(place, process.env) && (await isListening(place.socket));
}

/** Polls until `holds` is true. False: it did not come true in time. */
async function until(holds: () => Promise<boolean>): Promise<boolean> {
  const end = Date.now() + END_TIMEOUT_MS;
  while (Date.now() < end) {
    if (await holds()) return true;
    await sleep(POLL_MS);
  }
  return false;
}

/** Ends the process that listens but does not answer. False: it was gone already. */
function killHolder(holder: number | undefined): boolean {
  try {
    return holder !== undefined && process.kill(holder, "SIGKILL");
  } catch {
    // It is gone: then nobody listens any more, which the caller sees.
    return false;
  }
}

/** Ends by force what did not end when asked. @throws ApiError when somebody listens even then. */
async function endByForce(place: ClusterPlace, holder: number | undefined): Promise<void> {
  const isSilent =
    !(await listens(place)) || (killHolder(holder) && (await until(async () => !(await listens(place)))));
  if (!isSilent) {
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

function reportNothing(place: ClusterPlace, terminal: Terminal): void {
  const others = listNames(process.env).filter((name) => name !== place.name);
  const also = others.length === 0 ? "" : ` There is also: ${others.join(", ")} (add --name).`;
  terminal.stderr(`No cluster ${JSON.stringify(place.name)} is running.${also}\n`);
}

export async function down(wanted: RunningName, terminal: Terminal): Promise<ExitCode> {
  const { place, isRunning } = await findRunning(wanted);
  if (!isRunning) {
    const isStale = hasOwnSocket(place, process.env);
    removePlace(place, process.env);
    removeLiveLeftovers(place.name);
    if (isStale) terminal.stderr(`Cluster ${JSON.stringify(place.name)} had died; what it left is gone.\n`);
    else reportNothing(place, terminal);
    return 0;
  }
  const patience = setTimeout(() => terminal.stderr("The cluster is busy; waiting for it …\n"), PATIENCE_MS);
  const holder = holderOf(place);
  const cluster = await askToEnd(place);
  // Another of the same name may begin at once: only what this holder has is waited for.
  const isGone = async (): Promise<boolean> =>
    holder === undefined ? !(await listens(place)) : holderOf(place) !== holder;
  const hasEnded = await until(isGone);
  clearTimeout(patience);
  if (hasEnded) removeFolderIfEmpty(process.env);
  else {
    await endByForce(place, holder);
    removeLiveLeftovers(place.name);
  }
  terminal.stdout(`Cluster ${cluster} is down.\n`);
  return 0;
}

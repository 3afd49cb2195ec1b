/** Which cluster a verb is about: one built from `-f` for this command, or the one that is running. */
import { ControlClient } from "#cluster/api/client.ts";
import { inProcessClient } from "#cluster/api/app.ts";
import { isListening } from "#contracts/hcn/http/unix-socket.node.ts";
import { notRunning, socketTransport } from "#cluster/api/socket-transport.node.ts";
import { type ClusterPlace, clusterPlace, hasOwnSocket, listNames } from "#cluster/api/state-folder.node.ts";
import type { ObserveProgress } from "#cluster/verify/observe.ts";
import type { InputText } from "#cluster/session/session.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import { SILENT_LOG } from "#core/base/log.ts";
import { openSession } from "./open-session.ts";
import { processLog } from "../process-log.ts";
import { readClusterInputs } from "./read-cluster-inputs.ts";
import { reportFindings } from "../report-findings.ts";
import type { Terminal } from "../terminal.ts";

/** What `--name` and `--socket` say. */
export interface RunningName {
  readonly name: string | undefined;
  readonly socket: string | undefined;
}

/** What `-f` and `-R` say. */
export interface InputPaths {
  readonly files: readonly string[];
  readonly isRecursive: boolean;
}

export interface ClusterTarget extends RunningName, InputPaths {}

/** The place of a running cluster, and whether a process listens there. */
export async function findRunning(
  wanted: RunningName,
): Promise<{ readonly place: ClusterPlace; readonly isRunning: boolean }> {
  const place = clusterPlace(wanted, process.env);
  const isRunning = hasOwnSocket(place, process.env) && (await isListening(place.socket));
  return { place, isRunning };
}

/** A client of the running cluster. @throws ApiError `cluster-not-running`, with what runs under other names. */
export async function connectRunning(wanted: RunningName): Promise<ControlClient> {
  const { place, isRunning } = await findRunning(wanted);
  if (!isRunning) throw notRunning(place, listNames(process.env));
  return new ControlClient(socketTransport(place));
}

/** What became of input with problems. */
export const LEFT_OUT = "What is refused is left out, and the rest runs.";

/**
 * A client of the cluster that a verb is about. Notes of a cluster that is built here go to stderr, or stand in the answer
 * of the verb (`verify`).
 */
export async function connectCluster(
  target: ClusterTarget,
  terminal: Terminal,
  observing?: ObserveProgress,
  remarks: "on stderr" | "in the answer" = "on stderr",
): Promise<ControlClient> {
  if (target.files.length === 0) return connectRunning(target);
  const inputs = await readClusterInputs(target.files, target.isRecursive, terminal);
  return connectInputs(inputs, terminal, observing, remarks);
}

/** A client of the cluster that the texts describe. `build`: that of all Windows nodes. */
export async function connectInputs(
  inputs: readonly InputText[],
  terminal: Terminal,
  observing?: ObserveProgress,
  remarks: "on stderr" | "in the answer" = "on stderr",
  build?: WindowsBuild,
): Promise<ControlClient> {
  const opened = await openSession(inputs, () => undefined, observing, build);
  const { session, readManifests, verify, input } = opened;
  if (remarks === "on stderr") reportFindings(opened, LEFT_OUT, terminal);
  const identity = { name: "", version: "", pid: process.pid };
  const log = process.env["MULLION_DEBUG"] === "1" ? processLog() : SILENT_LOG;
  return inProcessClient({
    session,
    readManifests,
    verify,
    identity,
    input,
    log,
  });
}

/** Which cluster a verb is about: one built from `-f` for this command, or the one that is running. */
import { ControlClient } from "#cluster/api/client.ts";
import { isListening } from "#contracts/hcn/http/unix-socket.node.ts";
import { notRunning, socketTransport } from "#cluster/api/socket-transport.node.ts";
import { type ClusterPlace, clusterPlace, hasOwnSocket, listNames } from "#cluster/api/state-folder.node.ts";
import type { FileOverrides } from "#cluster/file/parse-cluster-file.ts";
import { readClusterInputs } from "./read-cluster-inputs.ts";
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

/** A client of the cluster that a verb is about. Notes of a cluster that is built here go to stderr. */
export async function connectCluster(
  target: ClusterTarget,
  terminal: Terminal,
  overrides: FileOverrides = {},
): Promise<ControlClient> {
  if (target.files.length === 0) return connectRunning(target);
  const inputs = await readClusterInputs(target.files, target.isRecursive, terminal);
  // All that simulates: what asks a running cluster starts without it.
  const { connectInputs } = await import("./connect-inputs.ts");
  return connectInputs(inputs, terminal, overrides);
}

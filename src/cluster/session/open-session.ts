/** A cluster file and Kubernetes objects → a cluster that runs and can be changed. */
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import type { ClusterFile } from "../file/cluster-file.ts";
import { type OpenProgress, raiseMachines } from "../machines/raise-machines.ts";
import { type BeginReport, RunningCluster } from "./running-cluster.ts";
import type { FlowLimit } from "./flow-limit.ts";
import type { Raising, SessionEvent } from "./session.ts";

export interface SessionInput {
  readonly file: ClusterFile;
  /** Applied in this order, after the nodes and pods of the file. */
  readonly objects: readonly LoadedObject[];
  /** What the input has and the cluster does not carry out. */
  readonly limits?: readonly FlowLimit[];
  /** Connections that all switch ports may hold together. Default: as many as each port's own bound allows. */
  readonly flowsMax?: number | undefined;
}

/** Told of each step of the bring-up. */
export interface SessionProgress extends OpenProgress {
  event(event: SessionEvent): void;
  /** Before so many nodes that wait come up because all do, whenever that is. What it throws keeps them waiting. */
  readonly beforeRest?: (nodes: number) => void;
}

/** A running cluster, and what the control plane said about what it began with. */
export interface OpenedSession {
  readonly session: RunningCluster;
  readonly report: BeginReport;
}

/**
 * Brings the cluster up: machines, then the objects of the input as if they were applied. Same input, same cluster,
 * byte for byte.
 * @throws HcnError when the file asks for a network that HNS refuses.
 */
export async function openSession(
  input: SessionInput,
  progress?: SessionProgress,
  raising: Raising = "at the start",
): Promise<OpenedSession> {
  const machines = await raiseMachines(input.file, progress, undefined, input.flowsMax);
  const session = new RunningCluster(machines, input.limits, progress?.beforeRest);
  const stop = progress === undefined ? undefined : session.subscribe((event) => progress.event(event));
  const report = await session.begin(input.objects, raising);
  stop?.();
  return { session, report };
}

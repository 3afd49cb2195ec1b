/**
 * How long calls of HNS take, fitted to what users measured. Times of single calls are not published, so this is a
 * model and not a measurement: docs/reference/hns-faults.md shows the figures that it reproduces.
 *
 * Inferred: making an endpoint and making a load balancer take the same time; where a build is slower than the fastest
 * one, the time grows with the number of endpoints and load balancers that are there, because all ports are programmed
 * anew. The four slopes follow from four totals of one measurement (kubernetes/kubernetes#109124): 2000 Services with
 * ClusterIPs and 5000 remote endpoints take 110 and 22 minutes on Server 2019, before and after an update of Windows,
 * and 10 and 1 on Server 2022.
 */
import type { CallOperation, CostModelName } from "./fault.ts";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import { hasUpdate } from "#core/catalogue/profiles.ts";

export interface CostModel {
  /** A call that reads: list or query. An idle pass of kube-proxy, some 76 calls, took 7.2 ms (kubernetes#130963). */
  readonly readMs: number;
  /** A call that makes, changes or deletes an endpoint or a load balancer, while there is no other. */
  readonly changeMs: number;
  /** How much longer a call that makes or changes one takes, for each endpoint and load balancer that is there. */
  readonly changeMsPerObject: number;
  /** A call that makes or deletes a network. */
  readonly networkMs: number;
}

const READ_MS = 0.1;
/** 60 s for 7000 objects on an updated Server 2022, where no growth is seen. */
const CHANGE_MS = 60_000 / 7_000;
/**
 * Inferred: no source has a figure. A network with a new switch moves the adapter's addresses; programs wait for it
 * for 5 to 30 s (hcn.md §4.1), so that it takes less.
 */
const NETWORK_MS = 1_000;

/** The slope that makes 7000 objects, made one after the other, take so many minutes. */
function slopeFor(minutes: number): number {
  const objects = 7_000;
  const excess = minutes * 60_000 - objects * CHANGE_MS;
  return excess / ((objects * (objects - 1)) / 2);
}

function model(minutes: number): CostModel {
  return Object.freeze({
    readMs: READ_MS,
    changeMs: CHANGE_MS,
    changeMsPerObject: slopeFor(minutes),
    networkMs: NETWORK_MS,
  });
}

/** By name: a build, before and after the updates of 2022. */
export const COST_MODEL_TABLE: Readonly<Record<CostModelName, CostModel>> = Object.freeze({
  ws2019: model(110),
  "ws2019-updated": model(22),
  ws2022: model(10),
  "ws2022-updated": model(1),
});

/** The updates that brought it. Inferred: which is not published; those of August 2022 stand here. */
const FASTER_UPDATES: readonly string[] = ["KB5016623", "KB5016627"];
const WS2022_BUILD = 20_348;

/** The model of a build: builds before Server 2022 are as 2019, later ones as an updated 2022. */
export function costModelOf(build: WindowsBuild): CostModelName {
  const isUpdated = FASTER_UPDATES.some((kb) => hasUpdate(build, kb));
  if (build.profile.build < WS2022_BUILD) return isUpdated ? "ws2019-updated" : "ws2019";
  return isUpdated || build.profile.build > WS2022_BUILD ? "ws2022-updated" : "ws2022";
}

/** How long a call takes while `objects` endpoints and load balancers are there. */
export function costOf(
  { readMs, changeMs, changeMsPerObject, networkMs }: CostModel,
  operation: CallOperation,
  kind: HcnObjectKind | undefined,
  objects: number,
): number {
  if (operation === "enumerate" || operation === "query" || operation === "call") return readMs;
  if (kind === "Network" && operation !== "modify") return networkMs;
  return operation === "delete" ? changeMs : changeMs + changeMsPerObject * objects;
}

/** Whether the memory of this process will do, said before it is used up. */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Failure } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { type ClusterSize, heapLimit } from "./open-session.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

const MIB = 2 ** 20;

/** Node clears up before it is full; what is still there above this share is needed. */
const FULL = 0.93;

/** Kept free in a small memory, too: objects that are taken in between two looks, and what Node needs to clear up. */
const STEP_BYTES = 16 * MIB;

/** The same while manifests are read, of which each object is small. */
const READING_BYTES = 6 * MIB;

/** What a raised cluster keeps, measured: of itself, of each node and pod, of each Service and pod on each node. */
const BASE_BYTES = 26 * MIB;
const NODE_BYTES = 0.115 * MIB;
const POD_BYTES = 44 * 1_024;
const SERVICE_ON_NODE_BYTES = 2.6 * 1_024;
const POD_ON_NODE_BYTES = 180;

/** What a node and a pod keep while the node waits to be asked for, measured. */
const WAITING_NODE_BYTES = 0.13 * MIB;
const WAITING_POD_BYTES = 11 * 1_024;

/** A copy of a cluster takes about a third of what the cluster took to come up, with all that is remembered in it. */
export const COPY_SHARE = 0.35;

function mebibytes(bytes: number): number {
  return Math.round(bytes / MIB);
}

/** About what a process keeps that raises a cluster of this size, and its copies. */
export function bytesOf({ nodes, pods, services }: ClusterSize): number {
  const onNodes = services * SERVICE_ON_NODE_BYTES + pods * POD_ON_NODE_BYTES;
  const raised = BASE_BYTES + pods * POD_BYTES + nodes * (NODE_BYTES + onNodes);
  return (raised * (1 + COPY_SHARE)) / FULL;
}

/** Says of an input that may be too large for this process, before it is tried. */
export function warnOfMemory(size: ClusterSize, advice: string, terminal: Terminal): void {
  const [needed, limit] = [bytesOf(size), heapLimit()];
  if (needed < limit) return;
  const { nodes, pods } = size;
  const [neededMebibytes, limitMebibytes] = [mebibytes(needed), mebibytes(limit)];
  terminal.stderr(
    `${WORDS.memoryEstimateExceeded({ nodes, pods, neededMebibytes, limitMebibytes, moreMemory: advice })}\n`,
  );
}

/**
 * Of a cluster that is up but for some of its nodes: whether there is room for them, before the first of them comes up.
 * @throws Failure when there is not.
 */
export function checkRoom(size: ClusterSize, nodes: number): void {
  const [needed, limit] = [bytesOf({ ...size, nodes }), heapLimit()];
  if (needed < limit) return;
  throw new Failure(
    "memory-nearly-full",
    WORDS.noRoomForNodes({ nodes, neededMebibytes: mebibytes(needed), limitMebibytes: mebibytes(limit) }),
    WORDS.adviceNoRoomForNodes,
  );
}

function usedBytes(): number {
  const spaces = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith("new_"));
  return spaces.reduce((sum, { space_used_size: size }) => sum + size, 0);
}

/** Takes seconds where gigabytes are in use. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc()");
}

/**
 * Of a cluster whose input is read: whether it has room to come up, if its machines wait to be asked for. Its objects are
 * taken in without a pause in which {@link checkMemory} could look.
 * @throws Failure when it has not.
 */
export function checkRoomToBegin(size: ClusterSize, advice: string): void {
  const { nodes, pods } = size;
  const limit = heapLimit();
  const needed = (): number => (usedBytes() + nodes * WAITING_NODE_BYTES + pods * WAITING_POD_BYTES) / FULL;
  if (needed() < limit) return;
  collectGarbage();
  const neededBytes = needed();
  if (neededBytes < limit) return;
  throw new Failure(
    "memory-nearly-full",
    WORDS.noRoomToBegin({
      nodes,
      pods,
      neededMebibytes: mebibytes(neededBytes),
      limitMebibytes: mebibytes(limit),
    }),
    advice,
  );
}

/** @throws Failure when the memory will not do for the objects of manifests that are being read. */
export function checkMemoryToRead(objects: number, advice: string): void {
  const limit = heapLimit() - READING_BYTES;
  if (usedBytes() < limit) return;
  collectGarbage();
  const used = usedBytes();
  if (used < limit) return;
  throw nearlyFull(WORDS.whileManifestsAreRead({ objects }), used, advice);
}

function nearlyFull(when: string, used: number, advice: string): Failure {
  const [usedMebibytes, limitMebibytes] = [mebibytes(used), mebibytes(heapLimit())];
  const text = WORDS.memoryNearlyFull({ when, usedMebibytes, limitMebibytes });
  return new Failure("memory-nearly-full", text, advice);
}

/**
 * Says that the memory will not do, before Node ends the process without a word.
 * @param advice what to do then.
 * @param more share of what is used that will come on top.
 * @throws Failure when it will not.
 */
export function checkMemory(when: string, advice: string, more = 0): void {
  const used = usedBytes();
  const limit = heapLimit();
  if (used * (1 + more) < Math.min(limit * FULL, limit - STEP_BYTES)) return;
  throw nearlyFull(when, used, advice);
}

/** The same at each step of a cluster that comes up. @throws Failure when the memory will not do. */
export function checkMemoryAt(step: string, done: number, total: number, advice: string): void {
  checkMemory(`while the cluster comes up (${step}, ${done} of ${total})`, advice);
}

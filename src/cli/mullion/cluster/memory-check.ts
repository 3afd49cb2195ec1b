/** Whether the memory of this process will do, said before it is used up. */
import { getHeapSpaceStatistics } from "node:v8";
import { Failure } from "../failure.ts";
import { heapLimit } from "./open-session.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** Node clears up before it is full; what is still there above this share is needed. */
const FULL = 0.93;

export function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}

/**
 * Says that the memory will not do, before Node ends the process without a word.
 * @param advice what to do then.
 * @param more share of what is used that will come on top.
 * @throws Failure when it will not.
 */
export function checkMemory(when: string, advice: string, more = 0): void {
  const spaces = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith("new_"));
  const used = spaces.reduce((sum, { space_used_size: size }) => sum + size, 0);
  const limit = heapLimit();
  if (used * (1 + more) < limit * FULL) return;
  throw new Failure(
    "memory-nearly-full",
    WORDS.memoryNearlyFull({ when, usedMebibytes: mebibytes(used), limitMebibytes: mebibytes(limit) }),
    advice,
  );
}

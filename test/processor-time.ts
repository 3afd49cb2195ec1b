/** Tells, at the end of each file, how much processor time its worker has taken so far; `tools/slow-tests.ts` sums it. */
import { existsSync, readFileSync } from "node:fs";
import { type RunnerTestFile, afterAll, beforeEach } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** The worker that ran the file, and its processor time since it began, in seconds. */
    processor?: { readonly pid: number; readonly seconds: number };
  }
}

const TICKS_PER_SECOND = 100;

/**
 * Seconds of the processes that this one started and that have ended: Linux keeps them in fields 16 and 17 of this file
 * (counted from 1; the name, which may hold blanks, ends with a bracket). Other systems do not tell Node.
 */
function secondsOfChildren(): number {
  if (!existsSync("/proc/self/stat")) return 0;
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

function measure(): void {
  let file: RunnerTestFile | undefined;
  beforeEach(({ task }) => {
    file = task.file;
  });
  afterAll(() => {
    if (file === undefined) return;
    const { user, system } = process.cpuUsage();
    file.meta.processor = { pid: process.pid, seconds: (user + system) / 1e6 + secondsOfChildren() };
  });
}

measure();

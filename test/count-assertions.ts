/**
 * Counts what each test asserts. The JSON reporter writes it beside the test, and `tools/test-inventory.ts` holds it
 * against the inventory. A call of `expect` counts once, `expect.poll` too however often it tries; each run of a
 * property counts as a run, and the calls of `expect` inside it as calls.
 */
import fc from "fast-check";
import { afterEach, expect } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** What the test asserted, and the project that it belongs to. */
    asserted?: { readonly project: string; readonly assertions: number; readonly runs: number };
    /** Attempts that failed before this one. */
    failedBefore?: number;
  }
}

function countAssertions(): void {
  let runs = 0;
  const countRun = (): void => {
    runs += 1;
  };
  fc.configureGlobal({ ...fc.readConfigureGlobal(), beforeEach: countRun });
  // Hooks run in reverse order, and this one is registered before those of the file: it sees what they assert.
  afterEach(({ task }) => {
    const { assertionCalls } = expect.getState();
    task.meta.asserted = { project: task.file.projectName ?? "", assertions: assertionCalls, runs };
    runs = 0;
    const failedBefore = task.result?.retryCount ?? 0;
    if (failedBefore > 0) task.meta.failedBefore = failedBefore;
  });
}

countAssertions();

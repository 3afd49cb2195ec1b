// A cluster of the command line, and more connections than the process has memory for.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const FLOOD = fileURLToPath(new URL("../../../../test/support/cli/flood-cluster.ts", import.meta.url));

/** Megabytes of old objects, and connections through two nodes that end a process of this size ("heap out of memory"). */
it.each([
  [320, 60_000],
  [128, 40_000],
])(
  "a flood of connections ends with flow-table-full, not with the process: %i MB",
  { timeout: 600_000 },
  (megabytes, connections) => {
    const argv = [
      `--max-old-space-size=${megabytes}`,
      "--conditions=mullion-source",
      FLOOD,
      String(connections),
    ];
    const said = execFileSync(process.execPath, argv, { encoding: "utf8" });
    expect(JSON.parse(said)).toEqual({
      sent: connections,
      verdict: "not-delivered",
      code: "flow-table-full",
    });
  },
);

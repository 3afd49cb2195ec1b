// A cluster of the command line, and more connections than the process has memory for.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const FLOOD = fileURLToPath(new URL("../../../../test/support/cli/flood-cluster.ts", import.meta.url));
/** Without a bound, 60 000 connections through two nodes end a process of this size ("heap out of memory"). */
const HEAP_MB = 320;
const CONNECTIONS = 60_000;

it("a flood of connections ends with flow-table-full, not with the process", { timeout: 600_000 }, () => {
  const argv = [`--max-old-space-size=${HEAP_MB}`, "--conditions=mullion-source", FLOOD, String(CONNECTIONS)];
  const said = execFileSync(process.execPath, argv, { encoding: "utf8" });
  expect(JSON.parse(said)).toEqual({
    sent: CONNECTIONS,
    verdict: "not-delivered",
    code: "flow-table-full",
  });
});

// A dump that is larger than the memory of the process: it says so, and what to do, before Node ends it.
import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DUMP_SIZES, largeDump } from "#test/support/cluster/large-dump.ts";

const folder = mkdtempSync(join(tmpdir(), "mullion-memory-"));
const path = join(folder, "dump.yaml");

beforeAll(() => {
  const file = openSync(path, "w");
  for (const item of largeDump(DUMP_SIZES["100"])) writeSync(file, item);
  closeSync(file);
});
afterAll(() => rmSync(folder, { recursive: true }));

function getNodes(mebibytes: number): SpawnSyncReturns<string> {
  const heap = `--max-old-space-size=${mebibytes}`;
  return spawnSync(process.execPath, [heap, "bin/mullion.js", "get", "nodes", "-f", path, "-o", "name"], {
    encoding: "utf8",
  });
}

const ADVICE = / \[memory-nearly-full\]\n {4}Give it more \(NODE_OPTIONS=--max-old-space-size=MiB\)/;

// Each was ended by Node in a step between two looks at the memory, when only those were there.
it.each([70, 75, 80, 100])("get says that %i MiB will not do", { timeout: 300_000 }, (mebibytes) => {
  const { status, stdout, stderr } = getNodes(mebibytes);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(
    /100 nodes with 3000 pods take about \d+ MiB of memory to come up, and Node gives this process \d+/,
  );
  expect(stderr).toMatch(ADVICE);
});

// Objects themselves have no room then.
it.each([45, 50, 55])("reading says that %i MiB will not do", { timeout: 300_000 }, (mebibytes) => {
  const { status, stdout, stderr } = getNodes(mebibytes);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  const place = "while manifests are read, after \\d+ objects";
  expect(stderr).toMatch(
    new RegExp(`the memory of this process is nearly full ${place}: \\d+ of ${mebibytes} MiB`),
  );
  expect(stderr).toMatch(ADVICE);
});

// Between the two: one of both says so.
it.each([58, 60, 62, 65])(
  "one or the other says that %i MiB will not do",
  { timeout: 300_000 },
  (mebibytes) => {
    const { status, stdout, stderr } = getNodes(mebibytes);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(ADVICE);
  },
);

it("get works with twice as much", { timeout: 300_000 }, () => {
  const { status, stdout } = getNodes(160);
  expect({ status, nodes: stdout.trim().split("\n").length }).toEqual({ status: 0, nodes: 100 });
});

it("verify --watch says so, too, and so does what it estimates before", { timeout: 300_000 }, async () => {
  const command = ["--max-old-space-size=80", "bin/mullion.js", "verify", "--watch", "-f", path];
  const watch = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(watch, "exit");
  let stdout = "";
  let stderr = "";
  watch.stdout.on("data", (data) => (stdout += data));
  watch.stderr.on("data", (data) => (stderr += data));
  // It waits for a change of the files then.
  await expect.poll(() => stderr, { timeout: 240_000 }).toMatch(ADVICE);
  expect(stdout).toBe("");
  expect(stderr).toMatch(
    /^mullion: 100 nodes with 3000 pods may take \d+ MiB of memory, and Node gives this process 80\.\n/,
  );
  expect(watch.exitCode).toBe(null);
  watch.kill("SIGINT");
  await ended;
});

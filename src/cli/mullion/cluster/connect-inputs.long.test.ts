// A dump that is larger than the memory of the process: it says so, and what to do, before Node ends it.
import { spawnSync } from "node:child_process";
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

it("get says that the memory will not do", { timeout: 300_000 }, () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--max-old-space-size=80", "bin/mullion.js", "get", "nodes", "-f", path, "-o", "name"],
    { encoding: "utf8" },
  );
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(
    /the memory of this process is nearly full while the cluster comes up \(.*\): \d+ of 80 MiB \[memory-nearly-full\]\n {4}Give it more \(NODE_OPTIONS=--max-old-space-size=MiB\)/,
  );
});

it("verify --watch says so, too, and so does what it estimates before", { timeout: 300_000 }, () => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--max-old-space-size=80", "bin/mullion.js", "verify", "--watch", "-f", path],
    { encoding: "utf8", timeout: 60_000 },
  );
  expect(stdout).toBe("");
  expect(stderr).toMatch(
    /^mullion: 100 nodes with 3000 pods may take \d+ MiB of memory, and Node gives this process 80\.\n/,
  );
  expect(stderr).toMatch(
    /the memory of this process is nearly full .*: \d+ of 80 MiB \[memory-nearly-full\]/,
  );
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runExample } from "./main.ts";

it("the example hns-service serves an HNS whose objects outlive it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mullion-example-"));
  try {
    expect(await runExample(folder)).toEqual(["networks: nat", "after a restart, networks: nat"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

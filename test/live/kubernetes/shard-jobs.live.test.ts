// The manifests of examples/verify-shards, as a real API server takes them, with every field checked.
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { JOB_FILES } from "#test/support/cli/shard-examples.ts";
import { findProgram } from "../../../tools/live-programs.ts";
import { CONTROL_PLANE_TIMEOUT_MS, ControlPlane } from "./control-plane.ts";

let plane: ControlPlane;
beforeAll(async () => {
  plane = await ControlPlane.start();
}, CONTROL_PLANE_TIMEOUT_MS);
afterAll(async () => plane.stop());

describe("a real API server", () => {
  it.each(JOB_FILES)("takes %s as it is", (file) => {
    const words = ["apply", "--dry-run=server", "--validate=strict", "-f", file, "-o", "json"];
    const { status, stdout, stderr } = spawnSync(findProgram("kubectl"), words, {
      env: { ...process.env, KUBECONFIG: plane.kubeconfig },
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ kind: "Job", spec: { template: { spec: {} } } });
  });
});

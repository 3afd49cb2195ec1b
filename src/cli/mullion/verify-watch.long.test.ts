// What is judged again: of a running cluster, and of files that somebody works on, with the real executable.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MullionHome, type Run } from "#test/support/cli/mullion-process.ts";

const CLUSTER = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11 }
  - { name: linux-1, os: linux, address: 10.0.0.21 }
pods:
  - { name: web, node: win-1, labels: { app: web } }
`;

function serviceText(type: string): string {
  return `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ${type}selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
`;
}

const running: Run[] = [];
let home: MullionHome;
let path: string;
let objects: string;
beforeEach(() => {
  home = new MullionHome();
  path = join(home.folder, "cluster.yaml");
  objects = join(home.folder, "objects.yaml");
  writeFileSync(path, CLUSTER);
  writeFileSync(objects, serviceText(""));
});
afterEach(async () => {
  for (const run of running) run.child.kill("SIGKILL");
  running.length = 0;
  await home.close();
});

/** A run that the test's end ends, whatever becomes of it. */
function start(...words: readonly string[]): Run {
  const run = home.start(...words);
  running.push(run);
  return run;
}

async function untilPrinted(run: Run, text: RegExp): Promise<void> {
  for (let waited = 0; !text.test(run.printed()); waited += 50) {
    if (waited > 40_000) throw new Error(`${String(text)} was never printed: ${run.printed()}`);
    await pause(50);
  }
}

describe("mullion verify of a running cluster", () => {
  it("keeps what nothing has touched, and says so in each form", { timeout: 120_000 }, async () => {
    expect((await home.run("up", "-f", path)).code).toBe(0);
    expect((await home.run("apply", "-f", objects)).code).toBe(0);
    const first = await home.run("verify");
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).not.toContain("Kept");
    const again = await home.run("verify");
    const [, kept, of] = /\nKept: (\d+) of (\d+) cells from \d\d:\d\d:\d\d UTC/.exec(again.stdout) ?? [];
    expect(Number(kept)).toBeGreaterThan(10);
    expect(kept).toBe(of);
    expect(again.stdout.replace(/\nKept: .*/, "")).toBe(first.stdout);

    writeFileSync(objects, serviceText("sessionAffinity: ClientIP, "));
    expect((await home.run("apply", "-f", objects)).code).toBe(0);
    const json = JSON.parse((await home.run("verify", "-o", "json")).stdout) as VerifyReport;
    expect(json.kept?.cells).toBeLessThan(json.kept?.of ?? 0);
    expect(json.cells.filter(({ keptFrom }) => keptFrom !== undefined)).toHaveLength(json.kept?.cells ?? -1);
    expect(
      json.cells.filter(({ to, keptFrom }) => to === "service/default/web" && keptFrom !== undefined),
    ).toEqual([]);

    const junit = await home.run("verify", "-o", "junit");
    expect(junit.stdout).toMatch(/<property name="kept" value="\d+ of \d+ cells from \d\d:\d\d:\d\d UTC"/);
    const whole = JSON.parse((await home.run("verify", "--whole", "-o", "json")).stdout) as VerifyReport;
    expect(whole).not.toHaveProperty("kept");
  });

  it("is watched until Ctrl-C, which ends with the code of what is shown", { timeout: 120_000 }, async () => {
    expect((await home.run("up", "-f", path)).code).toBe(0);
    const watch = start("verify", "--watch");
    await untilPrinted(watch, /Observed and expected agree\.\n/);
    expect((await home.run("apply", "-f", objects)).code).toBe(0);
    await untilPrinted(watch, /UTC {2}kept: [\s\S]*service\/default\/web[\s\S]*expected agree\.\n$/);
    watch.child.kill("SIGINT");
    expect((await watch.ended).code).toBe(0);
  });
});

describe("mullion verify --watch of files", () => {
  it("shows what came out otherwise whenever they change, and goes on when they cannot be read", {
    timeout: 120_000,
  }, async () => {
    const watch = start("verify", "--watch", "-f", path, "-f", objects);
    await untilPrinted(watch, /Observed and expected agree\.\n/);
    writeFileSync(path, CLUSTER.replace("nodes:", "nodes: nodes:"));
    await untilPrinted(watch, /cluster\.yaml:4:\d+: [\s\S]*The watch goes on/);
    // A Service with two names for one port is refused, which is a finding.
    writeFileSync(path, CLUSTER);
    writeFileSync(objects, serviceText("").replace("port: 80", "port: 99999"));
    await untilPrinted(watch, /UTC {2}[\s\S]*finding about the input\.\n/);
    watch.child.kill("SIGINT");
    const { code, stdout } = await watch.ended;
    expect(code).toBe(1);
    expect(stdout.match(/What this rests on/g)).toHaveLength(1);
  });
});
